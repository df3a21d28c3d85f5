"""The graphs of the samples and of the features, as the settings ask for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ._backend import Array
from ._progress import Progress
from .auto.choice import Choice
from .decoders import Side
from .graphs import Graph, as_graph, knn_graph
from .options import Settings, SideName
from .preprocessing.imputer import Filling, learn_filling
from .preprocessing.missing import has_gaps
from .preprocessing.outliers import Sieve, Verdict, judge, learn_sieve
from .preprocessing.sparse import Data, ShiftedSparse
from .reduction import reduce_graph
from .sampling import choose, draw

FEATURE_GRAPH_SAMPLES = 10_000  # samples on which features are compared: enough to rank them, whatever n is


@dataclass(frozen=True, eq=False)
class Compared:
    """Samples as they are compared.

    Attributes
    ----------
    points
        Without gaps, and without gross errors where that makes better neighbours; the data themselves if they have
        neither, or no graph is built from them.
    model
        What new samples go through; None for nothing.
    choice
        Whether gross errors were put aside, and why.
    """

    points: Data
    model: Filling | Sieve | None
    choice: Choice


def judged(X: Data, settings: Settings, progress: Progress) -> Verdict:
    """Say whether gross errors are to be put aside before samples are compared."""
    if not settings.robust_graphs:
        return Verdict(present=False, reason="as asked")
    if not settings.compares():
        return Verdict(present=False, reason="no graph is built from the data")
    if isinstance(X, ShiftedSparse):
        if settings.robust_graphs != "auto":
            raise ValueError("robust_graphs=True is for dense data: sparse ones are compared as they are.")
        return Verdict(present=False, reason="data are sparse")
    if settings.robust_graphs != "auto":
        return Verdict(present=True, reason="as asked")
    with progress.stage("gross errors"):
        return judge(X, settings.n_neighbors)


def compared(
    X: Data,
    verdict: Verdict,
    settings: Settings,
    rng: np.random.RandomState,
    progress: Progress,
    *,
    new_samples: bool = False,
) -> Compared:
    """Fill gaps, and put gross errors aside if a verdict says so.

    ``new_samples`` will be compared with these even where no graph is built from them.
    """
    choice = Choice("robust_graphs", verdict.present, verdict.reason)
    needed = (settings.compares() or new_samples) and (verdict.present or has_gaps(X))
    if isinstance(X, ShiftedSparse) or not needed:
        return Compared(X, None, choice)
    with progress.stage("filling"):
        model = learn_sieve(X, rng) if verdict.present else learn_filling(X, rng)
        return Compared(model.apply(X), model, choice)


@dataclass(frozen=True, eq=False)
class SideGraph:
    """A graph between points, with what is needed to build one like it on a part of them.

    Attributes
    ----------
    graph
        The graph; None where the user wants none or nothing looks at it.
    points
        (n_nodes, n_dimensions) what was compared, dense or sparse.
    n_neighbors
        Neighbours of each point.
    """

    graph: Graph | None
    points: Data
    n_neighbors: int

    def drawn(
        self, given: Any, size: int, settings: Settings, rank: int | None, rng: np.random.RandomState, name: str
    ) -> Side:
        """Keep the ``given`` nodes, or draw ``size`` of them; ``rank`` guides optimal sampling."""
        nodes = self.graph or len(self.points)
        kept = choose(given, size, nodes, optimal_for=settings.optimal_for(rank), random_state=rng, name=name)
        return Side(self.graph, kept.indices, kept.weights)

    def reduced(self, keep: Array, settings: Settings, rng: np.random.RandomState) -> Graph | None:
        """Graph on the kept points."""
        return reduce_graph(self.graph, keep, self.points, settings.reduction, self.n_neighbors, rng)


def graphs_of(
    X: Data, settings: Settings, rng: np.random.RandomState, progress: Progress
) -> tuple[tuple[SideGraph, SideGraph], Choice]:
    """Graphs of the samples and of the features, and whether gross errors were put aside for them."""
    comparison = compared(X, judged(X, settings, progress), settings, rng, progress)
    return graphs_between(comparison.points, settings, rng, progress), comparison.choice


def graphs_between(
    X: Data, settings: Settings, rng: np.random.RandomState, progress: Progress
) -> tuple[SideGraph, SideGraph]:
    """Graph of the samples and graph of the features, from what :func:`compared` makes of them."""
    with progress.stage("sample graph"):
        samples = sample_side(X, settings, rng)
    with progress.stage("feature graph"):
        return samples, feature_side(X, settings, rng)


def sample_side(X: Data, settings: Settings, rng: np.random.RandomState) -> SideGraph:
    """Graph between the rows of ``X``."""
    graph = _graph(X, "sample", settings.n_neighbors, settings, rng)
    return SideGraph(graph, X, settings.n_neighbors)


def feature_side(X: Data, settings: Settings, rng: np.random.RandomState) -> SideGraph:
    """Graph between the columns of ``X``."""
    n_samples, n_features = X.shape
    part = X if n_samples <= FEATURE_GRAPH_SAMPLES else X[draw(n_samples, FEATURE_GRAPH_SAMPLES, random_state=rng)]
    # Few features are no mistake of the user's, so their graph makes do with fewer neighbours.
    n_neighbors = min(settings.n_neighbors, n_features - 1)
    points = part.T
    return SideGraph(_graph(points, "feature", n_neighbors, settings, rng), points, n_neighbors)


def _graph(
    points: Data, side: SideName, n_neighbors: int, settings: Settings, rng: np.random.RandomState
) -> Graph | None:
    """Graph between the rows of ``points``: the user's, or nearest neighbours where anything will look at them."""
    name = f"{side}_graph"
    given = getattr(settings, name)
    if given is None or n_neighbors == 0:
        return None
    if not isinstance(given, str):
        return as_graph(given, len(points), name=name)
    if not settings.needs_graph(side):
        return None
    return knn_graph(points, n_neighbors, neighbors=settings.neighbors, random_state=rng)
