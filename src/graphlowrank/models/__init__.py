"""Optimisation problems, one file each."""

from .frpcag import solve_frpcag

__all__ = ["solve_frpcag"]
