"""What the displays share: axes, colors, the import of matplotlib."""

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..report.drawing import color

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, ORANGE, GREEN, GRAY = "#0072b2", "#d55e00", "#009e73", "#6b7077"  # Okabe and Ito; gray for guides
SEQUENTIAL = "cividis"  # readable by everyone, and in print


class Display:
    """A plot that can be drawn again; subclasses hold the numbers and draw them in ``_draw``."""

    ax_: Any
    figure_: "Figure"

    def plot(self, ax: "Axes | None" = None) -> Self:
        """Draw on axes, or on a new figure, and return the display.

        Parameters
        ----------
        ax : matplotlib Axes or None, default=None
            Axes to draw on.
        """
        self.ax_ = new_axes() if ax is None else ax
        self.figure_ = self.ax_.figure
        self._draw(self.ax_)
        return self

    def _draw(self, ax: "Axes") -> None:
        raise NotImplementedError


def check_model(model: Any, *attributes: str) -> None:
    """Raise unless a model is fitted and has what a display draws."""
    check_is_fitted(model)
    for name in attributes:
        if getattr(model, name, None) is None:
            raise ValueError(f"{type(model).__name__} has no {name}, which this plot needs.")


def check_data(X: Any, model: Any, what: str = "X must be the data of the fit, of shape") -> None:
    """Raise ValueError unless data have the shape of the recovered matrix of a model."""
    shape = tuple(map(int, model.low_rank_.shape))
    if tuple(np.shape(X)) != shape:
        raise ValueError(f"{what} {shape}; got {np.shape(X)}.")


def new_axes() -> "Axes":
    """Return axes of a new figure."""
    axes: Axes = pyplot().subplots(layout="constrained")[1]
    return axes


def pyplot() -> Any:
    """Import matplotlib.pyplot, or raise ImportError with the extra that has it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("Plots need matplotlib: pip install graphlowrank[plots]") from error
    return plt


def rgb(label: int, n: int) -> tuple[float, float, float]:
    """Color of a cluster as matplotlib reads it; the same as on pages."""
    text = color(label, n)
    if text.startswith("#"):
        from matplotlib.colors import to_rgb

        return to_rgb(text)
    from colorsys import hls_to_rgb

    hue, saturation, lightness = (float(part.strip("hsl(%)")) for part in text.split())
    return hls_to_rgb(hue / 360, lightness / 100, saturation / 100)


def open_frame(ax: "Axes") -> None:
    """Leave out the upper and the right side of the frame."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


def count_axis(ax: "Axes") -> None:
    """Label the x axis at whole numbers only."""
    from matplotlib.ticker import MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator(integer=True))


def plain(text: str) -> str:
    """Return text that matplotlib does not read as a formula."""
    return text.replace("$", r"\$")
