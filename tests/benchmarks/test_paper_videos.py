import json

import numpy as np
import pytest

from graphlowrank.datasets import make_moving_square
from graphlowrank_benchmarks import scenes
from graphlowrank_benchmarks.datasets import Video
from graphlowrank_benchmarks.paper import video
from graphlowrank_benchmarks.paper.spec import parse_experiment, read_experiment
from graphlowrank_benchmarks.systems import SYSTEMS

SQUARE = make_moving_square(40, (16, 20), size=4)
MARKED = np.arange(3, 40, 4)
FILES = ("videos", "decoders", "video-downsampling")
CPCA = {"method": "cpca", "with": {"downsampling": [2, 2]}}
LIMITED = {"limit_seconds": 60}


def bytes_of(X):
    return np.rint(255 * X).astype(np.uint8).reshape(-1, *SQUARE.image_shape)


@pytest.fixture(autouse=True)
def _square(monkeypatch):
    """The moving square stands for every video, and nothing of it stays in memory."""
    masks = SQUARE.masks[MARKED].reshape(-1, *SQUARE.image_shape)
    load = "graphlowrank_benchmarks.datasets.load_video"
    monkeypatch.setattr(load, lambda name: Video(bytes_of(SQUARE.X), MARKED, masks, name))
    for cached in (scenes.load_scene, video._graphs):
        cached.cache_clear()
    yield
    for cached in (scenes.load_scene, video._graphs):
        cached.cache_clear()


def content(**changes):
    plain = {
        "kind": "video",
        "video": "square",
        "every": 1,
        "masks": 20,
        "with": {},
        "timed": "after graphs",
        "seed": 0,
    }
    return plain | changes


def file(scene="", system="", **options):
    lines = ["title = 't'", "place = 'p'", "kind = 'video'", "masks = 5", "limit_seconds = 9"]
    lines += [f"{name} = {json.dumps(value)}" for name, value in options.items()]
    lines += ["[[scenes]]", "title = 's'", "video = 'square'", scene, "[[systems]]", "title = 'RPCA'", system]
    return parse_experiment("t", "\n".join(lines))


def measured(content):
    record = video.run(content)
    return record.values, record.pictures


RPCA = "method = 'rpca'"


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("name", FILES)
def test_the_files_can_be_read_and_every_cell_is_plain_and_alone(name, quick):
    cells = list(video.expand(read_experiment(name, quick=quick)))
    assert len({(cell.row, cell.column) for cell in cells}) == len(cells) > 3
    for cell in cells:
        assert json.loads(json.dumps(cell.content)) == cell.content
        assert cell.alone
        assert cell.content["kind"] == "video"  # so that a cell in two tables is run once
        assert ("limit_seconds" in cell.content) == (cell.content["method"] in video.LIMITED)


def test_seconds_of_the_paper_stand_by_the_whole_videos_only():
    full = {(cell.row, cell.column): cell for cell in video.expand(read_experiment("videos"))}
    assert full["1: shopping mall", "CPCA (5,1)"].paper == {"seconds": 21}
    assert not full["3: airport", "RPCA"].paper  # a tenth of the paper's frames
    assert not full["2: restaurant", "temporal median"].paper
    quick = {(cell.row, cell.column): cell for cell in video.expand(read_experiment("videos", quick=True))}
    assert not quick["1: shopping mall", "CPCA (5,1)"].paper
    assert not any("RPCAG" in place or "highway" in place for place in quick)


def test_one_cell_serves_two_figures():
    keys = [{cell.key for cell in video.expand(read_experiment(name))} for name in ("videos", "video-downsampling")]
    assert len(keys[0] & keys[1]) == 2  # (5,1) and (10,4) of the shopping mall


def test_steps_and_skips():
    steps = [
        next(iter(video.expand(file(scene, f"{RPCA}\n{system}", every=3)))).content["every"]
        for scene, system in (("", ""), ("every = 2", ""), ("every = 2", "every = 5"))
    ]
    assert steps == [3, 2, 5]
    assert not list(video.expand(file("", RPCA, skip=["s"])))
    assert not list(video.expand(file("skip = ['RPCA']", RPCA)))


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: file("", "method = 'magic'"), "no method 'magic'"),
        (lambda: file("", RPCA, timed="lunch"), "time 'lunch'"),
        (lambda: file("paper = { RPCB = 3 }", RPCA), "numbers of RPCB"),
    ],
)
def test_what_a_file_says_wrong_is_said(made, message):
    with pytest.raises(ValueError, match=message):
        list(video.expand(made()))


