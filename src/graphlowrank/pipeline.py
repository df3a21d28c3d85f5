"""The way of the data, in one page.

    X -> graphs -> sampling -> reduction -> small problem -> decoders -> low-rank X or labels

Samples are rows and features are columns of X. Nothing here writes to the caller's X, and only the sampled block of
it is copied.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ._backend import Array
from ._progress import Progress
from .decoders import DECODERS, Decoded, Labels, Side, decode_labels
from .graphs import Graph
from .graphs.laplacian import LaplacianKind
from .settings import Settings
from .small_problem import solve_small
from .solution import Solution
from .standardise import Block, StandardisedData, sampled_block
from .two_graphs import feature_side, sample_side


@dataclass(frozen=True, eq=False)
class Compressed:
    """The solved small problem and what is needed to decode it; ``solution.X`` is in the units of ``block``."""

    samples: Side
    features: Side
    small_samples: Graph | None
    block: Block
    solution: Solution


def compress(
    X: Array,
    settings: Settings,
    *,
    laplacian: LaplacianKind,
    rank: int | None,
    rng: np.random.RandomState,
    progress: Progress,
) -> Compressed:
    """Everything up to the decoders: graphs, sampling, reduction, small problem; ``rank`` guides optimal sampling."""
    with progress.stage("sample graph"):
        between_samples = sample_side(X, settings, rng)
    with progress.stage("feature graph"):
        between_features = feature_side(X, settings, rng)

    with progress.stage("sampling"):
        n_rows, n_columns = settings.kept(*X.shape)
        given_rows, given_columns = settings.given_indices()
        rows = between_samples.drawn(given_rows, n_rows, settings, rank, rng, "sample_indices")
        columns = between_features.drawn(given_columns, n_columns, settings, rank, rng, "feature_indices")
        block = sampled_block(X, rows.indices, columns.indices, laplacian, sample_weights=rows.weights)

    with progress.stage("reduction"):
        small_samples = between_samples.reduced(rows.indices, settings, rng)
        small_features = between_features.reduced(columns.indices, settings, rng)

    with progress.stage(settings.solver) as update:
        graphs, sides = (small_samples, small_features), (rows, columns)
        solution = solve_small(block, graphs, sides, settings, laplacian, update)
    return Compressed(rows, columns, small_samples, block, solution)


def recover(
    X: Array, small: Compressed, settings: Settings, *, n_components: int | None, progress: Progress
) -> Decoded:
    """Low-rank matrix on all samples and features, in the units of X, by the decoder that the settings name."""
    options = settings.decoder_keywords()
    if settings.decoder_needs_data():
        options["data"] = StandardisedData(X, small.block.shift, small.block.scale)
    with progress.stage("decoding"):
        decoded = DECODERS[settings.decoder](
            small.solution.X, small.samples, small.features, n_components=n_components, **options
        )
        low_rank = decoded.low_rank.rescaled(small.block.scale, small.block.shift)
        return Decoded(low_rank, decoded.n_iter, decoded.converged)


def cluster(small: Compressed, n_clusters: int, *, progress: Progress, **options: Any) -> Labels:
    """Cluster labels of all samples (Algorithm 3); ``options`` are those of :func:`decode_labels`."""
    with progress.stage("decoding"):
        return decode_labels(
            small.solution.X, small.samples, n_clusters, small_graph=small.small_samples,
            feature_weights=small.features.weights, **options,
        )  # fmt: skip
