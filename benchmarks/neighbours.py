"""Seconds and recall of nearest-neighbour searches, one table for each data set.

    python benchmarks/neighbours.py                       # digits, synthetic; more if GRAPHLOWRANK_DATA names a folder
    python benchmarks/neighbours.py --quick               # small parts of everything: does it run?
    python benchmarks/neighbours.py --only usps mnist     # data sets whose name contains a word
    python benchmarks/neighbours.py --large               # a million points too

The ten nearest other points of every point, Euclidean, float32. Where points are long (features of many samples,
pixels of many frames, genes), searches on a part of the coordinates or on a random projection are there as well; the
points are given as contiguous rows. Seconds run from the matrix in memory to the finished lists, building of indexes
included, all cores unless --threads says otherwise. Our own kernels are compiled before the clock starts.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from unittest.mock import patch

import faiss
import numpy as np
from sklearn.datasets import load_digits
from sklearn.neighbors import NearestNeighbors

from graphlowrank._threads import current_threads, limit_threads
from graphlowrank.datasets import load_mnist, load_usps, load_video, load_worm_neurons
from graphlowrank.graphs import nearest_neighbors
from graphlowrank.graphs import search_cells as cells
from graphlowrank.graphs.candidates import Candidates
from graphlowrank.graphs.rerank import nearest_of

K = 10
QUERIES = 2000  # rows that recall is measured on
LONG = 1000  # coordinates; from here on projections are worth a try
INVERTED_LISTS_PROBED, INVERTED_LISTS_CANDIDATES = 24, 25
RERANKED = 4  # candidates per neighbour of the projections below
Result = Iterator[tuple]  # name of the row, seconds, (n, K) indices, once more if searched again


# --- engines -----------------------------------------------------------------------------------------------


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
                command = [sys.executable, __file__, "--child", folder, "--widths", *map(str, widths)]
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
    return nearest_of(X, Candidates(candidates, np.arange(len(X))), K)[1]


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
    return nearest_of(X, Candidates(candidates, np.arange(len(X))), K)[1]


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


# --- data --------------------------------------------------------------------------------------------------


def digits(*, quick):
    return load_digits().data[: 600 if quick else None].astype(np.float32)


def usps(*, quick):
    return load_usps()[0][: 800 if quick else None]


def mnist(n):
    def load(*, quick):
        rows = np.random.default_rng(0).permutation(70_000)[: min(n, 1000) if quick else n]
        return load_mnist()[0][rows]

    return load


def mnist_features(*, quick):
    return np.ascontiguousarray(load_mnist()[0][: 1500 if quick else None].T)


def video_pixels(*, quick):
    return np.ascontiguousarray(load_video("restaurant").matrix().T)[: 800 if quick else None]


def worm_neurons(*, quick):
    """Counts of each cell brought to the median total, then log(1 + x)."""
    counts = load_worm_neurons()[0][: 500 if quick else None].toarray()
    totals = counts.sum(axis=1, keepdims=True)
    return np.log1p(counts / totals * np.median(totals))


def clouds(n):
    """Ten normal clouds in 10 dimensions, turned into 50 and blurred by noise of a twentieth."""

    def load(*, quick):
        size, rng = min(n, 2000) if quick else n, np.random.default_rng(0)
        centres = 2 * rng.standard_normal((10, 10), dtype=np.float32)
        points = centres[rng.integers(10, size=size)] + rng.standard_normal((size, 10), dtype=np.float32)
        X = points @ rng.standard_normal((10, 50), dtype=np.float32)
        return X + np.float32(0.05) * rng.standard_normal(X.shape, dtype=np.float32)

    return load


DATA = {
    "digits": digits,
    "usps": usps,
    "mnist 5k": mnist(5_000),
    "mnist 15k": mnist(15_000),
    "mnist 25k": mnist(25_000),
    "mnist 70k": mnist(70_000),
    "mnist features": mnist_features,
    "video pixels": video_pixels,
    "worm neurons": worm_neurons,
    "clouds 100k": clouds(100_000),
}
LARGE = {"clouds 1m": clouds(1_000_000)}


# --- measuring ---------------------------------------------------------------------------------------------


@dataclass
class Row:
    """A line of a table: the faster of the runs; ``repeatable`` is None after a single run."""

    name: str
    seconds: float
    recall: float
    repeatable: bool | None

    def text(self, width):
        same = {None: "–", True: "yes", False: "no"}[self.repeatable]
        return f"{self.name.ljust(width)}  {self.seconds:8.2f}  {self.recall:8.4f}  {same:>10}"


class Truth:
    """Distance of the K-th neighbour for a sample of rows, in double precision and independent of every engine."""

    def __init__(self, X):
        self.X, rng = X, np.random.default_rng(1)
        self.rows = np.sort(rng.choice(len(X), min(QUERIES, len(X)), replace=False))
        centre = X.mean(axis=0, dtype=np.float64)
        queries = X[self.rows] - centre
        step = max(1, min(20_000_000 // X.shape[1], 40_000_000 // len(queries)))

        def blocks():
            for start in range(0, len(X), step):
                points = X[start : start + step] - centre
                yield start, np.einsum("ij,ij->i", points, points) - 2 * (queries @ points.T)

        self.reach = self._distances(running_nearest(blocks(), self.rows)).max(axis=1)

    def _distances(self, indices):
        """Distances (rows, K), each from the differences themselves."""
        return np.array([
            np.linalg.norm(self.X[others].astype(np.float64) - self.X[row], axis=1)
            for row, others in zip(self.rows, indices, strict=True)
        ])  # fmt: skip

    def recall(self, indices):
        """Share of named neighbours, distinct and not the row itself, as near as the true K-th; ties count."""
        named = np.sort(indices[self.rows], axis=1)
        valid = (named >= 0) & (named != self.rows[:, None])
        valid[:, 1:] &= named[:, 1:] != named[:, :-1]
        near = self._distances(np.maximum(named, 0)) <= self.reach[:, None] * (1 + 1e-6)
        return float(np.mean(near & valid))


def measure(engine, X, truth, runs):
    """Rows of an engine, run ``runs`` times."""
    answers = [list(engine.work(X)) for _ in range(1 if engine.once else runs)]
    for same_row in zip(*answers, strict=True):
        found = [indices for _, _, *several in same_row for indices in several]
        repeatable = all(np.array_equal(found[0], other) for other in found[1:]) if len(found) > 1 else None
        yield Row(same_row[0][0], min(seconds for _, seconds, *_ in same_row), truth.recall(found[0]), repeatable)


def run(name, X, engines, chosen):
    n, d = X.shape
    sample = f"{QUERIES} rows" if n > QUERIES else "every row"
    print(f"{name}: {n} points of {d} coordinates; recall@{K} of {sample}; {current_threads()} thread(s)")
    truth, rows, width = Truth(X), [], 52
    print(f"{'engine'.ljust(width)}  {'seconds':>8}  {'recall':>8}  {'repeatable':>10}")
    for engine in engines:
        if engine.suits(X, lift=chosen.all_engines):
            for row in measure(engine, X, truth, chosen.runs):
                rows.append(row)
                print(row.text(width), flush=True)
    print()
    return {"data": name, "points": n, "coordinates": d, "rows": [asdict(row) for row in rows]}


def load(name, loader, *, quick):
    """Return the points, or None and say why not."""
    try:
        return np.ascontiguousarray(loader(quick=quick), dtype=np.float32)
    except (FileNotFoundError, ImportError) as error:
        print(f"{name} skipped: {error}\n")
        return None


MODULES = {"faiss-cpu": "faiss", "scikit-learn": "sklearn"}


def machine():
    packages = ("graphlowrank", "faiss-cpu", "numpy", "pynndescent", "scikit-learn")
    return {
        "threads": current_threads(),
        "machine": platform.processor() or platform.machine(),
        "python": platform.python_version(),
        **{name: version(name) for name in packages if find_spec(MODULES.get(name, name))},
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="at most about a thousand points of each data set")
    parser.add_argument("--large", action="store_true", help="a million points too")
    parser.add_argument("--only", nargs="+", default=[""], metavar="WORD", help="data sets whose name contains a word")
    parser.add_argument("--skip", nargs="+", default=[], metavar="WORD", help="engines whose name contains a word")
    parser.add_argument("--all-engines", action="store_true", help="also those that take very long at a size")
    parser.add_argument("--runs", type=int, default=2, help="of each engine; two tell whether it repeats itself")
    parser.add_argument("--threads", type=int, help="default: every core")
    parser.add_argument("--output", type=Path, metavar="FILE", help="save the results as JSON")
    parser.add_argument("--child", metavar="FOLDER", help=argparse.SUPPRESS)
    parser.add_argument("--widths", type=int, nargs="+", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.child:
        pynndescent_child(chosen.child, chosen.widths)
        return
    warnings.filterwarnings("ignore")
    tables = []
    with tempfile.TemporaryDirectory() as cache, limit_threads(chosen.threads):
        known = [e for e in engines(Path(cache)) if not any(word in e.name for word in chosen.skip)]
        nearest_neighbors(np.eye(2000, 1000, dtype=np.float32), K, engine="exact")  # compile
        for name, loader in {**DATA, **(LARGE if chosen.large else {})}.items():
            if not any(word in name for word in chosen.only):
                continue
            X = load(name, loader, quick=chosen.quick)
            if X is None:
                continue
            tables.append(run(name, X, known, chosen))
            if chosen.quick:  # compiling in every table would be most of the time
                known = [engine for engine in known if not engine.once]
            if chosen.output:  # after every table: a long run may be cut short
                chosen.output.write_text(json.dumps({"settings": machine(), "tables": tables}, indent=1) + "\n")


if __name__ == "__main__":
    main()
