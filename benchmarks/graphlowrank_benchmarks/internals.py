"""The names of graphlowrank that are not public and that more than one module here needs, in one place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from numpy.typing import NDArray

from graphlowrank._files import check_writable, reading, write_atomically
from graphlowrank._threads import available_cores, current_threads, limit_threads

__all__ = [
    "Array",
    "Partition",
    "available_cores",
    "check_writable",
    "compressed_partitions",
    "current_threads",
    "default_gammas",
    "k_means",
    "leading_svd",
    "limit_threads",
    "reading",
    "robust_mean_absolute_deviation",
    "standardize",
    "write_atomically",
]  # fmt: skip

Array: TypeAlias = NDArray[Any]
Partition = Callable[[int, Any], Array]  # (restarts of k-means, random state) -> labels


def compressed_partitions(
    X: Array, n_clusters: int, *, scores: Any, random_state: Any, **options: Any
) -> tuple[Partition, int]:
    """Run Algorithm 3 up to k-means.

    Returns a function that runs k-means on the compressed samples and interpolates the labels, and the rank of the
    compressed low-rank matrix. The estimators run k-means once for each fit; the paper's protocol runs it many times.
    """
    from graphlowrank._progress import Progress
    from graphlowrank.auto import choose_laplacian, fixed_gammas, n_kept
    from graphlowrank.clustering import decode_labels, leading_directions
    from graphlowrank.linalg.svd import rank_of
    from graphlowrank.options import Options
    from graphlowrank.pipeline import build_graphs, compress, solve
    from graphlowrank.records import LossWeights, Run

    settings = Options(**options)
    kept = n_kept(settings, X.shape)[0]
    if n_clusters > kept:
        raise ValueError(f"n_clusters must be at most {kept} (the kept samples), got {n_clusters}.")
    run = Run(settings, random_state, Progress())
    laplacian = choose_laplacian(settings, "clustering")
    small = compress(X, build_graphs(X, run), laplacian, LossWeights(), n_clusters, run)
    solution = solve(small, fixed_gammas(settings, laplacian), run)
    directions = leading_directions(solution.X, n_clusters)

    def partition(n_init: int, random_state: Any) -> Array:
        return decode_labels(
            solution.X, small.samples, n_clusters, directions=directions, scores=scores, n_init=n_init,
            random_state=random_state,
        ).labels  # fmt: skip

    return partition, rank_of(directions[1])


def default_gammas(laplacian: Any) -> tuple[float, float]:
    """Return the fixed defaults of ``gamma_samples`` and ``gamma_features``."""
    from graphlowrank.auto.gammas import FIXED

    return FIXED[laplacian]


def k_means(points: Array, n_clusters: int, n_init: int, random_state: Any) -> Array:
    """Cluster numbers of the points."""
    from graphlowrank.clustering import k_means as run

    return run(points, n_clusters, n_init, random_state)[0]


def leading_svd(X: Array, rank: int) -> tuple[Array, Array, Array]:
    """Leading left singular vectors, singular values and right singular vectors."""
    from graphlowrank.linalg.svd import leading_svd as run

    return run(X, rank)


def robust_mean_absolute_deviation(X: Array) -> float:
    """Robust estimate of the mean absolute deviation of the entries: the unit of gammas."""
    from graphlowrank.preprocessing.robust_statistics import robust_mean_absolute_deviation as run

    return run(X)


def standardize(X: Array, axis: int) -> Array:
    """Zero mean and unit standard deviation along an axis; constants become zero, the precision is kept."""
    from graphlowrank.preprocessing.scaling import standardize as run

    return run(X, axis)  # type: ignore[return-value]
