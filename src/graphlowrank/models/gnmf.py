"""Graph-regularized non-negative matrix factorization (GNMF, Cai et al. 2011)."""

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from scipy.optimize import nnls
from sklearn.utils import check_random_state
from sklearn.utils.extmath import randomized_svd

from .._checks import without_mask
from .._threads import single_threaded_libraries
from .._typing import Array
from ..linalg.blocks import row_blocks
from ..linalg.products import dot, product, spmm
from ..linalg.svd import leading_svd
from ..preprocessing.sparse import canonical_csr
from ..solvers.fista import Callback
from ..solvers.solution import Iterated
from .checks import check_gamma, check_laplacian, precision_of, safe_unit, strongest_gamma

UpdatesName = Literal["accelerated", "multiplicative"]

SCORE_STEPS = 15  # gradient steps for the scores per product of X with the components
COMPONENT_SWEEPS = 4
INNER_RTOL = 0.1  # inner steps end once one moves less than this share of the first
WINDOW = 10  # iterations over which the stopping rule compares the objective
CLOSE = 0.01  # of ||X||^2; the stopping rule is relative to at least this objective
CANCELLATION = 1e5  # eps of ||X||^2; below, the residual is summed entry by entry, not as a difference of sums
BLOCK_ENTRIES = 2_000_000  # entries of X made dense at a time
ROUNDING = 1e-6  # of the largest entry of a singular vector; smaller ones count as 0


@dataclass(frozen=True, eq=False)
class NonNegativeFactors(Iterated):
    """Result of :func:`solve_gnmf`: ``X`` is about ``scores @ components``.

    Attributes
    ----------
    scores, components
        (n_samples, k) and (k, n_features), >= 0; components have norm 1.
    n_iter, converged, residual
        Number of iterations, whether the stopping rule was met, and the relative decrease of the objective that it
        compares, over the last 10 iterations.
    objective
        Objective after each iteration; it never increases.
    """

    scores: Array
    components: Array
    n_iter: int
    converged: bool
    residual: float
    objective: list[float]


def solve_gnmf(
    X: Any,
    L_samples: Any,
    n_components: int,
    *,
    gamma: float,
    init: str | tuple[Array, Array] = "nndsvda",
    updates: UpdatesName = "accelerated",
    tol: float = 1e-4,
    max_iter: int = 500,
    random_state: Any = None,
    callback: Callback | None = None,
) -> NonNegativeFactors:
    """``argmin ||X - S C||_F^2 + gamma tr(S^T L S)`` over S, C >= 0 with rows of C of norm 1: a local minimum.

    Parameters
    ----------
    X
        (n_samples, n_features), >= 0, dense or scipy sparse; not written to.
    L_samples
        Laplacian (n_samples, n_samples), sparse, or None for plain NMF.
    n_components, gamma
        Number k of components, and weight of the graph term, >= 0.
    init
        "nndsvda" (from singular vectors, Boutsidis and Gallopoulos 2008, zeros replaced by the root mean), "random",
        or a pair of arrays (scores, components).
    updates
        "accelerated" or "multiplicative", see the notes.
    tol, max_iter
        Stop when the last 10 iterations lowered the objective by less than ``tol`` of its value, or of
        ``||X||^2 / 100`` if that is more; and the iterations allowed.
    random_state, callback
        Random seed of the initial factors; called with (iteration, residual).

    Notes
    -----
    Without the constraint on the components, scaling S down and C up would make the graph term vanish. The equivalent
    objective ``||X - S C||^2 + gamma sum_j ||c_j||^2 s_j^T L s_j`` is invariant to that scaling, so components are free
    during their step and normalized after it.

    "multiplicative" is the update of Cai et al.; without a graph, that of Lee and Seung (2001). ::

        S <- S * (X C^T + gamma W S) / (S C C^T + gamma D S)      L = D - W
        C <- C * (S^T X) / (S^T S C + gamma diag(s_j^T L s_j) C)

    "accelerated" takes several steps on the same two sub-problems per product with X, which dominates the cost: the
    scores by projected gradients with momentum, in steps scaled by the row sums of C C^T plus 2 gamma D; the components
    one row at a time (hierarchical alternating least squares). On digits, 15 to 110 iterations reach the objective of a
    thousand multiplicative ones; each costs as much as two (no graph) to seven of them.

    Examples
    --------
    >>> import numpy as np
    >>> from graphlowrank.graphs import path_graph
    >>> X = np.array([[2.0, 0.0], [2.0, 0.0], [0.0, 3.0], [0.0, 3.0]])
    >>> found = solve_gnmf(X, path_graph(4).unit_laplacian(), 2, gamma=0)
    >>> bool(np.abs(found.scores @ found.components - X).max() < 1e-2)
    True
    """
    X, largest = _validated(X)
    _check_options(X, L_samples, n_components, gamma, init, updates, tol, max_iter)
    unit = safe_unit(largest)
    with single_threaded_libraries():
        problem = _Problem(X if unit == 1 else X / X.dtype.type(unit), L_samples, float(gamma))
        S, C = starting_factors(problem.X, n_components, init, check_random_state(random_state), unit)
        found = _descend(problem, S, C, updates, tol, max_iter, callback)
    objective = [value * unit * unit for value in found.objective]
    return replace(found, scores=found.scores * X.dtype.type(unit), objective=objective)


