"""Every format, as other libraries write it: values, types, names, and what is refused."""

import gzip
import sys
from pathlib import Path

import h5py
import numpy as np
import pandas as pd
import pytest
import scipy.io
import scipy.sparse as sp
import whole_files as made
import zarr
from numpy.testing import assert_allclose, assert_array_equal
from whole_files import FEATURES, SAMPLES, S, X, refused, values_of

from graphlowrank.io import Table, memory, read, worker

# Format: dense or sparse content, whether it is mapped, names.
FOUND = {
    "csv": (X, False, (SAMPLES, FEATURES)), "csv.gz": (X, False, (SAMPLES, FEATURES)),
    "tsv": (X, False, (SAMPLES, FEATURES)),
    "parquet": (X, False, (SAMPLES, FEATURES)), "parquet zstd": (X, False, (SAMPLES, FEATURES)),
    "npy": (X, True, (None, None)), "npz": (X, False, (SAMPLES, None)), "npz sparse": (S, False, (None, None)),
    "mat": (X, False, (None, None)), "mat packed": (X, False, (None, None)), "mat sparse": (S, False, (None, None)),
    "mat 7.3": (X, True, (None, None)), "mat 7.3 sparse": (S, False, (None, None)),
    "h5": (X, True, (SAMPLES, None)), "h5 gzip": (X, False, (None, None)), "h5 lzf": (X, False, (None, None)),
    "h5 sparse": (S, False, (None, None)), "h5ad": (S, False, (SAMPLES, FEATURES)),
    "zarr 2": (X, False, (None, None)), "zarr 3": (X, False, (None, None)), "zarr blosc": (X, False, (SAMPLES, None)),
    "mtx": (S, False, (None, None)), "mtx array": (X, False, (None, None)), "mtx.gz": (S, False, (None, None)),
}  # fmt: skip


@pytest.mark.parametrize("kind", FOUND)
def test_every_format(tmp_path, kind):
    name, make, options = made.FORMATS[kind]
    make(tmp_path / name)
    content, mapped, names = FOUND[kind]
    table = read(tmp_path / name, **options)
    expected = content.toarray() if sp.issparse(content) else content
    assert table.is_sparse == sp.issparse(content)
    assert isinstance(table.values, sp.csr_array if table.is_sparse else np.ndarray)
    assert (", mapped)" in repr(table)) == mapped
    exact = table.values.dtype == np.float32
    assert_allclose(values_of(table), expected, rtol=0 if exact else 1e-6, atol=0 if exact else 1e-7)
    assert (table.sample_names, table.feature_names) == names
    assert set(FOUND) | {"pictures"} == set(made.FORMATS)


@pytest.mark.parametrize("dtype", ["f8", "f4", "i1", "u2", "i8", "u8"])
def test_types_stay_as_they_are(request, tmp_path, dtype):
    if dtype in {"f8", "i1", "i8"}:  # the others come through the pipe of a worker
        request.getfixturevalue("without_worker")
    array = np.arange(12).reshape(4, 3).astype(dtype)
    np.save(tmp_path / "x.npy", array)
    np.savez(tmp_path / "x.npz", data=array)
    scipy.io.savemat(tmp_path / "x.mat", {"fea": array})
    pd.DataFrame(array).rename(columns=str).to_parquet(tmp_path / "x.parquet")
    for name in ("x.npy", "x.npz", "x.mat", "x.parquet"):
        values = read(tmp_path / name).values
        assert values.dtype == array.dtype
        assert_array_equal(values, array)


@pytest.mark.parametrize(
    ("stored", "handed_on"), [(">f8", "f8"), ("f2", "f4"), ("?", "u1"), (">i2", "i2"), ("g", "f8")]
)
def test_other_types_become_usual_ones(tmp_path, stored, handed_on):
    np.save(tmp_path / "x.npy", np.array([[0, 1], [1, 0]]).astype(stored))
    values = read(tmp_path / "x.npy").values
    assert values.dtype == np.dtype(handed_on)
    assert_array_equal(values, [[0, 1], [1, 0]])


def test_by_columns_and_transposed(tmp_path):
    np.save(tmp_path / "x.npy", np.asfortranarray(X))
    assert_array_equal(read(tmp_path / "x.npy").values, X)
    assert_array_equal(read(tmp_path / "x.npy", transpose=True).values, X.T)
    made.make_market(tmp_path / "x.mtx")
    turned = read(tmp_path / "x.mtx", transpose=True).values
    assert isinstance(turned, sp.csr_array)
    assert_allclose(turned.toarray(), S.toarray().T, atol=1e-7)
    made.make_text(tmp_path / "x.csv")
    table = read(tmp_path / "x.csv", transpose=True)
    assert (table.sample_names, table.feature_names) == (FEATURES, SAMPLES)


