"""The paper's twelve methods side by side, and robust PCA beside other packages.

    python benchmarks/studies/baselines.py                 # digits; USPS 3500 too where GRAPHLOWRANK_DATA has it
    python benchmarks/studies/baselines.py --grid          # also the best of each method's grid, chosen by the labels
    python benchmarks/studies/baselines.py rpca            # robust PCA on a video of 300 frames, 19200 x 300

Data are prepared as in the paper, and methods run with their defaults. Only the ratios of the seconds are meaningful.
"""

from __future__ import annotations

import argparse
import warnings
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np

from graphlowrank.datasets import make_moving_square
from graphlowrank.metrics import adjusted_rand_index, clustering_error, normalized_mutual_information
from graphlowrank_benchmarks.cells import Record
from graphlowrank_benchmarks.data import DATA
from graphlowrank_benchmarks.datasets import load_video
from graphlowrank_benchmarks.systems import METHODS, SYSTEMS, cluster, method_graph, parameter_grid

# Table of the paper for USPS small (3500 digits, no noise): best error of a grid, chosen by the labels.
PAPER_USPS = {
    "kmeans": 0.31, "le": 0.38, "lle": 0.40, "pca": 0.27, "glpca": 0.20, "mmf": 0.21, "rpca": 0.26, "rpcag": 0.20,
    "frpcag": 0.20, "cpca": 0.20,
}  # fmt: skip
MOST_VALUES = 4  # of a parameter that --grid tries


def compare(title: str, X: Any, y: Any, *, seeds: int, grid: bool, paper: dict[str, float]) -> None:
    """Print a row for each method."""
    n_clusters = len(np.unique(y))
    print(f"\n**{title}, {X.shape[0]} x {X.shape[1]}; {n_clusters} clusters, mean of {seeds} seeds**\n")
    columns = ["method", "error", "NMI", "ARI", "graph s", "model s", "k-means s"]
    columns += ["best of grid", "tried"] if grid else []
    columns += ["paper's best"] if paper else []
    print(f"| {' | '.join(columns)} |\n|---|{'---:|' * (len(columns) - 1)}")
    for name in METHODS:
        graph = method_graph(name, X, random_state=0)
        runs = [cluster(name, X, n_clusters, random_state=seed) for seed in range(seeds)]
        scores = [
            np.mean([score(y, run.labels) for run in runs])
            for score in (clustering_error, normalized_mutual_information, adjusted_rand_index)
        ]
        seconds = [np.median([run.seconds[stage] for run in runs]) for stage in ("graph", "model", "k-means")]
        row = [METHODS[name].title, *(f"{score:.3f}" for score in scores), *(f"{value:.2f}" for value in seconds)]
        if grid:
            best, tried = best_of_grid(name, X, y, n_clusters, graph)
            best = min(best, clustering_error(y, runs[0].labels))
            row += [f"{best:.3f}", str(tried + 1)]
        row += [f"{paper[name]:.2f}" if name in paper else "–"] if paper else []
        print(f"| {' | '.join(row)} |", flush=True)


def best_of_grid(name: str, X: Any, y: Any, n_clusters: int, graph: Any) -> tuple[float, int]:
    """Lowest error over a thinned grid, one seed, and the number of combinations."""
    choices = thinned(parameter_grid(name, *X.shape))
    errors = [
        clustering_error(y, cluster(name, X, n_clusters, graph=graph, random_state=0, **choice).labels)
        for choice in choices
    ]
    return min(errors), len(choices)


