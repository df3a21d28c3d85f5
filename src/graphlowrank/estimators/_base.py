"""What the estimators share: validation, threads and progress of a run, the report, transform.

The parameters of an estimator are the fields of a dataclass, those that a family of estimators shares are in its base
class: scikit-learn reads them from the generated ``__init__``. Each estimator's docstring describes all of them.
"""

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any, Literal, Self, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from .._checks import check_unit, largest_entry, without_mask
from .._progress import Progress
from .._threads import limit_threads
from .._typing import AXES, Array, MatrixLike, RandomState
from ..auto import Choice
from ..decoders import LowRankMatrix
from ..decoders.scores import component_samples, component_scores
from ..graphs import Graph, as_graph
from ..graphs.blocks import Workspace
from ..linalg.blocks import map_row_blocks
from ..linalg.svd import leading_svd
from ..models.checks import check_mask
from ..options import Options, check_count, check_number, is_auto
from ..outofcore.extension import chunked
from ..outofcore.sources import Source, is_lazy
from ..outofcore.two_level import low_rank_of_scores
from ..preprocessing import Data, as_shifted_sparse, has_missing, is_sparse
from ..preprocessing.missing import check_observed
from ..preprocessing.sparse import canonical_csr
from ..records import Compressed, LossWeights, Run
from ..sampling import check_indices
from ._large import FitsLarge, fits_large, row_wise
from .fit_report import FitReport, graph_summary
from .persistence import save

Result = TypeVar("Result")

DTYPES = [np.float64, np.float32]


