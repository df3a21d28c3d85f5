"""Label decoding, Algorithm 3."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.cluster import KMeans
from sklearn.utils import check_random_state

from .._backend import Array
from ..graphs import Graph
from ..linalg.svd import leading_svd
from ..metrics import modularity
from .upsample import upsample

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
    sample_graph: Graph | None,
    sample_indices: Array,
    n_clusters: int,
    *,
    scores: Scores = "auto",
    n_init: int = 10,
    random_state: Any = None,
) -> Labels:
    """Cluster the compressed samples by k-means and spread the labels over the sample graph (Algorithm 3).

    Parameters
    ----------
    X_small
        (n_kept_samples, n_kept_features) solution of FRPCAG.
    sample_graph
        Graph on all samples; None where everything was kept.
    sample_indices
        What was kept.
    n_clusters
        Number of clusters.
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
        points, used = cluster_scores(X_small, n_clusters, kind)
        small_labels = KMeans(n_clusters, n_init=n_init, random_state=rng).fit(points).labels_
        return spread_labels(small_labels, sample_graph, sample_indices, n_clusters, X_small.dtype, used)

    if scores != "auto" or sample_graph is None:
        return attempt("whitened" if scores == "auto" else scores)
    whitened, scaled = attempt("whitened"), attempt("scaled")
    lead = modularity(sample_graph.weights, scaled.labels) - modularity(sample_graph.weights, whitened.labels)
    return scaled if lead > CLEARLY_BETTER else whitened


def spread_labels(
    small_labels: Array, sample_graph: Graph | None, sample_indices: Array, n_clusters: int, dtype: Any, scores: str
) -> Labels:
    """Decode the labels of the kept samples for all of them (Algorithm 3, steps 2 and 3)."""
    indicators = np.eye(n_clusters, dtype=dtype)[small_labels]
    if sample_graph is not None:
        indicators = upsample(sample_graph, sample_indices, indicators).X
    soft = np.clip(indicators, 0, None)
    soft /= np.maximum(soft.sum(axis=1, keepdims=True), np.finfo(soft.dtype).tiny)
    return Labels(soft.argmax(axis=1), soft, scores)


def cluster_scores(X_small: Array, n_clusters: int, scores: str) -> tuple[Array, str]:
    """Coordinates that k-means sees, and their kind: "whitened" falls back to "scaled" where directions are too few.

    They have unit mean square, so that the tolerance of k-means means the same for any data.
    """
    if scores not in ("whitened", "scaled"):
        raise ValueError(f"scores must be 'whitened' or 'scaled', got {scores!r}.")
    n_directions = min(int(np.ceil(DIRECTIONS_PER_CLUSTER * n_clusters)), *X_small.shape)
    left, values, _ = leading_svd(X_small, n_directions if scores == "whitened" else None)
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
