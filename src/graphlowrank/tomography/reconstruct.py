"""Reconstruct an image that is smooth on graphs of its own rows and columns."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

import numpy as np

from .._checks import is_number
from .._literals import TomographyLoss
from .._progress import Progress
from .._threads import limit_threads, single_threaded_libraries
from .._typing import Array
from ..options import check_count, is_auto
from ..preprocessing.robust_statistics import MAD_TO_STD
from .operators import row_subset
from .problem import HuberLoss, Measurements, Smoothness, descend, optimality
from .reconstruction import Choice, Reconstruction

GAMMAS = tuple(10.0 ** np.arange(3, -3.01, -0.5))  # decreasing: "auto" tries them, a given gamma is approached by them
PATIENCE = 2  # gammas without improvement after which "auto" stops
RETRIED = 3  # gammas before the best that are tried with other values of chain, which may allow larger gammas
REWEIGHTED = 20  # iterations for one set of weights of a robust loss
CHAIN = 0.5  # on the path of gammas: neighbors in a noisy image alone would share only noise
CHAINS = (CHAIN, 0.0)  # values that "auto" tries
HELD_OUT = 0.1  # fraction of the readings in a validation split
ENOUGH_HELD_OUT, MAX_SPLITS = 400, 4  # readings to validate on, and splits to reach that many
TRIMMED = 0.02  # fraction of the validation errors, the largest, that is ignored
SAME_IMAGE = 1e-3  # relative change of the image below which its graphs are not built again

Gammas = tuple[float, float]  # features, samples


@dataclass(frozen=True)
class Options:
    """Options of the minimization; see :func:`reconstruct`."""

    loss: TomographyLoss = "l2"
    nonnegative: bool = False
    n_neighbors: int = 3
    rebuild_every: int = 30
    max_rebuilds: int = 3
    tol: float = 1e-4
    max_iter: int = 500

    noise: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.loss not in ("l2", "l1", "huber"):
            raise ValueError(f"loss must be 'l2', 'l1' or 'huber'; got {self.loss!r}.")
        for name in ("n_neighbors", "rebuild_every", "max_rebuilds", "max_iter"):
            check_count(getattr(self, name), name)
        if not 0 < self.tol < 1:
            raise ValueError(f"tol must be between 0 and 1; got {self.tol!r}.")
        if self.noise is not None and not 0 < self.noise < np.inf:
            raise ValueError(f"noise must be a positive number; got {self.noise!r}.")


@dataclass(frozen=True, eq=False)
class Estimate:
    """An image, the problem it was computed for, the objective for each pair of graphs, and iterations so far."""

    x: Array
    smooth: Smoothness
    loss: HuberLoss
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
    loss: TomographyLoss = "l2",
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
    """Reconstruct an image from linear measurements, smooth on graphs of its rows and columns.

    Minimizes ``||A vec(X) - b||^2 + gamma_features tr(X^T L_r X) + gamma_samples tr(X L_c X^T)`` (Section VII-C of the
    paper), where the graphs join similar rows and similar columns of the image itself. It follows a path of decreasing
    gammas from a very smooth image; at each of them, graphs and image are updated in turn.

    Parameters
    ----------
    A : array, sparse matrix or LinearOperator (m, height * width)
        Measurement operator, pixels in row-major order; see :func:`~graphlowrank.tomography.projection_matrix`.
    b : array (m,)
        Readings; NaN where missing.
    shape : (int, int)
        Height and width of the image.
    gamma_features, gamma_samples : float or "auto", default="auto"
        Weights of the graphs of the rows and of the columns. They do not depend on the units of A and b: each Laplacian
        is divided by its mean degree, and the data term by the mean squared norm of a column of A. "auto" chooses the
        same value for both, by validation on held-out readings.
    chain : float or "auto", default="auto"
        Share of the path graph, which joins adjacent rows or columns; the rest is the graph of nearest neighbors. It
        helps for noisy images, in which similar rows may share only noise. "auto" chooses 0.5 or 0 by validation.
    noise : float or None, default=None
        Standard deviation of a reading. If given, gamma is the largest value tried whose residual is at most the noise
        (discrepancy principle).
    loss : {"l2", "l1", "huber"}, default="l2"
        "huber" and "l1" resist outliers among the readings, if other readings measure the same pixels.
    nonnegative : bool, default=False
        Constrain the image to be nonnegative.
    n_neighbors : int, default=3
        Neighbors of each row and column.
    rebuild_every, max_rebuilds : int, default=30, 3
        Iterations between updates of the graphs, and updates for each gamma.
    tol, max_iter : float and int, default=1e-4, 500
        Tolerance of the projected gradient relative to that at zero, and iterations, for the last graphs.
    n_jobs : int or None, default=None
        Threads of libraries; None for all cores.
    random_state : int, default=0
        Seed of the validation splits.
    verbose : int, default=0
        1 reports on standard error.

    Returns
    -------
    reconstruction : Reconstruction
        The image and how it was found.

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
    options = Options(
        loss, nonnegative, n_neighbors, rebuild_every, max_rebuilds, tol, max_iter, noise, random_state
    )  # fmt: skip
    path = gamma_path(_number(gamma_features, "gamma_features"), _number(gamma_samples, "gamma_samples"))
    first = 0 if "auto" in (gamma_features, gamma_samples) else len(path) - 1  # gammas before only lead to it
    given_chain = _number(chain, "chain", most=1.0)
    chains = CHAINS if given_chain is None else (given_chain,)
    data = Measurements.of(A, b, shape)
    progress = Progress(verbose)
    with limit_threads(n_jobs), single_threaded_libraries():  # rows and columns are few: threads only add overhead
        with progress.stage("choosing gamma"):
            choice, tried = choose(data, path, first, chains, options)
        with progress.stage("reconstruction"):
            return solve(data, path, choice, options, tried)


