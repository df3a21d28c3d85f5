"""Images from few linear measurements, smooth on graphs that are learnt on the way."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal

import numpy as np

from .._backend import Array
from .._progress import Progress
from .._threads import limit_threads, single_threaded_libraries
from ..solvers.solution import Iterated
from .operators import as_operator, check_image_shape, row_subset
from .problem import NORMAL_DEVIATION, Loss, Measurements, Smoothness, descend, optimality

GAMMAS = tuple(10.0 ** np.arange(3, -3.01, -0.5))  # from smooth to sharp: "auto" tries them, a given one is neared so
PATIENCE = 2  # gammas after the best that "auto" still tries
ABOVE = 3  # gammas before the best for which it tries another share of chains: fewer chains bear a larger gamma
REWEIGHTED = 20  # iterations for one set of weights, if the loss has them
CHAIN = 0.5  # share of chains on the way: graphs of a noisy image alone make rows alike that share no more than noise
CHAINS = (CHAIN, 0.0)  # that "auto" tries
HELD_OUT = 0.1  # share of the readings that the choice is judged by
ENOUGH, MOST_SPLITS = 400, 4  # readings to judge by, and times that others are held out to reach that
LEFT_OUT = 0.02  # share of their errors, the largest, that does not count
SETTLED = 1e-3  # relative change of the image between two graphs from which on they stay


Gammas = tuple[float, float]  # of features, of samples
Choice = tuple[float, float, float]  # and chain


@dataclass(frozen=True, eq=False)
class Reconstruction(Iterated):
    """Answer of :func:`reconstruct`.

    Attributes
    ----------
    image
        (height, width).
    gamma_features, gamma_samples
        What was used.
    chain
        Share of chains that was used.
    tried
        (gamma_features, gamma_samples, chain) -> what they were judged by, where "auto" chose: error on held-out
        readings, or the residual.
    objective
        Objective after each step; one list for each pair of graphs, never growing within a list. With a loss other than
        "l2" it is that of the squares that stand in for it, which lie above it.
    n_graphs
        Pairs of graphs that were built.
    n_iter, converged, residual
        Iterations made; whether the problem for the last graphs was solved; the relative length of its projected
        gradient.
    """

    image: Array
    gamma_features: float
    gamma_samples: float
    chain: float
    tried: Mapping[Choice, float]
    objective: list[list[float]]
    n_graphs: int
    n_iter: int
    converged: bool
    residual: float


@dataclass(frozen=True)
class Options:
    """How to reconstruct; see :func:`reconstruct`."""

    loss: Literal["l2", "l1", "huber"] = "l2"
    nonnegative: bool = False
    n_neighbors: int = 3
    rebuild_every: int = 30
    max_rebuilds: int = 3
    tol: float = 1e-4
    max_iter: int = 500


@dataclass(frozen=True, eq=False)
class Estimate:
    """An image on the way: the problem it was last made for, the objective for each graph's steps, iterations."""

    x: Array
    smooth: Smoothness
    loss: Loss
    history: tuple[list[float], ...]
    n_iter: int


