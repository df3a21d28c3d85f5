"""Low-rank structure on graphs.

Recovers clean low-rank matrices, and clusters, from large noisy data whose samples and features lie on graphs.
``import graphlowrank`` loads nothing heavy; names are imported when first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._version import __version__

if TYPE_CHECKING:
    from .decoders import LowRankMatrix
    from .estimators import (
        CompressiveClustering,
        CompressivePCA,
        FastRobustPCAOnGraphs,
        GraphLaplacianPCA,
        GraphNMF,
        ManifoldMF,
        RobustPCA,
        RobustPCAOnGraphs,
    )
    from .estimators.persistence import load
    from .estimators.plan import plan
    from .guarantees import diagnose

_HOME = {
    "CompressiveClustering": ".estimators",
    "CompressivePCA": ".estimators",
    "FastRobustPCAOnGraphs": ".estimators",
    "GraphLaplacianPCA": ".estimators",
    "GraphNMF": ".estimators",
    "LowRankMatrix": ".decoders",
    "ManifoldMF": ".estimators",
    "RobustPCA": ".estimators",
    "RobustPCAOnGraphs": ".estimators",
    "diagnose": ".guarantees",
    "load": ".estimators.persistence",
    "plan": ".estimators.plan",
}
_MODULES = {
    "anndata": ".anndata",
    "counts": ".preprocessing.counts",
    "datasets": ".datasets",
    "decoders": ".decoders",
    "graphs": ".graphs",
    "guarantees": ".guarantees",
    "linalg": ".linalg",
    "metrics": ".metrics",
    "models": ".models",
    "reduction": ".reduction",
    "sampling": ".sampling",
    "solvers": ".solvers",
    "tomography": ".tomography",
    "video": ".video",
}

__all__ = [  # noqa: PLE0604
    "__version__",
    "CompressiveClustering",
    "CompressivePCA",
    "FastRobustPCAOnGraphs",
    "GraphLaplacianPCA",
    "GraphNMF",
    "LowRankMatrix",
    "ManifoldMF",
    "RobustPCA",
    "RobustPCAOnGraphs",
    "diagnose",
    "load",
    "plan",
    *_MODULES,
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name], __name__), name)
    if name in _MODULES:
        return import_module(_MODULES[name], __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
