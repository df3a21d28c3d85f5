"""Figures of the page; which ones are drawn depends on the values and pictures of the cells. No pyplot is used."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import cycle
from textwrap import fill
from typing import Any, Literal

import numpy as np

from ..cells import NOT_RUN, Cell
from ..internals import Array
from ..tables import slope, slope_text
from .clustering import TITLES
from .panels import Outcomes, Panel, Square, is_own

Style = Literal["solid", "dashed", "dotted"]
STYLES: tuple[Style, ...] = ("solid", "dashed", "dotted")
Size = tuple[float, float]
NARROW, WIDE, CUBE = (3.6, 2.6), (4.6, 3.0), (3.0, 2.8)  # inches: labels stay legible on a phone
DPI = 160
LIGHT_INK, DARK_INK = "#1c1f24", "#e6e8eb"  # text colors of the two color schemes
COLORS = ("#1a93a6", "#d1495b", "#e09f3e", "#9b72cf", "#3f9b63", "#8a8f98")  # visible on white and on near black
MAX_IMAGE_WIDTH = 320  # pixels
MIN_JPEG_WIDTH = 96  # smaller images are kept sharp, as PNG
LINES: dict[Style, Callable[[Square], float | None]] = {
    "solid": lambda square: square.mean,
    "dashed": lambda square: square.paper,
    "dotted": lambda square: square.default_mean,
}
LINE_NAMES: dict[Style, str] = {"solid": "ours", "dashed": "the paper's", "dotted": "ours, default parameters"}


@dataclass(frozen=True, eq=False)
class Picture:
    """A PNG or JPEG for light pages, and one for dark pages if they differ."""

    title: str
    alt: str
    light: bytes
    dark: bytes | None = None


@dataclass(frozen=True)
class Key:
    """Entry of a legend; without a color it has that of the text."""

    label: str
    mark: Style | Literal["box", "diamond", "patch"]
    color: str = ""


@dataclass(frozen=True, eq=False)
class Figure:
    """Pictures that belong together, side by side where there is room."""

    caption: str
    pictures: tuple[Picture, ...]
    keys: tuple[Key, ...] = ()  # legend, which is HTML so that it does not shrink with the pictures
    layout: Literal["charts", "cubes", "strip"] = "charts"  # "cubes" are points in space, "strip" are images


@dataclass(frozen=True)
class Line:
    """One line of a chart."""

    name: str
    color: str
    style: Style
    x: tuple[float, ...]
    y: tuple[float, ...]


def figures_of(panels: Sequence[Panel], cells: Sequence[Cell], outcomes: Outcomes) -> list[Figure]:
    """Every figure of one experiment."""
    found: list[Figure | None] = []
    for panel in panels:
        found += [noise_figure(panel), runs_figure(panel), downsampling_figure(panel)]
    found += [growth_figure(cells, outcomes), points_figure(cells, outcomes), *image_figures(cells, outcomes)]
    return [figure for figure in found if figure is not None]


def noise_figure(panel: Panel) -> Figure | None:
    """Error of FRPCAG and CPCA against the percent of noise, a chart for each kind of noise with several levels."""
    if not _is_error(panel) or _has_runs(panel):
        return None
    rows = _colored(row for (row, _), square in panel.squares.items() if is_own(square.cells[0]))
    found: dict[str, dict[str, list[tuple[float, Square]]]] = {}
    for (row, _), square in panel.squares.items():
        noise = square.cells[0].content.get("noise")
        if row in rows and isinstance(noise, list):  # a single number has no kind
            kind, percent = noise
            found.setdefault(kind, {}).setdefault(row, []).append((percent, square))
    clean = found.pop("none", {})
    charts: dict[str, list[Line]] = {}
    for kind, places in found.items():
        if max(map(len, places.values())) > 1:
            at = {row: [*clean.get(row, ()), *levels] for row, levels in places.items()}
            charts[f"{TITLES.get(kind, kind)} noise"] = _lines(at, rows)
    return _line_figure(charts, rows, f"{panel.measure.title} against noise", "percent of noise", panel.measure.title)


def downsampling_figure(panel: Panel) -> Figure | None:
    """Error against the downsampling of the samples, a line for each row."""
    if not _is_error(panel):
        return None
    at: dict[str, list[tuple[float, Square]]] = {}
    for (row, _), square in panel.squares.items():
        factors = square.cells[0].content.get("with", {}).get("downsampling")
        if factors:
            at.setdefault(row, []).append((factors[0], square))
    at = {row: points for row, points in at.items() if len({factor for factor, _ in points}) > 1}
    rows = _colored(at)
    caption = f"{panel.measure.title} against downsampling"
    return _line_figure({"": _lines(at, rows)}, rows, caption, "times fewer samples", panel.measure.title)


def runs_figure(panel: Panel) -> Figure | None:
    """Box plots of squares that were measured several times, the paper's mean as a diamond."""
    if not _has_runs(panel):
        return None
    pictures = []
    for row in panel.rows:
        there = {column: square for (name, column), square in panel.squares.items() if name == row}
        squares = {column: square for column, square in there.items() if len(square.ours) > 1}
        if squares:
            text = "; ".join(f"{column} {min(one.ours):.3g} to {max(one.ours):.3g}" for column, one in squares.items())
            alt = f"Box plots of the {panel.measure.title} of {row} over its runs. {text}."
            pictures.append(_in_both_inks(row, alt, _draw_boxes, squares, panel.measure.title))
    keys = [Key("ours", "box", COLORS[0])]
    if any(len(square.default) > 1 for square in panel.squares.values()):
        keys.append(Key("ours, default parameters", "box", COLORS[-1]))
    if panel.has_paper:
        keys.append(Key("the paper's mean", "diamond", COLORS[1]))
    return Figure(f"{panel.measure.title} over the runs", tuple(pictures), tuple(keys))


