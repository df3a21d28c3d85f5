"""Rows on disk are those of the source, and what is wrong with them is said with their numbers."""

from itertools import pairwise

import dask.array as da
import numpy as np
import pytest

from graphlowrank.outofcore.sources import Source
from graphlowrank.outofcore.storage import check_disk, store_rows
from graphlowrank.preprocessing.rows import fixed_blocks

X = np.random.default_rng(0).standard_normal((1000, 12))


def stored(array, folder, name="x.zarr"):
    return store_rows(Source(array.rechunk({1: -1}), name), folder)


@pytest.mark.parametrize("chunks", [(1000, 12), (333, 5), (1, 12), (256, 12)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16])
def test_rows_are_stored_in_their_precision(chunks, dtype, tmp_path):
    given = (10 * X).astype(dtype)
    rows = stored(da.from_array(given, chunks=chunks), tmp_path)
    assert rows.dtype == (np.float64 if dtype == np.int16 else dtype)
    assert len(rows.blocks) == 4
    np.testing.assert_array_equal(rows.to_array(), given)
    np.testing.assert_array_equal(rows[np.array([5, 999, 256])], given[[5, 999, 256]])
    np.testing.assert_array_equal(np.load(rows.path), given)


def test_steps_are_applied_to_what_is_read(tmp_path):
    rows = stored(da.from_array(X), tmp_path).after(np.abs).after(np.sqrt)
    np.testing.assert_array_equal(rows.read(1), np.sqrt(np.abs(X[256:512])))
    np.testing.assert_array_equal(rows[np.array([700])], np.sqrt(np.abs(X[700:701])))


def test_missing_values_are_noticed(tmp_path):
    given = X.copy()
    given[600, 3] = np.nan
    assert stored(da.from_array(given), tmp_path).has_missing


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X: X.__setitem__((600, 3), np.inf), "rows 512 to 767 of x.zarr: row 600 has an infinite value"),
        (lambda X: X.__setitem__(600, np.nan), "rows 512 to 767 of x.zarr: row 600 has no value"),
        (lambda X: X.__setitem__((slice(None), 7), np.nan), "feature 7 has no observed value"),
        (lambda X: X.__imul__(1e170), "the largest absolute value"),
    ],
)
def test_what_cannot_be_fitted_is_refused(change, message, tmp_path):
    given = X.copy()
    change(given)
    with pytest.raises(ValueError, match=message):
        stored(da.from_array(given, chunks=(300, 12)), tmp_path)


def test_a_chunk_of_another_shape_is_named(tmp_path):
    wrong = da.from_array(X, chunks=(250, 12)).map_blocks(
        lambda part, block_id=None: part[:, :11] if block_id == (3, 0) else part, dtype=float, chunks=(250, 12)
    )
    with pytest.raises(ValueError, match="rows 512 to 767"):
        stored(wrong, tmp_path)


def test_errors_of_the_source_name_the_rows(tmp_path):
    def fails(part, block_id=None):
        if block_id == (1, 0):
            raise RuntimeError("the disk is gone")
        return part

    broken = da.from_array(X, chunks=(256, 12)).map_blocks(fails, dtype=float, meta=np.empty((0, 0)))
    with pytest.raises(ValueError, match=r"rows 256 to 511 of x\.zarr: RuntimeError: the disk is gone"):
        stored(broken, tmp_path)


def test_a_full_disk_is_found_before_work(tmp_path):
    with pytest.raises(OSError, match=r"needs 1000000.0 GB of temporary files in .* free; give another folder"):
        check_disk(10**15, tmp_path)


def test_blocks_cover_all_rows_and_depend_on_the_shape_alone():
    for shape in [(1, 1), (255, 12), (256, 12), (257, 12), (10**6, 3), (1000, 10**7)]:
        blocks = fixed_blocks(shape)
        assert blocks[0].start == 0
        assert blocks[-1].stop == shape[0]
        assert all(one.stop == other.start for one, other in pairwise(blocks))
        assert len({rows.stop - rows.start for rows in blocks[:-1]}) <= 1
