"""Fits of data that do not fit in memory, and answers for them, row by row: see :mod:`graphlowrank.outofcore`."""

from collections.abc import Callable
from copy import copy
from functools import partial, wraps
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .._progress import Progress
from .._threads import resolve_n_jobs
from .._typing import Array, RandomState
from ..auto import Choice
from ..options import Options
from ..outofcore.checks import float_type
from ..outofcore.extension import block_tasks, extended, reduced_blocks
from ..outofcore.method import Task, choose_method
from ..outofcore.settings import Settings, current_settings
from ..outofcore.sources import Source, is_lazy, is_mapped, open_source
from ..outofcore.tasks import shared
from ..outofcore.two_level import draw_part, with_rare_rows
from ..records import LossWeights

# Attributes that answers for new rows do not need: a worker gets a model without them.
LARGE = ("labels_", "confidence_", "embedding_", "low_rank_", "draws_", "sample_graph_", "sparse_", "alternatives_")

OF_LARGE = ("fitted_rows_", "_point_labels", "_point_positions")  # attributes that only fits of large data have

Fit = Callable[..., Any]


def fits_large(fit: Fit) -> Fit:
    """Let ``fit`` take data that are not in memory."""

    @wraps(fit)
    def wrapper(self: Any, X: Any, y: object = None, **given: Any) -> Any:
        self.forget_large()
        return self.fit_large(X, fit, **given) if self.is_large(X) else fit(self, X, y, **given)

    return wrapper


def row_wise(method: Callable[..., Array]) -> Callable[..., Any]:
    """Let a method that treats each row by itself return a dask array for data that are not in memory."""

    @wraps(method)
    def wrapper(self: Any, X: Any) -> Any:
        return self.extend(method.__name__, open_source(X)) if is_lazy(X) else method(self, X)

    return wrapper