def growth_figure(cells: Sequence[Cell], outcomes: Outcomes) -> Figure | None:
    """Seconds against size on logarithmic scales, for cells that hold lists of both; the fitted slope in the legend."""
    lines: list[Line] = []
    for name, cell in _named(cells).items():
        values = outcomes.get(cell.key, NOT_RUN).values
        sizes, seconds = values.get("sizes"), values.get("seconds")
        if isinstance(sizes, list) and isinstance(seconds, list):
            pairs = [(n, s) for n, s in zip(sizes, seconds, strict=False) if n and s and s > 0]
            if len({n for n, _ in pairs}) > 1:
                xs, ys = zip(*pairs, strict=True)
                again, place = divmod(len(lines), len(COLORS))  # colors are reused with other styles
                label = f"{name}: slope {slope_text(slope(xs, ys))}"
                lines.append(Line(label, COLORS[place], STYLES[again % len(STYLES)], xs, ys))
    if not lines:
        return None
    keys = [Key(line.name, line.style, line.color) for line in lines]
    alt = f"Seconds against size, both on logarithmic scales. {'; '.join(key.label for key in keys)}."
    picture = _in_both_inks("", alt, _draw_lines, lines, WIDE, "size", "seconds")
    return Figure("Seconds against size, with the slope of a line fitted in logarithms", (picture,), tuple(keys))


def points_figure(cells: Sequence[Cell], outcomes: Outcomes) -> Figure | None:
    """Points in space, a chart for each cell that holds some, all with the same limits."""
    clouds: dict[str, tuple[Array, Array]] = {}
    for name, cell in _named(cells).items():
        pictures = outcomes.get(cell.key, NOT_RUN).pictures
        points = _in_space(pictures.get("points"))
        if len(points):
            clouds[name] = points, _in_space(pictures.get("truth"))
    if not clouds:
        return None
    every = np.concatenate([part for both in clouds.values() for part in both])
    middle, half = (every.max(axis=0) + every.min(axis=0)) / 2, np.ptp(every, axis=0).max() / 2 or 1.0
    drawn = [
        _in_both_inks(name, f"{len(points)} points in space: {name}", _draw_points, points, truth, middle, half)
        for name, (points, truth) in clouds.items()
    ]
    keys = (Key("truth", "solid"),) if any(len(truth) for _, truth in clouds.values()) else ()
    return Figure("The points in space, on the same axes", tuple(drawn), keys, "cubes")


def _in_space(points: Array | None) -> Array:
    """Finite points of three coordinates."""
    if points is None or points.ndim != 2 or points.shape[1] != 3:
        return np.empty((0, 3))
    return points[np.isfinite(points).all(axis=1)].astype(float)


