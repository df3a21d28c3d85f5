"""Pictures, missing values, and errors of decoding."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from .._checks import without_mask
from .._typing import Array, MatrixLike, RandomState
from ..guarantees import DecodingErrors, decoding_errors
from ..linalg.blocks import evenly_spaced
from ._axes import BLUE, ORANGE, SEQUENTIAL, Display, check_data, check_model, open_frame, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

N_PICTURES = 8
MAX_CELLS = (600, 400)  # samples and features of the pattern; of more, the share of missing values in a cell is shown
MAX_NAMES = 40  # of features beside the pattern


class PicturesDisplay(Display):
    """Rows of pictures on one gray scale: clean, corrupted, recovered.

    Parameters
    ----------
    rows : mapping of str to array-like of shape (n_pictures, height, width)
        Pictures by name.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
        Of matplotlib.
    """

    def __init__(self, rows: Mapping[str, ArrayLike]) -> None:
        self.rows = {name: np.asarray(images, dtype=np.float64) for name, images in rows.items()}
        if len({images.shape for images in self.rows.values()}) != 1:
            raise ValueError("rows must have equally many pictures of one size.")

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: MatrixLike,
        *,
        image_shape: tuple[int, int],
        clean: MatrixLike | None = None,
        samples: Sequence[int] | None = None,
        ax: "Axes | None" = None,
    ) -> Self:
        """Draw some samples as they were given and as they were recovered.

        Parameters
        ----------
        model : CompressivePCA, or another model with ``low_rank_``
            Fitted.
        X : array-like of shape (n_samples, n_features)
            The data of the fit.
        image_shape : (int, int)
            Height and width of a picture.
        clean : array-like of shape (n_samples, n_features) or None, default=None
            The data before they were corrupted, if they are known.
        samples : sequence of int or None, default=None
            Samples to draw; None for eight at equal distances.
        ax : matplotlib Axes or None, default=None
            Axes to draw on.
        """
        check_model(model, "low_rank_")
        data = np.asarray(without_mask(X))
        check_data(data, model)
        if clean is not None:
            check_data(clean, model, "clean must have the shape")
        if np.shape(image_shape) != (2,) or np.prod(image_shape) != data.shape[1]:
            raise ValueError(
                f"image_shape must be a height and a width of {data.shape[1]} pixels in all; got {image_shape}."
            )
        at = evenly_spaced(len(data), N_PICTURES) if samples is None else np.asarray(samples)
        rows = {} if clean is None else {"clean": np.asarray(clean)[at]}
        rows |= {"given": data[at], "recovered": np.asarray(model.low_rank_[at])}
        shaped = {name: images.reshape(len(at), *image_shape) for name, images in rows.items()}
        return cls(shaped).plot(ax)

    def _draw(self, ax: "Axes") -> None:
        n, height, width = next(iter(self.rows.values())).shape
        gap = max(1, round(0.06 * max(height, width)))
        low, high = (float(np.nanpercentile(np.stack([*self.rows.values()]), end)) for end in (0.5, 99.5))
        canvas = np.full((len(self.rows) * (height + gap) - gap, n * (width + gap) - gap), np.nan)
        for i, images in enumerate(self.rows.values()):
            for j, image in enumerate(images):
                top, left = i * (height + gap), j * (width + gap)
                canvas[top : top + height, left : left + width] = image
        ax.imshow(canvas, cmap="gray", vmin=low, vmax=high, interpolation="nearest")
        middles = [i * (height + gap) + height / 2 for i in range(len(self.rows))]
        ax.set_yticks(middles, [plain(name) for name in self.rows])
        ax.set_xticks([])
        ax.tick_params(length=0)
        ax.set_frame_on(False)


class MissingValuesDisplay(Display):
    """Where values are missing, samples by features; of large tables, their share in cells.

    Parameters
    ----------
    shares : array-like of shape (n_rows, n_columns)
        Share of missing values in each cell.
    shape : (int, int)
        Numbers of samples and of features.
    feature_names : sequence of str or None, default=None
        Names, if each column is a feature.
    missing : int, default=0
        Number of missing values.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
        Of matplotlib.
    """

    def __init__(
        self, shares: ArrayLike, shape: tuple[int, int], *, feature_names: Sequence[str] | None = None, missing: int = 0
    ) -> None:
        self.shares, self.shape, self.feature_names = np.asarray(shares), shape, feature_names
        self.missing = missing

    @classmethod
    def from_data(cls, X: ArrayLike, *, feature_names: Sequence[str] | None = None, ax: "Axes | None" = None) -> Self:
        """Draw where a table is NaN.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Data; a data frame has its own names.
        feature_names : sequence of str or None, default=None
            Names.
        ax : matplotlib Axes or None, default=None
            Axes to draw on.
        """
        names: Any = getattr(X, "columns", feature_names)
        missing = np.isnan(np.asarray(X, dtype=np.float64))
        shares = missing_shares(missing)
        whole = shares.shape[1] == missing.shape[1] and names is not None and len(names) <= MAX_NAMES
        names = [str(name) for name in names] if whole else None
        return cls(shares, missing.shape, feature_names=names, missing=int(missing.sum())).plot(ax)

    @classmethod
    def from_estimator(cls, model: Any, X: ArrayLike, *, ax: "Axes | None" = None) -> Self:
        """Draw where the data of a fitted model are NaN.

        Parameters
        ----------
        model : estimator
            Fitted; its feature names are used.
        X : array-like of shape (n_samples, n_features)
            The data of the fit.
        ax : matplotlib Axes or None, default=None
            Axes to draw on.
        """
        check_is_fitted(model)
        return cls.from_data(X, feature_names=getattr(model, "feature_names_in_", None), ax=ax)

    def _draw(self, ax: "Axes") -> None:
        n_samples, n_features = self.shape
        box = (-0.5, n_features - 0.5, n_samples - 0.5, -0.5)
        drawn = ax.imshow(
            self.shares, cmap=SEQUENTIAL, vmin=0, vmax=1, extent=box, aspect="auto", interpolation="nearest",
            rasterized=True,
        )  # fmt: skip
        if self.shares.shape != self.shape:
            self.figure_.colorbar(drawn, ax=ax, label="share missing", shrink=0.8)
        if self.feature_names is not None:
            ax.set_xticks(
                range(n_features),
                [plain(name) for name in self.feature_names],
                rotation=60,
                ha="right",
                rotation_mode="anchor",
            )
        else:
            ax.set_xlabel("feature")
        ax.set_ylabel("sample")
        share = self.missing / max(n_samples * n_features, 1)
        ax.set_title(f"{self.missing} values missing ({share:.1%}), in yellow", fontsize="medium")


def missing_shares(missing: Array) -> Array:
    """Share of True in each cell of a grid of at most 600 x 400 over a table of booleans."""
    edges = [
        np.linspace(0, n, min(n, most) + 1).astype(int)[:-1] for n, most in zip(missing.shape, MAX_CELLS, strict=True)
    ]
    counts = np.add.reduceat(np.add.reduceat(missing.astype(np.int64), edges[0], axis=0), edges[1], axis=1)
    sizes = np.outer(*(np.diff([*edge, n]) for edge, n in zip(edges, missing.shape, strict=True)))
    return counts / sizes


class DecoderErrorDisplay(Display):
    """Error of decoding by the number of kept samples, and its bound (Theorem 5).

    Parameters
    ----------
    found : DecodingErrors
        Of :func:`graphlowrank.guarantees.decoding_errors`.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
        Of matplotlib.
    """

    def __init__(self, found: DecodingErrors) -> None:
        self.found = found

    @classmethod
    def from_estimator(
        cls, model: Any, *, k: int | None = None, n_draws: int = 4, random_state: RandomState = 0,
        ax: "Axes | None" = None,
    ) -> Self:  # fmt: skip
        """Decode a matrix that is exactly low-rank on the sample graph of a model, from several numbers of samples.

        Parameters
        ----------
        model : estimator with ``sample_graph_``
            Fitted.
        k : int or None, default=None
            Rank; None for the rank, or the number of clusters, of the model.
        n_draws : int, default=4
            Draws of each size; the range is shaded.
        random_state : int, RandomState or None, default=0
            Seed.
        ax : matplotlib Axes or None, default=None
            Axes to draw on.
        """
        check_model(model, "sample_graph_")
        k = k or int(getattr(model, "n_components_", None) or model.n_clusters_)
        found = decoding_errors(model.sample_graph_, k, n_draws=n_draws, random_state=random_state)
        return cls(found).plot(ax)

    def _draw(self, ax: "Axes") -> None:
        found = self.found
        for values, color, style, label in (
            (found.errors, BLUE, "o-", "error"), (found.bounds, ORANGE, "--", "its bound")
        ):  # fmt: skip
            shown = np.minimum(values, 1e6)  # an infinite bound leaves the axes
            ax.fill_between(found.sizes, shown.min(axis=1), shown.max(axis=1), color=color, alpha=0.2, linewidth=0)
            ax.plot(found.sizes, np.median(shown, axis=1), style, color=color, markersize=4, label=label)
        finite = found.bounds[np.isfinite(found.bounds)]
        top = 3 * max(float(found.errors.max()), float(np.median(finite)) if len(finite) else 1.0)
        ax.set(xscale="log", yscale="log", ylim=(0.3 * max(float(found.errors.min()), 1e-12), top))
        ax.set(xlabel="samples kept", ylabel="relative error of the decoded matrix")
        ax.set_title(f"rank {found.k}, spectral gap {found.gap:.3g}", fontsize="medium")
        ax.legend(frameon=False)
        open_frame(ax)
