"""The rank of a noisy matrix."""

import numpy as np
import pytest

from graphlowrank.auto.rank import choose_rank


@pytest.mark.parametrize("shape", [(200, 200), (400, 50), (30, 500)])
@pytest.mark.parametrize("rank", [1, 4])
def test_rank_of_a_matrix_in_noise(shape, rank):
    rng = np.random.default_rng(rank)
    left, right = (np.linalg.qr(rng.standard_normal((n, rank)))[0] for n in shape)
    noise = rng.standard_normal(shape)
    edge = np.sqrt(shape[0]) + np.sqrt(shape[1])  # of the noise's singular values
    assert np.linalg.norm(noise, 2) == pytest.approx(edge, rel=0.1)
    for strength in (2.0, 10.0):
        values = np.linalg.svd(3 * (strength * edge * left @ right.T + noise), compute_uv=False)
        assert choose_rank(values, shape) == rank


def test_rank_threshold_is_that_of_the_paper():
    # Gavish and Donoho: 2.858 times the median for a square matrix; tends to 1.43 as one side vanishes.
    for shape, multiple in (((100, 100), 2.858), ((1, 10**6), 1.43)):
        values = np.array([9e9, 1.002 * multiple, 0.998 * multiple, 1.0, 1.0, 1.0, 1.0, 1.0])
        assert choose_rank(values, shape) == 2
    assert choose_rank(np.ones(5), (10, 5)) == 1