def _number(value: Any, name: str, most: float = np.inf) -> float | None:
    """Return None for "auto"."""
    if is_auto(value):
        return None
    if is_number(value) and 0 <= float(value) <= most:
        return float(value)
    numbers = "a number >= 0" if most == np.inf else f"a number from 0 to {most:g}"
    raise ValueError(f"{name} must be 'auto' or {numbers}; got {value!r}.")


def gamma_path(rows: float | None, columns: float | None) -> list[Gammas]:
    """Decreasing pairs of gammas: all that "auto" tries (None), or those that lead to the given ones."""
    if rows is None or columns is None:
        return [(gamma if rows is None else rows, gamma if columns is None else columns) for gamma in GAMMAS]
    largest = max(rows, columns)
    factors = [gamma / largest for gamma in GAMMAS if gamma > largest > 0]
    return [*((factor * rows, factor * columns) for factor in factors), (rows, columns)]


# --- minimization along the path of gammas ---


def solve(
    data: Measurements, path: list[Gammas], choice: Choice, options: Options, tried: Mapping[Choice, float]
) -> Reconstruction:
    """Follow the path to the chosen gammas, and solve the problem there."""
    gammas, chain = choice[:2], choice[2]
    *_, estimate = follow(data, path[: path.index(gammas) + 1], options)
    if chain != CHAIN:
        estimate = alternate(data, estimate, gammas, chain, options)
    residual = optimality(data, estimate.smooth, estimate.loss, estimate.x, nonnegative=options.nonnegative)
    image, history = estimate.x.reshape(data.shape), list(estimate.history)
    found = Reconstruction(
        image, *choice, tried, history, len(history), estimate.n_iter, residual <= options.tol, residual
    )
    return found.warn_unless_converged("reconstruct", "raise max_iter or tol")


def follow(data: Measurements, path: list[Gammas], options: Options) -> Iterator[Estimate]:
    """Yield an estimate for each pair of gammas, each from the one before; the first from path graphs."""
    x = np.zeros(data.shape[0] * data.shape[1])
    smooth = Smoothness.around(x.reshape(data.shape), options.n_neighbors, 1.0, path[0], data.unit)
    estimate = minimize(data, Estimate(x, smooth, HuberLoss(), ([],), 0), options, options.rebuild_every)
    for gammas in path:
        estimate = alternate(data, estimate, gammas, CHAIN, options)
        yield estimate


def alternate(data: Measurements, estimate: Estimate, gammas: Gammas, chain: float, options: Options) -> Estimate:
    """Update graphs and image in turn, then minimize for the last graphs."""
    loss = HuberLoss.named(options.loss, data.residual(estimate.x), data.b)
    for _ in range(options.max_rebuilds):
        before = estimate.x
        smooth = Smoothness.around(before.reshape(data.shape), options.n_neighbors, chain, gammas, data.unit)
        estimate = Estimate(before, smooth, loss, (*estimate.history, []), estimate.n_iter)
        estimate = minimize(data, estimate, options, options.rebuild_every)
        if np.linalg.norm(estimate.x - before) <= SAME_IMAGE * np.linalg.norm(estimate.x):
            break
    return minimize(data, estimate, options, options.max_iter)


