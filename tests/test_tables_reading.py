"""Tables of binary formats, as numpy, scipy, pandas, polars, h5py, zarr and anndata write them; what is refused."""

import gzip
import pickle
import sys
import warnings
import zipfile
from pathlib import Path

import anndata
import h5py
import numcodecs
import numpy as np
import pandas as pd
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.io
import scipy.sparse as sp
import zarr
from numpy.testing import assert_allclose, assert_array_equal
from PIL import Image

import fuzz_tables as made
from graphlowrank.io import Table, memory, read
from graphlowrank.io.reading import hdf5, zarr_store

X = made.dense()
S = made.sparse()
SAMPLES, FEATURES = tuple(made.SAMPLES), tuple(made.FEATURES)


def values_of(table):
    return table.values.toarray() if table.is_sparse else np.asarray(table.values)


def refused(path, text, **options):
    with pytest.raises(ValueError, match=text) as caught:
        read(path, **options)
    message = str(caught.value)
    assert path.name in message
    assert "\n" not in message
    assert message.endswith(".")


# --- what others write -------------------------------------------------------------------------------------------

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
def test_types_stay_as_they_are(tmp_path, dtype):
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


# --- parquet -----------------------------------------------------------------------------------------------------


def test_frames_of_pandas_and_polars(tmp_path):
    frame = pd.DataFrame(X, index=SAMPLES, columns=FEATURES)
    frame.to_parquet(tmp_path / "x.parquet")
    polars.DataFrame({"who": SAMPLES, **dict(zip(FEATURES, X.T, strict=True))}).write_parquet(tmp_path / "y.parquet")
    frame.reset_index(drop=True).to_parquet(tmp_path / "z.parquet")
    for name, samples in {"x": SAMPLES, "y": SAMPLES, "z": None}.items():
        table = read(tmp_path / f"{name}.parquet")
        assert_array_equal(table.values, X)
        assert (table.sample_names, table.feature_names) == (samples, FEATURES)


def test_numbered_index_of_pandas_and_categories(tmp_path):
    pd.DataFrame(X, index=pd.Index(np.arange(5, 17), name="id")).rename(columns=str).to_parquet(tmp_path / "x.parquet")
    assert read(tmp_path / "x.parquet").sample_names == tuple(map(str, range(5, 17)))
    pd.DataFrame({"a": X[:, 0], "who": pd.Categorical(SAMPLES)}).to_parquet(tmp_path / "x.parquet")
    table = read(tmp_path / "x.parquet")
    assert (table.sample_names, table.feature_names) == (SAMPLES, ("a",))


def test_columns_of_several_types_and_missing_numbers(tmp_path):
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"a": pa.array([1, None, 3]), "b": pa.array([True, False, None])}), path)
    assert_array_equal(read(path).values, [[1, 1], [np.nan, 0], [3, np.nan]])
    pq.write_table(pa.table({"a": pa.array([1, 2], pa.int8()), "b": pa.array([1, 2], pa.int32())}), path)
    assert read(path).values.dtype == np.int32
    pq.write_table(pa.table({"a": pa.array([1.5, None]), "b": pa.array([1, 2])}), path)
    assert_array_equal(read(path).values, [[1.5, 1], [np.nan, 2]])
    pq.write_table(pa.Table.from_arrays([pa.array([1.0]), pa.array([2.0])], ["a", "a"]), path)
    assert read(path).feature_names == ("a", "a")


def test_parquet_that_is_no_table(tmp_path):
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"n": ["a"], "v": [1.0], "city": ["Bern"]}), path)
    refused(path, "string where numbers are due, in column 'city': the first is 'Bern'; leave")
    pq.write_table(pa.table({"v": [1.0], "when": [pd.Timestamp(0)]}), path)
    refused(path, "timestamp.*in column 'when'")
    pq.write_table(pa.table({"v": [[1.0]]}), path)
    refused(path, "list<.*in column 'v'")
    pq.write_table(pa.table({"n": ["a"]}), path)
    refused(path, "has no columns of numbers")
    pq.write_table(pa.table({"v": pa.array([], pa.float64())}), path)
    refused(path, "has no rows")


# --- which array -------------------------------------------------------------------------------------------------


