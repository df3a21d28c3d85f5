"""From the small problem to labels: a path of gammas, many partitions, one that the graph speaks for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ._backend import Array
from ._progress import Progress
from .clustering import Candidate, candidates, choose
from .clustering.labels import Scores, decode_labels, leading_directions
from .options import Settings
from .pipeline import solve
from .small_problem import SmallProblem

PartitionName = Literal["graph", "k-means"]

SCALED_UP_TO = 2.0  # gamma: above, principal scores hold fewer directions than clusters


@dataclass(frozen=True, eq=False)
class Clusters:
    """Clusters of all samples, and what was chosen on the way.

    Attributes
    ----------
    labels, soft_labels
        (n_samples,) and (n_samples, n_clusters).
    scores
        What k-means saw: "whitened" or "scaled".
    rank
        Of the compressed low-rank matrix.
    gammas
        Weights of the sample and of the feature graph.
    conductance
        Of the labels on the graph of all samples; NaN where no graph was asked.
    way
        "k-means", or "merged" from finer clusters.
    n_iter, converged
        Iterations of all solves; whether all of them converged.
    """

    labels: Array
    soft_labels: Array
    scores: str
    rank: int
    gammas: tuple[float, float]
    conductance: float
    way: str
    n_iter: int
    converged: bool

    @property
    def cut(self) -> float:
        """Conductance to compare draws by; 1 where it is unknown."""
        return 1.0 if np.isnan(self.conductance) else self.conductance


def find_clusters(
    problem: SmallProblem,
    settings: Settings,
    n_clusters: int,
    *,
    scores: Scores | Literal["auto"],
    partition: PartitionName,
    gamma_labels: float,
    rng: np.random.RandomState,
    progress: Progress,
) -> Clusters:
    """Clusters of all samples.

    ``partition="k-means"`` is Algorithm 3 with one gamma. "graph" solves along a path of gammas, each from the last
    solution, takes partitions of every one, and keeps the one of least conductance on the graph of all samples.
    """
    if partition == "k-means" or problem.small_samples is None:
        return _by_k_means(problem, settings, n_clusters, scores, gamma_labels, rng, progress)
    found: list[Candidate] = []
    iterations, converged, start = 0, True, None
    gammas = settings.gamma_path(problem.laplacian)
    for gamma_samples, gamma_features in gammas:
        solution = solve(problem, settings, (gamma_samples, gamma_features), progress, start).solution
        iterations, converged, start = iterations + solution.n_iter, converged and solution.converged, solution.X
        with progress.stage("partitions"):
            weights = problem.samples.weights, problem.features.weights
            directions = leading_directions(solution.X, n_clusters, *weights)
            for kind in _kinds(scores, gamma_samples, len(gammas) == 1):
                found += candidates(
                    directions, problem.small_samples.weights, n_clusters, kind, gamma_samples, rng, weights[0]
                )
    with progress.stage("decoding"):
        chosen = choose(found, problem.samples, n_clusters, gamma_labels)
    taken = chosen.candidate
    return Clusters(
        chosen.labels, chosen.soft_labels, taken.scores, taken.rank, (taken.gamma, gammas[0][1]), chosen.conductance,
        taken.way, iterations, converged,
    )  # fmt: skip


def _kinds(scores: Scores | Literal["auto"], gamma: float, alone: bool) -> list[Scores]:  # noqa: FBT001
    """Scores to try at a gamma."""
    if scores != "auto":
        return [scores]
    return ["whitened", "scaled"] if gamma <= SCALED_UP_TO or alone else ["whitened"]


def _by_k_means(
    problem: SmallProblem,
    settings: Settings,
    n_clusters: int,
    scores: Scores | Literal["auto"],
    gamma_labels: float,
    rng: np.random.RandomState,
    progress: Progress,
) -> Clusters:
    """Algorithm 3 of the paper."""
    gammas = settings.gammas(problem.laplacian)
    solution = solve(problem, settings, gammas, progress).solution
    with progress.stage("decoding"):
        found = decode_labels(
            solution.X, problem.samples, n_clusters, feature_weights=problem.features.weights,
            scores="whitened" if scores == "auto" else scores, gamma=gamma_labels, random_state=rng,
        )  # fmt: skip
    return Clusters(
        found.labels, found.soft_labels, found.scores, found.rank, gammas, np.nan, "k-means", solution.n_iter,
        solution.converged,
    )  # fmt: skip
