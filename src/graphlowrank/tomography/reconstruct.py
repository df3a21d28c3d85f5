"""Images from few linear measurements, smooth on graphs that are learnt on the way."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal

import numpy as np

from .._backend import Array
from .._progress import Progress
from .._threads import limit_threads, single_threaded_libraries
from ..solution import Iterated
from .operators import as_operator, check_image_shape, row_subset
from .problem import Loss, Measurements, Smoothness, descend, objective, optimality

GAMMAS = tuple(10.0 ** np.arange(-3, 3.01, 0.5))  # that "auto" tries, from sharp to smooth
HELD_OUT = 0.1  # share of the readings that the choice is judged by
RUNS = 10  # in which they lie
SETTLED = 1e-3  # relative change of the image between two graphs from which on they stay


@dataclass(frozen=True, eq=False)
class Reconstruction(Iterated):
    """Answer of :func:`reconstruct`.

    Attributes
    ----------
    image
        (height, width).
    gamma_features, gamma_samples
        What was used.
    tried
        gamma -> what it was judged by, where "auto" chose: error on held-out readings, or the residual.
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
    tried: Mapping[float, float]
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
    first_iterations: int = 3
    rebuild_every: int = 20
    max_rebuilds: int = 20
    tol: float = 1e-4
    max_iter: int = 500


