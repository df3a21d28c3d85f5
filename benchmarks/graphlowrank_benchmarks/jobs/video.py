"""A video of a fixed camera: the background is the low-rank part, people are outliers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..cells import Outcome, Record
from ..scenes import load_scene, moving_square
from ..systems import SYSTEMS
from ..tables import Table, gigabytes, ratio, seconds
from .base import Job, Options

DOWNSAMPLING = (10, 10)  # keeps 100 frames and 1920 pixels
RANK = 5  # given to every system that takes one
CPCA, WARM_UP = "cpca", "(warm-up)"
ROWS: dict[str, tuple[str, dict[str, Any]]] = {  # row to system and its options
    CPCA: ("cpca", {"n_components": RANK, "downsampling": DOWNSAMPLING}),
    "frpcag": ("frpcag", {}),
    "rpca, inexact ALM": ("rpca", {"tol": 1e-7}),
    "rpca, inexact ALM, textbook": ("rpca, textbook", {}),
    "rpca (PyPI)": ("rpca (PyPI)", {"n_components": RANK}),
    "pca": ("pca", {"n_components": RANK}),
}
COLUMNS = (
    "system", "best F1", "graphs s", "after graphs s", "start to finish s", "peak GB", "time / cpca's", "iterations"
)  # fmt: skip


class VideoJob(Job):
    """Frames of a restaurant's food counter (I2R "Bootstrap"), 11 of them with masks drawn by hand."""

    name = "video"
    title = "Video"

    def systems(self, options: Options) -> tuple[str, ...]:
        """Ours, then the others."""
        return tuple(ROWS)

    def warm_up(self, options: Options) -> tuple[str, ...]:
        """Our systems, briefly; tiny data need no compiled code."""
        return () if options.quick else (WARM_UP,)

    def prepare(self, folder: Path, options: Options, record: Record) -> None:
        """Load or make the frames, and store them with their masks."""
        with record.timing("load"):
            scene = moving_square() if options.quick else load_scene("restaurant")
        np.savez(folder / "masks.npz", scored=scene.scored, masks=scene.masks)
        np.save(folder / "X.npy", scene.X)
        source = scene.source if options.quick else "I2R Bootstrap, 120 x 160 pixels"
        shape, dtype = list(scene.X.shape), str(scene.X.dtype)
        record.values.update(source=source, shape=shape, dtype=dtype, masks=len(scene.scored))

    def run(self, system: str, folder: Path, options: Options, record: Record) -> None:
        """Separate the background, then score the residual of the frames with masks; fit ours twice."""
        with record.timing("load"):
            X = np.load(folder / "X.npy")
        if system == WARM_UP:
            SYSTEMS["recover"]["frpcag"](X, Record(), n_jobs=options.threads, max_iter=2)
            system = CPCA
        name, given = ROWS[system]
        background = SYSTEMS["recover"][name](X, record, n_jobs=options.threads, **given)
        record.note_peak()
        if system == CPCA:
            again = Record()
            SYSTEMS["recover"][name](X, again, n_jobs=options.threads, **given)
            record.values["again"] = {part: again.seconds[part] for part in ("graphs", "after")}
            record.seconds["repeat"] = sum(record.values["again"].values())
        with record.timing("score"), np.load(folder / "masks.npz") as stored:
            from graphlowrank.metrics import best_f1

            scored = stored["scored"]
            record.values["f1"] = best_f1(stored["masks"], X[scored] - background[scored]).f1

    def tabulate(self, data: Outcome, outcomes: Mapping[str, Outcome], options: Options) -> tuple[Table, ...]:
        """One row for each system, and one for our second fit."""
        ours = outcomes[CPCA].start_to_finish if CPCA in outcomes else None
        rows = []
        for system, outcome in outcomes.items():
            rows.append([system, *_columns(outcome, ours)])
            if again := outcome.values.get("again"):
                graphs, after = again["graphs"], again["after"]
                total = graphs + after
                times = [seconds(graphs), seconds(after), f"{seconds(total)} (no start)"]
                rows.append([f"{system}, second fit", "", *times, "", ratio(total, ours), ""])
        n, p = data.values["shape"]
        notes = [
            f"cpca: CompressivePCA({RANK}, downsampling={DOWNSAMPLING}), the rest default; pca and rpca (PyPI) are "
            f"given rank {RANK} too; every row a fresh process, its imports included, reading the stored data and "
            "scoring not",
            f"best F1: of |frame - background| above a threshold against masks of {data.values['masks']} frames, the "
            "threshold chosen for each system by those masks",
        ]
        title = f"{self.title}: {data.values['source']}, {n} x {p} {data.values['dtype']}"
        return (Table(title, COLUMNS, rows, [*notes, *_comparisons(outcomes)]),)


def _columns(outcome: Outcome, ours: float | None) -> list[str]:
    if not outcome.done:
        return [outcome.why_not_done]
    iterations = outcome.values.get("iterations")
    return [
        f"{outcome.values['f1']:.3f}",
        seconds(outcome.parts.get("graphs")),
        seconds(outcome.parts.get("after")),
        seconds(outcome.start_to_finish),
        gigabytes(outcome.peak),
        ratio(outcome.start_to_finish, ours),
        ("–" if iterations is None else str(iterations))
        + (" (not converged)" if outcome.values.get("converged") is False else ""),
    ]


def _comparisons(outcomes: Mapping[str, Outcome]) -> list[str]:
    done = {name: outcome for name, outcome in outcomes.items() if outcome.done}
    ours = done.pop(CPCA, None)
    lines = []
    for what, times in (("first", ours.parts), ("second", ours.values.get("again"))) if ours else ():
        if done and times:
            total = times["graphs"] + times["after"]
            others = "; ".join(
                f"{name} {ratio(outcome.parts.get('after'), times['after'], 1)} after graphs, "
                f"{ratio(sum(outcome.parts.get(part, 0.0) for part in ('graphs', 'after')), total, 1)} with them"
                for name, outcome in done.items()
            )
            lines.append(f"in times of cpca's {what} fit: {others}")
    return lines