def image_figures(cells: Sequence[Cell], outcomes: Outcomes) -> list[Figure]:
    """For each row, its frame and the images of each column."""
    rows: dict[str, dict[str, dict[str, Array]]] = {}
    for cell in cells:
        pictures = outcomes.get(cell.key, NOT_RUN).pictures
        images = {name: picture for name, picture in pictures.items() if _is_image(picture)}
        if images:
            rows.setdefault(cell.row, {}).setdefault(cell.column, images)
    found = []
    for row, columns in _turned(rows).items():
        frame = next((images["frame"] for images in columns.values() if "frame" in images), None)
        first = [] if frame is None else [Picture("frame", f"{row}, the frame", _encoded(frame))]
        for name in dict.fromkeys(name for images in columns.values() for name in images if name != "frame"):
            made = {column: images[name] for column, images in columns.items() if name in images}
            rest = [Picture(column, f"{row}, {name} by {column}", _encoded(image)) for column, image in made.items()]
            found.append(Figure(f"{row}: {name}", (*first, *rest), layout="strip"))
    return found


def _turned(rows: dict[str, dict[str, dict[str, Array]]]) -> dict[str, dict[str, dict[str, Array]]]:
    """Exchange rows and columns where there is one column and one frame: one strip for all rows."""
    columns = {column for there in rows.values() for column in there}
    frames = [images.get("frame", np.empty(0)) for there in rows.values() for images in there.values()]
    if len(rows) < 2 or len(columns) > 1 or not all(np.array_equal(frame, frames[0]) for frame in frames):
        return rows
    return {columns.pop(): {row: next(iter(there.values())) for row, there in rows.items()}}


def _is_image(picture: Array) -> bool:
    return picture.dtype == np.uint8 and picture.size > 0 and (picture.ndim == 2 or picture.shape[2:] == (3,))


def _is_error(panel: Panel) -> bool:
    return panel.measure.compare == "error" and panel.has_paper


def _has_runs(panel: Panel) -> bool:
    return any(len(square.ours) > 1 for square in panel.squares.values())


def _colored(names: Iterable[str]) -> dict[str, str]:
    """Color of each name."""
    return dict(zip(dict.fromkeys(names), cycle(COLORS), strict=False))


def _named(cells: Sequence[Cell]) -> dict[str, Cell]:
    """First cell of each place, named by row, column, or both where both differ."""
    rows, columns = ({getattr(cell, side) for cell in cells} for side in ("row", "column"))
    named: dict[str, Cell] = {}
    for cell in cells:
        name = cell.column if len(rows) == 1 else cell.row if len(columns) == 1 else f"{cell.row}, {cell.column}"
        named.setdefault(name, cell)
    return named


def _lines(at: Mapping[str, Sequence[tuple[float, Square]]], colors: Mapping[str, str]) -> list[Line]:
    """Lines of ours, the paper's and the default for each row with at least two points."""
    lines = []
    for row, points in at.items():
        for style, value in LINES.items():
            known = sorted((x, y) for x, square in points if (y := value(square)) is not None)
            if len(known) > 1:
                xs, ys = zip(*known, strict=True)
                lines.append(Line(f"{row}, {LINE_NAMES[style]}", colors[row], style, xs, ys))
    return lines


def _line_figure(
    charts: Mapping[str, Sequence[Line]], colors: Mapping[str, str], caption: str, xlabel: str, ylabel: str
) -> Figure | None:
    """Charts that have a line of ours, all with the same limits."""
    charts = {title: chart for title, chart in charts.items() if any(line.style == "solid" for line in chart)}
    lines = [line for chart in charts.values() for line in chart]
    if not lines:
        return None
    heights = [y for line in lines for y in line.y]
    margin = 0.06 * (max(heights) - min(heights)) or 0.01
    limits = max(0.0, min(heights) - margin), max(heights) + margin
    pictures = []
    for title, chart in charts.items():
        text = "; ".join(f"{line.name} {line.y[0]:.3g} to {line.y[-1]:.3g}" for line in chart)
        about = ", ".join(filter(None, (f"{ylabel} against {xlabel}", title)))
        given = chart, NARROW if len(charts) > 1 else WIDE, xlabel, ylabel, limits
        pictures.append(_in_both_inks(title, f"{about}. {text}.", _draw_lines, *given))
    drawn, styles = {line.color for line in lines}, {line.style for line in lines}
    keys = [Key(row, "patch", color) for row, color in colors.items() if color in drawn]
    keys += [Key(name, style) for style, name in LINE_NAMES.items() if style in styles]
    return Figure(caption, tuple(pictures), tuple(keys))


