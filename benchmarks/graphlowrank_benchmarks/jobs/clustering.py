"""Clustering jobs: labelled images; every system gets the number of clusters and the data in [0, 1], nothing else."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..cells import Outcome, Record
from ..data import Labelled, load_digits
from ..systems import ALGORITHM_3, SYSTEMS, ClusterTask
from ..tables import Table, gigabytes, mean_text, ratio, seconds
from .base import Job, Options

CPCA, CPCA_COLD, DEFAULT, FRPCAG = "cpca", "cpca, first run ever", "default call", "frpcag + k-means"
K_MEANS, SPECTRAL, UMAP, WARM_UP = "k-means", "spectral", "umap + k-means", "(warm-up)"
ROWS = {  # row to system
    CPCA: "CompressiveClustering", CPCA_COLD: "CompressiveClustering", DEFAULT: "CompressiveClustering",
    FRPCAG: "FastRobustPCAOnGraphs + KMeans", K_MEANS: "KMeans", SPECTRAL: "SpectralClustering",
    "pca + k-means": "PCA + KMeans", "nmf + k-means": "NMF + KMeans", UMAP: "UMAP + KMeans",
}  # fmt: skip
WARM_UP_SAMPLES = 6000  # enough for every loop of FRPCAG to be compiled
SPECTRAL_UP_TO = 10_000  # samples
REPEAT_UP_TO = 30.0  # seconds; slower systems are run once whatever the number of seeds
QUICK_SAMPLES = 600
FITTED_TWICE = (CPCA, DEFAULT, UMAP)  # in one process: the second fit neither compiles nor loads code
COLUMNS = ("system", "error", "graphs s", "after graphs s", "start to finish s", "peak GB", "time / cpca's")


@dataclass(frozen=True)
class ClusteringJob(Job):
    """A labelled data set, or a part of it."""

    name: str
    title: str
    loader: str  # function of graphlowrank_benchmarks.datasets, or "digits"
    size: int  # number of samples
    downsampling: Any  # of our compressed system
    n_samples: int | None = None  # samples to draw with seed 0; None for all, in their order
    paper: str | None = None  # error of CPCA in the paper at this compression, its best over a grid
    cold: bool = False  # run our system also with an empty cache of compiled code

    def systems(self, options: Options) -> tuple[str, ...]:
        """Ours, then the others."""
        cold = self.cold and not options.quick  # tiny data need no compiled code
        return tuple(name for name in ROWS if name != CPCA_COLD or cold)

    def warm_up(self, options: Options) -> tuple[str, ...]:
        """Our systems, briefly; tiny data need no compiled code."""
        return () if options.quick else (WARM_UP,)

    def skip(self, system: str, options: Options) -> str | None:
        """Spectral clustering is quadratic; UMAP compiles for longer than a quick run should take."""
        if options.quick:
            return "compiles for half a minute, too long for --quick" if system == UMAP else None
        if system == SPECTRAL and self.size > SPECTRAL_UP_TO:
            return f"takes many minutes beyond {SPECTRAL_UP_TO} samples"
        return None

    def environment(self, system: str, folder: Path) -> dict[str, str]:
        """Give the first run ever an empty cache."""
        return {"NUMBA_CACHE_DIR": str(folder / "empty-cache")} if system == CPCA_COLD else {}

    def prepare(self, folder: Path, options: Options, record: Record) -> None:
        """Load the data, select samples and store them."""
        with record.timing("load"):
            (X, y), source = _load(self.loader, options)
        if self.n_samples is not None or options.quick:
            part = np.random.default_rng(0).permutation(len(X))[: self.n_samples]
            part = part[:QUICK_SAMPLES] if options.quick else part
            X, y = X[part], y[part]
        np.save(folder / "X.npy", np.ascontiguousarray(X))
        np.save(folder / "y.npy", y)
        record.values.update(source=source, shape=list(X.shape), dtype=str(X.dtype), clusters=len(np.unique(y)))

    def run(self, system: str, folder: Path, options: Options, record: Record) -> None:
        """Cluster with seed 0 and time it, then with the other seeds for the error alone."""
        begin = time.perf_counter()
        with record.timing("load"):
            X, y = np.load(folder / "X.npy"), np.load(folder / "y.npy")
        labels = self.cluster(system, X, y, 0, options, record)
        record.note_peak()
        with record.timing("score"):
            from graphlowrank.metrics import clustering_error

            errors = [clustering_error(y, labels)]
        runs = options.seeds if time.perf_counter() - begin < REPEAT_UP_TO else 1
        runs = max(runs, 2) if system in FITTED_TWICE else runs
        with record.timing("repeat"):
            for seed in range(1, runs):
                if time.perf_counter() - begin > options.timeout / 3:
                    break  # fewer seeds are better than a timeout
                again = Record()
                labels = self.cluster(system, X, y, seed, options, again)
                record.values.setdefault("again", again.seconds)
                if seed < options.seeds:
                    errors.append(clustering_error(y, labels))
        record.values["errors"] = errors

    def cluster(self, system: str, X: Any, y: Any, seed: int, options: Options, record: Record) -> Any:
        """Labels by one of the systems."""
        n_clusters = len(np.unique(y))
        if system == WARM_UP:
            part = ClusterTask(X[:WARM_UP_SAMPLES], n_clusters, {"max_iter": 2}, seed, options.threads)
            SYSTEMS["cluster"][ROWS[FRPCAG]](part, Record())
            system = CPCA
        own = {"downsampling": self.downsampling, **ALGORITHM_3} if system in (CPCA, CPCA_COLD) else {}
        return SYSTEMS["cluster"][ROWS[system]](ClusterTask(X, n_clusters, own, seed, options.threads), record)

    def tabulate(self, data: Outcome, outcomes: Mapping[str, Outcome], options: Options) -> tuple[Table, ...]:
        """One row for each system, and one for its second fit where there is one."""
        ours = outcomes[CPCA].start_to_finish if CPCA in outcomes else None
        rows = []
        for system, outcome in outcomes.items():
            rows.append([system, *_columns(outcome, ours)])
            if system in FITTED_TWICE and (again := outcome.values.get("again")):
                graphs, after = again.get("graphs", 0.0), again["after"]
                total = f"{seconds(graphs + after)} (no start)"
                rows.append([f"{system}, second fit", "", seconds(graphs), seconds(after), total, "", ""])
        n, p = data.values["shape"]
        title = f"{self.title}: {data.values['source']}, {n} x {p} {data.values['dtype']}"
        return (Table(title, COLUMNS, rows, [*self._notes(data, outcomes, options), *comparisons(outcomes)]),)

    def _notes(self, data: Outcome, outcomes: Mapping[str, Outcome], options: Options) -> list[str]:
        loads = [outcome.parts["load"] for outcome in outcomes.values() if outcome.done]
        clusters = data.values["clusters"]
        notes = [
            f"cpca: CompressiveClustering({clusters}, downsampling={self.downsampling!r}, partition='k-means', "
            f"scaling='none', robust_graphs=False), the paper's Algorithm 3; default call: "
            f"CompressiveClustering({clusters}); errors over "
            f"up to {options.seeds} seed(s), times of the first; every row a fresh process, its "
            "imports included; not included: reading the stored data"
            + (f" ({seconds(max(loads))} s at most, the same for all)" if loads else "")
            + ", scoring"
        ]
        if self.paper and not options.quick:
            notes.append(
                f"paper's CPCA at this compression: error {self.paper}, its best over a grid, chosen by the labels"
            )
        return notes


def _load(loader: str, options: Options) -> tuple[Labelled, str]:
    """Return data with labels and their source; a quick run uses digits where the data set is missing."""
    if loader != "digits":
        from .. import datasets

        try:
            return getattr(datasets, loader)(), loader.removeprefix("load_")
        except FileNotFoundError:
            if not options.quick:
                raise
    return load_digits(), "digits" if loader == "digits" else "digits in its place"


def _columns(outcome: Outcome, ours: float | None) -> list[str]:
    if not outcome.done:
        return [outcome.why_not_done]
    return [
        mean_text(outcome.values.get("errors")),
        seconds(outcome.parts.get("graphs")),
        seconds(outcome.parts.get("after")),
        seconds(outcome.start_to_finish),
        gigabytes(outcome.peak),
        ratio(outcome.start_to_finish, ours),
    ]


def comparisons(outcomes: Mapping[str, Outcome]) -> list[str]:
    """Lines that compare our system with others, as far as those are done."""
    done = {name: outcome for name, outcome in outcomes.items() if outcome.done}
    if CPCA not in done:
        return []
    ours, lines = done[CPCA], []
    after, graphs, whole = ours.parts.get("after"), ours.parts.get("graphs"), ours.start_to_finish
    again = {name: outcome.values.get("again") or {} for name, outcome in done.items()}
    if FRPCAG in done:
        theirs = done[FRPCAG].parts.get("after") or 0.0
        model = theirs - done[FRPCAG].stages.get("k-means", 0.0)
        lines.append(
            f"after graphs: cpca is {ratio(theirs, after, 1)} x faster than frpcag + k-means "
            f"({ratio(model, after, 1)} x without k-means)"
        )
        if second := again[CPCA].get("after"):
            lines.append(
                f"the same by its second fit, its code loaded: {ratio(theirs, second, 1)} x "
                f"({ratio(model, second, 1)} x without k-means)"
            )
    if after and graphs:
        lines.append(f"cpca, after graphs / graphs = {after / graphs:.0%}")
    peers = [name for name in (UMAP, K_MEANS) if name in done]
    if peers:
        takes = ", ".join(f"{ratio(done[name].start_to_finish, whole)} x {name}" for name in peers)
        lines.append(f"start to finish, in cpca's times: {takes}")
    first, second = (sum(again.get(name, {}).get(part, 0.0) for part in ("graphs", "after")) for name in (CPCA, UMAP))
    if first and second:
        lines.append(
            f"second fits, when nothing is compiled or loaded: umap + k-means takes {second / first:.1f} x cpca's time"
        )
    if CPCA_COLD in done:
        extra = (done[CPCA_COLD].start_to_finish or 0.0) - (whole or 0.0)
        lines.append(
            f"compiling on the first run ever: {seconds(extra)} s more, once; our other rows have it in the cache"
        )
    return lines


CLUSTERING_JOBS = (
    ClusteringJob("digits", "Digits", "digits", 1797, "auto"),
    ClusteringJob("usps", "USPS", "load_usps", 9298, (10, 1), paper="0.15 / 0.21", cold=True),
    ClusteringJob("orl", "ORL faces", "load_orl", 400, (2, 2), paper="0.21"),
    *(
        ClusteringJob(f"mnist-{n // 1000}k", f"MNIST, {n} drawn with seed 0", "load_mnist", n, (10, 2), n_samples=n)
        for n in (5_000, 15_000, 25_000)
    ),
    ClusteringJob("mnist-70k", "MNIST", "load_mnist", 70_000, (10, 2), paper="0.24"),
)
