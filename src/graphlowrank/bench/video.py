"""A video with a fixed camera: the background is the low-rank part, people are the gross errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .cells import Cell
from .jobs import Job, Options
from .record import Record, stopwatch
from .tables import Table, gigabytes, ratio, seconds

if TYPE_CHECKING:
    from .._backend import Array

DOWNSAMPLING = (10, 10)  # keeps 100 frames and 1920 pixels
RANK = 5  # given to every system that takes one
CPCA, WARM_UP = "cpca", "(warm-up)"
COLUMNS = (
    "system", "best F1", "graphs s", "after graphs s", "start to finish s", "peak GB", "time / cpca's", "iterations"
)  # fmt: skip


def cpca(X: Array, threads: int | None, record: Record) -> Array:
    """Ours; the whole background is decoded, since the others give it whole."""
    with record.timing("import"):
        from ..estimators import CompressivePCA

    model = CompressivePCA(RANK, downsampling=DOWNSAMPLING, n_jobs=threads, random_state=0)
    with stopwatch() as total:
        background = model.fit(X).low_rank_.to_array()
    record.fitted(model.stage_seconds_, total[0])
    record.note_peak()
    with stopwatch() as again:
        model.fit(X).low_rank_.to_array()
    stages = model.stage_seconds_
    graphs = stages["sample graph"] + stages["feature graph"]
    record.values["again"] = {"graphs": graphs, "after": again[0] - graphs}
    record.seconds["repeat"] = again[0]
    record.values.update(iterations=model.n_iter_, converged=bool(model.converged_), rank=model.n_components_)
    return background


def frpcag(X: Array, threads: int | None, record: Record) -> Array:
    """Ours without compression."""
    with record.timing("import"):
        from ..estimators import FastRobustPCAOnGraphs

    model = FastRobustPCAOnGraphs(1, n_jobs=threads, random_state=0)
    with stopwatch() as total:
        background = model.fit(X).low_rank_
    record.fitted(model.stage_seconds_, total[0])
    record.values.update(iterations=model.n_iter_, converged=bool(model.converged_))
    return background


def rpca(X: Array, threads: int | None, record: Record) -> Array:
    """Robust PCA by the inexact augmented Lagrangian, with partial SVD."""
    with record.timing("import"):
        from .._threads import limit_threads
        from ..models.rpca import solve_rpca
    with record.timing("after"), limit_threads(threads):
        solution = solve_rpca(X)
    record.values.update(iterations=int(solution.n_iter), converged=bool(solution.converged))
    return np.asarray(solution.low_rank)


def rpca_textbook(X: Array, threads: int | None, record: Record) -> Array:
    """Robust PCA as a script in numpy and scipy has it."""
    with record.timing("import"):
        from .textbook import robust_pca
    with record.timing("after"):
        low_rank, n_iter, converged = robust_pca(X)
    record.values.update(iterations=n_iter, converged=converged)
    return low_rank


def rpca_package(X: Array, threads: int | None, record: Record) -> Array:
    """Package ``rpca`` of PyPI: accelerated alternating projections."""
    with record.timing("import"):
        from rpca import RobustPCA
    with record.timing("after"):
        model = RobustPCA(n_components=RANK, verbose=False).fit(X)
        background = model.low_rank_ + model.mean_
    record.values.update(iterations=int(model.end_iter_), rank=RANK)
    return background


def pca(X: Array, threads: int | None, record: Record) -> Array:
    """scikit-learn's PCA."""
    with record.timing("import"):
        from sklearn.decomposition import PCA
    with record.timing("after"):
        model = PCA(RANK, random_state=0).fit(X)
        background = model.inverse_transform(model.transform(X))
    record.values["rank"] = RANK
    return background


def warm_up(X: Array, threads: int | None, record: Record) -> Array:
    """Ours, and a few iterations without compression."""
    from ..estimators import FastRobustPCAOnGraphs

    FastRobustPCAOnGraphs(1, max_iter=2, n_jobs=threads, random_state=0).fit(X)
    return cpca(X, threads, record)


SYSTEMS: dict[str, Callable[[Any, int | None, Record], Any]] = {
    WARM_UP: warm_up,
    CPCA: cpca,
    "frpcag": frpcag,
    "rpca, inexact ALM": rpca,
    "rpca, inexact ALM, textbook": rpca_textbook,
    "rpca (PyPI)": rpca_package,
    "pca": pca,
}


