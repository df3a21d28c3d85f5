"""Missing entries recovered: ours beside scikit-learn's imputers and soft-impute.

    python benchmarks/imputation.py [--seeds 2] [--only digits] [--output benchmarks/IMPUTATION.md]

Entries are hidden at random, 10, 30 and 50 % of them, with and without gross errors in 5 % of the others (replaced by
the feature's least or largest value). The error is that of the hidden entries, over that of guessing each feature's
true mean: 0 is perfect, 1 is no better than that. Every method runs with its defaults; soft-impute, which has none,
gets the penalty that predicts a tenth of the observed entries best.
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
from graphlowrank._files import write_atomically
from graphlowrank.bench.machine import describe_machine, machine_line
from graphlowrank.datasets import make_low_rank_on_graphs

SHARES = (0.1, 0.3, 0.5)
GROSS_SHARE = 0.05
NOISE = 0.3  # of the synthetic matrices, in deviations
PENALTIES = np.geomspace(0.5, 0.01, 12)  # of soft-impute, over the largest singular value
MOST_ROUNDS = 100
ITERATIVE_UP_TO = 64  # features: a regression for each, many times over


def sets() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Name, data as seen, and what the hidden entries are compared with."""
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
    """Soft-thresholded SVD along a path of penalties (Mazumder, Hastie and Tibshirani, 2010), with features centred."""
    observed = np.argwhere(~np.isnan(X))
    held = observed[np.random.default_rng(seed).random(len(observed)) < 0.1]
    known = X.copy()
    known[held[:, 0], held[:, 1]] = np.nan
    errors = [np.mean((filled - X)[held[:, 0], held[:, 1]] ** 2) for filled in _along_penalties(known, len(PENALTIES))]
    *_, filled = _along_penalties(X, int(np.argmin(errors)) + 1)
    return filled


def _along_penalties(X: np.ndarray, n_penalties: int) -> Iterator[np.ndarray]:
    missing, centre = np.isnan(X), np.nanmean(X, axis=0)
    centred = np.where(missing, 0, X - centre)
    Z, largest = np.zeros_like(X), np.linalg.norm(centred, 2)
    for share in PENALTIES[:n_penalties]:
        for _ in range(MOST_ROUNDS):
            left, values, right = np.linalg.svd(np.where(missing, Z, centred), full_matrices=False)
            before, Z = Z, (left * np.maximum(values - share * largest, 0)) @ right
            if np.sum((Z - before) ** 2) <= 1e-5 * max(np.sum(before**2), 1e-30):
                break
        yield Z + centre


SYSTEMS: dict[str, Callable[[np.ndarray, int], np.ndarray]] = {
    "mean of the feature": lambda X, _: SimpleImputer().fit_transform(X),
    "KNNImputer": lambda X, _: KNNImputer(n_neighbors=10).fit_transform(X),
    "IterativeImputer": lambda X, seed: IterativeImputer(random_state=seed).fit_transform(X),
    "soft-impute": soft_impute,
    "RobustPCA": lambda X, _: RobustPCA().fit(X).low_rank_,
    "FastRobustPCAOnGraphs": lambda X, seed: FastRobustPCAOnGraphs(random_state=seed).fit(X).low_rank_,
    "CompressivePCA": lambda X, seed: CompressivePCA(random_state=seed).fit(X).low_rank_.to_array(),
}


def grossly_wrong(X: np.ndarray, share: float, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    wrong, high = rng.random(X.shape) < share, rng.random(X.shape) < 0.5
    return np.where(wrong, np.where(high, X.max(axis=0), X.min(axis=0)), X)


def measure(
    seen: np.ndarray, truth: np.ndarray, hidden_share: float, gross: float, seeds: int
) -> Iterator[tuple[str, float, float]]:
    """Name, mean error over seeds, and seconds, of each system."""
    for name, system in SYSTEMS.items():
        if name == "IterativeImputer" and seen.shape[1] > ITERATIVE_UP_TO:
            continue
        errors, begin = [], time.perf_counter()
        for seed in range(seeds):
            hidden = np.random.default_rng(seed).random(seen.shape) < hidden_share
            X = np.where(hidden, np.nan, grossly_wrong(seen, gross, seed + 1000))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                filled = np.asarray(system(X, seed))
            spread = np.linalg.norm((truth - truth.mean(axis=0))[hidden])
            errors.append(np.linalg.norm((filled - truth)[hidden]) / spread)
        yield name, float(np.mean(errors)), (time.perf_counter() - begin) / seeds


def table(only: str, seeds: int) -> list[str]:
    cases = [(gross, share) for gross in (0.0, GROSS_SHARE) for share in SHARES]
    heads = [f"{share:.0%} missing{', 5 % wrong' if gross else ''}" for gross, share in cases]
    lines = []
    for name, seen, truth in sets():
        if only not in name:
            continue
        found = [{row[0]: row[1:] for row in measure(seen, truth, share, gross, seeds)} for gross, share in cases]
        lines += ["", f"### {name}, {seen.shape[0]} x {seen.shape[1]}", "", f"| | {' | '.join(heads)} | seconds |"]
        lines += ["|---|" + "---:|" * (len(heads) + 1)]
        best = [min(error for error, _ in case.values()) for case in found]
        for system in found[0]:
            marked = [
                f"**{case[system][0]:.3f}**" if case[system][0] <= least + 5e-4 else f"{case[system][0]:.3f}"
                for case, least in zip(found, best, strict=True)
            ]
            lines.append(f"| {system} | {' | '.join(marked)} | {np.mean([case[system][1] for case in found]):.1f} |")
        print("\n".join(lines[-len(found[0]) - 4 :]), flush=True)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--only", default="", help="sets whose name has this in it")
    parser.add_argument("--output", type=Path, help="where to write the tables")
    options = parser.parse_args()
    lines = table(options.only, options.seeds)
    if options.output is not None:
        head = ["# Missing entries recovered", "", *__doc__.strip().split("\n\n", 2)[2].splitlines(), ""]
        head += [f"Seeds: {options.seeds}; bold is the best. {machine_line(describe_machine(None))}"]
        write_atomically(options.output, "\n".join([*head, *lines]) + "\n")


if __name__ == "__main__":
    main()
