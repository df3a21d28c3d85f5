"""Optimization methods. They know terms by value, gradient and prox, never graphs."""

from .bounded_cg import bounded_cg
from .fista import fista, proximal_step

__all__ = ["bounded_cg", "fista", "proximal_step"]
