"""Versions of single steps of the pipeline: ours, plain numpy, scipy or scikit-learn, and other packages."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ..cells import Record
from ..internals import Array, current_threads, default_gammas
from .registry import system

if TYPE_CHECKING:
    import scipy.sparse as sp

Result = TypeVar("Result")

MARK = ": "
ITERATION, KRON, UPSAMPLE, KNN = "FRPCAG iteration", "Kron reduction", "upsampling 10 columns", "kNN graph"
COPY = f"memory{MARK}copy"
SHORT, REPEATS = 2.0, 5  # a step of less than 2 seconds is repeated 5 times
FEW, MANY = 5, 65  # iterations
COPY_BYTES = 2**28
COLUMNS, TOL = 10, 1e-7  # of the linear systems


@dataclass(frozen=True, eq=False)
class StepData:
    """Points (n, p), edge weights (n, n) of their graph, kept nodes, and threads (None for every core)."""

    X: Array
    weights: sp.csr_array
    keep: Array
    threads: int | None

    @property
    def dropped(self) -> Array:
        """Nodes that are not kept."""
        return np.setdiff1d(np.arange(len(self.X)), self.keep)


def timed(work: Callable[[], Result], record: Record) -> Result:
    """Run ``work`` and record its seconds: of the only run if it is long, else the median of runs after the first."""
    result, seconds = _once(work)
    if seconds < SHORT:
        seconds = median(_once(work)[1] for _ in range(REPEATS))
    record.values["step_seconds"] = seconds
    record.note_peak()
    return result


def _once(work: Callable[[], Result]) -> tuple[Result, float]:
    begin = time.perf_counter()
    return work(), time.perf_counter() - begin


# --- one iteration of FRPCAG on the whole matrix


def _iterations(solve: Callable[[int], Any], data: StepData, record: Record) -> None:
    """Seconds of one iteration: the difference of two runs over the difference of their iterations."""
    solve(1)  # loads or compiles code
    few, many = Record(), Record()
    timed(lambda: solve(FEW), few)
    timed(lambda: solve(MANY), many)
    spent = many.values["step_seconds"] - few.values["step_seconds"]
    L = data.weights
    entries = L.nnz + len(data.X)  # the Laplacian has a diagonal
    moved = 5 * data.X.nbytes + entries * (L.data.itemsize + L.indices.itemsize) + L.indptr.nbytes
    record.peak = many.peak
    record.values.update(step_seconds=max(spent, 1e-9) / (MANY - FEW), bytes=int(moved))


def _problem(data: StepData) -> tuple[Array, Any, Any, dict[str, Any]]:
    """Return data, Laplacians and gammas as the clustering estimator has them."""
    from graphlowrank.graphs import Graph, knn_graph

    X = data.X - data.X.mean(axis=0)
    X /= np.abs(X).mean()
    features = knn_graph(np.ascontiguousarray(data.X.T), min(10, data.X.shape[1] - 1), random_state=0)
    gamma_samples, gamma_features = default_gammas("normalized")
    return (
        X,
        Graph(data.weights).unit_laplacian("normalized"),
        features.unit_laplacian("normalized"),
        {"gamma_samples": gamma_samples, "gamma_features": gamma_features},
    )


@system("step", f"{ITERATION}{MARK}ours")
def iteration_ours(data: StepData, record: Record) -> None:
    """Ours, as in the estimators."""
    from graphlowrank.models import solve_frpcag
    from graphlowrank.models.frpcag import COMPILED_ABOVE

    X, L_samples, L_features, gammas = _problem(data)
    _iterations(lambda n: solve_frpcag(X, L_samples, L_features, **gammas, tol=0.0, max_iter=n), data, record)
    compiled = L_samples.nnz * X.shape[1] > COMPILED_ABOVE
    record.values["outcome"] = "compiled" if compiled else "so small that it is not compiled"


@system("step", f"{ITERATION}{MARK}numpy and scipy")
def iteration_plain(data: StepData, record: Record) -> None:
    """Ours without compiled code, which is not used for matrices of scipy's older class."""
    import scipy.sparse as sp

    from graphlowrank.linalg.eigen import largest_eigenvalue
    from graphlowrank.models.losses import DataFit, make_loss
    from graphlowrank.models.smoothness import TwoGraphSmoothness
    from graphlowrank.solvers.fista import fista, proximal_step

    X, L_samples, L_features, gammas = _problem(data)
    bound = 2 * gammas["gamma_samples"] * largest_eigenvalue(L_samples)
    bound += 2 * gammas["gamma_features"] * largest_eigenvalue(L_features)
    smooth = TwoGraphSmoothness(sp.csr_matrix(L_samples), L_features.toarray(), **gammas)
    step = proximal_step(smooth, DataFit(make_loss("l1"), X), 1 / bound)
    _iterations(lambda n: fista(step, X, tol=0.0, max_iter=n), data, record)
    record.values["outcome"] = "the twin that tests hold the compiled one to"