class FitsLarge:
    """Fits data that do not fit in memory."""

    random_state: RandomState
    verbose: int
    n_jobs: int | None
    n_features_in_: int
    stage_seconds_: dict[str, float]
    _fit_summary: dict[str, Any]

    _task: ClassVar[Task] = "other"
    _finds_groups: ClassVar[bool] = False  # rows far from all others matter

    def is_large(self, X: Any) -> bool:
        """Whether X is to be fitted by :meth:`fit_large`: lazy data, and numpy arrays on disk unless they fit."""
        if not is_mapped(X) or X.ndim != 2 or current_settings().method == "whole":
            return is_lazy(X)
        return bool(self._method(X.shape, X.dtype, current_settings(), None)[0].value != "whole")

    def fit_large(self, X: Any, fit: Fit, **given: Any) -> Self:
        """Fit data that may not fit in memory: load them, work out of core, or fit some of them."""
        source = open_source(X)
        weights = self._checked_keywords(given, source.shape[0])
        method, size, _ = self.choose_fit(source, weights)
        run = {"whole": self._fit_loaded, "two_level": self._fit_part, "out_of_core": self._fit_out_of_core}
        run[method.value](source, fit, size, weights)
        kind = f"{source.shape[0]} samples x {source.shape[1]} features"
        self._fit_summary = {"data": kind, "choices": (*self._fit_summary["choices"], method)}
        return self

    def forget_large(self) -> None:
        """Drop what an earlier fit of data that are not in memory has left."""
        for name in OF_LARGE:
            self.__dict__.pop(name, None)

    def choose_fit(self, source: Source, weights: LossWeights) -> tuple[Choice, int, str | None]:
        """Return the method with its reason, the samples of a fit of some, and why none out of core is possible."""
        obstacle = self._why_not_out_of_core(source, self._large_options(), weights)
        return *self._method(source.shape, source.array.dtype, current_settings(), obstacle), obstacle

    def extend(self, method: str, source: Source) -> Any:
        """Return the dask array of a method of the fitted model, in the chunks of the source."""
        call, n_columns, dtype = self._call_on_rows(method, source)
        return extended(source, call, n_columns, dtype)

    def block_answers(self, method: str, source: Source) -> list[Any]:
        """Return delayed answers of a method for each fixed block of rows, to be computed by this process's client."""
        return block_tasks(source, shared(self._call_on_rows(method, source)[0]))[0]

    def _call_on_rows(self, method: str, source: Source) -> tuple[Callable[[Array], Array], int | None, Any]:
        """Return a function of rows, the columns of what it returns (None for a number a row), and their type."""
        check_is_fitted(self)
        width, n_columns, dtype = self._shape_of_rows(method, float_type(source.array.dtype))
        if source.shape[1] != width:
            raise ValueError(
                f"{source.name} has {source.shape[1]} features, but {type(self).__name__}.{method} expects {width}."
            )
        return partial(_call, self._without_large(), method), n_columns, dtype

    # --- what estimators define ---

    def _large_options(self) -> Options:
        raise NotImplementedError

    def _why_not_out_of_core(self, source: Source, options: Options, weights: LossWeights) -> str | None:
        """Why all rows cannot be fitted out of core; None if they can."""
        return "this model is fitted to data in memory"

    def _fit_out_of_core(self, source: Source, fit: Fit, size: int, weights: LossWeights) -> None:
        raise NotImplementedError

    def _extend_attributes(self, source: Source) -> None:
        """Replace attributes of the samples that were fitted by lazy ones of all samples."""

    def _chunk_attributes(self, source: Source) -> None:
        """Replace attributes of all samples by dask arrays in the chunks of the source."""

    def _shape_of_rows(self, method: str, dtype: np.dtype[Any]) -> tuple[int, int | None, Any]:
        """Columns that a method takes, columns that it returns (None for one number a row), and their type."""
        width = int(self._n_features_out)  # type: ignore[attr-defined]
        inverse = method == "inverse_transform"
        return (width, self.n_features_in_, dtype) if inverse else (self.n_features_in_, width, dtype)

    # --- the three ways ---

    def _fit_loaded(self, source: Source, fit: Fit, size: int, weights: LossWeights) -> None:
        X = np.concatenate(list(reduced_blocks(source, np.array)))
        fit(self, X, **_keywords(weights))
        self._chunk_attributes(source)

    def _fit_part(self, source: Source, fit: Fit, size: int, weights: LossWeights) -> None:
        """Fit some rows, and extend the answer to all."""
        if getattr(self, "sample_graph", "knn") is not None and not isinstance(getattr(self, "sample_graph", ""), str):
            raise ValueError("a graph of all samples is given, but only some are fitted; use sample_graph='knn'.")
        if not isinstance(getattr(self, "sampling", ""), str):
            raise ValueError("indices of samples are given, but only some samples are fitted; use sampling='uniform'.")
        progress, rng = Progress(self.verbose), np.random.RandomState(_seed(self.random_state))
        with progress.stage("draw of samples"):
            part = draw_part(source, size, rng)
        if self._finds_groups and len(part.X) < source.shape[0]:
            with progress.stage("rare groups"):
                part = with_rare_rows(source, part, rng)
        if weights.samples is not None:
            weights = LossWeights(weights.samples[part.indices], weights.features)
        fit(self, part.X, **_keywords(weights))
        self.fitted_rows_ = part.indices
        with progress.stage("extension"):
            self._extend_attributes(source)
        before, after = dict(list(progress.seconds.items())[:-1]), progress.seconds["extension"]
        self.stage_seconds_ = {**before, **self.stage_seconds_, "extension": after}

    # --- helpers ---

    def _method(
        self, shape: tuple[int, int], dtype: Any, settings: Settings, obstacle: str | None
    ) -> tuple[Choice, int]:
        n_threads = resolve_n_jobs(self.n_jobs)
        itemsize = float_type(np.dtype(dtype)).itemsize
        return choose_method(self._task, shape, itemsize, self._large_options(), settings, obstacle, n_threads)

    def _checked_keywords(self, given: dict[str, Any], n_samples: int) -> LossWeights:
        """Weights among the keywords of ``fit``; the others need data in memory."""
        weights = {name: given.pop(name, None) for name in ("sample_loss_weight", "feature_loss_weight")}
        for name, value in given.items():
            if value is not None:
                raise ValueError(f"{name} needs data in memory; NaN marks missing values of any data.")
        samples, features = (None if one is None else np.asarray(one, dtype=np.float64) for one in weights.values())
        if samples is not None and samples.shape != (n_samples,):
            raise ValueError(f"sample_loss_weight must have shape {(n_samples,)}, got {samples.shape}.")
        return LossWeights(samples, features)

    def _without_large(self) -> Self:
        """Return the model without what answers for new rows do not need, with one thread."""
        small = copy(self)
        for name in LARGE:
            vars(small).pop(name, None)
        small.n_jobs = 1
        return small


def _call(model: Any, method: str, X: Array) -> Array:
    found: Array = getattr(model, method)(X)
    return found


def _keywords(weights: LossWeights) -> dict[str, Any]:
    given = {"sample_loss_weight": weights.samples, "feature_loss_weight": weights.features}
    return {name: value for name, value in given.items() if value is not None}


def _seed(random_state: RandomState) -> int:
    """Seed of the draw of samples, which is not the one of the fit."""
    return int(check_random_state(random_state).randint(2**31 - 1))
