"""A map of the samples, from beginning to end: beside :mod:`graphlowrank.pipeline`, whose stages it uses.

    X -> scale -> impute, filter outliers -> sample graph -> sample -> reduce graph -> lay out -> decode -> refine

The layout of the kept samples is cheap and finds the large shape. Decoding extends it to all samples over the graph,
and epochs on the graph of all samples refine it.
"""

from dataclasses import dataclass

from . import auto
from ._typing import Array
from .auto import Choice
from .decoders import fit_smooth
from .graphs import Graph
from .layout import evened, first_positions, lay_out, membership_graph, oriented
from .options import is_auto
from .pipeline import build_graph, check_outliers, filter_ends, points_for_distances
from .preprocessing import Data, Scaling
from .records import Points, Run
from .reduction import reduce_graph
from .sampling import sample_nodes

EXTENSION_TOL = 1e-3  # of positions that are refined afterwards


@dataclass(frozen=True, eq=False)
class Neighborhood:
    """Graph of the samples, the points that it compares, and how these were prepared."""

    graph: Graph
    points: Points
    scaling: Scaling
    choices: tuple[Choice, ...]


@dataclass(frozen=True, eq=False)
class Embedding:
    """Answer of :func:`embed`: positions (n_samples, n_components), and the seed of their random repulsions."""

    positions: Array
    n_epochs: int
    neighborhood: Neighborhood
    seed: int
    choices: list[Choice]


def embed(X: Data, run: Run, n_epochs: object = "auto", shared: Neighborhood | None = None) -> Embedding:
    """Lay out the samples so that neighbors stay neighbors; ``shared`` replaces the preparation and the search."""
    near = neighborhood(X, run) if shared is None else shared
    return lay_out_samples(near, run, auto.choose_n_epochs(n_epochs, len(X)))


def neighborhood(X: Data, run: Run) -> Neighborhood:
    """Prepare the samples as for clustering, without trials of scalings, and build their graph."""
    options, progress = run.options, run.progress
    units = auto.choose_units(X, options)
    outliers = check_outliers(X, run, units[0])
    X, ends = filter_ends(X, outliers, run)
    with progress.stage("scaling"):
        scaling, scaling_choice = units if is_auto(options.scaling) else auto.choose_scaling(X, options)
        scaled = scaling.apply(X)
    points = points_for_distances(scaled, outliers, run, for_new_samples=True, applied=ends)
    with progress.stage("sample graph"):
        axis = build_graph(points.X, "sample", int(options.n_neighbors), run)
    assert axis.graph is not None
    return Neighborhood(axis.graph, points, scaling, (scaling_choice, outliers))


def lay_out_samples(near: Neighborhood, run: Run, n_epochs: Choice) -> Embedding:
    """Lay out kept samples on the reduced graph, extend the positions to all, and refine them."""
    progress, rng, n_samples = run.progress, run.rng, near.graph.n_nodes
    n_neighbors = min(int(run.options.n_neighbors), n_samples - 1)
    n_first, seed = auto.n_laid_out(n_samples), int(rng.randint(2**31 - 1))
    with progress.stage("memberships"):
        graph = membership_graph(near.graph, n_neighbors)
    with progress.stage("sampling"):
        kept = sample_nodes(graph, n_samples, n_first.value, random_state=rng)
    with progress.stage("reduction"):
        reduced = reduce_graph(graph, kept.indices, near.points.X, "auto", n_neighbors, rng)
    assert reduced is not None
    with progress.stage("eigenvectors"):
        positions = first_positions(reduced, run.options.n_components or 2, rng)
    with progress.stage("layout") as update:
        positions = lay_out(
            evened(reduced), positions, n_epochs=auto.FIRST_EPOCHS, repulsion=auto.FIRST_REPULSION, seed=seed,
            callback=update,
        )  # fmt: skip
    with progress.stage("decoding"):
        positions = fit_smooth(kept, positions, gamma=0.0, tol=EXTENSION_TOL).X
    with progress.stage("refinement") as update:
        positions = lay_out(
            graph.weights, positions, n_epochs=n_epochs.value, n_negative=auto.n_negative(n_samples), seed=seed,
            callback=update,
        )  # fmt: skip
        positions = oriented(near.graph.renumbered.restore(positions))
    return Embedding(positions, int(n_epochs.value), near, seed, [*near.choices, n_first, n_epochs])
