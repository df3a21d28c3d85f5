"""Graph upsampling: the one linear system behind every decoder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from .._backend import Array
from ..graphs import Graph
from ..linalg.multigrid import multigrid, pyamg_installed
from ..linalg.products import GroundedLaplacian, spmm
from ..sampling import check_reach
from ..solvers.conjugate_gradients import Preconditioner, solve_spd
from ..solvers.solution import Solution

SINGLE_PRECISION_FROM = 1e-5  # tol


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
    single = (
        values.dtype == graph.weights.dtype == np.float32 and tol >= SINGLE_PRECISION_FROM and _no_faint_ties(graph)
    )
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


def _no_faint_ties(graph: Graph) -> bool:
    """Whether the faintest weight is seen beside the largest degree in single precision."""
    return bool(graph.weights.data.min(initial=np.inf) > 10 * np.finfo(np.float32).eps * graph.degrees.max())


def _on_free_nodes(A: GroundedLaplacian) -> Callable[[Array], Array]:
    """Multigrid for the system of the free nodes, on signals of all nodes."""
    cycle = multigrid(A.matrix())

    def precondition(R: Array) -> Array:
        Z = np.zeros_like(R)
        Z[A.free] = cycle(R[A.free])
        return Z

    return precondition
