"""Rows of every kind of source are those of the array it was made from."""

import dask.array as da
import h5py
import numpy as np
import pandas as pd
import pytest
import zarr

from graphlowrank.outofcore.sources import is_lazy, open_source

X = np.random.default_rng(0).standard_normal((700, 5)).astype(np.float32)


def npy(folder):
    np.save(folder / "x.npy", X)
    return folder / "x.npy"


def zarr_path(folder):
    zarr.create_array(str(folder / "x.zarr"), shape=X.shape, dtype=X.dtype, chunks=(90, 2))[:] = X
    return str(folder / "x.zarr")


def zarr_group(folder):
    group = zarr.open_group(str(folder / "g.zarr"), mode="w")
    group.create_array("X", shape=X.shape, dtype=X.dtype)[:] = X
    group.create_array("names", shape=(3,), dtype=np.float32)[:] = 1
    return folder / "g.zarr"


def hdf5(folder, **options):
    with h5py.File(folder / "x.h5", "w") as file:
        file.create_dataset("table/X", data=X, **options)
    return folder / "x.h5"


def parquet(folder):
    pd.DataFrame(X, columns=list("abcde")).to_parquet(folder / "x.parquet", row_group_size=110)
    return folder / "x.parquet"


def mapped(folder):
    return np.load(npy(folder), mmap_mode="r")


SOURCES = {
    "npy": npy,
    "zarr path": zarr_path,
    "zarr group": zarr_group,
    "zarr array": lambda folder: zarr.open(zarr_path(folder), mode="r"),
    "hdf5 path": hdf5,
    "hdf5 chunks": lambda folder: hdf5(folder, chunks=(64, 2), compression="gzip"),
    "hdf5 dataset": lambda folder: h5py.File(hdf5(folder), "r")["table/X"],
    "parquet": parquet,
    "mapped": mapped,
    "dask": lambda _: da.from_array(X, chunks=(111, 3)),
    "unknown chunks": lambda _: da.from_array(X, chunks=(111, 5))[da.from_array(np.ones(700, bool), chunks=111)],
}


@pytest.mark.parametrize("name", SOURCES)
def test_every_source_has_the_same_rows(name, tmp_path):
    given = SOURCES[name](tmp_path)
    assert is_lazy(given) == (name != "mapped")
    source = open_source(given)
    assert source.shape == X.shape
    assert source.array.dtype == np.float32
    assert len(source.array.chunks[1]) == 1
    np.testing.assert_array_equal(source.array.compute(), X)
    np.testing.assert_array_equal(source.array[130:420].compute(), X[130:420])


def test_arrays_in_memory_are_not_lazy():
    assert not any(map(is_lazy, (X, X.tolist(), pd.DataFrame(X), None, 3)))


def test_missing_integers_are_missing(tmp_path):
    table = pd.DataFrame({"a": pd.array([1, None, 3], dtype="Int64"), "b": pd.array([1, 2, 3], dtype="int8")})
    table.to_parquet(tmp_path / "x.parquet")
    np.testing.assert_array_equal(open_source(tmp_path / "x.parquet").array.compute(), [[1, 1], [np.nan, 2], [3, 3]])


def test_columns_of_text_are_refused_by_name(tmp_path):
    pd.DataFrame({"a": [1.0, 2], "city": ["x", "y"]}).to_parquet(tmp_path / "x.parquet")
    with pytest.raises(ValueError, match=r"x\.parquet has columns that are no numbers \('city'\)"):
        open_source(tmp_path / "x.parquet")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda folder: folder / "x.csv", "No such file"),
        (
            lambda folder: (folder / "y.csv").write_text("1,2\n") and folder / "y.csv",
            "is not read in parts; use one of",
        ),
        (lambda folder: np.save(folder / "f.npy", np.asfortranarray(X)) or folder / "f.npy", "one after the other"),
        (lambda folder: np.save(folder / "v.npy", X[0]) or folder / "v.npy", "two axes"),
        (lambda folder: np.save(folder / "t.npy", np.array([["a"]])) or folder / "t.npy", "text or records"),
        (lambda _: da.ones((3, 4, 5)), "two axes"),
        (lambda _: da.ones((3, 4), dtype=complex), "real numbers"),
        (lambda _: da.ones((0, 4)), "no samples"),
    ],
)
def test_what_is_no_table_is_refused(make, message, tmp_path):
    with pytest.raises((ValueError, OSError), match=message):
        open_source(make(tmp_path))


def test_a_damaged_chunk_is_named(tmp_path):
    path = zarr_path(tmp_path)
    chunk = next(file for file in sorted((tmp_path / "x.zarr").rglob("c/3/*")) if file.is_file())
    chunk.write_bytes(b"damaged")
    with pytest.raises(ValueError, match=r"x\.zarr cannot be read"):
        open_source(path).array.compute()


def test_a_truncated_file_is_refused(tmp_path):
    path = npy(tmp_path)
    path.write_bytes(path.read_bytes()[:-1000])
    with pytest.raises(ValueError, match=r"x\.npy"):
        open_source(path)