def reconstruct(
    A: Any,
    b: Any,
    shape: tuple[int, int],
    *,
    gamma_features: float | Literal["auto"] = "auto",
    gamma_samples: float | Literal["auto"] = "auto",
    chain: float | Literal["auto"] = "auto",
    noise: float | None = None,
    loss: Literal["l2", "l1", "huber"] = "l2",
    nonnegative: bool = False,
    n_neighbors: int = 3,
    rebuild_every: int = 30,
    max_rebuilds: int = 3,
    tol: float = 1e-4,
    max_iter: int = 500,
    n_jobs: int | None = None,
    random_state: int = 0,
    verbose: int = 0,
) -> Reconstruction:
    """Image whose measurements are known, as smooth as they allow on graphs between its rows and its columns.

    ``min_X ||A vec(X) - b||^2 + gamma_features tr(X^T L_r X) + gamma_samples tr(X L_c X^T)`` (Section VII-C of the
    paper). Rows that look alike are made more alike, wherever they are, and columns, too; those next to one another
    may count as alike in any case (``chain``). The graphs come from the image itself. The first one is very smooth, and
    made with chains alone; then gamma falls by and by, and at each of its values graphs and image are made in turn,
    until they settle. At the end the problem for the last graphs is solved.

    Parameters
    ----------
    A
        Measurements (m, height * width), pixels row by row: an array, a sparse matrix or a
        :class:`scipy.sparse.linalg.LinearOperator`. See :func:`~graphlowrank.tomography.projection_matrix`.
    b
        (m,) readings; NaN where there is none.
    shape
        (height, width).
    gamma_features, gamma_samples
        Weight of the graph between rows, and of that between columns; free of the units of A and b: each Laplacian is
        divided by its mean diagonal, and the data term by the mean square of a column of A. "auto" tries some, the same
        for both, and takes the one that predicts a tenth of the readings best from the others.
    chain
        Share of the graphs that joins each row, and each column, to the next one; the rest joins those that look alike.
        It helps where the image is noisy: what looks alike then may be noise. "auto" tries 0.5 and 0 on held-out
        readings.
    noise
        Standard deviation of a reading. If it is given, gamma is the largest one tried that explains the readings up to
        it instead (discrepancy principle).
    loss
        "l2"; "huber" or "l1" if some readings may be grossly wrong. That shows only where others say something else of
        the same pixels: not where each reading is an entry of its own.
    nonnegative
        Whether the image is known to have no negative values.
    n_neighbors
        Of each row and each column.
    rebuild_every, max_rebuilds
        Iterations between graphs; how many there may be for each gamma on the way.
    tol, max_iter
        Of the last problem: the projected gradient over that at zero, and iterations allowed.
    n_jobs
        Threads of libraries; None for every core.
    random_state
        Seed of the readings that are held out.
    verbose
        1 reports on standard error.

    Examples
    --------
    >>> import numpy as np
    >>> from graphlowrank.datasets import shepp_logan_phantom
    >>> from graphlowrank.tomography import projection_matrix, reconstruct
    >>> phantom = shepp_logan_phantom(32)
    >>> A = projection_matrix((32, 32), np.arange(0, 180, 10))
    >>> found = reconstruct(A, A @ phantom.ravel(), (32, 32), nonnegative=True)
    >>> bool(np.abs(found.image - phantom).mean() < 0.02)
    True
    """
    options = Options(loss, nonnegative, n_neighbors, rebuild_every, max_rebuilds, tol, max_iter)
    _check_options(options, noise)
    rungs = ladder(_check_gamma(gamma_features, "gamma_features"), _check_gamma(gamma_samples, "gamma_samples"))
    asked = rungs if "auto" in (gamma_features, gamma_samples) else rungs[-1:]
    chains = _check_chain(chain)
    data = measurements(A, b, shape)
    progress = Progress(verbose)
    with limit_threads(n_jobs), single_threaded_libraries():  # rows and columns are few: threads only get in the way
        with progress.stage("choosing gamma"):
            choice, tried = choose(data, rungs, asked, chains, options, noise, random_state)
        with progress.stage("reconstruction"):
            return solve(data, rungs, choice, options, tried)


def ladder(rows: float | None, columns: float | None) -> list[Gammas]:
    """Pairs of gammas from smooth to sharp: all that "auto" tries, or those on the way to the given ones."""
    if rows is None or columns is None:
        return [(gamma if rows is None else rows, gamma if columns is None else columns) for gamma in GAMMAS]
    largest = max(rows, columns)
    above = [gamma / largest for gamma in GAMMAS if gamma > largest > 0]
    return [*((factor * rows, factor * columns) for factor in above), (rows, columns)]


def measurements(A: Any, b: Any, shape: tuple[int, int]) -> Measurements:
    """Check what was measured, and leave out rows without a reading."""
    height, width = check_image_shape(shape)
    operator = as_operator(A, (height, width))
    readings = np.asarray(b, dtype=np.float64)
    if readings.shape != (operator.shape[0],):
        raise ValueError(f"b must have a reading for each of the {operator.shape[0]} rows of A, got {readings.shape}.")
    if np.isinf(readings).any():
        raise ValueError("b has infinite readings; use NaN where there is none.")
    seen = ~np.isnan(readings)
    if not seen.any():
        raise ValueError("every reading in b is missing.")
    if not seen.all():
        operator, readings = as_operator(row_subset(operator, seen), (height, width)), readings[seen]
    return Measurements.of(operator, readings, (height, width))


