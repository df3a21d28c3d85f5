"""Weights of the two graphs, and the rank, without a truth to compare with: which of them predict entries held back.

Some entries are hidden as NaN, the model fills them in, and Huber's loss there is the score: noise adds the same to
all, and gross errors among the hidden entries do too. Four things make it work, all measured (benchmarks/gammas.py):

- What is scored is the solution *cut to its rank*, which is what decoders use. The solution itself would mislead: a
  hidden entry is an average of its neighbours however weak the gammas, while seen entries keep their noise, and
  neighbours in a graph of noisy data were chosen for sharing the noise of the hidden entry too. Few factors cannot
  carry that. Where the answer is not cut, what the solution has beyond its rank is error too.
- Some of it they do carry, which speaks for small gammas; and noise that is smoothed away hardly shows in the score,
  while a curve that is does. So of pairs that predict equally well, within two standard errors of their difference,
  the one that smooths more is taken.
- Trials are solved by ADMM. FISTA's steps at large gammas are so short that it stops where it starts, and all of them
  score the same.
- The rank counts the singular values above those of the noise (Gavish and Donoho, 2014), but no more than hidden
  entries ask for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from .._backend import Array
from ..decoders import Side
from ..decoders.factors import factorise
from ..linalg.svd import leading_svd
from ..models.frpcag_path import FRPCAGPath, Reached, spectrum_of
from ..models.losses import LossName

LATTICE = tuple(10.0 ** (half / 2) for half in range(-3, 5))  # 0.03, where the l1 loss hardly moves, to 100
START = (3, 2)  # 1 and 0.3: about the middle
STRIDE = 2  # of the first steps, a factor of 10; then one of 3
HIDDEN_SHARE, SHARE_OF_FEW = 0.2, 0.3  # of many entries, which change the problem least; of few, which tell more
MANY_HIDDEN, MOST_HIDDEN = 5_000, 50_000
FEWEST_ENTRIES = 200  # of a block: fewer say nothing
LARGEST_RANK = 40
FEW_VALUES = 10  # singular values
LONG = 1000  # nodes of the shorter side from which its spectrum is told by some of them
MEDIAN_OF_NORMAL = 0.6745  # median absolute deviation of the normal distribution
TIE = 2.0  # standard errors
SLIGHT = 5e-4  # of the score: the graph knows the hidden entries, and so much of their noise comes through
CORNER = 1.5  # deviations of the noise up to which errors are squared
GROSS = 3.0  # deviations of the noise beyond which an error is cut
# Gammas differ by a part of the noise: little noise asks for finer answers. Multiples of the final tolerance, which
# would ask for twice the iterations and choose the same.
FINEST, COARSEST, PER_NOISE = 3.0, 9.0, 18.0

Pair = tuple[int, int]


@dataclass(frozen=True)
class Trial:
    """A pair of gammas and how it did: mean square, and deviation, of noise and error, gross errors aside."""

    gamma_samples: float
    gamma_features: float
    score: float
    noise: float
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
        Deviation of the errors on hidden entries, gross ones aside: of the noise, and of the solution's error. In the
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
        As in :func:`~graphlowrank.models.solve_frpcag`; trials are solved less finely.
    random_state
        Draws the hidden entries.

    Notes
    -----
    Each side's weights are those of ``LATTICE``. The search starts from (1, 0.3) and goes along one side, then the
    other, by factors of ten and then of three, as long as that is better; then to larger weights as long as that is no
    worse. The eigenvectors of both Laplacians are found: sides of more than about a thousand take long.

    Examples
    --------
    >>> import numpy as np
    >>> from graphlowrank.graphs import path_graph
    >>> rng = np.random.default_rng(0)
    >>> X = np.sin(np.linspace(0, 6, 100))[:, None] * [1.0, -1.0, 2.0] + rng.standard_normal((100, 3))
    >>> choice = choose_gammas(X, path_graph(100).unit_laplacian(), None, random_state=0)
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
    rows, columns = (np.arange(size) for size in X.shape)
    sides = Side(None, rows, sample_weights), Side(None, columns, feature_weights)
    weights = np.multiply.outer(*(side.root_weights() ** 2 for side in sides))
    fold = hide_entries(X, check_random_state(random_state))
    start = np.where(np.isnan(fold.X), fold.X, X if X0 is None else X0)
    spectra = spectrum_of(L_samples, X.shape[0], X.dtype), spectrum_of(L_features, X.shape[1], X.dtype)
    path = FRPCAGPath(fold.X, *spectra, start, loss=loss, huber_delta=huber_delta, weights=weights)
    search = _Search(fold, path, sides, fixed, rank, cut, tol, max_iter)
    lowest = descend(search.score, START, movable)
    return search.choice(climb(search.excess, lowest, movable))


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


def hide_entries(X: Array, rng: np.random.RandomState) -> Fold:
    """Return a copy of ``X`` with some of the observed entries hidden."""
    observed = np.flatnonzero(~np.isnan(X))
    many, few = int(HIDDEN_SHARE * len(observed)), int(SHARE_OF_FEW * len(observed))
    n_hidden = min(max(many, min(few, MANY_HIDDEN)), MOST_HIDDEN)
    rows, columns = np.divmod(np.sort(rng.choice(observed, n_hidden, replace=False)), X.shape[1])
    hidden = X.copy()
    hidden[rows, columns] = np.nan
    return Fold(hidden, rows, columns, X[rows, columns])


def descend(score: Callable[[Pair], float], start: Pair, movable: tuple[int, ...]) -> Pair:
    """Pair of the lattice near which no step along a movable side leads to a lower score.

    Long steps first; of the short ones between them, only those to where the long ones scored lower.
    """

    def lower(ahead: Pair, best: Pair) -> bool:
        return score(ahead) < score(best)

    best = _walk(lower, start, [(side, sign * STRIDE) for side in movable for sign in (1, -1)])
    leaning = []
    for side, sign in [(side, sign) for side in movable for sign in (1, -1)]:
        here, there = _shifted(best, side, sign * STRIDE), _shifted(best, side, -sign * STRIDE)
        if here is None or there is None or score(here) < score(there):
            leaning.append((side, sign))
    return _walk(lower, best, leaning)


def climb(excess: Callable[[Pair, Pair], float], lowest: Pair, movable: tuple[int, ...]) -> Pair:
    """Pair with larger weights than the lowest that is no worse, but for chance: up to ``TIE`` standard errors."""
    return _walk(lambda ahead, _: excess(ahead, lowest) <= TIE, lowest, [(side, 1) for side in movable])


def _walk(accepts: Callable[[Pair, Pair], bool], best: Pair, moves: list[tuple[int, int]]) -> Pair:
    """Go on by the moves, (side, steps), until none of them is accepted."""
    waiting = list(moves)
    while waiting:
        move = waiting.pop(0)
        ahead = _shifted(best, *move)
        while ahead is not None and accepts(ahead, best):
            best, waiting = ahead, [other for other in moves if other != move]
            ahead = _shifted(best, *move)
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
    """Scores of pairs of gammas, each found once, from the solution of the best so far."""

    def __init__(
        self,
        fold: Fold,
        path: FRPCAGPath,
        sides: tuple[Side, Side],
        fixed: tuple[float | None, float | None],
        rank: int | None,
        cut: bool,  # noqa: FBT001
        tol: float,
        max_iter: int,
    ) -> None:
        self.fold, self.path, self.sides, self.fixed = fold, path, sides, fixed
        self.rank, self.cut, self.tol, self.max_iter = rank, cut, tol, max_iter
        self.trials: dict[Pair, Trial] = {}
        self.losses: dict[Pair, Array] = {}
        self.start: Reached | None = None
        self.noise, self.scored_rank = float("nan"), 0

    def score(self, pair: Pair) -> float:
        """Score of a pair; the first one tells the rank and the noise."""
        if pair not in self.trials:
            lowest = min((trial.score for trial in self.trials.values()), default=float("inf"))
            reached = self._solve(pair)
            if not self.trials:
                self._look_at_first(reached.X)
            predicted = self._predict(reached.X, self.scored_rank)
            self.losses[pair] = self._losses(predicted)
            value, noise = float(np.mean(self.losses[pair])), _deviation(predicted.errors[:, -1])
            self.trials[pair] = Trial(*_gammas(pair, self.fixed), value, noise, reached.n_iter)
            if value < lowest:
                self.start = reached
        return self.trials[pair].score

    def excess(self, ahead: Pair, best: Pair) -> float:
        """By how many standard errors of the difference the first pair is worse, but for the slightest difference."""
        more = self.score(ahead) - (1 + SLIGHT) * self.score(best)
        apart = self.losses[ahead] - self.losses[best]
        return more / max(float(np.std(apart)) / len(apart) ** 0.5, np.finfo(float).tiny)

    def choice(self, pair: Pair) -> GammaChoice:
        """Put the answer together."""
        self.score(pair)
        samples, features = _gammas(pair, self.fixed)
        tried = tuple(self.trials.values())
        few = min(self.fold.X.shape) < FEW_VALUES
        rank = self.rank if self.rank is not None or few else self.scored_rank
        reason = (
            f"Of {len(tried)} pairs of weights tried, {samples:.2g} and {features:.2g} predict entries hidden from the "
            f"solver as well as any, cut to rank {self.scored_rank}."
        )
        n_iter = sum(trial.n_iter for trial in tried)
        return GammaChoice(samples, features, rank, self.trials[pair].noise, tried, n_iter, reason)

    def _solve(self, pair: Pair) -> Reached:
        """Solution without the hidden entries."""
        coarser = FINEST if np.isnan(self.noise) else min(max(PER_NOISE * self.noise, FINEST), COARSEST)
        gammas = _gammas(pair, self.fixed)
        return self.path.solve(gammas, tol=coarser * self.tol, max_iter=self.max_iter, start=self.start)

    def _look_at_first(self, U: Array) -> None:
        """Noise and rank, from the errors of the first pair's solution."""
        fold = self.fold
        errors = self._predict(U, min(LARGEST_RANK, *U.shape)).errors
        held = _fewest_as_good(errors)
        self.noise = _deviation(errors[:, held - 1])
        X = fold.X.copy()
        X[fold.rows, fold.columns] = fold.values
        factors = factorise(U, *self.sides, held)
        cut = factors.samples @ factors.features.T + factors.centre
        X = np.where(np.isnan(X), cut, np.clip(X, cut - GROSS * self.noise, cut + GROSS * self.noise))
        # Hidden entries may ask for more factors than there are, see above; the noise of clean data is not noise.
        # Of few singular values the middle one is no noise.
        found = held if min(X.shape) < FEW_VALUES else min(held, choose_rank(*_spectrum(X)))
        # A rank that is too large is not scored as such: its last factors are noise whatever the gammas.
        self.scored_rank = found if self.rank is None else min(found, self.rank)

    def _predict(self, U: Array, rank: int) -> _Predicted:
        """Errors of the solution cut to each rank up to the given one."""
        fold, factors = self.fold, factorise(U, *self.sides, rank)
        steps = factors.samples[fold.rows] * factors.features[fold.columns]
        errors = np.abs(np.cumsum(steps, axis=1) + factors.centre[fold.columns, None] - fold.values[:, None])
        rows, columns = (side.root_weights() ** 2 for side in self.sides)
        whole = rows @ (U - factors.centre) ** 2 @ columns
        kept = np.cumsum(rows @ factors.samples**2 * (columns @ factors.features**2))
        return _Predicted(errors, np.maximum(whole - kept, 0) / (rows.sum() * columns.sum()))

    def _losses(self, predicted: _Predicted) -> Array:
        """For each hidden entry the square of noise and error; their mean is the score.

        Errors beyond the corner count by their size alone (Huber's loss), so that gross ones do not rule.
        """
        rows, columns = (side.root_weights() ** 2 for side in self.sides)
        weights = rows[self.fold.rows] * columns[self.fold.columns]
        errors, corner = predicted.errors[:, -1], CORNER * self.noise
        squares = np.where(errors < corner, errors**2, corner * (2 * errors - corner))
        return squares * weights / weights.mean() + (0.0 if self.cut else float(predicted.beyond[-1]))


def _deviation(errors: Array) -> float:
    """Deviation of absolute errors, if all but a few are normal."""
    return float(np.median(errors)) / MEDIAN_OF_NORMAL


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
