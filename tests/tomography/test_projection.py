"""Parallel-beam projections."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.ndimage import gaussian_filter
from skimage.transform import radon
from tomography_helpers import (
    angle_lists,
    distance_from_axis,
    radon_like,
    relative_error,
    shapes,
)

from graphlowrank.datasets import shepp_logan_phantom
from graphlowrank.tomography.projection import covering_detectors, projection_matrix


def clipped(polygon, normal, offset):
    """Part of a convex polygon on the side ``normal . point <= offset`` (Sutherland, Hodgman 1974)."""
    kept = []
    for start, end in zip(polygon, np.roll(polygon, -1, axis=0), strict=True):
        from_line, to_line = start @ normal - offset, end @ normal - offset
        if from_line <= 0:
            kept.append(start)
        if from_line * to_line < 0:
            kept.append(start + (end - start) * from_line / (from_line - to_line))
    return np.array(kept).reshape(-1, 2)


def polygon_area(polygon):
    (x, y) = polygon.T if len(polygon) else np.zeros((2, 0))
    return abs(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1))) / 2


def areas_by_clipping(shape, angles, n_detectors):
    """Slow twin of the projections."""
    square = np.array([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]])
    A = np.zeros((len(angles), n_detectors, *shape))
    for angle, detector, row, column in np.ndindex(A.shape):
        turn = np.deg2rad(angles[angle])
        normal = np.array([np.cos(turn), -np.sin(turn)])  # x to the right, y down
        pixel = square + np.array([column - shape[1] // 2, row - shape[0] // 2])
        edge = detector - n_detectors // 2 - 0.5
        strip = clipped(clipped(pixel, normal, edge + 1), -normal, -edge)
        A[angle, detector, row, column] = polygon_area(strip)
    return A.reshape(len(angles) * n_detectors, -1)


@settings(max_examples=40, deadline=None)
@example(shape=(4, 3), angles=[17.3, 45, 135, 211.7], n_detectors=7)
@example(shape=(3, 4), angles=[1e-7, 89.9999999, 180.0001, 1e-15], n_detectors=6)
@given(shape=st.tuples(st.integers(1, 4), st.integers(1, 4)), angles=angle_lists, n_detectors=st.integers(1, 7))
def test_entries_are_areas(shape, angles, n_detectors):
    A = projection_matrix(shape, angles, n_detectors=n_detectors).toarray()
    np.testing.assert_allclose(A, areas_by_clipping(shape, angles, n_detectors), atol=1e-11)


@settings(max_examples=50, deadline=None)
@given(shape=shapes, angles=angle_lists)
def test_covering_detectors_see_every_pixel_whole(shape, angles):
    A = projection_matrix(shape, angles, n_detectors=covering_detectors(shape))
    seen = A.toarray().reshape(len(angles), -1, shape[0] * shape[1]).sum(axis=1)
    np.testing.assert_allclose(seen, 1, rtol=1e-14)


@pytest.mark.parametrize("shape", [(8, 8), (7, 7), (5, 12)])
def test_two_detectors_fewer_do_not_cover(shape):
    A = projection_matrix(shape, np.arange(360), n_detectors=covering_detectors(shape) - 2)
    assert A.sum(axis=0).min() < 360 - 1e-6


@pytest.mark.parametrize("side", [32, 33])
def test_mass_of_an_image_in_the_disc(side):
    image = np.random.default_rng(0).random((side, side)) * (distance_from_axis((side, side)) < side // 2 - 1.3)
    np.testing.assert_allclose(radon_like(image, np.arange(0, 360, 7.3)).sum(axis=0), image.sum(), rtol=1e-13)


@pytest.mark.parametrize("shape", [(6, 6), (7, 7), (4, 9), (9, 4)])
def test_right_angles_are_sums_of_columns_and_rows(shape):
    image = np.random.default_rng(0).random(shape)
    n_detectors = covering_detectors(shape)
    centre = n_detectors // 2
    columns, rows = np.zeros((2, n_detectors))
    columns[centre - shape[1] // 2 :][: shape[1]] = image.sum(axis=0)  # from left to right
    rows[centre + shape[0] // 2 - np.arange(shape[0])] = image.sum(axis=1)  # from the bottom to the top
    sinogram = radon_like(image, [0, 90, 180, 270, 360, -90], n_detectors=n_detectors)
    expected = [columns, rows, columns[::-1], rows[::-1], columns, rows[::-1]]
    np.testing.assert_allclose(sinogram.T, expected, rtol=1e-14)
    assert projection_matrix(shape, [0, 90, 180], n_detectors=n_detectors).nnz == 3 * image.size


@settings(max_examples=30, deadline=None)
@given(shape=shapes, angle=st.integers(-360, 360), half=st.integers(0, 9))
def test_half_a_turn_later_is_mirrored(shape, angle, half):
    first, second = (
        projection_matrix(shape, [angle, angle + 180], n_detectors=2 * half + 1).toarray().reshape(2, 2 * half + 1, -1)
    )
    np.testing.assert_allclose(second, first[::-1], atol=1e-14)


def test_disc_has_its_chords():
    side, radius, fine = 64, 20.3, 32
    grid = (np.arange(side * fine) + 0.5) / fine - 0.5 - side // 2
    inside = np.hypot(grid[:, None], grid[None, :]) < radius
    disc = inside.reshape(side, fine, side, fine).mean(axis=(1, 3))
    edges = np.clip(np.arange(side + 1) - 0.5 - side // 2, -radius, radius)
    # Chords 2 sqrt(r^2 - s^2), averaged over the width of a detector.
    chords = np.diff(edges * np.sqrt(radius**2 - edges**2) + radius**2 * np.arcsin(edges / radius))
    sinogram = radon_like(disc, np.arange(180))
    assert np.abs(sinogram[:, 0] - chords).max() < 0.02  # sums of columns: only the drawing of the disc is inexact
    # Elsewhere the rim's pixels count as if they were evenly grey.
    assert relative_error(sinogram, np.tile(chords[:, None], 180)) < 6e-3
    middle = abs(np.arange(side) - side // 2) < 15
    assert np.abs(sinogram - chords[:, None])[middle].max() < 0.25  # of up to 40 pixels


@pytest.mark.parametrize(("side", "sigma", "most"), [(64, 0, 1e-2), (64, 2, 1e-3), (65, 2, 1e-3)])
def test_close_to_scikit_image(side, sigma, most):
    """Scikit-image interpolates in a turned image; on smooth images that is the same."""
    image = shepp_logan_phantom(side)
    image = gaussian_filter(image, sigma) if sigma else image
    image *= distance_from_axis(image.shape) < side // 2 - 1
    angles = np.arange(0, 180, 4.5)
    assert relative_error(radon_like(image, angles), radon(image, angles, circle=True)) < most


@pytest.mark.parametrize("shape", [(40, 63), (63, 40), (30, 41)])
def test_close_to_scikit_image_when_not_square(shape):
    image = np.zeros(shape)
    image[5:22, 8:21] = 1
    image[12:15, 26:28] = 2
    image = gaussian_filter(image, 1.5)
    angles = [-30, 0, 17, 45, 90, 133, 201]
    assert relative_error(radon_like(image, angles), radon(image, angles, circle=False)) < 2e-3


def test_precision_of_the_projections():
    double, single = (projection_matrix((16, 16), [0, 20, 45], dtype=dtype) for dtype in (np.float64, np.float32))
    assert isinstance(single, sp.csr_array)
    assert (double.dtype, single.dtype) == (np.float64, np.float32)
    assert (single @ np.ones(256, dtype=np.float32)).dtype == np.float32
    np.testing.assert_allclose(single.toarray(), double.toarray(), rtol=1e-6)
    assert double.shape == (3 * 16, 256)
    assert double.has_canonical_format


def test_pixels_that_only_touch_a_strip_are_not_in_it():
    A = projection_matrix((64, 64), np.rad2deg(np.arctan2([3, 5], [4, 12])))  # corners at fifths and thirteenths
    assert A.data.min() > 1e-6