class GraphEstimator(FitsLarge, BaseEstimator):
    """Validates input and options, and runs the pipeline with the estimator's threads, seed and progress."""

    random_state: RandomState
    verbose: int
    stage_seconds_: dict[str, float]
    _fit_summary: dict[str, Any]

    # What X may be, besides dense and complete.
    _accepts_missing = False
    _accepts_sparse = False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._accepts_missing
        tags.input_tags.sparse = self._accepts_sparse
        return tags

    def _options(self) -> Options:
        """Options of the pipeline among this estimator's parameters, checked."""
        return Options.of(self.get_params(deep=False))

    def _large_options(self) -> Options:
        return self._options()

    def _validated(self, X: MatrixLike, mask: ArrayLike | None = None, **options: Any) -> Any:
        """Check the data by scikit-learn with its ``options``; entries that a mask excludes become NaN."""
        X = without_mask(X)
        if sp.issparse(X) and mask is not None:
            raise ValueError("mask needs dense data: entries that a sparse matrix does not store are zeros.")
        finite: Any = "allow-nan" if self._accepts_missing and not sp.issparse(X) else True
        accepted: Any = "csr" if self._accepts_sparse else False
        options = {"accept_sparse": accepted, "ensure_all_finite": finite if mask is None else False} | options
        with np.errstate(over="ignore", invalid="ignore"):  # in the sum by which scikit-learn looks for NaN
            X = validate_data(self, X, dtype=DTYPES, order="C", **options)
        may_be_small = not options.get("reset", True)
        if sp.issparse(X):
            check_unit(largest_entry(X.data), X.dtype, may_be_small=may_be_small)
            return as_shifted_sparse(X) if self._accepts_sparse else canonical_csr(X)
        observed = check_mask(mask, X.shape)
        if observed is not None:
            if not np.isfinite(X).all(where=observed):
                raise ValueError("X contains NaN or infinity where the mask is True (observed).")
            X = X if observed.all() else np.where(observed, X, X.dtype.type(np.nan))
        with limit_threads(self.n_jobs):
            check_unit(max(map_row_blocks(largest_entry, X)), X.dtype, may_be_small=may_be_small)
            if has_missing(X):
                check_observed(X, ["sample"])
        return X

    def _check_training_data(
        self, X: MatrixLike, options: Options, mask: ArrayLike | None = None, **checks: Any
    ) -> Any:
        """Validate the training data, by scikit-learn with its ``checks``, and the graphs and indices given with it."""
        X = self._validated(X, mask, ensure_min_samples=2, **checks)
        if has_missing(X):
            check_observed(X)
            if options.decoder_record.needs_complete:
                raise ValueError(f"decoder={options.decoder!r} projects the data, which must have no missing values.")
        n_samples, n_neighbors = X.shape[0], options.n_neighbors
        builds = isinstance(options.sample_graph, str) and options.needs_graph("sample")
        if builds and not is_auto(n_neighbors) and n_samples <= int(n_neighbors):
            warnings.warn(
                f"n_neighbors={n_neighbors} is lowered to {n_samples - 1}: there are only {n_samples} samples.",
                stacklevel=3,
            )
        for axis, n, given in zip(AXES, X.shape, options.given_indices(), strict=True):
            graph = options.graph_of(axis)
            if graph is not None and not isinstance(graph, str):
                as_graph(graph, n, name=f"{axis}_graph")
            if given is not None:
                check_indices(given, n, name=f"{axis}_indices")
        return X

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model, fitted or not, to one file that :func:`graphlowrank.load` reads.

        Parameters
        ----------
        path
            File to write, under exactly this name; missing folders are created. An existing file is replaced only once
            the new one is complete. It stays if saving fails: TypeError if a value cannot be stored, such as a
            function, OSError if the file cannot be written. Attributes that are dask arrays are not stored: write them
            by their ``to_zarr``.
        """
        save(self, path)

    @property
    def report_(self) -> FitReport:
        """What the fit decided and why, its graphs, convergence and times; prints as a table."""
        check_is_fitted(self)
        graphs = {"samples": getattr(self, "sample_graph_", None), "features": getattr(self, "feature_graph_", None)}
        return FitReport(
            type(self).__name__,
            self._fit_summary["data"],
            tuple(self._fit_summary["choices"]),
            tuple(graph_summary(axis, graph) for axis, graph in graphs.items() if graph is not None),
            getattr(self, "n_iter_", 0),
            getattr(self, "converged_", True),
            self.stage_seconds_,
            getattr(self, "alternatives_", ()),
            self,
        )

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any]:
        """Show the parameters in a notebook, and a small report of the fit if there was one."""
        bundle: dict[str, Any] = super()._repr_mimebundle_(**options)
        if "text/html" in bundle and hasattr(self, "_fit_summary"):
            bundle["text/html"] += self.report_.summary_html()
        return bundle

    def _repr_html_inner(self) -> str:
        """Return the same for callers of ``_repr_html_``, which scikit-learn makes a property."""
        return str(self._repr_mimebundle_()["text/html"])

    def _run(self, options: Options, work: Callable[[Run], Result], workspace: Workspace | None = None) -> Result:
        """Call ``work`` with the options, seed and progress of this fit; store the seconds of each stage."""
        run = Run(options, check_random_state(self.random_state), Progress(self.verbose), workspace)
        with limit_threads(options.n_jobs):
            result = work(run)
        self.stage_seconds_ = run.progress.seconds
        return result

    def _summarize(self, X: Data, choices: Iterable[Choice] = ()) -> None:
        """Store what :attr:`report_` shows."""
        kind = ", sparse" if is_sparse(X) else ""
        if has_missing(X):
            kind = f", {np.isnan(X).mean():.1%} of the entries missing"  # type: ignore[arg-type]
        shape = f"{X.shape[0]} samples x {X.shape[1]} features"
        self._fit_summary = {"data": shape + kind, "choices": tuple(choices)}


@dataclass(eq=False, repr=False, kw_only=True)
class PipelineEstimator(GraphEstimator):
    """Fits by a function of the pipeline."""

    gamma_samples: float | Literal["auto"] = "auto"
    gamma_features: float | Literal["auto"] = "auto"
    loss: str = "l1"
    huber_delta: float = 1.0
    sample_graph: Graph | MatrixLike | Literal["knn"] | None = "knn"
    feature_graph: Graph | MatrixLike | Literal["knn"] | None = "knn"
    neighbors: str = "auto"
    robust_graphs: bool | Literal["ends", "auto"] = "auto"
    laplacian: str = "auto"
    max_iter: int = 1000
    n_jobs: int | None = None
    random_state: RandomState = None
    verbose: int = 0

    _accepts_missing = True

    def _fit(self, X: Any, weights: LossWeights, options: Options) -> list[Choice]:
        """Call the pipeline with checked data, store the answer, and return the choices to report."""
        raise NotImplementedError

    @fits_large
    def fit(
        self,
        X: MatrixLike,
        y: object = None,
        *,
        sample_loss_weight: ArrayLike | None = None,
        feature_loss_weight: ArrayLike | None = None,
        mask: ArrayLike | None = None,
        **renamed: ArrayLike | None,
    ) -> Self:
        """Fit the model to ``X``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data (FastRobustPCAOnGraphs: dense). A sparse matrix is never made dense as a whole. NaN marks a missing
            value of dense data: it has no weight in the loss, and is imputed for the graphs.
        y : ignored
            For scikit-learn.
        sample_loss_weight : array-like of shape (n_samples,) or None
            Weights in the loss, >= 0; only ratios matter. They are not scikit-learn's ``sample_weight``, the number of
            copies of a sample: one of weight 0 is still a node of the graph. Solvers other than "frpcag" take none.
        feature_loss_weight : array-like of shape (n_features,) or None
            The same for features.
        mask : array-like of bool of shape (n_samples, n_features) or None
            True where an entry is observed; the others are treated like NaN.
        **renamed
            ``sample_weight`` and ``feature_weight``, the former names of the weights.
        """
        for old in renamed:
            if old not in ("sample_weight", "feature_weight"):
                raise TypeError(f"{type(self).__name__}.fit() got an unexpected keyword argument {old!r}")
            warnings.warn(f"{old} was renamed {old.replace('_', '_loss_')}.", FutureWarning, stacklevel=2)
        sample_loss_weight = renamed.get("sample_weight", sample_loss_weight)
        feature_loss_weight = renamed.get("feature_weight", feature_loss_weight)
        options = self._options()
        data = self._check_training_data(X, options, mask)
        samples = _check_weights(sample_loss_weight, data.shape[0], "sample_loss_weight", options)
        features = _check_weights(feature_loss_weight, data.shape[1], "feature_loss_weight", options)
        self._summarize(data, self._fit(data, LossWeights(samples, features), options))
        self._own_data(data, X)
        return self

    def _own_data(self, data: Data, given: MatrixLike) -> None:
        """Copy the checked data if the model keeps them: they may be what the caller gave, and may change later."""

    def _store_compressed(self, compressed: Compressed, *, n_iter: int, converged: bool) -> None:
        self.sample_indices_ = compressed.samples.indices
        self.feature_indices_ = compressed.features.indices
        self.sample_weights_ = compressed.samples.weights
        self.feature_weights_ = compressed.features.weights
        self.sample_graph_ = compressed.samples.graph
        self.feature_graph_ = compressed.features.graph
        self.n_iter_ = n_iter
        self.converged_ = converged
        self.scale_ = compressed.block.scale


class ComponentTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, GraphEstimator):
    """``inverse_transform`` on fitted components; each model defines its ``transform``."""

    n_components: int | None
    components_: Array
    offset_: Array
    feature_scale_: Array | None = None  # units of the features, if they were scaled

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def _check_n_components(self, at_most: int, what: str = "samples or features") -> None:
        if self.n_components is not None:
            check_count(self.n_components, "n_components", at_most=at_most, what=what)

    @row_wise
    def inverse_transform(self, X: ArrayLike) -> Array:
        """Return the samples (n_samples, n_features) with the scores ``X``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components_)
            Scores.
        """
        check_is_fitted(self)
        scores = check_array(without_mask(X), dtype=DTYPES)
        if scores.shape[1] != len(self.components_):
            raise ValueError(
                f"X has {scores.shape[1]} scores per sample, but the model has {len(self.components_)} components."
            )
        return component_samples(scores, self.components_, self.offset_, self.feature_scale_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class LowRankTransformer(ComponentTransformer):
    """Robust scores on the components of a low-rank matrix."""

    low_rank_: Any
    scale_: float
    loss: str
    huber_delta: float
    n_jobs: int | None

    @row_wise
    def transform(self, X: MatrixLike) -> Array:
        """Scores (n_samples, n_components_) of samples on the components, by regression with the model's loss.

        Each sample is fitted on its own, so outliers in it are ignored as in training ("l1" and "huber"), and training
        samples are treated like new ones. The graph-smoothed scores of the training samples are
        ``low_rank_.scores`` (CompressivePCA).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples; missing values (NaN) are ignored.
        """
        check_is_fitted(self)
        return self._scores(self._validated(X, reset=False))

    def fit_transform(
        self, X: MatrixLike, y: object = None, *, mask: ArrayLike | None = None, **fit_params: Any
    ) -> Array:
        """Fit the model, and return the scores of its samples as :meth:`transform` does."""
        self.fit(X, y, mask=mask, **fit_params)
        if is_lazy(X):
            return self.transform(X)
        return self._scores(self._validated(X, mask, reset=False))

    def _scores(self, X: Data) -> Array:
        check_number(self.huber_delta, "huber_delta")
        delta = min(self.huber_delta * self.scale_, float(np.finfo(np.float64).max))
        with limit_threads(self.n_jobs):
            return component_scores(
                X, self.components_, self.offset_, self.feature_scale_, loss=self.loss, huber_delta=delta
            )

    def _extend_attributes(self, source: Source) -> None:
        """Replace the matrix of the samples that were fitted by that of all: its scores are those of transform."""
        scores = self.extend("transform", source)
        self.low_rank_ = low_rank_of_scores(scores, self.components_, self.offset_, self.feature_scale_)
        self.singular_values_ = self.low_rank_.singular_values
        self.components_, self.offset_ = self.low_rank_.right.T, self.low_rank_.offset
        self.n_components_ = self.low_rank_.rank
        self.__dict__.pop("sparse_", None)  # of the samples that were fitted

    def _chunk_attributes(self, source: Source) -> None:
        if isinstance(self.low_rank_, LowRankMatrix):
            self.low_rank_ = replace(self.low_rank_, left=chunked(self.low_rank_.left, source))

    def _store_low_rank(self, low_rank: Array) -> None:
        """Store the matrix, and its leading directions around its mean."""
        self.low_rank_ = low_rank
        self.offset_ = low_rank.mean(axis=0, dtype=np.float64).astype(low_rank.dtype)
        _, values, right = leading_svd(low_rank - self.offset_, self.n_components)
        self.components_ = right.T
        self.singular_values_ = values
        self.n_components_ = len(values)


def _check_weights(given: ArrayLike | None, n: int, name: str, options: Options) -> Array | None:
    """Weights (n,) of the loss with mean 1: only ratios matter, so gammas keep their meaning."""
    if given is None:
        return None
    if not options.small_solver.takes_weights:
        raise ValueError(f"{name} needs solver='frpcag': {options.solver!r} has no weights in its loss.")
    weights = np.asarray(without_mask(given), dtype=np.float64)
    if weights.shape != (n,):
        raise ValueError(f"{name} must have shape {(n,)}, got {weights.shape}.")
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError(f"{name} must hold finite numbers >= 0.")
    if not weights.any():
        raise ValueError(f"{name} is zero everywhere.")
    weights = np.ldexp(weights, -np.frexp(weights.max())[1])  # exact; otherwise the mean of large ones is infinite
    return weights / weights.mean()
