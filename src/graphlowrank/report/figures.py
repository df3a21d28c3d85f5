"""Figures of the demo page as PNG, drawn without pyplot and its global state."""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO
from typing import Any

import numpy as np

from .._backend import Array

WIDTH = 5.5  # inches; labels stay legible on a phone
DPI = 200
COLORS = ("#8a8f98", "#d1495b", "#edae49", "#00798c", "#9b72cf", "#2e8b57")


def digits_picture(rows: Mapping[str, Array], *, ink: str = "#1c1f24", paper: str | None = None) -> bytes:
    """Rows of small images (n_images, height, width) in [0, 1], each with its name at the left.

    ``ink`` is the color of the text, ``paper`` that of the background (None: transparent).
    """
    from matplotlib.figure import Figure

    n_images = max(len(images) for images in rows.values())
    names_share = 0.21
    cell = WIDTH * (1 - names_share) / n_images
    figure = Figure(figsize=(WIDTH, cell * len(rows)))
    for row, (name, images) in enumerate(rows.items()):
        bottom = 1 - (row + 1) / len(rows)
        middle = bottom + 0.5 / len(rows)
        figure.text(names_share - 0.015, middle, name, ha="right", va="center", color=ink, fontsize=9)
        axes = figure.add_axes((names_share, bottom, 1 - names_share, 1 / len(rows)))
        axes.imshow(_strip(images), cmap="gray", vmin=0, vmax=1, aspect="auto", interpolation="nearest")
        axes.set_axis_off()
    return as_png(figure, paper)


def singular_values_picture(
    spectra: Mapping[str, Array], *, threshold: float, ink: str = "#1c1f24", paper: str | None = None
) -> bytes:
    """Singular values relative to the first, with the threshold of the rank rule as a line."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, 3.4), layout="constrained")
    axes = figure.add_subplot(facecolor="none")
    for (name, values), color in zip(spectra.items(), COLORS, strict=False):
        relative = values / values[0]
        index = 1 + np.flatnonzero(relative > 1e-3)  # smaller ones are rounding errors
        style = "--" if name == "clean" else "-"
        axes.semilogy(index, relative[index - 1], style, color=color, lw=1.8, label=name)
    axes.axhline(threshold, color=ink, lw=0.8, ls=":")
    rule = f"rank rule: {threshold:g} of the first"
    axes.text(1, threshold * 1.04, rule, color=ink, fontsize=8, va="bottom")
    axes.set(ylim=(0.02, 1.1), xlabel="index", ylabel="singular value / first")
    axes.set_yticks([0.02, 0.05, 0.1, 0.2, 0.5, 1], labels=["0.02", "0.05", "0.1", "0.2", "0.5", "1"])
    axes.minorticks_off()
    axes.legend(frameon=False, labelcolor=ink, fontsize=9, loc="lower left", ncols=2)
    draw_in_ink(axes, ink)
    return as_png(figure, paper)


def _strip(images: Array) -> Array:
    """Images side by side, with a transparent (NaN) border."""
    padded = np.pad(np.asarray(images, dtype=float), ((0, 0), (1, 1), (1, 1)), constant_values=np.nan)
    return np.concatenate(list(padded), axis=1)


def draw_in_ink(axes: Any, ink: str) -> None:
    """Draw text, ticks and the left and bottom axes in one color."""
    axes.tick_params(which="both", colors=ink, labelsize=9)
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(ink)
    for label in (axes.xaxis.label, axes.yaxis.label):
        label.set(color=ink, fontsize=9)


def as_png(figure: Any, paper: str | None = None, dpi: int = DPI) -> bytes:
    """PNG of a figure; ``paper`` is the color of its background, None for transparent."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    FigureCanvasAgg(figure)
    buffer = BytesIO()
    figure.savefig(buffer, format="png", dpi=dpi, facecolor=paper or "none", metadata={"Software": None})
    return buffer.getvalue()
