"""Plots by matplotlib, in scikit-learn's Display convention (``pip install 'graphlowrank[plots]'``).

``SomeDisplay.from_estimator(model, ...)`` computes what is shown and draws it; ``plot(ax=None)`` draws it again. The
attributes ``ax_`` and ``figure_`` are matplotlib's. matplotlib is imported when something is drawn.

.. autosummary::
    MapDisplay             samples in a plane, colored by cluster, confidence or feature
    ClusterSizesDisplay    sizes of the clusters
    GammaPathDisplay       conductance at each gamma of the clustering path
    GraphSpectrumDisplay   smallest eigenvalues of the sample graph, and the largest gap
    SingularValuesDisplay  of the data and of the recovered matrix, and the largest that noise would have
    PicturesDisplay        clean, corrupted and recovered pictures
    MissingValuesDisplay   where values are missing
    DecoderErrorDisplay    error of decoding against its bound, by the number of kept samples
"""

from .clusters import ClusterSizesDisplay, GammaPathDisplay
from .maps import MapDisplay
from .recovery import DecoderErrorDisplay, MissingValuesDisplay, PicturesDisplay
from .spectra import GraphSpectrumDisplay, SingularValuesDisplay

__all__ = [
    "ClusterSizesDisplay", "DecoderErrorDisplay", "GammaPathDisplay", "GraphSpectrumDisplay", "MapDisplay",
    "MissingValuesDisplay", "PicturesDisplay", "SingularValuesDisplay",
]  # fmt: skip
