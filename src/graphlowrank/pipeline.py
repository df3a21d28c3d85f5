"""The method from beginning to end: read this file first.

    X -> scale -> impute, filter outliers -> graphs -> sample -> reduce graphs -> solve -> decode, or partition

:func:`recover` returns a low-rank matrix, :func:`cluster` labels; :func:`solve_whole` is the model without compression.
:class:`CompressivePCA` with ``solver="auto"`` begins in :mod:`graphlowrank.model_selection`, which calls these. Samples
are rows and features are columns of X, which may be sparse or contain NaN. X is not written to, and only the
sampled block is copied, unless distances need imputed values. Automatic decisions are made in :mod:`graphlowrank.auto`
and returned with their reasons.
"""

from contextlib import nullcontext
from dataclasses import replace

import numpy as np

from . import auto
from ._threads import map_tasks
from ._typing import AXES, Array, AxisName
from .auto import AS_GIVEN, DEFAULT_RANK, Choice
from .clustering import (
    Scores,
    Source,
    candidates,
    cheapest,
    community_candidates,
    conductance,
    consensus,
    decode_labels,
    leading_directions,
    locally_scaled,
    score_source,
    select,
    spectral_directions,
)
from .decoders import Decoded
from .graphs import LaplacianKind, as_graph, knn_graph
from .graphs.locality import inverse_order
from .models import CompressedProblem
from .options import is_auto
from .preprocessing import Data, OutlierFilter, Scaling, fit_imputer, fit_outlier_filter, has_missing, is_sparse
from .preprocessing.block import ScaledData, sampled_block
from .preprocessing.order import canonical_order
from .preprocessing.sparse import transposed
from .records import (
    AxisGraph,
    AxisGraphs,
    Clustering,
    Clusters,
    Compressed,
    Gammas,
    LossWeights,
    Points,
    Prepared,
    Recovery,
    Run,
)
from .reduction import reduce_graph, reduced_laplacian
from .sampling import SampledNodes, draw, sample_nodes
from .solvers.solution import Solution

FEATURE_GRAPH_SAMPLES = 10_000  # on which features are compared: enough to rank them, whatever n is
ORDERED_UP_TO = 20_000  # samples; above, a copy of the data in another order would cost too much memory
SCALED_SCORES_UP_TO = 2.0  # gamma_samples: above, principal scores have fewer directions than clusters


def recover(X: Data, weights: LossWeights, run: Run) -> Recovery:
    """Recover a low-rank matrix from compressed data (Algorithms 1 and 2)."""
    options, progress, rank = run.options, run.progress, run.options.n_components
    with progress.stage("scaling"):
        scaling, scaling_choice = auto.choose_recovery_scaling(X, options.scaling)
        scaled = scaling.apply(X)
    outliers = check_outliers(scaled, run)
    scaled, _ = filter_ends(scaled, outliers, run)
    points = points_for_distances(scaled, outliers, run)
    axes = build_graphs(points.X, run)
    laplacian = auto.choose_laplacian(options, "recovery")
    compressed = compress(scaled, axes, laplacian, weights, rank, run)
    with progress.stage("gammas") if auto.needs_validation(options) else nullcontext():
        found = auto.validate_gammas(compressed.problem, compressed.graphs, laplacian, options, run.rng)
    gammas = auto.fixed_gammas(options, laplacian) if found is None else (found.gamma_samples, found.gamma_features)
    solution = solve(compressed, gammas, run, tighten_tol=True)
    draws = [decode(scaled, compressed, solution, rank if found is None else found.rank, scaling, run)]
    for _ in range(1, options.n_draws):  # the same graphs, gammas and rank; other samples and features
        other = compress(scaled, axes, laplacian, weights, rank, run)
        again = solve(other, gammas, run, tighten_tol=True)
        draws.append(decode(scaled, other, again, draws[0].low_rank.rank, scaling, run))
    choices = [
        auto.rank_choice(draws[0].low_rank.rank, options, validated=found is not None and found.rank is not None),
        *auto.compression_choices(options, X.shape, rank, "recovery"),
        *auto.model_choices(options, gammas, found),
        *(Choice(*chosen) for chosen in draws[0].chosen),
        scaling_choice,
        outliers,
    ]
    return Recovery(compressed, solution, draws, gammas, choices)


