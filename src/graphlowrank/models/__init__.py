"""Optimisation problems, one file each."""

from .frpcag import solve_frpcag
from .rpca import LowRankPlusSparse, solve_rpca
from .rpcag import solve_rpcag

__all__ = ["LowRankPlusSparse", "solve_frpcag", "solve_rpca", "solve_rpcag"]