def test_what_is_not_finite_is_kept(tmp_path):
    array = np.array([[np.nan, np.inf], [-np.inf, 0]])
    np.save(tmp_path / "x.npy", array)
    assert_array_equal(read(tmp_path / "x.npy").values, array)


@pytest.mark.parametrize(("name", "options"), [
    ("x.npy", {"key": "X"}), ("x.npz", {"header": True}), ("x.csv", {"key": "X"}), ("x.h5", {"graph": "distances"}),
])  # fmt: skip
def test_options_of_other_formats(tmp_path, name, options):
    refused(tmp_path / name, f"takes no {next(iter(options))}: that is for .*\\.(npz|csv|h5ad)", **options)


def test_unknown_files(tmp_path):
    refused(tmp_path, "holds no pictures")
    (tmp_path / "x.xlsx").write_bytes(b"")
    refused(tmp_path / "x.xlsx", r"not of a known kind: a folder of pictures or a file \.csv, ")
    (tmp_path / "x.zarr").mkdir()
    refused(tmp_path / "x.zarr", "not a zarr folder")
    (tmp_path / "y.zarr").write_bytes(b"")
    refused(tmp_path / "y.zarr", "is not a folder")
    for name in ("x.csv", "x.npy", "x.npz", "x.h5", "x.mat", "x.mtx", "x.parquet", "nothing"):
        with pytest.raises(FileNotFoundError):
            read(tmp_path / name)


@pytest.mark.parametrize(
    ("kind", "package"), [("parquet", "pyarrow"), ("h5", "h5py"), ("zarr 3", "zarr"), ("pictures", "PIL")]
)
def test_missing_packages_are_asked_for_by_name(tmp_path, monkeypatch, kind, package):
    name, make, options = made.FORMATS[kind]
    make(tmp_path / name)
    for module in [each for each in sys.modules if each.split(".")[0] == package]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, package, None)
    title = "Pillow" if package == "PIL" else package
    with pytest.raises(ImportError, match=rf"^Reading .* needs {title}: pip install graphlowrank\[io\]$"):
        read(tmp_path / name, **options)


def test_text_is_read_without_pyarrow(tmp_path, monkeypatch):
    made.make_text(tmp_path / "x.csv")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert read(tmp_path / "x.csv").shape == (12, 5)


def test_memory_that_is_free():
    assert 2**20 < memory.allowed_bytes() < 2**50
    assert repr(Table(S)) == "Table(shape=(12, 5), dtype=float32, sparse)"


def test_zip_bombs(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "allowed_bytes", lambda: 10**6)
    np.savez_compressed(tmp_path / "x.npz", X=np.zeros((2000, 100)))  # 1.6 MB, packed into 2 kB
    refused(tmp_path / "x.npz", "claims 1600000 bytes of values, more than the 1000000 bytes that fit into memory")
    scipy.io.savemat(tmp_path / "x.mat", {"X": np.zeros((2000, 100))}, do_compression=True)
    refused(tmp_path / "x.mat", "more than")
    pd.DataFrame(np.zeros((2000, 100))).rename(columns=str).to_parquet(tmp_path / "x.parquet")
    refused(tmp_path / "x.parquet", "more than")
    zarr.create_array(store=str(tmp_path / "x.zarr"), shape=(2000, 100), dtype="f8", chunks=(2000, 100))
    refused(tmp_path / "x.zarr", "more than")
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("X", data=np.zeros((2000, 100)), compression="gzip")
    refused(tmp_path / "x.h5", "more than")
    raw = b"%%MatrixMarket matrix array real general\n2000 100\n" + b"0\n" * 200000
    (tmp_path / "x.mtx.gz").write_bytes(gzip.compress(raw))
    refused(tmp_path / "x.mtx.gz", "more than")


def test_a_mapped_file_may_be_larger_than_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "allowed_bytes", lambda: 100)
    np.save(tmp_path / "x.npy", X)
    assert_array_equal(read(tmp_path / "x.npy").values, X)
    made.make_h5(tmp_path / "x.h5")
    monkeypatch.setattr(worker, "allowed_bytes", lambda: 2**30)
    assert_array_equal(read(tmp_path / "x.h5").values, X)


def test_no_pickle_and_no_eval_in_the_code():
    for path in Path(sys.modules["graphlowrank.io"].__file__).parent.rglob("*.py"):
        text = path.read_text()
        for word in ("allow_pickle=True", "pickle.load", "eval(", "exec(", "yaml.load", "np.load("):
            assert word not in text, path
