"""Streams: how often is drift reported that is none, and how soon is a change found?

    python benchmarks/studies/streaming.py [--sets normal,digits]

One batch for each fit: 300 fits to "normal" with a reservoir of 500 rows, gammas and scaling given, each followed by
one batch without a change: how many are reported.

False alarms: each model is fitted to a reservoir, then gets batches of 50, 200 and 1000 rows of the same distribution,
200 of each size over 20 seeds (over 6 for real sets, whose rows are given once, in random order), and the batches
that are reported are counted. Batches of one fit share its reference, so their reports come together: "fits with any"
counts the seeds. A twentieth of the entries of "low rank" are outliers.

Detection: after five batches without a change come changed batches of 100 or 400 rows: the share of 6 seeds in which
the first is reported, and the mean number of batches until one is (11 if none of ten is). A planted change is described
by its row. "normal" has eight clusters in 30 dimensions, at distances of 5.5 standard deviations; "low rank" has 60
features, rank 5 and noise of the size of a fifth of the signal.

Measurements that results/streaming.json has are not repeated; results/streaming.md is written from them.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

from graphlowrank import CompressiveClustering, CompressivePCA
from graphlowrank_benchmarks import datasets
from graphlowrank_benchmarks.internals import write_atomically
from graphlowrank_benchmarks.machine import describe_machine, machine_line
from graphlowrank_benchmarks.tables import markdown_rows

RESULTS = Path(__file__).parents[1] / "results" / "streaming.json"
N_FITS = 300
SIZES, N_BATCHES, N_NULL_SEEDS, N_SEEDS, N_CHANGED = (50, 200, 1000), 200, 20, 6, 10
POOLS = {"digits": (11, 2, 0), "USPS": (20, 15, 3)}  # batches of each size that the rows after the fit suffice for
CHANGED_SIZES = (100, 400)
K, P, RANK, FEATURES = 8, 30, 5, 60
Rows = Callable[[int], np.ndarray]


class Normal:
    """Eight normal clusters; their centers and shares can be changed."""

    reservoir_size = 2000

    def __init__(self, seed: int, tail: float = np.inf) -> None:
        self.rng, self.tail = np.random.default_rng(seed), tail
        self.centers = 0.75 * np.random.default_rng(seed + 1000).standard_normal((K, P))
        self.shares = np.full(K, 1 / K)

    def __call__(self, n: int) -> np.ndarray:
        labels = self.rng.choice(len(self.centers), n, p=self.shares)
        noise = self.rng.standard_normal((n, P))
        if np.isfinite(self.tail):
            noise /= np.sqrt(self.rng.chisquare(self.tail, (n, 1)) / self.tail)
        return self.centers[labels] + noise


class LowRank:
    """Rows in a subspace with noise and outliers; the subspace can be turned."""

    reservoir_size = 2000

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        basis = np.linalg.qr(np.random.default_rng(seed + 1000).standard_normal((FEATURES, 2 * RANK)))[0]
        self.basis, self.other, self.noise, self.broken = basis[:, :RANK], basis[:, RANK:], 0.2, 0

    def __call__(self, n: int) -> np.ndarray:
        signal = self.rng.standard_normal((n, RANK)) @ self.basis.T
        std = np.sqrt(RANK / FEATURES)
        X = signal + self.noise * std * self.rng.standard_normal((n, FEATURES))
        X[:, : self.broken] = 0.0
        return np.where(self.rng.random(X.shape) < 0.05, 5 * std * self.rng.standard_normal(X.shape), X)


class Pool:
    """Rows of a data set in random order, each once; those of some classes first."""

    def __init__(self, seed: int, data: tuple[np.ndarray, np.ndarray], size: int, first: int = 10) -> None:
        X, y = data
        order = np.random.default_rng(seed).permutation(len(X))
        self.old, self.new = X[order[y[order] < first]], X[order[y[order] >= first]]
        self.reservoir_size, self.share = size, 0.0

    def __call__(self, n: int) -> np.ndarray:
        n_new = round(self.share * n)
        if len(self.old) < n - n_new or len(self.new) < n_new:
            raise StopIteration
        part = np.r_[self.old[: n - n_new], self.new[:n_new]]
        self.old, self.new = self.old[n - n_new :], self.new[n_new:]
        return part


def digits() -> tuple[np.ndarray, np.ndarray]:
    return load_digits(return_X_y=True)


def usps() -> tuple[np.ndarray, np.ndarray]:
    X, y = datasets.load_usps()
    return np.asarray(X, dtype=np.float32), np.asarray(y)


def digits_to_6(seed: int) -> Pool:
    return Pool(seed, digits(), 600, 7)


def usps_to_6(seed: int) -> Pool:
    return Pool(seed, usps(), 2000, 7)


SETS: dict[str, Callable[[int], Rows]] = {
    "normal": Normal,
    "heavy tails": lambda seed: Normal(seed, tail=3),
    "low rank": LowRank,
    "digits": lambda seed: Pool(seed, digits(), 800),
    "USPS": lambda seed: Pool(seed, usps(), 2000),
}


def new_cluster(rows: Normal, share: float) -> None:
    rows.centers = np.r_[rows.centers, 0.75 * rows.rng.standard_normal((1, P))]
    rows.shares = np.r_[rows.shares * (1 - share), share]


def shifted(rows: Normal, by: float) -> None:
    step = rows.rng.standard_normal(P)
    rows.centers[0] += by * step / np.linalg.norm(step)


def doubled(rows: Normal) -> None:
    rows.shares = np.r_[2 / K, np.full(K - 1, (1 - 2 / K) / (K - 1))]


def mixed(rows: Pool) -> None:
    rows.share = 0.3


def turned(rows: LowRank, degrees: float) -> None:
    angle = np.deg2rad(degrees)
    rows.basis = np.cos(angle) * rows.basis + np.sin(angle) * rows.other


CHANGES: dict[str, list[tuple[str, Callable[[int], Rows], Callable[[Rows], None]]]] = {
    "CompressiveClustering": [
        ("normal: a new cluster with 10 % of the rows", Normal, lambda rows: new_cluster(rows, 0.1)),
        ("normal: a new cluster with 3 %", Normal, lambda rows: new_cluster(rows, 0.03)),
        ("normal: one cluster moves by 5 standard deviations", Normal, lambda rows: shifted(rows, 5)),
        ("normal: one cluster moves by 2.5 standard deviations", Normal, lambda rows: shifted(rows, 2.5)),
        ("normal: the share of one cluster doubles", Normal, doubled),
        ("digits 0 to 6, then 7 to 9 are 30 %", digits_to_6, mixed),
        ("USPS 0 to 6, then 7 to 9 are 30 %", usps_to_6, mixed),
    ],
    "CompressivePCA": [
        ("low rank: the subspace turns by 20 degrees", LowRank, lambda rows: turned(rows, 20)),
        ("low rank: it turns by 10 degrees", LowRank, lambda rows: turned(rows, 10)),
        ("low rank: noise times 1.2", LowRank, lambda rows: setattr(rows, "noise", 0.24)),
        ("low rank: 3 of 60 features become 0", LowRank, lambda rows: setattr(rows, "broken", 3)),
        ("digits 0 to 6, then 7 to 9 are 30 %", digits_to_6, mixed),
        ("USPS 0 to 6, then 7 to 9 are 30 %", usps_to_6, mixed),
    ],
}  # fmt: skip


def fitted(name: str, rows: Rows, seed: int) -> CompressiveClustering | CompressivePCA:
    size = rows.reservoir_size  # type: ignore[attr-defined]
    if name == "CompressiveClustering":
        model = CompressiveClustering(K if isinstance(rows, Normal) else 10, reservoir_size=size, random_state=seed)
    else:
        model = CompressivePCA(10, solver="frpcag", reservoir_size=size, random_state=seed)
    return model.partial_fit(rows(size))


def false_alarms(name: str, source: str) -> list[str]:
    """Number of batches that are reported, for each size, in how many fits."""
    counts, totals, fits = np.zeros(len(SIZES), dtype=int), np.zeros(len(SIZES), dtype=int), 0
    for seed in range(N_SEEDS if source in POOLS else N_NULL_SEEDS):
        rows, reported = SETS[source](seed), 0
        model = fitted(name, rows, seed)
        for at, size in enumerate(SIZES):
            for _ in range(POOLS[source][at] if source in POOLS else N_BATCHES // N_NULL_SEEDS):
                due = model.partial_fit(rows(size)).refit_due_
                totals[at] += 1
                counts[at] += due
                reported += due
        fits += reported > 0
    cells = [f"{count} of {total}" if total else "" for count, total in zip(counts, totals, strict=True)]
    return [*cells, f"{counts.sum() / totals.sum():.1%}", str(fits)]


def detection(name: str, make: Callable[[int], Rows], change: Callable[[Rows], None]) -> list[str]:
    """Share of seeds in which the first changed batch is reported, and mean number of batches until one is."""
    cells = []
    for size in CHANGED_SIZES:
        delays = []
        for seed in range(N_SEEDS):
            rows = make(seed)
            try:
                model = fitted(name, rows, seed)
                for _ in range(5):
                    model.partial_fit(rows(size if not isinstance(rows, Pool) else 40))
                change(rows)
                reported = (model.partial_fit(rows(size)).refit_due_ for _ in range(N_CHANGED))
                delays.append(next((at for at, one in enumerate(reported, 1) if one), N_CHANGED + 1))
            except (StopIteration, RuntimeError):
                delays.append(N_CHANGED + 1)
        cells += [f"{np.mean(np.equal(delays, 1)):.0%}", f"{np.mean(delays):.1f}"]
    return cells


def one_batch_for_each_fit(name: str) -> list[str]:
    """Number of fits whose only batch is reported: independent of each other, unlike batches of one fit."""
    given = {"scaling": "none", "robust_graphs": False, "gamma_features": 0.3, "reservoir_size": 500}
    counts = np.zeros(2, dtype=int)
    for seed in range(1000, 1000 + N_FITS):
        rows = Normal(seed)
        Model = CompressivePCA if name == "CompressivePCA" else CompressiveClustering
        model = Model(8, gamma_samples=1.0, random_state=seed, **given).partial_fit(rows(500))
        counts += [copy(model).partial_fit(rows(size)).refit_due_ for size in (SIZES[0], SIZES[-1])]
    return [f"{count} of {N_FITS}" for count in counts]


def run(names: list[str]) -> None:
    """Measure what is missing in the results, and write the tables."""
    stored = {"machine": describe_machine(None), "one batch for each fit": {}, "false alarms": {}, "changes": {}}
    stored = json.loads(RESULTS.read_text()) if RESULTS.exists() else stored
    for name, changes in CHANGES.items():
        if f"{name}, normal" not in stored["one batch for each fit"]:
            write(stored, "one batch for each fit", f"{name}, normal", one_batch_for_each_fit(name))
        for source in names:
            if f"{name}, {source}" not in stored["false alarms"]:
                write(stored, "false alarms", f"{name}, {source}", false_alarms(name, source))
        for text, make, change in changes:
            if f"{name}, {text}" not in stored["changes"]:
                write(stored, "changes", f"{name}, {text}", detection(name, make, change))
    render(stored)


def write(stored: dict[str, Any], part: str, key: str, cells: list[str]) -> None:
    """Add a row to the results."""
    stored[part][key] = cells
    print(key, *cells, flush=True)
    write_atomically(RESULTS, json.dumps(stored, indent=1) + "\n")


def render(stored: dict[str, Any]) -> None:
    """Write the tables."""
    found = [head for size in CHANGED_SIZES for head in (f"first batch of {size}", "batches until found")]
    heads = {
        "one batch for each fit": [f"batch of {size}" for size in (SIZES[0], SIZES[-1])],
        "false alarms": [*(f"batches of {size}" for size in SIZES), "rate", "fits with any"],
        "changes": found,
    }
    lines = [
        "# Streams",
        "",
        machine_line(stored["machine"]),
        "",
        "\n\n".join((__doc__ or "").strip().split("\n\n")[2:]),
    ]
    for title, columns in heads.items():
        rows = [[*key.split(", ", 1), *cells] for key, cells in stored[title].items()]
        lines += ["", f"## {title.capitalize()}", "", markdown_rows(["model", "data", *columns], rows).rstrip()]
    write_atomically(RESULTS.with_suffix(".md"), "\n".join(lines) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default=",".join(SETS))
    warnings.simplefilter("ignore")
    run(parser.parse_args().sets.split(","))


if __name__ == "__main__":
    main()
