"""Compressive clustering."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, Self, get_args

import numpy as np
import scipy.sparse as sp
from numpy.random import RandomState
from sklearn.base import ClusterMixin
from sklearn.utils.validation import check_is_fitted

from .._backend import Array
from .._evenly import evenly
from .._literals import ClusterScaling
from .._progress import Progress
from .._threads import limit_threads
from ..auto.choice import Choice
from ..auto.n_clusters import ClusterCount, count_clusters
from ..clustering import consensus
from ..clusters import Clusters, find_clusters
from ..graphs import as_graph
from ..graphs.knn import gaussian_weights
from ..graphs.search import nearest_to
from ..metrics import conductance
from ..options import Settings
from ..pipeline import reduce
from ..preprocessing.imputer import Filling, learn_filling
from ..preprocessing.missing import has_gaps
from ..preprocessing.outliers import JUDGED_BY, Sieve
from ..preprocessing.scaling import Scaling, choose_scaling, recovery_scaling, scaling_of
from ..preprocessing.sparse import Data, ShiftedSparse, as_shifted_sparse, dense_rows
from ..small_problem import SmallProblem, Weights
from ..two_graphs import Compared, compared, graphs_between, judged
from ._base import GraphEstimator, check_count, check_number

MOST_NEIGHBORS, FEWEST_NEIGHBORS = 10, 3
UNKNOWN_CLUSTERS = 10  # to compare scalings by, before their number is known
OPTIONS = {
    "scores": ("auto", "whitened", "scaled"),
    "partition": ("graph", "k-means"),
    "scaling": get_args(ClusterScaling),
}


@dataclass(frozen=True, eq=False)
class _Prepared:
    """Samples as they are clustered, as they are compared, and how many clusters there are."""

    scaling: Scaling
    scaled: Data
    comparison: Compared
    count: ClusterCount


class CompressiveClustering(ClusterMixin, GraphEstimator):
    """Clusters of large noisy data: partitions of a small robust low-rank matrix, one that the sample graph speaks for.

    A part of the samples is drawn; Fast Robust PCA on Graphs makes it low-rank, along a path of gammas; k-means
    partitions every solution; the best are spread over the graph of all samples and improved there, and the one with
    the least conductance is taken. No label is used.

    Parameters
    ----------
    n_clusters
        Number of clusters; "auto" looks for a gap of the sample graph's eigenvalues that comes at the same place in
        several draws, else for the highest modularity. It finds clusters that stand apart; of those that touch it finds
        about as many as there are (digits 11, faces of 30 people 11 to 27); it never says that there are none.
    scaling
        "samples" gives every sample zero mean and unit deviation (pictures in different light, counts of different
        depth), "features" every feature (tables of numbers in different units), "none" leaves the data alone. "auto"
        takes "features" if fewer than two features hold the variance and most others hardly count, else what leads to
        the clearest neighbour graph. Data with a ``sample_graph`` of your own, or None, are left alone.
    partition
        "graph" as said above; "k-means", the paper's Algorithm 3: the tightest of ten starts at one gamma, spread over
        the graph. Better, with ``scaling="none"``, where many samples have gross errors: their graph is a poor judge.
    scores
        What k-means sees of the compressed low-rank matrix: "whitened", its first 1.5 n_clusters directions with equal
        weight and every sample at unit length, so that strong factors (light on faces) and faint samples do not
        decide; "scaled", its principal scores, which is k-means on the matrix itself as in the paper; "auto" takes
        the whitened ones unless the sample graph speaks clearly for the others (conductance lower by 0.03).
    n_draws
        Draws of samples to cluster, on the same graphs; labels are their consensus.
    gamma_samples, gamma_features
        How strongly neighbours are made alike, see :class:`CompressivePCA`. "auto" tries 0.5 to 40 for the samples and
        takes 0.3 for the features; with ``partition="k-means"`` 1.5 and 0.3.
    gamma_labels
        0 spreads the labels of the kept samples as they are (Algorithm 3); more lets their neighbours overrule them.
    n_neighbors
        Neighbours in "knn" graphs; "auto" is 10, or half the mean size of a cluster if that is less, at least 3.
    laplacian
        "combinatorial", "normalized", or "auto": normalized, which gives dense and sparse regions equal say.
    tol
        Change of the low-rank matrix to stop at, as in :class:`CompressivePCA`. Errors at 3e-2 and 1e-3 are the same.
    downsampling, loss, huber_delta, sample_graph, feature_graph, neighbors, robust_graphs
        As in :class:`CompressivePCA`.
    sampling, reduction, max_iter, n_jobs, random_state, verbose
        As in :class:`CompressivePCA`.

    Attributes
    ----------
    labels_ : (n_samples,)
        Cluster of each training sample.
    soft_labels_ : (n_samples, n_clusters)
        Membership; rows sum to 1, and the cluster of a sample has the largest share.
    confidence_ : (n_samples,)
        That share.
    conductance_
        Mean share of a cluster's edges that leads out of it; NaN without a sample graph, and for "k-means".
    n_clusters_, scaling_, scores_, gamma_samples_, gamma_features_
        What was chosen.
    report_ : FitReport
        What was chosen and why, health of the graphs, convergence, seconds; prints as a table.
    rank_
        Rank of the compressed low-rank matrix: singular values of at least 0.1 of the first.
    n_iter_, converged_
        Iterations of all gammas and draws; whether all converged.
    sample_indices_, feature_indices_, sample_weights_, feature_weights_
        What was kept, in the best draw; weights are None for a uniform one.
    sample_graph_, feature_graph_, scale_, stage_seconds_
        What was used and done.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from graphlowrank import CompressiveClustering
    >>> X = load_digits().data
    >>> CompressiveClustering(10, random_state=0).fit_predict(X).shape
    (1797,)
    """

    labels_: Array
    soft_labels_: Array
    rank_: int
    n_neighbors: Any
    _scaling: Scaling
    _count: ClusterCount
    _fit_X: Data  # noqa: N815
    _filling: Filling | Sieve | None

    def __init__(
        self,
        n_clusters: int | Literal["auto"] = 8,
        *,
        scaling: str = "auto",
        partition: str = "graph",
        scores: Any = "auto",
        n_draws: int = 1,
        downsampling: Any = "auto",
        gamma_samples: Any = "auto",
        gamma_features: Any = "auto",
        gamma_labels: float = 0.0,
        loss: str = "l1",
        huber_delta: float = 1.0,
        n_neighbors: Any = "auto",
        sample_graph: Any = "knn",
        feature_graph: Any = "knn",
        neighbors: str = "auto",
        robust_graphs: Any = "auto",
        laplacian: str = "auto",
        sampling: Any = "uniform",
        reduction: str = "auto",
        tol: float = 1e-2,
        max_iter: int = 1000,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.scaling = scaling
        self.partition = partition
        self.scores = scores
        self.n_draws = n_draws
        self.downsampling = downsampling
        self.gamma_samples = gamma_samples
        self.gamma_features = gamma_features
        self.gamma_labels = gamma_labels
        self.loss = loss
        self.huber_delta = huber_delta
        self.n_neighbors = n_neighbors
        self.sample_graph = sample_graph
        self.feature_graph = feature_graph
        self.neighbors = neighbors
        self.robust_graphs = robust_graphs
        self.laplacian = laplacian
        self.sampling = sampling
        self.reduction = reduction
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    _takes_gaps = True
    _takes_sparse = True

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, feature_weight: Any = None, mask: Any = None
    ) -> Self:
        """Cluster the samples of ``X`` (n_samples, n_features); see :meth:`CompressivePCA.fit` for the parameters."""
        settings = self._checked_settings()
        X = self._check_training_data(X, settings, mask)
        weights = self._check_weights(settings, X, sample_weight, feature_weight)
        if self.n_clusters != "auto":
            check_count(self.n_clusters, "n_clusters", at_most=len(X), what="samples")
            kept = settings.kept(*X.shape)[0]
            check_count(self.n_clusters, "n_clusters", at_most=kept, what="kept samples (see downsampling)")
        settings = replace(settings, n_neighbors=self._neighbors_for(len(X)))
        settings.check_decodable(*X.shape, features=False)

        def work(rng: RandomState, progress: Progress) -> tuple[_Prepared, list[Clusters], SmallProblem]:
            prepared = self._prepare(X, settings, rng, progress)
            graphs = graphs_between(prepared.comparison.points, settings, rng, progress)
            draw = partial(self._draw, prepared, graphs, settings, weights, rng, progress)
            best, first = draw()
            found = [first]
            for _ in range(1, self.n_draws):
                problem, clusters = draw()
                if clusters.cut < min(one.cut for one in found):
                    best = problem
                found.append(clusters)
            return prepared, found, best

        (prepared, found, best), progress = self._run(settings, work)
        self._scaling, self._filling, self._count = prepared.scaling, prepared.comparison.model, prepared.count
        self._fit_X = prepared.comparison.points
        self._n_neighbors = settings.n_neighbors
        self._store_clusters(found, best, progress)
        self._say(X, [*self._choices(X, settings), prepared.comparison.choice])
        return self

    def _prepare(self, X: Data, settings: Settings, rng: RandomState, progress: Progress) -> _Prepared:
        # Before samples are scaled one by one: entries that are alike would then differ by their sample's unit, and
        # one gross error makes all others of its sample small.
        own_units = recovery_scaling(X)
        verdict = judged(own_units.apply(X[evenly(len(X), JUDGED_BY)]), settings, progress)
        with progress.stage("scaling"):
            errors = verdict.present and self.scaling == "auto"
            scaling = own_units if errors else self._choose_scaling(X, settings, rng)
            scaled = scaling.apply(X)
        comparison = compared(scaled, verdict, settings, rng, progress, new_samples=True)
        with progress.stage("number of clusters"):
            count = self._count_clusters(comparison.points, settings, rng)
        return _Prepared(scaling, scaled, comparison, count)

    def _count_clusters(self, X: Data, settings: Settings, rng: RandomState) -> ClusterCount:
        if self.n_clusters != "auto":
            return ClusterCount(int(self.n_clusters), "as asked")
        given = None if isinstance(self.sample_graph, str | None) else as_graph(self.sample_graph)
        return count_clusters(X, settings.n_neighbors, rng, graph=given, at_most=settings.kept(*X.shape)[0])

    def _choices(self, X: Data, settings: Settings) -> list[Choice]:
        """Tell what was chosen."""
        by_graph = not np.isnan(self.conductance_)
        taken = f"least conductance on the sample graph, {self.conductance_:.3f}" if by_graph else "fixed"
        why_gamma = "as asked" if self.gamma_samples != "auto" else taken
        few = "half the mean size of a cluster" if settings.n_neighbors < MOST_NEIGHBORS else "enough for most data"
        kind = settings.laplacian_kind("normalized")
        return [
            Choice("n_clusters", self._count.n_clusters, self._count.reason),
            Choice("scaling", self.scaling_, self._scaling.reason),
            Choice("n_neighbors", settings.n_neighbors, few if self.n_neighbors == "auto" else "as asked"),
            *replace(settings, rank=self._count.n_clusters).choices(X.shape[0], X.shape[1], kind),
            Choice("gamma_samples", self.gamma_samples_, why_gamma),
            Choice("gamma_features", self.gamma_features_, "as asked" if self.gamma_features != "auto" else "fixed"),
            Choice("scores", self.scores_, taken if self.scores == "auto" else "as asked"),
            Choice("partition", self._way, taken if self.partition == "graph" else "as asked"),
            Choice("n_draws", self.n_draws, "as asked"),
        ]

    def _draw(
        self,
        prepared: _Prepared,
        graphs: Any,
        settings: Settings,
        weights: Weights,
        rng: RandomState,
        progress: Progress,
    ) -> tuple[SmallProblem, Clusters]:
        n_clusters = prepared.count.n_clusters
        settings = replace(settings, rank=n_clusters)
        kind = settings.laplacian_kind("normalized")
        problem = reduce(
            prepared.scaled, graphs, settings, laplacian=kind, rank=n_clusters, rng=rng, progress=progress,
            weights=weights,
        )  # fmt: skip
        return problem, find_clusters(
            problem, settings, n_clusters, scores=self.scores, partition=self.partition,  # type: ignore[arg-type]
            gamma_labels=self.gamma_labels, rng=rng, progress=progress,
        )  # fmt: skip

    def _store_clusters(self, found: list[Clusters], problem: SmallProblem, progress: Progress) -> None:
        best = int(np.argmin([one.cut for one in found]))
        converged = all(one.converged for one in found)
        self._store(problem, progress, n_iter=sum(one.n_iter for one in found), converged=converged)
        self.soft_labels_ = consensus([one.soft_labels for one in found], best)
        self.labels_ = self.soft_labels_.argmax(axis=1)
        self.confidence_ = self.soft_labels_.max(axis=1)
        self.conductance_ = found[best].conductance
        if self.sample_graph_ is not None and len(found) > 1 and not np.isnan(self.conductance_):
            self.conductance_ = conductance(self.sample_graph_, self.labels_, self._count.n_clusters)
        self.scaling_ = self._scaling.kind
        self.scores_ = found[best].scores
        self.gamma_samples_, self.gamma_features_ = found[best].gammas
        self.rank_ = found[best].rank
        self.n_clusters_ = self._count.n_clusters
        self._way = found[best].way

    def _settings(self) -> Settings:
        few = FEWEST_NEIGHBORS if isinstance(self.n_neighbors, str) and self.n_neighbors == "auto" else self.n_neighbors
        names = [name for name in Settings.__dataclass_fields__ if name in self.get_params(deep=False)]
        return Settings(**{name: getattr(self, name) for name in names} | {"n_neighbors": few})

    def _checked_settings(self) -> Settings:
        """Shared options; those of this estimator are checked, too."""
        for name, allowed in OPTIONS.items():
            value = getattr(self, name)
            if not isinstance(value, str) or value not in allowed:
                raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}; got {value!r}.")
        check_number(self.gamma_labels, "gamma_labels")
        check_count(self.n_draws, "n_draws", at_most=1000, what="draws that may be asked for")
        return self._settings()

    def _neighbors_for(self, n_samples: int) -> int:
        if self.n_neighbors != "auto":
            return int(self.n_neighbors)
        clusters = 1 if self.n_clusters == "auto" else self.n_clusters
        return max(FEWEST_NEIGHBORS, min(MOST_NEIGHBORS, n_samples // (2 * clusters)))

    def _choose_scaling(self, X: Data, settings: Settings, rng: RandomState) -> Scaling:
        if self.scaling != "auto":
            return scaling_of(X, self.scaling, "as asked")  # type: ignore[arg-type]
        if not isinstance(self.sample_graph, str):
            return scaling_of(X, "none", "the sample graph is given, or there is none to compare")
        clusters = UNKNOWN_CLUSTERS if self.n_clusters == "auto" else self.n_clusters
        return choose_scaling(X, clusters, settings.n_neighbors, rng)

    def predict(self, X: Any) -> Array:
        """Cluster of new samples, from their nearest training samples in feature space.

        A new sample takes the mean of its neighbours' soft labels, weighted by the graph's kernel around it: the value
        that label decoding would give a node added to a neighbour graph.

        Parameters
        ----------
        X
            (n_samples, n_features), dense or sparse; missing entries (NaN) are guessed.

        Returns
        -------
        labels
            (n_samples,).
        """
        check_is_fitted(self)
        X = self._comparable(self._validated(X, reset=False))
        with limit_threads(self.n_jobs):
            distances, indices = nearest_to(X, self._fit_X, min(self._n_neighbors, len(self._fit_X)))
        # Relative to the nearest one: the common factor cancels in the mean, and far samples do not underflow.
        excess = np.sqrt(distances**2 - distances[:, :1] ** 2)
        weights = gaussian_weights(excess, distances.mean(axis=1, keepdims=True))
        starts = np.arange(0, indices.size + 1, indices.shape[1])
        among = sp.csr_array((weights.ravel(), indices.ravel(), starts), shape=(len(X), len(self._fit_X)))
        return np.asarray(among @ self.soft_labels_).argmax(axis=1)

    def _comparable(self, X: Data) -> Data:
        """Return new samples as those of the fit are: sparse if they are, scaled, and without gaps."""
        if isinstance(self._fit_X, ShiftedSparse):
            if has_gaps(X):
                raise ValueError("the model was fitted to sparse data, so that new samples must have no NaN.")
            return self._scaling.apply(X if isinstance(X, ShiftedSparse) else as_shifted_sparse(X))
        X = dense_rows(self._scaling.apply(dense_rows(X)))
        if self._filling is None:
            return learn_filling(self._fit_X, RandomState(0)).apply(X) if has_gaps(X) else X
        return self._filling.apply(X)
