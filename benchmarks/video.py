"""Background and foreground of four scenes: ours beside the usual ways.

    GRAPHLOWRANK_DATA=... python benchmarks/video.py                      # every system on every scene, and the tables
    GRAPHLOWRANK_DATA=... python benchmarks/video.py --scenes airport     # some scenes
    GRAPHLOWRANK_DATA=... python benchmarks/video.py --study              # solvers, graphs of pixels and ranks instead
    GRAPHLOWRANK_DATA=... python benchmarks/video.py --picture scenes.png # a frame of each scene and what it falls into
    python benchmarks/video.py --long 5000                                # frames per second and memory of a long clip

Every row is a process of its own, so that peak memory is its own. Results are kept in ``--output`` as JSON, and rows
that are there are not run again. Seconds run from frames in memory (bytes) to a background in memory, for ours to the
masks; of them only ratios mean something.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

SCENES = {"shopping_mall": "shopping mall", "restaurant": "restaurant", "airport": "airport", "highway": "highway"}
KNOWN = "moving box"  # a made scene, whose background is known
LIMIT = 300  # seconds that a row may take
SCORED = 40  # frames with a mask that are scored, at most
OURS = "graphlowrank.video.separate"
RANK = 4


# --- scenes ---


def load(scene: str) -> tuple[Any, Any, Any, Any]:
    """Frames of bytes, rows and masks of those that are scored, and the true background or None."""
    if scene == KNOWN:
        return made_scene()
    from graphlowrank.datasets import load_video

    video = load_video(scene)
    chosen = np.unique(np.linspace(0, len(video.masks) - 1, min(SCORED, len(video.masks))).round().astype(int))
    return video.frames, np.asarray(video.mask_frames)[chosen], video.masks[chosen], None


def made_scene(n: int = 300, shape: tuple[int, int] = (120, 160), seed: int = 0) -> tuple[Any, Any, Any, Any]:
    """Textured wall in light that comes and goes, a lamp that flickers on its own, noise, and a box that wanders."""
    from scipy.ndimage import gaussian_filter

    rng = np.random.default_rng(seed)
    wall = gaussian_filter(rng.random(shape), 2)
    wall = 60 + 120 * (wall - wall.min()) / np.ptp(wall)
    y, x = np.mgrid[: shape[0], : shape[1]]
    lamp = 40 * np.exp(-((y - 40) ** 2 + (x - 110) ** 2) / 900)
    day, flicker = 1 + 0.2 * np.sin(np.arange(n) / 25), gaussian_filter(rng.standard_normal(n), 3) * 3
    clean = day[:, None, None] * wall + flicker[:, None, None] * lamp
    masks = np.zeros((n, *shape), dtype=bool)
    for t in range(n):
        top, left = 10 + (2 * t) % 70, (3 * t) % 130
        masks[t, top : top + 30, left : left + 16] = True
    frames = np.where(masks, 215, clean) + 3 * rng.standard_normal(clean.shape)
    rows = np.arange(4, n, 10)
    return np.rint(np.clip(frames, 0, 255)).astype(np.uint8), rows, masks[rows], clean.astype(np.float32)


# --- systems: frames -> background (n, height, width) in grey levels, or a mask of their own ---


def median(frames: Any, record: dict[str, Any]) -> Any:
    """Median of each pixel over all frames."""
    return np.broadcast_to(np.median(frames, axis=0), frames.shape)


def mog2(frames: Any, record: dict[str, Any]) -> Any:
    """OpenCV's mixture of Gaussians with its defaults; its own masks are kept, shadows taken off."""
    import cv2

    model = cv2.createBackgroundSubtractorMOG2(history=500, detectShadows=True)
    background, masks = np.empty(frames.shape, dtype=np.uint8), np.empty(frames.shape, dtype=bool)
    for t, frame in enumerate(frames):
        masks[t] = model.apply(frame) == 255  # 127 are shadows
        background[t] = model.getBackgroundImage()
    record["own masks"] = masks
    return background


def matrix(frames: Any) -> Any:
    """One row a frame, in [0, 1]."""
    return np.divide(frames.reshape(len(frames), -1), 255, dtype=np.float32)


def images(low_rank: Any, frames: Any) -> Any:
    """Grey levels in the shape of the frames."""
    return (255 * np.asarray(low_rank, dtype=np.float32)).reshape(frames.shape)


