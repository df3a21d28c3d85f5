"""Charts as SVG coordinates and numbers as text, for the templates; colors come from the page's style."""

from collections.abc import Mapping
from math import ceil, isfinite, log10
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from .._typing import Array
from ..linalg.blocks import evenly_spaced

MAX_POINTS = 5000  # points of a scatter plot
MAX_VALUES = 60  # singular values
MAX_BARS = 40  # clusters in the table of sizes
MAX_COLUMNS = 1200  # columns of a timeline
N_BINS = 40
N_CELLS = 6  # along an axis, to find the densest part of a cluster
NUMBER = 24.0  # height of the number of a cluster in a scatter plot
FLOOR = 1e-4  # singular values below this fraction of the first are not drawn
MAX_LABELS = 24  # clusters whose numbers fit into the scatter plot
MAX_NUMBERS = 60  # clusters that have a number on a map, as far as there is room
CEILINGS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0)  # upper ends of the axis of a timeline
# Okabe and Ito's, but for black and yellow, which need a background of their own; two more for digits.
COLORS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8f7fd6", "#8c8c8c", "#a6761d", "#b2b800")
LIGHTNESS = (45, 60)  # percent; two of them, as hue alone is lost on the color-blind
SERIES = ("var(--quiet)", "var(--accent)", "var(--other)", "var(--now)", "#9467bd", "#54a24b")  # of several spectra
NONE = "–"


def color(index: int, n: int) -> str:
    """Color of a cluster, legible on white and on black."""
    if n <= len(COLORS):
        return COLORS[index]
    return f"hsl({index * 137.508 % 360:.0f} 58% {LIGHTNESS[index % len(LIGHTNESS)]}%)"


def scatter(layout: Array, labels: Array) -> dict[str, Any]:
    """Points (n_samples, 2) of each cluster as one path in a box of 640 x 480, and where to put its number.

    At most 5000 samples are drawn. The axes cover the middle 99.5 % of the values; others are drawn at the edge.
    """
    width, height, margin = 640.0, 480.0, 14.0
    low, high = np.percentile(layout, [0.25, 99.75], axis=0)
    span = np.where(high > low, high - low, 1.0)
    unit = np.clip((layout - low) / span, 0, 1)
    places = margin + unit * (width - 2 * margin, height - 2 * margin)
    places[:, 1] = height - places[:, 1]
    shown = evenly_spaced(len(layout), MAX_POINTS)
    n = int(labels.max()) + 1
    groups = []
    for label in range(n):
        members = shown[labels[shown] == label]
        path = "".join(f"M{x:.1f} {y:.1f}h0" for x, y in places[members])
        named = n <= MAX_LABELS and np.any(labels == label)
        at = _number_at(places[labels == label]) if named else None
        groups.append({"label": label, "path": path, "color": color(label, n), "at": at})
    dot = 3.2 if len(shown) > 2000 else 4.5 if len(shown) > 500 else 6.5
    return {"groups": groups, "n_shown": len(shown), "of": len(layout), "dot": dot}


def _number_at(places: Array) -> list[float]:
    """Baseline of the number of a cluster: in its middle, or above it if it is too small to be seen behind."""
    x, y, radius = number_place(places)
    above = radius + 5 if radius < NUMBER else -NUMBER / 3
    return [round(x, 1), round(max(y - above, NUMBER), 1)]


def largest(labels: Array, at_most: int) -> list[int]:
    """Return the labels of the largest clusters, the largest first."""
    counts = np.bincount(labels)
    order: list[int] = np.argsort(-counts, kind="stable")[:at_most].tolist()
    return [label for label in order if counts[label]]


