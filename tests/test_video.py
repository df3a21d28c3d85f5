"""Background, foreground and mask of videos: compiled loops, models, chunks, and the whole."""

import re
import sys
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy.ndimage import gaussian_filter

from graphlowrank._progress import Progress
from graphlowrank.datasets import make_moving_square
from graphlowrank.metrics import mask_scores
from graphlowrank.video import Detector, background, foreground, foreground_evidence, foreground_mask, separate, stream
from graphlowrank.video.background import lattice, learn_background, luminance
from graphlowrank.video.reading import Frames, open_frames


def textured_scene(n=80, shape=(48, 64), *, light=0.15, noise=1.0, seed=0, colour=False):
    """Frames of bytes with a moving bright box, their clean background, and the true masks."""
    rng = np.random.default_rng(seed)
    texture = gaussian_filter(rng.random(shape), 2)
    texture = 60 + 120 * (texture - texture.min()) / np.ptp(texture)
    brightness = 1 + light * np.sin(np.arange(n) / 7)
    clean = brightness[:, None, None] * texture
    masks = np.zeros((n, *shape), dtype=bool)
    for t in range(n):
        y, x = 5 + (3 * t) % (shape[0] - 20), (5 * t) % (shape[1] - 12)
        masks[t, y : y + 12, x : x + 8] = True
    frames = np.where(masks, 250, clean) + noise * rng.standard_normal(clean.shape)
    frames, clean = (np.rint(np.clip(part, 0, 255)).astype(np.uint8) for part in (frames, clean))
    if colour:
        frames, clean = (np.repeat(part[..., None], 3, axis=3) for part in (frames, clean))
    return frames, clean, masks


def score(masks, found):
    return mask_scores(masks, found).f1


# --- compiled loops and their twins ------------------------------------------------------------------------------


@given(data=st.data(), height=st.integers(1, 12), width=st.integers(1, 12), smallest=st.integers(0, 9))
@settings(max_examples=80, deadline=None)
def test_small_objects_are_removed_and_holes_filled_as_scipy_would(data, height, width, smallest):
    from graphlowrank.kernels.objects import clean_mask

    mask = data.draw(arrays(bool, (2, height, width)))
    expected = mask.copy()
    foreground.plain_clean(expected, smallest)
    for image, wanted in zip(mask, expected, strict=True):
        flat, n = image.ravel().copy(), image.size
        clean_mask(flat, height, width, smallest, np.empty(n, np.int32), np.empty(n // 2 + 2, np.int32))
        assert_array_equal(flat.reshape(image.shape), wanted)


@given(
    seed=st.integers(0, 999), height=st.integers(1, 11), width=st.integers(1, 11), channels=st.sampled_from([1, 3]),
    darkest=st.sampled_from([0.65, 1.0]), dtype=st.sampled_from([np.uint8, np.float32]),
)  # fmt: skip
@settings(max_examples=60, deadline=None)
def test_evidence_agrees_with_its_twin(seed, height, width, channels, darkest, dtype):
    from graphlowrank.kernels.frames import evidence_rows

    rng = np.random.default_rng(seed)
    behind = rng.uniform(20, 200, (channels, 3, height * width)).astype(np.float32)
    planes = (behind * rng.uniform(0.5, 1.1, (1, 3, 1)) + rng.normal(0, 5, behind.shape)).clip(0, 255).astype(dtype)
    fast, slow = np.zeros((2, 3, height * width), dtype=np.float32)
    evidence_rows(1, 3, planes, behind, height, width, darkest, fast)
    foreground.plain_evidence(planes, behind, height, width, darkest, slow)
    assert not fast[0].any()  # not its range
    # Grey levels: what is left of sums of squares in single precision.
    assert_allclose(fast[1:], slow[1:], atol=0.3, rtol=1e-3)


@pytest.mark.parametrize("colour", [False, True])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32])
def test_compiled_and_plain_ways_give_the_same_pieces(monkeypatch, dtype, colour):
    frames, _, _ = textured_scene(40, colour=colour)
    frames = frames.astype(dtype) * (257 if dtype is np.uint16 else 1)
    plain = separate(frames)
    monkeypatch.setattr(foreground, "COMPILED_FROM", 0)
    fast = separate(frames)
    assert fast.background.dtype == dtype
    assert fast.foreground.dtype == {np.uint8: np.int16, np.uint16: np.int32, np.float32: np.float32}[dtype]
    assert np.mean(plain.mask != fast.mask) < 1e-3  # rounding at the threshold
    step = 257 if dtype is np.uint16 else 1
    assert_allclose(plain.background.astype(float), fast.background.astype(float), atol=step)
    agree = plain.mask == fast.mask
    agree = agree[..., None] if colour else agree
    assert_allclose(plain.foreground * agree, fast.foreground * agree, atol=step)