class VideoJob(Job):
    """Frames of a restaurant's food counter (I2R "Bootstrap"), 11 of them with people marked by hand."""

    name = "video"
    title = "Video"

    def systems(self, options: Options) -> tuple[str, ...]:
        """Ours, then the peers."""
        return tuple(name for name in SYSTEMS if name != WARM_UP)

    def warm_up(self, options: Options) -> tuple[str, ...]:
        """Everything of ours, briefly; tiny data need no compiled code."""
        return () if options.quick else (WARM_UP,)

    def prepare(self, folder: Path, options: Options, record: Record) -> None:
        """Load or make the frames, and store them with the masks of some."""
        with record.timing("load"):
            X, rows, masks, source = _frames(options)
        np.save(folder / "X.npy", X)
        np.savez(folder / "masks.npz", rows=rows, masks=masks)
        record.values.update(source=source, shape=list(X.shape), dtype=str(X.dtype), masks=len(rows))

    def run(self, system: str, folder: Path, options: Options, record: Record) -> None:
        """Separate the background, then score what is left of the frames with masks."""
        with record.timing("load"):
            X = np.load(folder / "X.npy")
        background = SYSTEMS[system](X, options.threads, record)
        record.note_peak()
        with record.timing("score"), np.load(folder / "masks.npz") as known:
            from ..metrics import best_f1

            rows = known["rows"]
            record.values["f1"] = best_f1(known["masks"], X[rows] - background[rows]).f1

    def tabulate(self, data: Cell, cells: Sequence[Cell], options: Options) -> tuple[Table, ...]:
        """One row for each system."""
        ours = next((cell.start_to_finish for cell in cells if cell.system == CPCA), None)
        n, p = data.value("shape")
        notes = [
            f"cpca: CompressivePCA({RANK}, downsampling={DOWNSAMPLING}), the rest default; pca and rpca (PyPI) are "
            f"given rank {RANK} too; every row a fresh process, its imports included, reading the stored data and "
            "scoring not",
            f"best F1: of |frame - background| above a threshold against masks of {data.value('masks')} frames, the "
            "threshold chosen for each system by those masks",
        ]
        return (
            Table(
                f"{self.title}: {data.value('source')}, {n} x {p} {data.value('dtype')}",
                COLUMNS,
                [row for cell in cells for row in _rows(cell, ours)],
                [*notes, *_comparisons(cells)],
            ),
        )


def _frames(options: Options) -> tuple[Array, Array, Array, str]:
    """Frames (n_frames, n_pixels), rows of those with masks, the masks, and what they are."""
    if options.quick:
        return (*synthetic_video(), "a moving square, synthetic")
    from ..datasets import load_video

    video = load_video("restaurant")
    return video.matrix(), video.mask_frames, video.mask_matrix(), "I2R Bootstrap, 120 x 160 pixels"


def synthetic_video() -> tuple[Array, Array, Array]:
    """Make a scene in changing light with a square that moves and some noise; every fifth frame has its mask."""
    from ..datasets import gaussian_noise, make_moving_square

    video = make_moving_square(60, (24, 32), light=0.1)
    known = np.arange(2, 60, 5)
    return gaussian_noise(video.X, 0.1, random_state=0).astype(np.float32), known, video.masks[known]


def _rows(cell: Cell, ours: float | None) -> list[list[str]]:
    again = cell.value("again") if cell.done else None
    if not again:
        return [_row(cell, ours)]
    total = again["graphs"] + again["after"]
    second = [
        "",
        seconds(again["graphs"]),
        seconds(again["after"]),
        f"{seconds(total)} (no start)",
        "",
        ratio(total, ours),
    ]
    return [_row(cell, ours), [f"{cell.system}, second fit", *second, ""]]


def _row(cell: Cell, ours: float | None) -> list[str]:
    if not cell.done:
        return [cell.system, cell.why_not_done]
    iterations = "–" if cell.value("iterations") is None else str(cell.value("iterations"))
    return [
        cell.system,
        f"{cell.value('f1'):.3f}",
        seconds(cell.seconds("graphs")),
        seconds(cell.seconds("after")),
        seconds(cell.start_to_finish),
        gigabytes(cell.peak),
        ratio(cell.start_to_finish, ours),
        iterations + (" (not converged)" if cell.value("converged") is False else ""),
    ]


def _comparisons(cells: Sequence[Cell]) -> list[str]:
    done = {cell.system: cell for cell in cells if cell.done}
    if CPCA not in done:
        return []
    ours = done[CPCA]
    peers = {name: cell for name, cell in done.items() if name != CPCA}

    def in_times_of(after: float | None, total: float | None) -> str:
        return "; ".join(
            f"{name} {ratio(cell.seconds('after'), after, 1)} after graphs, "
            f"{ratio((cell.seconds('graphs') or 0.0) + (cell.seconds('after') or 0.0), total, 1)} with them"
            for name, cell in peers.items()
        )

    lines = []
    first, again = ours.record["seconds"], ours.value("again")
    for what, times in (("first", first), ("second", again)):
        if peers and times:
            total = times["graphs"] + times["after"]
            lines.append(f"in times of cpca's {what} fit: {in_times_of(times['after'], total)}")
    return lines