def reconstruct(
    A: Any,
    b: Any,
    shape: tuple[int, int],
    *,
    gamma_features: float | Literal["auto"] = "auto",
    gamma_samples: float | Literal["auto"] = "auto",
    noise: float | None = None,
    loss: Literal["l2", "l1", "huber"] = "l2",
    nonnegative: bool = False,
    n_neighbors: int = 3,
    first_iterations: int = 3,
    rebuild_every: int = 20,
    max_rebuilds: int = 20,
    tol: float = 1e-4,
    max_iter: int = 500,
    n_jobs: int | None = None,
    random_state: int = 0,
    verbose: int = 0,
) -> Reconstruction:
    """Image whose measurements are known, as smooth as they allow on graphs between its rows and its columns.

    ``min_X ||A vec(X) - b||^2 + gamma_features tr(X^T L_r X) + gamma_samples tr(X L_c X^T)`` (Section VII-C of the
    paper). Rows that look alike are made more alike, wherever they are, and columns, too. The graphs come from the
    image itself: from a few iterations without them at first, then from every so many iterations with them, until they
    settle; then the problem for the last graphs is solved.

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
        for both, and takes the one that predicts a tenth of the readings, in runs, best from the others.
    noise
        Standard deviation of a reading. If it is given, "auto" takes the smoothest image that explains the readings up
        to it instead (discrepancy principle).
    loss
        "l2"; "huber" or "l1" if some readings may be grossly wrong. That shows only where others say something else of
        the same pixels: not where each reading is an entry of its own.
    nonnegative
        Whether the image is known to have no negative values.
    n_neighbors
        Of each row and each column.
    first_iterations, rebuild_every, max_rebuilds
        Iterations before the first graphs, and between graphs; how many there may be.
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
    options = Options(loss, nonnegative, n_neighbors, first_iterations, rebuild_every, max_rebuilds, tol, max_iter)
    _check_options(options, noise)
    gammas = _check_gamma(gamma_features, "gamma_features"), _check_gamma(gamma_samples, "gamma_samples")
    data = measurements(A, b, shape)
    progress = Progress(verbose)
    with limit_threads(n_jobs), single_threaded_libraries():  # rows and columns are few: threads only get in the way
        tried: dict[float, float] = {}
        if None in gammas:
            with progress.stage("choosing gamma"):
                tried = judge_gammas(data, gammas, options, noise, random_state)
        with progress.stage("reconstruction"):
            best = choose_gamma(tried, noise) if tried else 0.0
            rows, columns = (best if gamma is None else gamma for gamma in gammas)
            return solve(data, (rows, columns), options, tried)


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
    data: Measurements, gammas: tuple[float, float], options: Options, tried: Mapping[float, float]
) -> Reconstruction:
    """Graphs and image in turn, then the image for the last graphs."""
    bound: dict[str, Any] = {"nonnegative": options.nonnegative}
    no_graphs = Smoothness(None, None, 0.0, 0.0)
    x = np.zeros(data.shape[0] * data.shape[1])
    x = descend(data, no_graphs, Loss(), x, tol=0.0, max_iter=options.first_iterations + 1, **bound).X
    loss = Loss.named(options.loss, data.residual(x), data.b)
    history, n_iter, smooth = [], options.first_iterations, no_graphs
    for _ in range(options.max_rebuilds):
        smooth = Smoothness.around(x.reshape(data.shape), options.n_neighbors, *gammas, data.unit)
        before = x
        found = descend(data, smooth, loss, x, tol=options.tol, max_iter=options.rebuild_every + 1, **bound)
        x, n_iter = found.X, n_iter + found.n_iter
        history.append(found.objective)
        if np.linalg.norm(x - before) <= SETTLED * np.linalg.norm(x):
            break
    steps = [objective(data, smooth, loss, x)]
    left, residual = options.max_iter, optimality(data, smooth, loss, x, **bound)
    while residual > options.tol and left > 0:
        found = descend(data, smooth, loss, x, tol=options.tol, max_iter=left if options.loss == "l2" else 20, **bound)
        x, left, n_iter = found.X, left - found.n_iter, n_iter + found.n_iter
        steps.append(objective(data, smooth, loss, x))
        residual = optimality(data, smooth, loss, x, **bound)
    answer = Reconstruction(
        x.reshape(data.shape),
        *gammas,
        tried,
        [*history, steps],
        len(history),
        n_iter,
        residual <= options.tol,
        residual,
    )
    return answer.warn_unless_converged("reconstruct", "raise max_iter or tol")


def judge_gammas(
    data: Measurements, gammas: tuple[float | None, ...], options: Options, noise: float | None, seed: int
) -> dict[float, float]:
    """Judge each candidate by its error on held-out readings, or by its residual where the noise is known."""
    held = np.zeros(len(data.b), dtype=bool) if noise is not None else _held_out(len(data.b), seed)
    part = data if noise is not None else Measurements.of(
        as_operator(row_subset(data.A, ~held), data.shape), data.b[~held], data.shape
    )  # fmt: skip
    found = {}
    for candidate in GAMMAS:
        both = tuple(candidate if gamma is None else gamma for gamma in gammas)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the last one warns
            x = solve(part, (both[0], both[1]), options, {}).image.ravel()
        errors = data.residual(x)[held if noise is None else slice(None)]
        spread = np.sqrt(np.mean(errors**2)) if options.loss == "l2" else np.median(np.abs(errors)) * 1.4826
        found[candidate] = float(spread)
    return found


def _held_out(n: int, seed: int) -> Array:
    """Choose readings to leave out, in runs: those next to one another tell of each other, whatever the image is."""
    held = np.zeros(n, dtype=bool)
    length = max(1, round(HELD_OUT * n / RUNS))
    for first in np.random.default_rng(seed).integers(0, n, RUNS):
        held[(first + np.arange(length)) % n] = True
    if held.all():
        raise ValueError(f"gamma='auto' leaves some readings out, and there are only {n}; give gamma.")
    return held


def choose_gamma(tried: Mapping[float, float], noise: float | None) -> float:
    """Take the best predictor; or the smoothest that leaves no more than the noise, the sharpest if none does."""
    if noise is None:
        return min(tried, key=lambda gamma: tried[gamma])
    within = [gamma for gamma, spread in tried.items() if spread <= noise]
    return max(within, default=min(tried))


def _check_gamma(value: Any, name: str) -> float | None:
    if isinstance(value, str) and value == "auto":
        return None
    if isinstance(value, Real) and not isinstance(value, bool) and 0 <= float(value) < np.inf:
        return float(value)
    raise ValueError(f"{name} must be 'auto' or a number >= 0; got {value!r}.")


def _check_options(options: Options, noise: float | None) -> None:
    if options.loss not in ("l2", "l1", "huber"):
        raise ValueError(f"loss must be 'l2', 'l1' or 'huber'; got {options.loss!r}.")
    for name in ("n_neighbors", "first_iterations", "rebuild_every", "max_rebuilds", "max_iter"):
        value = getattr(options, name)
        if isinstance(value, bool) or not (isinstance(value, (int, np.integer)) and value >= 1):
            raise ValueError(f"{name} must be a positive whole number; got {value!r}.")
    if not 0 < options.tol < 1:
        raise ValueError(f"tol must be between 0 and 1; got {options.tol!r}.")
    if noise is not None and not 0 < noise < np.inf:
        raise ValueError(f"noise must be a positive number; got {noise!r}.")