def test_choosing_by_key(tmp_path):
    path = tmp_path / "x.npz"
    np.savez(path, a=X, b=2 * X, y=np.arange(12))
    refused(path, "holds several tables: a, b; choose one by key")
    assert_array_equal(read(path, key="b").values, 2 * X)
    refused(path, r"holds no 'c'; it holds a \(12, 5\), b \(12, 5\), y \(12,\)", key="c")
    refused(path, r"array of shape \(12,\); a table has two axes", key="y")
    np.savez(path, a=X, data=2 * X)
    assert_array_equal(read(path).values, 2 * X)
    np.savez(path, y=np.arange(12), t=np.ones((2, 2, 2)))
    refused(path, r"no table of numbers with two axes; it holds y \(12,\), t \(2, 2, 2\)")
    scipy.io.savemat(tmp_path / "x.mat", {"first": X, "y": np.arange(12), "name": "abc", "s": {"a": 1}})
    assert_array_equal(read(tmp_path / "x.mat").values, X)  # Matlab's vectors have two axes but are not in the way


def test_arrays_in_groups(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["one/a"] = X
        file["one/sample_names"] = list(SAMPLES)
        file["two/b"] = 2 * X
        file["two/link"] = h5py.ExternalLink("elsewhere.h5", "/X")
    refused(tmp_path / "x.h5", "several tables: two/b, one/a|several tables: one/a, two/b")
    assert read(tmp_path / "x.h5", key="/one/a").sample_names == SAMPLES
    assert_array_equal(read(tmp_path / "x.h5", key="two/b").values, 2 * X)
    group = zarr.create_group(store=str(tmp_path / "x.zarr"))
    group.create_array("one/a", data=X)
    group.create_array("b", data=2 * X)
    assert_array_equal(read(tmp_path / "x.zarr", key="one/a").values, X)
    refused(tmp_path / "x.zarr", "several tables: b, one/a")


@pytest.mark.parametrize(("name", "options"), [
    ("x.npy", {"key": "X"}), ("x.npz", {"header": True}), ("x.csv", {"key": "X"}), ("x.h5", {"graph": "distances"}),
])  # fmt: skip
def test_options_of_other_formats(tmp_path, name, options):
    refused(tmp_path / name, f"takes no {next(iter(options))}: that is for .*\\.(npz|csv|h5ad)", **options)


# --- AnnData -----------------------------------------------------------------------------------------------------


def cells(matrix=S):
    frame = pd.DataFrame({"depth": np.arange(12)}, index=pd.Index(SAMPLES, name="cell"))
    data = anndata.AnnData(matrix, obs=frame, var=pd.DataFrame(index=FEATURES))
    data.obsp["connectivities"] = sp.random(12, 12, 0.3, format="csr", random_state=1)
    data.layers["counts"] = X
    return data


def test_anndata(tmp_path):
    data = cells()
    data.raw = data
    data = data[:, :3].copy()
    data.write_h5ad(tmp_path / "x.h5ad")
    table = read(tmp_path / "x.h5ad", graph="connectivities")
    assert_array_equal(values_of(table), S.toarray()[:, :3])
    assert (table.sample_names, table.feature_names) == (SAMPLES, FEATURES[:3])
    assert_array_equal(table.graph.toarray(), data.obsp["connectivities"].toarray())
    assert_array_equal(values_of(read(tmp_path / "x.h5ad", key="counts")), X[:, :3])
    whole = read(tmp_path / "x.h5ad", key="raw")
    assert_array_equal(values_of(whole), S.toarray())
    assert whole.feature_names == FEATURES
    assert read(tmp_path / "x.h5ad").graph is None
    refused(tmp_path / "x.h5ad", "holds no 'other'; choose by key one of: X, counts, raw", key="other")
    refused(tmp_path / "x.h5ad", "holds no graph 'distances'; it holds connectivities", graph="distances")


def test_anndata_by_columns_and_packed(tmp_path):
    cells(S.tocsc()).write_h5ad(tmp_path / "x.h5ad", compression="gzip")
    assert_array_equal(values_of(read(tmp_path / "x.h5ad")), S.toarray())
    cells(X).write_h5ad(tmp_path / "x.h5ad", compression="gzip")
    assert_array_equal(values_of(read(tmp_path / "x.h5ad")), X)


# --- HDF5 in a process of its own --------------------------------------------------------------------------------


def worker(tmp_path, monkeypatch, code):
    script = tmp_path / "worker.py"
    script.write_text(code)
    monkeypatch.setattr(hdf5, "_SCRIPT", script)
    made.make_h5(tmp_path / "x.h5")
    return tmp_path / "x.h5"


def test_a_crash_of_the_library_is_a_sentence(tmp_path, monkeypatch):
    refused(worker(tmp_path, monkeypatch, "import os; os.abort()"), "damaged: the HDF5 library crashes on it")


def test_a_loop_of_the_library_is_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(hdf5, "SILENCE", 0.5)
    path = worker(tmp_path, monkeypatch, "print('{}', flush=True)\nwhile True: pass")
    refused(path, "damaged: the HDF5 library does not come to an end on it")


def test_a_crash_amid_the_rows(tmp_path, monkeypatch):
    code = (
        "import sys, os, json\nprint('{}', flush=True); sys.stdin.readline()\n"
        "node = dict(attributes={}, shape=[2, 2], dtype='<f8', text=False, place=None, elsewhere=False)\n"
        "print(json.dumps({'X': node}), flush=True); sys.stdin.readline()\n"
        "sys.stdout.write('32\\nabc'); sys.stdout.flush(); os.abort()"
    )
    refused(worker(tmp_path, monkeypatch, code), "the HDF5 library crashes on it")


def test_hdf5_is_not_loaded_here(tmp_path):
    import subprocess

    made.make_h5(tmp_path / "x.h5")
    code = (
        "import sys; from graphlowrank.tables import read; "
        f"print(read({str(tmp_path / 'x.h5')!r}).shape, 'h5py' in sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "(12, 5) False"


def test_large_arrays_come_in_blocks(tmp_path):
    big = np.random.default_rng(0).standard_normal((3000, 500))  # 12 MB: several blocks
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("X", data=big, chunks=(100, 70), shuffle=True)
    assert_array_equal(read(tmp_path / "x.h5").values, big)


def test_other_hdf5(tmp_path):
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        file["X"] = X * 1j
    refused(path, "no table of numbers")
    refused(path, "complex numbers; save their real parts", key="X")
    with h5py.File(path, "w") as file:
        file.create_dataset("X", shape=(10**9, 10**6), dtype="f8", chunks=(10, 10))  # holds nothing, claims 8 PB
    refused(path, "claims .* GiB of values, more than")
    with h5py.File(path, "w") as file:
        file.create_dataset("X", shape=(4, 4), dtype="f8", external=[("other.raw", 0, 128)])
    refused(path, "in other files, which are not followed")
    with h5py.File(path, "w") as file:
        file.create_dataset("X", data=[["a", "b"]], dtype=h5py.string_dtype())
    refused(path, "text or records", key="X")
    with h5py.File(path, "w") as file:
        file["X/data"], file["X/indices"], file["X/indptr"] = S.data, S.indices, S.indptr
    refused(path, "does not say which shape")
    path.write_bytes(b"")
    refused(path, "damaged")


def test_cells_of_10x_genomics(tmp_path):
    by_cell = S.T.tocsc()  # genes by cells, by columns
    with h5py.File(tmp_path / "x.h5", "w") as file:
        for part in ("data", "indices", "indptr", "shape"):
            file[f"matrix/{part}"] = np.asarray(getattr(by_cell, part))
        file["matrix/features/name"] = list(FEATURES)
    assert_array_equal(values_of(read(tmp_path / "x.h5", transpose=True)), S.toarray())


# --- sparse parts that do not fit --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"indices": S.indices + 100}, "indices outside its shape"),
        ({"indices": S.indices - 1}, "indices outside its shape"),
        ({"indices": S.indices.astype(float)}, "not whole numbers"),
        ({"indices": S.indices[:-1]}, "do not fit"),
        ({"indptr": S.indptr[::-1]}, "do not fit"),
        ({"indptr": S.indptr * 2}, "do not fit"),
        ({"indptr": np.where(np.arange(13) == 5, 10**6, S.indptr)}, "do not fit"),
        ({"shape": np.array([10**15, 5])}, "do not fit"),
        ({"shape": np.array([10**15, 12]), "format": np.array("csc")}, "claims .* more than"),
        ({"shape": np.array([12, -5])}, "has no columns"),
        ({"shape": np.array([12])}, "no two lengths"),
        ({"data": S.data * 1j}, "complex"),
        ({"format": np.array("dia")}, "of format 'dia'; save it as csr"),
    ],
)
def test_sparse_parts_are_checked(tmp_path, change, text):
    parts = {"format": np.array("csr"), "shape": np.array(S.shape), "data": S.data}
    np.savez(tmp_path / "x.npz", **{**parts, "indices": S.indices, "indptr": S.indptr, **change})
    refused(tmp_path / "x.npz", text)