def test_what_a_hole_is():
    ring = np.zeros((1, 30, 30), dtype=np.float32)
    ring[0, 5:15, 5:15] = 1
    ring[0, 8:11, 8:11] = 0  # a hole
    ring[0, 0:8, 20:29] = 1
    ring[0, 0:4, 22:26] = 0  # open to the border
    ring[0, 18:29, 3:29] = 1
    ring[0, 20:27, 5:27] = 0  # too large to be one
    filled = foreground_mask(ring, Detector(0.5, 5))[0]
    assert filled[8:11, 8:11].all()
    assert not filled[0:4, 22:26].any()
    assert not filled[20:27, 5:27].any()


# --- evidence ----------------------------------------------------------------------------------------------------


def test_shadows_are_excused_and_objects_are_not():
    rng = np.random.default_rng(0)
    scene = (120 + 40 * rng.random((60, 80))).astype(np.float32)
    frame = scene + rng.normal(0, 1, scene.shape)
    shadow, person = np.s_[10:30, 10:40], np.s_[35:55, 50:70]
    frame[shadow] *= 0.75
    frame[person] = 60  # darker than any shadow, and without the pattern of the floor
    found = foreground_mask(foreground_evidence(frame[None], scene[None]), Detector(12.0, 5))[0]
    strict = foreground_mask(foreground_evidence(frame[None], scene[None], darkest=1.0), Detector(12.0, 5))[0]
    assert found[person].mean() > 0.95
    assert strict[shadow].mean() > 0.95
    assert found[12:28, 12:38].mean() < 0.05  # the edge of a shadow is no shadow


def test_a_background_of_another_shape_is_refused(monkeypatch):
    frames, clean, _ = textured_scene(6)
    for compiled_from in (0, 10**9):
        monkeypatch.setattr(foreground, "COMPILED_FROM", compiled_from)
        with pytest.raises(ValueError, match="background must have the shape of the frames"):
            foreground_evidence(frames, clean[:1])


def test_evidence_of_equal_channels_is_that_of_one():
    frames, clean, _ = textured_scene(6)
    one = foreground_evidence(frames, clean)
    three = foreground_evidence(*(np.repeat(part[..., None], 3, axis=3) for part in (frames, clean)))
    assert_allclose(one, three, rtol=1e-4, atol=1e-3)


def test_the_threshold_follows_the_noise():
    thresholds = []
    for noise in (2.0, 6.0):
        frames, _, _ = textured_scene(60, noise=noise)
        thresholds.append(float(dict(choice[:2] for choice in separate(frames).report.choices)["threshold"]))
    assert thresholds[1] / thresholds[0] == pytest.approx(3, rel=0.2)
    assert foreground.tune_detector(0.0, (20, 30), contrast=255.0).threshold == pytest.approx(0.02 * 255)
    assert foreground.tune_detector(0.0, (200, 300), contrast=1.0).smallest == 30
    assert foreground.tune_detector(0.0, (2, 3), contrast=1.0, threshold=0.3, smallest=7) == Detector(0.3, 7)


