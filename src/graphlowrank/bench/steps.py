"""One step of the pipeline at a time, ours beside a plain version of it and beside other packages."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .cells import Cell
from .jobs import Job, Options
from .record import Record
from .step_systems import COPY, ITERATION, MARK, SYSTEMS, StepData
from .tables import Table, gigabytes, ratio, seconds

QUICK_SAMPLES = 600
SYNTHETIC_SHAPE = (9298, 256)  # that of USPS, where it is not there
COLUMNS = ("step", "version", "seconds", "time / ours", "peak GB", "what came of it")


class StepsJob(Job):
    """The graph, its reduction, an iteration of FRPCAG and the decoder's linear system, on USPS."""

    name = "steps"
    title = "Steps"

    def systems(self, options: Options) -> tuple[str, ...]:
        """Step and version, joined."""
        return tuple(SYSTEMS)

    def skip(self, system: str, options: Options) -> str | None:
        """PyNNDescent compiles for longer than a quick run should take."""
        slow = options.quick and system.endswith("pynndescent")
        return "compiles for half a minute, too long for --quick" if slow else None

    def prepare(self, folder: Path, options: Options, record: Record) -> None:
        """Store points, their graph and the kept tenth of its nodes."""
        import scipy.sparse as sp

        from ..graphs import knn_graph
        from ..sampling import draw

        with record.timing("load"):
            X, source = _points(options)
        graph = knn_graph(X, 10, random_state=0)
        keep = draw(graph, round(graph.n_nodes / 10), random_state=0)
        np.save(folder / "X.npy", X)
        np.save(folder / "keep.npy", keep)
        sp.save_npz(folder / "graph.npz", graph.weights, compressed=False)
        record.values.update(source=source, shape=list(X.shape), edges=graph.n_edges, kept=len(keep))

    def run(self, system: str, folder: Path, options: Options, record: Record) -> None:
        """Time one version of a step; a step of less than two seconds is the median of several, the first left out."""
        import scipy.sparse as sp

        from .._threads import limit_threads

        with record.timing("load"):
            X, keep = np.load(folder / "X.npy"), np.load(folder / "keep.npy")
            weights = sp.csr_array(sp.load_npz(folder / "graph.npz"))
        with limit_threads(options.threads):
            SYSTEMS[system](StepData(X, weights, keep, options.threads), record)

    def tabulate(self, data: Cell, cells: Sequence[Cell], options: Options) -> tuple[Table, ...]:
        """Rows step by step, each compared with our version of the same step."""
        first: dict[str, float | None] = {}
        rows = []
        for cell in cells:
            step, version = cell.system.split(MARK)
            if not cell.done:
                first.setdefault(step, None)
                rows.append([step, version, cell.why_not_done])
                continue
            taken = cell.value("step_seconds")
            first.setdefault(step, taken)
            rows.append(
                [step, version, seconds(taken), ratio(taken, first[step]), gigabytes(cell.peak), cell.value("outcome")]
            )
        n, p = data.value("shape")
        notes = [
            f"{data.value('source')}, {n} x {p} float32; graph of 10 neighbours, {data.value('edges')} edges, "
            f"{data.value('kept')} nodes kept; every row a fresh process, its start, imports and compiling not counted",
            *_bandwidth(cells),
        ]
        return (Table(self.title, COLUMNS, rows, notes),)


def _points(options: Options) -> tuple[Any, str]:
    """USPS; digits in a quick run, clouds of the same size where it is not there."""
    if options.quick:
        from sklearn.datasets import load_digits

        return (load_digits().data[:QUICK_SAMPLES] / 16).astype(np.float32), "digits"
    from ..datasets import load_usps

    try:
        return load_usps()[0], "USPS"
    except FileNotFoundError:
        rng = np.random.default_rng(0)
        n, p = SYNTHETIC_SHAPE
        centres = 2 * rng.standard_normal((10, 10))
        inner = centres[rng.integers(10, size=n)] + rng.standard_normal((n, 10))
        return (inner @ rng.standard_normal((10, p))).astype(np.float32), "ten normal clouds in place of USPS"


def _bandwidth(cells: Sequence[Cell]) -> list[str]:
    """How close an iteration comes to the speed of memory."""
    done = {cell.system: cell for cell in cells if cell.done}
    if COPY not in done:
        return []
    copy = done[COPY].value("bytes") / done[COPY].value("step_seconds")
    lines = [f"memory copied at {copy / 1e9:.1f} GB/s (read and written bytes both counted, all threads)"]
    for name, cell in done.items():
        if name.startswith(ITERATION):
            speed = cell.value("bytes") / cell.value("step_seconds")
            lines.append(
                f"{name.replace(MARK, ', ')}: {cell.value('bytes') / 1e6:.0f} MB must move in an iteration (read Z, S, "
                f"X and the Laplacian, write S and Z): {speed / 1e9:.1f} GB/s, {speed / copy:.0%} of the copy's speed"
            )
    return lines
