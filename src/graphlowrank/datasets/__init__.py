"""Data with a known answer, ways to corrupt data, and loaders of real sets.

.. autosummary::
    make_low_rank_on_graphs   synthetic matrix in the span of the smoothest signals of two graphs
    sparse_noise              gross errors on a share of each sample's entries
    load_mnist, load_orl, load_usps, load_bootstrap_video
"""

from .corruptions import sparse_noise
from .real import load_bootstrap_video, load_mnist, load_orl, load_usps
from .synthetic import LowRankOnGraphs, make_low_rank_on_graphs

__all__ = [
    "LowRankOnGraphs",
    "load_bootstrap_video",
    "load_mnist",
    "load_orl",
    "load_usps",
    "make_low_rank_on_graphs",
    "sparse_noise",
]
