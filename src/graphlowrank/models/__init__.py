"""Optimisation problems, one file each."""

from .frpcag import solve_frpcag
from .rpca import LowRankPlusSparse, solve_rpca

__all__ = ["LowRankPlusSparse", "solve_frpcag", "solve_rpca"]