@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
def test_sparse_files_of_scipy(tmp_path, kind):
    sp.save_npz(tmp_path / "x.npz", S.asformat(kind))
    assert_array_equal(values_of(read(tmp_path / "x.npz")), S.toarray())


@pytest.mark.parametrize("symmetry", ["symmetric", "skew-symmetric"])
@pytest.mark.parametrize("field", ["real", "integer"])
def test_matrix_market_agrees_with_scipy(tmp_path, symmetry, field):
    half = np.tril(np.arange(25.0).reshape(5, 5), -1)
    matrix = sp.coo_array(half + half.T if symmetry == "symmetric" else half - half.T)
    scipy.io.mmwrite(tmp_path / "x.mtx", matrix.astype(int) if field == "integer" else matrix, symmetry=symmetry)
    table = read(tmp_path / "x.mtx")
    assert_array_equal(values_of(table), matrix.toarray())
    assert table.values.dtype == (np.int64 if field == "integer" else np.float64)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("", "first line"),
        ("%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 1\n", "complex and general"),
        ("%%MatrixMarket matrix coordinate real general\n% only remarks\n", "no sizes"),
        ("%%MatrixMarket matrix coordinate real general\n2 2 99999999999\n1 1 1\n", "more than its bytes can hold"),
        ("%%MatrixMarket matrix coordinate real general\n9999999999999999 2 1\n1 1 1\n", "more than"),
        ("%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 1\n", "do not fit"),
        ("%%MatrixMarket matrix coordinate real general\n2 2 1\n0 1 1\n", "places that are not 1, 2"),
        ("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1.5 1\n", "places that are not 1, 2"),
        ("%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n", "1 entries"),
        ("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 1\n1 2 1\n", "more entries"),
        ("%%MatrixMarket matrix coordinate real symmetric\n2 3 1\n1 1 1\n", "symmetric but of shape"),
        ("%%MatrixMarket matrix coordinate real general\n0 3 0\n", "has no rows"),
        ("%%MatrixMarket matrix array real general\n2 1\n1\nx\n", "damaged"),
    ],
)
def test_matrix_market_refused(tmp_path, content, text):
    (tmp_path / "x.mtx").write_text(content)
    refused(tmp_path / "x.mtx", text)


