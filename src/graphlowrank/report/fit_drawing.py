"""Drawings of the page of a fit: numbers to places in boxes of SVG, which takes its colours from the page."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from io import BytesIO
from math import ceil, isfinite, log10
from typing import Any

import numpy as np

from .._backend import Array
from ..linalg.blocks import evenly_spaced

MAX_POINTS = 5000  # of the scatter
MAX_VALUES = 60  # singular values
MAX_COLUMNS = 240  # features of a line
MAX_BARS = 40  # clusters
N_BINS = 40
FLOOR = 1e-4  # below it, relative to the first, singular values say nothing
NAMED = 24  # clusters whose numbers fit into the scatter
COLOURS = ("#4c78a8", "#f58518", "#54a24b", "#e45756", "#9467bd", "#17a2b8", "#c59b0c", "#9d755d", "#e377c2", "#7f8c8d")
NONE = "–"


def colour(index: int, n: int) -> str:
    """Colour of a cluster that reads on white and on black."""
    return COLOURS[index] if n <= len(COLOURS) else f"hsl({index * 137.508 % 360:.0f} 58% 52%)"


def scatter(layout: Array, labels: Array) -> dict[str, Any]:
    """Points of each cluster as one path in a box of 640 x 480, evenly thinned to 5000; where its number goes.

    The middle 99.5 % of each axis fill the box; the few beyond are drawn at its edge.
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
        at = np.median(places[labels == label], axis=0) if np.any(labels == label) else None
        named = None if at is None or n > NAMED else (round(float(at[0]), 1), round(float(at[1]), 1))
        groups.append({"label": label, "path": path, "colour": colour(label, n), "at": named})
    dot = 3.2 if len(shown) > 2000 else 4.5 if len(shown) > 500 else 6.5
    return {"groups": groups, "n_shown": len(shown), "of": len(layout), "dot": dot}


def sizes(labels: Array, confidence: Array) -> dict[str, Any]:
    """Bars of the clusters: number, samples, share, mean confidence; the small ones of many in one sentence."""
    counts = np.bincount(labels)
    n, rows = len(counts), []
    for label in np.argsort(-counts, kind="stable")[:MAX_BARS].tolist():
        members = labels == label
        rows.append(
            {
                "label": label, "n": int(counts[label]), "width": round(100 * counts[label] / counts.max(), 1),
                "share": percent(counts[label] / len(labels)), "colour": colour(label, n),
                "confidence": f"{confidence[members].mean():.2f}" if members.any() else NONE,
            }
        )  # fmt: skip
    left = np.sort(counts)[::-1][MAX_BARS:]
    return {"rows": rows, "n_more": len(left), "in_more": int(left.sum())}


def histogram(values: Array, low: float, high: float) -> dict[str, Any]:
    """Outline of a histogram in a box of 420 x 180; values outside are counted, not drawn."""
    counts, _ = np.histogram(values, bins=N_BINS, range=(low, high))
    return drawn_counts(counts, low, high, outside=int(np.size(values) - counts.sum()))


def drawn_counts(counts: Array, low: float, high: float, *, outside: int = 0) -> dict[str, Any]:
    """Outline of counts in equal bins between two numbers."""
    left, right, upper, lower = 12.0, 408.0, 12.0, 150.0
    wide = (right - left) / len(counts)
    top = max(int(counts.max()), 1)
    bars = []
    for place, count in enumerate(counts.tolist()):
        if count:
            tall = max((lower - upper) * count / top, 1.0)  # a single value is to be seen
            bars.append(f"M{left + place * wide:.1f} {lower}v{-tall:.1f}h{wide - 1:.1f}V{lower}Z")
    ticks = [(left + share * (right - left), f"{low + share * (high - low):.3g}") for share in (0, 0.25, 0.5, 0.75, 1)]
    total = int(counts.sum()) + outside
    return {"path": "".join(bars), "ticks": ticks, "outside": percent(outside / total) if outside else ""}


