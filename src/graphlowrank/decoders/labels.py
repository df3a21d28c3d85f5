"""Label decoding, Algorithm 3."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.cluster import KMeans
from sklearn.utils import check_random_state

from .._backend import Array
from ..linalg.svd import leading_svd
from ..metrics import modularity
from .penalty import fit_smooth
from .side import Side

Scores = Literal["auto", "whitened", "scaled"]

DIRECTIONS_PER_CLUSTER = 1.5  # measured on six data sets: fewer lose small clusters, more let noise in
FAINTEST_DIRECTION = 1e-3  # relative singular value: below, whitening would blow up noise
CLEARLY_BETTER = (
    0.05  # modularity; on faces the wrong scores lead by up to 0.035, on easy tables the right ones by 0.08
)


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
    """

    labels: Array
    soft_labels: Array
    scores: str


def decode_labels(
    X_small: Array,
    samples: Side,
    n_clusters: int,
    *,
    feature_weights: Array | None = None,
    gamma: float = 0.0,
    scores: Scores = "auto",
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
    gamma
        See above. The Laplacian is divided by its mean diagonal.
    scores
        "whitened" gives the first 1.5 n_clusters directions equal weight and every sample unit length, so that strong
        factors (light on faces) and faint samples do not decide; data with fewer directions than clusters are left
        "scaled". "scaled" runs k-means on the leading principal scores, which is k-means on the low-rank matrix
        itself, as in the paper. "auto" tries both and takes the whitened ones unless the graph speaks clearly for the
        others: modularity higher by 0.05.
    n_init
        Restarts of k-means.
    random_state
        Seed of k-means.
    """
    rng = check_random_state(random_state)

    def attempt(kind: str) -> Labels:
        points, used = cluster_scores(X_small, n_clusters, kind, samples.weights, feature_weights)
        k_means = KMeans(n_clusters, n_init=n_init, random_state=rng)
        small_labels = k_means.fit(points, sample_weight=samples.weights).labels_
        indicators = np.eye(n_clusters, dtype=X_small.dtype)[small_labels]
        return Labels(*pool(fit_smooth(samples, indicators, gamma=gamma).X), used)

    if scores != "auto" or samples.graph is None:
        return attempt("whitened" if scores == "auto" else scores)
    whitened, scaled = attempt("whitened"), attempt("scaled")
    weights = samples.graph.weights
    lead = modularity(weights, scaled.labels) - modularity(weights, whitened.labels)
    return scaled if lead > CLEARLY_BETTER else whitened


def pool(indicators: Array) -> tuple[Array, Array]:
    """Hard and soft labels from the decoded indicators (Algorithm 3, step 3)."""
    soft = np.clip(indicators, 0, None)
    soft /= np.maximum(soft.sum(axis=1, keepdims=True), np.finfo(soft.dtype).tiny)
    return soft.argmax(axis=1), soft


def cluster_scores(
    X_small: Array,
    n_clusters: int,
    scores: str,
    sample_weights: Array | None = None,
    feature_weights: Array | None = None,
) -> tuple[Array, str]:
    """Coordinates that k-means sees, and their kind: "whitened" falls back to "scaled" where directions are too few.

    They have unit mean square, so that the tolerance of k-means means the same for any data.
    """
    if scores not in ("whitened", "scaled"):
        raise ValueError(f"scores must be 'whitened' or 'scaled', got {scores!r}.")
    n_directions = min(int(np.ceil(DIRECTIONS_PER_CLUSTER * n_clusters)), *X_small.shape)
    if feature_weights is not None:
        X_small = X_small * np.sqrt(feature_weights).astype(X_small.dtype)
    # Directions in which kept samples stand for those left out; the coordinates along them are per sample.
    rows = None if sample_weights is None else np.sqrt(sample_weights).astype(X_small.dtype)[:, None]
    left, values, _ = leading_svd(
        X_small if rows is None else rows * X_small, n_directions if scores == "whitened" else None
    )
    left = left if rows is None else left / rows
    present = values >= FAINTEST_DIRECTION * values[0]
    # Fewer directions than clusters: along them clusters differ by distance, which whitening would take away.
    if scores == "scaled" or present.sum() < n_clusters:
        points, scores = left * values, "scaled"
    else:
        points = left[:, present]
        lengths = np.linalg.norm(points, axis=1, keepdims=True)
        points = np.divide(points, lengths, out=points, where=lengths > 0)
    size = np.sqrt(np.mean(points**2))
    return (points / size if size > 0 else points), scores
