"""Background and foreground of four scenes: ours beside other systems.

    GRAPHLOWRANK_DATA=... python benchmarks/studies/video.py                       # every system on every scene
    GRAPHLOWRANK_DATA=... python benchmarks/studies/video.py --scenes airport      # some scenes
    GRAPHLOWRANK_DATA=... python benchmarks/studies/video.py --study               # solvers, pixel graphs and ranks
    GRAPHLOWRANK_DATA=... python benchmarks/studies/video.py --picture scenes.png  # a frame of each scene, separated
    python benchmarks/studies/video.py --long 5000                                 # frames per second of a long clip

Every row is a fresh process, so that its peak memory is its own. Results are kept in ``--output`` as JSON, and stored
rows are not run again. Seconds run from frames in memory (bytes) to a background in memory, for ours to the masks; only
their ratios are meaningful.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from graphlowrank_benchmarks.cells import Outcome, Record, stopwatch
from graphlowrank_benchmarks.runner import measure, run_process
from graphlowrank_benchmarks.scenes import Scene, load_scene, moving_box
from graphlowrank_benchmarks.systems import SYSTEMS
from graphlowrank_benchmarks.tables import markdown_rows

SCENES = {"shopping_mall": "shopping mall", "restaurant": "restaurant", "airport": "airport", "highway": "highway"}
KNOWN = "moving box"  # synthetic, so that its background is known
LIMIT = 300  # seconds that a row may take
SCORED = 40  # frames with a mask that are scored, at most
OURS = "graphlowrank.video.separate"
ROBUST = {"n_components": 4, "solver": "rpca", "decoder": "robust"}

Row = tuple[str, str, dict[str, Any]]  # task, system, options
ROWS: dict[str, Row] = {
    OURS: ("separate", OURS, {}),
    "temporal median": ("recover", "median", {}),
    "MOG2 (OpenCV)": ("separate", "MOG2 (OpenCV)", {}),
    "RobustPCA": ("recover", "rpca", {}),
    "RPCAG": ("recover", "rpcag", {}),
    "FRPCAG": ("recover", "frpcag", {}),
    "CPCA(5,1), subspace": ("recover", "cpca", {"downsampling": (5, 1)}),
    "CPCA(10,4), subspace": ("recover", "cpca", {"downsampling": (10, 4)}),
    "CPCA(5,1), robust": ("recover", "cpca", {"downsampling": (5, 1), **ROBUST}),
    "CPCA(10,4), robust": ("recover", "cpca", {"downsampling": (10, 4), **ROBUST}),
}
STUDY: dict[str, Row] = {
    name: ("separate", OURS, options)
    for name, options in {
        **{f"rpca, rank {k}": {"rank": k} for k in (0, 1, 2, 3, 4, 5, 6, 8, 12)},
        "rpcag, rank 4": {"solver": "rpcag"},
        "frpcag on a grid, rank 4": {"solver": "frpcag"},
        "frpcag on knn, rank 4": {"solver": "frpcag", "pixel_graph": "knn"},
        "50 frames learnt from": {"n_sampled": 50},
        "200 frames learnt from": {"n_sampled": 200},
        "shadows are foreground": {"shadows": False},
    }.items()
} | {
    f"CPCA(10,4), subspace, pixels: {kind}": ("recover", "cpca", {"downsampling": (10, 4), "pixels": kind})
    for kind in ("grid", "knn", "grid + knn")
}
TOO_LONG = {("RPCAG", scene) for scene in ("shopping_mall", "highway")}  # over five minutes
COLUMNS = (
    "raw F1", "best F1", "automatic F1", "own F1", "background error", "seconds", "first call", "graphs", "peak GB"
)  # fmt: skip


def run_row(content: Mapping[str, Any]) -> Record:
    """Run one system on one scene and score it; ours twice, because the first call loads compiled code."""
    scene, name = load_scene(content["scene"], 1, SCORED), content["system"]
    task, system, options = {**ROWS, **STUDY}[name]
    runs = []
    for _ in range(2 if system == OURS or name in STUDY else 1):
        record = Record()
        with stopwatch() as seconds:
            background = separate(scene, task, system, dict(options), record)
        runs.append(seconds[0])
    record.note_peak()
    record.values |= {"frames": list(scene.frames.shape), "seconds": runs[-1], "first call": runs[0]}
    if "graphs" in record.seconds:
        record.values["graphs"] = record.seconds["graphs"]
    record.values |= scores(scene, background, record.pictures.pop("mask", None))
    if scene.background is not None:
        distances = [np.abs(b - t).mean() for b, t in zip(background, scene.background, strict=True)]
        record.values["background error"] = float(np.mean(distances))
    return record


def separate(scene: Scene, task: str, system: str, options: dict[str, Any], record: Record) -> Any:
    """Background in gray levels, in the shape of the frames."""
    if task == "separate":
        return SYSTEMS["separate"][system](scene.frames, record, **options)
    kind = options.pop("pixels", None)
    if kind:
        with stopwatch() as spent:
            options["feature_graph"] = pixel_graph(scene, kind)
    background = SYSTEMS["recover"][system](scene.X, record, **options)
    if kind:
        record.seconds["graphs"] += spent[0]
    return (255 * np.asarray(background, dtype=np.float32)).reshape(scene.frames.shape)


def pixel_graph(scene: Scene, kind: str) -> Any:
    """Grid graph, nearest neighbors by 100 frames, or their sum."""
    from graphlowrank.graphs import Graph, grid_graph, knn_graph

    grid = grid_graph(scene.image_shape)
    if kind == "grid":
        return grid
    history = scene.X[np.linspace(0, len(scene.X) - 1, 100).round().astype(int)].T
    graph = knn_graph(np.ascontiguousarray(history), 10, random_state=0)
    return graph if kind == "knn" else Graph((graph.weights + grid.weights.astype(graph.weights.dtype)).tocsr())


def scores(scene: Scene, background: Any, own: Any) -> dict[str, float]:
    """F1 of the plain residual, and of our post-processing of it: best threshold, and the automatic one."""
    from graphlowrank.metrics import best_f1, mask_scores
    from graphlowrank.video.foreground import foreground_evidence, foreground_mask, tune_detector

    rows, masks = scene.scored, scene.masks.reshape(-1, *scene.image_shape)
    scored = np.asarray(background[rows], dtype=np.float32)
    evidence = foreground_evidence(scene.frames[rows], scored)
    some = np.unique(np.linspace(0, len(scene.frames) - 1, 20).round().astype(int))
    quiet = foreground_evidence(scene.frames[some], np.asarray(background[some], dtype=np.float32), darkest=1.0)
    detector = tune_detector(float(np.median(quiet)), scene.image_shape, contrast=255.0)
    found = {
        "raw F1": best_f1(masks, scene.frames[rows] - scored).f1,
        "best F1": best_f1(masks, evidence).f1,
        "automatic F1": mask_scores(masks, foreground_mask(evidence, detector)).f1,
    }
    return found if own is None else found | {"own F1": mask_scores(masks, own[rows]).f1}


def long_clip(n_frames: int) -> None:
    """Make a clip of 120 x 160, run the command on it and print its rate and memory."""
    from graphlowrank.video import open_sink

    with tempfile.TemporaryDirectory() as folder:
        clip = Path(folder, "clip.mp4")
        frames = moving_box(500).frames
        with open_sink(clip, fps=25) as sink:
            for first in range(0, n_frames, 500):
                sink.write(frames[: min(500, n_frames - first)])
        outputs = [("-b", "background.mp4"), ("-f", "foreground.mp4"), ("-m", "mask.mp4"), ("-r", "report.html")]
        command = [sys.executable, "-m", "graphlowrank", "video", str(clip)]
        command += [part for option, name in outputs for part in (option, str(Path(folder, name)))]
        with stopwatch() as spent:
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        seconds = spent[0]
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
    print(f"{n_frames} frames of 120 x 160 (mp4 in color), start of the process to three mp4 files and a page:")
    print(f"{seconds:.1f} s, {n_frames / seconds:.0f} frames/s, peak memory {peak:.2f} GB")


def draw(path: Path, scenes: list[str]) -> None:
    """Frame, background, foreground, our mask and the mask drawn by hand, a row for each scene."""
    from matplotlib.figure import Figure

    from graphlowrank.video import separate as separate_video

    titles = ("frame", "background", "foreground", "mask", "mask by hand")
    figure = Figure(figsize=(11, 1.72 * len(scenes) + 0.25), layout="constrained")
    panels = figure.subplots(len(scenes), len(titles), squeeze=False)
    for line, name in zip(panels, scenes, strict=True):
        scene = load_scene(name, 1, SCORED)
        frames, masks, found = scene.frames, scene.masks.reshape(-1, *scene.image_shape), separate_video(scene.frames)
        chosen = int(np.argsort(masks.mean(axis=(1, 2)))[3 * len(masks) // 4])  # busier than most
        t = scene.scored[chosen]
        shown = (frames[t], found.background[t], frames[t] * found.mask[t], 255 * found.mask[t], 255 * masks[chosen])
        for axes, title, image in zip(line, titles, shown, strict=True):
            axes.imshow(image, cmap="gray", vmin=0, vmax=255, interpolation="antialiased")
            axes.set(xticks=[], yticks=[])
            axes.set_title(title if name == scenes[0] else "", fontsize=9)
        line[0].set_ylabel(SCENES.get(name, name), fontsize=9)
    figure.savefig(path, dpi=90)


def stored_row(system: str, scene: str, folder: Path) -> Outcome:
    """Return the stored row, or run it in a fresh process and store it."""
    path = folder / f"{system} on {scene}.json".replace("/", "-")
    if path.exists():
        return Outcome.from_dict(json.loads(path.read_text(encoding="utf-8")))
    outcome = run_process([sys.executable, __file__, "--row", system, scene], timeout=LIMIT)
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(outcome.as_dict(), indent=1), encoding="utf-8")
    return outcome


def print_tables(systems: list[str], scenes: list[str], folder: Path) -> None:
    """Run what is missing; print a table for each scene and one of the means."""
    found = {}
    for scene in scenes:
        for system in systems:
            if (system, scene) not in TOO_LONG:
                found[system, scene] = stored_row(system, scene, folder)
                print(f"{scene}, {system}: {found[system, scene].values.get('seconds')} s", file=sys.stderr, flush=True)
    for scene in scenes:
        print_scene(scene, {system: found[system, scene] for system in systems if (system, scene) in found})
    real = [scene for scene in scenes if scene != KNOWN]
    if len(real) > 1:
        print_means(systems, real, found)


def print_scene(scene: str, outcomes: dict[str, Outcome]) -> None:
    """One line per system."""
    rows = {system: {**outcome.values, "peak GB": (outcome.peak or 0) / 1e9} for system, outcome in outcomes.items()}
    columns = [column for column in COLUMNS if any(column in row for row in rows.values())]
    base = next((rows[name].get("seconds") for name in (OURS, "rpca, rank 4") if name in rows), None)
    lines = []
    for system, row in rows.items():
        if not outcomes[system].done:
            lines.append([system, outcomes[system].why_not_done])
            continue
        lines.append([system, *(text(column, row.get(column)) for column in columns)])
        lines[-1].append(f"{row['seconds'] / base:.1f}" if base else "–")
    shape = next((row["frames"] for row in rows.values() if "frames" in row), [])
    print(f"\n**{SCENES.get(scene, scene)}, {' x '.join(map(str, shape))}**\n")
    print(markdown_rows(["system", *columns, "times ours"], lines))


def text(column: str, value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}" if "F1" in column else f"{value:.2f}"


def print_means(systems: list[str], scenes: list[str], found: dict[Any, Outcome]) -> None:
    """Mean over the scenes, of systems that ran on all of them."""
    lines = []
    for system in systems:
        values = [found[system, scene].values for scene in scenes if (system, scene) in found]
        if len(values) == len(scenes) and all("best F1" in row for row in values):
            means = [[row.get(column) for row in values] for column in COLUMNS[:4]]
            lines.append([system, *("–" if None in of else f"{np.mean(of):.4f}" for of in means)])
    print(f"\n**mean over {len(scenes)} scenes**\n")
    print(markdown_rows(["system", *COLUMNS[:4]], lines))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenes", nargs="+", default=[*SCENES, KNOWN])
    parser.add_argument("--systems", nargs="+")
    parser.add_argument("--study", action="store_true")
    parser.add_argument("--picture", type=Path, metavar="PNG")
    parser.add_argument("--long", type=int, metavar="FRAMES")
    parser.add_argument("--output", type=Path, default=Path("benchmarks/results/video"))
    parser.add_argument("--row", nargs=2, metavar=("SYSTEM", "SCENE"), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.row:
        outcome = measure({"system": asked.row[0], "scene": asked.row[1]}, run=run_row)
        print(json.dumps(outcome.as_dict()))
    elif asked.long:
        long_clip(asked.long)
    elif asked.picture:
        draw(asked.picture, [scene for scene in asked.scenes if scene != KNOWN])
    else:
        print_tables(asked.systems or list(STUDY if asked.study else ROWS), asked.scenes, asked.output)


if __name__ == "__main__":
    main()
