"""The optimisation problem on the compressed matrix, by the solver that the settings name."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ._backend import Array
from .auto.gammas import GammaChoice, choose_gammas
from .decoders import Side
from .graphs import Graph
from .graphs.laplacian import LaplacianKind
from .models import SOLVERS, CompressedProblem
from .options import Settings
from .preprocessing.standardize import Block
from .reduction import reduce_graph
from .sampling import draw
from .solvers.fista import Callback
from .solvers.solution import Solution

CHOSEN_ON, FEWEST_SAMPLES = 800, 400  # kept samples or features: more choose the same gammas (MNIST)
ENTRIES = 200_000  # of the part they are chosen on, where sides allow
LEAST_WEIGHT = 1e-6  # of the largest


@dataclass(frozen=True, eq=False)
class Weights:
    """How much samples (n_samples,) and features (n_features,) count in the loss; None for all the same."""

    samples: Array | None = None
    features: Array | None = None

    def of(self, rows: Side, columns: Side) -> Weights:
        """Weights of the kept ones, times those that a draw which was not uniform gives them."""
        return Weights(_kept_weights(self.samples, rows), _kept_weights(self.features, columns))


UNWEIGHTED = Weights()


def _kept_weights(given: Array | None, side: Side) -> Array | None:
    if given is None:
        return side.weights
    kept = given[side.indices]
    if not kept.any():
        raise ValueError("every kept sample, or every kept feature, has weight 0: keep more, or leave these out of X.")
    return kept if side.weights is None else kept * side.weights


@dataclass(frozen=True, eq=False)
class SmallProblem:
    """The compressed matrix with its graphs.

    Attributes
    ----------
    block
        Sampled entries, in units of their own.
    samples, features
        Graphs of all samples and all features, with the kept ones and their importance weights.
    small_samples, small_features
        Graphs of the kept ones; None where there is none.
    laplacian
        Which Laplacian the model has.
    weights
        Of the kept samples and features in the loss: what the user gave, times importance weights.
    """

    block: Block
    samples: Side
    features: Side
    small_samples: Graph | None
    small_features: Graph | None
    laplacian: LaplacianKind
    weights: Weights = UNWEIGHTED

    def solve(
        self,
        settings: Settings,
        gammas: tuple[float, float],
        callback: Callback,
        start: Array | None = None,
        *,
        short_steps: bool = False,
    ) -> Solution:
        """Low-rank part of the block, in its units.

        Parameters
        ----------
        settings
            What to solve; RPCA looks at no graph, RPCAG at that of the samples, FRPCAG at both.
        gammas
            Weights of the sample and of the feature graph.
        callback
            Called with (iteration, residual).
        start
            First guess for FRPCAG; None for the data.
        short_steps
            As in :func:`~graphlowrank.models.solve_frpcag`.
        """
        L_samples, L_features = (
            graph and graph.unit_laplacian(self.laplacian) for graph in (self.small_samples, self.small_features)
        )
        problem = CompressedProblem(
            self.block.X,
            L_samples,
            L_features,
            gammas,
            loss=settings.loss,
            huber_delta=settings.huber_delta,
            sample_weights=self.weights.samples,
            feature_weights=self.weights.features,
            X0=self.block.start() if start is None else start,
            tol=settings.tol,
            max_iter=settings.max_iter,
            size=self.block.X.size**0.5,  # the block is standardized: means of features must not end the iterations
            short_steps=short_steps,
        )
        return SOLVERS[settings.solver].solve(problem, callback)

    def choose_gammas(self, settings: Settings, rank: int | None, rng: np.random.RandomState) -> GammaChoice:
        """Weights that predict entries hidden from the solver, on a part of the block if it is large."""
        X = self.block.X
        columns, of_features = _part(self.small_features, X.shape[1], CHOSEN_ON, X.T, rng)
        n_rows = min(max(ENTRIES // len(columns), FEWEST_SAMPLES), CHOSEN_ON)
        rows, of_samples = _part(self.small_samples, X.shape[0], n_rows, X, rng)
        part = np.ix_(rows, columns)
        L_samples, L_features = (one and one.unit_laplacian(self.laplacian) for one in (of_samples, of_features))
        weights = self.weights
        return choose_gammas(
            X[part],
            L_samples,
            L_features,
            fixed_samples=None if settings.gamma_samples == "auto" else float(settings.gamma_samples),
            fixed_features=None if settings.gamma_features == "auto" else float(settings.gamma_features),
            rank=rank,
            loss=settings.loss,
            huber_delta=settings.huber_delta,
            sample_weights=None if weights.samples is None else _floored(weights.samples[rows]),
            feature_weights=None if weights.features is None else _floored(weights.features[columns]),
            X0=self.block.start()[part],
            tol=settings.tol,
            max_iter=settings.max_iter,
            random_state=rng,
        )


def _part(
    graph: Graph | None, size: int, at_most: int, points: Array, rng: np.random.RandomState
) -> tuple[Array, Graph | None]:
    """At most so many of the nodes, and the graph reduced to them."""
    if size <= at_most:
        return np.arange(size), graph
    kept = draw(graph or size, at_most, random_state=rng)  # some of every connected component
    return kept, reduce_graph(graph, kept, points, "auto", 0, rng)


def _floored(weights: Array) -> Array:
    """Weights without zeros: the choice looks at factors, which are divided by their roots."""
    return np.maximum(weights, LEAST_WEIGHT * weights.max())
