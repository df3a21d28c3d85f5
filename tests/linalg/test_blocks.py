from hypothesis import given
from hypothesis import strategies as st

from graphlowrank.linalg.blocks import evenly_spaced, row_blocks


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
