"""Imputation of missing values: ours beside scikit-learn's imputers and soft-impute.

    python benchmarks/studies/imputation.py [--seeds 2] [--only digits] [--output benchmarks/IMPUTATION.md]

10, 30 and 50 % of the entries are held out at random, with and without outliers in 5 % of the others (replaced by the
feature's minimum or maximum). The error is that of the held-out entries, relative to imputing each feature's true mean:
0 is perfect, 1 is no better than the mean. Every method runs with its defaults; soft-impute, which has none, gets the
penalty with the lowest validation loss on a tenth of the observed entries.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from sklearn import datasets as tables
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer

from graphlowrank import CompressivePCA, FastRobustPCAOnGraphs, RobustPCA
from graphlowrank.datasets import make_low_rank_on_graphs
from graphlowrank_benchmarks.internals import write_atomically
from graphlowrank_benchmarks.machine import describe_machine, machine_line
from graphlowrank_benchmarks.tables import markdown_rows

SHARES = (0.1, 0.3, 0.5)
OUTLIERS = 0.05  # share of entries
NOISE = 0.3  # of the synthetic matrices, in standard deviations
PENALTIES = np.geomspace(0.5, 0.01, 12)  # of soft-impute, over the largest singular value
MAX_ROUNDS = 100
ITERATIVE_UP_TO = 64  # features: a regression for each, many times over


def sets() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Name, data as seen, and the truth for the held-out entries."""
    for shape in ("rings", "clusters"):
        made = make_low_rank_on_graphs(1000, 60, rank=5, shape=shape, random_state=0)
        noise = np.random.default_rng(0).standard_normal(made.X_true.shape)
        yield f"{shape}, noise {NOISE:g}", made.X_true + NOISE * made.X_true.std() * noise, made.X_true
    digits = tables.load_digits().data
    digits = digits[:, digits.std(axis=0) > 0.1]
    yield "digits", digits, digits
    cancer = tables.load_breast_cancer().data
    cancer = (cancer - cancer.mean(axis=0)) / cancer.std(axis=0)
    yield "breast cancer", cancer, cancer


def soft_impute(X: np.ndarray, seed: int) -> np.ndarray:
    """Soft-thresholded SVD along a path of penalties (Mazumder, Hastie and Tibshirani, 2010), features centered."""
    observed = np.argwhere(~np.isnan(X))
    held = observed[np.random.default_rng(seed).random(len(observed)) < 0.1]
    known = X.copy()
    known[held[:, 0], held[:, 1]] = np.nan
    errors = [
        np.mean((imputed - X)[held[:, 0], held[:, 1]] ** 2) for imputed in _along_penalties(known, len(PENALTIES))
    ]
    *_, imputed = _along_penalties(X, int(np.argmin(errors)) + 1)
    return imputed


def _along_penalties(X: np.ndarray, n_penalties: int) -> Iterator[np.ndarray]:
    missing, center = np.isnan(X), np.nanmean(X, axis=0)
    centered = np.where(missing, 0, X - center)
    Z, largest = np.zeros_like(X), np.linalg.norm(centered, 2)
    for share in PENALTIES[:n_penalties]:
        for _ in range(MAX_ROUNDS):
            left, values, right = np.linalg.svd(np.where(missing, Z, centered), full_matrices=False)
            before, Z = Z, (left * np.maximum(values - share * largest, 0)) @ right
            if np.sum((Z - before) ** 2) <= 1e-5 * max(np.sum(before**2), 1e-30):
                break
        yield Z + center


SYSTEMS: dict[str, Callable[[np.ndarray, int], np.ndarray]] = {
    "mean of the feature": lambda X, _: SimpleImputer().fit_transform(X),
    "KNNImputer": lambda X, _: KNNImputer(n_neighbors=10).fit_transform(X),
    "IterativeImputer": lambda X, seed: IterativeImputer(random_state=seed).fit_transform(X),
    "soft-impute": soft_impute,
    "RobustPCA": lambda X, _: RobustPCA().fit(X).low_rank_,
    "FastRobustPCAOnGraphs": lambda X, seed: FastRobustPCAOnGraphs(random_state=seed).fit(X).low_rank_,
    "CompressivePCA": lambda X, seed: CompressivePCA(random_state=seed).fit(X).low_rank_.to_array(),
}


def with_outliers(X: np.ndarray, share: float, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    wrong, high = rng.random(X.shape) < share, rng.random(X.shape) < 0.5
    return np.where(wrong, np.where(high, X.max(axis=0), X.min(axis=0)), X)


def measure(
    seen: np.ndarray, truth: np.ndarray, held_out_share: float, outliers: float, seeds: int
) -> Iterator[tuple[str, float, float]]:
    """Name, mean error over seeds, and seconds, of each system."""
    for name, system in SYSTEMS.items():
        if name == "IterativeImputer" and seen.shape[1] > ITERATIVE_UP_TO:
            continue
        errors, begin = [], time.perf_counter()
        for seed in range(seeds):
            held_out = np.random.default_rng(seed).random(seen.shape) < held_out_share
            X = np.where(held_out, np.nan, with_outliers(seen, outliers, seed + 1000))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                imputed = np.asarray(system(X, seed))
            scale = np.linalg.norm((truth - truth.mean(axis=0))[held_out])
            errors.append(np.linalg.norm((imputed - truth)[held_out]) / scale)
        yield name, float(np.mean(errors)), (time.perf_counter() - begin) / seeds


def table(only: str, seeds: int) -> list[str]:
    cases = [(outliers, share) for outliers in (0.0, OUTLIERS) for share in SHARES]
    heads = [f"{share:.0%} missing{', 5 % outliers' if outliers else ''}" for outliers, share in cases]
    lines = []
    for name, seen, truth in sets():
        if only not in name:
            continue
        found = [{row[0]: row[1:] for row in measure(seen, truth, share, outliers, seeds)} for outliers, share in cases]
        best = [min(error for error, _ in case.values()) for case in found]
        rows = []
        for system in found[0]:
            marked = [
                f"**{case[system][0]:.3f}**" if case[system][0] <= least + 5e-4 else f"{case[system][0]:.3f}"
                for case, least in zip(found, best, strict=True)
            ]
            rows.append([system, *marked, f"{np.mean([case[system][1] for case in found]):.1f}"])
        title = f"### {name}, {seen.shape[0]} x {seen.shape[1]}"
        lines += ["", title, "", *markdown_rows(["", *heads, "seconds"], rows).splitlines()]
        print("\n".join(lines[-len(found[0]) - 4 :]), flush=True)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--only", default="", help="data sets whose name contains this")
    parser.add_argument("--output", type=Path, help="where to write the tables")
    options = parser.parse_args()
    lines = table(options.only, options.seeds)
    if options.output is not None:
        head = ["# Imputation of missing values", "", *__doc__.strip().split("\n\n", 2)[2].splitlines(), ""]
        head += [f"Seeds: {options.seeds}; bold is the best. {machine_line(describe_machine(None))}"]
        write_atomically(options.output, "\n".join([*head, *lines]) + "\n")


if __name__ == "__main__":
    main()
