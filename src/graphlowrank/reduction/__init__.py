"""Reduced graphs on the kept nodes.

.. autosummary::
    kron_reduce    Schur complement of the Laplacian: exact (dense), or sparse by random walks
    reduce_graph   reduction by name: Kron reduction, or the k-nearest-neighbor graph of the kept points
    sparsify       fewer edges, the same Laplacian in expectation
"""

from .kron import Reduction, kron_reduce, reduce_graph
from .sparsify import sparsify

__all__ = ["Reduction", "kron_reduce", "reduce_graph", "sparsify"]
