"""Predicted over measured seconds and gigabytes of ``plan``, for clustering and recovery.

    python benchmarks/studies/plans.py --only x [--cpu]                # made-up data of many shapes
    GRAPHLOWRANK_DATA=... python benchmarks/studies/plans.py [--only mnist] [--stages]

Each plan and each fit has its own process, in which a small fit loads compiled code first. A plan is made twice: from
the sizes alone, and from rows of the data; its own seconds are those of the latter. Do not compare times of different
machines or of a busy one; ``--cpu`` counts seconds of the processor instead, which other processes disturb less.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from label_free import log_counts
from sklearn import datasets as tables

from graphlowrank import CompressiveClustering, CompressivePCA, _progress
from graphlowrank.cli.plan import pilot_rows
from graphlowrank.estimators.plan import plan
from graphlowrank_benchmarks.data import DATA, clouds
from graphlowrank_benchmarks.datasets import load_pbmc, load_worm_neurons
from graphlowrank_benchmarks.memory import peak_memory, reset_peak

MODELS = {"cluster": CompressiveClustering, "recover": CompressivePCA}
PLANS = ("sizes", "rows")
MISSING = 0.3  # share of entries


def with_missing(X: np.ndarray, share: float = MISSING) -> np.ndarray:
    return np.where(np.random.default_rng(0).random(X.shape) < share, np.nan, X).astype(X.dtype)


def clusters(n: int, p: int, k: int) -> np.ndarray:
    """Draw clusters in a subspace of at most 20 dimensions, plus noise."""
    rng, rank = np.random.default_rng(0), min(k, 20)
    latent = 3 * rng.standard_normal((k, rank))[rng.integers(k, size=n)] + rng.standard_normal((n, rank))
    return latent @ rng.standard_normal((rank, p)) / rank**0.5 + 0.5 * rng.standard_normal((n, p))


def counts(n: int, p: int, k: int, per_sample: int = 100) -> sp.csr_array:
    """Draw log counts of samples whose cluster gives each feature its rate; about 2 % are not zero."""
    rng = np.random.default_rng(0)
    rates = np.cumsum(rng.gamma(0.3, size=(k, p)) + 1e-3, axis=1)
    totals, labels = rates[:, -1], rng.integers(k, size=n)
    columns = [np.searchsorted(rates[label], totals[label] * rng.random(per_sample)) for label in labels]
    starts = np.arange(0, n * per_sample + 1, per_sample)
    X = sp.csr_array((np.ones(n * per_sample, np.float32), np.concatenate(columns), starts), shape=(n, p))
    X.sum_duplicates()
    np.log1p(X.data, out=X.data)
    return X


SETS: dict[str, tuple[int, Callable[[], np.ndarray | sp.csr_array]]] = {
    "50000 x 100": (10, lambda: clusters(50_000, 100, 10)),
    "200000 x 50": (10, lambda: clusters(200_000, 50, 10)),
    "5000 x 5000": (10, lambda: clusters(5000, 5000, 10)),
    "100000 x 50, missing": (10, lambda: with_missing(clusters(100_000, 50, 10), 0.2)),
    "50000 x 100, 100 clusters": (100, lambda: clusters(50_000, 100, 100)),
    "50000 x 5000, sparse": (10, lambda: counts(50_000, 5000, 10)),
    "breast cancer": (2, lambda: tables.load_breast_cancer().data),
    "digits": (10, lambda: DATA["digits"].load()[0]),
    "digits, missing": (10, lambda: with_missing(DATA["digits"].load()[0])),
    "orl": (40, lambda: DATA["orl-large"].load()[0]),
    "pbmc": (8, lambda: load_pbmc()[0]),
    "worm": (10, lambda: log_counts(*load_worm_neurons())[0]),
    "usps": (10, lambda: DATA["usps-large"].load()[0]),
    "clouds": (10, lambda: clouds(100_000)[0]),
    "mnist": (10, lambda: DATA["mnist-70000"].load()[0]),
    "mnist, missing": (10, lambda: with_missing(DATA["mnist-70000"].load()[0])),
}


def answer(name: str, task: str, what: str) -> dict[str, object]:
    """Fit or plan in this process."""
    k, load = SETS[name]
    X = load()
    MODELS[task](k, neighbors="approximate", random_state=1).fit(X[:: max(X.shape[0] // 2500, 1)])
    if what == "fit":
        reset_peak()
        model = MODELS[task](k, random_state=0).fit(X)
        return {"stages": model.stage_seconds_, "gigabytes": (peak_memory() or 0) / 1e9}
    rows = pilot_rows(X) if what == "rows" else None
    begin = _progress.time.perf_counter()
    found = plan(*X.shape, task=task, n_clusters=k, data=rows, itemsize=X.dtype.itemsize)
    own = _progress.time.perf_counter() - begin
    stages = {stage.name: stage.seconds for stage in found.stages}
    return {"stages": stages, "gigabytes": found.gigabytes, "own": own}


def count_processor_seconds() -> None:
    """Let fits and plans read the clock of the process."""

    class Clock:
        perf_counter = staticmethod(time.process_time)

    _progress.time = Clock


def ask(name: str, task: str, what: str, *, cpu: bool) -> dict[str, object]:
    command = [sys.executable, __file__, "--answer", name, task, what, *(["--cpu"] if cpu else [])]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="data sets whose name contains this")
    parser.add_argument("--task", choices=tuple(MODELS), help="one of the two alone")
    parser.add_argument("--stages", action="store_true", help="each stage, too")
    parser.add_argument("--cpu", action="store_true", help="seconds of the processor")
    parser.add_argument("--answer", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    if options.answer:
        if options.cpu:
            count_processor_seconds()
        print(json.dumps(answer(*options.answer)))
        return
    print(
        "| data | task | seconds | planned from sizes | from rows | GB | planned from sizes | from rows | plan's own |"
    )
    print("|---|---|---:|---:|---:|---:|---:|---:|---:|")
    for name in SETS:
        if options.only not in name:
            continue
        for task in [options.task] if options.task else MODELS:
            fit, *plans = (ask(name, task, what, cpu=options.cpu) for what in ("fit", *PLANS))
            total = sum(fit["stages"].values())
            seconds = " | ".join(f"{sum(plan['stages'].values()) / total:.2f} x" for plan in plans)
            memory = " | ".join(f"{plan['gigabytes'] / fit['gigabytes']:.2f} x" for plan in plans)
            print(
                f"| {name} | {task} | {total:.2f} | {seconds} | {fit['gigabytes']:.2f} | {memory} | "
                f"{plans[-1]['own']:.1f} s |",
                flush=True,
            )
            if options.stages:
                for stage, seconds in fit["stages"].items():
                    planned = "  ".join(f"{plan['stages'].get(stage, 0.0):8.3f}" for plan in plans)
                    print(f"    {stage:20s} {seconds:8.3f}  {planned}", flush=True)


if __name__ == "__main__":
    main()
