"""What the page of a clustering shows: the map, what makes each cluster, which clusters touch, alternatives."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any

import numpy as np

from .._typing import Array
from ..clustering.profiles import ClusterProfiles, Members
from ..clustering.selection import Alternative
from . import drawing
from .pictures import picture
from .sample_map import SampleMap, map_variables

MAX_CARDS = 40  # clusters that are described
N_FEATURES = 6  # of each
MEMBER_SIDE = 64  # pixels of the picture of a member
MAX_TOUCHING = 4  # clusters named as neighbors of one
MAX_PAIRS = 15
LEAST_CONTACT = 0.001  # share of the edge weight


@dataclass(frozen=True, eq=False)
class FoundClusters:
    """A clustering and what describes it.

    Attributes
    ----------
    labels, confidence : ndarray of shape (n_samples,)
        Cluster of each sample and its membership in it.
    conductance : float
        Mean conductance of the clusters; NaN if unknown.
    map : SampleMap
        The plane, a sentence on what it is, and what hovering shows.
    profiles : ClusterProfiles
        Means and differences of features.
    feature_names : sequence of str
        Names of features.
    units : str
        What the means are means of, in words.
    members : Members
        Typical and doubtful samples.
    name_of : function of int
        Name of a sample.
    images : mapping of int to ndarray of shape (height, width)
        Pictures of these members; empty if samples are no pictures.
    image_shape : (int, int) or None
        Height and width of samples that are pictures.
    contacts : ndarray of shape (n_clusters, n_clusters) or None
        Shares of edge weight between clusters; None without a sample graph.
    alternatives : sequence of (Alternative, str)
        Partitions that nearly tied, and how they differ.
    """

    labels: Array
    confidence: Array
    conductance: float
    map: SampleMap
    profiles: ClusterProfiles
    feature_names: Sequence[str]
    units: str
    members: Members
    name_of: Callable[[int], str]
    images: Mapping[int, Array]
    image_shape: tuple[int, int] | None
    contacts: Array | None
    alternatives: Sequence[tuple[Alternative, str]] = ()


def draw_clusters(found: FoundClusters) -> dict[str, Any]:
    """Return the variables of the template."""
    confidence = found.confidence
    low = min(0.9, float(np.floor(10 * confidence.min()) / 10))
    counts, _ = np.histogram(confidence, bins=drawing.N_BINS, range=(low, 1.0))
    largest = np.argsort(-found.profiles.sizes, kind="stable")
    largest = largest[found.profiles.sizes[largest] > 0]
    described = np.sort(largest[:MAX_CARDS]).tolist()
    pairs = None if found.contacts is None else _pairs(found.contacts)
    return {
        **map_variables(found.map, len(found.feature_names)),
        "sizes": drawing.sizes(found.labels, confidence),
        "confidence": drawing.histogram(counts, low, 1.0),
        "cards": [_card(found, cluster) for cluster in described],
        "profiles_about": _about(found),
        "folds": found.profiles.fold_change is not None,
        "n_without_card": len(largest) - len(described),
        "pairs": None if pairs is None else pairs[:MAX_PAIRS],
        "n_more_pairs": 0 if pairs is None else max(0, len(pairs) - MAX_PAIRS),
        "conductance": drawing.NONE if isnan(found.conductance) else f"{found.conductance:.3g}",
        "alternatives": [
            {"conductance": f"{one.conductance:.3g}", "agreement": f"{one.agreement:.2f}", "difference": difference}
            for one, difference in found.alternatives
        ],
    }  # fmt: skip


def _about(found: FoundClusters) -> str:
    members = "Typical samples are close to the mean of their cluster, doubtful ones have the lowest confidence."
    if found.image_shape:
        return f"{members} The number below a doubtful one is its confidence."
    if found.profiles.fold_change is not None:
        which = (
            "Features with more counts here than in the others. log2 FC: fold change, the logarithm of the ratio of "
            "the mean counts."
        )
    else:
        which = "Features that differ most from all other samples."
    sizes = f"Here, others: means {found.units}. SD: their difference, in standard deviations over all samples."
    return f"{which} {sizes} {members}"


def _card(found: FoundClusters, cluster: int) -> dict[str, Any]:
    members = found.labels == cluster
    typical, doubtful = found.members.typical[cluster], found.members.doubtful[cluster]
    card: dict[str, Any] = {
        "label": cluster, "color": drawing.color(cluster, len(found.profiles.sizes)), "n": int(members.sum()),
        "confidence": f"{found.confidence[members].mean():.2f}", "mean": None, "features": [],
        "touches": None if found.contacts is None else _touching(found.contacts[cluster], cluster),
    }  # fmt: skip
    pixels = {int(at): found.images[int(at)] for at in (*typical, *doubtful)} if found.image_shape else {}
    if found.image_shape:
        mean = found.profiles.means[cluster].reshape(found.image_shape)
        card["mean"] = picture(mean, float(mean.min()), float(mean.max()))
    else:
        card["features"] = _features(found.profiles, cluster, found.feature_names)
    for kind, chosen in (("typical", typical), ("doubtful", doubtful)):
        card[kind] = [
            (found.name_of(at), _own_scale(pixels.get(at)), f"{found.confidence[at]:.2f}") for at in chosen.tolist()
        ]
    return card


def _own_scale(pixels: Array | None) -> str | None:
    if pixels is None:
        return None
    return picture(pixels, float(np.nanmin(pixels)), float(np.nanmax(pixels)), max_side=MEMBER_SIDE)


def _features(profiles: ClusterProfiles, cluster: int, names: Sequence[str]) -> list[dict[str, Any]]:
    largest = float(np.abs(profiles.difference).max()) or 1.0
    rows = []
    for feature in profiles.leading(cluster, N_FEATURES).tolist():
        difference = float(profiles.difference[cluster, feature])
        rows.append(
            {
                "name": names[feature], "inside": drawing.number(profiles.means[cluster, feature]),
                "elsewhere": drawing.number(profiles.elsewhere[cluster, feature]),
                "size": drawing.signed_number(difference),
                "up": difference > 0, "width": round(50 * abs(difference) / largest, 1),
                "fold": None if profiles.fold_change is None
                else drawing.signed_number(profiles.fold_change[cluster, feature]),
            }
        )  # fmt: skip
    return rows


def _touching(shares: Array, cluster: int) -> list[tuple[int, str]]:
    others = [other for other in np.argsort(-shares, kind="stable").tolist() if other != cluster]
    return [
        (other, drawing.small_percent(float(shares[other])))
        for other in others[:MAX_TOUCHING]
        if shares[other] >= LEAST_CONTACT
    ]


def _pairs(contacts: Array) -> list[tuple[int, int, str, str]]:
    """Pairs of clusters with an edge between them, those that share most of their weight first."""
    both = np.maximum(contacts, contacts.T)
    one, other = np.nonzero(np.triu(both, 1) >= LEAST_CONTACT)
    order = np.argsort(-both[one, other], kind="stable")
    return [
        (a, b, drawing.small_percent(float(contacts[a, b])), drawing.small_percent(float(contacts[b, a])))
        for a, b in zip(one[order].tolist(), other[order].tolist(), strict=True)
    ]
