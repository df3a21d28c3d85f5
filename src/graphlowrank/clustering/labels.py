"""Label decoding, Algorithm 3."""

from __future__ import annotations

import warnings
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from .._backend import Array
from .._threads import single_threaded_libraries
from ..decoders.penalty import fit_smooth
from ..linalg.svd import leading_svd, rank_of
from ..sampling.nodes import Side

Scores = Literal["whitened", "scaled"]

DIRECTIONS_PER_CLUSTER = 1.5  # measured on six data sets: fewer lose small clusters, more let noise in
FAINTEST_DIRECTION = 1e-3  # relative singular value: below, whitening would blow up noise
MEMBERSHIP_TOLERANCE = 1e-5
LEARN_FROM = 20_000  # kept samples that k-means learns its centres from: more tell no more, and take longer
FEW_PRODUCTS = 5_000_000  # an iteration of k-means in about two milliseconds


@dataclass(frozen=True, eq=False)
class Labels:
    """Cluster of each sample.

    Attributes
    ----------
    labels
        (n_samples,) cluster numbers.
    soft_labels
        (n_samples, n_clusters) membership: rows are non-negative and sum to 1.
    scores
        What k-means saw: "whitened" or "scaled".
    rank
        Of the compressed matrix, by the rank rule; about the number of clusters where the gammas suit the data.
    """

    labels: Array
    soft_labels: Array
    scores: str
    rank: int


def decode_labels(
    X_small: Array,
    samples: Side,
    n_clusters: int,
    *,
    feature_weights: Array | None = None,
    directions: tuple[Array, Array] | None = None,
    gamma: float = 0.0,
    scores: Scores = "whitened",
    n_init: int = 10,
    random_state: Any = None,
) -> Labels:
    """Cluster the compressed samples by k-means and spread the labels C over the sample graph (Algorithm 3).

    ``min tr(C^T L C)  s.t.  M C = C_small``, or with gamma > 0 ``min ||M C - C_small||^2 + gamma tr(C^T L C)``, which
    may overrule a label of k-means that all its neighbours contradict.

    Parameters
    ----------
    X_small
        (n_kept_samples, n_kept_features) solution of FRPCAG.
    samples
        Graph on all samples (None where everything was kept), kept nodes and importance weights.
    n_clusters
        Number of clusters.
    feature_weights
        Importance weights of the kept features; None for ones.
    directions
        :func:`leading_directions` of the same, where several partitions are wanted.
    gamma
        See above. The Laplacian is divided by its mean diagonal.
    scores
        "whitened" gives the first 1.5 n_clusters directions equal weight and every sample unit length, so that strong
        factors (light on faces) and faint samples do not decide; data with fewer directions than clusters are left
        "scaled". "scaled" runs k-means on the leading principal scores, which is k-means on the low-rank matrix
        itself, as in the paper.
    n_init
        Restarts of k-means.
    random_state
        Seed of k-means.
    """
    rng = check_random_state(random_state)
    directions = directions or leading_directions(X_small, n_clusters, samples.weights, feature_weights)
    points, used = cluster_scores(*directions, n_clusters, scores)
    found = k_means(points, n_clusters, n_init, rng, samples.weights, learn_from=LEARN_FROM)
    labels, soft = spread(found, samples, n_clusters, X_small.dtype, gamma=gamma)
    return Labels(labels, soft, used, rank_of(directions[1]))


def spread(
    found: Array,
    samples: Side,
    n_clusters: int,
    dtype: Any = np.float64,
    *,
    gamma: float = 0.0,
    tol: float = MEMBERSHIP_TOLERANCE,
) -> tuple[Array, Array]:
    """Hard and soft labels of all samples from those of the kept ones."""
    indicators = np.eye(n_clusters, dtype=dtype)[found]
    return pool(fit_smooth(samples, indicators, gamma=gamma, tol=tol).X)


def k_means(
    points: Array,
    n_clusters: int,
    n_init: int,
    random_state: Any,
    weights: Array | None = None,
    *,
    fewer: bool = False,
    learn_from: int | None = None,
) -> Array:
    """Cluster numbers of the points; few points on one thread, since threads that wait for one another cost more.

    ``fewer`` clusters than asked for, where points coincide, give no warning. Centres are learnt from as many points as
    ``learn_from`` says, drawn anew at each call; None for all.
    """
    points = points.astype(np.float64)  # scikit-learn would turn single precision into double at every distance
    few = points.size * n_clusters < FEW_PRODUCTS
    with single_threaded_libraries() if few else nullcontext(), warnings.catch_warnings():
        if fewer:
            warnings.simplefilter("ignore", ConvergenceWarning)
        model = KMeans(n_clusters, n_init=n_init, random_state=random_state)
        if learn_from is None or learn_from >= len(points):
            return np.asarray(model.fit(points, sample_weight=weights).labels_)
        part = check_random_state(random_state).choice(len(points), learn_from, replace=False)
        model.fit(points[part], sample_weight=None if weights is None else weights[part])
        return np.asarray(model.predict(points))


def pool(indicators: Array) -> tuple[Array, Array]:
    """Hard and soft labels from the decoded indicators (Algorithm 3, step 3)."""
    soft = np.clip(indicators, 0, None)
    soft /= np.maximum(soft.sum(axis=1, keepdims=True), np.finfo(soft.dtype).tiny)
    return soft.argmax(axis=1), soft


def leading_directions(
    X_small: Array, n_clusters: int, sample_weights: Array | None = None, feature_weights: Array | None = None
) -> tuple[Array, Array]:
    """Left singular vectors (n_kept_samples, k) and singular values (k,): all that either kind of scores may need."""
    if feature_weights is not None:
        X_small = X_small * np.sqrt(feature_weights).astype(X_small.dtype)
    # Directions in which kept samples stand for those left out; the coordinates along them are per sample.
    rows = None if sample_weights is None else np.sqrt(sample_weights).astype(X_small.dtype)[:, None]
    left, values, _ = leading_svd(
        X_small if rows is None else rows * X_small, at_least=_n_directions(n_clusters, X_small.shape)
    )
    return (left if rows is None else left / rows), values


def _n_directions(n_clusters: int, shape: tuple[int, ...]) -> int:
    return min(int(np.ceil(DIRECTIONS_PER_CLUSTER * n_clusters)), *shape)


def cluster_scores(left: Array, values: Array, n_clusters: int, scores: str) -> tuple[Array, str]:
    """Coordinates that k-means sees, and their kind: "whitened" falls back to "scaled" where directions are too few.

    They have unit mean square, so that the tolerance of k-means means the same for any data.
    """
    if scores not in ("whitened", "scaled"):
        raise ValueError(f"scores must be 'whitened' or 'scaled', got {scores!r}.")
    n_directions = _n_directions(n_clusters, (len(left), len(values)))
    present = values[:n_directions] >= FAINTEST_DIRECTION * values[0]
    # Fewer directions than clusters: along them clusters differ by distance, which whitening would take away.
    if scores == "scaled" or present.sum() < n_clusters:
        k = n_directions if scores == "whitened" else max(rank_of(values), 1)
        points, scores = left[:, :k] * values[:k], "scaled"
    else:
        points = left[:, :n_directions][:, present]
        lengths = np.linalg.norm(points, axis=1, keepdims=True)
        points = np.divide(points, lengths, out=points, where=lengths > 0)
    size = np.sqrt(np.mean(points**2))
    return (points / size if size > 0 else points), scores
