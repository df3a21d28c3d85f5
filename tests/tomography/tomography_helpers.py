"""Strategies and small functions of the tests of operators."""

import numpy as np
from hypothesis import strategies as st

from graphlowrank.tomography import projection_matrix

sides = st.integers(1, 12)
shapes = st.tuples(sides, sides)
seeds = st.integers(0, 2**32 - 1)
angle_lists = st.lists(st.floats(-720, 720), min_size=1, max_size=4)


def some_mask(shape, rng, share=0.4):
    mask = rng.random(shape) < share
    mask[rng.integers(shape[0]), rng.integers(shape[1])] = True
    return mask


def dense(operator):
    return operator.matmat(np.eye(operator.shape[1]))


def distance_from_axis(shape):
    height, width = shape
    return np.hypot(np.arange(height)[:, None] - height // 2, np.arange(width)[None, :] - width // 2)


def radon_like(image, angles, **options):
    sinogram = projection_matrix(image.shape, angles, **options) @ image.ravel()
    return sinogram.reshape(len(angles), -1).T


def relative_error(found, truth):
    return np.linalg.norm(found - truth) / np.linalg.norm(truth)
