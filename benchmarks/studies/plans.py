"""Predicted over measured seconds and gigabytes of ``plan``, for clustering and recovery.

    GRAPHLOWRANK_DATA=... python benchmarks/studies/plans.py [--only mnist] [--stages]

Each plan and each fit has its own process; a fit is measured after a small one has loaded compiled code. A plan is made
twice: from the sizes alone, and from rows of the data. Do not compare times of different machines or of a busy one.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import warnings
from collections.abc import Callable

import numpy as np
from label_free import load_worm
from sklearn import datasets as tables

from graphlowrank import CompressiveClustering, CompressivePCA
from graphlowrank.cli.plan import pilot_rows
from graphlowrank.estimators.plan import plan
from graphlowrank_benchmarks.data import DATA, clouds
from graphlowrank_benchmarks.datasets import load_pbmc
from graphlowrank_benchmarks.memory import peak_memory, reset_peak

MODELS = {"cluster": CompressiveClustering, "recover": CompressivePCA}
PLANS = ("sizes", "rows")
MISSING = 0.3  # share of entries


def with_missing(X: np.ndarray) -> np.ndarray:
    return np.where(np.random.default_rng(0).random(X.shape) < MISSING, np.nan, X).astype(X.dtype)


SETS: dict[str, tuple[int, Callable[[], np.ndarray]]] = {
    "breast cancer": (2, lambda: tables.load_breast_cancer().data),
    "digits": (10, lambda: DATA["digits"].load()[0]),
    "digits, missing": (10, lambda: with_missing(DATA["digits"].load()[0])),
    "orl": (40, lambda: DATA["orl-large"].load()[0]),
    "pbmc": (8, lambda: load_pbmc()[0]),
    "worm": (10, lambda: load_worm()[0]),
    "usps": (10, lambda: DATA["usps-large"].load()[0]),
    "clouds": (10, lambda: clouds(100_000)[0]),
    "mnist": (10, lambda: DATA["mnist-70000"].load()[0]),
    "mnist, missing": (10, lambda: with_missing(DATA["mnist-70000"].load()[0])),
}


def answer(name: str, task: str, what: str) -> dict[str, object]:
    """Fit or plan in this process."""
    k, load = SETS[name]
    X = load()
    if what == "fit":
        MODELS[task](k, random_state=1).fit(X[:: max(len(X) // 1500, 1)])
        reset_peak()
        model = MODELS[task](k, random_state=0).fit(X)
        return {"stages": model.stage_seconds_, "gigabytes": (peak_memory() or 0) / 1e9}
    rows = pilot_rows(X) if what == "rows" else None
    found = plan(*X.shape, task=task, n_clusters=k, data=rows, itemsize=X.itemsize)
    return {"stages": {stage.name: stage.seconds for stage in found.stages}, "gigabytes": found.gigabytes}


def ask(name: str, task: str, what: str) -> dict[str, object]:
    command = [sys.executable, __file__, "--answer", name, task, what]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="data sets whose name contains this")
    parser.add_argument("--task", choices=tuple(MODELS), help="one of the two alone")
    parser.add_argument("--stages", action="store_true", help="each stage, too")
    parser.add_argument("--answer", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    if options.answer:
        print(json.dumps(answer(*options.answer)))
        return
    print("| data | task | seconds | planned from sizes | from rows | GB | planned from sizes | from rows |")
    print("|---|---|---:|---:|---:|---:|---:|---:|")
    for name in SETS:
        if options.only not in name:
            continue
        for task in [options.task] if options.task else MODELS:
            fit, *plans = (ask(name, task, what) for what in ("fit", *PLANS))
            total = sum(fit["stages"].values())
            seconds = " | ".join(f"{sum(plan['stages'].values()) / total:.2f} x" for plan in plans)
            memory = " | ".join(f"{plan['gigabytes'] / fit['gigabytes']:.2f} x" for plan in plans)
            print(f"| {name} | {task} | {total:.2f} | {seconds} | {fit['gigabytes']:.2f} | {memory} |", flush=True)
            if options.stages:
                for stage, seconds in fit["stages"].items():
                    planned = "  ".join(f"{plan['stages'].get(stage, 0.0):8.3f}" for plan in plans)
                    print(f"    {stage:20s} {seconds:8.3f}  {planned}", flush=True)


if __name__ == "__main__":
    main()