def solve_whole(X: Data, weights: LossWeights, run: Run, *, tighten_tol: bool = True) -> Recovery:
    """Solve FRPCAG on all samples and features, with fixed gammas; nothing is decoded."""
    options = run.options
    laplacian = auto.choose_laplacian(options, "recovery")
    outliers = check_outliers(X, run)
    X, _ = filter_ends(X, outliers, run)
    axes = build_graphs(points_for_distances(X, outliers, run).X, run)
    compressed = compress(X, axes, laplacian, weights, options.n_components, run)
    gammas = auto.fixed_gammas(options, laplacian)
    solution = solve(compressed, gammas, run, tighten_tol=tighten_tol)
    choices = [
        *auto.compression_choices(options, X.shape, options.n_components, "recovery"),
        *auto.model_choices(options, gammas, None),
        outliers,
    ]
    return Recovery(compressed, solution, [], gammas, choices)


def cluster(X: Data, weights: LossWeights, run: Run) -> Clustering:
    """Cluster the samples: Algorithm 3, or a partition of low cost on the sample graph.

    The answer does not depend on the order of the samples, unless there are very many, or a graph or indices are given.
    """
    order = None if len(X) > ORDERED_UP_TO or run.options.given_samples() else canonical_order(X)
    ordered, weights = (X, weights) if order is None else (X[order], weights.of_samples(order))
    prepared, run = prepare(ordered, run)
    found = partition(prepared, build_graphs(prepared.points.X, run), weights, run)
    if order is None:
        return found
    return found.restored(order, X if prepared.points.X is ordered else prepared.points.X[inverse_order(order)])


def prepare(X: Data, run: Run, n_samples: int | None = None) -> tuple[Prepared, Run]:
    """Choose and apply what comes before the graphs; return that and the run with the number of neighbors.

    ``n_samples`` is given if X is a part of the samples.
    """
    n_neighbors = auto.choose_n_neighbors(run.options, n_samples or len(X))
    run = run.changed(n_neighbors=n_neighbors.value)
    options, progress = run.options, run.progress
    # Outliers are judged in units of the features: one outlier would shrink all other entries of a scaled sample.
    units = auto.choose_units(X, options)
    outliers = check_outliers(X, run, units[0])
    X, ends = filter_ends(X, outliers, run)
    with progress.stage("scaling"):
        by_units = units[0].kind == "counts" or (outliers.value and ends is None and is_auto(options.scaling))
        scaling, scaling_choice = units if by_units else auto.choose_scaling(X, options)
        scaled = scaling.apply(X)
    points = points_for_distances(scaled, outliers, run, for_new_samples=True, applied=ends)
    with progress.stage("number of clusters"):
        count, structure = auto.choose_n_clusters(points.X, options, run.rng)
    choices = count, structure, scaling_choice, n_neighbors, outliers
    return Prepared(scaled, points, scaling, ends, *choices), run


