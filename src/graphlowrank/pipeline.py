"""The way of the data, in one page.

    X -> graphs -> sampling -> reduction -> small problem -> decoders -> low-rank X or labels

Samples are rows and features are columns of X, which may be sparse or have missing entries. Nothing here writes to the
caller's X, and only the sampled block of it is copied, but where gaps or gross errors must not show in the graphs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ._backend import Array
from ._progress import Progress
from .auto.gammas import GammaChoice
from .decoders import DECODERS, Decoded
from .graphs.laplacian import LaplacianKind
from .options import Settings
from .preprocessing.sparse import Data
from .preprocessing.standardize import StandardisedData, sampled_block
from .small_problem import UNWEIGHTED, SmallProblem, Weights
from .solvers.solution import Solution
from .two_graphs import SideGraph, graphs_of


@dataclass(frozen=True, eq=False)
class Compressed:
    """A small problem and its solution, ``solution.X`` in the units of ``problem.block``."""

    problem: SmallProblem
    solution: Solution


def reduce(
    X: Data,
    graphs: tuple[SideGraph, SideGraph],
    settings: Settings,
    *,
    laplacian: LaplacianKind,
    rank: int | None,
    rng: np.random.RandomState,
    progress: Progress,
    weights: Weights = UNWEIGHTED,
) -> SmallProblem:
    """Draw samples and features, and reduce the graphs to them; ``rank`` guides optimal sampling.

    ``weights`` say how much samples and features count in the loss.
    """
    between_samples, between_features = graphs
    with progress.stage("sampling"):
        n_rows, n_columns = settings.kept(*X.shape)
        given_rows, given_columns = settings.given_indices()
        rows = between_samples.drawn(given_rows, n_rows, settings, rank, rng, "sample_indices")
        columns = between_features.drawn(given_columns, n_columns, settings, rank, rng, "feature_indices")
        weights = weights.of(rows, columns)
        block = sampled_block(X, rows.indices, columns.indices, laplacian, sample_weights=weights.samples)

    with progress.stage("reduction"):
        small_samples = between_samples.reduced(rows.indices, settings, rng)
        small_features = between_features.reduced(columns.indices, settings, rng)
    return SmallProblem(block, rows, columns, small_samples, small_features, laplacian, weights)


def solve(
    problem: SmallProblem,
    settings: Settings,
    gammas: tuple[float, float],
    progress: Progress,
    start: Array | None = None,
    *,
    short_steps: bool = False,
) -> Compressed:
    """Low-rank part of the small matrix; ``start`` is a first guess, ``short_steps`` says that its entries matter."""
    with progress.stage(settings.solver) as update:
        return Compressed(problem, problem.solve(settings, gammas, update, start, short_steps=short_steps))


def choose_weights(
    problem: SmallProblem, settings: Settings, n_components: int | None, rng: np.random.RandomState, progress: Progress
) -> GammaChoice | None:
    """Weights of the graphs, and the rank, that predict hidden entries; None where nothing is left to choose."""
    if settings.solver != "frpcag" or (n_components is not None and settings.gammas_given()):
        return None
    with progress.stage("gammas"):
        return problem.choose_gammas(settings, n_components, rng)


def compress(
    X: Data,
    settings: Settings,
    *,
    laplacian: LaplacianKind,
    rank: int | None,
    rng: np.random.RandomState,
    progress: Progress,
    weights: Weights = UNWEIGHTED,
    short_steps: bool = False,
) -> Compressed:
    """Everything up to the decoders."""
    graphs, _ = graphs_of(X, settings, rng, progress)
    problem = reduce(
        X, graphs, settings, laplacian=laplacian, rank=rank, rng=rng, progress=progress, weights=weights
    )  # fmt: skip
    return solve(problem, settings, settings.gammas(laplacian), progress, short_steps=short_steps)


def recover(X: Data, small: Compressed, settings: Settings, *, n_components: int | None, progress: Progress) -> Decoded:
    """Low-rank matrix on all samples and features, in the units of X, by the decoder that the settings name."""
    options, problem = settings.decoder_keywords(), small.problem
    if settings.decoder_needs_data():
        options["data"] = StandardisedData(X, problem.block.shift, problem.block.scale)
    with progress.stage("decoding"):
        decoded = DECODERS[settings.decoder](
            small.solution.X, problem.samples, problem.features, n_components=n_components, **options
        )
        low_rank = decoded.low_rank.rescaled(problem.block.scale, problem.block.shift)
        return Decoded(low_rank, decoded.n_iter, decoded.converged)
