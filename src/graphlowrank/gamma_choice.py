"""Weights of the two graphs, and the rank, without a truth to compare with: which of them predict entries held back.

Some entries are hidden as NaN, the model fills them in, and the mean absolute error there is the score: noise adds the
same to all, and gross errors among the hidden entries do too. Two things make it work, both measured (see
benchmarks/gammas.py):

- What is scored is the solution *cut to its rank*, which is what decoders use. The solution itself would mislead: a
  hidden entry is an average of its neighbours however weak the gammas, while seen entries keep their noise, and
  neighbours in a graph of noisy data were chosen for sharing the noise of the hidden entry too. Few factors cannot
  carry that. What the solution has beyond its rank is error too where the answer is not cut; where it is, a hundredth
  of it counts, which settles ties: of pairs that predict as well, the one that leaves less is surer.
- The rank counts the singular values above those of the noise (Gavish and Donoho, 2014), but no more than hidden
  entries ask for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from ._backend import Array
from .decoders import Side
from .decoders.factors import Factors, factorise
from .linalg.svd import leading_svd
from .models import solve_frpcag
from .models.losses import LossName

LATTICE = tuple(10.0 ** (half / 2) for half in range(-3, 5))  # 0.03, where the l1 loss hardly moves, to 100
START = (3, 2)  # 1 and 0.3: where ties are left
STRIDES = (2, 1)  # a factor of 10, then of 3
HIDDEN_SHARE = 0.2
MOST_HIDDEN = 50_000  # at a time; more would tell no more
ENOUGH_HIDDEN, MOST_FOLDS = 20_000, 2  # a small block is hidden in two parts, one after the other
FEWEST_ENTRIES = 200  # of a block: fewer say nothing
LARGEST_RANK = 40
FEW_VALUES = 10  # singular values
LONG = 1000  # nodes of the shorter side from which its spectrum is told by some of them
MEDIAN_OF_NORMAL = 0.6745  # median absolute deviation of the normal distribution
BEYOND = 0.01  # of what is beyond the rank, where it is cut off; 0.1 smooths curves too much (error 1.4 times the best)
GROSS = 3.0  # deviations of the noise beyond which an error is cut

Pair = tuple[int, int]


@dataclass(frozen=True)
class Trial:
    """A pair of gammas and how it did; scores are mean squares, up to a constant."""

    gamma_samples: float
    gamma_features: float
    score: float
    n_iter: int


@dataclass(frozen=True)
class GammaChoice:
    """Answer of :func:`choose_gammas`.

    Attributes
    ----------
    gamma_samples, gamma_features
        The weights; what was fixed is returned as given, 0 for a side without a graph.
    rank
        Given or found; None if nothing could be found out, as with fewer than ten samples or features.
    noise
        Deviation of the errors on hidden entries, gross ones aside: of the noise, and of the first pair's error. In the
        units of the block; NaN if unknown.
    tried
        The pairs in the order of trying; scores compare with each other only.
    n_iter
        Iterations spent, all trials together.
    reason
        One sentence.
    """

    gamma_samples: float
    gamma_features: float
    rank: int | None
    noise: float
    tried: tuple[Trial, ...]
    n_iter: int
    reason: str


def choose_gammas(
    X: Array,
    L_samples: Any,
    L_features: Any,
    *,
    fixed_samples: float | None = None,
    fixed_features: float | None = None,
    rank: int | None = None,
    cut: bool = True,
    loss: LossName = "l1",
    huber_delta: float = 1.0,
    sample_weights: Array | None = None,
    feature_weights: Array | None = None,
    X0: Array | None = None,
    tol: float = 1e-3,
    max_iter: int = 1000,
    random_state: Any = None,
) -> GammaChoice:
    """Weights of :func:`~graphlowrank.models.solve_frpcag` under which hidden entries of ``X`` are predicted best.

    Parameters
    ----------
    X
        (n_samples, n_features) block in units of its deviation, NaN where an entry is missing.
    L_samples, L_features
        Laplacians with mean diagonal 1; None for no such term.
    fixed_samples, fixed_features
        Weights not to search; None for those to be found.
    rank
        To which the answer will be cut; None looks for it.
    cut
        Whether the answer will be cut to its rank, as decoders do.
    loss, huber_delta, sample_weights, feature_weights, X0, tol, max_iter
        As in :func:`~graphlowrank.models.solve_frpcag`; trials may stop sooner where noise is large.
    random_state
        Draws the hidden entries.

    Notes
    -----
    Each side's weights are those of ``LATTICE``. The search starts from (1, 0.3) and goes along one side, then the
    other, by factors of ten and then of three, as long as that is better; a tie stays nearer the start.

    Examples
    --------
    >>> import numpy as np
    >>> from graphlowrank.graphs import chain_graph
    >>> rng = np.random.default_rng(0)
    >>> X = np.sin(np.linspace(0, 6, 100))[:, None] * [1.0, -1.0, 2.0] + rng.standard_normal((100, 3))
    >>> choice = choose_gammas(X, chain_graph(100).unit_laplacian(), None, random_state=0)
    >>> choice.gamma_samples > 1, choice.gamma_features
    (True, 0.0)
    """
    fixed = (_settled(fixed_samples, L_samples), _settled(fixed_features, L_features))
    movable = tuple(side for side in (0, 1) if fixed[side] is None)
    if L_samples is None and L_features is None:
        return _unsearched(fixed, rank, "There is no graph whose weight could be chosen.")
    if not movable and rank is not None:
        return _unsearched(fixed, rank, "The weights of both graphs and the rank were given.")
    if np.count_nonzero(~np.isnan(X)) < FEWEST_ENTRIES:
        return _unsearched(fixed, rank, f"Fewer than {FEWEST_ENTRIES} entries are too few to choose by.")
    options = {
        "loss": loss, "huber_delta": huber_delta, "sample_weights": sample_weights, "feature_weights": feature_weights,
        "max_iter": max_iter, "size": X.size**0.5,
    }  # fmt: skip
    folds = hide_entries(X, check_random_state(random_state))
    search = _Search(folds, (L_samples, L_features), fixed, rank, cut, tol, X if X0 is None else X0, options)
    best = descend(search.score, START, movable)
    return search.choice(best)


def choose_rank(singular_values: Array, shape: tuple[int, int]) -> int:
    """Count the singular values that noise does not explain: those above the optimal hard threshold, at least one.

    The threshold is that of Gavish and Donoho (2014), eq. 5, for noise of unknown size: a multiple of the median, which
    belongs to the noise. No cut of a large matrix has a smaller error.

    Parameters
    ----------
    singular_values
        All of them, in falling order.
    shape
        Of the matrix.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = np.outer(rng.standard_normal(100), rng.standard_normal(50)) + 0.5 * rng.standard_normal((100, 50))
    >>> choose_rank(np.linalg.svd(X, compute_uv=False), X.shape)
    1
    """
    beta = min(shape) / max(shape)
    multiple = 0.56 * beta**3 - 0.95 * beta**2 + 1.82 * beta + 1.43
    return max(1, int(np.sum(singular_values > multiple * np.median(singular_values))))


@dataclass(frozen=True, eq=False)
class Fold:
    """A block with some entries hidden: ``X`` has NaN there; ``values`` is what they were."""

    X: Array
    rows: Array
    columns: Array
    values: Array


def hide_entries(X: Array, rng: np.random.RandomState) -> list[Fold]:
    """Return copies of ``X`` with different observed entries hidden."""
    observed = np.flatnonzero(~np.isnan(X))
    n_hidden = min(int(HIDDEN_SHARE * len(observed)), MOST_HIDDEN)
    n_folds = min(MOST_FOLDS, -(-ENOUGH_HIDDEN // n_hidden))
    drawn = rng.choice(observed, n_folds * n_hidden, replace=False)
    folds = []
    for part in np.split(drawn, n_folds):
        rows, columns = np.divmod(np.sort(part), X.shape[1])
        hidden = X.copy()
        hidden[rows, columns] = np.nan
        folds.append(Fold(hidden, rows, columns, X[rows, columns]))
    return folds


def descend(score: Callable[[Pair], float], start: Pair, movable: tuple[int, ...]) -> Pair:
    """Pair of the lattice from which no step along a movable side leads to a lower score."""
    best = start
    for stride in STRIDES:
        moves = [(side, sign * stride) for side in movable for sign in (1, -1)]
        moved = True
        while moved:
            moved = False
            for side, by in moves:
                ahead = _shifted(best, side, by)
                while ahead is not None and score(ahead) < score(best):
                    best, moved = ahead, True
                    ahead = _shifted(best, side, by)
    return best


def _shifted(pair: Pair, side: int, by: int) -> Pair | None:
    """Pair one step along a side, None if that leads off the lattice."""
    places = list(pair)
    places[side] += by
    return (places[0], places[1]) if 0 <= places[side] < len(LATTICE) else None


def _settled(fixed: float | None, L: Any) -> float | None:
    """Weight that is not to be searched, None if it is."""
    return (0.0 if fixed is None else float(fixed)) if L is None else None if fixed is None else float(fixed)


def _unsearched(fixed: tuple[float | None, float | None], rank: int | None, reason: str) -> GammaChoice:
    samples, features = _gammas(START, fixed)
    return GammaChoice(samples, features, rank, float("nan"), (), 0, reason)


def _gammas(pair: Pair, fixed: tuple[float | None, float | None]) -> tuple[float, float]:
    """Weights of both graphs: the fixed ones, or those of the pair."""
    samples, features = (LATTICE[place] if value is None else value for place, value in zip(pair, fixed, strict=True))
    return samples, features


@dataclass(frozen=True, eq=False)
class _Predicted:
    """A solution's errors on hidden entries for each rank up to the largest: (m, k); and its energy beyond it (k,)."""

    errors: Array
    beyond: Array


