"""Backgrounds of videos of a fixed camera: the low-rank part of the frames, people being outliers."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from ..cells import GRAPH_STAGES, Cell, Record, as_options, stopwatch
from ..data import feature_graph, sample_graph
from ..internals import Array
from ..scenes import Scene, load_scene
from ..systems import SYSTEMS
from ..systems.recovery import OutOfTimeError
from .spec import Experiment

TIMED = ("after graphs", "decoding")
LIMITED = ("rpca", "rpcag")  # they may take hours
GRAPHS_OF: dict[str, tuple[str, ...]] = {  # system to the graphs that it is given
    "median": (), "rpca": (), "rpcag": ("sample_graph",), "frpcag": ("sample_graph", "feature_graph"),
    "cpca": ("sample_graph", "feature_graph"),
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class SceneGraphs:
    """Graphs of the frames and of the pixels by option name, and the seconds that each took."""

    graphs: Mapping[str, Any]
    seconds: Mapping[str, float]


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
    if method not in GRAPHS_OF or timed not in TIMED:
        raise ValueError(
            f"{experiment.name}: no method {method!r} or time {timed!r}; there are {', '.join((*GRAPHS_OF, *TIMED))}."
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
    compared = every == 1 and system["title"] in scene.get("paper", ())
    paper = {"seconds": scene["paper"][system["title"]]} if compared else {}
    return Cell(experiment.name, scene["title"], system["title"], content, paper, alone=True)


def run(content: Mapping[str, Any]) -> Record:
    """Separate the background, then score the residual of the frames with masks."""
    scene = load_scene(content["video"], content["every"], content["masks"])
    middle = len(scene.scored) // 2
    frame = scene.X[scene.scored[middle]]
    record = Record(values={"frames": len(scene.X), "scored": len(scene.scored)})
    record.pictures["frame"] = _picture(frame, scene)
    try:
        background = separate(scene, content, record)[scene.scored]
    except OutOfTimeError as stop:
        record.values |= {"seconds": None, "note": str(stop)}
        return record
    best = scene.score(background)
    record.values |= {"f1": best.f1, "threshold": best.threshold}
    record.pictures["background"] = _picture(background[middle], scene)
    record.pictures["foreground"] = _picture(np.abs(frame - background[middle]), scene)
    return record


def separate(scene: Scene, content: Mapping[str, Any], record: Record) -> Array:
    """Background of every frame; "seconds" are those after the graphs, or of the decoder."""
    method, options = content["method"], as_options(content["with"])
    if names := GRAPHS_OF.get(method, ()):
        between = _graphs(content["video"], content["every"], content["masks"], content["seed"])
        options |= {name: between.graphs[name] for name in names}
    if method in LIMITED:
        options["limit_seconds"] = content["limit_seconds"]
    background = SYSTEMS["recover"][method](scene.X, record, seed=content["seed"], **options)
    record.values["seconds"] = record.seconds["after"]
    if names:
        record.values["graph_seconds"] = sum(between.seconds[name] for name in names)
    if record.stages:  # of a fit: checks of the data, and components for ``transform``, do not count
        stages = {name: float(seconds) for name, seconds in record.stages.items()}
        after = sum(seconds for name, seconds in stages.items() if name not in GRAPH_STAGES)
        record.values |= {"stages": stages, "seconds": after + record.seconds.get("expand", 0.0)}
    if content["timed"] == "decoding":
        record.values["seconds"] = record.values["stages"]["decoding"]
    return background


def _picture(values: Array, scene: Scene) -> Array:
    """Image of bytes, clipped to black and white."""
    return np.rint(255 * np.clip(values, 0, 1)).astype(np.uint8).reshape(scene.image_shape)


@lru_cache(maxsize=1)
def _graphs(video: Any, every: int, masks: int, seed: int) -> SceneGraphs:
    """Graphs of a scene, built once for all systems, and timed."""
    X, rng = load_scene(video, every, masks).X, np.random.RandomState(seed)
    graphs, seconds = {}, {}
    for name, build in (("sample_graph", sample_graph), ("feature_graph", feature_graph)):
        with stopwatch() as spent:
            graphs[name] = build(X, rng)
        seconds[name] = spent[0]
    with warnings.catch_warnings():  # two iterations load or compile our code, which is not part of any system's time
        warnings.simplefilter("ignore")
        SYSTEMS["recover"]["cpca"](X, Record(), seed=seed, n_components=1, downsampling=(10, 4), max_iter=2, **graphs)
    return SceneGraphs(graphs, seconds)