def _descend(
    problem: "_Problem", S: Array, C: Array, updates: UpdatesName, tol: float, max_iter: int, callback: Callback | None
) -> NonNegativeFactors:
    objective: list[float] = []
    n_iter, converged, residual = 0, problem.size == 0, 0.0
    while n_iter < max_iter and not converged:
        S, C, value = problem.iterate(S, C, updates)
        objective.append(value)
        n_iter += 1
        past = objective[max(n_iter - 1 - WINDOW, 0)]
        residual = (past - value) / max(past, CLOSE * problem.size)
        converged = n_iter > WINDOW and residual <= tol
        if callback is not None:
            callback(n_iter, residual)
    return NonNegativeFactors(S, C, n_iter, converged=converged, residual=residual, objective=objective)


@single_threaded_libraries()
def nonnegative_scores(X: Any, components: Array) -> Array:
    """``argmin_S ||X - S components||^2`` over S >= 0, exact, by active sets, each row of X (dense or sparse) alone."""
    # Only the projection on the span of the components matters, k numbers per sample.
    basis, triangle = np.linalg.qr(components.T)
    scores = np.zeros((X.shape[0], len(components)), dtype=components.dtype)
    for row, inside in enumerate(X @ basis):
        scores[row] = nnls(triangle, inside)[0]
    return scores


class _Problem:
    """Data and graph term, in the precision of X; ``size`` is ``||X||^2``."""

    def __init__(self, X: Any, L: Any, gamma: float) -> None:
        entries = X.data[None] if sp.issparse(X) else X
        self.X, self.size = X, dot(entries, entries)
        self.L: Any = None
        self.gamma = 0.0
        self.pull: Array | None = None  # (n, 1): gamma D; 2 gamma D is an upper bound of gamma L
        if L is not None and gamma > 0:
            self.L, self.gamma = L.astype(X.dtype), min(gamma, strongest_gamma(X, L))
            self.pull = (self.gamma * self.L.diagonal()[:, None]).astype(X.dtype)

    def iterate(self, S: Array, C: Array, updates: UpdatesName) -> tuple[Array, Array, float]:
        """One step for the scores, one for the components; return both and the objective."""
        update_scores, update_components = UPDATES[updates]
        S, C_last = update_scores(self, S, product(self.X, C.T), C @ C.T), C
        products = np.ascontiguousarray(product(self.X.T, S).T)  # (k, p)
        roughness = self.roughness(S)
        gram = S.T @ S
        gram[np.diag_indices_from(gram)] += self.gamma * roughness
        C = update_components(C, products, gram)
        value = self.value(S, C, products, gram, roughness)
        return *unit_components(S, C, C_last), value

    def graph_term(self, S: Array) -> Array | float:
        """``gamma L S``."""
        return 0.0 if self.L is None else spmm(self.L, S) * S.dtype.type(self.gamma)

    def roughness(self, S: Array) -> Array:
        """``s_j^T L s_j`` of each column."""
        if self.L is None:
            return np.zeros(S.shape[1])
        return np.maximum(np.einsum("ij,ij->j", S, spmm(self.L, S), dtype=np.float64), 0)

    def value(self, S: Array, C: Array, products: Array, gram: Array, roughness: Array) -> float:
        """Objective from thin products, where they are accurate; ``gram`` is S^T S plus the graph term."""
        C = C.astype(np.float64)
        value = self.size - 2 * float(np.vdot(products, C)) + float(np.vdot(gram @ C, C))
        if value > CANCELLATION * np.finfo(S.dtype).eps * self.size:
            return value
        return self.squared_residual(S, C.astype(S.dtype)) + self.gamma * float(roughness @ np.sum(C * C, axis=1))

    def squared_residual(self, S: Array, C: Array) -> float:
        """``||X - S C||^2`` from a few dense rows at a time."""
        total = 0.0
        for rows in row_blocks(*self.X.shape, entries=BLOCK_ENTRIES):
            block = self.X[rows]
            block = (block.toarray() if sp.issparse(block) else block) - S[rows] @ C
            total += dot(block, block)
        return total


