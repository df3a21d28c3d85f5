"""Made data are what they say they are."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from graphlowrank.datasets import (
    make_moving_square,
    shepp_logan_phantom,
)
from graphlowrank.datasets.synthetic import HEAD

seeds = st.integers(0, 2**32 - 1)


# --- moving square ------------------------------------------------------------------------------------------------


@given(
    n_frames=st.integers(1, 40),
    height=st.integers(3, 20),
    width=st.integers(3, 20),
    light=st.floats(0, 0.5),
    data=st.data(),
)
@settings(max_examples=60, deadline=None)
def test_frames_are_background_and_square(n_frames, height, width, light, data):
    size = data.draw(st.integers(1, min(height, width) - 1))
    video = make_moving_square(n_frames, (height, width), size=size, light=light)
    assert video.X.shape == video.background.shape == video.masks.shape == (n_frames, height * width)
    assert_allclose(video.background + video.foreground, video.X)
    # The square differs from every background, so that the mask is exactly where frames and background differ.
    assert_array_equal(video.masks, video.background != video.X)
    assert_array_equal(video.masks.sum(axis=1), size**2)
    assert video.X.min() >= 0
    assert video.X.max() <= 1
    for mask in video.masks.reshape(-1, height, width):
        rows, columns = (np.flatnonzero(mask.any(axis=axis)) for axis in (1, 0))
        assert len(rows) == len(columns) == size
        assert np.ptp(rows) == np.ptp(columns) == size - 1


def test_the_background_has_rank_one_and_shows_through():
    still, changing = make_moving_square(), make_moving_square(light=0.2)
    assert_array_equal(still.background, still.background[:1].repeat(60, axis=0))
    for video in (still, changing):
        assert np.linalg.matrix_rank(video.background) == 1
        assert video.masks.mean(axis=0).max() < 0.5  # each pixel is free most of the time
        assert np.all(np.any(video.masks[1:] != video.masks[:-1], axis=1))  # the square never rests
    light = changing.background.mean(axis=1) / still.background.mean(axis=1)
    assert (light.min(), light.max()) == pytest.approx((0.8, 1.2), abs=0.01)
    assert_array_equal(make_moving_square().X, still.X)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"n_frames": 0}, "n_frames must be positive"),
        ({"size": 24}, "size must be at least 1 and less than both sides"),
        ({"size": 0}, "size must be"),
        ({"light": 0.6}, "light must be between 0 and 0.5"),
    ],
)
def test_videos_that_cannot_be(options, text):
    with pytest.raises(ValueError, match=text):
        make_moving_square(**options)


# --- phantom ------------------------------------------------------------------------------------------------------


@given(size=st.integers(1, 150))
@settings(max_examples=40, deadline=None)
def test_the_phantom_is_between_air_and_skull_at_any_size(size):
    phantom = shepp_logan_phantom(size)
    assert phantom.shape == (size, size)
    assert set(np.unique(phantom)) <= {0.0, 0.1, 0.2, 0.3, 0.4, 1.0}
    skull = phantom == 1
    assert_array_equal(skull, skull[:, ::-1])


def test_the_phantom_has_its_parts_where_they_belong():
    phantom = shepp_logan_phantom(1000)

    def at(x, y):
        return phantom[round((1 - y) * 500), round((1 + x) * 500)]

    assert at(0.95, 0.95) == 0  # air
    assert at(0, 0.9) == 1  # skull
    assert at(0, -0.8) == 0.2  # brain
    assert at(0.22, 0) == at(-0.22, 0) == 0  # ventricles
    assert at(0, 0.5) == 0.3  # tumour, in the upper half
    assert at(0, -0.5) == 0.2
    assert at(-0.08, -0.605) == at(0, -0.606) == at(0.06, -0.605) == 0.3
    # The ventricles lean outwards at the top; the left one is the larger.
    assert at(0.3, 0.2) == at(0.15, -0.2) == at(-0.3, 0.3) == at(-0.13, -0.3) == 0
    assert at(0.3, -0.2) == at(-0.3, -0.3) == 0.2
    dark = (phantom == 0) & (np.abs(np.linspace(-1, 1, 1000))[None, :] < 0.4)
    inside = dark[300:700]
    assert inside[:, :500].sum() > 1.5 * inside[:, 500:].sum()


def test_brightness_of_the_phantom_is_the_area_of_its_ellipses():
    expected = sum(part.tenths / 10 * np.pi * part.half_width * part.half_height for part in HEAD)
    assert shepp_logan_phantom(801).sum() / 400**2 == pytest.approx(expected, rel=2e-3)


def test_scikit_image_has_the_same_phantom():
    data = pytest.importorskip("skimage.data")
    theirs = data.shepp_logan_phantom()
    ours = shepp_logan_phantom(len(theirs))
    assert_allclose(ours, theirs, atol=1 / 255)  # theirs is stored in bytes


def test_a_phantom_has_a_size():
    with pytest.raises(ValueError, match="size must be positive"):
        shepp_logan_phantom(0)
