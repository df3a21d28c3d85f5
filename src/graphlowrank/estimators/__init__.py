"""scikit-learn estimators: they validate, call the pipeline and store; the arithmetic is elsewhere."""

from .clustering import CompressiveClustering
from .cpca import CompressivePCA
from .frpcag import FastRobustPCAOnGraphs

__all__ = ["CompressiveClustering", "CompressivePCA", "FastRobustPCAOnGraphs"]
