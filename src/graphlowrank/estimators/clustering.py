"""Clustering of compressed data."""

import warnings
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .._threads import limit_threads
from .._typing import Array, MatrixLike
from ..auto import Choice, check_sizes
from ..clustering import cluster_means, memberships_of_new, weaknesses
from ..exceptions import WeakClustersWarning
from ..graphs.blocks import Workspace
from ..options import PUBLISHED, Options
from ..outofcore.clustering import cluster_blocks, means_of_blocks
from ..outofcore.extension import chunked
from ..outofcore.method import Task
from ..outofcore.settings import current_settings
from ..outofcore.sources import Source
from ..outofcore.storage import store_rows, work_folder
from ..outofcore.tasks import active_client, map_on, task_memory
from ..pipeline import cluster
from ..preprocessing import Data
from ..records import Clustering, LossWeights, Run
from ._base import PipelineEstimator
from ._large import Fit, row_wise
from ._points import ComparesSamples


@dataclass(eq=False, repr=False)
class CompressiveClustering(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, ComparesSamples, PipelineEstimator
):
    """Clusters of large noisy data: partitions of a small robust low-rank matrix, selected by the sample graph.

    Graphs are built, samples and features drawn, and FRPCAG solved on the small matrix as in :class:`CompressivePCA`,
    at several gammas. K-means, and merged finer clusters of k-means, propose partitions of the kept samples, from these
    solutions and from eigenvectors of the reduced sample graph; the best are interpolated over the graph of all
    samples. Louvain's method proposes communities of the locally scaled sample graph. All are refined on the sample
    graph. Of those of nearly the lowest cost (conductance, and lack of modularity), the one that the others agree with
    most is the answer. It does not depend on the order of up to 20000 samples, unless a sample graph or indices of
    samples are given.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        Number of clusters; "auto" estimates it from the eigengap or the modularity of neighbor graphs, and is 1 for
        data that have no more clusters than uniform data of the same covariance. A given number is used all the same,
        with a WeakClustersWarning.
    scaling : {"auto", "none", "samples", "features", "counts"}, default="auto"
        "samples" standardizes each sample, "features" each feature; "counts" (of words, of reads of genes) brings
        samples to the same total, takes log(1 + x), and brings them to unit length. "auto" is "counts" for integers
        most of which are 0 and a few very large, "features" if these are in different units; else it clusters some
        samples in each of the other scalings and chooses the one of lowest conductance.
    partition : {"graph", "k-means"}, default="graph"
        "graph" is described above; "k-means" at one gamma: k-means on scores of the compressed matrix, labels
        interpolated over the sample graph. The paper's own method is :meth:`as_published`.
    scores : {"auto", "whitened", "scaled", "matrix"}, default="auto"
        What k-means clusters: "whitened", the first 1.5 n_clusters directions with equal weight and samples of unit
        length, so that strong factors (illumination) do not dominate; "scaled", principal scores, truncated; "matrix",
        the compressed matrix itself, for "k-means" only; "auto" tries the first two, the leading eigenvectors of the
        reduced sample graph ("spectral" in ``scores_``), and communities of the sample graph ("none").
    n_draws : int, default=1
        Draws of samples, on the same graphs; the labels are their consensus.
    downsampling : "auto" or (float, float), default="auto"
        ``(a, b)`` keeps 1/a of the samples and 1/b of the features. "auto" keeps a tenth of the samples, at least 3000
        (fewer if they have very many features) and as many as the paper's restricted isometry asks for, and all
        features up to 500.
    gamma_samples, gamma_features : float or "auto", default="auto"
        Weights of the smoothness terms of the two graphs, independent of the units of the data. "auto" tries 0.5 to 40
        for the samples and uses 0.3 for the features; 1.5 and 0.3 with ``partition="k-means"``.
    gamma_labels : float, default=0.0
        0 keeps the labels of the kept samples; more lets their neighbors change them.
    loss : {"l1", "l2", "huber"}, default="l1"
        "l1" ignores outliers, "l2" suits small dense noise, "huber" lies between.
    huber_delta : float, default=1.0
        Corner of the Huber loss, in mean absolute deviations of the data.
    n_neighbors : int or "auto", default="auto"
        Neighbors in "knn" graphs; "auto" is 10, or half the mean cluster size if that is less, at least 3.
    sample_graph, feature_graph : "knn", Graph, matrix or None, default="knn"
        "knn" builds the graph from the data; a Graph or its weight matrix is used as given; None leaves the term out,
        and keeps all of that axis.
    neighbors : {"auto", "exact", "approximate"}, default="auto"
        Neighbor search. "approximate" has a recall of about 0.98; "auto" is exact if that takes about a second.
    robust_graphs : bool, "ends" or "auto", default="auto"
        Whether cellwise outliers are imputed for distances; "ends" only those at the ends of their feature's range
        (salt and pepper), for the loss, too; "auto" if either improves held-out prediction.
    laplacian : {"auto", "combinatorial", "normalized"}, default="auto"
        Laplacian of the model. "auto" is normalized, which gives dense and sparse regions equal weight.
    sampling : {"uniform", "optimal"} or (array-like, array-like), default="uniform"
        "optimal" draws by the coherence of the graphs; a pair (sample_indices, feature_indices) is used as given, None
        in it draws that axis uniformly.
    reduction : {"auto", "exact", "random_walk", "rebuild"}, default="auto"
        Graphs of the compressed matrix: "exact" or "random_walk" Kron reduction, "rebuild" (nearest neighbors among the
        kept), or "auto" (exact up to 500 nodes, else random walks).
    tol : float, default=1e-2
        FISTA stops when its iterate changes by less than ``tol``, relative to its norm or that of the standardized
        data, whichever is smaller.
        Clustering errors at 3e-2 and 1e-3 are the same.
    max_iter : int, default=1000
        Iterations allowed; a ConvergenceWarning is issued if they do not suffice.
    variant : {"default", "published"}, default="default"
        "published" runs the algorithms as the paper prints them; use :meth:`as_published`.
    n_jobs : int or None, default=None
        Number of threads; None for every core. The answer does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of sampling, k-means and approximate search.
    verbose : int, default=0
        1 reports the stages on standard error.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each training sample.
    soft_labels_, confidence_ : ndarray of shape (n_samples, n_clusters) and (n_samples,)
        Membership, whose rows sum to 1; that of each sample in its own cluster, the largest of its row.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Mean of the training samples of each cluster, in the units of the data.
    alternatives_ : tuple of Alternative
        Different partitions (``labels``) of nearly the same cost, their ``conductance``, and their ``agreement`` with
        ``labels_`` (adjusted Rand index on at most 2000 samples). A warning is issued if there are any. Empty if
        ``n_draws`` > 1.
    conductance_ : float
        Mean conductance of the clusters on the sample graph; NaN without a sample graph, and for "k-means".
    n_clusters_, scaling_, scores_, gamma_samples_, gamma_features_ : int, str, str, float, float
        Values used.
    rank_ : int
        Rank of the compressed low-rank matrix: singular values of at least a tenth of the first.
    n_iter_, converged_ : int, bool
        Iterations of all gammas and draws; whether all solves converged.
    sample_graph_, feature_graph_ : Graph or None
        Graphs used.
    sample_indices_, feature_indices_, sample_weights_, feature_weights_ : ndarray
        What was kept in the best draw, and its importance weights (None for a uniform draw).
    points_ : (n_samples, n_features) dense or sparse
        Scaled data with missing values, and filtered outliers, imputed: what distances are computed from. Never the
        array given to ``fit``: complete data that need no scaling are copied, unless they are mapped read-only.
    scale_ : float
        Unit of the scaled data: mean absolute deviation.
    report_, stage_seconds_ : FitReport, dict
        What was chosen and why, graphs, convergence; seconds of each stage.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from graphlowrank import CompressiveClustering
    >>> X = load_digits().data
    >>> CompressiveClustering(10, random_state=0).fit_predict(X).shape
    (1797,)
    """

    n_clusters: int | Literal["auto"] = 8
    _: KW_ONLY
    scaling: str = "auto"
    partition: str = "graph"
    scores: str = "auto"
    n_draws: int = 1
    downsampling: tuple[float, float] | Literal["auto"] = "auto"
    gamma_labels: float = 0.0
    n_neighbors: int | Literal["auto"] = "auto"
    sampling: str | tuple[ArrayLike | None, ArrayLike | None] = "uniform"
    reduction: str = "auto"
    tol: float = 1e-2
    variant: str = "default"

    _accepts_sparse = True
    _task: ClassVar[Task] = "cluster"
    _finds_groups = True

    @classmethod
    def as_published(
        cls,
        n_clusters: int,
        *,
        gamma_samples: float,
        gamma_features: float,
        downsampling: tuple[float, float],
        laplacian: Literal["combinatorial", "normalized"] = "combinatorial",
        **parameters: Any,
    ) -> Self:
        """Return the paper's method (its Algorithms 1 and 3): the same answer as ``graphlowrank.paper.cluster``.

        K-means clusters the compressed low-rank matrix itself; its hard labels are interpolated by the Laplacian of the
        model, and the largest is the label.

        Parameters
        ----------
        n_clusters : int
            k of Algorithm 3.
        gamma_samples, gamma_features, downsampling, laplacian, **parameters
            As in :meth:`CompressivePCA.as_published`.
        """
        own = {"gamma_samples": gamma_samples, "gamma_features": gamma_features, "downsampling": downsampling}
        clustering = {"laplacian": laplacian, "partition": "k-means", "scores": "matrix"}
        return cls(n_clusters, **PUBLISHED | own | clustering | parameters)

    def _fit(self, X: Data, weights: LossWeights, options: Options) -> list[Choice]:
        check_sizes(options, X.shape, clustering=True)
        found = self._run(options, lambda run: cluster(X, weights, run))
        self._store_answer(found)
        self.cluster_centers_ = cluster_means(X, self.labels_, self.n_clusters_).astype(X.dtype)
        self._warn_if_weak(found)
        return found.choices

    def _store_answer(self, found: Clustering) -> None:
        clusters, prepared = found.clusters, found.prepared
        self._store_compressed(found.compressed, n_iter=clusters.n_iter, converged=clusters.converged)
        self.soft_labels_ = clusters.soft_labels
        self.labels_ = clusters.soft_labels.argmax(axis=1)
        self.confidence_ = clusters.soft_labels.max(axis=1)
        self.conductance_ = clusters.conductance
        self.n_clusters_, self.scaling_, self.scores_ = prepared.count.value, prepared.scaling.kind, clusters.scores
        self.gamma_samples_, self.gamma_features_ = clusters.gammas
        self.rank_ = clusters.rank
        self._n_neighbors = prepared.n_neighbors.value
        self._store_points(prepared.points, prepared.scaling)
        self.alternatives_ = clusters.alternatives

    # --- data that do not fit in memory ---

    def _why_not_out_of_core(self, source: Source, options: Options, weights: LossWeights) -> str | None:
        return None if options.needs_graph("sample") else "clusters out of core come from a sample graph"

    def _fit_out_of_core(self, source: Source, fit: Fit, size: int, weights: LossWeights) -> None:
        options, settings, client = self._options(), current_settings(), active_client()
        self.n_features_in_ = source.shape[1]
        check_sizes(options, source.shape, clustering=True)
        with work_folder(settings, client) as folder:
            workspace = Workspace(folder, map_on(client), settings.memory, task_memory(client, settings.memory))

            def work(run: Run) -> tuple[Clustering, Array]:
                with run.progress.stage("rows on disk"):
                    X = store_rows(source, folder)
                found = cluster_blocks(X, weights, run)
                return found, means_of_blocks(X, found.clusters.labels, found.prepared.count.value)

            found, centers = self._run(options, work, workspace)
            kept, points = found.compressed.samples.indices, found.prepared.points
            points = replace(points, X=points.X[kept])
        self._store_answer(replace(found, prepared=replace(found.prepared, points=points)))
        self._point_labels = self.soft_labels_[kept]
        self.cluster_centers_ = centers.astype(points.X.dtype)
        self._summarize(points.X, found.choices)
        self._warn_if_weak(found)
        self._chunk_attributes(source)

    def _extend_attributes(self, source: Source) -> None:
        self._point_labels = self.soft_labels_
        self.soft_labels_ = self.extend("transform", source)
        self.labels_, self.confidence_ = self.soft_labels_.argmax(axis=1), self.soft_labels_.max(axis=1)

    def _chunk_attributes(self, source: Source) -> None:
        self._point_labels = vars(self).get("_point_labels", vars(self).get("soft_labels_"))
        for name in ("soft_labels_", "labels_", "confidence_"):
            setattr(self, name, chunked(getattr(self, name), source))

    def _shape_of_rows(self, method: str, dtype: np.dtype[Any]) -> tuple[int, int | None, Any]:
        if method == "predict":
            return self.n_features_in_, None, np.int64
        return super()._shape_of_rows(method, dtype)

    def _warn_if_weak(self, found: Clustering) -> None:
        structure = found.prepared.structure
        no_structure = "" if structure.value else structure.reason
        for sentence in weaknesses(
            self.labels_, self.n_clusters_, self.points_, self.conductance_, self.alternatives_, no_structure
        ):
            warnings.warn(sentence, WeakClustersWarning, stacklevel=4)

    @row_wise
    def predict(self, X: MatrixLike) -> Array:
        """Cluster (n_samples,) of new samples, from their nearest training samples.

        A new sample gets the mean of its neighbors' soft labels, weighted by the graph's kernel: the value that label
        interpolation gives a node added to the neighbor graph.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples; missing values (NaN) are imputed.
        """
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        return self._memberships(X).argmax(axis=1)

    @row_wise
    def transform(self, X: MatrixLike) -> Array:
        """Membership (n_samples, n_clusters_) of samples in each cluster, from their nearest training samples.

        Rows sum to 1; :meth:`predict` returns the cluster of the largest. Training samples are treated like new ones;
        ``soft_labels_`` are their memberships from the fit.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples; missing values (NaN) are imputed.
        """
        check_is_fitted(self)
        return self._memberships(self._validated(X, reset=False))

    @property
    def _n_features_out(self) -> int:
        return self.n_clusters_

    def _memberships(self, X: Data) -> Array:
        with limit_threads(self.n_jobs):
            labels = vars(self).get("_point_labels", vars(self).get("soft_labels_"))
            return memberships_of_new(*self._nearest(X, self._n_neighbors), labels)
