"""Parts of the separation: compiled loops, evidence, background model, chunks."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from video_helpers import Counted, score, separated, textured_scene

from graphlowrank._progress import Progress
from graphlowrank.video import Detector, foreground, foreground_evidence, foreground_mask, separate
from graphlowrank.video.background import LATTICE, lattice, learn_background, luminance
from graphlowrank.video.options import Options
from graphlowrank.video.run import Run, noise_level, plan_chunks

# --- compiled loops and their twins ------------------------------------------------------------------------------


@given(data=st.data(), height=st.integers(1, 12), width=st.integers(1, 12), smallest=st.integers(0, 9))
@settings(max_examples=80, deadline=None)
def test_small_objects_are_removed_and_holes_filled_as_scipy_would(data, height, width, smallest):
    from graphlowrank.kernels.frames import clean_mask

    mask = data.draw(arrays(bool, (2, height, width)))
    expected = mask.copy()
    foreground.plain_clean(expected, smallest)
    for image, wanted in zip(mask, expected, strict=True):
        clean_mask(image, smallest)
        assert_array_equal(image, wanted)


@given(
    seed=st.integers(0, 999), height=st.integers(1, 11), width=st.integers(1, 11), channels=st.sampled_from([1, 3]),
    darkest=st.sampled_from([0.65, 1.0]), dtype=st.sampled_from([np.uint8, np.float32]),
)  # fmt: skip
@settings(max_examples=60, deadline=None)
def test_evidence_agrees_with_its_twin(seed, height, width, channels, darkest, dtype):
    from graphlowrank.kernels.frames import evidence_rows

    rng = np.random.default_rng(seed)
    behind = rng.uniform(20, 200, (3, channels, height, width)).astype(np.float32)
    gains = rng.uniform(0.5, 1.1, (3, 1, 1, 1))
    planes = (behind * gains + rng.normal(0, 5, behind.shape)).clip(0, 255).astype(dtype)
    fast = np.zeros((3, height, width), dtype=np.float32)
    evidence_rows(1, 3, planes, behind, darkest, fast)
    slow = foreground.plain_evidence(planes, behind, darkest)
    assert not fast[0].any()  # not its range
    # Grey levels: what is left of sums of squares in single precision.
    assert_allclose(fast[1:], slow[1:], atol=0.3, rtol=1e-3)


@pytest.mark.parametrize("colour", [False, True])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32])
def test_compiled_and_plain_ways_give_the_same_pieces(dtype, colour):
    frames, _, _ = textured_scene(40, colour=colour)
    frames = frames.astype(dtype) * (257 if dtype is np.uint16 else 1)
    plain, fast = (separated(frames, compiled=compiled) for compiled in (False, True))
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


@pytest.mark.parametrize("compiled", [False, True])
def test_a_background_of_another_shape_is_refused(compiled):
    frames, clean, _ = textured_scene(6)
    with pytest.raises(ValueError, match="background must have the shape of the frames"):
        foreground_evidence(frames, clean[:1], compiled=compiled)


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
    model = learn_background(frames, Options(rank=2), Progress())
    by_hand = np.median(foreground_evidence(frames, clean, darkest=1.0))
    assert noise_level(frames, model) == pytest.approx(by_hand, rel=0.15)


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
        assert len(pixels) <= 1.6 * LATTICE
        assert len(pixels) >= min(shape[0] * shape[1], LATTICE / 1.6)


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
    model = learn_background(frames, Options(rank=2), Progress())
    decoded = np.einsum("fk,ckp->fpc", model.coefficients(frames), model.factors).reshape(frames.shape)
    assert model.rank == 2
    assert model.converged
    assert np.abs(decoded - clean).mean() < 1.0
    assert np.all(np.diff(model.singular_values) <= 1e-3)


# --- chunks ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("announced", [True, False])
def test_chunks_cover_the_video_in_order_without_a_seam(announced):
    source = Counted(announced=announced)
    run = Run(source, Options(block_values=40_000, max_chunk=170), Progress())
    parts = list(run)
    frames, found = (np.concatenate(part) for part in zip(*[(f, p.background) for f, p in parts], strict=True))
    assert_array_equal(frames.reshape(600, -1), (255 * source.video.X).astype(np.uint8))
    assert len(run.detectors) == 4
    assert source.longest == (150 if announced else 170)  # of equal length where the length is known
    clean = 255 * source.video.background.reshape(frames.shape)
    assert np.abs(found - clean).mean() < 1.5
    jumps = np.abs(np.diff(found.astype(float), axis=0)).mean(axis=(1, 2))
    usual = np.abs(np.diff(clean, axis=0)).mean(axis=(1, 2))
    assert np.all(jumps < usual.max() + 1.0)  # also from one background to the next


def test_who_stands_still_for_most_of_a_chunk_is_not_furniture_yet():
    frames, _, _ = textured_scene(180, light=0.0)
    frames[140:, 30:40, 40:50] = 10  # through two thirds of the third chunk; nobody was there before
    found = separated(frames, n_sampled=30, max_chunk=60)
    assert found.mask[140:, 32:38, 42:48].mean() > 0.8
    alone = separated(frames[120:], n_sampled=30, max_chunk=60)
    assert alone.mask[20:, 32:38, 42:48].mean() < 0.5  # without a memory


def test_chunks_are_as_long_as_memory_allows():
    source = Counted()
    source.n_frames, source.shape = None, (480, 640, 3)
    plans = [plan_chunks(source, Options(max_memory=gb * 1e9)) for gb in (0.94, 1.5, 2.0, 20.0)]
    lengths, samples = zip(*plans, strict=True)
    assert 70 <= lengths[0] <= lengths[1] <= lengths[2] <= lengths[3] == Options.max_chunk
    assert list(samples) == sorted(samples)
    assert (samples[0], samples[-1]) == (35, 100)
    source.n_frames = 301
    assert plan_chunks(source, Options(max_memory=0.94e9))[0] in (76, 101, 151)  # of about one length
    with pytest.raises(ValueError, match=r"max_memory of 0.5 GB is too little for frames of 480 x 640 x 3: give"):
        plan_chunks(source, Options(max_memory=5e8))
    advice = float(re.search(r"give ([\d.]+) GB", _error(source)).group(1))
    assert plan_chunks(source, Options(max_memory=1.05e9 * advice))[0] >= 100


def _error(source):
    with pytest.raises(ValueError) as caught:
        plan_chunks(source, Options(max_memory=5e8))
    return str(caught.value)
