"""Engines of the nearest-neighbor study: ours, faiss, scikit-learn, pynndescent, numpy; and random projections."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from importlib.util import find_spec
from unittest.mock import patch

import faiss
import numpy as np
from sklearn.neighbors import NearestNeighbors

from graphlowrank.graphs import search_cells as cells
from graphlowrank.graphs.candidates import nearest_of
from graphlowrank.graphs.search import nearest_neighbors
from graphlowrank_benchmarks.internals import current_threads

K = 10
LONG = 1000  # coordinates; from here on projections are tried
INVERTED_LISTS_PROBED, INVERTED_LISTS_CANDIDATES = 24, 25
RERANKED = 4  # candidates per neighbor of the projections below
Result = Iterator[tuple]  # name of the row, seconds, (n, K) indices, once more if searched again


@dataclass(frozen=True)
class Engine:
    """``work(X)`` yields rows of a table; left out above a number of points, or of multiplications n * n * d."""

    name: str
    work: Callable[[np.ndarray], Result]
    largest_n: float = np.inf
    largest_work: float = np.inf
    once: bool = False
    shortest: int = 0
    longest: float = np.inf

    def suits(self, X, *, lift):
        n, d = X.shape
        feasible = lift or (n <= self.largest_n and n * n * d <= self.largest_work)
        return feasible and self.shortest <= d <= self.longest


def simple(name, search, **limits):
    """Engine of one row from ``search(X)`` -> indices."""

    def work(X):
        begin = time.perf_counter()
        indices = search(X)
        yield name, time.perf_counter() - begin, indices

    return Engine(name, work, **limits)


def without_self(indices):
    """First K of each row that are not the row itself."""
    own = indices == np.arange(len(indices))[:, None]
    order = np.argsort(own, axis=1, kind="stable")[:, :K]
    return np.take_along_axis(indices, order, axis=1)


def faiss_exact(X):
    return without_self(faiss.knn(X, X, K + 1)[1])


def numpy_exact(X, rows=1024, columns=8192):
    """Squared distances by blocks of one product, and the nearest seen so far beside each new block."""
    X = X - X.mean(axis=0)
    squares = np.einsum("ij,ij->i", X, X)
    found = np.empty((len(X), K), dtype=np.int64)
    for top in range(0, len(X), rows):
        own = np.arange(top, min(top + rows, len(X)))
        blocks = (
            (left, squares[left : left + columns] - 2 * (X[own] @ X[left : left + columns].T))
            for left in range(0, len(X), columns)
        )
        found[own] = running_nearest(blocks, own)
    return found


def running_nearest(blocks, own):
    """Labels of the K least entries of each row of a matrix that comes in (first column, block); ``own`` are not."""
    best, index = np.empty((len(own), 0)), np.empty((len(own), 0), dtype=np.int64)
    for left, block in blocks:
        mine = np.flatnonzero((own >= left) & (own < left + block.shape[1]))
        block[mine, own[mine] - left] = np.inf
        if block.shape[1] > K:
            part = np.argpartition(block, K - 1, axis=1)[:, :K]
        else:
            part = np.tile(np.arange(block.shape[1]), (len(block), 1))
        best = np.hstack([best, np.take_along_axis(block, part, axis=1)])
        index = np.hstack([index, part + left])
        order = np.argsort(best, axis=1)[:, :K]
        best, index = np.take_along_axis(best, order, axis=1), np.take_along_axis(index, order, axis=1)
    return index


def sklearn_brute(X):
    return NearestNeighbors(n_neighbors=K, algorithm="brute", n_jobs=current_threads()).fit(X).kneighbors()[1]


def nn_descent(degree):
    def search(X):
        index = faiss.IndexNNDescentFlat(X.shape[1], degree)
        index.add(X)
        graph = faiss.vector_to_array(index.nndescent.final_graph).reshape(len(X), -1)
        return without_self(graph[:, : K + 1].astype(np.int64))

    return search


def hnsw(efforts):
    """One graph, searched with growing effort; building it is part of every row."""

    def work(X):
        begin = time.perf_counter()
        index = faiss.IndexHNSWFlat(X.shape[1], 16)
        index.add(X)
        building = time.perf_counter() - begin
        for effort in efforts:
            index.hnsw.efSearch = effort
            begin = time.perf_counter()
            indices = without_self(index.search(X, K + 1)[1])
            yield f"faiss HNSW 16, efSearch {effort}", building + time.perf_counter() - begin, indices

    return work


def pynndescent(widths, cache):
    """Search in a new process, which finds on disk what of its compiled code can be kept; then again, compiled.

    The process searches twice with the first width, so one run shows whether it repeats itself. The first process of
    all finds the folder ``cache`` empty, and is a row of its own.
    """

    def work(X):
        first = not any(cache.iterdir())
        for state in ("compiling everything", "new process") if first else ("new process",):
            with tempfile.TemporaryDirectory() as folder:
                np.save(f"{folder}/X.npy", X)
                variables = {"NUMBA_CACHE_DIR": str(cache), "NUMBA_NUM_THREADS": str(current_threads())}
                command = [sys.executable, __file__, folder, *map(str, widths)]
                subprocess.run(command, env={**os.environ, **variables}, check=True)
                with np.load(f"{folder}/answer.npz") as answer:
                    fresh, *seconds = answer["seconds"].tolist()
                    again, *indices = answer["indices"]
            yield f"pynndescent {widths[0]}, {state}", fresh, again, indices[0]
        yield f"pynndescent {widths[0]}, compiled already", seconds[0], again, indices[0]
        for width, took, found in zip(widths[1:], seconds[1:], indices[1:], strict=True):
            yield f"pynndescent {width}, compiled already", took, found

    return work


def pynndescent_child(folder, widths):
    X = np.load(f"{folder}/X.npy")
    seconds, indices = [], []
    for width in (widths[0], *widths):
        begin = time.perf_counter()
        from pynndescent import NNDescent

        graph = NNDescent(X, n_neighbors=width, random_state=0).neighbor_graph[0]
        indices.append(without_self(graph[:, : K + 1].astype(np.int64)))
        seconds.append(time.perf_counter() - begin)
    np.savez(f"{folder}/answer.npz", seconds=seconds, indices=np.stack(indices))


def ours(engine, **constants):
    def search(X):
        with patch.multiple(cells, **constants) if constants else nullcontext():
            return nearest_neighbors(X, K, engine=engine, random_state=0)[1]

    return search


def sweep():
    """Our approximate engine: the defaults, then each constant moved alone."""
    moves = {
        "PROJECTED_DIMENSIONS": (48, 64, 128),
        "CELLS_PER_ROOT": (1, 4),
        "TRIAL_RECALL": (0.95, 0.98, 0.995, 0.999),
    }
    default = {name: getattr(cells, name) for name in moves}
    for chosen in [default] + [{**default, name: value} for name, values in moves.items() for value in values]:
        dimensions, per_root, recall = chosen.values()
        name = f"ours approximate {dimensions} dims, {per_root} sqrt(n) cells, trial recall {recall:g}"
        if chosen == default:
            yield simple(f"{name} (default)", ours("approximate", **chosen))
        else:  # with as many dimensions as there are, or more, nothing is projected
            moved = dimensions != default["PROJECTED_DIMENSIONS"]
            yield simple(name, ours("approximate", **chosen), shortest=dimensions + 1 if moved else 0)


def on_part(width, *, rerank):
    """Exact search on a random part of the coordinates."""

    def search(X):
        part = np.random.default_rng(0).choice(X.shape[1], width, replace=False)
        return _search_short(np.ascontiguousarray(X[:, part]), X, rerank=rerank)

    return search


def on_projection(width, kind):
    """Exact search on a random projection of the coordinates, then the candidates measured in full."""

    def search(X):
        rng = np.random.default_rng(0)
        if kind == "Gaussian":
            directions = rng.standard_normal((X.shape[1], width), dtype=np.float32)
        else:
            directions = rng.integers(0, 2, (X.shape[1], width), dtype=np.int8).astype(np.float32)
            directions = 2 * directions - 1
        return _search_short((X - X.mean(axis=0)) @ directions, X, rerank=True)

    return search


def _search_short(short, X, *, rerank):
    if not rerank:
        return faiss_exact(short)
    candidates = faiss.knn(short, short, min(RERANKED * K + 1, len(X)))[1]
    return nearest_of(X, candidates, K)[1]


def faiss_inverted_lists(X):
    """What our approximate engine does, its cells searched by faiss one query at a time."""
    points = cells.project(X, cells.PROJECTED_DIMENSIONS, np.random.RandomState(0))
    n_cells = max(1, min(int(4 * np.sqrt(len(X))), len(X) // 8))  # better for it than our 2
    index = faiss.IndexIVFFlat(faiss.IndexFlatL2(points.shape[1]), points.shape[1], n_cells)
    index.cp.niter, index.cp.min_points_per_centroid = cells.TRAINING_ITERATIONS, 1
    index.cp.max_points_per_centroid = cells.TRAINING_ROWS_PER_CELL
    index.nprobe = min(INVERTED_LISTS_PROBED, n_cells)
    index.train(points)
    index.add(points)
    candidates = index.search(points, INVERTED_LISTS_CANDIDATES)[1]
    return nearest_of(X, candidates, K)[1]


def engines(cache):
    yield simple("ours exact", ours("exact"), largest_work=5e12)
    yield simple("faiss.knn", faiss_exact, largest_work=5e12)
    yield simple("numpy blocks", numpy_exact, largest_n=30_000)
    yield simple("sklearn brute", sklearn_brute, largest_n=30_000)
    for degree in (16, 32, 64):
        yield simple(f"faiss NN-descent, degree {degree}", nn_descent(degree), largest_n=100_000, longest=2000)
    yield Engine("faiss HNSW", hnsw((16, 64, 256)), largest_n=100_000, longest=2000)
    if find_spec("pynndescent"):
        yield Engine("pynndescent", pynndescent((K + 1, 20, 30), cache), largest_n=100_000, longest=20_000, once=True)
    yield simple("faiss inverted lists on our projection, re-ranked", faiss_inverted_lists, largest_n=200_000)
    yield from sweep()
    for width in (256, 1024, 4096):
        for rerank in (False, True):
            name = f"{width} coordinates, exact" + (", re-ranked" if rerank else "")
            yield simple(name, on_part(width, rerank=rerank), largest_work=5e12, shortest=max(LONG, width + 1))
    for kind in ("Gaussian", "sign"):
        for width in (64, 128, 256, 512):
            name = f"{kind} projection to {width}, re-ranked"
            yield simple(name, on_projection(width, kind), largest_work=5e12, shortest=LONG)


if __name__ == "__main__":
    pynndescent_child(sys.argv[1], [int(width) for width in sys.argv[2:]])
