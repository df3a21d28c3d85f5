"""Streams of rows: a sample of bounded size to fit, and a test of each batch for drift."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import ClassVar, Self
from warnings import warn

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state

from .._checks import is_number
from .._threads import limit_threads
from .._typing import Array, MatrixLike
from ..auto import Choice
from ..auto.drift import MAX_HELD_OUT, Drift, RowScores, held_out
from ..exceptions import DriftWarning
from ..options import Options, check_count
from ..preprocessing import Data
from ..records import LossWeights
from ..sampling.reservoir import Reservoir
from ._base import PipelineEstimator
from ._stream import STREAM_ATTRIBUTES, Stream
from .fit_report import FitReport

MIN_ROWS = 20  # of a fit: some are held out
MAX_SEED = 2**31 - 1


@dataclass(eq=False, repr=False, kw_only=True)
class StreamingEstimator(PipelineEstimator):
    """Adds ``partial_fit`` and ``refit``; a model says how its rows are scored."""

    reservoir_size: int = 10_000
    half_life: float | None = None

    _score_names: ClassVar[tuple[str, ...]]

    def _answer(self, X: Data) -> tuple[Array, RowScores]:
        """Return labels or factors of new rows, and the scores by which drift is recognized."""
        raise NotImplementedError

    def _store_answer(self, answer: Array | None) -> None:
        """Store labels or factors of the rows of the last batch."""
        raise NotImplementedError

    def _prepare_answers(self) -> None:
        """Compute what the scores of new rows need, after a fit."""

    def _labels_before(self, X: Data, reference: RowScores | None) -> Array | None:
        """Clusters of rows by the model before it is fitted again, -1 for rows unlike its own; None if it has none."""
        return None

    def _renumber(self, before: Array) -> None:
        """Give clusters the numbers that their training rows had before."""

    def partial_fit(self, X: MatrixLike, y: object = None, **refused: object) -> Self:
        """Continue with a batch of rows of a stream.

        Up to ``reservoir_size`` rows are kept, drawn at random from all rows so far. When so many were seen, the model
        is fitted to four fifths of them; ``refit`` does so earlier. A fifth, at most 2000, are held out: the reference.
        From then on each batch gets labels or factors from the model (``batch_labels_``, ``batch_scores_``), is
        compared with the reference (``drift_``, ``refit_due_``), and some of its rows replace kept ones. The model
        stays as it is until :meth:`refit` is called. All other fitted attributes describe the rows that it was fitted
        to, which are ``row_numbers_`` of the stream.

        After :meth:`fit`, a stream begins whose model is the fitted one, and whose first ``reservoir_size`` rows, at
        most 2000, are the reference. What is kept, and the model, do not depend on how rows are divided into batches. A
        call that raises an error changes nothing.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The next rows, as in :meth:`fit`. They are kept in the precision of the first batch, sparse if that is.
        y : ignored
            For scikit-learn.
        **refused
            Weights and masks are refused with a TypeError.

        Warns
        -----
        DriftWarning
            If the batch differs from the reference. Without drift, one in 100 batches does by chance, at most.
        """
        for name in refused:
            raise TypeError(f"partial_fit takes no {name}: weights and masks are for fit. NaN marks missing values.")
        with self._unchanged_on_error():
            self._continue(X)
        if self.refit_due_ and self.drift_ is not None:
            warn(f"the new rows differ from those of the fit: {self.drift_.reason}. Call refit().", DriftWarning, 2)
        return self

    def refit(self) -> Self:
        """Fit the model again, to the rows kept by :meth:`partial_fit`, with the present parameters.

        Clusters keep the numbers of those that they match. Components may all change: factors of earlier batches belong
        to the earlier model.
        """
        stream = self._stream_or_none()
        if stream is None:
            raise NotFittedError("refit needs rows that were given to partial_fit; fit(X) fits a model to given rows.")
        if stream.reservoir.n_kept < MIN_ROWS:
            raise ValueError(f"refit needs {MIN_ROWS} rows, and there are {stream.reservoir.n_kept}.")
        with self._unchanged_on_error():
            self._stream = self._fit_kept(stream, self._stream_options())
            self._store_drift(None)
        return self

    @property
    def report_(self) -> FitReport:
        """What the fit decided and why, its graphs, convergence and times, and the stream; prints as a table."""
        report, stream = super().report_, self._stream_or_none()
        if stream is None:
            return report
        kept, size = stream.reservoir, stream.reservoir.size
        decay = "" if kept.half_life is None else f", with a half-life of {kept.half_life:g} rows"
        n_reference = 0 if stream.reference is None else len(stream.reference)
        due = f"{stream.n_detected} of {stream.n_tests} batches since the fit differ from {n_reference} held-out rows"
        choices = (
            Choice("rows seen", kept.n_seen, f"{kept.n_kept} are kept, at most {size}{decay}"),
            Choice("drift", "not tested", "no rows of the last batch came after the fit")
            if self.drift_ is None
            else Choice("drift", self.drift_.p_value, f"p-value: {self.drift_.reason}"),
            Choice("refit due", self.refit_due_, due),
        )
        return replace(report, choices=report.choices + choices)

    def __sklearn_is_fitted__(self) -> bool:
        stream = self._stream_or_none()
        if hasattr(self, "_fit_summary") or stream is None:
            return hasattr(self, "_fit_summary")
        kept = stream.reservoir  # every method that needs a model gets this sentence
        raise NotFittedError(
            f"this {type(self).__name__} has no model yet: {kept.n_seen} of the first {kept.size} rows "
            "(reservoir_size) were seen. Continue with partial_fit, or call refit() to fit to these."
        )

    def _stream_or_none(self) -> Stream | None:
        return vars(self).get("_stream")

    def _stream_options(self) -> Options:
        """Return the checked options of a fit to rows of a stream."""
        check_count(self.reservoir_size, "reservoir_size")
        if self.reservoir_size < MIN_ROWS:
            raise ValueError(f"reservoir_size must be at least {MIN_ROWS}; got {self.reservoir_size}.")
        if self.half_life is not None and not (is_number(self.half_life) and self.half_life > 0):
            raise ValueError(f"half_life must be None or a positive number of rows; got {self.half_life!r}.")
        options = self._options()
        if options.given_samples():
            raise ValueError(
                "partial_fit draws the samples: use sample_graph='knn' or None, and give no sample_indices in sampling."
            )
        return options

    @contextmanager
    def _unchanged_on_error(self) -> Iterator[None]:
        before = dict(vars(self))
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _continue(self, X: MatrixLike) -> None:
        """Add rows to the stream; fit the model when there are enough, and test those after."""
        options, stream = self._stream_options(), self._stream_or_none()
        fitted = hasattr(self, "_fit_summary")
        data: Data = self._validated(X, reset=not fitted and stream is None)
        if stream is None:
            seed = int(check_random_state(self.random_state).randint(MAX_SEED))
            stream = Stream(Reservoir.empty(self.reservoir_size, seed, self.half_life))
            if fitted:
                self._prepare_answers()
        kept, n_before = stream.reservoir, 0
        if stream.reference is None:
            begins = min(kept.size, MAX_HELD_OUT) if fitted else kept.size
            n_before = min(max(begins - kept.n_seen, 0), len(data))
            stream = replace(stream, reservoir=kept.updated(data[:n_before]))
            if stream.reservoir.n_seen >= begins:
                stream = self._begun(stream) if fitted else self._fit_kept(stream, options)
        self._stream = replace(stream, reservoir=stream.reservoir.updated(data[n_before:]))
        self.n_samples_seen_ = self._stream.reservoir.n_seen
        answer: Array | None = None
        drift: Drift | None = None
        if hasattr(self, "_fit_summary"):
            answer, scores = self._answer_in_threads(data)
            if n_before < len(data) and stream.reference is not None:
                self._stream, drift = self._stream.tested(scores[n_before:], self._score_names)
        self._store_answer(answer)
        self._store_drift(drift)

    def _store_drift(self, drift: Drift | None) -> None:
        self.drift_ = drift
        self.refit_due_ = drift is not None and drift.detected

    def _answer_in_threads(self, X: Data) -> tuple[Array, RowScores]:
        with limit_threads(self.n_jobs):
            return self._answer(X)

    def _begun(self, stream: Stream) -> Stream:
        """Stream with all rows so far as the reference: the model was fitted to others."""
        return stream.begun_with(self._answer_in_threads(stream.reservoir.sample()[0])[1])

    def _fit_kept(self, stream: Stream, options: Options) -> Stream:
        """Fit the model to most of the rows that are kept; the others are the reference."""
        X, numbers = stream.reservoir.sample()
        held = held_out(len(X), (stream.reservoir.seed, stream.reservoir.n_seen))
        training, reference = X[np.flatnonzero(~held)], X[np.flatnonzero(held)]
        before = self._labels_before(training, stream.reference) if hasattr(self, "_fit_summary") else None
        self._check_for_fit(training, options)
        self.forget_large()
        self._summarize(training, self._fit(training, LossWeights(), options))
        self.row_numbers_ = numbers[~held]
        if before is not None:
            self._renumber(before)
        self._prepare_answers()
        return stream.begun_with(self._answer_in_threads(reference)[1])

    def _start_over(self) -> None:
        for name in STREAM_ATTRIBUTES:
            self.__dict__.pop(name, None)