def thinned(choices: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Keep at most MOST_VALUES of each parameter, ends included."""
    kept = {}
    for name in choices[0]:
        values = sorted({choice[name] for choice in choices})
        places = np.unique(np.linspace(0, len(values) - 1, MOST_VALUES).round().astype(int))
        kept[name] = {values[place] for place in places}
    return [choice for choice in choices if all(choice[name] in values for name, values in kept.items())]


def video_matrix() -> tuple[Any, str]:
    """Pixels x frames of the restaurant, or of a synthetic scene."""
    try:
        return np.ascontiguousarray(load_video("restaurant").matrix()[:300].T), "restaurant"
    except FileNotFoundError:
        return np.ascontiguousarray(make_moving_square(300, (120, 160), light=0.2).X.T), "a moving square"


def compare_robust_pca(limit: float) -> None:
    """Print seconds, objective and rank of robust PCA here and in two packages, each in its own process."""
    X, source = video_matrix()
    weight = 1 / float(np.sqrt(max(X.shape)))
    print(f"\n**Robust PCA, {source}, {X.shape[0]} x {X.shape[1]}, weight 1 / sqrt({max(X.shape)})**\n")
    print("| solver | precision | seconds | objective | rank | time / ours |\n|---|---|---:|---:|---:|---:|")
    for dtype in (np.float32, np.float64):
        first, rank = 0.0, 0
        for name in ROBUST_PCA:
            answer = _within(limit, name, X.astype(dtype), weight, rank)
            if isinstance(answer, str):
                print(f"| {name} | {dtype.__name__} | {answer} | | | > {limit / max(first, 1e-9):.0f} |", flush=True)
                continue
            seconds, value, found = answer
            first, rank = first or seconds, rank or found
            row = [name, dtype.__name__, f"{seconds:.1f}", f"{value:.2f}", str(found), f"{seconds / first:.1f}"]
            print(f"| {' | '.join(row)} |", flush=True)
    print(
        "\nobjective: with all that the low-rank part leaves as errors; rpca solves another problem, for a given rank"
    )


def _within(limit: float, *task: Any) -> tuple[float, float, int] | str:
    """Result of a solver, or why there is none."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        answer = pool.submit(_solve, *task)
        try:
            return answer.result(limit)
        except TimeoutError:
            for process in list(pool._processes.values()):
                process.kill()
            return f"not done in {limit:.0f}"
        except ImportError as error:
            return str(error)


def _solve(name: str, X: Any, weight: float, rank: int) -> tuple[float, float, int]:
    """Seconds, objective and rank."""
    # Relative residual to stop at; single precision cannot reach the usual 1e-7.
    tol, record = (1e-6 if X.dtype == np.float32 else 1e-7), Record()
    system, options = ROBUST_PCA[name]
    given = {"tol": tol} if "tol" in options else {"n_components": rank}
    low_rank = np.asarray(SYSTEMS["recover"][system](X, record, **given), dtype=np.float64)
    seconds = record.seconds["after"]
    values = np.linalg.svd(low_rank, compute_uv=False)
    objective = float(values.sum() + weight * np.abs(X - low_rank).sum(dtype=np.float64))
    return seconds, objective, int(np.sum(values > 1e-4 * values[0]))


ROBUST_PCA = {  # row to system, and what it is given
    "graphlowrank": ("rpca", ("tol",)),
    "pyrpca, inexact ALM": ("pyrpca", ("tol",)),
    "rpca, alternating projections, our rank": ("rpca (PyPI)", ("rank",)),
}


def main() -> None:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", default=["digits", "usps"], help="digits, usps, rpca")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--grid", action="store_true", help="the best of a thinned grid as well, chosen by the labels")
    parser.add_argument("--limit", type=float, default=300, help="seconds that a solver of robust PCA may take")
    options = parser.parse_args()
    for what in options.what:
        if what not in ("digits", "usps", "rpca"):
            parser.error(f"{what!r} is none of digits, usps, rpca")
    warnings.simplefilter("ignore")  # the ends of some grids do not converge
    for what in options.what:
        if what == "rpca":
            compare_robust_pca(options.limit)
            continue
        try:
            X, y = DATA[{"digits": "digits", "usps": "usps-small"}[what]].load()
        except FileNotFoundError as error:
            print(f"\n{what}: {error}")
            continue
        paper = PAPER_USPS if what == "usps" else {}
        compare(what, X, y, seeds=options.seeds, grid=options.grid, paper=paper)


if __name__ == "__main__":
    main()
