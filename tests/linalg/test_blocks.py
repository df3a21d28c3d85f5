import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphlowrank.linalg.blocks import row_blocks


@given(st.integers(0, 50), st.integers(0, 20), st.integers(1, 100), st.integers(1, 9))
def test_blocks_cover_every_row_once_and_stay_small(n_rows, width, entries, min_rows):
    blocks = list(row_blocks(n_rows, width, entries=entries, min_rows=min_rows))
    assert [row for block in blocks for row in range(n_rows)[block]] == list(range(n_rows))
    for block in blocks:
        assert 1 <= block.stop - block.start <= max(entries // max(width, 1), min_rows)


@pytest.mark.parametrize(("max_rows", "n_blocks"), [(None, 1), (4, 3), (20, 1)])
def test_an_upper_bound_on_rows(max_rows, n_blocks):
    assert len(list(row_blocks(10, 1, entries=1000, max_rows=max_rows))) == n_blocks