def _multiply_scores(problem: _Problem, S: Array, products: Array, gram: Array) -> Array:
    above, below = products, S @ gram
    if problem.pull is not None:
        pulled = problem.pull * S
        above, below = above + pulled - problem.graph_term(S), below + pulled
    return _ratio(S * above, below)


def _multiply_components(C: Array, products: Array, gram: Array) -> Array:
    return _ratio(C * products, gram @ C)


def _ratio(above: Array, below: Array) -> Array:
    return np.maximum(above, 0) / np.maximum(below, np.finfo(below.dtype).tiny)


def _accelerate_scores(
    problem: _Problem, S: Array, products: Array, gram: Array, n_steps: int = SCORE_STEPS, rtol: float = INNER_RTOL
) -> Array:
    """Projected gradient steps with momentum on ``<S, S gram + gamma L S - 2 products>``, which never increases."""

    def at(S: Array) -> tuple[Array, float]:
        image = S @ gram
        image += problem.graph_term(S)
        return image, dot(S, image) - 2 * dot(S, products)

    step = 1 / (gram.sum(axis=1) + (0 if problem.pull is None else 2 * problem.pull))
    image, value = at(S)
    ahead, image_ahead, momentum, first = S, image, 1.0, 0.0
    for _ in range(n_steps):
        trial = np.maximum(ahead - (image_ahead - products) * step, 0)
        image_trial, value_trial = at(trial)
        if value_trial > value:
            if momentum == 1:  # without momentum only rounding can increase it
                break
            ahead, image_ahead, momentum = S, image, 1.0
            continue
        momentum_next = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        weight = S.dtype.type((momentum - 1) / momentum_next)
        ahead, image_ahead = trial + weight * (trial - S), image_trial + weight * (image_trial - image)
        moved = float(np.linalg.norm(trial - S))
        S, image, value, momentum = trial, image_trial, value_trial, momentum_next
        first = max(first, moved)
        if moved <= rtol * first:
            break
    return S


def _accelerate_components(C: Array, products: Array, gram: Array) -> Array:
    """Minimize ``<C, gram C - 2 products>`` over each row of C >= 0 in turn."""
    first = 0.0
    for _ in range(COMPONENT_SWEEPS):
        C_last, C = C, C.copy()
        for j in np.flatnonzero(np.diagonal(gram) > 0):
            C[j] += (products[j] - gram[j] @ C) / gram[j, j]
            np.maximum(C[j], 0, out=C[j])
        with np.errstate(over="ignore"):  # single precision and a huge gamma
            moved = float(np.linalg.norm(C - C_last))
        first = max(first, moved)
        if moved <= INNER_RTOL * first:
            break
    return C


UPDATES = {
    "accelerated": (_accelerate_scores, _accelerate_components),
    "multiplicative": (_multiply_scores, _multiply_components),
}


