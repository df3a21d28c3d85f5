"""What a model keeps of a stream of rows."""

from dataclasses import dataclass, replace
from typing import Self

from .._checks import is_number
from ..auto.drift import RECENT, Drift, RowScores, compare_rows
from ..sampling.reservoir import Reservoir

# Of an estimator: forgotten by fit, and allowed in files of models that are not fitted yet.
STREAM_ATTRIBUTES = (
    "_stream", "n_samples_seen_", "row_numbers_", "drift_", "refit_due_", "_typical_distances", "_centers",
    "batch_labels_", "batch_scores_",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Stream:
    """What a model keeps of a stream: some rows, scores of held-out and of recent rows, tests since the last fit."""

    reservoir: Reservoir
    reference: RowScores | None = None
    recent: RowScores | None = None
    n_tests: int = 0
    n_detected: int = 0

    def check(self) -> None:
        """Raise ValueError unless the scores fit together."""
        parts = [one for one in (self.reference, self.recent) if one is not None]
        kinds = {(one.values.shape[1], one.labels is None) for one in parts}
        if len(kinds) > 1 or (self.reference is None and parts) or not all(map(len, parts)):
            raise ValueError("a stream must have scores of a reference if it has others, and alike.")
        if not (is_number(self.n_tests) and is_number(self.n_detected)):
            raise ValueError("a stream must have numbers of tests.")

    def begun_with(self, scores: RowScores) -> Self:
        """Return the stream after a fit, with the scores of its reference."""
        return replace(self, reference=scores, recent=None, n_tests=0, n_detected=0)

    def tested(self, new: RowScores, names: tuple[str, ...]) -> tuple[Self, Drift]:
        """Compare new rows with the reference; return the stream after them."""
        assert self.reference is not None
        recent = (new if self.recent is None else self.recent.followed_by(new))[-RECENT:]
        drift = compare_rows(self.reference, new, recent, names)
        n_detected = self.n_detected + drift.detected
        return replace(self, recent=recent, n_tests=self.n_tests + 1, n_detected=n_detected), drift