def _in_both_inks(title: str, alt: str, draw: Callable[..., bytes], *given: Any) -> Picture:
    return Picture(title, alt, draw(*given, ink=LIGHT_INK), draw(*given, ink=DARK_INK))


def _draw_lines(
    lines: Sequence[Line], size: Size, xlabel: str, ylabel: str, limits: tuple[float, float] | None = None, *, ink: str
) -> bytes:
    """Draw lines; on logarithmic scales if there are no limits."""
    figure, axes = _axes(size, ink)
    for line in lines:
        marker = "o" if line.style == "solid" else ""
        axes.plot(line.x, line.y, marker=marker, ls=line.style, color=line.color, lw=1.6, ms=3.5)
    if limits is None:
        axes.set(xscale="log", yscale="log")
    else:
        axes.set_xticks(sorted({x for line in lines for x in line.x}))
        axes.set_ylim(limits)
    axes.set(xlabel=xlabel, ylabel=ylabel)
    return _as_png(figure)


def _draw_boxes(squares: Mapping[str, Square], ylabel: str, *, ink: str) -> bytes:
    figure, axes = _axes(WIDE, ink)
    for i, square in enumerate(squares.values()):
        both = len(square.default) > 1
        _box(axes, square.ours, i - 0.18 * both, COLORS[0])
        if both:
            _box(axes, square.default, i + 0.18, COLORS[-1])
        if square.paper is not None:
            axes.plot([i - 0.18 * both], [square.paper], "D", color=COLORS[1], ms=5, zorder=3)
    labels = [fill(column.replace(" %", "\u00a0%"), 10) for column in squares]
    axes.set_xticks(range(len(squares)), labels=labels, parse_math=False)
    axes.set(ylabel=ylabel, xlim=(-0.6, len(squares) - 0.4))
    return _as_png(figure)


def _box(axes: Any, values: Sequence[float], place: float, color: str) -> None:
    line = {"color": color, "linewidth": 1.4}
    axes.boxplot(
        [list(values)], positions=[place], widths=0.28, boxprops=line, whiskerprops=line, capprops=line,
        medianprops=line, flierprops={"marker": ".", "markeredgecolor": color},
    )  # fmt: skip


def _draw_points(points: Array, truth: Array, middle: Array, half: float, *, ink: str) -> bytes:
    from matplotlib.figure import Figure as Canvas

    figure = Canvas(figsize=CUBE)
    axes: Any = figure.add_axes((0, 0, 1, 1), projection="3d", facecolor="none")
    axes.scatter(*points.T, s=6, color=COLORS[0], linewidths=0)
    axes.scatter(*truth.T, s=0.4, color=ink, linewidths=0, depthshade=False)
    for side, center in zip("xyz", middle, strict=True):
        getattr(axes, f"set_{side}lim")(center - half, center + half)
        axis = getattr(axes, f"{side}axis")
        axis.set_pane_color((0.5, 0.5, 0.5, 0.1))
        axis.line.set_color(ink)
        axis.set_ticks([center - half, center, center + half], labels=[])
    axes.grid(visible=False)
    axes.set_box_aspect((1, 1, 1), zoom=1.05)
    axes.tick_params(colors=ink)
    return _as_png(figure)


def _axes(size: Size, ink: str) -> tuple[Any, Any]:
    from matplotlib.figure import Figure as Canvas

    figure = Canvas(figsize=size, layout="constrained")
    axes = figure.add_subplot(facecolor="none")
    axes.tick_params(which="both", colors=ink, labelsize=9)
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(ink)
    for label in (axes.xaxis.label, axes.yaxis.label):
        label.set(color=ink, fontsize=9)
    return figure, axes


def _as_png(figure: Any) -> bytes:
    buffer = BytesIO()
    figure.savefig(buffer, format="png", dpi=DPI, facecolor="none", metadata={"Software": None})
    return buffer.getvalue()


def _encoded(picture: Array) -> bytes:
    """Encoded image, reduced to the width of the page."""
    from PIL import Image

    image = Image.fromarray(np.ascontiguousarray(picture))
    if image.width > MAX_IMAGE_WIDTH:
        image = image.resize((MAX_IMAGE_WIDTH, max(1, round(image.height * MAX_IMAGE_WIDTH / image.width))))
    buffer = BytesIO()
    if image.width < MIN_JPEG_WIDTH:
        image.save(buffer, format="PNG")
    else:
        image.save(buffer, format="JPEG", quality=85)
    return buffer.getvalue()
