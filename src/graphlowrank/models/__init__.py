"""Optimisation problems, one file each."""

from .frpcag import solve_frpcag
from .rpca import RobustPCA, solve_rpca

__all__ = ["RobustPCA", "solve_frpcag", "solve_rpca"]
