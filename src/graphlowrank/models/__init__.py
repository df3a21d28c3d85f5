"""Optimisation problems, one file each; ``methods`` has the paper's twelve methods by name."""

from .frpcag import solve_frpcag
from .glpca import Embedding, solve_glpca
from .gnmf import NonNegativeFactors, solve_gnmf
from .mmf import solve_mmf
from .rpca import LowRankPlusSparse, solve_rpca
from .rpcag import solve_rpcag

__all__ = [
    "Embedding",
    "LowRankPlusSparse",
    "NonNegativeFactors",
    "solve_frpcag",
    "solve_glpca",
    "solve_gnmf",
    "solve_mmf",
    "solve_rpca",
    "solve_rpcag",
]