def test_matrix_market_pattern(tmp_path):
    (tmp_path / "x.mtx").write_text("%%MatrixMarket matrix coordinate pattern general\n%\n2 3 2\n1 3\n2 1\n")
    assert_array_equal(values_of(read(tmp_path / "x.mtx")), [[0, 0, 1], [1, 0, 0]])


# --- Matlab ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("packed", [False, True])
def test_matlab_agrees_with_scipy(tmp_path, packed):
    rng = np.random.default_rng(0)
    content = {
        "double": rng.standard_normal((4, 3)), "whole": np.arange(12.0).reshape(4, 3), "logical": np.eye(3, dtype=bool),
        "int": np.arange(6, dtype=np.int32).reshape(2, 3) * 70000, "sparse": S.tocsc(), "text": "abc",
        "sparse_logical": S.tocsc().astype(bool), "a_very_long_name_of_31_letters_": X,
        "cell": np.array([1, "a"], object),        "empty": sp.csc_array((3, 4)), "struct": {"a": 1},
    }  # fmt: skip
    path = tmp_path / "x.mat"
    scipy.io.savemat(path, content, do_compression=packed)
    expected = scipy.io.loadmat(path)
    for name in (
        "double",
        "whole",
        "logical",
        "int",
        "sparse",
        "sparse_logical",
        "a_very_long_name_of_31_letters_",
        "empty",
    ):
        found = expected[name]
        assert_array_equal(values_of(read(path, key=name)), found.toarray() if sp.issparse(found) else found, name)
    for name in ("text", "cell", "struct"):
        refused(path, "text or records", key=name)


