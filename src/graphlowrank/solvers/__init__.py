"""Optimisation methods. They know terms by value, gradient and prox; never graphs."""

from .fista import fista, proximal_step

__all__ = ["fista", "proximal_step"]
