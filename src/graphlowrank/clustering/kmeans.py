"""K-means, and the scores of the compressed matrix that it clusters."""

from inspect import signature
from typing import Literal, get_args

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh
from sklearn.utils import check_random_state

from .._threads import map_tasks
from .._typing import Array, RandomState
from ..linalg.svd import leading_svd, rank_of

Scores = Literal["whitened", "scaled", "spectral", "matrix"]

DIRECTIONS_PER_CLUSTER = 1.5  # chosen on six data sets: fewer lose small clusters, more let noise in
MIN_SINGULAR_RATIO = 1e-3  # below, whitening would amplify noise
SPECTRAL_TOL = 1e-4  # of eigenvalues
REGULARIZATION = 1e-3  # edge weight added between all pairs of nodes, in mean degrees
MAX_SPECTRAL = 100  # eigenvectors; more take longer than all other candidates
TOL, MAX_ITER = 1e-4, 300  # squared shift of the centers in variances, and iterations, as in scikit-learn
POINTS_PER_CLUSTER = 5  # on which k-means fits its centers, at least


def k_means(
    points: Array,
    n_clusters: int,
    n_init: int,
    random_state: RandomState,
    weights: Array | None = None,
    fit_on: int | None = None,
) -> tuple[Array, float]:
    """Cluster labels (n,) of the start of lowest inertia, and the weighted sum of squared distances to the centers.

    As in :class:`sklearn.cluster.KMeans`, which draws the same starts, but without the GIL, and starts run in threads.
    Coinciding points can make fewer clusters.

    Parameters
    ----------
    points, weights
        (n, d), and their (n,) weights; None for ones.
    n_clusters, n_init, random_state
        Clusters, starts of k-means++, and the seed.
    fit_on
        Fit the centers on so many random points; None for all.
    """
    n = len(points)
    columns = np.ascontiguousarray(points.T, dtype=np.float64)
    given = np.ones(n) if weights is None else np.ascontiguousarray(weights, dtype=np.float64)
    fit_on = None if fit_on is None else max(fit_on, POINTS_PER_CLUSTER * n_clusters)
    part, part_weights = columns, given
    if fit_on is not None and fit_on < n:
        drawn = check_random_state(random_state).choice(n, fit_on, replace=False)
        part, part_weights = np.ascontiguousarray(columns[:, drawn]), given[drawn]
    rng = check_random_state(random_state)
    n_trials = 2 + int(np.log(n_clusters))  # as in scikit-learn
    starts = [(rng.random_sample(), rng.random_sample((n_clusters - 1, n_trials))) for _ in range(n_init)]

    def run(start: tuple[float, Array]) -> tuple[float, Array]:
        centers = _seed_centers(part, part_weights, *start)
        return _iterate(part, part_weights, centers), centers

    found = map_tasks(run, starts) if n_init > 1 else [run(starts[0])]
    _, centers = min(found, key=lambda one: one[0])
    labels, squared = _assign(columns, centers)
    return labels, float(given @ squared)


def _assign(points: Array, centers: Array) -> tuple[Array, Array]:
    """Nearest center (n,) of each point, a column of (d, n), and its squared distance."""
    from ..kernels.k_means import TILE, nearest_centers

    labels, squared = np.empty(points.shape[1], dtype=np.int64), np.empty(points.shape[1])
    nearest_centers(points, centers, np.empty((6, TILE)), labels, squared)
    return labels, squared


def _seed_centers(points: Array, weights: Array, first: float, uniforms: Array) -> Array:
    """Centers (n_clusters, d) by k-means++ (Arthur and Vassilvitskii, 2007) from given random numbers.

    ``first`` draws the first center, the rows of ``uniforms`` (n_clusters - 1, n_trials) the trials for each other one.
    """
    from ..kernels.k_means import FAR, TILE, distances_to_trials

    n, totals = points.shape[1], np.empty((4, TILE))
    chosen = min(int(np.searchsorted(np.cumsum(weights), first * weights.sum(), side="right")), n - 1)
    centers, closest = [points[:, chosen]], np.empty((1, n))
    distances_to_trials(points, points[:, chosen][None].copy(), totals, np.full(n, FAR), closest)
    for numbers in uniforms:
        cumulative = np.cumsum(weights * closest[0])
        drawn = np.minimum(np.searchsorted(cumulative, numbers * cumulative[-1]), n - 1)
        trials, squared = np.ascontiguousarray(points[:, drawn].T), np.empty((len(drawn), n))
        distances_to_trials(points, trials, totals, closest[0], squared)
        best = int((squared @ weights).argmin())
        centers.append(trials[best])
        closest = squared[best : best + 1]
    return np.array(centers)


