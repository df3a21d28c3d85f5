"""scikit-learn estimators: they validate, call the pipeline and store; the arithmetic is elsewhere."""

from .clustering import CompressiveClustering
from .cpca import CompressivePCA
from .embeddings import GraphLaplacianPCA, ManifoldMF
from .frpcag import FastRobustPCAOnGraphs
from .gnmf import GraphNMF
from .rpca import RobustPCA
from .rpcag import RobustPCAOnGraphs

__all__ = [
    "CompressiveClustering",
    "CompressivePCA",
    "FastRobustPCAOnGraphs",
    "GraphLaplacianPCA",
    "GraphNMF",
    "ManifoldMF",
    "RobustPCA",
    "RobustPCAOnGraphs",
]
