"""What is written comes back, block by block, and never half a file under its name."""

import csv
import json
import os
import warnings

import anndata
import h5py
import numpy as np
import pandas as pd
import polars
import pytest
import scipy.io
import scipy.sparse as sp
import zarr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_array_equal

import fuzz_tables as made
from graphlowrank import LowRankMatrix
from graphlowrank.io import read, write_labels, write_matrix
from graphlowrank.io.writing import matrix as matrix_module
from graphlowrank.io.writing import rows
from graphlowrank.io.writing.labels import check_labels_place

X = made.dense()
SAMPLES, FEATURES = tuple(made.SAMPLES), tuple(made.FEATURES)
EXTENSIONS = ["csv", "tsv", "parquet", "npy", "npz", "mat", "h5", "hdf5", "h5ad", "zarr"]
SLOW = {"h5", "hdf5", "h5ad"}  # a process each


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(rows, "BLOCK_BYTES", 60)  # three rows of X


def exact(extension):
    return extension not in {"csv", "tsv"}


# --- round trips -------------------------------------------------------------------------------------------------

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


@pytest.mark.parametrize("extension", [each for each in EXTENSIONS if each not in SLOW])
def test_round_trip(tmp_path, extension):
    @settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
    @given(tables())
    def check(table):
        check_round_trip(tmp_path / f"x.{extension}", table)

    check()


@pytest.mark.parametrize("extension", ["h5", "h5ad"])
def test_round_trip_of_hdf5(tmp_path, extension):
    @settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
    @given(tables())
    def check(table):
        check_round_trip(tmp_path / f"x.{extension}", table)

    check()


# --- other libraries read it -------------------------------------------------------------------------------------


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


# --- block by block ----------------------------------------------------------------------------------------------


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
@pytest.mark.usefixtures("small_blocks")
def test_rows_are_decoded_a_few_at_a_time(tmp_path, extension):
    asked = Asked()
    write_matrix(tmp_path / f"x.{extension}", asked, SAMPLES, FEATURES)
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


# --- whole or not there ------------------------------------------------------------------------------------------


class Breaks(Asked):
    def __getitem__(self, index):
        rows_ = index[1] if isinstance(index, tuple) else index
        if rows_.start:
            raise KeyboardInterrupt
        return super().__getitem__(index)


def remains(path):
    return {each.relative_to(path): each.read_bytes() for each in path.rglob("*") if each.is_file()}


