"""Decide whether new rows of a stream differ from those that the model was fitted to.

Some of the rows are held out of the fit: the reference. Scores of a row (its distance to the fitted rows, the size of
its residual) are computed alike for the reference and for new rows, so without drift all are exchangeable, whatever
their distribution and whatever the model. Two tests with exact p-values follow from that alone:

- Of the n new rows, k have a score above the r-th largest of the m of the reference: the k + r - 1 largest of both
  together hold at least k new ones, whose number is hypergeometric. r = 1, 2, 4, ..., m / 2, and the same for small
  scores, see a few rows far away as well as a shift of all of them.
- The number of new rows in a cluster, given that of both together, is hypergeometric (Fisher's exact test).

The smallest p-value counts, times the number of tests (Bonferroni).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.stats import hypergeom

from .._checks import is_number
from .._typing import Array

LEVEL = 0.01  # of false alarms, for each batch
HELD_OUT, MAX_HELD_OUT = 0.2, 2000  # share and number of the rows that are held out of a fit as the reference
FAR = 0.99  # quantile of the reference, beyond which rows do not belong to any cluster for certain
RECENT = 1000  # rows that a batch with fewer is tested with, too: alone, a few have no power


@dataclass(frozen=True)
class Drift:
    """Comparison of new rows with those of the fit.

    Attributes
    ----------
    p_value : float
        Probability of a difference as large as this, or larger, if nothing has changed.
    n_rows : int
        New rows that were compared.
    reason : str
        The clearest difference.
    detected : bool
        Whether ``p_value`` is below 0.01.
    """

    p_value: float
    n_rows: int
    reason: str

    @property
    def detected(self) -> bool:
        """Whether the difference is significant."""
        return self.p_value < LEVEL

    def check(self) -> None:
        """Raise ValueError unless the values are of the right kinds."""
        if not (is_number(self.p_value) and is_number(self.n_rows) and isinstance(self.reason, str)):
            raise ValueError("a drift must have a p-value, a number of rows and a reason.")


@dataclass(frozen=True, eq=False)
class RowScores:
    """Scores of rows (n, n_scores), and their clusters (n,); None if they have none."""

    values: Array
    labels: Array | None = None

    def __len__(self) -> int:
        return len(self.values)

    def check(self) -> None:
        """Raise ValueError unless values and labels fit together."""
        values, labels = self.values, self.labels
        if not isinstance(values, np.ndarray) or values.dtype != np.float64 or values.ndim != 2:
            raise ValueError("scores of rows must be a matrix of float64.")
        if labels is None:
            return
        is_index = isinstance(labels, np.ndarray) and labels.dtype == np.int64 and labels.shape == values.shape[:1]
        if not is_index or labels.min(initial=0) < 0:
            raise ValueError("labels of rows must be indices, one for each row.")

    def __getitem__(self, rows: slice) -> "RowScores":
        return RowScores(self.values[rows], None if self.labels is None else self.labels[rows])

    def followed_by(self, other: Self) -> "RowScores":
        """Rows of both."""
        labels = None if self.labels is None or other.labels is None else np.r_[self.labels, other.labels]
        return RowScores(np.concatenate([self.values, other.values]), labels)


def held_out(n: int, seed: Sequence[int]) -> Array:
    """Booleans (n,): rows that are held out of a fit to n rows."""
    chosen = np.zeros(n, dtype=bool)
    n_held = min(max(int(HELD_OUT * n), 1), MAX_HELD_OUT)
    chosen[np.random.default_rng(seed).permutation(n)[:n_held]] = True
    return chosen


def compare_rows(reference: RowScores, batch: RowScores, recent: RowScores | None, names: Sequence[str]) -> Drift:
    """Test a batch, and the recent rows that end with it if they are more, against the reference."""
    windows = [batch] if recent is None or len(recent) <= len(batch) else [batch, recent]
    found = [one for window in windows for one in _tests(reference, window, names)]
    n_groups = len(windows) * (len(names) + (reference.labels is not None))
    p, reason = min(found, default=(1.0, ""))
    p = min(1.0, n_groups * p)
    return Drift(p, len(batch), reason if p < LEVEL else f"{len(batch)} rows are like those of the fit")


def beyond(reference: RowScores, new: RowScores) -> Array:
    """Booleans (n,): rows with a score beyond almost all of the reference."""
    return np.any(new.values > np.quantile(reference.values, FAR, axis=0), axis=1)


def _tests(reference: RowScores, new: RowScores, names: Sequence[str]) -> Iterator[tuple[float, str]]:
    """P-value and sentence of each group of tests."""
    for name, known, found in zip(names, reference.values.T, new.values.T, strict=True):
        yield exceedance(known, found, name)
    if reference.labels is not None and new.labels is not None:
        yield changed_shares(reference.labels, new.labels)


def exceedance(reference: Array, new: Array, name: str = "score") -> tuple[float, str]:
    """P-value of the number of new scores beyond the largest, or smallest, of the reference, and the clearest such."""
    m, n = len(reference), len(new)
    ranks = 2 ** np.arange(max(m // 2, 1).bit_length())
    best, reason = 1.0, ""
    for sign, side in ((1.0, "above"), (-1.0, "below")):
        limits, ordered = np.sort(-sign * reference)[ranks - 1], np.sort(-sign * new)
        counts = np.searchsorted(ordered, limits, side="left")  # strictly beyond: ties are no evidence
        p = hypergeom.sf(counts - 1, m + n, n, counts + ranks - 1)
        at = int(p.argmin())
        if p[at] < best:
            best, share = float(p[at]), ranks[at] / (m + 1)
            reason = (
                f"{counts[at]} of {n} rows have a {name} {side} {abs(limits[at]):.3g}, {share * n:.3g} are expected"
            )
    return min(1.0, 2 * len(ranks) * best), reason


def changed_shares(reference: Array, new: Array) -> tuple[float, str]:
    """P-value of the clusters' numbers of new rows, and the cluster whose share changed most clearly."""
    n_clusters = int(max(reference.max(initial=0), new.max(initial=0))) + 1
    known, found = (np.bincount(labels, minlength=n_clusters) for labels in (reference, new))
    m, n = len(reference), len(new)
    more = hypergeom.sf(found - 1, m + n, known + found, n)
    fewer = hypergeom.cdf(found, m + n, known + found, n)
    p = np.minimum(more, fewer)
    at = int(p.argmin())
    reason = f"cluster {at} has {found[at] / n:.1%} of {n} rows, and {known[at] / m:.1%} of those of the fit"
    return min(1.0, 2 * n_clusters * float(p[at])), reason
