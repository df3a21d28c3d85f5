"""Optimisation problems, one file each."""

from .frpcag import solve_frpcag
from .glpca import Embedding, solve_glpca
from .mmf import solve_mmf
from .rpca import LowRankPlusSparse, solve_rpca
from .rpcag import solve_rpcag

__all__ = ["Embedding", "LowRankPlusSparse", "solve_frpcag", "solve_glpca", "solve_mmf", "solve_rpca", "solve_rpcag"]
