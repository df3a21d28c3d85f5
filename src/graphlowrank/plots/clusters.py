"""Sizes of clusters, and the path of gammas."""

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from .._typing import Array, MatrixLike
from ..auto.gammas import CLUSTERING_PATH
from ..exceptions import WeakClustersWarning
from ._axes import BLUE, GRAY, ORANGE, Display, check_model, open_frame, rgb

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_COUNTS = 12  # clusters whose numbers and sizes are written across
MAX_BARS = 40  # clusters that have a bar and a number; more are one area


class ClusterSizesDisplay(Display):
    """Sizes of the clusters, largest first.

    Parameters
    ----------
    sizes : array-like of int, shape (n_clusters,)
        Numbers of samples.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
        Of matplotlib.
    """

    def __init__(self, sizes: ArrayLike) -> None:
        self.sizes = np.asarray(sizes)

    @classmethod
    def from_estimator(cls, model: Any, *, ax: "Axes | None" = None) -> Self:
        """Draw the sizes of the clusters of a fitted model.

        Parameters
        ----------
        model : CompressiveClustering, or another clustering with ``labels_``
            Fitted.
        ax : matplotlib Axes or None, default=None
            Axes to draw on.
        """
        check_model(model, "labels_")
        return cls(np.bincount(model.labels_)).plot(ax)

    def _draw(self, ax: "Axes") -> None:
        order, n = np.argsort(-self.sizes, kind="stable"), len(self.sizes)
        place = np.arange(n)
        if n <= MAX_BARS:
            bars = ax.bar(place, self.sizes[order], color=[rgb(label, n) for label in order.tolist()])
            crowded = n > MAX_COUNTS
            ax.set_xticks(place, [str(label) for label in order.tolist()], rotation=90 if crowded else 0)
            ax.bar_label(bars, padding=2, fontsize="small", rotation=90 if crowded else 0)
            ax.set_xlabel("cluster")
        else:
            ax.fill_between(place + 1, self.sizes[order], step="mid", color=BLUE, linewidth=0)
            ax.set(xlabel="cluster, largest first", xlim=(0.5, n + 0.5))
            if self.sizes.max() > 20 * max(float(np.median(self.sizes)), 1):
                ax.set_yscale("symlog", linthresh=10)
        ax.set_ylabel("samples")
        ax.set_ylim(bottom=0)
        ax.set_title(f"{n} clusters of {self.sizes.sum()} samples", fontsize="medium")
        open_frame(ax)


def gamma_path(model: Any, X: MatrixLike, gammas: Sequence[float] = CLUSTERING_PATH) -> Array:
    """Conductance (n_gammas,) of the clusters that a model finds at each gamma of the samples; it is fitted again.

    Parameters
    ----------
    model : CompressiveClustering
        Whose other parameters are used; fitted or not.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Data.
    gammas : sequence of float, default=(0.5, 1.5, 5, 15, 40)
        Weights of the sample graph.
    """
    found = []
    for gamma in gammas:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", WeakClustersWarning)
            found.append(float(clone(model).set_params(gamma_samples=gamma).fit(X).conductance_))
    return np.array(found)


class GammaPathDisplay(Display):
    """Conductance at each gamma of the path.

    Parameters
    ----------
    gammas, conductances : array-like of shape (n_gammas,)
        Weights of the sample graph, and the mean conductance of the clusters found at each.
    chosen : (float, float) or None, default=None
        Gamma and conductance of the answer.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
        Of matplotlib.
    """

    def __init__(
        self, gammas: ArrayLike, conductances: ArrayLike, *, chosen: tuple[float, float] | None = None
    ) -> None:
        self.gammas, self.conductances = np.asarray(gammas), np.asarray(conductances)
        self.chosen = chosen

    @classmethod
    def from_estimator(
        cls, model: Any, X: MatrixLike, *, gammas: Sequence[float] = CLUSTERING_PATH, ax: "Axes | None" = None
    ) -> Self:
        """Fit a model again at each gamma, and draw the conductance of its clusters.

        Parameters
        ----------
        model : CompressiveClustering
            Fitted; what it chose is marked.
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The data of the fit.
        gammas : sequence of float, default=(0.5, 1.5, 5, 15, 40)
            Weights of the sample graph.
        ax : matplotlib Axes or None, default=None
            Axes to draw on.
        """
        check_model(model, "n_clusters_", "conductance_", "gamma_samples_")
        n_clusters = int(model.n_clusters_)  # the same at each gamma, also if it was estimated
        found = gamma_path(clone(model).set_params(n_clusters=n_clusters), X, gammas)
        chosen = float(model.gamma_samples_), float(model.conductance_)
        return cls(gammas, found, chosen=chosen).plot(ax)

    def _draw(self, ax: "Axes") -> None:
        ax.plot(self.gammas, self.conductances, "o-", color=BLUE, label="at this gamma")
        if self.chosen is not None and np.isfinite(self.chosen[1]):
            ax.plot(*self.chosen, "*", color=ORANGE, markersize=15, label="the answer")
        ax.set(xscale="log", xlabel="gamma of the samples", ylabel="mean conductance")
        ax.set_xticks(self.gammas, [f"{gamma:g}" for gamma in self.gammas])
        ax.minorticks_off()
        highest = np.nanmax([*self.conductances, self.chosen[1] if self.chosen else 0.0])
        ax.set_ylim(0, 1.15 * max(float(highest), 1e-6))
        ax.legend(frameon=False, labelcolor=GRAY, loc="lower left")
        open_frame(ax)
