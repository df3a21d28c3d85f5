"""Matrices that are written: round trips, blocks, and no partial files."""

import os
from dataclasses import replace

import anndata
import h5py
import numpy as np
import pandas as pd
import polars
import pytest
import scipy.io
import scipy.sparse as sp
import whole_files as made
import zarr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_array_equal
from whole_files import FEATURES, SAMPLES, X

from graphlowrank import LowRankMatrix
from graphlowrank.io import read, write_matrix
from graphlowrank.io.formats import find_writer
from graphlowrank.io.scipy_io import write_matlab
from graphlowrank.io.table import Rows

pytestmark = pytest.mark.usefixtures("without_worker")

EXTENSIONS = ["csv", "tsv", "parquet", "npy", "npz", "mat", "h5", "hdf5", "h5ad", "zarr"]


def write_few_rows_at_a_time(path, matrix):
    find_writer(path)(path, replace(Rows.of(matrix, SAMPLES, FEATURES), block_bytes=60))  # three rows of X


def exact(extension):
    return extension not in {"csv", "tsv"}


TYPES = ["f8", "f4", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"]


NAMES = st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "Zs"]), max_size=6).map("a{}".format)


@st.composite
def tables(draw):
    dtype = np.dtype(draw(st.sampled_from(TYPES)))
    shape = draw(st.tuples(st.integers(1, 6), st.integers(1, 4)))
    values = draw(hnp.arrays(dtype, shape))
    samples, features = (
        draw(st.none() | st.lists(NAMES, min_size=length, max_size=length).map(tuple)) for length in shape
    )
    return values, samples, features


def check_round_trip(path, table):
    values, samples, features = table
    write_matrix(path, values, samples, features)
    found = read(path)
    extension = path.suffix[1:]
    if exact(extension):
        assert found.values.dtype == values.dtype
        assert_array_equal(found.values, values)
    else:  # text becomes double, and single precision is written with as many digits as it needs
        back = found.values.astype(values.dtype) if values.dtype.kind == "f" else found.values
        assert_array_equal(back, values if values.dtype.kind == "f" else values.astype(float))
    if extension == "npy":
        return
    counted = tuple(map(str, range(values.shape[1])))
    counts_samples = extension == "h5ad"
    counts_features = extension in {"h5ad", "parquet"} or (not exact(extension) and samples)
    assert found.sample_names == (samples or (tuple(map(str, range(len(values)))) if counts_samples else None))
    assert found.feature_names == (features or (counted if counts_features else None))


@pytest.mark.parametrize("extension", EXTENSIONS)
def test_round_trip(tmp_path, extension):
    @settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
    @given(tables())
    def check(table):
        check_round_trip(tmp_path / f"x.{extension}", table)

    check()


@pytest.mark.filterwarnings("ignore:The 'float_precision' argument is deprecated")  # pandas 3.1
def test_pandas_and_polars_read_it(tmp_path):
    write_matrix(tmp_path / "x.csv", X.astype(float), SAMPLES, FEATURES)
    frame = pd.read_csv(tmp_path / "x.csv", index_col=0, float_precision="round_trip")
    assert_array_equal(frame.to_numpy(), X.astype(float))
    assert (tuple(frame.index), tuple(frame.columns)) == (SAMPLES, FEATURES)
    write_matrix(tmp_path / "x.parquet", X, SAMPLES, FEATURES)
    assert_array_equal(polars.read_parquet(tmp_path / "x.parquet").select(FEATURES).to_numpy(), X)


def test_scipy_h5py_zarr_and_anndata_read_it(tmp_path):
    for extension in ("mat", "h5", "zarr", "h5ad", "npz", "npy"):
        write_matrix(tmp_path / f"x.{extension}", X, SAMPLES, FEATURES)
    found = scipy.io.loadmat(tmp_path / "x.mat", simplify_cells=True)
    assert_array_equal(found["X"], X)
    assert tuple(found["sample_names"]) == SAMPLES
    with h5py.File(tmp_path / "x.h5") as file:
        assert_array_equal(file["X"][:], X)
        assert tuple(file["feature_names"].asstr()[:]) == FEATURES
    assert_array_equal(zarr.open_group(tmp_path / "x.zarr", mode="r")["X"][:], X)
    data = anndata.read_h5ad(tmp_path / "x.h5ad")
    assert_array_equal(data.X, X)
    assert (tuple(data.obs_names), tuple(data.var_names)) == (SAMPLES, FEATURES)
    with np.load(tmp_path / "x.npz") as archive:
        assert_array_equal(archive["X"], X)
    assert_array_equal(np.load(tmp_path / "x.npy"), X)


class Asked:
    """A matrix that remembers which of its rows and columns were asked for."""

    shape, dtype = X.shape, X.dtype

    def __init__(self):
        self.largest = 0

    def __getitem__(self, index):
        block = X[index]
        self.largest = max(self.largest, block.size)
        return block

    def __array__(self, *args, **kwargs):
        pytest.fail("the whole matrix was asked for")


