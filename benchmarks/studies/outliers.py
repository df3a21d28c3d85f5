"""Outliers and graphs: neighbors found, and errors of clustering and recovery, with and without the outlier filter.

    GRAPHLOWRANK_DATA=... python benchmarks/studies/outliers.py [--only digits]

Entries are replaced at random: "ends" become the minimum or maximum of their feature, "far" are moved by a normal
number times five standard deviations of the data. Neighbors are compared with the ten nearest in the clean data, on up
to 2000 samples. Recovery is of 1000 x 100 matrices of rank 5 (clusters, rings) or 2 (circle), with noise of 20 %.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator

import numpy as np
from gammas import SETS as MATRICES
from sklearn import datasets as tables

from graphlowrank import CompressiveClustering, CompressivePCA
from graphlowrank.auto.outliers import check_outlier_filter
from graphlowrank.datasets import gaussian_noise
from graphlowrank.graphs import nearest_neighbors
from graphlowrank.metrics import clustering_error, recovery_error
from graphlowrank.preprocessing import fit_outlier_filter
from graphlowrank_benchmarks.data import DATA, prepare
from graphlowrank_benchmarks.tables import markdown_rows

OUTLIERS = (("ends", 0.0), ("ends", 0.05), ("ends", 0.2), ("far", 0.05), ("far", 0.2))
COMPARED, N_NEIGHBORS = 2000, 10
FAR = 5.0  # standard deviations
SEEDS = 2


def standardized(load: Callable) -> tuple[np.ndarray, np.ndarray]:
    X, y = load(return_X_y=True)
    return prepare(X, ("standardize",)), y


SETS = {
    "digits": DATA["digits"].load,
    "wine, standardized": lambda: standardized(tables.load_wine),
    "breast cancer, standardized": lambda: standardized(tables.load_breast_cancer),
    "usps": DATA["usps-large"].load,
    "orl": DATA["orl-large"].load,
    "mnist": DATA["mnist-70000"].load,
}


def hit(X: np.ndarray, kind: str, share: float, rng: np.random.RandomState) -> np.ndarray:
    where = rng.random_sample(X.shape) < share
    ends = np.where(rng.random_sample(X.shape) < 0.5, X.min(axis=0), X.max(axis=0))
    wrong = ends if kind == "ends" else X + FAR * X.std() * rng.standard_normal(X.shape)
    return np.where(where, wrong, X).astype(X.dtype)


def found(points: np.ndarray, true: np.ndarray) -> float:
    near = nearest_neighbors(points, N_NEIGHBORS, engine="exact")[1]
    return float(np.mean([len(set(a) & set(b)) / N_NEIGHBORS for a, b in zip(near, true, strict=True)]))


def clusters(only: str) -> Iterator[list[str]]:
    for name, load in SETS.items():
        if only not in name:
            continue
        X, y = load()
        part = np.random.RandomState(0).permutation(len(X))[:COMPARED]
        true = nearest_neighbors(X[part], N_NEIGHBORS, engine="exact")[1]
        for kind, share in OUTLIERS:
            corrupted = hit(X, kind, share, np.random.RandomState(1))
            some = corrupted[part]
            filtered = fit_outlier_filter(some, np.random.RandomState(0)).apply(some)
            errors = [mean_error(corrupted, y, **options) for options in ({"robust_graphs": False}, {})]
            decision = "filtered" if check_outlier_filter(corrupted, N_NEIGHBORS).value else "kept"
            neighbors = [found(points, true) for points in (some, filtered)]
            what = f"{kind}, {share:.0%}" if share else "none"
            yield [name, what, *map("{:.2f}".format, neighbors), decision, *map("{:.3f}".format, errors)]


def mean_error(X: np.ndarray, y: np.ndarray, **options: bool) -> float:
    models = [CompressiveClustering(len(np.unique(y)), random_state=seed, **options) for seed in range(SEEDS)]
    return float(np.mean([clustering_error(y, model.fit_predict(X)) for model in models]))


def recovery(only: str) -> Iterator[list[str]]:
    for name in ("clusters", "rings", "circle"):
        if only not in name:
            continue
        make, rank = MATRICES[name]
        for share in (0.0, 0.05, 0.1, 0.2):
            rng = np.random.RandomState(0)
            X_true = make(1000, 100, rng)
            X = gaussian_noise(X_true, 0.2, random_state=rng)
            X = np.where(rng.random_sample(X.shape) < share, 10 * X_true.std() * rng.standard_normal(X.shape), X)
            row = [name, f"{share:.0%}"]
            for rate in ((10, 2), (1, 1)):
                for robust in (False, "auto"):
                    model = CompressivePCA(rank, downsampling=rate, robust_graphs=robust, random_state=0).fit(X)
                    row.append(f"{recovery_error(X_true, model.low_rank_):.3f}")
            yield row


def table(header: list[str], rows: Iterator[list[str]]) -> None:
    print(markdown_rows(header, list(rows)) + "\n", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="data sets whose name contains this")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    table(
        ["data", "outliers", "true neighbors by distances", "outliers filtered", "decision", "clustering error, "
         "robust_graphs=False", "default"],
        clusters(options.only),
    )  # fmt: skip
    table(["matrix", "outliers", "(10, 2), False", "default", "(1, 1), False", "default"], recovery(options.only))


if __name__ == "__main__":
    main()