def test_other_matlab(tmp_path):
    path = tmp_path / "x.mat"
    scipy.io.savemat(path, {"X": X * 1j})
    refused(path, "complex", key="X")
    scipy.io.savemat(path, {"X": X}, do_compression=True)
    path.write_bytes(path.read_bytes()[:-1] + b"?")  # of the checksum
    refused(path, "damaged")
    raw = path.read_bytes()
    path.write_bytes(raw[:132] + (len(raw) - 140).to_bytes(4, "little") + raw[136:-4])  # without it
    refused(path, "a packed part does not end where it should")
    scipy.io.savemat(path, {"X": X}, format="4")
    refused(path, "not a Matlab file of version 5")
    scipy.io.savemat(path, {"X": np.ones((2, 2, 2))})
    refused(path, "two axes")
    path.write_bytes(b"")
    refused(path, "not a Matlab file")


# --- nothing is executed, nothing is unpacked that does not fit ---------------------------------------------------


class Bomb:
    """Leaves a file if it is ever unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (Path(self.path),)


def test_pickles_are_never_loaded(tmp_path):
    trace = tmp_path / "executed"
    objects = np.array([[Bomb(trace)]], dtype=object)
    np.save(tmp_path / "x.npy", objects, allow_pickle=True)
    refused(tmp_path / "x.npy", "Python objects, which are not read")
    np.savez(tmp_path / "x.npz", X=objects)
    refused(tmp_path / "x.npz", "no table of numbers")
    refused(tmp_path / "x.npz", "Python objects, which are not read", key="X")
    np.savez(tmp_path / "y.npz", format=objects, shape=objects, data=objects)
    refused(tmp_path / "y.npz", "Python objects, which are not read")
    folder = tmp_path / "x.zarr"
    folder.mkdir()
    text = '{"zarr_format": 2, "shape": [1, 1], "chunks": [1, 1], "dtype": "%s", "fill_value": 0, "order": "C", '
    (folder / "0.0").write_bytes(pickle.dumps([np.array([[Bomb(trace)]], dtype=object), [1, 1]]))
    for dtype, text_ in (("|O", "other than real numbers"), ("<f8", "packed by the codec 'pickle', which is not read")):
        packing = '"compressor": null, "filters": [{"id": "pickle", "protocol": 5}]}'
        (folder / ".zarray").write_text(text % dtype + packing)
        refused(folder, text_)
    assert not trace.exists()


def test_no_pickle_and_no_eval_in_the_code():
    for path in Path(sys.modules["graphlowrank.io"].__file__).parent.rglob("*.py"):
        text = path.read_text()
        for word in ("allow_pickle=True", "pickle.load", "eval(", "exec(", "yaml.load", "np.load("):
            assert word not in text, path


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
    monkeypatch.setattr(hdf5, "allowed_bytes", lambda: 2**30)
    assert_array_equal(read(tmp_path / "x.h5").values, X)


def test_a_member_larger_than_its_header_says(tmp_path):
    made.make_npz(tmp_path / "x.npz")
    with zipfile.ZipFile(tmp_path / "x.npz") as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    for change, text in (
        (content["X.npy"] + b"more", "more bytes"),
        (content["X.npy"][:-4], "expected 240 bytes got 236"),
    ):
        with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
            archive.writestr("X.npy", change)
        refused(tmp_path / "x.npz", text)


def test_too_many_chunks(tmp_path, monkeypatch):
    monkeypatch.setattr(zarr_store, "MAX_CHUNKS", 10)
    zarr.create_array(store=str(tmp_path / "x.zarr"), shape=(12, 1), dtype="f8", chunks=(1, 1))
    refused(tmp_path / "x.zarr", "has 12 chunks, more than the 10 allowed; write it in larger ones")


# --- zarr --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("packing", [None, numcodecs.Zlib(), numcodecs.LZ4(), numcodecs.Zstd(), numcodecs.Blosc()])
def test_codecs_of_zarr_2(tmp_path, packing):
    zarr.create_array(store=str(tmp_path / "x.zarr"), data=X, chunks=(5, 2), zarr_format=2, compressors=packing)
    assert_array_equal(read(tmp_path / "x.zarr").values, X)


def test_shards_and_sparse_groups_of_zarr(tmp_path):
    zarr.create_array(store=str(tmp_path / "x.zarr"), data=X, chunks=(3, 1), shards=(6, 5))
    assert_array_equal(read(tmp_path / "x.zarr").values, X)
    refused(tmp_path / "x.zarr", "is a single array, so it holds no 'X'", key="X")
    for matrix, kind in ((S, "csr_matrix"), (S.tocsc(), "csc_matrix")):
        group = zarr.create_group(store=str(tmp_path / f"{kind}.zarr"))
        inner = group.create_group("X", attributes={"encoding-type": kind, "shape": list(S.shape)})
        for part in ("data", "indices", "indptr"):
            inner.create_array(part, data=getattr(matrix, part))
        assert_array_equal(values_of(read(tmp_path / f"{kind}.zarr")), S.toarray())


def test_blosc_chunks_are_as_long_as_they_say(tmp_path):
    made.make_blosc_zarr(tmp_path / "x.zarr")
    chunk = tmp_path / "x.zarr" / "X" / "c" / "0" / "0"
    raw = chunk.read_bytes()
    for changed in (raw[:-1], raw[:16], raw[:3], raw + b"x", raw[:4] + b"\xff\xff\xff\x7f" + raw[8:]):
        chunk.write_bytes(changed)
        refused(tmp_path / "x.zarr", "chunk 0 does not have the length that it says")
    packing = zarr.codecs.BloscCodec()
    zarr.create_array(store=str(tmp_path / "y.zarr"), data=X, chunks=(3, 1), shards=(6, 5), compressors=packing)
    refused(tmp_path / "y.zarr", "Blosc inside of shards")


def test_anndata_in_zarr(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cells(X).write_zarr(tmp_path / "x.zarr")
    assert_array_equal(values_of(read(tmp_path / "x.zarr")), X)


# --- pictures, extensions, packages -------------------------------------------------------------------------------


def test_pictures_by_number(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 256, (3, 6, 4), dtype=np.uint8)
    for row, number in enumerate((1, 2, 10)):
        Image.fromarray(pixels[row]).save(tmp_path / f"p{number}.png")
    (tmp_path / "notes.txt").write_text("no picture")
    table = read(tmp_path)
    assert_array_equal(table.values, pixels.reshape(3, 24))
    assert (table.sample_names, table.picture) == (("p1.png", "p2.png", "p10.png"), (6, 4))
    Image.fromarray(pixels[0]).convert("RGB").save(tmp_path / "p3.png")
    assert_array_equal(read(tmp_path).values[2], pixels[0].ravel())
    Image.fromarray(pixels[0, :, :3]).save(tmp_path / "p4.png")
    with pytest.raises(ValueError, match=r"p4.png is 3 x 6 pixels of 8 bits, unlike the first picture"):
        read(tmp_path)


def test_pictures_of_16_bits(tmp_path):
    pixels = np.arange(24, dtype=np.uint16).reshape(6, 4) * 2000
    Image.fromarray(pixels).save(tmp_path / "a.png")
    values = read(tmp_path).values
    assert values.dtype == np.uint16
    assert_array_equal(values[0], pixels.ravel())


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


def test_empty_arrays(tmp_path):
    for shape, text in {(0, 3): "has no rows", (3, 0): "has no columns"}.items():
        np.save(tmp_path / "x.npy", np.empty(shape))
        refused(tmp_path / "x.npy", text)
        np.savez(tmp_path / "x.npz", X=np.empty(shape))
        refused(tmp_path / "x.npz", text)
    np.save(tmp_path / "x.npy", np.array([["a", "b"]]))
    refused(tmp_path / "x.npy", "text")
    np.save(tmp_path / "x.npy", np.ones((2, 2)) * 1j)
    refused(tmp_path / "x.npy", "complex numbers")
    np.save(tmp_path / "x.npy", np.ones(3))
    refused(tmp_path / "x.npy", r"shape \(3,\)")


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