def partition(prepared: Prepared, axes: AxisGraphs, weights: LossWeights, run: Run) -> Clustering:
    """Cluster prepared samples on their graphs: compress, solve, propose partitions and select one."""
    options, count, X = run.options, prepared.count, prepared.X
    laplacian = auto.choose_laplacian(options, "clustering")
    draws: list[tuple[Compressed, Clusters]] = []
    for _ in range(options.n_draws):  # the same graphs; other samples and features
        compressed = compress(X, axes, laplacian, weights, count.value, run)
        by_graph = options.partition == "graph" and compressed.graphs[0] is not None
        clustered = cluster_by_graph if by_graph else cluster_by_k_means  # the latter is Algorithm 3
        draws.append((compressed, clustered(compressed, count.value, run)))
    graph = axes[0].graph
    at, several = 0, len(draws) > 1
    if several and graph is not None and not any(np.isnan(one.conductance) for _, one in draws):
        at = cheapest([one.labels for _, one in draws], locally_scaled(graph.weights), count.value)
    compressed, best = draws[at]
    soft_labels = consensus([one.soft_labels for _, one in draws], at)
    value = best.conductance
    if several and not np.isnan(value) and graph is not None:
        value = conductance(graph, soft_labels.argmax(axis=1), count.value)
    chosen, by_gamma, by_scores = auto.partition_reasons(best.method, value, len(draws))
    gamma_samples, gamma_features = auto.gamma_choices(options, best.gammas, None)
    choices = [
        count,
        prepared.structure,
        prepared.scaling_choice,
        prepared.n_neighbors,
        *auto.compression_choices(options, X.shape, count.value, "clustering"),
        replace(gamma_samples, reason=by_gamma) if is_auto(options.gamma_samples) else gamma_samples,
        gamma_features,
        Choice("scores", best.scores, by_scores if is_auto(options.scores) else AS_GIVEN),
        Choice("partition", best.method, chosen if options.partition == "graph" else AS_GIVEN),
        Choice("n_draws", options.n_draws, AS_GIVEN),
        prepared.outliers,
    ]
    clusters = replace(
        best, soft_labels=soft_labels, conductance=value, n_iter=sum(one.n_iter for _, one in draws),
        converged=all(one.converged for _, one in draws), alternatives=() if several else best.alternatives,
    )  # fmt: skip
    return Clustering(compressed, clusters, prepared, choices)


# --- stages, in the order of the data ---


def check_outliers(X: Data, run: Run, scaling: Scaling | None = None) -> Choice:
    """Decide whether outliers are filtered for distances; timed as a stage only if the data are looked at."""
    options = run.options
    checked = is_auto(options.robust_graphs) and options.builds_graphs() and not is_sparse(X)
    with run.progress.stage("outliers") if checked else nullcontext():
        return auto.choose_outlier_filter(X, options, scaling)


def filter_ends(X: Data, outliers: Choice, run: Run) -> tuple[Data, OutlierFilter | None]:
    """Replace outliers at the ends of their feature's range, if they are to be, in all that follows."""
    if outliers.value != "ends" or is_sparse(X):
        return X, None
    with run.progress.stage("imputation"):
        model = fit_outlier_filter(X, run.rng, at_ends=True)
        return replace_ends(X, model), model


def replace_ends(X: Array, model: OutlierFilter) -> Array:
    """Replace what the filter flags, but missing values."""
    return np.where(np.isnan(X), X, model.apply(X))


def points_for_distances(
    X: Data, outliers: Choice, run: Run, *, for_new_samples: bool = False, applied: OutlierFilter | None = None
) -> Points:
    """Impute missing values, and outliers if they are to be filtered, for distances.

    ``for_new_samples``: new samples will be compared with these even if no graph is built from them. ``applied`` is the
    filter that the data have passed, and new samples will.
    """
    compared = run.options.builds_graphs() or for_new_samples
    if is_sparse(X) or not compared or not (outliers.value is True or has_missing(X)):
        return Points(X, applied)
    with run.progress.stage("imputation"):
        model = fit_outlier_filter(X, run.rng) if outliers.value is True else fit_imputer(X, run.rng)
        return Points(model.apply(X), applied or model)


def build_graphs(X: Data, run: Run) -> AxisGraphs:
    """Build the sample graph and the feature graph."""
    n_samples = X.shape[0]
    with run.progress.stage("sample graph"):
        samples = build_graph(X, "sample", int(run.options.n_neighbors), run)
    with run.progress.stage("feature graph"):
        if n_samples > FEATURE_GRAPH_SAMPLES and not run.options.published:
            X = X[draw(n_samples, FEATURE_GRAPH_SAMPLES, random_state=run.rng)]
        features = build_graph(transposed(X), "feature", int(run.options.n_neighbors), run)
    return samples, features


