"""Seconds and recall of nearest-neighbor searches, one table for each data set.

    python benchmarks/studies/neighbors.py                       # digits, synthetic; more if GRAPHLOWRANK_DATA is set
    python benchmarks/studies/neighbors.py --quick               # small parts of everything, to check that it runs
    python benchmarks/studies/neighbors.py --only usps mnist     # data sets whose name contains a word
    python benchmarks/studies/neighbors.py --large               # a million points too

The ten nearest other points of every point, Euclidean, float32. Where points are long (features of many samples,
pixels of many frames, genes), searches on a part of the coordinates or on a random projection are there as well; the
points are given as contiguous rows. Seconds run from the matrix in memory to the finished lists, building of indexes
included, all cores unless --threads says otherwise. Our own kernels are compiled before the clock starts.
"""

import argparse
import json
import platform
import tempfile
import warnings
from dataclasses import asdict, dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from neighbor_engines import K, engines, running_nearest
from sklearn.datasets import load_digits

from graphlowrank.graphs import nearest_neighbors
from graphlowrank_benchmarks.data import clouds
from graphlowrank_benchmarks.datasets import load_mnist, load_usps, load_video, load_worm_neurons
from graphlowrank_benchmarks.internals import current_threads, limit_threads

QUERIES = 2000  # rows that recall is measured on


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


def cloud_points(n):
    return lambda *, quick: clouds(min(n, 2000) if quick else n, noise=0.05)[0]


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
    "clouds 100k": cloud_points(100_000),
}
LARGE = {"clouds 1m": cloud_points(1_000_000)}


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
    """Distance of the K-th neighbor for a sample of rows, in double precision and independent of every engine."""

    def __init__(self, X):
        self.X, rng = X, np.random.default_rng(1)
        self.rows = np.sort(rng.choice(len(X), min(QUERIES, len(X)), replace=False))
        center = X.mean(axis=0, dtype=np.float64)
        queries = X[self.rows] - center
        step = max(1, min(20_000_000 // X.shape[1], 40_000_000 // len(queries)))

        def blocks():
            for start in range(0, len(X), step):
                points = X[start : start + step] - center
                yield start, np.einsum("ij,ij->i", points, points) - 2 * (queries @ points.T)

        self.reach = self._distances(running_nearest(blocks(), self.rows)).max(axis=1)

    def _distances(self, indices):
        """Distances (rows, K), each from the differences themselves."""
        return np.array([
            np.linalg.norm(self.X[others].astype(np.float64) - self.X[row], axis=1)
            for row, others in zip(self.rows, indices, strict=True)
        ])  # fmt: skip

    def recall(self, indices):
        """Share of named neighbors, distinct and not the row itself, as near as the true K-th; ties count."""
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
    parser.add_argument(
        "--runs", type=int, default=2, help="of each engine; with two, whether it is deterministic is reported"
    )
    parser.add_argument("--threads", type=int, help="default: every core")
    parser.add_argument("--output", type=Path, metavar="FILE", help="save the results as JSON")
    chosen = parser.parse_args()
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
