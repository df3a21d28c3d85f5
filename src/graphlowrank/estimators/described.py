"""What describes clusters, maps and recovered matrices: computed from a fitted model and the data, for pages."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._progress import Progress
from .._threads import limit_threads
from .._typing import Array
from ..clustering import Alternative
from ..clustering.plane import first_two, project_on_centers
from ..clustering.profiles import (
    ClusterProfiles,
    cluster_profiles,
    contacts,
    describe_difference,
    representative_members,
)
from ..embedding import Neighborhood, embed
from ..linalg.blocks import evenly_spaced, row_blocks
from ..metrics.residuals import Residual, ResidualSize, find_outliers, residual_size
from ..options import Options
from ..preprocessing.counts import blocks, dense, moments, preprocess
from ..records import Run
from ..report.cluster_page import N_FEATURES, FoundClusters
from ..report.recovery_page import Heat, Pictures, Recovered
from ..report.sample_map import MAX_VALUES, N_TOP, SampleMap, shown_samples
from .shown import Shown

N_MEMBERS = 5  # typical samples of a cluster, and doubtful ones
MAX_NAMED = 2000  # features that hovering can name
MAX_COLORINGS = 200  # features by which the map can be colored
N_ROWS, N_COLUMNS, N_PICTURES = 30, 40, 8  # of heat maps; pictures shown
N_BINS, MAX_RESIDUAL = 40, 8.0  # of the histogram; in median absolute residuals
BLOCK_ENTRIES = 2**22
MIN_MAPPED = 50  # samples: a plane shows fewer as well
N_NEIGHBORS = 15  # that the map preserves, as CompressiveEmbedding does
MAP = (
    "Map on the sample graph (CompressiveEmbedding): neighbors are close together; distances between clusters and the "
    "sizes of clusters on the map have little meaning."
)
PLANE = (
    "Projection on the plane in which the cluster centers are furthest apart, among the leading principal components; "
    "clusters that differ in other directions overlap."
)


# --- clusters ---


def describe_clusters(model: Any, shown: Shown, scores: Array, alternatives: Sequence[Alternative]) -> FoundClusters:
    """Compute what describes the clusters of a model.

    ``scores`` are principal ones, for the default map; ``alternatives`` those of the report.
    """
    labels, confidence, n_clusters = model.labels_, model.confidence_, int(model.n_clusters_)
    X, logs, units = _values(model, shown)
    profiles = cluster_profiles(X, labels, n_clusters, logs=logs)
    members = representative_members(X, labels, confidence, profiles, N_MEMBERS, scaled=shown.image_shape is None)
    images = {}
    if shown.image_shape is not None:
        chosen = np.unique(np.concatenate([*members.typical, *members.doubtful]))
        images = dict(zip(chosen.tolist(), dense(X[chosen]).reshape(-1, *shown.image_shape), strict=True))
    graph = model.sample_graph_
    given = "The coordinates are those that were given."
    places, about = default_places(model, scores) if shown.layout is None else (shown.layout, given)
    others = [one.labels for one in alternatives]
    sample_map = _map(shown, X, profiles, labels, confidence, others, places, about)
    return FoundClusters(
        labels, confidence, float(model.conductance_), sample_map, profiles,
        [shown.feature_of(at) for at in range(X.shape[1])], units, members, shown.name_of, images, shown.image_shape,
        None if graph is None or n_clusters < 2 else contacts(graph, labels, n_clusters),
        [(one, describe_difference(labels, one.labels)) for one in alternatives],
    )  # fmt: skip


def _values(model: Any, shown: Shown) -> tuple[Any, bool, str]:
    """Choose data to describe clusters by; whether they are logarithms of counts, and in what units means are."""
    if shown.X is None:
        scaled = model.scaling_ != "none"
        return model.points_, False, "of the scaled data" if scaled else "in the units of the data"
    if shown.logs or model.scaling_ != "counts":
        return shown.X, shown.logs, "of log(1 + x)" if shown.logs else "in the units of the data"
    X, _, _ = preprocess(shown.X, normalize=True, keep_sparse=True)
    return X, True, "of log(1 + x), samples brought to the same total"


def _map(
    shown: Shown, X: Any, profiles: ClusterProfiles, labels: Array, confidence: Array | None,
    alternatives: Sequence[Array], places: Array, about: str,
) -> SampleMap:  # fmt: skip
    """Choose samples to draw, and what hovering over them shows; without confidence, labels mean nothing."""
    chosen = shown_samples(labels, shown.most_drawn())
    features: dict[str, Array] = {}
    top, images = None, None
    if shown.image_shape is not None:
        images = dense(X[chosen]).reshape(-1, *shown.image_shape)
    else:
        columns = coloring_features(profiles, min(MAX_VALUES // len(chosen), MAX_COLORINGS))
        named = coloring_features(profiles, MAX_NAMED)
        values, index, size = values_and_unusual(X, chosen, columns, named, profiles)
        features = {shown.feature_of(at): values[:, place] for place, at in enumerate(columns.tolist())}
        used, index = np.unique(index, return_inverse=True)
        top = ([shown.feature_of(at) for at in used.tolist()], index.reshape(size.shape), size)
    names = None if shown.sample_names is None else [shown.sample_names[at] for at in chosen.tolist()]
    sure = np.ones(len(chosen)) if confidence is None else confidence[chosen]
    return SampleMap(
        places, chosen, labels[chosen], sure, len(profiles.sizes), names, features,
        [other[chosen] for other in alternatives], top, images, about, confidence is not None,
    )  # fmt: skip


def describe_embedding(model: Any, shown: Shown) -> SampleMap:
    """Compute what the map of an embedding shows; X, or the prepared samples that the model keeps, gives the values."""
    X = model.points_ if shown.X is None else shown.X
    labels = np.zeros(len(model.embedding_), dtype=np.intp)
    profiles = cluster_profiles(X, labels, 1)
    about = MAP if model.embedding_.shape[1] > 1 else f"{MAP} It has one dimension; heights are random."
    return _map(shown, X, profiles, labels, None, (), first_two(model.embedding_), about)


def default_places(model: Any, scores: Array) -> tuple[Array, str]:
    """Return the map of the samples on the sample graph of a model, or the principal plane if it has none."""
    graph = model.sample_graph_
    if graph is None or graph.n_nodes < MIN_MAPPED:
        return project_on_centers(scores, model.labels_), PLANE
    points, scaling = model.prepared()
    run = Run(Options(n_components=2, n_neighbors=N_NEIGHBORS), np.random.RandomState(0), Progress(0))
    with limit_threads(model.n_jobs):
        return embed(points.X, run, "auto", Neighborhood(graph, points, scaling, ())).positions, MAP


def coloring_features(profiles: ClusterProfiles, at_most: int) -> Array:
    """All features, in their order; of many, those that distinguish clusters, then those of the largest variance."""
    n_features = len(profiles.std)
    if n_features <= at_most:
        return np.arange(n_features)
    leading = np.stack([profiles.leading(cluster, N_FEATURES) for cluster in range(len(profiles.sizes))], axis=1)
    ordered = np.concatenate([leading.ravel(), np.argsort(-profiles.std, kind="stable")])
    _, first = np.unique(ordered, return_index=True)
    return np.sort(ordered[np.sort(first)][:at_most])


def values_and_unusual(
    X: Any, samples: Array, columns: Array, named: Array, profiles: ClusterProfiles
) -> tuple[Array, Array, Array]:
    """Values (n, n_columns) of some features; the three most unusual ``named`` ones in each sample, and by how much."""
    n_top = min(N_TOP, len(named))
    values, index, size = np.empty((len(samples), len(columns))), np.zeros((len(samples), n_top), int), []
    scale = np.where(profiles.std > 0, profiles.std, np.inf)[named]
    for part in row_blocks(len(samples), X.shape[1], entries=BLOCK_ENTRIES):
        block = dense(X[samples[part]])
        values[part] = block[:, columns]
        relative = np.nan_to_num((block[:, named] - profiles.mean[named]) / scale)
        at = np.argsort(-np.abs(relative), axis=1, kind="stable")[:, :n_top]
        index[part] = named[at]
        size.append(np.take_along_axis(relative, at, axis=1))
    return values, index, np.concatenate(size)


# --- recovery ---


def residual_of(model: Any, X: Any) -> tuple[Residual, Residual, ResidualSize]:
    """Residual of a model with ``low_rank_``; the same with features in the units of the model; its size."""
    unscaled = Residual(X, model.low_rank_)
    units = model.feature_scale_
    residual = unscaled if units is None else unscaled.divided_by(units)
    return unscaled, residual, residual_size(residual, model.offset_ if units is None else residual.low_rank.offset)


def describe_recovery(unscaled: Residual, residual: Residual, size: ResidualSize, shown: Shown) -> Recovered:
    """Choose what a page shows of a recovered matrix: samples from the smallest residual to the largest, outliers.

    ``residual`` is measured in the units of the model; values are shown in those of the data, as in ``unscaled``.
    """
    n_samples = residual.shape[0]
    limit = MAX_RESIDUAL * size.typical or 1.0
    counts, n_entries = np.zeros(N_BINS, dtype=np.int64), 0
    for _, block in blocks(residual):
        observed = block[~np.isnan(block)]
        counts += np.histogram(observed, bins=N_BINS, range=(-limit, limit))[0]
        n_entries += observed.size
    outliers = find_outliers(unscaled)
    pictured = shown.image_shape is not None
    chosen = np.argsort(size.of_samples, kind="stable")[evenly_spaced(n_samples, N_PICTURES if pictured else N_ROWS)]
    values = [
        (float(dense(unscaled.X[[row]])[0, column]), float(np.asarray(unscaled.low_rank[[row]])[0, column]))
        for _, row, column in outliers.largest
    ]
    return Recovered(
        counts, limit, n_entries - int(counts.sum()), outliers, values, n_samples, shown.name_of, shown.feature_of,
        None if pictured else _heat(unscaled, chosen, outliers.noise, shown, n_samples),
        _pictures(unscaled, chosen, shown.image_shape, shown.name_of) if shown.image_shape is not None else None,
    )  # fmt: skip


def _heat(residual: Residual, chosen: Array, noise: Array, shown: Shown, n_samples: int) -> Heat:
    given, recovered = dense(residual.X[chosen]), np.asarray(residual.low_rank[chosen])
    n_features, about_columns = given.shape[1], ""
    columns = np.arange(n_features)
    if n_features > N_COLUMNS:
        largest = np.nanmax(np.abs(np.where(np.isnan(given), 0, given - recovered)) / noise, axis=0)
        columns = np.sort(np.argsort(-largest, kind="stable")[:N_COLUMNS])
        about_columns = (
            f"Shown are the {N_COLUMNS} of {n_features} features with the largest residuals among these samples."
        )
    mean, variance = moments(block[:, columns] for _, block in blocks(residual.X))
    std = np.sqrt(np.where(variance > 0, variance, 1.0))
    given, recovered = given[:, columns], recovered[:, columns]
    rows = f"{len(chosen)} of {n_samples} samples" if len(chosen) < n_samples else "Samples"
    return Heat(
        (given - mean) / std, (recovered - mean) / std, (given - recovered) / noise[columns], given, recovered,
        [shown.name_of(at) for at in chosen.tolist()], [shown.feature_of(at) for at in columns.tolist()],
        f"{rows}, from the smallest residual at the top to the largest at the bottom.", about_columns,
    )  # fmt: skip


def _pictures(
    residual: Residual, chosen: Array, image_shape: tuple[int, int], name_of: Callable[[int], str]
) -> Pictures:  # fmt: skip
    given, recovered = dense(residual.X[chosen]), np.asarray(residual.low_rank[chosen])
    missing = np.isnan(given)
    given = np.where(missing, recovered, given)
    shape = (len(chosen), *image_shape)
    names = [name_of(at) for at in chosen.tolist()]
    return Pictures(names, given.reshape(shape), recovered.reshape(shape), int(missing.sum()))