def _iterate(points: Array, weights: Array, centers: Array) -> float:
    """Move the centers by Lloyd's iterations; return the weighted sum of squared distances."""
    from ..kernels.k_means import TILE, iterate

    (d, n), k = points.shape, len(centers)
    labels, before, squared = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64), np.empty(n)
    scratch = np.empty((6, TILE)), labels, before, squared, np.empty((d, k)), np.empty(k)
    iterate(points, weights, TOL * float(points.var(axis=1).mean()), MAX_ITER, centers, *scratch)
    return float(weights @ squared)


def leading_directions(
    X_small: Array, n_clusters: int, sample_weights: Array | None = None, feature_weights: Array | None = None
) -> tuple[Array, Array]:
    """Left singular vectors (n_kept_samples, k) and singular values (k,): enough for either kind of scores."""
    if feature_weights is not None:
        X_small = X_small * np.sqrt(feature_weights).astype(X_small.dtype)
    at_least = _n_directions(n_clusters, X_small.shape)
    if sample_weights is None:
        return leading_svd(X_small, at_least=at_least)[:2]
    # With importance weights the directions represent the samples left out; the coordinates are per sample.
    rows = np.sqrt(sample_weights).astype(X_small.dtype)[:, None]
    left, values, _ = leading_svd(rows * X_small, at_least=at_least)
    return left / rows, values


def spectral_directions(weights: sp.csr_array, n_clusters: int) -> tuple[Array, Array] | None:
    """Smoothest signals (n_nodes, n_clusters) of a graph, and ones (n_clusters,) for their singular values.

    None for a graph without edges, for too many clusters, and if the eigenvectors are not found.

    The leading eigenvectors of the normalized adjacency matrix, regularized by weak edges between all nodes: without
    them, the first would be indicators of tiny components. They are the limit of the low-rank model for large
    gamma_samples, and find clusters that are not convex.
    """
    n = weights.shape[0]
    if n_clusters >= n or n_clusters > MAX_SPECTRAL or not weights.nnz:
        return None
    degrees = np.asarray(weights.sum(axis=1, dtype=np.float64)).ravel()
    extra = REGULARIZATION * float(degrees.mean())
    root = 1 / np.sqrt(degrees + extra)

    def adjacency(x: Array) -> Array:
        scaled = root * x.ravel()
        return root * (weights @ scaled + extra * scaled.mean())

    operator = LinearOperator((n, n), matvec=adjacency, dtype=np.float64)
    # ARPACK would draw its start, and, since scipy 1.17, restarts without a seed.
    seeded = {"v0": np.cos(np.arange(n)), **({"rng": 0} if "rng" in signature(eigsh).parameters else {})}
    try:
        vectors = eigsh(operator, n_clusters, which="LA", tol=SPECTRAL_TOL, **seeded)[1]
    except ArpackError:
        return None
    return vectors[:, ::-1], np.ones(n_clusters)


def _n_directions(n_clusters: int, shape: tuple[int, ...]) -> int:
    return min(int(np.ceil(DIRECTIONS_PER_CLUSTER * n_clusters)), *shape)


def cluster_scores(left: Array, values: Array, n_clusters: int, scores: str) -> tuple[Array, str]:
    """Coordinates that k-means clusters, with unit mean square, and their kind.

    "whitened" gives the first ``1.5 n_clusters`` directions equal weight and every sample unit length, so strong
    factors (illumination of faces) and faint samples do not dominate. It falls back to "scaled" if there are fewer
    directions than clusters. "scaled" are the principal scores, truncated at a tenth of the first singular value.
    "spectral" gives every sample unit length, as in spectral clustering.
    """
    if scores not in get_args(Scores) or scores == "matrix":
        raise ValueError(f"scores must be 'whitened', 'scaled' or 'spectral', got {scores!r}.")
    n_directions = _n_directions(n_clusters, (len(left), len(values)))
    present = values[:n_directions] >= MIN_SINGULAR_RATIO * values[0]
    # Fewer directions than clusters: clusters differ by distance along them, which whitening would remove.
    if scores == "scaled" or (scores == "whitened" and present.sum() < n_clusters):
        k = n_directions if scores == "whitened" else max(rank_of(values), 1)
        points, scores = left[:, :k] * values[:k], "scaled"
    else:
        points = left[:, :n_directions][:, present]
        lengths = np.linalg.norm(points, axis=1, keepdims=True)
        points = np.divide(points, lengths, out=points, where=lengths > 0)
    size = np.sqrt(np.mean(points**2))
    return (points / size if size > 0 else points), scores
