"""The interactive map of a page: which samples are drawn, and what its script reads about them."""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._typing import Array
from . import drawing, pictures

MAX_SHOWN = 20_000  # points: more are one blot, and make the page large
MAX_PICTURED = 5_000  # if each has a picture
LEAST_OF_CLUSTER = 20  # points, as far as all clusters have that many in MAX_SHOWN
MAX_VALUES = 600_000  # of features by which points are colored
GRID = 320  # pixels of the density image
ENDS = (0.25, 99.75)  # percentiles of the coordinates that are in view first
N_TOP = 3  # features named for a sample


def shown_samples(labels: Array, at_most: int = MAX_SHOWN) -> Array:
    """Draw samples with a fixed seed, at least 20 of each cluster; all in random order if there are few.

    The order is that of drawing: no cluster covers the others.
    """
    n = len(labels)
    order = np.random.RandomState(0).permutation(n)
    if n <= at_most:
        return order
    by_cluster = order[np.argsort(labels[order], kind="stable")]
    sizes = np.bincount(labels)
    place = np.arange(n) - np.repeat(np.cumsum(sizes) - sizes, sizes)  # within its cluster
    least = min(LEAST_OF_CLUSTER, at_most // max(int(np.count_nonzero(sizes)), 1))
    needed = np.zeros(n, dtype=bool)
    needed[by_cluster[place < least]] = True
    drawn = np.concatenate([order[needed[order]], order[~needed[order]]])[:at_most]
    return order[np.isin(order, drawn)]


@dataclass(frozen=True, eq=False)
class SampleMap:
    """Samples in a plane.

    Attributes
    ----------
    places : ndarray of shape (n_samples, 2)
        Coordinates of all samples.
    shown : ndarray of shape (n_shown,)
        Indices of the samples that are drawn; the other arrays are theirs.
    labels, confidence : ndarray of shape (n_shown,)
        Clusters and their confidence.
    n_clusters : int
        Number of clusters.
    names : sequence of str or None
        None for numbers.
    features : mapping of str to ndarray of shape (n_shown,)
        By which the points can be colored; NaN where missing.
    alternatives : sequence of ndarray of shape (n_shown,)
        Other labels.
    top : (sequence of str, ndarray (n_shown, 3), ndarray (n_shown, 3)) or None
        Names of features; for each sample those that are most unusual, and by how many standard deviations.
    images : ndarray of shape (n_shown, height, width) or None
        Pictures of the samples.
    about : str
        What the plane is, a sentence.
    clustered : bool
        Whether labels and confidence mean anything.
    """

    places: Array
    shown: Array
    labels: Array
    confidence: Array
    n_clusters: int
    names: Sequence[str] | None = None
    features: Mapping[str, Array] = field(default_factory=dict)
    alternatives: Sequence[Array] = ()
    top: tuple[Sequence[str], Array, Array] | None = None
    images: Array | None = None
    about: str = ""
    clustered: bool = True

    @property
    def n_shown(self) -> int:
        """Number of samples that are drawn."""
        return len(self.shown)


def map_variables(given: SampleMap, n_features: int) -> dict[str, Any]:
    """Return the variables of the template of the map; ``n_features`` of the data, by some of which it is colored."""
    least = f" (at least {LEAST_OF_CLUSTER} of each cluster)"
    return {
        "map": draw_map(given), "map_about": given.about,
        "least_of_cluster": least if 1 < given.n_clusters < given.n_shown // LEAST_OF_CLUSTER else "",
        "n_uncolored": 0 if given.images is not None else n_features - len(given.features),
    }  # fmt: skip


def draw_map(given: SampleMap) -> dict[str, Any]:
    """Return what the script of the page reads, for JSON."""
    unit, view = _unit_square(given.places)
    hidden = len(unit) - len(given.shown)
    return {
        "n": len(given.shown), "of": len(unit), "view": view, "clustered": given.clustered,
        "places": _packed(np.rint(65535 * unit[given.shown]), "<u2"),
        "rows": _packed(given.shown, "<u4"),
        "labels": _packed(given.labels, "<u2"), "confidence": _packed(np.rint(255 * given.confidence), "u1"),
        "sure": _feature("confidence", given.confidence),
        "colors": [drawing.color(label, given.n_clusters) for label in range(given.n_clusters)],
        "names": None if given.names is None else list(given.names),
        "features": [_feature(name, values) for name, values in given.features.items()],
        "alternatives": [_packed(labels, "<u2") for labels in given.alternatives],
        "alternativeColors": [
            [drawing.color(label, int(labels.max()) + 1) for label in range(int(labels.max()) + 1)]
            for labels in given.alternatives
        ],
        "top": None if given.top is None else {
            "names": list(given.top[0]), "index": _packed(given.top[1], "<u4"),
            "size": _packed(np.clip(np.rint(10 * given.top[2]), -127, 127), "i1"), "each": given.top[1].shape[1],
        },
        "sprite": None if given.images is None else pictures.sprite(given.images),
        "density": pictures.density(unit, GRID) if hidden else None,
        "numbers": _numbers(unit[given.shown], given.labels),
    }  # fmt: skip


def _numbers(places: Array, labels: Array) -> list[dict[str, Any]]:
    """Where to put the numbers of the largest clusters, the largest first; the script shows those that have room."""
    numbers = []
    for label in drawing.largest(labels, drawing.MAX_NUMBERS):
        x, y, radius = drawing.number_place(places[labels == label])
        numbers.append({"label": str(label), "x": x, "y": y, "radius": radius})
    return numbers


def _unit_square(places: Array) -> tuple[Array, list[float]]:
    """Coordinates in the unit square, one unit for both axes and y downwards; and the box that is in view first."""
    places = np.nan_to_num(np.asarray(places, dtype=np.float64))
    low, high = places.min(axis=0), places.max(axis=0)
    side = float((high - low).max()) or 1.0
    unit = (places - low) / side
    unit[:, 1] = (high[1] - low[1]) / side - unit[:, 1]
    (left, top), (right, bottom) = np.percentile(unit, ENDS, axis=0)
    return unit, [float(left), float(top), float(right), float(bottom)]


def _feature(name: str, values: Array) -> dict[str, Any]:
    """Values in 254 steps from the 1st to the 99th percentile; 255 is missing."""
    known = values[np.isfinite(values)]
    low, high = np.percentile(known, (1, 99)) if len(known) else (0.0, 1.0)
    if len(known) and low == high:
        low, high = float(known.min()), float(known.max())
    steps = np.rint(254 * np.clip((values - low) / (high - low if high > low else 1.0), 0, 1))
    steps = np.where(np.isfinite(values), steps, 255)
    return {"name": name, "low": drawing.number(low), "high": drawing.number(high), "values": _packed(steps, "u1")}


def _packed(numbers: Array, dtype: str) -> str:
    return b64encode(np.ascontiguousarray(numbers, dtype=dtype).tobytes()).decode()