class _Search:
    """Scores of pairs of gammas, each found once, from the solutions of the best so far."""

    def __init__(
        self,
        folds: list[Fold],
        laplacians: tuple[Any, Any],
        fixed: tuple[float | None, float | None],
        rank: int | None,
        cut: bool,  # noqa: FBT001
        tol: float,
        X0: Array,
        options: dict[str, Any],
    ) -> None:
        self.folds, self.laplacians, self.fixed, self.options = folds, laplacians, fixed, options
        self.rank, self.cut, self.tol = rank, cut, tol
        shape = folds[0].X.shape
        self.sides = (
            Side(None, np.arange(shape[0]), options["sample_weights"]),
            Side(None, np.arange(shape[1]), options["feature_weights"]),
        )
        self.starts = [np.where(np.isnan(fold.X), fold.X, X0) for fold in folds]
        self.trials: dict[Pair, Trial] = {}
        self.noise, self.scored_rank = float("nan"), 0

    def score(self, pair: Pair) -> float:
        """Score of a pair; the first one tells the rank and the noise."""
        if pair not in self.trials:
            lowest = min((trial.score for trial in self.trials.values()), default=float("inf"))
            solutions, n_iter = self._solve(pair)
            if not self.trials:
                self._look_at_first(solutions)
            predicted = [
                self._predict(U, fold, self.scored_rank) for U, fold in zip(solutions, self.folds, strict=True)
            ]
            value = float(np.mean([self._score(each, fold) for each, fold in zip(predicted, self.folds, strict=True)]))
            self.trials[pair] = Trial(*_gammas(pair, self.fixed), value, n_iter)
            if value < lowest:
                self.starts = solutions
        return self.trials[pair].score

    def choice(self, pair: Pair) -> GammaChoice:
        """Put the answer together."""
        self.score(pair)
        samples, features = _gammas(pair, self.fixed)
        tried = tuple(self.trials.values())
        few = min(self.folds[0].X.shape) < FEW_VALUES
        rank = self.rank if self.rank is not None or few else self.scored_rank
        reason = (
            f"Of {len(tried)} pairs of weights tried, {samples:.2g} and {features:.2g} predict entries hidden from the "
            f"solver best, cut to rank {self.scored_rank}."
        )
        return GammaChoice(
            *_gammas(pair, self.fixed), rank, self.noise, tried, sum(trial.n_iter for trial in tried), reason
        )  # fmt: skip

    def _solve(self, pair: Pair) -> tuple[list[Array], int]:
        """Solutions without the hidden entries, and the iterations they took."""
        # Gammas differ by a part of the noise, so that little noise asks for answers as fine as the final one.
        coarser = 1.0 if np.isnan(self.noise) else min(max(6 * self.noise, 1.0), 3.0)
        options = self.options | {"tol": coarser * self.tol}
        options["gamma_samples"], options["gamma_features"] = _gammas(pair, self.fixed)
        found = [
            solve_frpcag(fold.X, *self.laplacians, X0=start, **options)
            for fold, start in zip(self.folds, self.starts, strict=True)
        ]
        return [solution.X for solution in found], sum(solution.n_iter for solution in found)

    def _look_at_first(self, solutions: list[Array]) -> None:
        """Noise and rank, from the errors of the first pair's solutions."""
        largest = min(LARGEST_RANK, *self.folds[0].X.shape)
        predicted = [self._predict(U, fold, largest) for U, fold in zip(solutions, self.folds, strict=True)]
        errors = np.concatenate([each.errors for each in predicted])
        held = _fewest_as_good(errors)
        self.noise = float(np.median(errors[:, held - 1])) / MEDIAN_OF_NORMAL
        X = self.folds[0].X.copy()
        X[self.folds[0].rows, self.folds[0].columns] = self.folds[0].values
        cut = _cut(factorise(solutions[0], *self.sides, held))
        X = np.where(np.isnan(X), cut, np.clip(X, cut - GROSS * self.noise, cut + GROSS * self.noise))
        # Hidden entries may ask for more factors than there are, see above; the noise of clean data is not noise.
        # Of few singular values the middle one is no noise.
        found = held if min(X.shape) < FEW_VALUES else min(held, choose_rank(*_spectrum(X)))
        # A rank that is too large is not scored as such: its last factors are noise whatever the gammas.
        self.scored_rank = found if self.rank is None else min(found, self.rank)

    def _predict(self, U: Array, fold: Fold, rank: int) -> _Predicted:
        """Errors of the solution cut to each rank up to the given one."""
        factors = factorise(U, *self.sides, rank)
        steps = factors.samples[fold.rows] * factors.features[fold.columns]
        errors = np.abs(np.cumsum(steps, axis=1) + factors.centre[fold.columns, None] - fold.values[:, None])
        rows, columns = (side.root_weights() ** 2 for side in self.sides)
        whole = rows @ (U - factors.centre) ** 2 @ columns
        kept = np.cumsum(rows @ factors.samples**2 * (columns @ factors.features**2))
        return _Predicted(errors, np.maximum(whole - kept, 0) / (rows.sum() * columns.sum()))

    def _score(self, predicted: _Predicted, fold: Fold) -> float:
        """Mean square of noise and error, and of what is beyond the rank.

        The first is told from the mean error, which gross errors do not rule. For normal noise of deviation s an error
        of mean square r adds ``r / (s sqrt(2 pi))`` to it.
        """
        rows, columns = (side.root_weights() ** 2 for side in self.sides)
        mean = float(np.average(predicted.errors[:, -1], weights=rows[fold.rows] * columns[fold.columns]))
        return float(np.sqrt(2 * np.pi)) * self.noise * mean + (BEYOND if self.cut else 1.0) * float(
            predicted.beyond[-1]
        )


def _fewest_as_good(errors: Array) -> int:
    """Fewest factors whose errors (m, k) are no worse than those of the best number, within a standard error."""
    best = int(np.argmin(errors.mean(axis=0)))
    excess = errors[:, : best + 1] - errors[:, best, None]
    return 1 + int(np.argmax(excess.mean(axis=0) <= excess.std(axis=0) / np.sqrt(len(errors))))


def _spectrum(X: Array) -> tuple[Array, tuple[int, int]]:
    """Singular values around the mean sample, and the shape they belong to: a part of X where both sides are long."""
    every = -(-min(X.shape) // LONG)
    part = X[:, ::every] if X.shape[1] <= X.shape[0] else X[::every]
    return leading_svd(part - part.mean(axis=0), min(part.shape))[1], (part.shape[0], part.shape[1])


def _cut(factors: Factors) -> Array:
    """Low-rank matrix of the factors."""
    return factors.samples @ factors.features.T + factors.centre