@pytest.mark.parametrize("extension", EXTENSIONS)
@pytest.mark.usefixtures("small_blocks")
def test_an_interrupted_file_leaves_nothing(tmp_path, extension):
    path = tmp_path / f"x.{extension}"
    with pytest.raises(KeyboardInterrupt):
        write_matrix(path, Breaks(), SAMPLES, FEATURES)
    assert not list(tmp_path.iterdir())
    write_matrix(path, X)
    before = remains(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        write_matrix(path, Breaks(), SAMPLES, FEATURES)
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


def test_wrong_matrices(tmp_path, monkeypatch):
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
    monkeypatch.setattr(matrix_module, "_MAT_LIMIT", 100)
    with pytest.raises(ValueError, match=r"2 GiB or more.*write an \.h5 file"):
        write_matrix(tmp_path / "x.mat", X)
    assert not list(tmp_path.iterdir())


# --- labels ------------------------------------------------------------------------------------------------------

LABELS = np.arange(12) % 3


def test_labels_as_text(tmp_path):
    write_labels(tmp_path / "x.csv", LABELS, ["a,b", *SAMPLES[1:]], scores=X[:, :2].astype(float), column="cluster")
    with (tmp_path / "x.csv").open(newline="") as file:
        header, first, *_ = csv.reader(file)
    assert header == ["sample", "cluster", "score_0", "score_1"]
    assert first == ["a,b", "0", *map(repr, X[0, :2].astype(float).tolist())]
    write_labels(tmp_path / "x.tsv", ["u", "v"])
    assert (tmp_path / "x.tsv").read_text() == "sample\tlabel\n0\tu\n1\tv\n"


def test_labels_as_arrays(tmp_path):
    write_labels(tmp_path / "x.npy", LABELS, SAMPLES)
    assert_array_equal(np.load(tmp_path / "x.npy"), LABELS)
    write_labels(tmp_path / "x.npz", LABELS, SAMPLES, scores=X)
    with np.load(tmp_path / "x.npz") as archive:
        assert_array_equal(archive["labels"], LABELS)
        assert_array_equal(archive["sample_names"], SAMPLES)
        assert_array_equal(archive["scores"], X)
    write_labels(tmp_path / "x.parquet", LABELS, SAMPLES, scores=X)
    frame = pd.read_parquet(tmp_path / "x.parquet")
    assert list(frame.columns) == ["sample", "label", *[f"score_{number}" for number in range(5)]]
    assert_array_equal(frame["label"], LABELS)
    write_labels(tmp_path / "x.json", LABELS[:2], ["é", "b"], scores=[[1.5], [np.nan]])
    expected = {"sample": ["é", "b"], "label": [0, 1], "score_0": [1.5, None]}
    assert json.loads((tmp_path / "x.json").read_text(encoding="utf-8")) == expected


@pytest.mark.parametrize("extension", ["csv", "tsv", "json", "parquet"])
def test_confidence_and_named_scores_are_columns(tmp_path, extension):
    path = tmp_path / f"x.{extension}"
    confidence = np.linspace(0.123456, 1, 12)
    write_labels(path, LABELS, SAMPLES, confidence=confidence, scores=X[:, :2], score_names=["height", "width"])
    if extension == "json":
        frame = pd.DataFrame(json.loads(path.read_text(encoding="utf-8")))
    else:
        frame = pd.read_parquet(path) if extension == "parquet" else pd.read_csv(path, sep=None, engine="python")
    assert list(frame.columns) == ["sample", "label", "confidence", "height", "width"]
    assert tuple(frame["sample"]) == SAMPLES
    assert_array_equal(frame["label"], LABELS)
    assert_array_equal(frame["confidence"], confidence if extension == "parquet" else np.round(confidence, 4))
    assert_array_equal(frame["width"].astype(np.float32), X[:, 1])


def test_confidence_and_named_scores_are_arrays(tmp_path):
    confidence = np.linspace(0.5, 1, 12)
    write_labels(tmp_path / "x.npz", LABELS, confidence=confidence, scores=X[:, :2], score_names=["height", "width"])
    with np.load(tmp_path / "x.npz") as archive:
        assert set(archive.files) == {"labels", "confidence", "scores", "score_names"}
        assert_array_equal(archive["confidence"], confidence)
        assert archive["score_names"].tolist() == ["height", "width"]


def test_confidence_in_anndata_is_a_column_of_numbers(tmp_path):
    path = tmp_path / "x.h5ad"
    cells(path)
    for confidence in (np.linspace(0, 1, 12), np.linspace(0, 1, 12, dtype=np.float32)):  # the second replaces the first
        write_labels(path, LABELS, SAMPLES, confidence=confidence, column="fast", source=path)
        obs = anndata.read_h5ad(path).obs
        assert list(obs.columns) == ["depth", "fast", "fast_confidence"]
        assert_array_equal(obs["fast_confidence"], confidence)
        assert obs["fast_confidence"].dtype == confidence.dtype


def cells(path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = anndata.AnnData(X, pd.DataFrame({"depth": np.arange(12)}, index=SAMPLES), pd.DataFrame(index=FEATURES))
        data.uns["note"] = "kept"
        data.write_h5ad(path)


def test_labels_in_a_copy_of_anndata(tmp_path):
    cells(tmp_path / "in.h5ad")
    before = (tmp_path / "in.h5ad").read_bytes()
    write_labels(tmp_path / "out.h5ad", LABELS, SAMPLES, scores=X[:, :2], column="fast", source=tmp_path / "in.h5ad")
    assert (tmp_path / "in.h5ad").read_bytes() == before
    data = anndata.read_h5ad(tmp_path / "out.h5ad")
    assert list(data.obs.columns) == ["depth", "fast"]
    assert data.obs["fast"].astype(str).tolist() == list(map(str, LABELS))
    assert data.obs["fast"].dtype == "category"
    assert_array_equal(data.obsm["X_fast"], X[:, :2])
    assert_array_equal(data.X, X)
    assert data.uns["note"] == "kept"


def test_labels_in_anndata_itself(tmp_path):
    path = tmp_path / "x.h5ad"
    cells(path)
    for labels in (LABELS, np.array(["u", "v"] * 6)):  # the second ones replace the first
        write_labels(path, labels, scores=X, source=path)
        assert anndata.read_h5ad(path).obs["label"].astype(str).tolist() == list(map(str, labels))
    assert list(anndata.read_h5ad(path).obs.columns) == ["depth", "label"]
    assert len(list(tmp_path.iterdir())) == 1


def test_labels_in_new_anndata(tmp_path):
    write_labels(tmp_path / "x.h5ad", LABELS, SAMPLES, scores=X)
    data = anndata.read_h5ad(tmp_path / "x.h5ad")
    assert tuple(data.obs_names) == SAMPLES
    assert_array_equal(data.obsm["X_label"], X)


def test_labels_of_other_cells(tmp_path):
    path = tmp_path / "x.h5ad"
    cells(path)
    before = path.read_bytes()
    for labels, names, text in [
        (LABELS[:5], None, "has 12 samples; there are labels for 5"),
        (LABELS, SAMPLES[::-1], "samples of other names"),
    ]:
        with pytest.raises(ValueError, match=text):
            write_labels(path, labels, names, source=path)
    path.write_bytes(before[:2000])
    with pytest.raises(ValueError, match="damaged"):
        write_labels(tmp_path / "y.h5ad", LABELS, source=path)
    assert len(list(tmp_path.iterdir())) == 1


def test_wrong_labels(tmp_path):
    for arguments, text in [
        ({"labels": [0.5]}, "whole numbers or words"),
        ({"labels": [[1]]}, "one a sample"),
        ({"labels": []}, "one a sample"),
        ({"labels": [1], "sample_names": ["a", "b"]}, "sample_names must have 1 names; got 2"),
        ({"labels": [1], "scores": [1.0]}, r"shape \(1, k\); got \(1,\)"),
        ({"labels": [1], "confidence": [[1.0]]}, r"confidence must be numbers of shape \(1,\); got \(1, 1\)"),
        ({"labels": [1], "confidence": ["sure"]}, "confidence must be numbers"),
        ({"labels": [1], "score_names": ["a"]}, "score_names must have 0 names; got 1"),
        ({"labels": [1], "scores": [[1, 2]], "score_names": ["a", "a"]}, "score_names must differ from one another"),
        ({"labels": [1], "scores": [[1]], "score_names": ["label"]}, "score_names must differ"),
        ({"labels": [1], "column": "a/b"}, "without a slash"),
        ({"labels": [1], "column": "\n"}, "without a slash"),
        ({"labels": [1], "column": "confidence"}, "name of something else"),
        ({"labels": [1], "source": "x.h5ad"}, r"source is for \.h5ad files"),
    ]:
        with pytest.raises(ValueError, match=text):
            write_labels(tmp_path / "x.csv", **arguments)
    with pytest.raises(ValueError, match=r"x.txt is not of a known kind: \.csv"):
        write_labels(tmp_path / "x.txt", [1])
    assert not list(tmp_path.iterdir())


def test_columns_that_hold_the_names_of_samples(tmp_path):
    path = tmp_path / "x.h5ad"
    cells(path)
    with h5py.File(path, "r+") as file:
        file["obs"].move("_index", "cell")
        file["obs"].attrs["_index"] = "cell"
    before = path.read_bytes()
    for column, source in (("cell", path), ("_index", path), ("_index", None)):
        for check in (
            check_labels_place,
            lambda *place: write_labels(place[0], LABELS, column=place[1], source=place[2]),
        ):
            with pytest.raises(ValueError, match=f"column must not be '{column}', which holds the names"):
                check(tmp_path / "y.h5ad", column, source)
    check_labels_place(path, "label", path)
    check_labels_place(tmp_path / "y.h5ad", "cell")
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == {"x.h5ad": before}


def test_a_feature_may_have_the_name_of_the_index(tmp_path):
    path = tmp_path / "matrix.parquet"
    write_matrix(path, np.eye(2), ["p", "q"], ["a", "sample"])
    table = read(path)
    assert table.feature_names == ("a", "sample")
    assert table.sample_names == ("p", "q")