def test_scored_frames_are_kept_whatever_the_step():
    scene = scenes.load_scene("square", 10, 4)
    frames = bytes_of(SQUARE.X).reshape(40, -1)
    assert len(scene.X) == len({0, 10, 20, 30} | {3, 15, 27, 39})  # ends and middle of those with masks
    np.testing.assert_allclose(255 * scene.X[scene.scored], frames[[3, 15, 27, 39]], atol=1e-4)
    np.testing.assert_array_equal(scene.masks, SQUARE.masks[[3, 15, 27, 39]])


def fake_system(monkeypatch, name, background, seconds=0.0):
    """Register a system that returns the given background after so many seconds."""

    def run(X, record, *, seed):
        record.seconds["after"] = seconds
        return background

    monkeypatch.setitem(SYSTEMS["recover"], name, run)


def test_a_perfect_background_leaves_the_square(monkeypatch):
    truth = SQUARE.background[MARKED].astype(np.float32)
    fake_system(monkeypatch, "perfect", SQUARE.background.astype(np.float32), 1.5)
    values, pictures = measured(content(method="perfect"))
    assert values["f1"] == 1
    assert values["seconds"] == 1.5
    middle = len(MARKED) // 2
    np.testing.assert_array_equal(pictures["frame"], bytes_of(SQUARE.X)[MARKED[middle]])
    np.testing.assert_array_equal(pictures["background"], bytes_of(truth)[middle])
    shown = pictures["frame"].astype(int) - pictures["background"]
    assert np.max(np.abs(np.abs(shown) - pictures["foreground"])) <= 1  # both are rounded


def test_what_is_darker_than_the_background_is_foreground_too(monkeypatch):
    white = np.ones(SQUARE.X.shape, dtype=np.float32)
    fake_system(monkeypatch, "white", 2 * white)
    _, pictures = measured(content(method="white"))
    assert np.all(pictures["background"] == 255)  # clipped
    assert np.all(pictures["foreground"] == 255)
    fake_system(monkeypatch, "white", white)
    _, pictures = measured(content(method="white"))
    np.testing.assert_array_equal(pictures["foreground"], 255 - pictures["frame"])


@pytest.mark.parametrize(
    "chosen",
    [{"method": "median"}, {"method": "rpca"} | LIMITED, {"method": "rpcag"} | LIMITED, {"method": "frpcag"}, CPCA],
    ids=lambda chosen: chosen["method"],
)
def test_every_method_finds_the_square_and_its_content_decides_all(chosen):
    values, pictures = measured(content(**chosen))
    assert values["f1"] > 0.9
    background = bytes_of(SQUARE.background)[MARKED[len(MARKED) // 2]]
    assert np.mean(np.abs(pictures["background"].astype(int) - background)) < 5  # of 255
    assert {picture.dtype for picture in pictures.values()} == {np.dtype(np.uint8)}
    json.dumps(values)
    video._graphs.cache_clear()
    again, same = measured(json.loads(json.dumps(content(**chosen))))
    assert again["f1"] == values["f1"]
    np.testing.assert_array_equal(same["background"], pictures["background"])


@pytest.mark.parametrize("method", video.LIMITED)
def test_a_solver_past_its_limit_did_not_finish(method):
    values, pictures = measured(content(method=method, limit_seconds=0))
    assert values["seconds"] is None
    assert values["note"] == "did not finish in 0 s (1 iterations)"
    assert "iterations" not in values  # of one that was stopped they say nothing
    assert "f1" not in values
    assert list(pictures) == ["frame"]


def test_a_solver_that_does_not_converge_says_so():
    values, _ = measured(content(method="rpca", limit_seconds=60, **{"with": {"max_iter": 2}}))
    assert values["note"] == "not converged after 2 iterations"


def test_seconds_of_decoding_are_those_of_that_stage():
    values, _ = measured(content(timed="decoding", **CPCA))
    assert values["seconds"] == values["stages"]["decoding"]
    whole, _ = measured(content(**CPCA))
    stages = [spent for stage, spent in whole["stages"].items() if "graph" not in stage]
    assert whole["seconds"] > sum(stages)  # and the whole background is multiplied out


def test_graphs_are_built_once_for_all_systems_and_counted_for_each(monkeypatch):
    built = []
    for name in ("sample_graph", "feature_graph"):
        build = getattr(video, name)
        monkeypatch.setattr(video, name, lambda *args, build=build, name=name: built.append(name) or build(*args))
    found = [measured(content(**chosen))[0] for chosen in ({"method": "frpcag"}, CPCA, {"method": "rpcag"} | LIMITED)]
    assert built == ["sample_graph", "feature_graph"]
    both, same, of_frames = (values["graph_seconds"] for values in found)
    assert both == same > of_frames > 0
