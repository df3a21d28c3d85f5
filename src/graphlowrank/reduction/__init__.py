"""Reduced graphs on the kept nodes.

.. autosummary::
    kron_reduce    Schur complement of the Laplacian: exact (dense), or sparse by random walks
    reduced_laplacian   Schur complement of the combinatorial or the normalized Laplacian
    reduce_graph   reduction by name: Kron reduction, or the k-nearest-neighbor graph of the kept points
    sparsify       fewer edges, the same Laplacian in expectation
"""

from .kron import Reduction, kron_reduce, reduce_graph, reduced_laplacian
from .sparsify import sparsify

__all__ = ["Reduction", "kron_reduce", "reduce_graph", "reduced_laplacian", "sparsify"]
