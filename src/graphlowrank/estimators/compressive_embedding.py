"""A map of the samples in two dimensions."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .._threads import limit_threads
from .._typing import Array, MatrixLike, RandomState
from ..embedding import Embedding, Neighborhood, embed
from ..graphs import Graph
from ..layout import place_new
from ..options import Options, check_count, is_auto
from ..outofcore.extension import chunked
from ..outofcore.sources import Source
from ..preprocessing import Data
from ._base import GraphEstimator
from ._large import fits_large, row_wise
from ._points import ComparesSamples

MAX_DIMENSIONS = 100  # a map of more is none


@dataclass(eq=False, repr=False)
class CompressiveEmbedding(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ComparesSamples, GraphEstimator):
    """Map of the samples in two dimensions in which neighbors stay neighbors, like those of UMAP and t-SNE.

    Some samples are laid out on the reduced sample graph, beginning with its smoothest eigenvectors: neighbors attract
    each other, random samples repel each other. Their positions are extended to all samples over the sample graph, and
    refined there. See docs/maps.md for what such a map shows, and what it does not.

    The map depends on the order of the samples, as the random repulsion does; not on the number of threads.

    Parameters
    ----------
    n_components : int, default=2
        Dimensions of the map.
    n_neighbors : int, default=15
        Neighbors of each sample in the graph that the map preserves.
    scaling : {"auto", "none", "samples", "features", "counts"}, default="auto"
        "samples" standardizes each sample, "features" each feature; "counts" (of words, of reads of genes) brings
        samples to the same total, takes log(1 + x), and brings them to unit length. "auto" is "counts" for integers
        most of which are 0 and a few very large, "features" if these are in different units, else "none".
    sample_graph : "knn", Graph or matrix, default="knn"
        "knn" builds the graph from the data; a Graph or its weight matrix is used as given. :meth:`fit` takes the graph
        of a fitted model, too.
    neighbors : {"auto", "exact", "approximate"}, default="auto"
        Neighbor search. "approximate" has a recall of about 0.98; "auto" is exact if that takes about a second.
    robust_graphs : bool, "ends" or "auto", default="auto"
        Whether cellwise outliers are imputed for distances, as in :class:`CompressiveClustering`.
    n_epochs : int or "auto", default="auto"
        Passes over all samples that refine the map; "auto" is 60 to 300, fewer for many samples.
    n_jobs : int or None, default=None
        Number of threads; None for every core. The answer does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of sampling, random repulsion and approximate search.
    verbose : int, default=0
        1 reports the stages on standard error.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Positions of the training samples: centered, widest along the first axis.
    sample_graph_, n_iter_ : Graph, int
        Graph used; epochs of the refinement.
    points_ : (n_samples, n_features) dense or sparse
        Scaled data with missing values, and filtered outliers, imputed: what new samples are compared with.
    report_, stage_seconds_ : FitReport, dict
        What was chosen and why; seconds of each stage.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from graphlowrank import CompressiveEmbedding
    >>> CompressiveEmbedding(random_state=0).fit_transform(load_digits().data).shape
    (1797, 2)
    """

    n_components: int = 2
    _: KW_ONLY
    n_neighbors: int = 15
    scaling: str = "auto"
    sample_graph: Graph | MatrixLike | Literal["knn"] = "knn"
    neighbors: str = "auto"
    robust_graphs: bool | Literal["ends", "auto"] = "auto"
    n_epochs: int | Literal["auto"] = "auto"
    n_jobs: int | None = None
    random_state: RandomState = None
    verbose: int = 0

    _accepts_missing = True
    _accepts_sparse = True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _options(self) -> Options:
        check_count(self.n_components, "n_components", at_most=MAX_DIMENSIONS, what="dimensions of a map")
        check_count(self.n_neighbors, "n_neighbors")
        if not is_auto(self.n_epochs):
            check_count(self.n_epochs, "n_epochs")
        if self.sample_graph is None:
            raise ValueError("sample_graph must be 'knn', a Graph or a weight matrix: a map needs neighbors.")
        return super()._options()

    @fits_large
    def fit(
        self, X: MatrixLike, y: object = None, *, mask: ArrayLike | None = None, model: GraphEstimator | None = None
    ) -> Self:
        """Find the map of the samples in ``X``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data. A sparse matrix is never made dense as a whole. NaN marks a missing value of dense data, and is
            imputed.
        y : ignored
            For scikit-learn.
        mask : array-like of bool of shape (n_samples, n_features) or None
            True where an entry is observed; the others are treated like NaN.
        model : estimator of this package, fitted to the same samples, or None
            Its sample graph is used, and no neighbors are searched; from :class:`CompressiveClustering` and this class
            the prepared samples, too. ``n_neighbors`` counts the nearest in its graph, and ``scaling``,
            ``robust_graphs`` and ``neighbors`` have no influence on these.
        """
        options = self._options()
        data = self._check_training_data(X, options, mask)
        shared = None if model is None else _neighborhood(model, data)
        if model is not None and shared is None:
            options = Options.of(self.get_params(deep=False) | {"sample_graph": _graph(model, data)})
        found: Embedding = self._run(options, lambda run: embed(data, run, self.n_epochs, shared))
        near = found.neighborhood
        self.embedding_, self.n_iter_, self.sample_graph_ = found.positions, found.n_epochs, near.graph
        self._n_neighbors, self._seed = min(self.n_neighbors, len(found.positions) - 1), found.seed
        self._store_points(near.points, near.scaling)
        self._own_data(data, X)
        self._summarize(data, found.choices)
        return self

    def fit_transform(
        self,
        X: MatrixLike,
        y: object = None,
        *,
        mask: ArrayLike | None = None,
        model: GraphEstimator | None = None,
    ) -> Array:
        """Find the map of the samples in ``X``, and return it: ``embedding_``."""
        return self.fit(X, y, mask=mask, model=model).embedding_

    @row_wise
    def transform(self, X: MatrixLike) -> Array:
        """Positions (n_samples, n_components) of samples on the map, which stays as it is.

        A sample starts at the mean of its nearest training samples, weighted as in the graph, and is refined by the
        forces of the layout. A copy of a training sample gets its position.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples; missing values (NaN) are imputed.
        """
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        with limit_threads(self.n_jobs):
            positions = vars(self).get("_point_positions", getattr(self, "embedding_", None))
            return place_new(*self._nearest(X, self._n_neighbors), self.points_, positions, self._seed)

    def _extend_attributes(self, source: Source) -> None:
        self._point_positions = self.embedding_
        self.embedding_ = self.extend("transform", source)

    def _chunk_attributes(self, source: Source) -> None:
        self._point_positions = self.embedding_
        self.embedding_ = chunked(self.embedding_, source)

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])


def _neighborhood(model: GraphEstimator, X: Data) -> Neighborhood | None:
    """Graph and points of a fitted model; None if it keeps no points."""
    if not isinstance(model, ComparesSamples):
        return None
    graph, (points, scaling) = _graph(model, X), model.prepared()
    return Neighborhood(graph, points, scaling, ())


def _graph(model: GraphEstimator, X: Data) -> Graph:
    """Sample graph of a model fitted to data of this shape."""
    check_is_fitted(model)
    graph = getattr(model, "sample_graph_", None)
    if not isinstance(graph, Graph):
        raise ValueError(f"model has no sample graph; got {model!r}.")
    shape = graph.n_nodes, model.n_features_in_
    if shape != X.shape:
        raise ValueError(f"model was fitted to data of shape {shape}, and X has shape {tuple(X.shape)}.")
    return graph
