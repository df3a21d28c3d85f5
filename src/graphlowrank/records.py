"""What flows between the stages of the pipeline."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from ._progress import Progress
from ._typing import Array
from .auto import Choice
from .clustering import Alternative
from .decoders import Decoded
from .graphs import Graph, LaplacianKind
from .graphs.blocks import Workspace
from .graphs.locality import inverse_order
from .models import CompressedProblem
from .options import Options
from .preprocessing import Block, Data, LowRankImputer, OutlierFilter, Scaling
from .sampling import SampledNodes
from .solvers.solution import Solution

Gammas = tuple[float, float]  # gamma_samples, gamma_features


@dataclass(frozen=True, eq=False)
class Run:
    """What every stage of a run shares."""

    options: Options
    rng: np.random.RandomState
    progress: Progress
    workspace: Workspace | None = None  # of data that stay on disk

    def changed(self, **options: Any) -> Self:
        """Return the same run with other options."""
        return replace(self, options=replace(self.options, **options))


@dataclass(frozen=True, eq=False)
class LossWeights:
    """Weights of samples (n_samples,) and features (n_features,) in the loss; None for ones."""

    samples: Array | None = None
    features: Array | None = None

    def any(self) -> bool:
        """Whether there are weights."""
        return self.samples is not None or self.features is not None

    def of_samples(self, order: Array) -> Self:
        """Weights of ``X[order]``."""
        return self if self.samples is None else replace(self, samples=self.samples[order])


@dataclass(frozen=True, eq=False)
class Points:
    """What distances are computed from: the data after ``model``, if it is not None."""

    X: Data
    model: LowRankImputer | OutlierFilter | None


@dataclass(frozen=True, eq=False)
class AxisGraph:
    """Graph between samples or features (None if not needed), and what it was built from."""

    graph: Graph | None
    points: Data
    n_neighbors: int


AxisGraphs = tuple[AxisGraph, AxisGraph]  # of samples, of features


@dataclass(frozen=True, eq=False)
class Compressed:
    """The compressed problem, its block, and the sampled nodes and reduced graphs of both axes."""

    problem: CompressedProblem
    block: Block
    samples: SampledNodes
    features: SampledNodes
    graphs: tuple[Graph | None, Graph | None]
    laplacian: LaplacianKind


@dataclass(frozen=True, eq=False)
class Recovery:
    """Answer of :func:`recover`: one decoded matrix per draw; the first is the answer."""

    compressed: Compressed
    solution: Solution
    draws: list[Decoded]
    gammas: Gammas
    choices: list[Choice]


@dataclass(frozen=True, eq=False)
class Clusters:
    """Clusters from one draw or from several; ``conductance`` is NaN if the graph was not used."""

    soft_labels: Array
    conductance: float
    gammas: Gammas
    scores: str
    method: str
    rank: int
    n_iter: int
    converged: bool
    alternatives: tuple[Alternative, ...] = ()

    @property
    def labels(self) -> Array:
        """Cluster of each sample."""
        return self.soft_labels.argmax(axis=1)


@dataclass(frozen=True, eq=False)
class Prepared:
    """Samples before their graphs are built, what was chosen for them, and what was fitted to them."""

    X: Data  # scaled
    points: Points
    scaling: Scaling
    ends: OutlierFilter | None  # the filter of values at the ends of their range, if the data have passed it
    count: Choice  # number of clusters
    structure: Choice  # whether there are clusters at all
    scaling_choice: Choice
    n_neighbors: Choice
    outliers: Choice


@dataclass(frozen=True, eq=False)
class Clustering:
    """Answer of :func:`cluster`: the consensus of all draws, parts of the best, and what labels of new samples need."""

    compressed: Compressed
    clusters: Clusters
    prepared: Prepared
    choices: list[Choice]

    def restored(self, order: Array, points: Data) -> Self:
        """Answer for X, whose ``points`` are given, from this one for ``X[order]``; the block keeps that order."""
        place = inverse_order(order)
        alternatives = tuple(replace(one, labels=one.labels[place]) for one in self.clusters.alternatives)
        return replace(
            self,
            clusters=replace(self.clusters, soft_labels=self.clusters.soft_labels[place], alternatives=alternatives),
            compressed=replace(self.compressed, samples=self.compressed.samples.restored(order)),
            prepared=replace(self.prepared, points=replace(self.prepared.points, X=points)),
        )
