"""What the estimators have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import fields
from numbers import Real
from os import PathLike
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from .._backend import Array
from .._progress import Progress
from .._threads import limit_threads, single_threaded_libraries
from ..auto.choice import Choice
from ..auto.gammas import GammaChoice
from ..graphs import as_graph
from ..linalg.svd import leading_svd
from ..models.checks import check_mask
from ..models.regression import robust_scores
from ..options import AUTO_RANK, Settings
from ..preprocessing.missing import check_all_observed_somewhere, has_gaps
from ..preprocessing.sparse import Data, ShiftedSparse, as_shifted_sparse, dense_rows, some_rows
from ..sampling import check_indices
from ..small_problem import SmallProblem, Weights
from .fit_report import FitReport, health
from .persistence import save

Result = TypeVar("Result")

DTYPES = [np.float64, np.float32]
SCORED_TOGETHER = 4_000_000  # entries of sparse samples that are made dense at a time


class GraphEstimator(BaseEstimator):
    """Checks input and settings, and runs a pipeline under the estimator's threads and progress."""

    random_state: Any
    verbose: int
    stage_seconds_: dict[str, float]
    _said: dict[str, Any]
    sample_graph: Any
    n_neighbors: Any

    # What the estimator's X may be, besides dense and complete.
    _takes_gaps = False
    _takes_sparse = False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._takes_gaps
        tags.input_tags.sparse = self._takes_sparse
        return tags

    def _settings(self) -> Settings:
        """Build the shared options from this estimator's parameters."""
        names = [field.name for field in fields(Settings) if field.name in self.get_params(deep=False)]
        return Settings(**{name: getattr(self, name) for name in names})

    def _validated(self, X: Any, mask: Any = None, **options: Any) -> Any:
        """Return data as the pipeline takes them, checked by scikit-learn with its ``options``.

        Sparse data become :class:`~graphlowrank.preprocessing.sparse.ShiftedSparse`, entries that a ``mask`` hides
        NaN.
        """
        if sp.issparse(X) and mask is not None:
            raise ValueError("a mask is for dense data: entries that a sparse matrix does not store are zeros.")
        finite: Any = "allow-nan" if self._takes_gaps and not sp.issparse(X) else True
        accepted: Any = "csr" if self._takes_sparse else False
        options = {"accept_sparse": accepted, "ensure_all_finite": finite if mask is None else False} | options
        X = validate_data(self, X, dtype=DTYPES, order="C", **options)
        if self._takes_sparse and sp.issparse(X):
            return as_shifted_sparse(X)
        mask = check_mask(mask, X.shape)
        if mask is not None:
            if not np.isfinite(X).all(where=mask):
                raise ValueError("X contains NaN or infinity where the mask says that it is observed.")
            X = X if mask.all() else np.where(mask, X, X.dtype.type(np.nan))
        return X

    def _check_training_data(self, X: Any, settings: Settings, mask: Any = None, **options: Any) -> Any:
        """Validate the data, by scikit-learn with its ``options``, and what the user gave to go with them."""
        X = self._validated(X, mask, ensure_min_samples=2, **options)
        if has_gaps(X):
            check_all_observed_somewhere(X)
            settings.check_decodes_gaps()
        n_samples = X.shape[0]
        if isinstance(self.sample_graph, str) and settings.needs_graph("sample") and n_samples <= settings.n_neighbors:
            raise ValueError(
                f"n_neighbors={settings.n_neighbors} needs at least {settings.n_neighbors + 1} samples, got "
                f"n_samples={n_samples}; lower n_neighbors."
            )
        # What the user gave is checked now, not after the first graph has been built.
        for side, n in zip(("sample", "feature"), X.shape, strict=True):
            graph = getattr(self, f"{side}_graph", None)
            if graph is not None and not isinstance(graph, str):
                as_graph(graph, n, name=f"{side}_graph")
        for side, n, given in zip(("sample", "feature"), X.shape, settings.given_indices(), strict=True):
            if given is not None:
                check_indices(given, n, name=f"{side}_indices")
        return X

    def _check_weights(self, settings: Settings, X: Any, sample_weight: Any, feature_weight: Any) -> Weights:
        """Weights of the loss, with mean 1: their ratios count, the gammas keep their meaning."""
        found = []
        for name, given, n in zip(
            ("sample_weight", "feature_weight"), (sample_weight, feature_weight), X.shape, strict=True
        ):
            found.append(None if given is None else checked_weights(given, n, name))
            if given is not None and settings.solver != "frpcag":
                raise ValueError(f"{name} is for solver='frpcag': {settings.solver!r} has no weights in its loss.")
        return Weights(*found)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model, fitted or not, to one file that :func:`graphlowrank.load` reads."""
        save(self, path)

    @property
    def report_(self) -> FitReport:
        """What the fit decided and why, its graphs, convergence and times; prints as a table."""
        check_is_fitted(self)
        sides = (("samples", getattr(self, "sample_graph_", None)), ("features", getattr(self, "feature_graph_", None)))
        return FitReport(
            type(self).__name__,
            self._said["data"],
            tuple(self._said["choices"]),
            tuple(health(side, graph) for side, graph in sides if graph is not None),
            getattr(self, "n_iter_", 0),
            getattr(self, "converged_", True),
            self.stage_seconds_,
        )

    def _say(self, X: Any, choices: Iterable[Choice] = ()) -> None:
        """Keep what :attr:`report_` is to tell."""
        kind = ", sparse" if isinstance(X, ShiftedSparse) else ""
        if has_gaps(X):
            kind = f", {np.isnan(X).mean():.1%} of the entries missing"
        self._said = {"data": f"{X.shape[0]} samples x {X.shape[1]} features{kind}", "choices": tuple(choices)}

    def _run(
        self, settings: Settings, work: Callable[[np.random.RandomState, Progress], Result]
    ) -> tuple[Result, Progress]:
        """Run ``work(rng, progress)``; times of its stages are in the returned progress."""
        progress = Progress(self.verbose)
        with limit_threads(settings.n_jobs):
            return work(check_random_state(self.random_state), progress), progress

    def _store(self, problem: SmallProblem, progress: Progress, *, n_iter: int, converged: bool) -> None:
        self.sample_indices_ = problem.samples.indices
        self.feature_indices_ = problem.features.indices
        self.sample_weights_ = problem.samples.weights
        self.feature_weights_ = problem.features.weights
        self.sample_graph_ = problem.samples.graph
        self.feature_graph_ = problem.features.graph
        self.n_iter_ = n_iter
        self.converged_ = converged
        self.scale_ = problem.block.scale
        self.stage_seconds_ = progress.seconds


class ComponentTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, GraphEstimator):
    """``inverse_transform`` on fitted components; what ``transform`` does is for each model to say."""

    components_: Array
    offset_: Any
    feature_scale_: Array | None = None  # units of the features, where the model has its own

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def inverse_transform(self, X: Any) -> Array:
        """Return the samples (n_samples, n_features) that have the scores ``X`` (n_samples, n_components_)."""
        check_is_fitted(self)
        X = check_array(X, dtype=DTYPES)
        if X.shape[1] != len(self.components_):
            raise ValueError(
                f"X has {X.shape[1]} scores per sample, but the model has {len(self.components_)} components."
            )
        samples = X @ self.components_.astype(X.dtype)
        if self.feature_scale_ is not None:
            samples *= self.feature_scale_.astype(X.dtype)
        return samples + self.offset_.astype(X.dtype)

    def _check_n_components(self, n_components: int | None, *, at_most: int, what: str) -> int:
        """Return how many components to find where the model cannot tell by itself."""
        if n_components is None:
            return min(AUTO_RANK, at_most)
        check_count(n_components, "n_components", at_most=at_most, what=what)
        return int(n_components)

    n_components: int | None

    def _rank_choice(self, k: int, reason: str = "a common choice, or as many as there can be") -> Choice:
        return Choice("n_components", k, reason if self.n_components is None else "as asked")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class LowRankTransformer(ComponentTransformer):
    """Robust scores on the components of a low-rank matrix."""

    low_rank_: Any
    scale_: float
    loss: Any
    huber_delta: float
    n_jobs: int | None

    def transform(self, X: Any) -> Array:
        """Scores of samples on the components, by regression under the model's loss.

        Each sample is fitted on its own, so gross errors in it are ignored as in training ("l1" and "huber"), and
        training samples are treated like new ones. The graph-smoothed scores of the training samples are
        ``low_rank_.scores`` (CompressivePCA).

        Parameters
        ----------
        X
            (n_samples, n_features); missing entries (NaN) have no say.

        Returns
        -------
        scores
            (n_samples, n_components_).
        """
        check_is_fitted(self)
        return self._scores(self._validated(X, reset=False))

    def fit_transform(self, X: Any, y: Any = None, *, mask: Any = None, **fit_params: Any) -> Array:
        """Fit the model, and return the scores of its samples as :meth:`transform` would."""
        self.fit(X, y, mask=mask, **fit_params)
        return self._scores(self._validated(X, mask, reset=False))

    def _scores(self, X: Data) -> Array:
        rows = some_rows(X.shape[1], SCORED_TOGETHER, at_most=max(len(X), 1))
        with limit_threads(self.n_jobs), single_threaded_libraries():  # the same rounding whatever their number
            return np.concatenate(
                [self._scores_of(dense_rows(X[start : start + rows])) for start in range(0, len(X), rows)]
            )

    def _scores_of(self, X: Array) -> Array:
        centred = X - self.offset_.astype(X.dtype)
        if self.feature_scale_ is not None:
            centred /= self.feature_scale_.astype(X.dtype)
        delta = self.huber_delta * self.scale_
        return robust_scores(centred, self.components_.astype(X.dtype), loss=self.loss, huber_delta=delta)

    gamma_samples: Any
    gamma_features: Any
    n_components_: int

    def _choices(self, X: Array, settings: Settings, chosen: GammaChoice | None = None) -> list[Choice]:
        """Tell what was chosen; ``chosen`` are gammas and rank that predict hidden entries."""
        kind = settings.laplacian_kind("combinatorial")
        gammas = settings.gammas(kind) if chosen is None else (chosen.gamma_samples, chosen.gamma_features)
        self.gamma_samples_, self.gamma_features_ = gammas
        why = "fixed" if chosen is None else f"predicts hidden entries best of {len(chosen.tried)} pairs tried"
        if chosen is not None and not chosen.tried:
            why = chosen.reason
        counted = "singular values of the compressed matrix of at least a tenth of the first"
        if chosen is not None and chosen.rank is not None:
            counted = "singular values above those of the noise"
        return [
            self._rank_choice(self.n_components_, counted),
            *settings.choices(X.shape[0], X.shape[1], kind),
            *(
                Choice(name, value, why if getattr(self, name) == "auto" else "as asked")
                for name, value in zip(("gamma_samples", "gamma_features"), gammas, strict=True)
            ),
            Choice("loss", self.loss, "as asked"),
        ]

    def _store_low_rank(self, low_rank: Array, n_components: int | None) -> None:
        """Keep the matrix, and its leading directions around its mean."""
        self.low_rank_ = low_rank
        self.offset_ = low_rank.mean(axis=0, dtype=np.float64).astype(low_rank.dtype)
        _, values, right = leading_svd(low_rank - self.offset_, n_components)
        self.components_ = right.T
        self.singular_values_ = values
        self.n_components_ = len(values)


def check_count(value: Any, name: str, *, at_most: int, what: str) -> None:
    """Raise unless ``value`` is a whole number between 1 and ``at_most``."""
    if isinstance(value, bool) or not (isinstance(value, (int, np.integer)) and value >= 1):
        raise ValueError(f"{name} must be a positive whole number; got {value!r}.")
    if value > at_most:
        raise ValueError(f"{name}={value} is more than the {at_most} {what}.")


def checked_weights(given: Any, n: int, name: str) -> Array:
    """Weights (n,) over their mean, or an error that says what is wrong with them."""
    weights = np.asarray(given, dtype=np.float64)
    if weights.shape != (n,):
        raise ValueError(f"{name} must have shape {(n,)}, got {weights.shape}.")
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError(f"{name} must hold finite numbers >= 0.")
    if not weights.any():
        raise ValueError(f"{name} is zero everywhere: nothing would count.")
    return weights / weights.mean()


def check_number(value: Any, name: str, *, at_most: float = np.inf) -> None:
    """Raise unless ``value`` is a finite number between 0 and ``at_most``."""
    number = isinstance(value, Real) and not isinstance(value, bool)
    if not (number and np.isfinite(float(value)) and 0 <= float(value) <= at_most):
        limits = ">= 0" if at_most == np.inf else f"between 0 and {at_most:g}"
        raise ValueError(f"{name} must be a number {limits}; got {value!r}.")