def number_place(places: Array) -> tuple[float, float, float]:
    """Where to put the number of a cluster: x, y of one of its samples (n, 2), and the radius of the samples there.

    The sample is the one nearest to the median, unless the cluster is in pieces and few of its samples are there: then
    it is the middle one of the densest part.
    """
    low = places.min(axis=0)
    side = float((places.max(axis=0) - low).max()) or 1.0
    cells = np.minimum((places - low) / side * N_CELLS, N_CELLS - 1).astype(int) + 1
    counts = np.zeros((N_CELLS + 2, N_CELLS + 2))
    np.add.at(counts, tuple(cells.T), 1)
    inner = slice(1, -1)
    around = np.zeros_like(counts)  # of 3 x 3 cells
    around[inner, inner] = sliding_window_view(counts, (3, 3)).sum(axis=(2, 3))
    start = cells[_middle(places)]
    densest = np.array(np.unravel_index(around.argmax(), around.shape))
    at = start if around[tuple(start)] >= around.max() / 3 else densest
    near = places[np.abs(cells - at).max(axis=1) <= 1]
    x, y = places[_middle(places)] if at is start else near[_middle(near)]
    return float(x), float(y), float(np.percentile(np.hypot(*(near - (x, y)).T), 90))


def _middle(places: Array) -> int:
    """Index of the point nearest to the median."""
    return int(np.square(places - np.median(places, axis=0)).sum(axis=1).argmin())


def sizes(labels: Array, confidence: Array) -> dict[str, Any]:
    """Rows of the table of clusters, the largest 40, and how many samples the others have."""
    counts = np.bincount(labels)
    n, rows = len(counts), []
    for label in np.argsort(-counts, kind="stable")[:MAX_BARS].tolist():
        members = labels == label
        share = counts[label] / len(labels)
        rows.append(
            {
                "label": label, "n": int(counts[label]), "width": round(100 * counts[label] / counts.max(), 1),
                "share": small_percent(share), "color": color(label, n),
                "confidence": f"{confidence[members].mean():.2f}" if members.any() else NONE,
            }
        )  # fmt: skip
    others = np.sort(counts)[::-1][MAX_BARS:]
    return {"rows": rows, "n_more": len(others), "in_more": int(others.sum())}


def histogram(counts: Array, low: float, high: float, *, outside: int = 0) -> dict[str, Any]:
    """Draw counts in equal bins from ``low`` to ``high`` in a box of 420 x 180; ``outside`` is reported, not drawn."""
    left, right, top, bottom = 12.0, 408.0, 12.0, 150.0
    width = (right - left) / len(counts)
    most = max(int(counts.max()), 1)
    bars = []
    for index, count in enumerate(counts.tolist()):
        if count:
            height = max((bottom - top) * count / most, 1.0)  # a single value stays visible
            bars.append(f"M{left + index * width:.1f} {bottom}v{-height:.1f}h{width - 1:.1f}V{bottom}Z")
    ticks = [(left + share * (right - left), f"{low + share * (high - low):.3g}") for share in (0, 0.25, 0.5, 0.75, 1)]
    total = int(counts.sum()) + outside
    return {"path": "".join(bars), "ticks": ticks, "outside": small_percent(outside / total) if outside else ""}


def spectrum(
    spectra: Mapping[str, Array], rank: int | None, *, max_values: int = MAX_VALUES, floor: float = FLOOR,
    threshold: float | None = None,
) -> dict[str, Any] | None:  # fmt: skip
    """Singular values relative to the largest, on a log scale, in a box of 420 x 220; None if there are none.

    A single spectrum with a rank is marked as kept or left, up to six differ in color; ``threshold`` is a line.
    """
    known = {name: np.asarray(values, dtype=float)[:max_values] for name, values in spectra.items()}
    known = {name: values for name, values in known.items() if values.size and isfinite(values[0]) and values[0] > 0}
    first = max((values[0] for values in known.values()), default=0.0)
    known = {name: values for name, values in known.items() if values[0] / first >= floor}
    if not known:
        return None
    longest = max(values.size for values in known.values())
    drawn = {
        name: np.flatnonzero(np.isfinite(values) & (values / first >= floor)).tolist() for name, values in known.items()
    }
    decades = max(1, ceil(-log10(min(known[name][at].min() for name, at in drawn.items()) / first) - 1e-9))
    left, right, top, bottom = 50.0, 412.0, 12.0, 178.0
    step = (right - left - 20) / max(longest - 1, 1)

    def across(index: float) -> float:
        return round(left + 10 + step * (index - 1), 1)

    def down(value: float) -> float:
        return round(top - log10(value) / decades * (bottom - top), 1)

    def kind(index: int) -> str:
        if rank is None or len(known) > 1:
            return "dot"
        return "kept" if index < rank else "left"

    every = next(s for s in (1, 2, 5, 10, 20, 50, 100, 200, 500, longest) if longest / s <= 8)
    return {
        "series": [
            (name, fill, [(across(i + 1), down(known[name][i] / first), kind(i)) for i in at])
            for (name, at), fill in zip(drawn.items(), SERIES, strict=False)
        ],
        "radius": round(min(4.0, max(1.5, step / 2.5)), 1),
        "heights": [(down(10.0**-k), f"{10.0**-k:g}".replace("e-0", "e−")) for k in range(decades + 1)],
        "indices": [(across(i), i) for i in range(1, longest + 1) if i == 1 or (i % every == 0 and i > every / 2)],
        "rank": rank,
        "rank_at": across(rank + 0.5) if rank is not None and 0 < rank < longest else None,
        "threshold": threshold,
        "threshold_at": None if threshold is None else down(threshold),
        "n_shown": longest,
        "of": max(len(values) for values in spectra.values()),
    }  # fmt: skip