@pytest.mark.parametrize("extension", EXTENSIONS)
def test_rows_are_decoded_a_few_at_a_time(tmp_path, extension):
    asked = Asked()
    write_few_rows_at_a_time(tmp_path / f"x.{extension}", asked)
    assert 0 < asked.largest <= 15
    found = read(tmp_path / f"x.{extension}")
    assert_array_equal(found.values.astype(np.float32), X)
    assert found.sample_names in {SAMPLES, None if extension == "npy" else SAMPLES}


@pytest.mark.parametrize("extension", ["csv", "npy", "mat"])
def test_low_rank_and_sparse_matrices(tmp_path, extension):
    M = LowRankMatrix(np.eye(6, 2), np.array([3.0, 2.0]), np.eye(4, 2), np.arange(4.0))
    write_matrix(tmp_path / f"x.{extension}", M)
    assert_array_equal(read(tmp_path / f"x.{extension}").values, M.to_array())
    S = made.sparse().astype(float)
    for matrix in (S, sp.coo_matrix(S)):
        write_matrix(tmp_path / f"x.{extension}", matrix)
        assert_array_equal(read(tmp_path / f"x.{extension}").values, S.toarray())


class Breaks(Asked):
    def __getitem__(self, index):
        rows_ = index[1] if isinstance(index, tuple) else index
        if rows_.start:
            raise KeyboardInterrupt
        return super().__getitem__(index)


def remains(path):
    return {each.relative_to(path): each.read_bytes() for each in path.rglob("*") if each.is_file()}


@pytest.mark.parametrize("extension", EXTENSIONS)
def test_an_interrupted_file_leaves_nothing(tmp_path, extension):
    path = tmp_path / f"x.{extension}"
    with pytest.raises(KeyboardInterrupt):
        write_few_rows_at_a_time(path, Breaks())
    assert not list(tmp_path.iterdir())
    write_matrix(path, X)
    before = remains(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        write_few_rows_at_a_time(path, Breaks())
    assert remains(tmp_path) == before
    write_matrix(path, 2 * X)
    assert_array_equal(read(path).values.astype(np.float32), 2 * X)
    assert len(list(tmp_path.iterdir())) == 1


def test_a_folder_of_other_files_is_not_replaced(tmp_path):
    (tmp_path / "x.zarr").mkdir()
    (tmp_path / "x.zarr" / "thesis.txt").write_text("years of work")
    with pytest.raises(FileExistsError, match="other files, which are not replaced"):
        write_matrix(tmp_path / "x.zarr", X)
    assert (tmp_path / "x.zarr" / "thesis.txt").read_text() == "years of work"
    assert len(list(tmp_path.iterdir())) == 1


def test_a_failing_rename_leaves_the_older_folder(tmp_path, monkeypatch):
    path = tmp_path / "x.zarr"
    write_matrix(path, X)
    original = type(path).replace
    calls = []

    def failing(self, target):
        calls.extend([self] if target == path else [])
        if target == path and len(calls) == 1:
            raise PermissionError(13, "Permission denied")
        return original(self, target)

    monkeypatch.setattr(type(path), "replace", failing)
    with pytest.raises(OSError, match=r"cannot write .*x.zarr: Permission denied"):
        write_matrix(path, 2 * X)
    assert_array_equal(read(path).values, X)
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write anywhere")
def test_no_permission(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(OSError, match="cannot write"):
        write_matrix(tmp_path / "x.csv", X)


def test_wrong_matrices(tmp_path):
    for matrix, text in [
        (np.ones(3), r"two axes and at least one entry; got the shape \(3,\)"),
        (np.ones((0, 3)), "at least one entry"),
        (np.ones((2, 2)) * 1j, "real numbers; got complex128"),
        (np.array([["a"]]), "real numbers"),
    ]:
        with pytest.raises(ValueError, match=text):
            write_matrix(tmp_path / "x.csv", matrix)
    with pytest.raises(ValueError, match="sample_names must have 12 names; got 5"):
        write_matrix(tmp_path / "x.csv", X, FEATURES)
    with pytest.raises(ValueError, match=r"x.xlsx is not of a known kind: \.csv"):
        write_matrix(tmp_path / "x.xlsx", X)
    with pytest.raises(ValueError, match=r"2 GiB or more.*write an \.h5 file"):
        write_matlab(tmp_path / "x.mat", Rows.of(X, None, None), max_bytes=100)
    assert not list(tmp_path.iterdir())


def test_a_feature_may_have_the_name_of_the_index(tmp_path):
    path = tmp_path / "matrix.parquet"
    write_matrix(path, np.eye(2), ["p", "q"], ["a", "sample"])
    table = read(path)
    assert table.feature_names == ("a", "sample")
    assert table.sample_names == ("p", "q")
