"""Gammas of the sample graph and the feature graph.

    given by the user                     used as given
    recovery by FRPCAG                    validation on held-out entries (:mod:`.gamma_search`)
    clustering, partition="graph"         gamma_samples along a path, the partition of lowest conductance; 0.3
    RPCAG, "k-means", FRPCAG uncompressed fixed gammas of the Laplacian

Fixed gammas are the middle of the range that worked on digits, USPS, MNIST, faces and synthetic data. The endpoints of
the clustering path are the best values on faces (0.5) and on digits (40).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .._typing import Array
from ..graphs import Graph
from ..graphs.laplacian import LaplacianKind
from ..models import CompressedProblem
from ..options import Options, is_auto
from ..reduction import reduce_graph
from ..sampling import draw
from .choice import AS_GIVEN, Choice
from .gamma_search import GammaChoice, choose_gammas

FIXED: dict[LaplacianKind, tuple[float, float]] = {"normalized": (1.5, 0.3), "combinatorial": (0.5, 0.3)}
CLUSTERING_PATH = (0.5, 1.5, 5.0, 15.0, 40.0)  # gamma_samples

# Size of the part of the compressed matrix that gammas are chosen on; larger parts choose the same (MNIST).
MAX_NODES, MIN_SAMPLES, ENTRIES = 800, 400, 200_000
MIN_WEIGHT = 1e-6  # of the largest: factors are divided by the roots of the weights


def fixed_gammas(options: Options, laplacian: LaplacianKind) -> tuple[float, float]:
    """Given gammas, or the defaults of the Laplacian."""
    gamma_samples, gamma_features = FIXED[laplacian]
    return (
        gamma_samples if is_auto(options.gamma_samples) else float(options.gamma_samples),
        gamma_features if is_auto(options.gamma_features) else float(options.gamma_features),
    )


def gamma_path(options: Options, laplacian: LaplacianKind) -> list[tuple[float, float]]:
    """Gammas at which clusters are searched, in increasing order; one pair if gamma_samples is given."""
    of_samples, of_features = fixed_gammas(options, laplacian)
    path = CLUSTERING_PATH if is_auto(options.gamma_samples) else (of_samples,)
    return [(gamma, of_features) for gamma in path]


def validates_gammas(options: Options) -> bool:
    """Whether there is something to choose: FRPCAG, and a gamma or the rank is not given."""
    given = not is_auto(options.gamma_samples) and not is_auto(options.gamma_features)
    return options.solver == "frpcag" and not (given and options.n_components is not None)


def validated_gammas(
    problem: CompressedProblem,
    graphs: tuple[Graph | None, Graph | None],
    laplacian: LaplacianKind,
    options: Options,
    rng: np.random.RandomState,
) -> GammaChoice | None:
    """Gammas and rank by validation on held-out entries of (a part of) the compressed matrix.

    None if there is nothing to choose: gammas and rank are given, or the solver is not FRPCAG.
    """
    if not validates_gammas(options):
        return None
    given = tuple(None if is_auto(gamma) else float(gamma) for gamma in (options.gamma_samples, options.gamma_features))
    X = problem.X
    columns, of_features = _part(graphs[1], X.shape[1], MAX_NODES, X.T, rng)
    n_rows = min(max(ENTRIES // len(columns), MIN_SAMPLES), MAX_NODES)
    rows, of_samples = _part(graphs[0], X.shape[0], n_rows, X, rng)
    part = np.ix_(rows, columns)
    small = replace(
        problem,
        X=X[part],
        L_samples=of_samples and of_samples.unit_laplacian(laplacian),
        L_features=of_features and of_features.unit_laplacian(laplacian),
        sample_weights=_positive(problem.sample_weights, rows),
        feature_weights=_positive(problem.feature_weights, columns),
        X0=None if problem.X0 is None else problem.X0[part],
    )
    return choose_gammas(small, fixed=(given[0], given[1]), rank=options.n_components, random_state=rng)


def _part(
    graph: Graph | None, size: int, at_most: int, points: Array, rng: np.random.RandomState
) -> tuple[Array, Graph | None]:
    """At most so many nodes, some of every connected component, and the graph reduced to them."""
    if size <= at_most:
        return np.arange(size), graph
    kept = draw(graph or size, at_most, random_state=rng)
    return kept, reduce_graph(graph, kept, points, "auto", 0, rng)


def _positive(weights: Array | None, nodes: Array) -> Array | None:
    if weights is None:
        return None
    part = weights[nodes]
    return np.maximum(part, MIN_WEIGHT * part.max())


def gamma_choices(options: Options, gammas: tuple[float, float], found: GammaChoice | None) -> list[Choice]:
    """Report both gammas; ``found`` is the result of validation, if there was one."""
    reason = "default" if found is None else found.reason
    return [
        Choice(name, value, reason if is_auto(getattr(options, name)) else AS_GIVEN)
        for name, value in zip(("gamma_samples", "gamma_features"), gammas, strict=True)
    ]