def test_noise_is_that_of_the_background_whatever_moves():
    frames, clean, _ = textured_scene(30, noise=2.0)
    model = learn_background(frames, rank=2, solver="rpca", pixel_graph="grid", seed=0, progress=Progress())
    by_hand = np.median(foreground_evidence(frames, clean, darkest=1.0))
    assert stream.measure_noise(frames, model) == pytest.approx(by_hand, rel=0.15)


# --- background --------------------------------------------------------------------------------------------------


def test_the_background_follows_the_light():
    frames, clean, masks = textured_scene(light=0.2)
    found = separate(frames)
    error = np.abs(found.background.astype(float) - clean)
    assert error.mean() < 1.0
    assert error[masks].mean() < 2.0  # behind the box, too
    median = np.abs(np.median(frames, axis=0) - clean).mean()
    assert error.mean() < 0.15 * median
    assert score(masks, found.mask) > 0.75  # a pixel around the box is taken, too


def test_the_lattice_is_spread_over_the_picture():
    for shape in ((1, 1), (3, 200), (120, 160), (480, 640), (1080, 1920)):
        pixels, (rows, columns) = lattice(shape)
        assert len(pixels) == rows * columns == len(np.unique(pixels))
        assert 0 <= pixels.min() <= pixels.max() < shape[0] * shape[1]
        assert len(pixels) <= 1.6 * background.LATTICE
        assert len(pixels) >= min(shape[0] * shape[1], background.LATTICE / 1.6)


def test_luminance_of_grey_colours_is_the_grey():
    frames, _, _ = textured_scene(3)
    pixels, _ = lattice(frames.shape[1:])
    assert_allclose(luminance(np.repeat(frames[..., None], 3, axis=3), pixels), luminance(frames, pixels), rtol=1e-5)


@pytest.mark.parametrize(
    "options", [{"solver": "rpcag"}, {"solver": "frpcag"}, {"solver": "frpcag", "pixel_graph": "knn"}]
)
def test_every_solver_finds_the_box(options):
    frames, _, masks = textured_scene()
    assert score(masks, separate(frames, **options).mask) > 0.75


def test_coefficients_reproduce_the_sampled_frames():
    frames, clean, _ = textured_scene(light=0.2)
    model = learn_background(frames, rank=2, solver="rpca", pixel_graph="grid", seed=0, progress=Progress())
    decoded = np.einsum("fk,ckp->fpc", model.coefficients(frames), model.factors).reshape(frames.shape)
    assert model.rank == 2
    assert model.converged
    assert np.abs(decoded - clean).mean() < 1.0
    assert np.all(np.diff(model.singular_values) <= 1e-3)


# --- chunks ------------------------------------------------------------------------------------------------------


class Counted:
    """A source of frames made when asked for, which remembers how many were alive at once."""

    n_frames, shape, dtype = 600, (24, 32), np.dtype(np.uint8)

    def __init__(self, *, announced=True):
        self.video = make_moving_square(self.n_frames, self.shape, light=0.2)
        self.longest = 0
        self.n_frames = self.n_frames if announced else None

    def blocks(self, n):
        frames = (255 * self.video.X).astype(np.uint8).reshape(-1, *self.shape)
        self.longest = max(self.longest, n)
        for first in range(0, len(frames), n):
            yield frames[first : first + n]


@pytest.mark.parametrize("announced", [True, False])
def test_chunks_cover_the_video_in_order_without_a_seam(monkeypatch, announced):
    monkeypatch.setattr(stream, "CHUNK", 170)
    source, scene = Counted(announced=announced), stream.Scene()
    parts = list(stream.separate_stream(source, stream.Options(block_values=40_000), scene, Progress()))
    frames, found = (np.concatenate(part) for part in zip(*[(f, p.background) for f, p in parts], strict=True))
    assert_array_equal(frames.reshape(600, -1), (255 * source.video.X).astype(np.uint8))
    assert len(scene.detectors) == 4
    assert source.longest == (150 if announced else 170)  # of equal length where the length is known
    clean = 255 * source.video.background.reshape(frames.shape)
    assert np.abs(found - clean).mean() < 1.5
    jumps = np.abs(np.diff(found.astype(float), axis=0)).mean(axis=(1, 2))
    usual = np.abs(np.diff(clean, axis=0)).mean(axis=(1, 2))
    assert np.all(jumps < usual.max() + 1.0)  # also from one background to the next