def timeline(shares: Array) -> dict[str, Any]:
    """Outline of shares over time in a box of 1000 x 100; a column shows the largest of its frames, NaN is left out."""
    per_column = ceil(shares.size / MAX_COLUMNS)
    known = np.where(np.isfinite(shares), np.clip(shares, 0, 1), -1)
    highest = np.maximum.reduceat(known, np.arange(0, shares.size, per_column))
    top = next(ceiling for ceiling in CEILINGS if ceiling >= highest.max())
    edges = np.minimum(1000.0, np.arange(highest.size + 1) * per_column * 1000 / shares.size)
    path = ""
    for run in np.split(np.arange(highest.size), np.flatnonzero(np.diff(highest < 0)) + 1):
        if highest[run[0]] >= 0:
            steps = "".join(f"V{100 - 100 * highest[i] / top:.4g}H{edges[i + 1]:.5g}" for i in run)
            path += f"M{edges[run[0]]:.5g},100{steps}V100Z"
    return {"path": path, "top": f"{100 * top:g} %", "per_column": per_column, "highest": percent(highest.max())}


def stages(spent: Mapping[str, float]) -> list[tuple[str, str, float, str]]:
    """Name, seconds, width of the bar in percent, and share of the total, of each stage; the total last."""
    known = {stage: max(0.0, each) if isfinite(each) else 0.0 for stage, each in spent.items()}
    total, longest = sum(known.values()), max(known.values(), default=0.0)
    rows = []
    for stage, each in spent.items():
        width = round(100 * known[stage] / longest, 1) if longest else 0.0
        share = percent(known[stage] / total, digits=0) if total and isfinite(each) else NONE
        rows.append((stage, seconds(each), width, share))
    return [*rows, ("total", seconds(total), 0.0, "")] if len(rows) > 1 else rows


def number(value: float) -> str:
    """Return a number with three digits, without exponents where they are not needed."""
    text = f"{value:.3g}"
    return f"{value:.0f}" if "e+0" in text and abs(value) < 1e6 else text.replace("e-0", "e-").replace("-", "−")


def signed_number(value: float) -> str:
    """Return a number with its sign and one digit after the point."""
    return f"{value:+.1f}".replace("-", "−")


def percent(share: float, digits: int = 1) -> str:
    """Share in percent."""
    return f"{100 * share:.{digits}f} %" if isfinite(share) and share >= 0 else NONE


def small_percent(share: float) -> str:
    """Share in percent; "< 0.1 %" where rounding would make it zero."""
    return "< 0.1 %" if 0 < share < 0.001 else percent(share)


def seconds(value: float) -> str:
    """Duration with about three digits."""
    if not isfinite(value):
        return NONE
    return f"{value:.0f} s" if value >= 100 else f"{value:.1f} s" if value >= 10 else f"{value:.2f} s"
