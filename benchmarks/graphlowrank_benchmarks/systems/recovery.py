"""Systems that recover a low-rank matrix, and systems that separate the background of a video."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

from ..cells import Record, stopwatch
from ..internals import Array, current_threads, default_gammas, limit_threads, robust_mean_absolute_deviation
from .registry import fit_estimator, system

RPCA_TOL = 1e-6  # default of RobustPCA; that of its solver is for double precision


class OutOfTimeError(Exception):
    """A solver exceeded its time limit."""

    def __init__(self, n_iter: int, limit: float) -> None:
        super().__init__(f"did not finish in {limit:g} s ({n_iter} iterations)")


@system("recover", "noisy")
def noisy(X: Array, record: Record, *, seed: int = 0, n_jobs: int | None = None) -> Array:
    """Return the data unchanged."""
    return X


@system("recover", "median")
def median(X: Array, record: Record, *, seed: int = 0, n_jobs: int | None = None) -> Array:
    """Median of each feature over all samples."""
    with record.timing("after"):
        return np.broadcast_to(np.median(X, axis=0), X.shape)


@system("recover", "pca")
def pca(X: Array, record: Record, *, n_components: int, seed: int = 0, n_jobs: int | None = None) -> Array:
    """scikit-learn's PCA."""
    with record.timing("import"):
        from sklearn.decomposition import PCA
    with record.timing("after"):
        model = PCA(n_components, random_state=seed).fit(X)
        low_rank = model.inverse_transform(model.transform(X))
    record.values["rank"] = n_components
    return np.asarray(low_rank)


@system("recover", "cpca")
def cpca(X: Array, record: Record, *, seed: int = 0, n_jobs: int | None = None, **options: Any) -> Array:
    """Compressive PCA; the whole matrix is computed, since the other systems return it too."""
    model = fit_estimator("CompressivePCA", X, record, random_state=seed, n_jobs=n_jobs, **options)
    with stopwatch() as seconds:
        low_rank = model.low_rank_.to_array()
    record.seconds["after"] += seconds[0]
    record.seconds["expand"] = seconds[0]
    record.values |= {
        "rank": int(model.n_components_),
        "decoder_iterations": int(model.decoder_n_iter_),
        "decoder_converged": bool(model.decoder_converged_),
    }
    return np.asarray(low_rank)


@system("recover", "frpcag")
def frpcag(X: Array, record: Record, *, seed: int = 0, n_jobs: int | None = None, **options: Any) -> Array:
    """Fast robust PCA on graphs, without compression; one component, since only the matrix is used."""
    options = {"n_components": 1, "random_state": seed, "n_jobs": n_jobs, **options}
    return np.asarray(fit_estimator("FastRobustPCAOnGraphs", X, record, **options).low_rank_)


@system("recover", "rpca")
def rpca(X: Array, record: Record, *, seed: int = 0, n_jobs: int | None = None, **options: Any) -> Array:
    """Robust PCA by the inexact augmented Lagrangian."""
    return _robust(X, record, n_jobs, sample_graph=None, **options)


@system("recover", "rpcag")
def rpcag(X: Array, record: Record, *, seed: int = 0, n_jobs: int | None = None, **options: Any) -> Array:
    """Robust PCA on the sample graph, which is built unless it is given."""
    if "sample_graph" not in options:
        from ..data import sample_graph

        with record.timing("graphs"):
            options["sample_graph"] = sample_graph(X, seed)
    return _robust(X, record, n_jobs, **options)


def _robust(X: Array, record: Record, n_jobs: int | None, **options: Any) -> Array:
    with record.timing("import"):
        import graphlowrank.models  # noqa: F401
    with record.timing("after"), limit_threads(n_jobs):
        found = solve_robust(X, **options)
    record.values["rank"] = int(found.rank)
    record.iterations(found.n_iter, converged=found.converged)
    return np.asarray(found.low_rank)


def solve_robust(
    X: Array, sample_graph: Any = None, limit_seconds: float = math.inf, *, gamma: float | None = None, **options: Any
) -> Any:
    """Robust PCA with the defaults of its estimators and a time limit.

    Parameters
    ----------
    X
        (n_samples, n_features).
    sample_graph
        Graph of the samples; None for robust PCA without one.
    limit_seconds
        The first iteration that ends later raises OutOfTimeError.
    gamma
        Gamma of ``RobustPCAOnGraphs``; None for its default.
    **options
        Of the solver, such as ``max_iter``.
    """
    from graphlowrank.models import solve_rpca, solve_rpcag

    begin = time.perf_counter()

    def check(n_iter: int, residual: float) -> None:
        if time.perf_counter() - begin > limit_seconds:
            raise OutOfTimeError(n_iter, limit_seconds)

    options["callback"] = check
    if sample_graph is None:
        return solve_rpca(X, **{"tol": RPCA_TOL, **options})
    gamma = default_gammas("combinatorial")[0] if gamma is None else gamma
    unit = robust_mean_absolute_deviation(X) or 1.0
    return solve_rpcag(X, sample_graph.unit_laplacian("combinatorial"), gamma=gamma / unit, **options)


@system("recover", "rpca, textbook")
def rpca_textbook(X: Array, record: Record, *, seed: int = 0, n_jobs: int | None = None) -> Array:
    """Robust PCA as a script with numpy and scipy has it."""
    with record.timing("import"):
        from .textbook import robust_pca
    with record.timing("after"):
        low_rank, n_iter, converged = robust_pca(X)
    record.iterations(n_iter, converged=converged)
    return low_rank


@system("recover", "rpca (PyPI)")
def rpca_package(X: Array, record: Record, *, n_components: int, seed: int = 0, n_jobs: int | None = None) -> Array:
    """Package ``rpca`` of PyPI: accelerated alternating projections for a given rank."""
    with record.timing("import"):
        from rpca import RobustPCA
    with record.timing("after"):
        model = RobustPCA(n_components=n_components, verbose=False).fit(X)
        low_rank = model.low_rank_ + model.mean_
    record.values |= {"iterations": int(model.end_iter_), "rank": n_components}
    return np.asarray(low_rank)


@system("recover", "pyrpca")
def pyrpca(X: Array, record: Record, *, tol: float, seed: int = 0, n_jobs: int | None = None) -> Array:
    """Package ``pyrpca`` of PyPI: inexact augmented Lagrangian."""
    with record.timing("import"):
        from pyrpca import rpca_pcp_ialm
    with record.timing("after"):
        return np.asarray(rpca_pcp_ialm(X, 1 / float(np.sqrt(max(X.shape))), tol=tol, verbose=False)[0])


# --- videos ---


@system("separate", "graphlowrank.video.separate")
def separate(frames: Array, record: Record, **options: Any) -> Array:
    """Our background and masks."""
    from graphlowrank.video import separate as run

    found = run(frames, **options)
    record.fitted(found.report.stages, sum(found.report.stages.values()))
    record.pictures["mask"] = found.mask
    return found.background


@system("separate", "MOG2 (OpenCV)")
def mog2(frames: Array, record: Record) -> Array:
    """OpenCV's mixture of Gaussians with its defaults; shadows do not count as foreground."""
    import cv2

    cv2.setNumThreads(current_threads())
    model = cv2.createBackgroundSubtractorMOG2(history=500, detectShadows=True)
    background, masks = np.empty(frames.shape, dtype=np.uint8), np.empty(frames.shape, dtype=bool)
    for t, frame in enumerate(frames):
        masks[t] = model.apply(frame) == 255  # shadows are 127
        background[t] = model.getBackgroundImage()
    record.pictures["mask"] = masks
    return background
