"""The page of a demo run."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .._typing import Array
from .page import DARK_INK, LIGHT_INK, as_png, data_uri, draw_in_ink, render

WIDTH = 5.5  # inches; labels stay legible on a phone
NAMES_SHARE = 0.21  # of the width, left of the images
COLORS = ("#8a8f98", "#d1495b", "#edae49", "#00798c", "#9b72cf", "#2e8b57")


def render_demo(
    record: Mapping[str, Any], *, summary: str, ranks: Mapping[str, int], images: Mapping[str, Array],
    spectra: Mapping[str, Array], rank_threshold: float,
) -> str:  # fmt: skip
    """Render the page of a demo run as HTML.

    ``record`` has scores and graphs (a dictionary each), stage_seconds of each model, parameters, versions and command.
    ``ranks`` are those of the rank rule, ``images`` are (n_images, height, width) in [0, 1], ``spectra`` decreasing
    singular values; ``rank_threshold`` is relative to the first of them.
    """
    stages = record["stage_seconds"]
    return render(
        "demo.html", title="Corrupted digits, recovered and clustered", summary=[summary], ranks=ranks,
        rank=record["parameters"]["rank"], scores=record["scores"], graphs=record["graphs"], stages=stages,
        command=record["command"], versions={**record["parameters"], **record["versions"]}, systems=list(images),
        stage_names=list(dict.fromkeys(name for seconds in stages.values() for name in seconds)),
        digits=_in_both_inks(lambda ink: _draw_digits(images, ink)),
        spectra=_in_both_inks(lambda ink: _draw_spectra(spectra, rank_threshold, ink)),
    )  # fmt: skip


def _in_both_inks(draw: Callable[[str], Any]) -> dict[str, str]:
    """Return the data URIs of a figure drawn for the light and for the dark color scheme."""
    inks = {"light": LIGHT_INK, "dark": DARK_INK}
    return {scheme: data_uri(as_png(draw(ink))) for scheme, ink in inks.items()}


def _draw_digits(rows: Mapping[str, Array], ink: str) -> Any:
    """Rows of small images, each with its name at the left."""
    from matplotlib.figure import Figure

    cell = WIDTH * (1 - NAMES_SHARE) / max(len(images) for images in rows.values())
    figure = Figure(figsize=(WIDTH, cell * len(rows)))
    for row, (name, images) in enumerate(rows.items()):
        bottom = 1 - (row + 1) / len(rows)
        middle = bottom + 0.5 / len(rows)
        figure.text(NAMES_SHARE - 0.015, middle, name, ha="right", va="center", color=ink, fontsize=9)
        axes = figure.add_axes((NAMES_SHARE, bottom, 1 - NAMES_SHARE, 1 / len(rows)))
        padded = np.pad(np.asarray(images, dtype=float), ((0, 0), (1, 1), (1, 1)), constant_values=np.nan)
        strip = np.concatenate(list(padded), axis=1)  # NaN is transparent
        axes.imshow(strip, cmap="gray", vmin=0, vmax=1, aspect="auto", interpolation="nearest")
        axes.set_axis_off()
    return figure


def _draw_spectra(spectra: Mapping[str, Array], threshold: float, ink: str) -> Any:
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
    return figure