def solve(
    data: Measurements, rungs: list[Gammas], choice: Choice, options: Options, tried: Mapping[Choice, float]
) -> Reconstruction:
    """Go down to the chosen gammas, and solve the problem there."""
    gammas, chain = choice[:2], choice[2]
    *_, estimate = climb_down(data, rungs[: rungs.index(gammas) + 1], options)
    if chain != CHAIN:
        estimate = settle(data, estimate, gammas, chain, options)
    residual = optimality(data, estimate.smooth, estimate.loss, estimate.x, nonnegative=options.nonnegative)
    answer = Reconstruction(
        estimate.x.reshape(data.shape),
        *choice,
        tried,
        list(estimate.history),
        len(estimate.history),
        estimate.n_iter,
        residual <= options.tol,
        residual,
    )
    return answer.warn_unless_converged("reconstruct", "raise max_iter or tol")


def climb_down(data: Measurements, rungs: list[Gammas], options: Options) -> Iterator[Estimate]:
    """Yield an image for each pair of gammas; each begins where the one before ended, the first with chains alone."""
    x = np.zeros(data.shape[0] * data.shape[1])
    chains = Smoothness.around(x.reshape(data.shape), options.n_neighbors, 1.0, rungs[0], data.unit)
    estimate = improve(data, Estimate(x, chains, Loss(), ([],), 0), options, options.rebuild_every)
    for gammas in rungs:
        estimate = settle(data, estimate, gammas, CHAIN, options)
        yield estimate


def settle(data: Measurements, estimate: Estimate, gammas: Gammas, chain: float, options: Options) -> Estimate:
    """Graphs and image in turn, then the image for the last graphs."""
    loss = Loss.named(options.loss, data.residual(estimate.x), data.b)
    for _ in range(options.max_rebuilds):
        before = estimate.x
        X = before.reshape(data.shape)
        smooth = Smoothness.around(X, options.n_neighbors, chain, gammas, data.unit)
        estimate = Estimate(before, smooth, loss, (*estimate.history, []), estimate.n_iter)
        estimate = improve(data, estimate, options, options.rebuild_every)
        if np.linalg.norm(estimate.x - before) <= SETTLED * np.linalg.norm(estimate.x):
            break
    return improve(data, estimate, options, options.max_iter)


def improve(data: Measurements, estimate: Estimate, options: Options, max_iter: int) -> Estimate:
    """Make iterations on the problem of an estimate, until it is solved or they run out."""
    x, smooth, loss = estimate.x, estimate.smooth, estimate.loss
    *before, steps = estimate.history
    n_iter, residual, steps = 0, np.inf, list(steps)
    while residual > options.tol and n_iter < max_iter:
        portion = max_iter - n_iter if options.loss == "l2" else min(REWEIGHTED, max_iter - n_iter)
        found = descend(data, smooth, loss, x, nonnegative=options.nonnegative, tol=options.tol, max_iter=portion)
        x, n_iter, residual = found.X, n_iter + found.n_iter, found.residual
        steps += found.objective
        if options.loss != "l2":  # the squares were solved, perhaps: they are others now
            residual = optimality(data, smooth, loss, x, nonnegative=options.nonnegative)
    return Estimate(x, smooth, loss, (*before, steps), estimate.n_iter + n_iter)


def choose(
    data: Measurements,
    rungs: list[Gammas],
    asked: list[Gammas],
    chains: tuple[float, ...],
    options: Options,
    noise: float | None,
    seed: int,
) -> tuple[Choice, dict[Choice, float]]:
    """Take what predicts held-out readings best; gamma by the noise instead, where that is known."""
    choice, tried = (*asked[-1], chains[0]), {}
    several_chains, several_gammas = len(chains) > 1 and max(asked[-1]) > 0, len(asked) > 1
    if several_chains or (several_gammas and noise is None):
        tried = judge(data, rungs, asked, chains, options, seed)
        choice = min(tried, key=lambda one: tried[one])
    if several_gammas and noise is not None:
        tried = explain(data, rungs, choice[2], options, noise)
        choice = list(tried)[-1]
    return choice, tried


