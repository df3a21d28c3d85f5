"""Low-rank structure on graphs.

Recovers clean low-rank matrices, and clusters, from large noisy data whose samples and features lie on graphs.
``import graphlowrank`` loads nothing heavy; names are imported when first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._version import __version__

if TYPE_CHECKING:
    from ._warmup import warmup as warmup
    from .decoders import LowRankMatrix as LowRankMatrix
    from .estimators import CompressiveClustering as CompressiveClustering
    from .estimators import CompressiveEmbedding as CompressiveEmbedding
    from .estimators import CompressivePCA as CompressivePCA
    from .estimators import FastRobustPCAOnGraphs as FastRobustPCAOnGraphs
    from .estimators import GraphLaplacianPCA as GraphLaplacianPCA
    from .estimators import GraphNMF as GraphNMF
    from .estimators import ManifoldMF as ManifoldMF
    from .estimators import RobustPCA as RobustPCA
    from .estimators import RobustPCAOnGraphs as RobustPCAOnGraphs
    from .estimators.persistence import load as load
    from .estimators.plan import plan as plan
    from .guarantees.diagnose import diagnose as diagnose
    from .outofcore.settings import large_data as large_data

_HOME = {
    "CompressiveClustering": ".estimators",
    "CompressiveEmbedding": ".estimators",
    "CompressivePCA": ".estimators",
    "FastRobustPCAOnGraphs": ".estimators",
    "GraphLaplacianPCA": ".estimators",
    "GraphNMF": ".estimators",
    "LowRankMatrix": ".decoders",
    "ManifoldMF": ".estimators",
    "RobustPCA": ".estimators",
    "RobustPCAOnGraphs": ".estimators",
    "diagnose": ".guarantees",
    "large_data": ".outofcore.settings",
    "load": ".estimators.persistence",
    "plan": ".estimators.plan",
    "warmup": "._warmup",
}
_MODULES = {
    "anndata": ".anndata",
    "counts": ".preprocessing.counts",
    "datasets": ".datasets",
    "decoders": ".decoders",
    "exceptions": ".exceptions",
    "graphs": ".graphs",
    "guarantees": ".guarantees",
    "linalg": ".linalg",
    "metrics": ".metrics",
    "models": ".models",
    "paper": ".paper",
    "plots": ".plots",
    "reduction": ".reduction",
    "sampling": ".sampling",
    "solvers": ".solvers",
    "tomography": ".tomography",
    "video": ".video",
}

__all__ = ["__version__", *_HOME, *_MODULES]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name], __name__), name)
    if name in _MODULES:
        return import_module(_MODULES[name], __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
