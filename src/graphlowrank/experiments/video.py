"""Backgrounds of videos with a fixed camera: the low-rank part of the frames, people being the gross errors.

A file of these kinds says::

    every = 1                                       # step between frames; those that are scored are kept
    masks = 20                                      # score at most so many of the frames with a mask
    limit_seconds = 3600                            # RPCA and RPCAG are given up after it
    timed = "after graphs"                          # what "seconds" are: that, or "decoding"
    skip = ["RPCAG"]                                # titles of scenes or systems that are not run
    [[scenes]]
    title = "1: shopping mall"
    video = "shopping_mall"                         # one of datasets.load_video
    every = 2                                       # instead of the one above
    skip = ["RPCAG"]                                # systems that are not run on it
    paper = { "RPCA" = 2700 }                       # seconds by title of the system
    [[systems]]
    title = "CPCA (5,1)"
    method = "cpca"                                 # one of METHODS
    with = { downsampling = [5, 1] }                # its parameters; the rest default
    every = 2                                       # at least this step, where memory is short
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from .._backend import Array
from ..bench.record import GRAPH_STAGES, stopwatch
from ..datasets import load_video
from ..datasets.videos import VideoName
from ..estimators import CompressivePCA, FastRobustPCAOnGraphs
from ..graphs import Graph
from ..metrics import best_f1
from ..options import Settings
from ..two_graphs import feature_side, sample_side
from .cells import Cell, Measured, as_given
from .robust import OutOfTimeError, iterations, solve_robust
from .spec import Experiment

TIMED = ("after graphs", "decoding")
LIMITED = ("rpca", "rpcag")  # those that may take hours


@dataclass(frozen=True, eq=False)
class Scene:
    """The frames that are used of a video.

    Attributes
    ----------
    X
        (n_frames, n_pixels) float32 in [0, 1].
    scored
        Rows of X that have a mask.
    masks
        (n_scored, n_pixels) booleans, True on the foreground.
    image_shape
        Height and width.
    """

    X: Array
    scored: Array
    masks: Array
    image_shape: tuple[int, int]


@dataclass(frozen=True, eq=False)
class Graphs:
    """Graphs of the frames and of the pixels, and the seconds that each took."""

    samples: Graph
    features: Graph | None
    sample_seconds: float
    feature_seconds: float


@dataclass(frozen=True, eq=False)
class Separated:
    """Background of the scored frames, seconds after the graphs, and what else is worth keeping."""

    background: Array
    seconds: float
    values: dict[str, Any] = field(default_factory=dict)


def expand(experiment: Experiment) -> Iterator[Cell]:
    """Every cell: a row for each scene, a column for each system."""
    options = experiment.options
    titles = [system["title"] for system in options["systems"]]
    for scene in options["scenes"]:
        unknown = set(scene.get("paper", ())) - set(titles)
        if unknown:
            raise ValueError(f"{experiment.name}: {scene['title']} has numbers of {', '.join(sorted(unknown))}.")
        skipped = {*options.get("skip", ()), *scene.get("skip", ())}
        for system in options["systems"]:
            if not skipped & {scene["title"], system["title"]}:
                yield _cell(experiment, scene, system)


def _cell(experiment: Experiment, scene: Mapping[str, Any], system: Mapping[str, Any]) -> Cell:
    """One system on one scene."""
    options, method = experiment.options, system["method"]
    timed = options.get("timed", TIMED[0])
    if method not in METHODS or timed not in TIMED:
        raise ValueError(
            f"{experiment.name}: no method {method!r} or time {timed!r}; there are {', '.join((*METHODS, *TIMED))}."
        )
    every = max(scene.get("every", options.get("every", 1)), system.get("every", 1))
    content = {
        "kind": "video",
        "video": scene["video"],
        "every": every,
        "masks": options["masks"],
        "method": method,
        "with": system.get("with", {}),
        "timed": timed,
        "seed": 0,
    }
    if method in LIMITED:  # only there: another limit is no reason to run the others again
        content["limit_seconds"] = options["limit_seconds"]
    # The paper's seconds are those of the whole video.
    paper = {"seconds": scene["paper"][system["title"]]} if _compared(scene, system, every) else {}
    return Cell(experiment.name, scene["title"], system["title"], content, paper, alone=True)


def _compared(scene: Mapping[str, Any], system: Mapping[str, Any], every: int) -> bool:
    return every == 1 and system["title"] in scene.get("paper", ())


def run(content: Mapping[str, Any]) -> Measured:
    """Separate the background, then score what is left of the frames with masks."""
    scene = load_scene(content["video"], content["every"], content["masks"])
    middle = len(scene.scored) // 2
    frame = scene.X[scene.scored[middle]]
    values: dict[str, Any] = {"frames": len(scene.X), "scored": len(scene.scored)}
    pictures = {"frame": _picture(frame, scene)}
    try:
        found = METHODS[content["method"]](scene, content)
    except OutOfTimeError as stop:
        return values | {"seconds": None, "note": str(stop)}, pictures
    values |= {"seconds": found.seconds, **found.values}
    if content["timed"] == "decoding":
        values["seconds"] = found.values["stages"]["decoding"]
    best = best_f1(scene.masks, scene.X[scene.scored] - found.background)
    values |= {"f1": best.f1, "threshold": best.threshold}
    background = found.background[middle]
    pictures |= {"background": _picture(background, scene), "foreground": _picture(np.abs(frame - background), scene)}
    return values, pictures


def _picture(values: Array, scene: Scene) -> Array:
    """Image of bytes; what is not between black and white is clipped."""
    return np.rint(255 * np.clip(values, 0, 1)).astype(np.uint8).reshape(scene.image_shape)


@lru_cache(maxsize=1)  # cells of one scene follow one another
def load_scene(video: VideoName, every: int, masks: int) -> Scene:
    """Frames at a step, and at most so many with a mask, evenly chosen.

    Parameters
    ----------
    video
        Name for :func:`graphlowrank.datasets.load_video`.
    every
        Step between frames. Frames that are scored are kept whatever the step.
    masks
        Frames to score; all that have a mask if they are fewer.
    """
    found = load_video(video)
    chosen = np.unique(np.linspace(0, len(found.masks) - 1, min(masks, len(found.masks))).round().astype(int))
    marked = np.asarray(found.mask_frames)[chosen]
    rows = np.union1d(np.arange(0, len(found.frames), every), marked)
    X = np.divide(found.frames[rows].reshape(len(rows), -1), 255, dtype=np.float32)
    return Scene(X, np.searchsorted(rows, marked), found.mask_matrix()[chosen], found.image_shape)


@lru_cache(maxsize=1)
def _graphs(video: VideoName, every: int, masks: int, seed: int) -> Graphs:
    """Graphs of a scene, built once for all systems, and timed."""
    X, settings, rng = load_scene(video, every, masks).X, Settings(), np.random.RandomState(seed)
    with stopwatch() as sample_seconds:
        between_frames = sample_side(X, settings, rng).graph
    with stopwatch() as feature_seconds:
        between_pixels = feature_side(X, settings, rng).graph
    assert between_frames is not None  # the settings ask for it
    graphs = Graphs(between_frames, between_pixels, sample_seconds[0], feature_seconds[0])
    _load_compiled_code(X, graphs, seed)
    return graphs


def _load_compiled_code(X: Array, graphs: Graphs, seed: int) -> None:
    """Two iterations of ours: on a new machine the first call compiles for seconds, which is no system's time."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of course it does not converge
        CompressivePCA(1, downsampling=(10, 4), max_iter=2, random_state=seed, **_given(graphs)).fit(X)


