"""Compile the kernels before the first fit."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from ._threads import limit_threads
from .clustering.communities import locally_scaled, move_in_batches, repeated_communities
from .clustering.kmeans import k_means
from .clustering.labels import cluster_means
from .clustering.propagation import propagate_labels
from .clustering.refinement import refine
from .graphs.candidates import nearest_of
from .graphs.cell_index import CellIndex
from .graphs.knn import knn_graph, symmetrized
from .graphs.locality import breadth_first_order, renumber
from .graphs.search import nearest_to
from .graphs.search_cells import cell_candidates
from .graphs.search_exact import nearest_points
from .layout import lay_out, membership_graph, place_new
from .linalg.chebyshev import Recurrence
from .linalg.products import GroundedLaplacian, spmm
from .models.frpcag import solve_frpcag
from .models.losses import Huber
from .preprocessing.sparse import ShiftedSparse
from .reduction.random_walk import random_walk_weights
from .solvers.conjugate_gradients import block_pcg
from .solvers.irls import irls
from .solvers.least_absolute import least_absolute
from .video.foreground import Detector, foreground_evidence, foreground_mask, separate_frames

N_SAMPLES, N_FEATURES, N_NEIGHBORS = 300, 40, 5  # of random data that no kernel takes long for


@dataclass(frozen=True)
class Warmup:
    """What :func:`warmup` did."""

    n_compiled: int
    n_cached: int
    """Kernels that had been compiled before."""
    seconds: float
    folder: Path | None
    """Cache of compiled code; None if no folder is writable, so that every process compiles again."""

    def __str__(self) -> str:
        """Return two lines for people."""
        where = "no folder is writable: set NUMBA_CACHE_DIR to one" if self.folder is None else str(self.folder)
        return (
            f"{self.n_compiled} kernels compiled in {self.seconds:.0f} s, {self.n_cached} were compiled before\n"
            f"cache of compiled code: {where}"
        )


def warmup() -> Warmup:
    """Compile every kernel that fits use, for float32 and float64 data, into the cache on disk.

    The first fit of an installation compiles what it needs, which takes seconds. Call this once instead, for instance
    while the image of a container is built: later processes load the compiled code. It is kept beside the package, or
    in the folder that the environment variable ``NUMBA_CACHE_DIR`` names; processes that find another type of
    processor compile again.
    """
    begin = time.perf_counter()
    with limit_threads(1):
        for dtype in (np.float32, np.float64):
            _call_kernels(np.random.RandomState(0).standard_normal((N_SAMPLES, N_FEATURES)).astype(dtype))
        frames = np.zeros((2, 16, 16), dtype=np.uint8)
        factors = np.zeros((1, 2, frames[0].size), dtype=np.float32)
        detector = Detector(threshold=1.0, smallest=4, darkest=0.65, noise=1.0)
        separate_frames(frames, np.zeros((2, 2), dtype=np.float32), factors, detector, compiled=True)
        foreground_mask(foreground_evidence(frames, frames, compiled=True), detector, compiled=True)
    return _summary(time.perf_counter() - begin)


def _call_kernels(X: Any) -> None:
    """Run every compiled loop once, by the functions that fits call, on types that fits have."""
    rng = np.random.RandomState(0)
    graph, features = knn_graph(X, N_NEIGHBORS), knn_graph(np.ascontiguousarray(X.T), N_NEIGHBORS)
    W, L = graph.weights, graph.laplacian()
    keep, labels = np.arange(0, N_SAMPLES, 5), np.arange(N_SAMPLES) % 3

    nearest_points(X.astype(np.float32), X.astype(np.float32), N_NEIGHBORS, compiled_above=0)
    nearest_of(X, cell_candidates(X, N_NEIGHBORS, rng)[0], N_NEIGHBORS, compiled=True)
    CellIndex.build(X, N_NEIGHBORS, random_state=0, exact_up_to=0).query(X, N_NEIGHBORS)
    sparse = ShiftedSparse(sp.csr_array(np.maximum(X, 0)))
    nearest_of(sparse, np.tile(np.arange(20), (N_SAMPLES, 1)), N_NEIGHBORS, compiled=True)
    symmetrized(np.ones((N_SAMPLES, 2), X.dtype), np.tile(keep[:2], (N_SAMPLES, 1)), compiled_above=0)
    renumber(W, breadth_first_order(W)[1])
    random_walk_weights(W, keep, n_repeats=1, max_steps=1000, seed=0)

    spmm(L, X, compiled_above=0)
    Recurrence(L, X, 2.0, compiled_above=0).advance()
    solve_frpcag(X, L, features.laplacian(), gamma_samples=1.0, gamma_features=1.0, max_iter=1, compiled=True)
    grounded = GroundedLaplacian.of(W, keep)
    diagonal = np.where(grounded.free, grounded.degrees, np.inf)
    block_pcg(grounded, np.where(grounded.free[:, None], X, 0).astype(X.dtype), diagonal=diagonal, compiled=True)
    irls(X, X[:2], Huber(1.0), max_iter=1, compiled=True)
    least_absolute(X, X[:2], np.zeros((N_SAMPLES, 2), X.dtype), max_iter=1)

    k_means(X, 3, 1, rng)
    cluster_means(X, labels, 3)
    propagate_labels(labels[keep], keep, W)
    refine(W, labels, 3, compiled_above=0)
    repeated_communities(locally_scaled(W), 3, 1, rng)
    order = np.arange(N_SAMPLES, dtype=np.int32)
    arrays = W.indptr.astype(np.int64), W.indices.astype(np.int32), W.data.astype(np.float64)
    move_in_batches(arrays, order.copy(), order, 1.0, 1)

    near = membership_graph(graph, N_NEIGHBORS)
    place_new(*nearest_to(X, X, N_NEIGHBORS), X, lay_out(near.weights, np.ascontiguousarray(X[:, :2]), n_epochs=1), 0)


def _summary(seconds: float) -> Warmup:
    from .kernels.compiling import KERNELS

    called = [kernel.stats for kernel in KERNELS if kernel.signatures]
    n_compiled = sum(sum(stats.cache_misses.values()) for stats in called)
    n_cached = sum(sum(stats.cache_hits.values()) for stats in called)
    folders = [stats.cache_path for stats in called if stats.cache_path is not None]
    return Warmup(n_compiled, n_cached, seconds, Path(folders[0]) if folders else None)