def judge(
    data: Measurements,
    rungs: list[Gammas],
    asked: list[Gammas],
    chains: tuple[float, ...],
    options: Options,
    seed: int,
) -> dict[Choice, float]:
    """Error on held-out readings for each choice.

    The way down ends once it gets worse; another share of chains is tried for its best gamma and those before it.
    """
    splits = _splits(data, seed)
    parts = [part for _, part in splits]
    way, errors = [], []
    for gammas, *estimates in zip(rungs, *(climb_down(part, rungs, options) for part in parts), strict=True):
        if gammas in asked:
            way.append((gammas, estimates))
            errors.append(_held_out_error(data, splits, estimates, options))
            if int(np.argmin(errors)) < len(errors) - PATIENCE:
                break
    best = int(np.argmin(errors))
    tried = {(*gammas, CHAIN): error for (gammas, _), error in zip(way, errors, strict=True) if CHAIN in chains}
    for chain in set(chains) - {CHAIN}:
        for gammas, estimates in way[max(best - ABOVE, 0) : best + 1]:
            pairs = zip(parts, estimates, strict=True)
            others = [settle(part, estimate, gammas, chain, options) for part, estimate in pairs]
            tried[*gammas, chain] = _held_out_error(data, splits, others, options)
    return tried


def _splits(data: Measurements, seed: int) -> list[tuple[Array, Measurements]]:
    """Hold out some readings, and measure with the others; several times where there are few."""
    n = len(data.b)
    if n < 2:
        raise ValueError("'auto' leaves some readings out, and there is only one; give gamma and chain.")
    order = np.random.default_rng(seed).permutation(n)
    size = max(1, round(HELD_OUT * n))
    splits = []
    for first in range(0, min(MOST_SPLITS * size, ENOUGH, n - 1), size):
        held = np.isin(np.arange(n), order[first : first + size])
        A = as_operator(row_subset(data.A, ~held), data.shape)
        splits.append((held, Measurements.of(A, data.b[~held], data.shape)))
    return splits


def _held_out_error(
    data: Measurements, splits: list[tuple[Array, Measurements]], estimates: list[Estimate], options: Options
) -> float:
    """Size of the errors but for the largest: a reading that no other tells of would decide alone, as the mean does."""
    errors = [data.residual(found.x)[held] for (held, _), found in zip(splits, estimates, strict=True)]
    sizes = np.sort(np.abs(np.concatenate(errors)))
    return _spread(sizes[: math.ceil((1 - LEFT_OUT) * len(sizes))], options)


def explain(
    data: Measurements, rungs: list[Gammas], chain: float, options: Options, noise: float
) -> dict[Choice, float]:
    """Size of the residual for each gamma, down to the first that leaves no more than the noise."""
    tried: dict[Choice, float] = {}
    for gammas, estimate in zip(rungs, climb_down(data, rungs, options), strict=True):
        found = estimate if chain == CHAIN else settle(data, estimate, gammas, chain, options)
        tried[*gammas, chain] = _spread(data.residual(found.x), options)
        if tried[*gammas, chain] <= noise:
            break
    return tried


def _spread(errors: Array, options: Options) -> float:
    """Size of errors; few gross ones do not count if the loss bears them."""
    if options.loss == "l2":
        return float(np.sqrt(np.mean(errors**2)))
    return NORMAL_DEVIATION * float(np.median(np.abs(errors)))


def _check_chain(value: Any) -> tuple[float, ...]:
    if isinstance(value, str) and value == "auto":
        return CHAINS
    if isinstance(value, Real) and not isinstance(value, bool) and 0 <= float(value) <= 1:
        return (float(value),)
    raise ValueError(f"chain must be 'auto' or a number from 0 to 1; got {value!r}.")


def _check_gamma(value: Any, name: str) -> float | None:
    if isinstance(value, str) and value == "auto":
        return None
    if isinstance(value, Real) and not isinstance(value, bool) and 0 <= float(value) < np.inf:
        return float(value)
    raise ValueError(f"{name} must be 'auto' or a number >= 0; got {value!r}.")


def _check_options(options: Options, noise: float | None) -> None:
    if options.loss not in ("l2", "l1", "huber"):
        raise ValueError(f"loss must be 'l2', 'l1' or 'huber'; got {options.loss!r}.")
    for name in ("n_neighbors", "rebuild_every", "max_rebuilds", "max_iter"):
        value = getattr(options, name)
        if isinstance(value, bool) or not (isinstance(value, (int, np.integer)) and value >= 1):
            raise ValueError(f"{name} must be a positive whole number; got {value!r}.")
    if not 0 < options.tol < 1:
        raise ValueError(f"tol must be between 0 and 1; got {options.tol!r}.")
    if noise is not None and not 0 < noise < np.inf:
        raise ValueError(f"noise must be a positive number; got {noise!r}.")
