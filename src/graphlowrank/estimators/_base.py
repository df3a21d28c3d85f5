"""What the estimators have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import fields
from numbers import Real
from typing import Any, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from .._backend import Array
from .._progress import Progress
from .._threads import limit_threads
from ..choices import Choice, FitReport, health
from ..gamma_choice import GammaChoice
from ..graphs import as_graph
from ..linalg.svd import leading_svd
from ..models.regression import robust_scores
from ..sampling import check_indices
from ..settings import AUTO_RANK, Settings
from ..small_problem import SmallProblem

Result = TypeVar("Result")

DTYPES = [np.float64, np.float32]


class GraphEstimator(BaseEstimator):
    """Checks input and settings, and runs a pipeline under the estimator's threads and progress."""

    random_state: Any
    verbose: int
    stage_seconds_: dict[str, float]
    _said: dict[str, Any]
    sample_graph: Any
    n_neighbors: Any

    def _settings(self) -> Settings:
        """Build the shared options from this estimator's parameters."""
        names = [field.name for field in fields(Settings) if field.name in self.get_params(deep=False)]
        return Settings(**{name: getattr(self, name) for name in names})

    def _check_training_data(self, X: Any, settings: Settings, **options: Any) -> Any:
        """Validate the data, by scikit-learn with its ``options``, and what the user gave to go with them."""
        X = validate_data(self, X, dtype=DTYPES, order="C", ensure_min_samples=2, **options)
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
        self._said = {"data": f"{X.shape[0]} samples x {X.shape[1]} features", "choices": tuple(choices)}

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
        return X @ self.components_.astype(X.dtype) + self.offset_.astype(X.dtype)

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

    def transform(self, X: Any) -> Array:
        """Scores of samples on the components, by regression under the model's loss.

        Each sample is fitted on its own, so gross errors in it are ignored as in training ("l1" and "huber"), and
        training samples are treated like new ones. The graph-smoothed scores of the training samples are
        ``low_rank_.scores`` (CompressivePCA).

        Parameters
        ----------
        X
            (n_samples, n_features).

        Returns
        -------
        scores
            (n_samples, n_components_).
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=DTYPES, reset=False)
        delta = self.huber_delta * self.scale_
        return robust_scores(
            X - self.offset_.astype(X.dtype), self.components_.astype(X.dtype), loss=self.loss, huber_delta=delta
        )

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
            *settings.choices(len(X), X.shape[1], kind),
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


def check_number(value: Any, name: str, *, at_most: float = np.inf) -> None:
    """Raise unless ``value`` is a finite number between 0 and ``at_most``."""
    number = isinstance(value, Real) and not isinstance(value, bool)
    if not (number and np.isfinite(float(value)) and 0 <= float(value) <= at_most):
        limits = ">= 0" if at_most == np.inf else f"between 0 and {at_most:g}"
        raise ValueError(f"{name} must be a number {limits}; got {value!r}.")
