"""Growth curves: seconds and memory of our clustering as the number of samples grows, stage by stage."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from .cells import Cell
from .clustering_systems import ALGORITHM_3
from .jobs import Job, Options
from .memory import StagePeaks, current_memory, peak_memory
from .record import GRAPH_STAGES, Record, stopwatch
from .tables import Table, gigabytes, mean_text, seconds, slope, slope_text

if TYPE_CHECKING:
    from .._backend import Array

SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000)
QUICK_SIZES = (1_000, 2_000, 4_000)
LARGE = 100_000  # the slope that is asked for is of sizes from here on
N_FEATURES, N_DIMENSIONS, N_CLOUDS = 50, 10, 10
NOISE = 0.1
BLOCK = 50_000  # rows made at a time, so that making the data takes no more memory than the data
AFTER_STAGES = ("sampling", "reduction", "frpcag", "decoding")


def clouds(n: int) -> tuple[Array, Array]:
    """Points (n, 50) float32 of ten normal clouds in ten dimensions, turned into fifty, with a little noise; labels."""
    rng = np.random.default_rng(0)
    centres = 2 * rng.standard_normal((N_CLOUDS, N_DIMENSIONS), dtype=np.float32)
    spread = rng.standard_normal((N_DIMENSIONS, N_FEATURES), dtype=np.float32)
    labels = rng.integers(N_CLOUDS, size=n)
    X = np.empty((n, N_FEATURES), dtype=np.float32)
    for start in range(0, n, BLOCK):
        block = slice(start, min(start + BLOCK, n))
        size = block.stop - start
        inner = centres[labels[block]] + rng.standard_normal((size, N_DIMENSIONS), dtype=np.float32)
        X[block] = inner @ spread + NOISE * rng.standard_normal((size, N_FEATURES), dtype=np.float32)
    return X, labels


class GrowthJob(Job):
    """The same clouds in growing numbers; the cells are the sizes."""

    name = "growth"
    title = "Growth"

    def systems(self, options: Options) -> tuple[str, ...]:
        """Return the numbers of samples."""
        return tuple(str(n) for n in _sizes(options))

    def warm_up(self, options: Options) -> tuple[str, ...]:
        """Name a size for each engine of the neighbour search; tiny data need no compiled code."""
        return () if options.quick else (str(SIZES[0]), str(LARGE))

    def prepare(self, folder: Path, options: Options, record: Record) -> None:
        """Nothing to store: each size makes its own points."""

    def run(self, system: str, folder: Path, options: Options, record: Record) -> None:
        """Cluster ``int(system)`` points."""
        with record.timing("load"):
            X, y = clouds(int(system))
        with record.timing("import"):
            from ..estimators import CompressiveClustering
            from ..metrics import clustering_error
        model = CompressiveClustering(
            N_CLOUDS, downsampling=(10, 1), n_jobs=options.threads, random_state=0, verbose=1, **ALGORITHM_3
        )
        before = current_memory()
        with StagePeaks() as stages, stopwatch() as total:
            model.fit(X)
        record.fitted(model.stage_seconds_, total[0])
        known = [*stages.peaks.values(), peak_memory() or 0]
        record.peak = max(known) or None
        added = record.peak - before if record.peak is not None and before is not None else None
        record.values.update(before_bytes=before, added_bytes=added, stage_peaks=stages.peaks)
        with record.timing("score"):
            record.values.update(errors=[clustering_error(y, model.labels_)], iterations=model.n_iter_)

    def tabulate(self, data: Cell, cells: Sequence[Cell], options: Options) -> tuple[Table, ...]:
        """One table of seconds and one of memory, each with its slopes."""
        return _seconds_table(cells), _memory_table(cells)


def _sizes(options: Options) -> tuple[int, ...]:
    return QUICK_SIZES if options.quick else SIZES


def _seconds_table(cells: Sequence[Cell]) -> Table:
    stages = (*GRAPH_STAGES, *AFTER_STAGES)
    rows = [
        [
            cell.system,
            *(seconds(cell.stage(name)) for name in stages),
            seconds(cell.seconds("graphs")),
            seconds(cell.seconds("after")),
            seconds(cell.start_to_finish),
            mean_text(cell.value("errors")),
        ]
        if cell.done
        else [cell.system, cell.why_not_done]
        for cell in cells
    ]
    curves = {name: [cell.stage(name) for cell in cells] for name in stages}
    curves |= {name: [cell.seconds(name) for cell in cells] for name in ("graphs", "after")}
    curves["start to finish"] = [cell.start_to_finish for cell in cells]
    last, notes = _slopes(cells, curves, ("graphs", "after"))
    return Table(
        f"Growth, seconds: {N_CLOUDS} normal clouds of dimension {N_DIMENSIONS} in {N_FEATURES} features, float32, "
        f"CompressiveClustering({N_CLOUDS}, downsampling=(10, 1), partition='k-means', scaling='none', "
        "robust_graphs=False)",
        ("n", *stages, "graphs", "after graphs", "start to finish", "error"),
        [*rows, *([last] if last else [])],
        notes,
    )


def _memory_table(cells: Sequence[Cell]) -> Table:
    stages = (*GRAPH_STAGES, *AFTER_STAGES)
    rows = [
        [
            cell.system,
            gigabytes(cell.value("before_bytes")),
            *(gigabytes((cell.value("stage_peaks") or {}).get(name)) for name in stages),
            gigabytes(cell.peak),
            gigabytes(cell.value("added_bytes")),
        ]
        if cell.done
        else [cell.system, cell.why_not_done]
        for cell in cells
    ]
    curves: dict[str, list[float | None]] = {"before the fit": [cell.value("before_bytes") for cell in cells]}
    curves |= {name: [(cell.value("stage_peaks") or {}).get(name) for cell in cells] for name in stages}
    curves |= {"peak": [cell.peak for cell in cells], "added": [cell.value("added_bytes") for cell in cells]}
    last, notes = _slopes(cells, curves, ("added",))
    notes.append("before the fit: libraries and data; added: what the fit takes at most beside them")
    title = "Growth, most GB held in each stage (libraries and data included)"
    return Table(title, ("n", "before the fit", *stages, "peak", "added"), [*rows, *([last] if last else [])], notes)


def _slopes(
    cells: Sequence[Cell], curves: dict[str, list[float | None]], told: Sequence[str]
) -> tuple[list[str] | None, list[str]]:
    """Row of slopes over the large sizes (all, if few are large), and a line of successive slopes for each ``told``."""
    sizes = [int(cell.system) for cell in cells]
    large = [place for place, n in enumerate(sizes) if n >= LARGE]
    chosen = large if len(large) > 1 else list(range(len(sizes)))
    if len(chosen) < 2:
        return None, []
    at = [sizes[place] for place in chosen]
    row = [f"slope {at[0]} to {at[-1]}"]
    row += [slope_text(slope(at, [values[place] for place in chosen])) for values in curves.values()]
    lines = [
        f"slope from each n to the next, {name}: "
        + ", ".join(
            slope_text(slope(sizes[i : j + 1], curves[name][i : j + 1])) for i, j in pairwise(range(len(sizes)))
        )
        for name in told
    ]
    return row, lines