def build_graph(points: Data, axis: AxisName, n_neighbors: int, run: Run) -> AxisGraph:
    """Graph between points: the given one, or nearest neighbors if any stage uses it."""
    given = run.options.graph_of(axis)
    n_neighbors = min(n_neighbors, points.shape[0] - 1)
    graph = None
    if given is not None and n_neighbors > 0:
        if not isinstance(given, str):
            graph = as_graph(given, points.shape[0], name=f"{axis}_graph").promoted(points.dtype)
        elif run.options.needs_graph(axis):
            width = auto.choose_bandwidth(run.options)
            build = knn_graph if run.workspace is None else run.workspace.knn_graph
            graph = build(points, n_neighbors, bandwidth=width, neighbors=run.options.neighbors, random_state=run.rng)
    return AxisGraph(graph, points, n_neighbors)


def sample_axes(
    axes: AxisGraphs, shape: tuple[int, int], sizes: tuple[int, int], rank: int | None, run: Run
) -> tuple[SampledNodes, SampledNodes]:
    """Draw so many samples and features, or keep those given; ``rank`` guides optimal sampling."""
    optimal_for = (rank or DEFAULT_RANK) if run.options.optimal_sampling else None
    samples, features = (
        sample_nodes(
            axis.graph, n, m, given=given, optimal_for=optimal_for, random_state=run.rng, name=f"{name}_indices"
        )
        for name, axis, n, m, given in zip(AXES, axes, shape, sizes, run.options.given_indices(), strict=True)
    )
    return samples, features


def compress(
    X: Data, axes: AxisGraphs, laplacian: LaplacianKind, weights: LossWeights, rank: int | None, run: Run
) -> Compressed:
    """Sample samples and features, extract the block, and reduce both graphs to the sampled nodes."""
    options, rng = run.options, run.rng
    with run.progress.stage("sampling"):
        samples, features = sample_axes(axes, X.shape, auto.n_kept(options, X.shape, rank), rank, run)
        sample_weights = samples.loss_weights(weights.samples)
        feature_weights = features.loss_weights(weights.features)
        # The normalized Laplacian penalizes constants, so features are centered; the combinatorial one does not.
        block = sampled_block(
            X, samples.indices, features.indices, center_features=laplacian == "normalized",
            sample_weights=sample_weights, as_given=options.published,
        )  # fmt: skip
    with run.progress.stage("reduction"):
        small_samples, small_features = (
            reduce_graph(axis.graph, nodes.indices, axis.points, options.reduction, axis.n_neighbors, rng)
            for axis, nodes in zip(axes, (samples, features), strict=True)
        )
        L_samples, L_features = (
            reduced_laplacian(axis.graph, small, nodes.indices, laplacian)
            if options.published
            else small and small.unit_laplacian(laplacian)
            for axis, small, nodes in zip(axes, (small_samples, small_features), (samples, features), strict=True)
        )
    problem = CompressedProblem(
        block.X,
        L_samples,
        L_features,
        loss=options.loss,
        huber_delta=options.huber_delta,
        sample_weights=sample_weights,
        feature_weights=feature_weights,
        X0=None if options.published else block.start(),
        tol=options.tol,
        max_iter=options.max_iter,
        # The norm of a unit-scale matrix: large feature means must not stop iterations early.
        size=None if options.published else block.X.size**0.5,
        plain=options.published,
    )
    return Compressed(problem, block, samples, features, (small_samples, small_features), laplacian)


def solve(
    compressed: Compressed, gammas: Gammas, run: Run, start: Array | None = None, *, tighten_tol: bool = False
) -> Solution:
    """Low-rank part of the block (Algorithm 1), from ``start`` or the clipped block."""
    X0 = compressed.problem.X0 if start is None else start
    tighten_tol = tighten_tol and not run.options.published
    problem = replace(compressed.problem, gammas=gammas, X0=X0, tighten_tol=tighten_tol)
    with run.progress.stage(run.options.solver) as update:
        return run.options.small_solver.solve(problem, update)