def starting_factors(
    X: Any, k: int, init: str | tuple[Array, Array], rng: np.random.RandomState, unit: float
) -> tuple[Array, Array]:
    """Return initial scores, and components of norm 1; see :func:`solve_gnmf` for ``init``.

    Zeros are replaced by the root of the mean of X, so that both factors scale with the root of the data. The mean
    itself, as in the paper, would only fit data of mean 1.
    """
    n, p = X.shape
    fallback = np.full((k, p), 1 / np.sqrt(p), dtype=X.dtype)
    if not isinstance(init, str):
        S, C = (np.array(part, dtype=X.dtype) for part in init)
        return unit_components(S / X.dtype.type(unit), C, fallback)
    typical = np.sqrt(float(X.sum(dtype=np.float64)) / (n * p))
    if init == "random":
        S, C = (typical / np.sqrt(k) * np.abs(rng.standard_normal(shape)) for shape in ((n, k), (k, p)))
    else:
        S, C = _nndsvd(X, k, rng)
        for part in (S, C.T):
            # Equal columns would stay equal, so empty ones get random entries.
            empty = ~part.any(axis=0)
            part[:, empty] = typical * rng.uniform(size=(len(part), empty.sum()))
            part[part <= ROUNDING * part.max(axis=0)] = typical
    return unit_components(S.astype(X.dtype), C.astype(X.dtype), fallback)


def _nndsvd(X: Any, k: int, rng: np.random.RandomState) -> tuple[Array, Array]:
    """Positive or negative part of each leading singular pair, whichever is larger."""
    if sp.issparse(X):
        left, values, right_t = randomized_svd(X, k, random_state=rng)
        right = right_t.T
    else:
        left, values, right = leading_svd(X, k)
    S, C = np.zeros((X.shape[0], k)), np.zeros((k, X.shape[1]))
    for j in range(k):
        pairs = [(np.maximum(sign * left[:, j], 0), np.maximum(sign * right[:, j], 0)) for sign in (1, -1)]
        u, v = max(pairs, key=lambda pair: np.linalg.norm(pair[0]) * np.linalg.norm(pair[1]))
        u_length, v_length = np.linalg.norm(u), np.linalg.norm(v)
        if values[j] * u_length * v_length > np.finfo(X.dtype).eps * values[0]:
            size = np.sqrt(values[j] * u_length * v_length)
            S[:, j], C[j] = size * u / u_length, size * v / v_length
    return S, C


def unit_components(S: Array, C: Array, C_last: Array) -> tuple[Array, Array]:
    """Scale rows of C to norm 1. A row that vanished keeps its last value, with scores of 0, and may return later."""
    lengths = np.sqrt(np.einsum("ij,ij->i", C, C, dtype=np.float64)).astype(C.dtype)
    alive = lengths > 0
    C = np.where(alive[:, None], C / np.where(alive, lengths, 1)[:, None], C_last)
    return S * lengths, C


def _validated(X: Any) -> tuple[Any, float]:
    """``X`` in single or double precision, dense by rows or CSR, and its largest entry."""
    X = canonical_csr(X) if sp.issparse(X) else np.asarray(without_mask(X))
    X = X.astype(precision_of(X), copy=False)
    entries = X.data if sp.issparse(X) else X
    largest, smallest = float(entries.max(initial=0)), float(entries.min(initial=0))
    if not np.isfinite(largest) or not np.isfinite(smallest):
        raise ValueError("X contains NaN or infinity.")
    if smallest < 0:
        raise ValueError(f"X must not be negative; its smallest entry is {smallest}.")
    return X, largest


def _check_options(X: Any, L: Any, k: int, gamma: float, init: Any, updates: str, tol: float, max_iter: int) -> None:
    """Raise if an option is not valid for ``X``."""
    n, p = X.shape
    if not 1 <= k <= min(n, p):
        raise ValueError(f"n_components must be between 1 and {min(n, p)} for shape {X.shape}, got {k}.")
    check_gamma(gamma)
    if not tol >= 0 or max_iter < 1:
        raise ValueError(f"needs tol >= 0 and max_iter >= 1; got {tol} and {max_iter}.")
    if updates not in UPDATES:
        raise ValueError(f"updates must be one of {', '.join(map(repr, UPDATES))}; got {updates!r}.")
    if L is not None:
        check_laplacian(L, n)
    if isinstance(init, str):
        if init not in ("nndsvda", "random"):
            raise ValueError(f"init must be 'nndsvda', 'random' or a pair of arrays, got {init!r}.")
        return
    for part, shape in zip(init, ((n, k), (k, p)), strict=True):
        if np.shape(part) != shape or not np.all(np.isfinite(part)) or np.min(part) < 0:
            raise ValueError(f"init needs finite arrays >= 0 of shapes {(n, k)} and {(k, p)}.")