def spectrum(spectra: Mapping[str, Array], rank: int | None) -> dict[str, Any] | None:
    """Singular values over the first of all, log scale, in a box of 420 x 220; None without any."""
    known = {name: np.asarray(values, dtype=float)[:MAX_VALUES] for name, values in spectra.items()}
    known = {name: values for name, values in known.items() if values.size and isfinite(values[0]) and values[0] > 0}
    if not known:
        return None
    first, longest = max(values[0] for values in known.values()), max(values.size for values in known.values())
    least = min(float(values[values >= FLOOR * first].min()) for values in known.values()) / first
    decades = max(1, ceil(-log10(least) - 1e-9))
    left, right, upper, lower = 50.0, 412.0, 12.0, 178.0
    apart = (right - left - 20) / max(longest - 1, 1)

    def across(index: float) -> float:
        return round(left + 10 + apart * (index - 1), 1)

    def down(value: float) -> float:
        return round(upper - log10(value) / decades * (lower - upper), 1)

    step = next(s for s in (1, 2, 5, 10, 20, 50, longest) if longest / s <= 8)
    return {
        "series": [
            (name, [(across(i + 1), down(value / first)) for i, value in enumerate(values) if value >= FLOOR * first])
            for name, values in known.items()
        ],
        "radius": round(min(4.0, max(1.8, apart / 2.5)), 1),
        "heights": [(down(10.0**-k), f"{10.0**-k:g}") for k in range(decades + 1)],
        "indices": [(across(i), i) for i in range(1, longest + 1) if i == 1 or (i % step == 0 and i > step / 2)],
        "cut": across(rank + 0.5) if rank is not None and 0 < rank < longest else None,
    }  # fmt: skip


def lines(given: Array, recovered: Array) -> dict[str, str]:
    """Values of one sample and those recovered over its features, in a box of 420 x 110."""
    columns = evenly_spaced(len(given), MAX_COLUMNS)
    pair = np.stack([given[columns], recovered[columns]]).astype(float)
    low, high = pair.min(), pair.max()
    heights = 102 - 94 * (pair - low) / (high - low if high > low else 1.0)
    across = np.linspace(4, 416, len(columns)) if len(columns) > 1 else np.array([210.0])
    dots = "".join(f"M{x:.1f} {y:.1f}h0" for x, y in zip(across, heights[0], strict=True))
    line = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in zip(across, heights[1], strict=True))
    return {"given": dots, "recovered": line}


def picture(pixels: Array, low: float, high: float) -> str:
    """Grey picture as a data URI; ``low`` is black, ``high`` white."""
    from PIL import Image

    unit = (np.asarray(pixels, dtype=float) - low) / (high - low if high > low else 1.0)
    buffer = BytesIO()
    Image.fromarray(np.rint(255 * np.clip(unit, 0, 1)).astype(np.uint8)).save(buffer, format="PNG")
    return f"data:image/png;base64,{b64encode(buffer.getvalue()).decode()}"


def stages(seconds: Mapping[str, float]) -> list[tuple[str, str, float]]:
    """Name, seconds and width of the bar in percent of each stage, the total last."""
    longest, total = max(seconds.values(), default=0.0), sum(seconds.values())
    rows = [
        (stage, _seconds(spent), round(100 * spent / longest, 1) if longest else 0.0)
        for stage, spent in seconds.items()
    ]
    return [*rows, ("total", _seconds(total), 0.0)] if len(rows) > 1 else rows


def percent(share: float) -> str:
    """Share in words."""
    return NONE if not isfinite(share) else f"{100 * share:.1f} %" if share >= 0.001 or share == 0 else "< 0.1 %"


def _seconds(value: float) -> str:
    return f"{value:.0f} s" if value >= 100 else f"{value:.1f} s" if value >= 10 else f"{value:.2f} s"
