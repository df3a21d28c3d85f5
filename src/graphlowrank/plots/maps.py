"""Samples in a plane."""

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from .._typing import Array, MatrixLike
from ..clustering.plane import first_two
from ..estimators.described import default_places
from ..preprocessing.counts import dense
from ..preprocessing.principal import principal_scores
from ..report.drawing import MAX_NUMBERS, largest, number_place
from ._axes import SEQUENTIAL, Display, check_model, plain, pyplot, rgb

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_POINTS = 20_000  # more are shaded by density
SMALL = 0.03  # radius of a cluster, as a share of the side of the map
ROOM = (0.02, 0.04)  # for a letter of a number, as shares of the side
SIDE = 700  # cells along an axis of the shade
ENDS = (0.1, 99.9)  # percentiles of the coordinates that are shaded


class MapDisplay(Display):
    """Samples in a plane, as points, or shaded by density if there are more than 20000.

    Parameters
    ----------
    positions : array-like of shape (n_samples, 2)
        Places of the samples.
    values : array-like of shape (n_samples,) or None, default=None
        Labels, as numbers or text, or values by which they are colored; a value of NaN is gray.
    name : str, default=""
        Name of the values.
    categorical : bool, default=False
        Whether values are labels.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
        Of matplotlib.
    """

    def __init__(
        self, positions: ArrayLike, values: ArrayLike | None = None, *, name: str = "", categorical: bool = False
    ) -> None:
        self.positions, self.name, self.categorical = np.asarray(positions, dtype=np.float64), name, categorical
        self.values = None if values is None else np.asarray(values)
        n = len(self.positions)
        if self.positions.shape != (n, 2) or (self.values is not None and self.values.shape != (n,)):
            raise ValueError("positions must have two columns, and values one entry for each row of positions.")
        if not np.isfinite(self.positions).all():
            raise ValueError("positions must be finite.")

        self._names: Array | None = None  # of labels that do not count from 0
        if self.values is not None and categorical and not _count_from_zero(self.values):
            self._names, self.values = np.unique(self.values.astype(str), return_inverse=True)

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: MatrixLike | None = None,
        *,
        color: str | int | ArrayLike | None = "cluster",
        layout: ArrayLike | None = None,
        ax: "Axes | None" = None,
    ) -> Self:
        """Draw the samples of a clustering or of an embedding.

        Parameters
        ----------
        model : CompressiveClustering or CompressiveEmbedding, fitted
            The map of an embedding is its own, that of a clustering is laid out on its sample graph.
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or None, default=None
            Data, to color by a feature; None for the scaled data that the model keeps.
        color : {"cluster", "confidence"}, name or number of a feature, array-like of shape (n_samples,), or None
            By what to color; "cluster" draws an embedding in one color.
        layout : array-like of shape (n_samples, 2) or None, default=None
            Places of the samples; ``CompressiveEmbedding.embedding_``, for instance.
        ax : matplotlib Axes or None, default=None
            Axes to draw on.
        """
        check_is_fitted(model)
        if layout is None and getattr(model, "embedding_", None) is None:
            check_model(model, "points_", "n_clusters_", "labels_")
        values, name, categorical = _coloring(model, X, color)
        if layout is None:
            layout = getattr(model, "embedding_", None)
        if layout is None:
            layout, _ = default_places(model, principal_scores(model.points_, model.n_clusters_)[0])
        return cls(first_two(np.asarray(layout)), values, name=name, categorical=categorical).plot(ax)

    def _draw(self, ax: "Axes") -> None:
        if len(self.positions) <= MAX_POINTS:
            self._points(ax)
        else:
            self._shade(ax)
        if self.categorical and self.values is not None:
            self._numbers(ax)
        elif self.values is not None:
            from matplotlib.cm import ScalarMappable

            self.figure_.colorbar(ScalarMappable(self._norm(), SEQUENTIAL), ax=ax, label=plain(self.name), shrink=0.8)
        ax.set(aspect="equal", xticks=[], yticks=[])
        n_clusters = "" if not self.categorical or self.values is None else f", {len(np.unique(self.values))} clusters"
        ax.set_title(f"{len(self.positions)} samples{n_clusters}", fontsize="medium")

    def _colors(self, values: Array | None) -> Array:
        """Colors (n, 3) of values."""
        if values is None:
            return np.tile(rgb(0, 1), (len(self.positions), 1))
        if self.categorical:
            palette = np.array([rgb(label, int(values.max()) + 1) for label in range(int(values.max()) + 1)])
            return palette[values.astype(np.intp)]
        colors = pyplot().get_cmap(SEQUENTIAL)(self._norm()(np.nan_to_num(values)))[:, :3]
        return np.where(np.isfinite(values)[:, None], colors, 0.6)

    def _norm(self) -> Any:
        from matplotlib.colors import Normalize

        assert self.values is not None
        known = self.values[np.isfinite(self.values)]
        low, high = np.percentile(known, (1, 99)) if len(known) else (0.0, 1.0)
        return Normalize(low, high if high > low else low + 1, clip=True)

    def _points(self, ax: "Axes") -> None:
        order = np.random.RandomState(0).permutation(len(self.positions))  # no cluster covers the others
        size = float(np.clip(8000 / len(order), 1.5, 18))
        x, y = self.positions[order].T
        ax.scatter(
            x, y, c=self._colors(self.values)[order], s=size, linewidths=0, alpha=0.85,
            rasterized=True,
        )  # fmt: skip

    def _shade(self, ax: "Axes") -> None:
        """Mean color of the samples in each cell, as opaque as they are many."""
        low, high = np.percentile(self.positions, ENDS, axis=0)
        margin = 0.03 * (high - low).max()
        low, high = low - margin, high + margin
        cell = (high - low).max() / SIDE
        width, height = np.maximum(np.ceil((high - low) / cell).astype(int), 1)
        column, row = np.floor((self.positions - low) / cell).astype(int).T
        inside = (column >= 0) & (column < width) & (row >= 0) & (row < height)
        at, colors = (row * width + column)[inside], self._colors(self.values)[inside]
        counts = np.bincount(at, minlength=width * height)
        sums = [np.bincount(at, weights=channel, minlength=width * height) for channel in colors.T]
        alpha = np.log1p(counts) / np.log1p(max(counts.max(), 1))
        image = np.stack(
            [*(part / np.maximum(counts, 1) for part in sums), np.where(counts > 0, 0.25 + 0.75 * alpha, 0)]
        )
        box = (low[0], low[0] + width * cell, low[1], low[1] + height * cell)
        ax.imshow(
            image.reshape(4, height, width).transpose(1, 2, 0), origin="lower", extent=box, interpolation="nearest"
        )

    def _numbers(self, ax: "Axes") -> None:
        from matplotlib.patheffects import withStroke

        assert self.values is not None
        side = float(np.ptp(self.positions, axis=0).max()) or 1.0
        taken: list[Array] = []
        for label in largest(self.values, MAX_NUMBERS):
            text = str(label) if self._names is None else plain(self._names[label])
            x, y, radius = number_place(self.positions[self.values == label])
            small = radius < SMALL * side  # the number is above clusters that it would cover
            at = np.array([x, y + radius if small else y])
            if any(np.all(np.abs(at - other) < (ROOM[0] * len(text) * side, ROOM[1] * side)) for other in taken):
                continue
            taken.append(at)
            ax.annotate(
                text, (at[0], at[1]), (0, 4 if small else 0), textcoords="offset points", ha="center",
                va="bottom" if small else "center", weight="bold", clip_on=True,
                path_effects=[withStroke(linewidth=3, foreground="white")],
            )  # fmt: skip


