"""The sample of a stream: uniform, or recent; the same however the stream is divided; bounded."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from graphlowrank.preprocessing.sparse import ShiftedSparse
from graphlowrank.sampling.reservoir import SLACK, Reservoir, uniform_of_rows


def fed(X, ends, size=20, seed=0, half_life=None):
    reservoir = Reservoir.empty(size, seed, half_life)
    for start, stop in zip([0, *ends], [*ends, len(X)], strict=True):
        reservoir = reservoir.updated(X[start:stop])
    return reservoir


@settings(max_examples=30, deadline=None)
@given(
    n=st.integers(1, 150), size=st.integers(1, 40), seed=st.integers(0, 2**31), half_life=st.sampled_from([None, 30.0]),
    sparse=st.booleans(), data=st.data(),
)  # fmt: skip
def test_the_sample_does_not_depend_on_the_batches(n, size, seed, half_life, sparse, data):
    X = np.arange(2.0 * n).reshape(n, 2)
    given_rows = ShiftedSparse(sp.csr_array(X)) if sparse else X
    ends = sorted(data.draw(st.lists(st.integers(0, n), max_size=12)))
    reservoir = fed(given_rows, ends, size, seed, half_life)
    reservoir.check()
    rows, numbers = reservoir.sample()
    assert_array_equal(numbers, fed(given_rows, [], size, seed, half_life).sample()[1])
    assert_array_equal(rows.to_array() if sparse else rows, X[numbers])
    assert len(numbers) == reservoir.n_kept == min(n, size)


def test_each_row_is_kept_equally_often():
    kept = np.concatenate([fed(np.zeros((60, 1)), [25], 12, seed).sample()[1] for seed in range(2000)])
    counts, expected = np.bincount(kept, minlength=60), 2000 * 12 / 60
    assert np.abs(counts - expected).max() < 5 * np.sqrt(expected * 0.8)


def test_two_rows_are_kept_together_as_often_as_independent_draws_without_replacement():
    pairs = sum({3, 40} <= set(fed(np.zeros((60, 1)), [], 12, seed).sample()[1]) for seed in range(4000))
    expected = 4000 * 12 / 60 * 11 / 59
    assert abs(pairs - expected) < 5 * np.sqrt(expected)


def test_with_a_half_life_older_rows_are_kept_less_often():
    """Of which one row is kept: exactly in proportion to 2^(i / half_life)."""
    last = [int(fed(np.zeros((16, 1)), [7], 1, seed, 4.0).sample()[1][0]) for seed in range(5000)]
    share = 2.0 ** (np.arange(16) / 4)
    share /= share.sum()
    assert_allclose(np.bincount(last, minlength=16) / 5000, share, atol=5 * np.sqrt(share.max() / 5000))


@given(first=st.integers(0, 10_000), n=st.integers(0, 50), skip=st.integers(0, 50))
def test_the_number_of_a_row_depends_on_the_row_alone(first, n, skip):
    found = uniform_of_rows(first, skip + n, 7)
    assert_array_equal(uniform_of_rows(first + skip, n, 7), found[skip:])
    assert ((found > 0) & (found < 1)).all()
    assert len(np.unique(found)) == len(found)


def test_memory_is_bounded_and_small_batches_are_not_copied_over_and_over():
    X, reservoir = np.zeros((3000, 2)), Reservoir.empty(100, 0, 50.0)
    for row in X:
        reservoir = reservoir.updated(row[None])
        assert len(reservoir.numbers) <= SLACK * 100
        assert len(reservoir.blocks) <= 8
    assert sum(map(len, fed(X, [], 100).blocks)) == 100


def test_rows_are_copied():
    X = np.ones((5, 2))
    reservoir = fed(X, [])
    X[:] = 0
    assert reservoir.sample()[0].all()


def test_rows_are_stored_like_the_first_batch():
    dense, sparse = np.eye(3, dtype=np.float32), ShiftedSparse(sp.csr_array(np.eye(3)))
    kept = Reservoir.empty(20, 0).updated(dense).updated(sparse).sample()[0]
    assert kept.dtype == np.float32
    assert_array_equal(kept, np.tile(np.eye(3), (2, 1)))
    kept = Reservoir.empty(20, 0).updated(sparse).updated(dense).sample()[0]
    assert kept.dtype == np.float64
    assert_array_equal(kept.to_array(), np.tile(np.eye(3), (2, 1)))
    with pytest.raises(ValueError, match="must have no NaN"):
        Reservoir.empty(20, 0).updated(sparse).updated(np.full((1, 3), np.nan))


FORGED = {
    "size": 0, "seed": -1, "half_life": -1.0, "n_seen": 3, "numbers": np.arange(8)[::-1].copy(), "keys": np.zeros(3),
    "blocks": (np.zeros((3, 2)),),
}  # fmt: skip


@pytest.mark.parametrize("name", FORGED)
def test_forged_reservoirs_are_refused(name):
    reservoir = fed(np.zeros((8, 2)), [])
    reservoir.check()
    with pytest.raises(ValueError, match="must"):
        replace(reservoir, **{name: FORGED[name]}).check()