def rpca(frames: Any, record: dict[str, Any]) -> Any:
    """Robust PCA by the inexact augmented Lagrangian."""
    from graphlowrank import RobustPCA

    model = RobustPCA(1).fit(matrix(frames))
    record["note"] = f"rank {model.rank_}, {model.n_iter_} iterations"
    return images(model.low_rank_, frames)


def rpcag(frames: Any, record: dict[str, Any]) -> Any:
    """Robust PCA on the graph of the frames."""
    from graphlowrank import RobustPCAOnGraphs

    model = RobustPCAOnGraphs(1, random_state=0).fit(matrix(frames))
    record["graphs"] = model.stage_seconds_["sample graph"]
    record["note"] = f"rank {model.rank_}, {model.n_iter_} iterations"
    return images(model.low_rank_, frames)


def frpcag(frames: Any, record: dict[str, Any]) -> Any:
    """Fast robust PCA on graphs, uncompressed."""
    from graphlowrank import FastRobustPCAOnGraphs

    model = FastRobustPCAOnGraphs(1, random_state=0).fit(matrix(frames))
    _graph_seconds(model, record)
    return images(model.low_rank_, frames)


def cpca(frames: Any, record: dict[str, Any], **options: Any) -> Any:
    """CompressivePCA."""
    from graphlowrank import CompressivePCA

    model = CompressivePCA(random_state=0, **options).fit(matrix(frames))
    _graph_seconds(model, record)
    record["note"] = f"rank {model.n_components_}"
    return images(model.low_rank_.to_array(), frames)


def _graph_seconds(model: Any, record: dict[str, Any]) -> None:
    record["graphs"] = model.stage_seconds_["sample graph"] + model.stage_seconds_["feature graph"]


def ours(frames: Any, record: dict[str, Any], **options: Any) -> Any:
    """graphlowrank.video.separate."""
    from graphlowrank.video import separate

    found = separate(frames, **options)
    record["own masks"] = found.mask
    record["note"] = ", ".join(f"{stage} {seconds:.2f}" for stage, seconds in found.report.stages.items())
    record["graphs"] = sum(found.report.stages.get(f"{side} graph", 0.0) for side in ("sample", "feature"))
    return found.background


ROBUST = {"n_components": RANK, "solver": "rpca", "decoder": "robust"}
SYSTEMS: dict[str, Callable[..., Any]] = {
    OURS: ours,
    "temporal median": median,
    "MOG2 (OpenCV)": mog2,
    "RobustPCA": rpca,
    "RPCAG": rpcag,
    "FRPCAG": frpcag,
    "CPCA(5,1), subspace": lambda f, r: cpca(f, r, downsampling=(5, 1)),
    "CPCA(10,4), subspace": lambda f, r: cpca(f, r, downsampling=(10, 4)),
    "CPCA(5,1), robust": lambda f, r: cpca(f, r, downsampling=(5, 1), **ROBUST),
    "CPCA(10,4), robust": lambda f, r: cpca(f, r, downsampling=(10, 4), **ROBUST),
}
STUDY: dict[str, Callable[..., Any]] = {
    **{f"rpca, rank {k}": lambda f, r, k=k: ours(f, r, rank=k) for k in (0, 1, 2, 3, 4, 5, 6, 8, 12)},
    "rpcag, rank 4": lambda f, r: ours(f, r, solver="rpcag"),
    "frpcag on a grid, rank 4": lambda f, r: ours(f, r, solver="frpcag"),
    "frpcag on knn, rank 4": lambda f, r: ours(f, r, solver="frpcag", pixel_graph="knn"),
    "50 frames learnt from": lambda f, r: ours(f, r, n_sampled=50),
    "200 frames learnt from": lambda f, r: ours(f, r, n_sampled=200),
    "shadows are foreground": lambda f, r: ours(f, r, shadows=False),
    **{
        f"CPCA(10,4), subspace, pixels: {kind}": lambda f, r, kind=kind: pixel_graph(f, r, kind)
        for kind in ("grid", "knn", "grid + knn")
    },
}
TOO_LONG = {("RPCAG", scene) for scene in ("shopping_mall", "highway")}  # over five minutes