def _count_from_zero(labels: Array) -> bool:
    return labels.dtype.kind in "iu" and labels.min(initial=0) >= 0 and labels.max(initial=0) < max(len(labels), 1)


def _coloring(
    model: Any, X: MatrixLike | None, color: str | int | ArrayLike | None
) -> tuple[Array | None, str, bool]:  # fmt: skip
    """Values to color by, their name, and whether they are labels."""
    if color is None or (isinstance(color, str) and color == "cluster"):
        labels = None if color is None else getattr(model, "labels_", None)
        return labels, "cluster", labels is not None
    if isinstance(color, str) and color == "confidence":
        check_model(model, "confidence_")
        return np.asarray(model.confidence_), "confidence", False
    if not isinstance(color, (str, int, np.integer)):
        values = np.asarray(color)
        return values, "", values.dtype.kind not in "fc"
    names = list(getattr(X, "columns", getattr(model, "feature_names_in_", [])))
    if isinstance(color, str) and color not in names:
        raise ValueError(f"color must be 'cluster', 'confidence', a feature or values; there is no feature {color!r}.")
    column = names.index(color) if isinstance(color, str) else int(color)
    if not 0 <= column < model.n_features_in_:
        raise ValueError(f"color must be a feature from 0 to {model.n_features_in_ - 1}; got {column}.")
    data: Any = model.points_ if X is None else X if sp.issparse(X) else np.asarray(X)
    if X is None and not isinstance(data, np.ndarray):
        values = data.block(np.array([column])).ravel()
    else:
        values = np.asarray(dense(data[:, [column]]), dtype=np.float64).ravel()
    return values, str(names[column]) if names else f"feature {column}", False