def test_who_stands_still_for_most_of_a_chunk_is_not_furniture_yet(monkeypatch):
    monkeypatch.setattr(stream, "CHUNK", 60)
    frames, _, _ = textured_scene(180, light=0.0)
    frames[140:, 30:40, 40:50] = 10  # through two thirds of the third chunk; nobody was there before
    found = separate(frames, n_sampled=30)
    assert found.mask[140:, 32:38, 42:48].mean() > 0.8
    alone = separate(frames[120:], n_sampled=30)
    assert alone.mask[20:, 32:38, 42:48].mean() < 0.5  # without a memory


def test_chunks_are_as_long_as_memory_allows():
    source = Counted()
    source.n_frames, source.shape = None, (480, 640, 3)
    plans = [stream.plan_chunks(source, stream.Options(max_memory=gb * 1e9)) for gb in (0.94, 1.5, 2.0, 20.0)]
    lengths, samples = [plan.chunk for plan in plans], [plan.n_sampled for plan in plans]
    assert 70 <= lengths[0] <= lengths[1] <= lengths[2] <= lengths[3] == stream.CHUNK
    assert samples == sorted(samples)
    assert (samples[0], samples[-1]) == (35, 100)
    source.n_frames = 301
    assert stream.plan_chunks(source, stream.Options(max_memory=0.94e9)).chunk in (76, 101, 151)  # of about one length
    with pytest.raises(ValueError, match=r"max_memory of 0.5 GB is too little for frames of 480 x 640 x 3: give"):
        stream.plan_chunks(source, stream.Options(max_memory=5e8))
    advice = float(re.search(r"give ([\d.]+) GB", _error(source)).group(1))
    assert stream.plan_chunks(source, stream.Options(max_memory=1.05e9 * advice)).chunk >= 100


def _error(source):
    with pytest.raises(ValueError) as caught:
        stream.plan_chunks(source, stream.Options(max_memory=5e8))
    return str(caught.value)


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


def test_it_repeats_whatever_the_threads(monkeypatch):
    monkeypatch.setattr(foreground, "COMPILED_FROM", 0)
    frames, _, _ = textured_scene()
    a, b = (separate(frames, n_jobs=n, solver="frpcag") for n in (1, 2))
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


def test_a_source_that_announces_too_few_frames_is_read_to_its_end(monkeypatch):
    source = Counted()
    frames = (255 * source.video.X).astype(np.uint8).reshape(-1, *source.shape)

    class Modest(Frames):
        @property
        def n_frames(self):
            return 5

    monkeypatch.setattr(sys.modules["graphlowrank.video.separate"], "open_frames", lambda *a, **k: modest)
    modest = Modest(open_frames(frames)._reader, 0, None, 1, 1.0)
    found = separate("a file")
    monkeypatch.undo()
    assert len(found.mask) == 600
    assert_array_equal(found.mask, separate(frames).mask)


def test_longer_videos_take_no_more_memory_than_their_answer(monkeypatch):
    monkeypatch.setattr(stream, "CHUNK", 100)
    frames = np.random.default_rng(0).integers(90, 99, (1200, 40, 50), dtype=np.uint8)
    separate(frames[:50])
    beside = []
    for n in (300, 1200):
        tracemalloc.start()
        found = separate(frames[:n], n_sampled=20)
        beside.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        beside[-1] -= sum(array.nbytes for array in (found.background, found.foreground, found.mask))
    assert beside[1] < beside[0] + 0.2 * frames.nbytes


@pytest.mark.parametrize("n", [2, 3, 9, 25])
def test_few_frames_are_enough_for_a_median(n):
    frames, _, masks = textured_scene(n, light=0.0)
    found = separate(frames)
    assert found.report.rank == n // background.FRAMES_PER_FACTOR
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
