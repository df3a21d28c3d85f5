"""Choose gammas and rank of FRPCAG by validation on held-out entries.

Some entries are held out as NaN, the model imputes them, and their Huber loss is the validation loss. Noise and
outliers in the held-out entries affect all candidates equally. Four points matter, all measured
(benchmarks/studies/gammas.py, on synthetic clusters, rings, circles and digits; seed 3 was held out):

- The solution is truncated to its rank before scoring, as decoders do. Without truncation, small gammas look too good:
  a held-out entry is always averaged over its neighbors, and those were selected using the held-out value.
- Truncation does not remove this bias completely. Among pairs within 2 standard errors of the minimum, the largest
  gammas are therefore selected.
- Candidates are solved by ADMM, to a large tolerance. FISTA is faster on most graphs, but more accurate candidates
  overestimate the rank of clean data with outliers.
- The rank counts the singular values above those of the noise (Gavish and Donoho, 2014), but no more than the
  held-out entries support.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import compress

import numpy as np
from sklearn.utils import check_random_state

from .._typing import Array, RandomState
from ..decoders.factors import factorize
from ..graphs import Graph, LaplacianKind
from ..linalg.svd import leading_svd
from ..models import CompressedProblem
from ..models.frpcag_path import FRPCAGPath
from ..options import Options, is_auto
from ..preprocessing.robust_statistics import std_from_absolute
from ..reduction import reduce_graph
from ..sampling import draw
from ..sampling.nodes import SampledNodes
from ..solvers.admm import ADMMState
from .choice import AS_GIVEN, Choice
from .gammas import GRID, START
from .rank import choose_rank

# Size of the part of the compressed matrix that gammas are chosen on; larger parts choose the same (MNIST).
MAX_NODES, MIN_SAMPLES, ENTRIES = 800, 400, 200_000
MIN_WEIGHT = 1e-6  # of the largest: factors are divided by the roots of the weights
STRIDE = 2  # grid steps of the coarse search: a factor of 10
HELD_OUT_SHARE, HELD_OUT_SHARE_SMALL = 0.2, 0.3  # of the entries of large and of small blocks
MIN_HELD_OUT, MAX_HELD_OUT = 5_000, 50_000
MIN_ENTRIES = 200  # of a block that is searched
MAX_RANK = 40
MIN_SINGULAR_VALUES = 10  # with fewer, the median one is not noise
TIE_STANDARD_ERRORS = 2.0
TIE_RTOL = 5e-4  # relative; the graph was built with the held-out entries, so differences below this are leakage
HUBER_CORNER = 1.5  # in standard deviations of the noise
CLIP = 3.0  # in standard deviations of the noise: residuals beyond are outliers
# Tolerance of a candidate in multiples of the final one: less noise asks for more accurate candidates.
MIN_TOL_FACTOR, MAX_TOL_FACTOR, TOL_FACTOR_PER_NOISE = 3.0, 9.0, 18.0

Pair = tuple[int, int]  # indices into the grid
Fixed = tuple[float | None, float | None]  # gammas that are not searched


@dataclass(frozen=True)
class Trial:
    """A pair of gammas with its validation loss, the standard deviation of its errors, and its iterations."""

    gamma_samples: float
    gamma_features: float
    loss: float
    noise: float
    n_iter: int


@dataclass(frozen=True)
class GammaChoice:
    """Gammas and rank chosen by :func:`choose_gammas`."""

    gamma_samples: float  # fixed ones as given, 0 without a graph
    gamma_features: float
    rank: int | None  # None if it could not be estimated (fewer than ten samples or features)
    noise: float  # robust standard deviation of the errors on held-out entries, in units of the block; NaN if unknown
    trials: tuple[Trial, ...]  # in the order of evaluation
    reason: str


def needs_validation(options: Options) -> bool:
    """Whether there is something to choose: FRPCAG, and a gamma or the rank is not given."""
    given = not is_auto(options.gamma_samples) and not is_auto(options.gamma_features)
    # As published, the rank is that of the paper's rule.
    given = given and (options.n_components is not None or options.published)
    return options.solver == "frpcag" and not given


def validate_gammas(
    problem: CompressedProblem,
    graphs: tuple[Graph | None, Graph | None],
    laplacian: LaplacianKind,
    options: Options,
    rng: np.random.RandomState,
) -> GammaChoice | None:
    """Gammas and rank by validation on held-out entries of (a part of) the compressed matrix; None if all are given."""
    if not needs_validation(options):
        return None
    samples, features = (
        None if is_auto(gamma) else float(gamma) for gamma in (options.gamma_samples, options.gamma_features)
    )
    X = problem.X
    columns, of_features = _part(graphs[1], X.shape[1], MAX_NODES, X.T, rng)
    n_rows = min(max(ENTRIES // len(columns), MIN_SAMPLES), MAX_NODES)
    rows, of_samples = _part(graphs[0], X.shape[0], n_rows, X, rng)
    part = np.ix_(rows, columns)
    small = replace(
        problem,
        X=X[part],
        L_samples=of_samples and of_samples.unit_laplacian(laplacian),
        L_features=of_features and of_features.unit_laplacian(laplacian),
        sample_weights=_positive(problem.sample_weights, rows),
        feature_weights=_positive(problem.feature_weights, columns),
        X0=None if problem.X0 is None else problem.X0[part],
    )
    return choose_gammas(small, fixed=(samples, features), rank=options.n_components, random_state=rng)


def _part(
    graph: Graph | None, size: int, at_most: int, points: Array, rng: np.random.RandomState
) -> tuple[Array, Graph | None]:
    """At most so many nodes, some of every connected component, and the graph reduced to them."""
    if size <= at_most:
        return np.arange(size), graph
    kept = draw(graph or size, at_most, random_state=rng)
    return kept, reduce_graph(graph, kept, points, "auto", 0, rng)


def _positive(weights: Array | None, nodes: Array) -> Array | None:
    if weights is None:
        return None
    part = weights[nodes]
    return np.maximum(part, MIN_WEIGHT * part.max())


def gamma_choices(options: Options, gammas: tuple[float, float], found: GammaChoice | None) -> list[Choice]:
    """Report both gammas; ``found`` is the result of validation, if there was one."""
    reason = "default" if found is None else found.reason
    return [
        Choice(name, value, reason if is_auto(getattr(options, name)) else AS_GIVEN)
        for name, value in zip(("gamma_samples", "gamma_features"), gammas, strict=True)
    ]


def model_choices(options: Options, gammas: tuple[float, float], found: GammaChoice | None) -> list[Choice]:
    """Report those of both gammas and the loss that the solver uses."""
    solver = options.small_solver
    used = (solver.uses_sample_graph, solver.uses_feature_graph, solver.takes_loss)
    return list(compress([*gamma_choices(options, gammas, found), Choice("loss", options.loss, AS_GIVEN)], used))


def choose_gammas(
    problem: CompressedProblem,
    *,
    fixed: Fixed = (None, None),
    rank: int | None = None,
    random_state: RandomState = None,
) -> GammaChoice:
    """Gammas of FRPCAG with the lowest validation loss on held-out entries of the compressed matrix.

    The search starts from (1, 0.3) and moves along one gamma, then the other, by factors of 10 and then of 3, while
    the loss falls; then to larger gammas while the loss ties. The eigenvectors of both Laplacians are computed: sides
    of more than about a thousand take long.

    The block is in units of its mean absolute deviation, and Laplacians have mean diagonal 1; gammas of ``problem`` are
    ignored. Candidates are solved to a larger tolerance. ``rank=None`` estimates the rank of the answer.

    Examples
    --------
    >>> import numpy as np
    >>> from graphlowrank.graphs import path_graph
    >>> from graphlowrank.models import CompressedProblem
    >>> rng = np.random.default_rng(0)
    >>> X = np.sin(np.linspace(0, 6, 100))[:, None] * [1.0, -1.0, 2.0] + rng.standard_normal((100, 3))
    >>> choice = choose_gammas(CompressedProblem(X, path_graph(100).unit_laplacian()), random_state=0)
    >>> choice.gamma_samples > 1, choice.gamma_features
    (True, 0.0)
    """
    X, laplacians = problem.X, (problem.L_samples, problem.L_features)
    samples, features = (
        0.0 if L is None and gamma is None else gamma for gamma, L in zip(fixed, laplacians, strict=True)
    )
    fixed = samples, features
    movable = tuple(axis for axis in (0, 1) if fixed[axis] is None)
    obstacle = None
    if all(L is None for L in laplacians):
        obstacle = "there is no graph"
    elif not movable and rank is not None:
        obstacle = "gammas and rank were given"
    elif np.count_nonzero(~np.isnan(X)) < MIN_ENTRIES:
        obstacle = f"fewer than {MIN_ENTRIES} entries are too few for validation"
    if obstacle is not None:
        return GammaChoice(*_gammas(START, fixed), rank, float("nan"), (), obstacle)
    search = _Search(problem, hold_out(X, check_random_state(random_state)), fixed, rank)
    lowest = descend(search.loss, START, movable)
    return search.choice(climb(search.standard_errors_above, lowest, movable))


@dataclass(frozen=True, eq=False)
class Fold:
    """A block with held-out entries: ``X`` has NaN there, ``values`` are the entries."""

    X: Array
    rows: Array
    columns: Array
    values: Array


def hold_out(X: Array, rng: np.random.RandomState) -> Fold:
    """Hold out some of the observed entries of ``X``."""
    observed = np.flatnonzero(~np.isnan(X))
    large, small = int(HELD_OUT_SHARE * len(observed)), int(HELD_OUT_SHARE_SMALL * len(observed))
    n_held_out = min(max(large, min(small, MIN_HELD_OUT)), MAX_HELD_OUT)
    rows, columns = np.divmod(np.sort(rng.choice(observed, n_held_out, replace=False)), X.shape[1])
    seen = X.copy()
    seen[rows, columns] = np.nan
    return Fold(seen, rows, columns, X[rows, columns])


def descend(loss: Callable[[Pair], float], start: Pair, movable: tuple[int, ...]) -> Pair:
    """Local minimum on the grid: coarse steps first, then single steps towards the lower coarse neighbor."""

    def lower(ahead: Pair, best: Pair) -> bool:
        return loss(ahead) < loss(best)

    directions = [(side, sign) for side in movable for sign in (1, -1)]
    best = _walk(lower, start, [(side, sign * STRIDE) for side, sign in directions])
    fine = []
    for side, sign in directions:
        here, there = _shift(best, side, sign * STRIDE), _shift(best, side, -sign * STRIDE)
        if here is None or there is None or loss(here) < loss(there):
            fine.append((side, sign))
    return _walk(lower, best, fine)


def climb(standard_errors_above: Callable[[Pair, Pair], float], lowest: Pair, movable: tuple[int, ...]) -> Pair:
    """Largest gammas whose loss ties with the lowest."""
    return _walk(
        lambda ahead, _: standard_errors_above(ahead, lowest) <= TIE_STANDARD_ERRORS,
        lowest,
        [(side, 1) for side in movable],
    )


def _walk(accepts: Callable[[Pair, Pair], bool], best: Pair, moves: list[tuple[int, int]]) -> Pair:
    """Repeat the moves (side, steps) until none is accepted."""
    waiting = list(moves)
    while waiting:
        move = waiting.pop(0)
        ahead = _shift(best, *move)
        while ahead is not None and accepts(ahead, best):
            best, waiting = ahead, [other for other in moves if other != move]
            ahead = _shift(best, *move)
    return best


def _shift(pair: Pair, side: int, by: int) -> Pair | None:
    """Pair moved along a side; None off the grid."""
    places = list(pair)
    places[side] += by
    return (places[0], places[1]) if 0 <= places[side] < len(GRID) else None


def _gammas(pair: Pair, fixed: Fixed) -> tuple[float, float]:
    """Gammas of a pair, fixed ones as given."""
    samples, features = (GRID[place] if value is None else value for place, value in zip(pair, fixed, strict=True))
    return samples, features


class _Search:
    """Validation losses of pairs of gammas, each computed once, warm-started from the best so far."""

    def __init__(self, problem: CompressedProblem, fold: Fold, fixed: Fixed, rank: int | None) -> None:
        self.problem, self.fold, self.fixed, self.rank = problem, fold, fixed, rank
        X, (n, p) = problem.X, problem.X.shape
        self.nodes = SampledNodes.all_of(n, problem.sample_weights), SampledNodes.all_of(p, problem.feature_weights)
        weights = np.multiply.outer(*(nodes.root_weights() ** 2 for nodes in self.nodes))
        self.weights = weights[fold.rows, fold.columns]
        X0 = np.where(np.isnan(fold.X), fold.X, X if problem.X0 is None else problem.X0)
        self.path = FRPCAGPath(replace(problem, X=fold.X, X0=X0), weights)
        self.trials: dict[Pair, Trial] = {}
        self.losses: dict[Pair, Array] = {}
        self.start: ADMMState | None = None
        self.noise, self.scored_rank = float("nan"), 0

    def loss(self, pair: Pair) -> float:
        """Mean validation loss of a pair; the first pair also sets rank and noise."""
        if pair not in self.trials:
            lowest = min((trial.loss for trial in self.trials.values()), default=float("inf"))
            reached = self._solve(pair)
            if not self.trials:
                self._set_rank_and_noise(reached.X)
            errors = self._errors(reached.X, self.scored_rank)[:, -1]
            self.losses[pair] = self._huber(errors)
            value = float(np.mean(self.losses[pair]))
            self.trials[pair] = Trial(*_gammas(pair, self.fixed), value, std_from_absolute(errors), reached.n_iter)
            if value < lowest:
                self.start = reached
        return self.trials[pair].loss

    def standard_errors_above(self, ahead: Pair, best: Pair) -> float:
        """Excess loss of the first pair in standard errors of the difference, beyond the relative tolerance."""
        excess = self.loss(ahead) - (1 + TIE_RTOL) * self.loss(best)
        difference = self.losses[ahead] - self.losses[best]
        error = float(np.std(difference)) / len(difference) ** 0.5
        return excess / max(error, np.finfo(float).eps * abs(excess), np.finfo(float).tiny)

    def choice(self, pair: Pair) -> GammaChoice:
        """Assemble the answer."""
        self.loss(pair)
        trials = tuple(self.trials.values())
        few = min(self.fold.X.shape) < MIN_SINGULAR_VALUES
        rank = self.rank if self.rank is not None or few else self.scored_rank
        tried = f"{len(trials)} pairs tried, the largest that ties with the best, at rank {self.scored_rank}"
        reason = f"validation on held-out entries: {tried}"
        return GammaChoice(*_gammas(pair, self.fixed), rank, self.trials[pair].noise, trials, reason)

    def _solve(self, pair: Pair) -> ADMMState:
        """Solution without the held-out entries."""
        factor = MIN_TOL_FACTOR
        if not np.isnan(self.noise):
            factor = min(max(TOL_FACTOR_PER_NOISE * self.noise, MIN_TOL_FACTOR), MAX_TOL_FACTOR)
        tol, max_iter = factor * self.problem.tol, self.problem.max_iter
        return self.path.solve(_gammas(pair, self.fixed), tol=tol, max_iter=max_iter, start=self.start)

    def _set_rank_and_noise(self, U: Array) -> None:
        """Estimate both from the errors of the first pair's solution."""
        X = self.problem.X
        errors = self._errors(U, min(MAX_RANK, *U.shape))
        supported = _smallest_tied(errors)
        self.noise = std_from_absolute(errors[:, supported - 1])
        truncated = factorize(U, *self.nodes, supported).product()
        X = np.where(np.isnan(X), truncated, np.clip(X, truncated - CLIP * self.noise, truncated + CLIP * self.noise))
        # Held-out entries may support noise that leaked through the graph; the threshold finds none in clean data.
        found = supported
        if min(X.shape) >= MIN_SINGULAR_VALUES:
            singular_values = leading_svd(X - X.mean(axis=0), min(X.shape))[1]
            found = min(supported, choose_rank(singular_values, X.shape))
        # A given rank that is too large is not scored: its last factors are noise whatever the gammas.
        self.scored_rank = found if self.rank is None else min(found, self.rank)

    def _errors(self, U: Array, rank: int) -> Array:
        """Absolute errors (m, rank) on held-out entries of the solution truncated to rank 1, 2, ..., ``rank``."""
        fold, factors = self.fold, factorize(U, *self.nodes, rank)
        terms = factors.samples[fold.rows] * factors.features[fold.columns]
        return np.abs(np.cumsum(terms, axis=1) + factors.center[fold.columns, None] - fold.values[:, None])

    def _huber(self, errors: Array) -> Array:
        """Weighted Huber loss of each held-out entry, scaled like a square."""
        corner = HUBER_CORNER * self.noise
        squares = np.where(errors < corner, errors**2, corner * (2 * errors - corner))
        return squares * self.weights / self.weights.mean()


def _smallest_tied(errors: Array) -> int:
    """Smallest rank whose mean error (columns of (m, k)) is within a standard error of the best."""
    best = int(np.argmin(errors.mean(axis=0)))
    excess = errors[:, : best + 1] - errors[:, best, None]
    return 1 + int(np.argmax(excess.mean(axis=0) <= excess.std(axis=0) / np.sqrt(len(errors))))
