import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphlowrank._threads import limit_threads
from graphlowrank.linalg.blocks import THREADED_ENTRIES, evenly_spaced, map_row_blocks, row_blocks, transposed_copy


@given(st.integers(0, 50), st.integers(0, 20), st.integers(1, 100), st.integers(1, 9))
def test_blocks_cover_every_row_once_and_stay_small(n_rows, width, entries, min_rows):
    blocks = list(row_blocks(n_rows, width, entries=entries, min_rows=min_rows))
    assert [row for block in blocks for row in range(n_rows)[block]] == list(range(n_rows))
    for block in blocks:
        assert 1 <= block.stop - block.start <= max(entries // max(width, 1), min_rows)


def test_evenly_spaced_rows_include_both_ends():
    assert evenly_spaced(10, 4).tolist() == [0, 3, 6, 9]
    assert evenly_spaced(3, 4).tolist() == [0, 1, 2]
    assert evenly_spaced(0, 4).tolist() == []


@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (7, 33), (5000, 450)])
def test_row_blocks_are_mapped_in_order_and_transposed(shape):
    X = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    with limit_threads(3):
        sums = map_row_blocks(lambda part: part.sum(dtype=np.float64), X)
        copy = transposed_copy(X)
    assert sum(sums) == pytest.approx(X.sum(dtype=np.float64))
    assert len(sums) == max(1, -(-shape[0] // max(THREADED_ENTRIES // shape[1], 1)))
    np.testing.assert_array_equal(copy, X.T)
    assert copy.flags.c_contiguous
