"""Maps in two dimensions: ours beside umap-learn, openTSNE (FIt-SNE) and PaCMAP.

    python benchmarks/studies/maps.py run [--sets digits,usps] [--systems ours] [--repeat]
    python benchmarks/studies/maps.py table

All systems get the same matrix in single precision: images with values from 0 to 1; counts over each cell's total,
log(1 + x), the 2000 most variable genes, in their 50 leading principal directions; clouds as they are. They run with
their default parameters on all cores, umap-learn and PaCMAP without a seed, with which they would use one. Every run
has a process of its own, in which the system has made a map of 500 random samples before, so that seconds do not
count what is compiled. Memory is the largest that the process had, data and libraries included.

Trustworthiness, recall and accuracy are means over 2000 random samples (500 of more than 200,000), each compared with
all others: what ranks the 10 nearest in the map have among the distances in the data (1 is perfect); how many of the
10 nearest in the data are among the 10 nearest in the map; whether the majority of the 10 nearest in the map has the
sample's label. The error of k-means in the map (10 starts, the number of classes) is that of the best matching.
Constants were chosen on digits, USPS and COIL-20. "run" adds to results/maps.json what is missing there; "table"
writes MAPS.md from it.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial import cKDTree
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA

from graphlowrank import CompressiveEmbedding
from graphlowrank.metrics import clustering_error
from graphlowrank_benchmarks import data
from graphlowrank_benchmarks.datasets.files import find_file
from graphlowrank_benchmarks.internals import Array, write_atomically
from graphlowrank_benchmarks.machine import describe_machine, machine_line
from graphlowrank_benchmarks.tables import markdown_rows

ROOT = Path(__file__).parents[1]
RESULTS, PAGE = ROOT / "results" / "maps.json", ROOT / "MAPS.md"
TUNING_SETS = ("digits", "usps", "coil-20")  # these chose the constants
N_NEIGHBORS = 10
N_QUERIES, N_QUERIES_OF_MANY, MANY = 2000, 500, 200_000
N_GENES, N_DIRECTIONS = 2000, 50
SEEDS = 3  # of ours
UNITS = 1024 if sys.platform != "darwin" else 1  # of ru_maxrss


def coil() -> tuple[Array, Array]:
    from scipy.io import loadmat

    content = loadmat(find_file("coil20/COIL20_32x32.mat"))
    return content["fea"], content["gnd"].ravel()


def bladder() -> tuple[Array, Array]:
    import h5py

    with h5py.File(find_file("scrna/mouse_bladder_cell_select_2100.h5")) as file:
        counts, y = file["X"][:].astype(np.float64), file["Y"][:].astype(int)
    totals = counts.sum(axis=1, keepdims=True)
    X = np.log1p(counts / totals * np.median(totals))
    X = X[:, np.argsort(-X.var(axis=0), kind="stable")[:N_GENES]]
    return PCA(N_DIRECTIONS, svd_solver="full").fit_transform(X), y


def digits() -> tuple[Array, Array]:
    X, y = data.load_digits()
    return X / 16, y


SETS: dict[str, Callable[[], tuple[Array, Array]]] = {
    "digits": digits,
    "usps": data.DATA["usps-large"].load,
    "coil-20": coil,
    "bladder": bladder,
    "mnist-70000": data.DATA["mnist-70000"].load,
    "clouds-1000000": lambda: data.clouds(1_000_000),
}
OURS_ONLY = ("clouds-1000000",)


def ours(X: Array, seed: int) -> Array:
    return CompressiveEmbedding(random_state=seed).fit_transform(X)


def umap_learn(X: Array, seed: int) -> Array:
    import umap

    return umap.UMAP().fit_transform(X)


def open_tsne(X: Array, seed: int) -> Array:
    import openTSNE

    return np.asarray(openTSNE.TSNE(n_jobs=-1, negative_gradient_method="fft", random_state=seed).fit(X))


def pacmap(X: Array, seed: int) -> Array:
    import pacmap

    return pacmap.PaCMAP().fit_transform(X)


SYSTEMS: dict[str, Callable[[Array, int], Array]] = {
    "ours": ours, "umap-learn": umap_learn, "openTSNE": open_tsne, "PaCMAP": pacmap,
}  # fmt: skip


def scores(X: Array, y: Array, positions: Array) -> dict[str, float]:
    """Trustworthiness, neighbor recall and 10-NN accuracy of a map on some samples, and its k-means error."""
    n, k = len(X), N_NEIGHBORS
    rng = np.random.default_rng(0)
    queries = np.sort(rng.choice(n, min(n, N_QUERIES if n <= MANY else N_QUERIES_OF_MANY), replace=False))
    near = cKDTree(positions).query(positions[queries], k + 1)[1]
    near = np.array([row[row != query][:k] for query, row in zip(queries, near, strict=True)])
    squares = np.einsum("ij,ij->i", X, X)
    excess, found = 0, 0
    for query, row in zip(queries, near, strict=True):
        distances = squares - 2 * (X @ X[query])
        distances[query] = np.inf
        ranks = np.array([np.count_nonzero(distances < distances[other]) + 1 for other in row])
        excess += np.maximum(ranks - k, 0).sum()
        found += np.count_nonzero(ranks <= k)
    votes = [np.bincount(labels).argmax() for labels in y[near]]
    clusters = KMeans(len(np.unique(y)), n_init=10, random_state=0).fit_predict(positions)
    return {
        "trustworthiness": 1 - 2 * float(excess) / (len(queries) * k * (2 * n - 3 * k - 1)),
        "recall": found / (len(queries) * k),
        "accuracy": float(np.mean(votes == y[queries])),
        "k-means error": clustering_error(y, clusters),
    }


def child(name: str, system: str, seed: int) -> None:
    """Make one map; print its scores, seconds and memory as a line of JSON."""
    warnings.simplefilter("ignore")
    X, y = SETS[name]()
    X = np.ascontiguousarray(X, dtype=np.float32)
    _, y = np.unique(y, return_inverse=True)
    make = SYSTEMS[system]
    make(np.random.default_rng(0).standard_normal((500, X.shape[1])).astype(np.float32), 0)
    begin = time.perf_counter()
    positions = make(X, seed)
    seconds = time.perf_counter() - begin
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * UNITS
    assert np.isfinite(positions).all()
    run = {"set": name, "system": system, "seed": seed, "seconds": seconds, "memory": memory}
    print(json.dumps(run | scores(X, y, positions)))


def run(options: argparse.Namespace) -> None:
    stored = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"machine": describe_machine(None), "runs": []}
    for name in options.sets.split(","):
        for system in options.systems.split(","):
            if system != "ours" and name in OURS_ONLY:
                continue
            for seed in range(SEEDS if system == "ours" and name not in OURS_ONLY else 1):
                done = [one for one in stored["runs"] if key(one) == (name, system, seed)]
                if done and not options.repeat:
                    continue
                load = describe_machine(None)["load_average"]
                command = [sys.executable, __file__, "child", name, system, str(seed)]
                line = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()[-1]
                stored["runs"] = [one for one in stored["runs"] if one not in done]
                stored["runs"].append(json.loads(line) | {"load": load})
                write_atomically(RESULTS, json.dumps(stored, indent=1) + "\n")
                print(line, flush=True)


def key(one: dict[str, Any]) -> tuple[str, str, int]:
    return one["set"], one["system"], one["seed"]


def table() -> None:
    stored = json.loads(RESULTS.read_text())
    columns = ["trustworthiness", "recall", "accuracy", "k-means error"]
    heads = ("data", "system", "trustworthiness", "recall", "10-NN accuracy", "k-means error", "seconds", "GB", "load")
    rows = []
    for name in SETS:
        for system in SYSTEMS:
            runs = [one for one in stored["runs"] if (one["set"], one["system"]) == (name, system)]
            if runs:
                label = f"{name} (chose constants)" if name in TUNING_SETS else name
                values = [interval([one[column] for one in runs]) for column in columns]
                seconds = f"{np.median([one['seconds'] for one in runs]):.1f}"
                memory = f"{max(one['memory'] for one in runs) / 1e9:.2f}"
                rows.append([label, system, *values, seconds, memory, f"{np.mean([one['load'] for one in runs]):.1f}"])
    title, _, *notes = (__doc__ or "").partition(' "run" adds to')[0].splitlines()
    notes = [line.strip() for line in notes if "studies/maps.py" not in line]
    text = [f"# {title.removesuffix('.')}", "", *"\n".join(notes).strip().splitlines(), ""]
    text += ["Of three seeds of ours: the mean, and half of the range. Load is the mean load of the machine in the"]
    text += ["minute before the run: other work that shares the cores makes seconds larger.", ""]
    text += ["Written by `python benchmarks/studies/maps.py table`.", "", machine_line(stored["machine"])]
    write_atomically(PAGE, "\n".join([*text, "", markdown_rows(heads, rows), ""]))


def interval(values: list[float]) -> str:
    half = (max(values) - min(values)) / 2
    return f"{np.mean(values):.3f}" + (f" ± {half:.3f}" if half >= 0.0005 else "")


def main() -> None:
    if sys.argv[1:2] == ["child"]:
        child(sys.argv[2], sys.argv[3], int(sys.argv[4]))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("run", "table"))
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--systems", default=",".join(SYSTEMS))
    parser.add_argument("--repeat", action="store_true", help="also what is there already")
    options = parser.parse_args()
    run(options) if options.command == "run" else table()


if __name__ == "__main__":
    main()
