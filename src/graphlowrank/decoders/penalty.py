"""Signals on all nodes from those on kept ones: the smoothest through them, or closest to them under a penalty."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._typing import Array
from ..graphs import Graph, LaplacianKind
from ..linalg.chebyshev import apply_polynomial, fit_coefficients
from ..linalg.eigen import largest_eigenvalue
from ..linalg.multigrid import multigrid, pyamg_installed
from ..linalg.products import GroundedLaplacian, spmm
from ..sampling import check_reach
from ..sampling.nodes import SampledNodes
from ..solvers.conjugate_gradients import Preconditioner, solve_spd
from ..solvers.solution import Solution

Filter = int | Callable[[Array], Array]

SINGLE_PRECISION_FROM = 1e-5  # tol
FILTER_ORDER = 40  # degree of the polynomial that stands for the root of a filter given as a function
REMEDY = "keep more nodes, raise gamma, or lower the power of the filter"


def upsample(
    graph: Graph,
    keep: Array,
    values: Array,
    *,
    tol: float = 1e-7,
    max_iter: int = 2000,
    preconditioner: Preconditioner = "auto",
) -> Solution:
    """Smoothest signals that equal ``values`` on the kept nodes (Lemma 1).

    Solves ``min tr(S^T L S)  s.t.  S[keep] = values``, that is ``L_dd S_d = W_dk values`` on the dropped nodes, for all
    columns together. Each result is a weighted mean of its neighbors' values, so it never leaves their range.

    Parameters
    ----------
    graph
        Graph on all n nodes; every component must hold a kept node.
    keep, values
        (m,) sorted indices of the kept nodes, and (m, k) signals on them.
    tol, max_iter
        Every value is within about ``tol`` of its neighbors' weighted mean, relative to the largest such mean;
        conjugate-gradient iterations allowed.
    preconditioner
        "jacobi", "multigrid" (needs pyamg: ``pip install graphlowrank[amg]``), or "auto": Jacobi, then multigrid if
        that stalls and pyamg is there. Multigrid pays on long paths and on grids with few kept nodes.

    Returns
    -------
    Solution
        ``X`` is (n, k).

    Examples
    --------
    >>> import numpy as np
    >>> from graphlowrank.graphs import path_graph
    >>> upsample(path_graph(5), np.array([0, 4]), np.array([[0.0], [1.0]])).X.ravel().round(6)
    array([0.  , 0.25, 0.5 , 0.75, 1.  ])
    """
    check_reach(graph, keep)
    if len(keep) == graph.n_nodes:
        return Solution.exact(values[np.argsort(keep)])
    # In double precision even for single-precision data, unless little is asked for: faint ties of 1e-4 must be
    # resolved, and these are only a few columns.
    single = values.dtype == graph.weights.dtype == np.float32 and tol >= SINGLE_PRECISION_FROM
    single = single and graph.weights.data.min(initial=np.inf) > 10 * np.finfo(np.float32).eps * graph.degrees.max()
    near = graph.renumbered
    weights, nodes = near.weights.astype(np.float32 if single else np.float64, copy=False), near.nodes(keep)
    A = GroundedLaplacian.of(weights, nodes)
    signals = np.zeros((graph.n_nodes, values.shape[1]), dtype=weights.dtype)
    signals[nodes] = values
    known = spmm(weights, signals)
    known[nodes] = 0
    solution = solve_spd(
        A,
        known,
        diagonal=np.where(A.free, A.degrees, np.inf),
        strong=lambda: _on_free_nodes(A),
        preconditioner=preconditioner,
        tol=tol,
        max_iter=max_iter,
    )
    signals += solution.X
    signals = near.restore(signals).astype(values.dtype, copy=False)
    remedy = "the graph has long thin parts; keep more nodes or raise n_neighbors"
    if preconditioner == "auto" and not pyamg_installed():
        remedy += ", or pip install graphlowrank[amg] for a solver that does not mind them"
    return replace(solution, X=signals).warn_unless_converged("Decoding", remedy)


def _on_free_nodes(A: GroundedLaplacian) -> Callable[[Array], Array]:
    """Multigrid for the system of the free nodes, on signals of all nodes."""
    cycle = multigrid(A.matrix())

    def precondition(R: Array) -> Array:
        Z = np.zeros_like(R)
        Z[A.free] = cycle(R[A.free])
        return Z

    return precondition


@dataclass(frozen=True, eq=False)
class Penalty:
    """``g(L)`` of the unit Laplacian as an operator.

    The faster ``g`` grows around the k-th eigenvalue, the smaller ``g(lambda_k) / g(lambda_k+1)``, which is the error
    of the decoder (Theorems 3 to 5). The paper mentions this and does not use it.
    """

    L: sp.csr_array  # over its mean diagonal
    g: Filter  # whole number m for L^m, or a function of the eigenvalues, >= 0

    def __matmul__(self, X: Array) -> Array:
        """``g(L) X``."""
        if callable(self.g):
            # The square of a polynomial for the root of g: never negative, however rough the fit.
            return apply_polynomial(self.L, apply_polynomial(self.L, X, *self._root), *self._root)
        for _ in range(self.g):
            X = spmm(self.L, X)
        return X

    @cached_property
    def _root(self) -> tuple[Array, float]:
        """Chebyshev coefficients of the root of g, and the end of the range they hold on."""
        upper = largest_eigenvalue(self.L)
        return fit_coefficients(lambda x: np.sqrt(np.maximum(self.g(x), 0.0)), FILTER_ORDER, upper), upper  # type: ignore[operator]

    def strong_preconditioner(
        self, L: sp.csr_array, added: Array | float = 0.0, gamma: float = 1.0
    ) -> Callable[[Array], Array]:
        """Multigrid for ``gamma (L^m + diag(added))``: m cycles on ``L + diag(added)^(1/m)``."""
        assert not callable(self.g)
        m = int(self.g)
        roots = np.broadcast_to(np.asarray(added) ** (1 / m), L.shape[:1])
        cycle = multigrid((L + sp.diags_array(roots)).tocsr())

        def apply(R: Array) -> Array:
            for _ in range(m):
                R = cycle(R)
            return R / gamma

        return apply

    @property
    def diagonal(self) -> Array:
        """Rough diagonal, as a preconditioner needs it."""
        degrees = self.L.diagonal()
        if not callable(self.g):
            return np.asarray(degrees ** float(self.g))
        size = np.asarray(self.g(degrees))
        return np.maximum(size, 1e-3 * size.max() or 1.0)  # a filter may be 0 at a node's degree


def check_filter(g: Any) -> None:
    """Raise unless ``g`` is a power or a function that maps eigenvalues to numbers >= 0."""
    if not callable(g):
        if isinstance(g, bool) or not (isinstance(g, (int, np.integer)) and g >= 1):
            raise ValueError(f"filter must be a whole number >= 1 or a function of the eigenvalue, got {g!r}.")
        return
    tried = np.asarray(g(np.linspace(0.0, 2.0, 5)))
    if tried.shape != (5,) or not np.all(np.isfinite(tried)) or np.any(tried < 0):
        raise ValueError("filter must map an array of eigenvalues to an array of finite numbers >= 0.")


def fit_smooth(
    side: SampledNodes,
    values: Array,
    *,
    gamma: float,
    filter: Filter = 1,
    laplacian: LaplacianKind = "combinatorial",
    tol: float = 1e-7,
    max_iter: int = 5000,
) -> Solution:
    """``argmin_S sum_i w_i ||S_i - values_i||^2 + gamma tr(S^T g(L) S)``, i over the kept nodes, for all columns.

    The solution is ``(M^T W M + gamma g(L))^-1 M^T W values``; as gamma goes to 0 it becomes the smoothest signal
    through the values, which is what gamma = 0 gives (Lemma 1 for the plain Laplacian).

    Parameters
    ----------
    side, values
        Graph, kept nodes and their importance weights w; (m, k) signals on the kept nodes.
    gamma
        Weight of the penalty, >= 0. Laplacians are divided by their mean diagonal.
    filter
        g: m for L^m, or a function of the eigenvalue.
    laplacian
        Which L; "normalized" interpolates ``values / sqrt(degree)``, so it needs gamma 0 and the plain filter.
    tol, max_iter
        Of the conjugate gradients, see :func:`upsample`.
    """
    if laplacian != "combinatorial" and (gamma != 0 or filter != 1):
        raise ValueError("the normalized Laplacian needs gamma=0 and filter=1.")
    if gamma < 0:
        raise ValueError(f"gamma must be >= 0, got {gamma}.")
    check_filter(filter)
    if side.graph is None or (gamma == 0 and side.complete):
        return Solution.exact(values)
    if laplacian == "normalized":
        root = np.sqrt(side.graph.degrees)[:, None]
        root = np.where(root > 0, root, 1).astype(values.dtype)
        found = upsample(side.graph, side.indices, values / root[side.indices], tol=tol)
        return replace(found, X=found.X * root)
    if gamma == 0 and filter == 1:
        return upsample(side.graph, side.indices, values, tol=tol)
    check_reach(side.graph, side.indices)
    penalty = Penalty(side.graph.unit_laplacian().astype(np.float64), filter)
    known = values.astype(np.float64)
    if gamma == 0:
        solution = _interpolate(penalty, side, known, tol, max_iter)
    else:
        solution = _fit(penalty, side, known, gamma, tol / 10, max_iter)
    return replace(solution, X=solution.X.astype(values.dtype)).warn_unless_converged("Decoding", REMEDY)


def _interpolate(penalty: Penalty, side: SampledNodes, values: Array, tol: float, max_iter: int) -> Solution:
    """Solve ``g(L)_dd S_d = -g(L)_dk values`` on the dropped nodes."""
    n_nodes = penalty.L.shape[0]
    dropped = np.setdiff1d(np.arange(n_nodes), side.indices, assume_unique=True)
    # From the ordinary upsampling on: what is left is a correction with a small energy.
    start = fit_smooth(side, values, gamma=0.0)

    def on_dropped(X: Array) -> Array:
        full = np.zeros((n_nodes, X.shape[1]))
        full[dropped] = X
        return (penalty @ full)[dropped]

    correction = solve_spd(
        Operator(on_dropped),
        -(penalty @ start.X)[dropped],
        diagonal=penalty.diagonal[dropped],
        strong=lambda: penalty.strong_preconditioner(penalty.L[dropped][:, dropped]),
        preconditioner="jacobi" if callable(penalty.g) else "auto",
        tol=tol,
        max_iter=max_iter,
    )
    signals = start.X.copy()
    signals[dropped] += correction.X
    return Solution(signals, start.n_iter + correction.n_iter, correction.converged, correction.residual)


def _fit(penalty: Penalty, side: SampledNodes, values: Array, gamma: float, tol: float, max_iter: int) -> Solution:
    """Solve ``(M^T W M + gamma g(L)) S = M^T W values``."""
    weights = node_weights(side)
    known = np.zeros((len(weights), values.shape[1]))
    known[side.indices] = weights[side.indices, None] * values
    return solve_spd(
        Operator(lambda X: weights[:, None] * X + gamma * (penalty @ X)),
        known,
        diagonal=weights + gamma * penalty.diagonal,
        strong=lambda: penalty.strong_preconditioner(penalty.L, weights / gamma, gamma),
        preconditioner="jacobi" if callable(penalty.g) else "auto",
        tol=tol,
        max_iter=max_iter,
    )


def node_weights(side: SampledNodes) -> Array:
    """Return the importance weight (n,) of each node; 0 where it was dropped."""
    weights = np.zeros(len(side.indices) if side.graph is None else side.graph.n_nodes)
    weights[side.indices] = side.root_weights() ** 2
    return weights


@dataclass(frozen=True, eq=False)
class Operator:
    """A function that can be written ``A @ X``."""

    function: Callable[[Array], Array]

    def __matmul__(self, X: Any) -> Any:
        return self.function(X)
