"""Background, foreground and mask of whole videos, and the report."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from video_helpers import Counted, score, separated, textured_scene

from graphlowrank._progress import Progress
from graphlowrank._threads import limit_threads
from graphlowrank.video import Frames, open_frames, separate
from graphlowrank.video.background import FRAMES_PER_FACTOR
from graphlowrank.video.options import Options
from graphlowrank.video.run import Run
from graphlowrank.video.separate import collect

# --- the whole ---------------------------------------------------------------------------------------------------


def test_pieces_add_up_to_the_frames():
    frames, _, _ = textured_scene()
    found = separate(frames)
    assert found.background.shape == found.foreground.shape == found.mask.shape == frames.shape
    assert_array_equal(frames[found.mask], (found.background + found.foreground)[found.mask])
    assert not found.foreground[~found.mask].any()


def test_grey_in_three_channels_is_grey():
    frames, _, _ = textured_scene()
    grey, colour = separate(frames), separate(np.repeat(frames[..., None], 3, axis=3))
    assert colour.background.shape == (*frames.shape, 3)
    assert np.mean(colour.mask != grey.mask) < 2e-3
    assert_allclose(colour.background[..., 1].astype(float), grey.background.astype(float), atol=1)


def test_each_channel_has_a_background_of_its_own():
    frames, clean, masks = textured_scene()
    colours = [np.stack([part, part // 2, 255 - part], axis=3) for part in (frames, clean)]
    found = separate(colours[0])
    assert np.abs(found.background.astype(float) - colours[1]).mean(axis=(0, 1, 2)).max() < 1.5
    assert score(masks, found.mask) > 0.75


def test_units_of_floats_do_not_matter():
    frames, _, _ = textured_scene()
    small, large = (separate((unit * frames).astype(np.float32)) for unit in (1 / 255, 1e4))
    assert np.mean(small.mask != large.mask) < 1e-3
    assert_allclose(255e4 * small.background, large.background, rtol=1e-3)
    assert separate(frames.astype(np.float64) / 255).background.dtype == np.float32


def test_it_repeats_whatever_the_threads():
    frames, _, _ = textured_scene(40)
    found = []
    for n in (1, 2):
        with limit_threads(n):
            found.append(separated(frames, solver="frpcag", compiled=True))
    a, b = found
    assert_array_equal(a.mask, b.mask)
    assert_array_equal(a.background, b.background)


def test_a_scene_in_which_nothing_happens():
    frames = np.repeat(textured_scene(1)[0], 30, axis=0)
    found = separate(frames)
    assert_array_equal(found.background, frames)
    assert not found.mask.any()
    for dtype in (np.uint8, np.float32):
        assert separate(np.zeros((12, 5, 7), dtype=dtype)).mask.sum() == 0


def test_an_offset_does_not_hide_what_moves():
    """Degrees on a scale that does not begin at 0: 295 kelvin and a person of 5 more."""
    frames = 295 + 0.05 * np.random.default_rng(0).standard_normal((60, 40, 50))
    for t in range(60):
        frames[t, 10:22, t % 40 : t % 40 + 8] += 5
    kelvin, celsius = separate(frames), separate(frames - 273.15)
    assert 0.02 < kelvin.mask.mean() < 0.1
    assert np.mean(kelvin.mask != celsius.mask) < 0.01


def test_a_source_that_announces_too_few_frames_is_read_to_its_end():
    source = Counted()
    frames = (255 * source.video.X).astype(np.uint8).reshape(-1, *source.shape)

    class Modest(Frames):
        @property
        def n_frames(self):
            return 5

    found = collect(Run(Modest(open_frames(frames)._reader, 0, None, 1, 1.0), Options(), Progress()))
    assert len(found.mask) == 600
    assert_array_equal(found.mask, separate(frames).mask)


def test_longer_videos_take_no_more_memory_than_their_answer():
    frames = np.random.default_rng(0).integers(90, 99, (1200, 40, 50), dtype=np.uint8)
    separated(frames[:50], max_chunk=100)
    beside = []
    for n in (300, 1200):
        tracemalloc.start()
        found = separated(frames[:n], n_sampled=20, max_chunk=100)
        beside.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        beside[-1] -= sum(array.nbytes for array in (found.background, found.foreground, found.mask))
    assert beside[1] < beside[0] + 0.2 * frames.nbytes


@pytest.mark.parametrize("n", [2, 3, 9, 25])
def test_few_frames_are_enough_for_a_median(n):
    frames, _, masks = textured_scene(n, light=0.0)
    found = separate(frames)
    assert found.report.rank == n // FRAMES_PER_FACTOR
    if n >= 9:
        assert score(masks, found.mask) > 0.7


@pytest.mark.parametrize("shape", [(1, 1), (1, 50), (50, 1), (2, 3)])
def test_tiny_pictures(shape):
    frames = np.random.default_rng(0).integers(0, 255, (30, *shape), dtype=np.uint8)
    assert separate(frames).mask.shape == frames.shape


def test_a_part_of_the_video_and_smaller_frames():
    frames, _, masks = textured_scene(100)
    found = separate(frames, start=10, stop=90, step=2, scale=0.5)
    assert found.mask.shape == (40, 24, 32)
    assert score(masks[10:90:2, ::2, ::2], found.mask) > 0.5


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"solver": "pca"}, "solver must be one of"), ({"pixel_graph": "ring"}, "pixel_graph must be"),
        ({"rank": -1}, "rank must be a whole number of at least 0"), ({"rank": 1.5}, "rank must be a whole number"),
        ({"n_sampled": 1}, "n_sampled must be a whole number of at least 2"), ({"shadows": 0.0}, "shadows must be"),
        ({"shadows": "yes"}, "shadows must be"), ({"threshold": 0}, "threshold must be a positive number"),
        ({"max_memory": None}, "max_memory must be a positive number"), ({"n_sampled": None}, "n_sampled must be"),
        ({"shadows": 1.0}, "shadows must be"), ({"random_state": None}, "random_state must be a whole number"),
        ({"smallest": -3}, "smallest must be"),
        ({"stop": 1}, "at least two frames"), ({"scale": 2.0}, "scale must be"),
    ],
)  # fmt: skip
def test_bad_options_are_named_before_work(options, text):
    with pytest.raises(ValueError, match=text):
        separate(np.zeros((9, 8, 8), dtype=np.uint8), **options)


def test_options_are_obeyed():
    frames, _, _ = textured_scene()
    assert separate(frames, rank=1).report.rank == 1
    assert separate(frames, rank=0).report.rank == 0
    assert not separate(frames, threshold=1e4).mask.any()
    assert not separate(frames, smallest=5000).mask.any()
    reported = {
        what: value for what, value, _ in separate(frames, threshold=33.0, smallest=4, shadows=False).report.choices
    }
    assert (reported["threshold"], reported["smallest object"], reported["shadows"]) == ("33", "4 pixels", "foreground")


# --- report ------------------------------------------------------------------------------------------------------


def test_the_report_tells_what_happened(tmp_path):
    frames, _, _ = textured_scene(100)
    found = separate(frames)
    report = found.report
    assert report.n_frames == 100
    assert_allclose(report.foreground_share, found.mask.mean(axis=(1, 2)))
    assert len(report.gallery.numbers) == 24
    for index, number in enumerate(report.gallery.numbers):
        assert_array_equal(report.gallery.input[index], frames[number])
        assert_array_equal(report.gallery.mask[index], found.mask[number])
    assert np.ptp(np.diff(report.gallery.numbers)) <= 4  # evenly spread
    assert not report.warnings
    assert {"rpca", "pixels", "frames"} <= set(report.stages)
    assert "sample graph" not in report.stages  # nobody asked for one
    report.save(tmp_path / "page.html")
    assert "rpca" in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "100" in repr(found)


def test_a_moving_camera_is_noticed():
    still = textured_scene(1, seed=3, noise=0.0)[0][0]
    moving = np.stack([np.roll(still, (5 * t, 9 * t), axis=(0, 1)) for t in range(40)])
    assert any("has the camera moved" in warning for warning in separate(moving).report.warnings)


def test_a_crowd_is_noticed():
    frames, _, _ = textured_scene(40)
    frames[7, :, 20:] = 250
    assert any("In 1 frame more than half" in warning for warning in separate(frames, rank=0).report.warnings)