def pixel_graph(frames: Any, record: dict[str, Any], kind: str) -> Any:
    """The paper's decoder on one of three graphs of the pixels; neighbours by 100 frames, which is cheap."""
    from graphlowrank.graphs import Graph, grid_graph, knn_graph

    begin = time.perf_counter()
    grid = grid_graph(frames.shape[1:])
    history = matrix(frames[np.linspace(0, len(frames) - 1, 100).round().astype(int)]).T
    if kind == "grid":
        graph = grid
    else:
        graph = knn_graph(np.ascontiguousarray(history), 10, random_state=0)
        graph = graph if kind == "knn" else Graph((graph.weights + grid.weights.astype(graph.weights.dtype)).tocsr())
    seconds = time.perf_counter() - begin
    background = cpca(frames, record, downsampling=(10, 4), feature_graph=graph)
    record["graphs"] += seconds
    return background


# --- one row ---


def measure(system: str, scene: str) -> dict[str, Any]:
    """Run one system on one scene and score it."""
    frames, rows, masks, truth = load(scene)
    record: dict[str, Any] = {"system": system, "scene": scene, "frames": list(frames.shape)}
    work = {**SYSTEMS, **STUDY}[system]
    runs = []
    for _ in range(2 if system == OURS or system in STUDY else 1):  # the first loads compiled code
        begin = time.perf_counter()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            background = work(frames, record)
        runs.append(time.perf_counter() - begin)
    record |= {"seconds": runs[-1], "first call": runs[0], "warnings": sorted({str(w.message) for w in caught})}
    record["peak GB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return record | judge(frames, rows, masks, background, record.pop("own masks", None)) | known(background, truth)


def judge(frames: Any, rows: Any, masks: Any, background: Any, own: Any) -> dict[str, Any]:
    """F1 of the plain residual, and of our post-processing of it: best threshold, and the automatic one."""
    from graphlowrank.metrics import best_f1, mask_scores
    from graphlowrank.video.foreground import foreground_evidence, foreground_mask, tune_detector

    scored = np.asarray(background[rows], dtype=np.float32)
    evidence = foreground_evidence(frames[rows], scored)
    some = np.unique(np.linspace(0, len(frames) - 1, 20).round().astype(int))
    begin = time.perf_counter()
    quiet = foreground_evidence(frames[some], np.asarray(background[some], dtype=np.float32), darkest=1.0)
    detector = tune_detector(float(np.median(quiet)), frames.shape[1:], contrast=255.0)
    automatic = foreground_mask(evidence, detector)
    found = {
        "raw F1": best_f1(masks, frames[rows] - scored).f1,
        "best F1": best_f1(masks, evidence).f1,
        "automatic F1": mask_scores(masks, automatic).f1,
        "judging": time.perf_counter() - begin,
    }
    if own is not None:
        found["own F1"] = mask_scores(masks, own[rows]).f1
    return found


def known(background: Any, truth: Any) -> dict[str, float]:
    """Mean distance from the true background, in grey levels."""
    if truth is None:
        return {}
    return {"background error": float(np.mean([np.abs(b - t).mean() for b, t in zip(background, truth, strict=True)]))}


# --- a long clip ---


def long_clip(n_frames: int) -> None:
    """Make a clip of 120 x 160, run the command on it and print its rate and memory."""
    from graphlowrank.video import open_sink

    with tempfile.TemporaryDirectory() as folder:
        clip = Path(folder, "clip.mp4")
        frames, *_ = made_scene(500)
        with open_sink(clip, fps=25) as sink:
            for first in range(0, n_frames, 500):
                sink.write(frames[: min(500, n_frames - first)])
        outputs = [("-b", "background.mp4"), ("-f", "foreground.mp4"), ("-m", "mask.mp4"), ("-r", "report.html")]
        command = [sys.executable, "-m", "graphlowrank", "video", str(clip)]
        command += [part for option, name in outputs for part in (option, str(Path(folder, name)))]
        begin = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        seconds = time.perf_counter() - begin
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
    print(f"{n_frames} frames of 120 x 160 (mp4 in colour), start of the process to three mp4 files and a page:")
    print(f"{seconds:.1f} s, {n_frames / seconds:.0f} frames/s, peak memory {peak:.2f} GB")


# --- a picture ---


def draw(path: Path, scenes: list[str]) -> None:
    """Frame, background, foreground, mask and the mask drawn by hand, a row for each scene."""
    from matplotlib.figure import Figure

    from graphlowrank.report.figures import as_png
    from graphlowrank.video import separate

    titles = ("frame", "background", "foreground", "mask", "mask by hand")
    figure = Figure(figsize=(11, 1.72 * len(scenes) + 0.25), layout="constrained")
    panels = figure.subplots(len(scenes), len(titles), squeeze=False)
    for line, scene in zip(panels, scenes, strict=True):
        frames, rows, masks, _ = load(scene)
        found = separate(frames)
        chosen = int(np.argsort(masks.mean(axis=(1, 2)))[3 * len(masks) // 4])  # busier than most
        t = rows[chosen]
        shown = (frames[t], found.background[t], frames[t] * found.mask[t], 255 * found.mask[t], 255 * masks[chosen])
        for axes, title, image in zip(line, titles, shown, strict=True):
            axes.imshow(image, cmap="gray", vmin=0, vmax=255, interpolation="antialiased")
            axes.set(xticks=[], yticks=[])
            axes.set_title(title if scene == scenes[0] else "", fontsize=9)
        line[0].set_ylabel(SCENES.get(scene, scene), fontsize=9)
    path.write_bytes(as_png(figure, "white", dpi=90))


# --- tables ---


def row_of(system: str, scene: str, folder: Path) -> dict[str, Any]:
    """Return the stored row, or run it in a process of its own and store it."""
    path = folder / f"{system} on {scene}.json".replace("/", "-")
    if path.exists():
        return json.loads(path.read_text(encoding="utf-8"))
    command = [sys.executable, __file__, "--row", system, scene]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
        found = json.loads(done.stdout) if done.returncode == 0 else {"failed": done.stderr.strip().splitlines()[-1]}
    except subprocess.TimeoutExpired:
        found = {"failed": f"stopped after {LIMIT} s"}
    found |= {"system": system, "scene": scene}
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(found, indent=1), encoding="utf-8")
    return found


def table(systems: list[str], scenes: list[str], folder: Path) -> None:
    """Run what is missing; print a table for each scene and one of the means."""
    rows = {}
    for scene in scenes:
        for system in systems:
            if (system, scene) not in TOO_LONG:
                rows[system, scene] = row_of(system, scene, folder)
                print(f"{scene}, {system}: {rows[system, scene].get('seconds')} s", file=sys.stderr, flush=True)
    for scene in scenes:
        print_scene(scene, [rows[system, scene] for system in systems if (system, scene) in rows])
    real = [scene for scene in scenes if scene != KNOWN]
    if len(real) > 1:
        print_means(systems, real, rows)


COLUMNS = (
    "raw F1",
    "best F1",
    "automatic F1",
    "own F1",
    "background error",
    "seconds",
    "first call",
    "graphs",
    "peak GB",
)


def print_scene(scene: str, rows: list[dict[str, Any]]) -> None:
    """One line a system."""
    shape = next((row["frames"] for row in rows if "frames" in row), [])
    print(f"\n**{SCENES.get(scene, scene)}, {' x '.join(map(str, shape))}**\n")
    columns = [column for column in COLUMNS if any(column in row for row in rows)]
    base = next((row.get("seconds") for row in rows if row["system"] in (OURS, "rpca, rank 4")), None)
    print(f"| system | {' | '.join(columns)} | times ours |\n|---|{'---:|' * (len(columns) + 1)}")
    for row in rows:
        if "failed" in row:
            print(f"| {row['system']} | {row['failed']} |")
            continue
        cells = [_cell(column, row.get(column)) for column in columns]
        print(f"| {row['system']} | {' | '.join(cells)} | {row['seconds'] / base:.1f} |" if base else "")


def _cell(column: str, value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}" if "F1" in column else f"{value:.2f}"


def print_means(systems: list[str], scenes: list[str], rows: dict[Any, dict[str, Any]]) -> None:
    """Mean over the scenes, of systems that ran on all of them."""
    print(f"\n**mean over {len(scenes)} scenes**\n\n| system | raw F1 | best F1 | automatic F1 | own F1 |")
    print("|---|---:|---:|---:|---:|")
    for system in systems:
        found = [rows.get((system, scene), {}) for scene in scenes]
        if not all("best F1" in row for row in found):
            continue
        own = [row.get("own F1") for row in found]
        means = [np.mean([row[column] for row in found]) for column in ("raw F1", "best F1", "automatic F1")]
        cells = [f"{mean:.4f}" for mean in means] + ["–" if None in own else f"{np.mean(own):.4f}"]
        print(f"| {system} | {' | '.join(cells)} |")


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
        print(json.dumps(measure(*asked.row)))
    elif asked.long:
        long_clip(asked.long)
    elif asked.picture:
        draw(asked.picture, [scene for scene in asked.scenes if scene != KNOWN])
    else:
        table(asked.systems or list(STUDY if asked.study else SYSTEMS), asked.scenes, asked.output)


if __name__ == "__main__":
    main()