def _given(graphs: Graphs) -> dict[str, Any]:
    return {"sample_graph": graphs.samples, "feature_graph": graphs.features}


def _graphs_of(content: Mapping[str, Any]) -> Graphs:
    return _graphs(content["video"], content["every"], content["masks"], content["seed"])


def _median(scene: Scene, content: Mapping[str, Any]) -> Separated:
    """Median of each pixel over all frames: one background for the whole video."""
    with stopwatch() as seconds:
        background = np.median(scene.X, axis=0)
    return Separated(np.broadcast_to(background, scene.masks.shape), seconds[0])


def _rpca(scene: Scene, content: Mapping[str, Any]) -> Separated:
    """Robust PCA."""
    return _robust(scene, None, content, {})


def _rpcag(scene: Scene, content: Mapping[str, Any]) -> Separated:
    """Robust PCA on the graph of the frames."""
    graphs = _graphs_of(content)
    return _robust(scene, graphs.samples, content, {"graph_seconds": graphs.sample_seconds})


def _robust(scene: Scene, graph: Graph | None, content: Mapping[str, Any], values: dict[str, Any]) -> Separated:
    with stopwatch() as seconds:
        found = solve_robust(scene.X, graph, content["limit_seconds"], **content["with"])
    values |= {"rank": int(found.rank), **iterations(found.n_iter, converged=found.converged)}
    return Separated(found.low_rank[scene.scored], seconds[0], values)


def _frpcag(scene: Scene, content: Mapping[str, Any]) -> Separated:
    """Ours without compression; one component, since nobody asks for more of them."""
    graphs = _graphs_of(content)
    model = FastRobustPCAOnGraphs(1, random_state=content["seed"], **_given(graphs), **content["with"]).fit(scene.X)
    return Separated(model.low_rank_[scene.scored], _after_graphs(model), _fitted(model, graphs))


def _cpca(scene: Scene, content: Mapping[str, Any]) -> Separated:
    """Ours; the whole background is decoded, since the others give it whole."""
    graphs = _graphs_of(content)
    model = CompressivePCA(random_state=content["seed"], **_given(graphs), **as_given(content["with"])).fit(scene.X)
    with stopwatch() as seconds:
        background = model.low_rank_.to_array()
    values = _fitted(model, graphs) | {
        "rank": int(model.n_components_),
        "decoder_iterations": int(model.decoder_n_iter_),
        "decoder_converged": bool(model.decoder_converged_),
    }
    return Separated(background[scene.scored], _after_graphs(model) + seconds[0], values)


def _after_graphs(model: Any) -> float:
    """Seconds of the stages of a fit; checks of the data, and components for ``transform``, are no part of them."""
    return float(sum(spent for stage, spent in model.stage_seconds_.items() if stage not in GRAPH_STAGES))


def _fitted(model: Any, graphs: Graphs) -> dict[str, Any]:
    return {
        "graph_seconds": graphs.sample_seconds + graphs.feature_seconds,
        "stages": {name: float(seconds) for name, seconds in model.stage_seconds_.items()},
        **iterations(model.n_iter_, converged=model.converged_),
    }


METHODS: dict[str, Callable[[Scene, Mapping[str, Any]], Separated]] = {
    "median": _median,
    "rpca": _rpca,
    "rpcag": _rpcag,
    "frpcag": _frpcag,
    "cpca": _cpca,
}
