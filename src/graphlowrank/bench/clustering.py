"""Clustering jobs: labelled images, every system given the number of clusters and the data in [0, 1], nothing else."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .cells import Cell
from .clustering_systems import CPCA, CPCA_COLD, DEFAULT, FRPCAG, K_MEANS, SPECTRAL, SYSTEMS, UMAP, WARM_UP, Task
from .jobs import Job, Options
from .record import Record
from .tables import Table, gigabytes, mean_text, ratio, seconds

SPECTRAL_UP_TO = 10_000  # samples
REPEAT_UP_TO = 30.0  # seconds; slower systems are run once whatever the number of seeds
QUICK_SAMPLES = 600
FITTED_TWICE = (CPCA, DEFAULT, UMAP)  # in one process: the second time nothing is compiled or loaded
COLUMNS = ("system", "error", "graphs s", "after graphs s", "start to finish s", "peak GB", "time / cpca's")


@dataclass(frozen=True)
class ClusteringJob(Job):
    """A labelled set, or a part of it.

    Attributes
    ----------
    name, title
        What to call it.
    loader
        Function of :mod:`graphlowrank.datasets`; "digits" for those that come with scikit-learn.
    n_samples
        Samples to use, drawn with seed 0; None for all, in their order.
    size
        Samples that there are then.
    downsampling
        Of our compressed system.
    paper
        Error that the paper has for CPCA at this compression, its best over a grid of parameters.
    cold
        Whether to run our system also with an empty cache of compiled code.
    """

    name: str
    title: str
    loader: str
    size: int
    downsampling: Any
    n_samples: int | None = None
    paper: str | None = None
    cold: bool = False

    def systems(self, options: Options) -> tuple[str, ...]:
        """Ours, then the peers."""
        cold = self.cold and not options.quick  # tiny data need no compiled code
        return tuple(name for name in SYSTEMS if name != WARM_UP and (name != CPCA_COLD or cold))

    def warm_up(self, options: Options) -> tuple[str, ...]:
        """Everything of ours, briefly; tiny data need no compiled code."""
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
        """Load, cut and store the set."""
        with record.timing("load"):
            X, y, source = _load(self.loader, options)
        if self.n_samples is not None or options.quick:
            part = np.random.default_rng(0).permutation(len(X))[: self.n_samples]
            part = part[:QUICK_SAMPLES] if options.quick else part
            X, y = X[part], y[part]
        np.save(folder / "X.npy", np.ascontiguousarray(X))
        np.save(folder / "y.npy", y)
        record.values.update(source=source, shape=list(X.shape), dtype=str(X.dtype), clusters=len(np.unique(y)))

    def run(self, system: str, folder: Path, options: Options, record: Record) -> None:
        """Cluster with seed 0 by the clock, then with the other seeds for the error alone."""
        begin = time.perf_counter()
        with record.timing("load"):
            X, y = np.load(folder / "X.npy"), np.load(folder / "y.npy")
            n_clusters = len(np.unique(y))
        labels = SYSTEMS[system](Task(X, n_clusters, 0, self.downsampling, options.threads), record)
        record.note_peak()
        with record.timing("score"):
            from ..metrics import clustering_error

            errors = [clustering_error(y, labels)]
        runs = options.seeds if time.perf_counter() - begin < REPEAT_UP_TO else 1
        runs = max(runs, 2) if system in FITTED_TWICE else runs
        with record.timing("repeat"):
            for seed in range(1, runs):
                if time.perf_counter() - begin > options.timeout / 3:
                    break  # rather fewer seeds than no row
                again = Record()
                labels = SYSTEMS[system](Task(X, n_clusters, seed, self.downsampling, options.threads), again)
                record.values.setdefault("again", again.seconds)
                if seed < options.seeds:
                    errors.append(clustering_error(y, labels))
        record.values["errors"] = errors

    def tabulate(self, data: Cell, cells: Sequence[Cell], options: Options) -> tuple[Table, ...]:
        """One row for each system, and another for a fit in a process that has loaded or compiled its code."""
        found = {cell.system: cell for cell in cells}
        ours = found[CPCA].start_to_finish if CPCA in found else None
        rows = []
        for cell in cells:
            rows.append(_row(cell, ours))
            if cell.system in FITTED_TWICE and cell.value("again"):
                rows.append(_row_again(cell.system, cell.value("again")))
        n, p = data.value("shape")
        title = f"{self.title}: {data.value('source')}, {n} x {p} {data.value('dtype')}"
        return (Table(title, COLUMNS, rows, [*self._remarks(data, found, options), *comparisons(found)]),)

    def _remarks(self, data: Cell, found: Mapping[str, Cell], options: Options) -> list[str]:
        loads = [cell.record["seconds"]["load"] for cell in found.values() if cell.done]
        clusters = data.value("clusters")
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


def _load(loader: str, options: Options) -> tuple[Any, Any, str]:
    """Return data, labels and what they are; a quick run makes do with digits where the set is not there."""
    if loader != "digits":
        from .. import datasets

        try:
            return (*getattr(datasets, loader)(), loader.removeprefix("load_"))
        except FileNotFoundError:
            if not options.quick:
                raise
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return (X / 16).astype(np.float32), y, "digits" if loader == "digits" else "digits in its place"


def _row(cell: Cell, ours: float | None) -> list[str]:
    if not cell.done:
        return [cell.system, cell.why_not_done]
    return [
        cell.system,
        mean_text(cell.value("errors")),
        seconds(cell.seconds("graphs")),
        seconds(cell.seconds("after")),
        seconds(cell.start_to_finish),
        gigabytes(cell.peak),
        ratio(cell.start_to_finish, ours),
    ]


def _row_again(system: str, again: Mapping[str, float]) -> list[str]:
    graphs, after = again.get("graphs", 0.0), again["after"]
    total = graphs + after
    return [
        f"{system}, second fit",
        "",
        seconds(graphs),
        seconds(after),
        f"{seconds(total)} (no start)",
        "",
        "",
    ]


def comparisons(found: Mapping[str, Cell]) -> list[str]:
    """Lines that say how our system compares, as far as the systems they need are done."""
    done = {name: cell for name, cell in found.items() if cell.done}
    if CPCA not in done:
        return []
    ours, lines = done[CPCA], []
    after, graphs, whole = ours.seconds("after"), ours.seconds("graphs"), ours.start_to_finish
    if FRPCAG in done:
        theirs, k_means = done[FRPCAG].seconds("after"), done[FRPCAG].stage("k-means") or 0.0
        lines.append(
            f"after graphs: cpca is {ratio(theirs, after, 1)} x faster than frpcag + k-means "
            f"({ratio((theirs or 0.0) - k_means, after, 1)} x without k-means)"
        )
        again = (ours.value("again") or {}).get("after")
        if again:
            lines.append(
                f"the same by its second fit, its code loaded: {ratio(theirs, again, 1)} x "
                f"({ratio((theirs or 0.0) - k_means, again, 1)} x without k-means)"
            )
    if after and graphs:
        lines.append(f"cpca, after graphs / graphs = {after / graphs:.0%}")
    peers = [name for name in (UMAP, K_MEANS) if name in done]
    if peers:
        takes = ", ".join(f"{ratio(done[name].start_to_finish, whole)} x {name}" for name in peers)
        lines.append(f"start to finish, in cpca's times: {takes}")
    first, second = (
        sum((done[name].value("again") or {}).get(part, 0.0) for part in ("graphs", "after")) if name in done else 0.0
        for name in (CPCA, UMAP)
    )
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


MNIST = "load_mnist"
CLUSTERING_JOBS = (
    ClusteringJob("digits", "Digits", "digits", 1797, "auto"),
    ClusteringJob("usps", "USPS", "load_usps", 9298, (10, 1), paper="0.15 / 0.21", cold=True),
    ClusteringJob("orl", "ORL faces", "load_orl", 400, (2, 2), paper="0.21"),
    *(
        ClusteringJob(f"mnist-{n // 1000}k", f"MNIST, {n} drawn with seed 0", MNIST, n, (10, 2), n_samples=n)
        for n in (5_000, 15_000, 25_000)
    ),
    ClusteringJob("mnist-70k", "MNIST", MNIST, 70_000, (10, 2), paper="0.24"),
)
