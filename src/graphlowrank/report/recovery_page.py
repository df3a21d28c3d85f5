"""What the page of a recovery shows: input, recovered and residual, as heat maps or pictures; outliers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._typing import Array
from ..metrics.residuals import CUTOFF, Outliers
from . import drawing
from .drawing import number, signed_number
from .pictures import picture, signed

CELLS = ((20, 16), (40, 13))  # columns up to which cells have this side in pixels
LETTERS = 18  # of a name beside a heat map
LETTER = 6.8  # pixels, about
FULL = 2.5  # standard deviations of a feature that are opaque
MAX_COUNTED = 12  # features in the table of counts


@dataclass(frozen=True, eq=False)
class Heat:
    """Some samples and features of a table, (n_rows, n_columns) each, NaN where missing.

    Attributes
    ----------
    given, recovered : ndarray
        In standard deviations of the feature, around its mean.
    residual : ndarray
        In standard deviations of the noise of the feature.
    values, recovered_values : ndarray
        In the units of the data.
    rows, columns : sequence of str
        Names.
    about_rows, about_columns : str
        Which were chosen, a sentence each, or nothing.
    """

    given: Array
    recovered: Array
    residual: Array
    values: Array
    recovered_values: Array
    rows: Sequence[str]
    columns: Sequence[str]
    about_rows: str = ""
    about_columns: str = ""


@dataclass(frozen=True, eq=False)
class Pictures:
    """Some samples that are pictures, (n, height, width) each; missing values as recovered."""

    names: Sequence[str]
    given: Array
    recovered: Array
    n_imputed: int


@dataclass(frozen=True, eq=False)
class Recovered:
    """A recovered matrix beside the data.

    Attributes
    ----------
    counts, limit, outside : ndarray, float, int
        Histogram of the residual from -limit to limit; number of entries beyond.
    outliers : Outliers
        Entries that were flagged.
    largest : sequence of (float, float)
        Value and recovered value of each of ``outliers.largest``.
    n_samples : int
        Number of samples.
    name_of, feature_of : function of int
        Name of a sample, of a feature.
    heat, pictures
        One of them.
    """

    counts: Array
    limit: float
    outside: int
    outliers: Outliers
    largest: Sequence[tuple[float, float]]
    n_samples: int
    name_of: Callable[[int], str]
    feature_of: Callable[[int], str]
    heat: Heat | None = None
    pictures: Pictures | None = None


@dataclass
class _Panel:
    """One heat map as the template draws it."""

    title: str
    uri: str
    rows: list[tuple[float, str, str]]
    columns: list[tuple[float, str, str]]
    left: float
    top: float
    across: int
    down: int
    cell: int
    outliers: list[tuple[float, float, str]] = field(default_factory=list)
    missing: str = ""

    @property
    def width(self) -> float:
        return self.left + self.across + self.top * 0.7  # names of columns lean to the right

    @property
    def height(self) -> float:
        return self.top + self.down + 2


def draw_recovery(found: Recovered) -> dict[str, Any]:
    """Return the variables of the template."""
    either = found.outliers.flagged + found.outliers.missing
    counted = np.argsort(-either, kind="stable")
    counted = counted[either[counted] > 0]
    largest = [
        {
            "sample": found.name_of(row), "feature": found.feature_of(column), "size": signed_number(relative),
            "given": number(value), "recovered": number(instead),
        }
        for (relative, row, column), (value, instead) in zip(found.outliers.largest, found.largest, strict=True)
    ]  # fmt: skip
    return {
        "residual": drawing.histogram(found.counts, -found.limit, found.limit, outside=found.outside),
        "outliers": largest, "cutoff": f"{CUTOFF:g}",
        "outliers_about": _about_outliers(found.outliers, found.n_samples),
        "counted": [] if found.pictures else [_counts_of(found, at) for at in counted[:MAX_COUNTED].tolist()],
        "n_more_counted": max(0, len(counted) - MAX_COUNTED),
        "heats": [] if found.heat is None else draw_heat(found.heat),
        "rows_about": "" if found.heat is None else found.heat.about_rows,
        "columns_about": "" if found.heat is None else found.heat.about_columns,
        "image_shape": None if found.pictures is None else found.pictures.given.shape[1:],
        "n_imputed": 0 if found.pictures is None else found.pictures.n_imputed,
        "shots": [] if found.pictures is None else _shots(found.pictures),
    }  # fmt: skip


def _about_outliers(found: Outliers, n_samples: int) -> str:
    flagged, missing = int(found.flagged.sum()), int(found.missing.sum())
    total = n_samples * len(found.noise)
    imputed = "No value is missing."
    if missing:
        imputed = f"{missing} values ({drawing.small_percent(missing / total)}) were missing and are imputed."
    which = "residuals (those of its nonzero entries, if most are zero)" if found.sparse else "residuals"
    return (
        f"{flagged} of {total} entries ({drawing.small_percent(flagged / total)}) are outliers: their residual exceeds "
        f"{CUTOFF:g} standard deviations of the noise, estimated for each feature from the median of its {which}. "
        + imputed
    )


def _counts_of(found: Recovered, feature: int) -> dict[str, Any]:
    flagged, missing = int(found.outliers.flagged[feature]), int(found.outliers.missing[feature])
    return {"name": found.feature_of(feature), "flagged": flagged, "missing": missing}


def draw_heat(heat: Heat) -> list[_Panel]:
    """Three heat maps side by side: input, recovered, residual; outliers are marked in the first and the last."""
    n_rows, n_columns = heat.given.shape
    cell = next((side for most, side in CELLS if n_columns <= most), CELLS[-1][1])
    rows = [(cell * (i + 0.75), _short(name), name) for i, name in enumerate(heat.rows)]
    left = 8 + LETTER * max(len(text) for _, text, _ in rows)
    columns = [(left + cell * (j + 0.7), _short(name), name) for j, name in enumerate(heat.columns)]
    top = 10 + 0.82 * LETTER * max(len(text) for _, text, _ in columns)
    rows = [(top + y, text, name) for y, text, name in rows]
    cross = "".join(
        f"M{left + cell * j + cell / 2 - 3:.1f} {top + cell * i + cell / 2 - 3:.1f}l6 6m0-6l-6 6"
        for i, j in np.argwhere(np.isnan(heat.given)).tolist()
    )
    marks = []
    for i, j in np.argwhere(np.abs(np.nan_to_num(heat.residual)) > CUTOFF).tolist():
        change = f"{number(heat.values[i, j])} → {number(heat.recovered_values[i, j])}"
        marks.append((left + cell * j + 1.5, top + cell * i + 1.5, f"{heat.rows[i]}, {heat.columns[j]}: {change}"))
    panels = []
    for title, values, limit, outliers, missing in (
        ("Input", heat.given, FULL, marks, cross),
        ("Recovered", heat.recovered, FULL, [], ""),
        ("Residual", heat.residual, CUTOFF, marks, cross),
    ):
        panels.append(_Panel(
            title, signed(values, limit), rows, columns, round(left, 1), round(top, 1), cell * n_columns, cell * n_rows,
            cell, outliers, missing,
        ))  # fmt: skip
    return panels


def _short(name: str) -> str:
    return name if len(name) <= LETTERS else f"{name[: LETTERS - 1]}…"


def _shots(found: Pictures) -> list[dict[str, Any]]:
    """Pictures on one gray scale, with residuals around middle gray."""
    low, high = float(found.given.min()), float(found.given.max())
    half = (high - low) / 2
    shots = []
    for name, given, recovered in zip(found.names, found.given, found.recovered, strict=True):
        parts = ((given, low, high), (recovered, low, high), (given - recovered, -half, half))
        shots.append({"name": name, "pictures": [picture(part, *limits) for part, *limits in parts]})
    return shots
