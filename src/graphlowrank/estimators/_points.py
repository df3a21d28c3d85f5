"""Models that keep their training samples, and compare new samples with them."""

from typing import Self

import numpy as np
from numpy.random import RandomState as Generator

from .._typing import Array, MatrixLike
from ..graphs.cell_index import EXACT_POINTS, CellIndex
from ..graphs.search import nearest_to
from ..preprocessing import Data, LowRankImputer, OutlierFilter, Scaling, fit_imputer, has_missing, is_sparse
from ..preprocessing.sparse import like, own_copy
from ..records import Points


class ComparesSamples:
    """Keeps ``points_``, what distances are computed from, and prepares new samples like them."""

    points_: Data
    _scaling: Scaling
    _distance_model: LowRankImputer | OutlierFilter | None
    _n_neighbors: int
    neighbors: str
    _index: CellIndex | None = None  # of the points, where labels of very many rows are asked for

    def _store_points(self, points: Points, scaling: Scaling) -> None:
        self.points_, self._distance_model, self._scaling = points.X, points.model, scaling

    def prepared(self) -> tuple[Points, Scaling]:
        """Return the training points, and how they were prepared."""
        return Points(self.points_, self._distance_model), self._scaling

    def _own_data(self, data: Data, given: MatrixLike) -> None:
        """Copy the checked data if the model keeps them: they may be what the caller gave, and may change later."""
        if self.points_ is data:
            self.points_ = own_copy(data, given)

    def _nearest(self, X: Data, n_neighbors: int) -> tuple[Array, Array]:
        """Distances and indices (n, k) of the training points nearest to new samples."""
        X, k = self._points_of_new(X), min(n_neighbors, len(self.points_))
        return nearest_to(X, self.points_, k) if self._index is None else self._index.query(np.asarray(X), k)

    def _without_large(self) -> Self:
        """Return the model with an index of its points, if there are many: it answers for very many rows."""
        small = super()._without_large()  # type: ignore[misc]
        if isinstance(self.points_, np.ndarray) and len(self.points_) > EXACT_POINTS and self.neighbors != "exact":
            vars(small)["_index"] = CellIndex.build(self.points_, int(self._n_neighbors), random_state=0)
        return small

    def _points_of_new(self, X: Data) -> Data:
        """Return new samples scaled and imputed like the training samples."""
        if is_sparse(self.points_) and has_missing(X):
            raise ValueError("the model was fitted to sparse data, so new samples must have no NaN.")
        X, training, model = like(X, self.points_), self.points_, self._distance_model
        if is_sparse(X) or is_sparse(training):
            return self._scaling.apply(X)
        if isinstance(model, OutlierFilter) and model.at_ends:  # of the data before they were scaled
            return self._scaling.apply(model.apply(X))
        scaled = self._scaling.apply(X)
        if model is None and has_missing(scaled):  # the training data were complete
            model = self._distance_model = fit_imputer(training, Generator(0))
        return scaled if model is None or is_sparse(scaled) else model.apply(scaled)
