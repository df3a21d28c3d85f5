"""scikit-learn estimators: they validate, call the pipeline and store; the arithmetic is elsewhere."""

from .clustering import CompressiveClustering
from .compressive_embedding import CompressiveEmbedding
from .cpca import CompressivePCA
from .embeddings import GraphLaplacianPCA, GraphNMF, ManifoldMF
from .frpcag import FastRobustPCAOnGraphs
from .rpca import RobustPCA, RobustPCAOnGraphs

__all__ = [
    "CompressiveClustering", "CompressiveEmbedding", "CompressivePCA", "FastRobustPCAOnGraphs", "GraphLaplacianPCA",
    "GraphNMF", "ManifoldMF", "RobustPCA", "RobustPCAOnGraphs",
]  # fmt: skip