@system("step", COPY)
def memory_copy(data: StepData, record: Record) -> None:
    """Copy a large array, each thread a part."""
    source, target, n = np.ones(COPY_BYTES, np.uint8), np.zeros(COPY_BYTES, np.uint8), current_threads()
    parts = [slice(COPY_BYTES * part // n, COPY_BYTES * (part + 1) // n) for part in range(n)]
    with ThreadPoolExecutor(n) as pool:
        timed(lambda: list(pool.map(lambda part: np.copyto(target[part], source[part]), parts)), record)
    record.values.update(bytes=2 * COPY_BYTES, outcome=f"{COPY_BYTES / 1e6:.0f} MB, {n} threads")


# --- Kron reduction


def kron(data: StepData, record: Record, method: Any) -> None:
    """Ours, by random walks or by sparse factorization."""
    from graphlowrank.graphs import Graph
    from graphlowrank.reduction import kron_reduce

    graph = Graph(data.weights)
    small = timed(lambda: kron_reduce(graph, data.keep, method, random_state=0, n_jobs=data.threads), record)
    record.values["outcome"] = f"{small.n_edges} edges"


system("step", f"{KRON}{MARK}ours, random walks")(partial(kron, method="random_walk"))
system("step", f"{KRON}{MARK}ours, exact")(partial(kron, method="exact"))


@system("step", f"{KRON}{MARK}scipy splu")
def kron_scipy(data: StepData, record: Record) -> None:
    """Schur complement written with scipy."""
    from scipy.sparse.linalg import splu

    def reduce() -> Any:
        L, keep, dropped = _laplacian(data).tocsc(), data.keep, data.dropped
        L_dk = L[dropped][:, keep]
        return L[keep][:, keep].toarray() - L_dk.T @ splu(L[dropped][:, dropped].tocsc()).solve(L_dk.toarray())

    record.values["outcome"] = _edges(timed(reduce, record))


@system("step", f"{KRON}{MARK}PyGSP")
def kron_pygsp(data: StepData, record: Record) -> None:
    """PyGSP's, given the Laplacian."""
    import scipy.sparse as sp
    from pygsp.reduction import kron_reduction

    L = sp.csr_matrix(_laplacian(data))
    small = timed(lambda: kron_reduction(L, data.keep), record)
    record.values["outcome"] = _edges(small)


def _laplacian(data: StepData) -> Any:
    from graphlowrank.graphs import Graph

    return Graph(data.weights.astype(np.float64)).laplacian()


def _edges(L: Any) -> str:
    return f"{(np.count_nonzero(L if isinstance(L, np.ndarray) else L.toarray()) - L.shape[0]) // 2} edges"


# --- the linear system of the decoders


@system("step", f"{UPSAMPLE}{MARK}ours, block PCG")
def upsample_ours(data: StepData, record: Record) -> None:
    """Block conjugate gradients."""
    from graphlowrank.decoders import upsample
    from graphlowrank.graphs import Graph

    graph, values = Graph(data.weights), _values(data)
    solution = timed(lambda: upsample(graph, data.keep, values, tol=TOL), record)
    _record_residual(data, solution.X[data.dropped], record, f"{solution.n_iter} iterations")


@system("step", f"{UPSAMPLE}{MARK}scipy cg, by columns")
def upsample_cg(data: StepData, record: Record) -> None:
    """Scipy's conjugate gradients with the same preconditioner, column by column."""
    import scipy.sparse as sp
    from scipy.sparse.linalg import cg

    def solve() -> Array:
        L_dd, B = _system(data)
        jacobi = sp.diags_array(1 / L_dd.diagonal())
        return np.column_stack([cg(L_dd, column, rtol=TOL, M=jacobi, maxiter=2000)[0] for column in B.T])

    _record_residual(data, timed(solve, record), record, "")


@system("step", f"{UPSAMPLE}{MARK}scipy splu")
def upsample_splu(data: StepData, record: Record) -> None:
    """Scipy's sparse factorization."""
    from scipy.sparse.linalg import splu

    def solve() -> Array:
        L_dd, B = _system(data)
        return splu(L_dd.tocsc()).solve(B)

    _record_residual(data, timed(solve, record), record, "")


def _values(data: StepData) -> Array:
    return np.random.default_rng(0).standard_normal((len(data.keep), COLUMNS))


def _system(data: StepData) -> tuple[Any, Array]:
    L = _laplacian(data)
    rows = L[data.dropped]
    return rows[:, data.dropped].tocsr(), -(rows[:, data.keep] @ _values(data))


def _record_residual(data: StepData, found: Array, record: Record, also: str) -> None:
    """Record the largest residual of a node over its degree, relative to the right-hand side: what our tol bounds."""
    L_dd, B = _system(data)
    degrees = L_dd.diagonal()[:, None]
    left = np.abs((B - L_dd @ found) / degrees).max(axis=0) / np.abs(B / degrees).max(axis=0)
    record.values["outcome"] = ", ".join(part for part in (also, f"residual {left.max():.1e}") if part)


# --- nearest neighbors


def knn(data: StepData, record: Record, engine: Any) -> None:
    """Ours, all pairs or by cells."""
    from graphlowrank.graphs import knn_graph

    graph = timed(lambda: knn_graph(data.X, 10, neighbors=engine, random_state=0), record)
    record.values["outcome"] = _recall(data, graph.weights)


system("step", f"{KNN}{MARK}ours, exact")(partial(knn, engine="exact"))
system("step", f"{KNN}{MARK}ours, approximate")(partial(knn, engine="approximate"))


@system("step", f"{KNN}{MARK}scikit-learn brute")
def knn_sklearn(data: StepData, record: Record) -> None:
    """scikit-learn's brute force, without weights."""
    from sklearn.neighbors import kneighbors_graph

    jobs = data.threads or -1
    directed = timed(lambda: kneighbors_graph(data.X, 10, include_self=False, n_jobs=jobs), record)
    record.values["outcome"] = _recall(data, directed.maximum(directed.T))


@system("step", f"{KNN}{MARK}pynndescent")
def knn_pynndescent(data: StepData, record: Record) -> None:
    """PyNNDescent, which counts a point among its own neighbors; the first run, which compiles, is not timed."""
    import scipy.sparse as sp
    from pynndescent import NNDescent

    def search() -> Array:
        return NNDescent(data.X, n_neighbors=11, random_state=0, n_jobs=data.threads or -1).neighbor_graph[0]

    search()
    found, n = timed(search, record), len(data.X)
    directed = sp.csr_array((np.ones(found.size), found.ravel(), np.arange(0, found.size + 1, 11)), shape=(n, n))
    record.values["outcome"] = _recall(data, directed.maximum(directed.T))


def _recall(data: StepData, weights: Any) -> str:
    """Share of the ten nearest neighbors that are connected; ties in distance count as found."""
    from sklearn.neighbors import NearestNeighbors

    distances, _ = NearestNeighbors(n_neighbors=10, algorithm="brute").fit(data.X).kneighbors()
    rows, columns = weights.nonzero()
    apart = np.linalg.norm(data.X[rows] - data.X[columns], axis=1)
    near = (apart <= distances[rows, -1] * (1 + 1e-5)) & (rows != columns)
    found = np.minimum(np.bincount(rows[near], minlength=len(data.X)), 10)
    return f"recall {found.mean() / 10:.4f}"
