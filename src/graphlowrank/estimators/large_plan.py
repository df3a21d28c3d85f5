"""How data that may not fit in memory would be fitted: method, rows of the first level, memory of each method."""

import os
from dataclasses import dataclass
from typing import Any, Literal

from .._threads import resolve_n_jobs
from ..options import Options
from ..outofcore.checks import float_type
from ..outofcore.method import fit_bytes, out_of_core_bytes
from ..outofcore.settings import current_settings
from ..outofcore.sources import Source, open_source
from ..records import LossWeights
from . import CompressiveClustering, CompressivePCA

TITLES = {"whole": "all in memory", "out_of_core": "all on disk", "two_level": "some samples, extended to all"}


@dataclass(frozen=True, repr=False)
class LargePlan:
    """Memory that each method needs, and the one that is taken; prints as a table.

    Attributes
    ----------
    task, n_samples, n_features
        "cluster" or "recover", and the shape of the data.
    memory
        Bytes that may be used.
    method, reason
        What is taken, and why.
    needed
        Bytes of each method; None if it is not possible.
    n_fitted
        Samples that a fit of some of them takes.
    obstacle
        Why a fit out of core is not possible; None if it is.
    """

    task: Literal["cluster", "recover"]
    n_samples: int
    n_features: int
    memory: int
    method: str
    reason: str
    needed: dict[str, float | None]
    n_fitted: int
    obstacle: str | None

    def __repr__(self) -> str:
        lines = [
            f"{self.task} {self.n_samples} samples x {self.n_features} features with {self.memory / 1e9:.3g} GB of "
            f"memory: {self.method}",
            f"  {self.reason}",
            "",
            f"  {'method':<11}  {'GB':>8}",
        ]
        for name, title in TITLES.items():
            needed = self.needed[name]
            about = f"{self.n_fitted} samples, extended to all" if name == "two_level" else title
            size = "-" if needed is None else f"{needed / 1e9:.2f}"
            note = f"not possible: {self.obstacle}" if needed is None else about
            lines.append(f"  {name:<11}  {size:>8}  {note}")
        return "\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return dict(vars(self))


def plan_large(
    X: Source | str | os.PathLike[str] | Any,
    *,
    task: Literal["cluster", "recover"] = "cluster",
    n_clusters: int | None = None,
    **options: Any,
) -> LargePlan:
    """Return how :class:`CompressiveClustering` or :class:`CompressivePCA` would fit data that may not fit in memory.

    Only the shape and the type of the data are read. Memory is that of
    :func:`graphlowrank.outofcore.settings.large_data`.

    Parameters
    ----------
    X
        Path, or array of dask, zarr or h5py.
    task
        "cluster", or "recover" a low-rank matrix.
    n_clusters
        Number of clusters, 8 if None; for recovery, rank, or None to choose one.
    **options
        Parameters of the estimator.
    """
    settings, source = current_settings(), open_source(X)
    cls = CompressiveClustering if task == "cluster" else CompressivePCA
    model: Any = cls(**options) if n_clusters is None else cls(n_clusters, **options)
    method, n_fitted, obstacle = model.choose_fit(source, LossWeights())
    own = Options.of(model.get_params(deep=False))
    sizes = float_type(source.array.dtype).itemsize, own
    n_threads, (n, p) = resolve_n_jobs(own.n_jobs), source.shape
    needed = {
        "whole": fit_bytes(task, (n, p), *sizes, n_threads),
        "out_of_core": None if obstacle else out_of_core_bytes(task, (n, p), *sizes),
        "two_level": fit_bytes(task, (n_fitted, p), *sizes, n_threads),
    }
    return LargePlan(task, n, p, settings.memory, str(method.value), method.reason, needed, n_fitted, obstacle)
