"""The way of the data, in one page.

    X -> graphs -> sampling -> reduction -> frpcag -> decoders -> low-rank X or labels

Samples are rows and features are columns of X. Nothing here writes to the caller's X, and only the sampled block of
it is copied.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ._backend import Array
from ._progress import Progress
from .decoders import Labels, LowRankMatrix, decode_labels, decode_subspace
from .decoders.labels import Scores
from .graphs import Graph, as_graph, knn_graph
from .graphs.laplacian import LaplacianKind
from .models import solve_frpcag
from .reduction import reduce_graph
from .sampling import choose, draw
from .settings import Settings
from .solution import Solution
from .standardise import Block, sampled_block

FEATURE_GRAPH_SAMPLES = 10_000  # samples on which features are compared: enough to rank them, whatever n is


@dataclass(frozen=True, eq=False)
class Compressed:
    """The solved small problem and what is needed to decode it; ``solution.X`` is in the units of ``block``."""

    sample_graph: Graph | None
    feature_graph: Graph | None
    sample_indices: Array
    feature_indices: Array
    block: Block
    solution: Solution


def compress(
    X: Array, settings: Settings, *, laplacian: LaplacianKind, rng: np.random.RandomState, progress: Progress
) -> Compressed:
    """Graphs, sampling, reduction and FRPCAG: everything up to the decoders."""
    n_samples, n_features = X.shape
    with progress.stage("sample graph"):
        sample_graph = _graph(X, settings.sample_graph, settings.n_neighbors, settings, rng, "sample_graph")
    with progress.stage("feature graph"):
        part = X if n_samples <= FEATURE_GRAPH_SAMPLES else X[draw(n_samples, FEATURE_GRAPH_SAMPLES, random_state=rng)]
        # Few features are no mistake of the user's, so their graph makes do with fewer neighbours.
        n_neighbors = min(settings.n_neighbors, n_features - 1)
        feature_graph = _graph(part.T, settings.feature_graph, n_neighbors, settings, rng, "feature_graph")

    with progress.stage("sampling"):
        n_rows, n_columns = settings.kept(n_samples, n_features)
        given_rows, given_columns = settings.given_indices()
        rows = choose(given_rows, n_rows, sample_graph or n_samples, random_state=rng, name="sample_indices")
        columns = choose(
            given_columns, n_columns, feature_graph or n_features, random_state=rng, name="feature_indices"
        )
        block = sampled_block(X, rows, columns, laplacian)

    with progress.stage("reduction"):
        small_samples = reduce_graph(sample_graph, rows, X, settings.reduction, settings.n_neighbors, rng)
        small_features = reduce_graph(feature_graph, columns, part.T, settings.reduction, n_neighbors, rng)

    with progress.stage("frpcag") as update:
        gamma_samples, gamma_features = settings.gammas(laplacian)
        solution = solve_frpcag(
            block.X,
            small_samples and small_samples.unit_laplacian(laplacian),
            small_features and small_features.unit_laplacian(laplacian),
            gamma_samples=gamma_samples,
            gamma_features=gamma_features,
            loss=settings.loss,
            huber_delta=settings.huber_delta,
            X0=block.start(),
            tol=settings.tol,
            max_iter=settings.max_iter,
            size=block.X.size**0.5,  # deviations of one unit: the levels of features must not end the iterations
            callback=update,
        ).warn_unless_converged("FRPCAG", "raise max_iter or tol, or lower the gammas")
    return Compressed(sample_graph, feature_graph, rows, columns, block, solution)


def recover(small: Compressed, n_components: int | None, *, progress: Progress) -> LowRankMatrix:
    """Low-rank matrix on all samples and features (Algorithm 2)."""
    with progress.stage("decoding"):
        return decode_subspace(
            small.solution.X, small.sample_graph, small.feature_graph, small.sample_indices, small.feature_indices,
            n_components=n_components, scale=small.block.scale, shift=small.block.shift,
        )  # fmt: skip


def cluster(
    small: Compressed, n_clusters: int, *, scores: Scores, rng: np.random.RandomState, progress: Progress
) -> Labels:
    """Cluster labels of all samples (Algorithm 3)."""
    with progress.stage("decoding"):
        return decode_labels(
            small.solution.X, small.sample_graph, small.sample_indices, n_clusters, scores=scores, random_state=rng
        )


def _graph(
    points: Array, given: Any, n_neighbors: int, settings: Settings, rng: np.random.RandomState, name: str
) -> Graph | None:
    """Graph between the rows of ``points``: the user's, or nearest neighbours."""
    if given is None or n_neighbors == 0:
        return None
    if not isinstance(given, str):
        return as_graph(given, len(points), name=name)
    return knn_graph(points, n_neighbors, neighbors=settings.neighbors, random_state=rng)