def minimize(data: Measurements, estimate: Estimate, options: Options, max_iter: int) -> Estimate:
    """Minimize the problem of an estimate, up to ``tol`` or ``max_iter``; robust losses by reweighted least squares."""
    x, smooth, loss = estimate.x, estimate.smooth, estimate.loss
    *before, last = estimate.history
    n_iter, residual, steps = 0, np.inf, list(last)
    while residual > options.tol and n_iter < max_iter:
        portion = max_iter - n_iter if options.loss == "l2" else min(REWEIGHTED, max_iter - n_iter)
        found = descend(data, smooth, loss, x, nonnegative=options.nonnegative, tol=options.tol, max_iter=portion)
        x, n_iter, residual = found.X, n_iter + found.n_iter, found.residual
        steps += found.objective
        if options.loss != "l2":  # the weights have changed
            residual = optimality(data, smooth, loss, x, nonnegative=options.nonnegative)
    return Estimate(x, smooth, loss, (*before, steps), estimate.n_iter + n_iter)


# --- choice of gammas and chain ---


def choose(
    data: Measurements, path: list[Gammas], first: int, chains: tuple[float, ...], options: Options
) -> tuple[Choice, dict[Choice, float]]:
    """Choose among ``path[first:]`` and chains by the validation error, or gammas by the noise if it is known."""
    choice, tried = (*path[-1], chains[0]), {}
    several_chains = len(chains) > 1 and max(path[-1]) > 0
    several_gammas = first < len(path) - 1
    if several_chains or (several_gammas and options.noise is None):
        tried = validate(data, path, first, chains, options)
        choice = min(tried, key=lambda one: tried[one])
    if several_gammas and options.noise is not None:
        tried = discrepancies(data, path, choice[2], options.noise, options)
        choice = list(tried)[-1]
    return choice, tried


def validate(
    data: Measurements, path: list[Gammas], first: int, chains: tuple[float, ...], options: Options
) -> dict[Choice, float]:
    """Compute the validation error of each choice.

    The path ends early once the error grows; other values of chain are tried for its best gammas and those before.
    """
    splits = _splits(data, options.seed)
    parts = [part for _, part in splits]
    visited, errors = [], []
    along = zip(path, *(follow(part, path, options) for part in parts), strict=True)
    for gammas, *estimates in islice(along, first, None):
        visited.append((gammas, estimates))
        errors.append(_validation_error(data, splits, estimates, options))
        if int(np.argmin(errors)) < len(errors) - PATIENCE:
            break
    best = int(np.argmin(errors))
    tried = {(*gammas, CHAIN): error for (gammas, _), error in zip(visited, errors, strict=True) if CHAIN in chains}
    for chain in set(chains) - {CHAIN}:
        for gammas, estimates in visited[max(best - RETRIED, 0) : best + 1]:
            pairs = zip(parts, estimates, strict=True)
            others = [alternate(part, estimate, gammas, chain, options) for part, estimate in pairs]
            tried[*gammas, chain] = _validation_error(data, splits, others, options)
    return tried


def _splits(data: Measurements, seed: int) -> list[tuple[Array, Measurements]]:
    """Masks of held-out readings, and the measurements without them; several where there are few readings."""
    n = len(data.b)
    if n < 2:
        raise ValueError("'auto' holds some readings out, and there is only one; give gamma and chain.")
    order = np.random.default_rng(seed).permutation(n)
    size = max(1, round(HELD_OUT * n))
    splits = []
    for first in range(0, min(MAX_SPLITS * size, ENOUGH_HELD_OUT, n - 1), size):
        held = np.isin(np.arange(n), order[first : first + size])
        splits.append((held, Measurements.of(row_subset(data.A, ~held), data.b[~held], data.shape)))
    return splits


def _validation_error(
    data: Measurements, splits: list[tuple[Array, Measurements]], estimates: list[Estimate], options: Options
) -> float:
    """Trimmed error on held-out readings: one that no other reading predicts, such as the mean, must not decide."""
    errors = [data.residual(found.x)[held] for (held, _), found in zip(splits, estimates, strict=True)]
    sizes = np.sort(np.abs(np.concatenate(errors)))
    return _scale(sizes[: math.ceil((1 - TRIMMED) * len(sizes))], options)


def discrepancies(
    data: Measurements, path: list[Gammas], chain: float, noise: float, options: Options
) -> dict[Choice, float]:
    """Residual of each pair of gammas, down to the first that is at most the noise."""
    tried: dict[Choice, float] = {}
    for gammas, estimate in zip(path, follow(data, path, options), strict=True):
        found = estimate if chain == CHAIN else alternate(data, estimate, gammas, chain, options)
        tried[*gammas, chain] = _scale(data.residual(found.x), options)
        if tried[*gammas, chain] <= noise:
            break
    return tried


def _scale(errors: Array, options: Options) -> float:
    """Root mean square of errors; for robust losses the standard deviation estimated by their MAD."""
    if options.loss == "l2":
        return float(np.sqrt(np.mean(errors**2)))
    return MAD_TO_STD * float(np.median(np.abs(errors)))
