"""Small graphs on the kept nodes.

.. autosummary::
    kron_reduce    Schur complement of the Laplacian: exact (dense), or sparse by random walks
    reduce_graph   the same by name, or a neighbour graph of the sample
"""

from .kron import kron_reduce
from .rebuild import Reduction, reduce_graph

__all__ = ["Reduction", "kron_reduce", "reduce_graph"]
