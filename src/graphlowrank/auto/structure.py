"""Decide whether data have clusters at all: compare them with data that have none.

The reference is that of the gap statistic (Tibshirani, Walther and Hastie, 2001): values that are uniform along the
principal axes. Of data without clusters and of equal covariance, these fall apart most easily, since they are the
least concentrated. Constants were chosen on the labelled sets and the kinds of noise of docs/choices.md.
"""

import numpy as np

from .._checks import largest_entry
from .._threads import map_tasks, single_threaded_libraries
from .._typing import Array
from ..clustering.kmeans import k_means, spectral_directions
from ..clustering.refinement import MIN_SHARE, refine
from ..graphs import knn_graph
from ..metrics import conductance
from ..options import Options, is_auto
from ..preprocessing.principal import centered_svd
from ..preprocessing.sparse import Data, is_sparse, power_of_two
from ..sampling import draw
from .choice import Choice

N_SAMPLES, MIN_DRAWN, MAX_ENTRIES = 700, 300, 3_000_000  # drawn: so many samples, fewer if they have many features
MIN_SAMPLES = 50  # different ones; fewer have clusters by chance
N_AXES = 64  # principal axes
N_COPIES = 8  # of the reference
N_NEIGHBORS = 10
COUNTS = (2, 3)  # clusters: if there are more, unions of them are clusters, too; tails of noise make more, too
N_STARTS = 4  # of k-means: fewer make the reference vary more
CLEAR = 0.7  # conductance / that of the reference, below which clusters are real
SPREADS = 3.0  # standard deviations of the reference by which they must differ: much in two dimensions
MIN_CONDUCTANCE = 1e-6  # smaller ones are equal
MIN_RATIO = 1e-3  # of a singular value to the first: rounding errors, and the noise that breaks ties, below
DECIMALS = 5  # of samples that count as equal, in units of the largest score
JITTER = 1e-4  # in the same units


def check_structure(X: Data, options: Options) -> Choice:
    """Decide whether scaled data without missing values have clusters; True if that cannot be said."""
    if not isinstance(options.sample_graph, str):
        return _not_checked("no sample graph is built from the data")
    if options.n_clusters == 1:
        return _not_checked("one cluster")
    if options.partition == "k-means" and not is_auto(options.n_clusters):
        return _not_checked("Algorithm 3 with a given number of clusters")
    return find_structure(X)


@single_threaded_libraries()
def find_structure(X: Data) -> Choice:
    """Compare the clusters of at most 700 samples with those of uniform data of the same covariance.

    The seed is fixed, so that the decision depends on the data alone. Equal samples count once: otherwise counts with
    few values would fall into many perfect clusters.
    """
    rng = np.random.RandomState(0)
    size = min(N_SAMPLES, max(MAX_ENTRIES // X.shape[1], MIN_DRAWN))
    part = X if len(X) <= size else X[draw(len(X), size, random_state=rng)]
    largest = part.bound() if is_sparse(part) else largest_entry(part)
    # In a moderate unit, for squares and for single precision.
    scores = _distinct(part / float(power_of_two(largest)), rng)
    if len(scores) < MIN_SAMPLES:
        return _not_checked(f"fewer than {MIN_SAMPLES} different samples")
    axes, values = _principal_axes(scores)
    if len(values) == 1:  # a line is divided at any wide gap between two samples, and uniform samples have such gaps
        return _not_checked("one principal axis")
    seeds = rng.randint(2**31 - 1, size=1 + N_COPIES)

    def log_conductances(at: int) -> Array:
        own = np.random.RandomState(seeds[at])
        return _log_conductances((axes if at == 0 else _uniform(axes.shape, own)) * values, own)

    found, *copies = map_tasks(log_conductances, range(len(seeds)))
    others: Array = np.array(copies)
    ratios = found - others.mean(axis=0)
    limits = np.minimum(np.log(CLEAR), -SPREADS * others.std(axis=0, ddof=1))
    best = int((ratios - limits).argmin())
    reason = f"{COUNTS[best]} clusters have {np.exp(ratios[best]):.2f} of the conductance of those of uniform data"
    return Choice("structure", bool(ratios[best] < limits[best]), reason)


def _not_checked(why: str) -> Choice:
    return Choice("structure", True, f"not checked: {why}")  # noqa: FBT003


def _log_conductances(points: Array, rng: np.random.RandomState) -> Array:
    """Logarithms of the conductance of 2 and 3 clusters of points (n, d): spectral clusters of a neighbor graph."""
    weights = knn_graph(points.astype(np.float32), N_NEIGHBORS, neighbors="exact").weights
    directions = spectral_directions(weights, max(COUNTS))
    if directions is None:
        return np.zeros(len(COUNTS))
    found = []
    for k in COUNTS:
        rows = directions[0][:, :k]
        rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), np.finfo(np.float64).tiny)
        labels = refine(weights, k_means(rows, k, N_STARTS, rng)[0], k, compiled_above=0)  # without the GIL
        found.append(conductance(weights, labels, k, min_share=MIN_SHARE))
    return np.log(np.maximum(found, MIN_CONDUCTANCE))


def _distinct(X: Data, rng: np.random.RandomState) -> Array:
    """Principal scores (n_distinct, k) of the samples that differ, with noise that breaks ties between distances.

    The search would break them by rounding errors, which are alike in one half of a grid, and so tear it in two.
    """
    left, values, _ = centered_svd(X, N_AXES)
    scores = left * values
    size = max(float(np.abs(scores).max(initial=0)), np.finfo(np.float64).tiny)
    first = np.unique(np.round(scores / size, DECIMALS), axis=0, return_index=True)[1]
    return scores[np.sort(first)] + JITTER * size * rng.standard_normal((len(first), scores.shape[1]))


def _principal_axes(scores: Array) -> tuple[Array, Array]:
    """Orthonormal axes (n, k) of centered scores and their singular values (k,), without those of rounding errors."""
    left, values, _ = centered_svd(scores, min(len(scores) - 1, scores.shape[1]))
    present = values > MIN_RATIO * values[0]
    return left[:, present], values[present]


def _uniform(shape: tuple[int, ...], rng: np.random.RandomState) -> Array:
    """Orthonormal axes of uniform samples: multiplied by singular values they have exactly the data's covariance."""
    values = rng.uniform(-1, 1, shape)
    return np.linalg.qr(values - values.mean(axis=0))[0]
