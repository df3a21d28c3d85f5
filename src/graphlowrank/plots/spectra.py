"""Singular values, and eigenvalues of graphs."""

from math import sqrt
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from .._checks import without_mask
from .._typing import MatrixLike
from ..estimators.described import residual_of
from ..graphs import lowest_eigenpairs
from ..linalg.optimal_shrinkage import Spectrum
from ..preprocessing.principal import centered_svd
from ..preprocessing.robust_statistics import MAD_TO_STD
from ._axes import BLUE, GRAY, ORANGE, Display, check_data, check_model, count_axis, open_frame

if TYPE_CHECKING:
    from matplotlib.axes import Axes

N_VALUES = 60  # singular values of the data, at least
ALL_UP_TO = 1500  # samples or features, of which all singular values are computed


class SingularValuesDisplay(Display):
    """Singular values of the centered data and of the recovered matrix, on a log scale.

    Parameters
    ----------
    given, recovered : array-like
        Singular values, decreasing; of the recovered matrix, those that are not 0.
    threshold : float or None, default=None
        Largest singular value that noise alone would have.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
        Of matplotlib.
    """

    def __init__(self, given: ArrayLike, recovered: ArrayLike = (), *, threshold: float | None = None) -> None:
        self.given, self.recovered = np.asarray(given, dtype=np.float64), np.asarray(recovered, dtype=np.float64)
        self.threshold = threshold

    @classmethod
    def from_estimator(cls, model: Any, X: MatrixLike, *, ax: "Axes | None" = None) -> Self:
        """Draw the singular values of data and of their recovered matrix, in the units of the model.

        The threshold is ``s (sqrt(n_samples) + sqrt(n_features))``, the largest singular value of independent noise of
        standard deviation s. s is what the smaller half of the singular values allows for; with more than 1500
        samples and features, the robust standard deviation of the residual.

        Parameters
        ----------
        model : CompressivePCA, or another model with ``low_rank_``
            Fitted.
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The data of the fit.
        ax : matplotlib Axes or None, default=None
            Axes to draw on.
        """
        check_model(model, "low_rank_", "offset_", "singular_values_")
        check_data(X, model)
        data = sp.csr_array(X) if sp.issparse(X) else np.asarray(without_mask(X), dtype=model.offset_.dtype)
        _, residual, size = residual_of(model, data)
        whole, n_values = min(data.shape) <= ALL_UP_TO, max(N_VALUES, 2 * model.n_components_)
        left, values, right = centered_svd(residual.X, min(data.shape) if whole else n_values)
        noise = MAD_TO_STD * size.typical
        if whole:
            noise = Spectrum(left, values, right, model.offset_).noise()
        threshold, values = noise * (sqrt(data.shape[0]) + sqrt(data.shape[1])), values[:n_values]
        return cls(values, model.singular_values_, threshold=threshold).plot(ax)

    def _draw(self, ax: "Axes") -> None:
        for values, color, marker, label in (
            (self.given, GRAY, "o", "data"), (self.recovered, BLUE, "D", "recovered")
        ):  # fmt: skip
            known = np.flatnonzero(values > 1e-9 * max(float(self.given.max(initial=0)), 1e-300))
            if len(known):
                ax.plot(known + 1, values[known], marker, color=color, markersize=4, label=label)
        if self.threshold:
            ax.axhline(self.threshold, color=ORANGE, linestyle="--", linewidth=1.2, label="largest of noise alone")
        ax.set(yscale="log", xlabel="index", ylabel="singular value")
        count_axis(ax)
        ax.legend(frameon=False)
        open_frame(ax)


class GraphSpectrumDisplay(Display):
    """Smallest eigenvalues of a Laplacian; the largest gap suggests a number of clusters.

    Parameters
    ----------
    eigenvalues : array-like
        Increasing.

    Attributes
    ----------
    gap_ : int
        Number of eigenvalues below the largest gap.
    ax_, figure_ : Axes, Figure
        Of matplotlib.
    """

    def __init__(self, eigenvalues: ArrayLike) -> None:
        self.eigenvalues = np.asarray(eigenvalues)
        self.gap_ = int(np.argmax(np.diff(self.eigenvalues))) + 1

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        *,
        n_values: int = 20,
        kind: Literal["combinatorial", "normalized"] = "normalized",
        ax: "Axes | None" = None,
    ) -> Self:
        """Draw the smallest eigenvalues of the sample graph of a model; a million samples take minutes.

        Parameters
        ----------
        model : estimator with ``sample_graph_``
            Fitted.
        n_values : int, default=20
            Number of eigenvalues.
        kind : {"combinatorial", "normalized"}, default="normalized"
            Laplacian.
        ax : matplotlib Axes or None, default=None
            Axes to draw on.
        """
        check_model(model, "sample_graph_")
        n_values = min(n_values, model.sample_graph_.n_nodes)
        if n_values < 2:
            raise ValueError(f"n_values must be at least 2, of a graph of two nodes or more; got {n_values}.")
        values, _ = lowest_eigenpairs(model.sample_graph_, n_values, kind=kind)
        return cls(values).plot(ax)

    def _draw(self, ax: "Axes") -> None:
        index = np.arange(1, len(self.eigenvalues) + 1)
        ax.plot(index, self.eigenvalues, "o", color=BLUE, markersize=4)
        gap = self.gap_
        ax.plot([gap + 0.5] * 2, self.eigenvalues[gap - 1 : gap + 1], color=ORANGE, linewidth=2)
        ax.annotate(
            f"largest gap after {gap}", (gap + 0.5, self.eigenvalues[gap - 1 : gap + 1].mean()), (6, 0), color=ORANGE,
            textcoords="offset points", va="center",
        )  # fmt: skip
        ax.set(xlabel="index", ylabel="eigenvalue of the Laplacian")
        count_axis(ax)
        open_frame(ax)