def decode(
    X: Data, compressed: Compressed, solution: Solution, n_components: int | None, scaling: Scaling, run: Run
) -> Decoded:
    """Low-rank matrix on all samples and features, in the units of the data (Algorithm 2)."""
    block, decoder = compressed.block, run.options.decoder_record
    keywords = run.options.decoder_keywords()
    if decoder.takes_data:
        keywords["data"] = ScaledData(X, block.shift, block.scale)
    with run.progress.stage("decoding"):
        decoded = decoder.decode(
            solution.X, compressed.samples, compressed.features, n_components=n_components, **keywords
        )
        low_rank = decoded.low_rank.rescaled(block.scale, block.shift)
        if scaling.shift is not None and scaling.scale is not None:
            low_rank = low_rank.measured_in(scaling.scale, scaling.shift)
        return replace(decoded, low_rank=low_rank)


def cluster_by_k_means(compressed: Compressed, n_clusters: int, run: Run) -> Clusters:
    """Algorithm 3: one solve, k-means, labels interpolated over the sample graph."""
    options = run.options
    gammas = auto.fixed_gammas(options, compressed.laplacian)
    solution = solve(compressed, gammas, run, tighten_tol=True)
    with run.progress.stage("decoding"):
        found = decode_labels(
            solution.X, compressed.samples, n_clusters, feature_weights=compressed.features.weights,
            scores="whitened" if is_auto(options.scores) else options.scores, gamma=options.gamma_labels,
            random_state=run.rng, **auto.label_options(options, compressed.laplacian),
        )  # fmt: skip
    return Clusters(
        found.soft_labels, np.nan, gammas, found.scores, "k-means", found.rank, solution.n_iter, solution.converged
    )


def cluster_by_graph(compressed: Compressed, n_clusters: int, run: Run) -> Clusters:
    """Solve along a path of gammas, propose partitions of each solution and of the graph, select one of the best."""
    options, graph = run.options, compressed.graphs[0]
    assert graph is not None
    path = auto.gamma_path(options, compressed.laplacian)
    solutions = [solve(compressed, path[0], run, tighten_tol=len(path) == 1)]
    for gammas in path[1:]:
        solutions.append(solve(compressed, gammas, run, solutions[-1].X))
    with run.progress.stage("partitions"):
        weights = compressed.samples.weights, compressed.features.weights
        directions = map_tasks(lambda one: leading_directions(one.X, n_clusters, *weights), solutions)
        sources: list[Source] = []
        for gammas, leading in zip(path, directions, strict=True):
            scaled_too = gammas[0] <= SCALED_SCORES_UP_TO or len(path) == 1
            kinds: list[Scores] = ["whitened", "scaled"] if scaled_too else ["whitened"]
            kinds = kinds if is_auto(options.scores) else [options.scores]
            sources += [score_source(leading, n_clusters, kind, gammas[0]) for kind in kinds]
        last = sources[-1]
        if is_auto(options.scores):
            smooth = spectral_directions(graph.weights, n_clusters)
            if smooth is not None:
                sources.append(replace(score_source(smooth, n_clusters, "spectral", last.gamma), rank=last.rank))
        found = candidates(sources, graph.weights, n_clusters, run.rng, weights[0])
    everything = compressed.samples.graph
    assert everything is not None
    evidence = locally_scaled(everything.renumbered.weights)
    if is_auto(options.scores):
        with run.progress.stage("communities"):
            found += community_candidates(evidence, n_clusters, last, run.rng)
    with run.progress.stage("decoding"):
        partition = select(found, compressed.samples, evidence, n_clusters, options.gamma_labels)
    taken = partition.candidate
    return Clusters(
        partition.soft_labels, partition.conductance, (taken.gamma, path[0][1]), taken.scores, taken.method, taken.rank,
        sum(one.n_iter for one in solutions), all(one.converged for one in solutions), partition.alternatives,
    )  # fmt: skip
