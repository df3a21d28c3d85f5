"""Files of numpy and scipy.sparse; which array is chosen; nothing is unpickled."""

import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
import whole_files as made
from numpy.testing import assert_array_equal
from whole_files import S, X, refused, values_of

from graphlowrank.io import read


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
    refused(tmp_path / "x.npy", "Python objects")
    np.savez(tmp_path / "x.npz", X=objects)
    refused(tmp_path / "x.npz", "no table of numbers")
    refused(tmp_path / "x.npz", "Python objects, which are not read", key="X")
    np.savez(tmp_path / "y.npz", format=objects, shape=objects, data=objects)
    refused(tmp_path / "y.npz", "Python objects, which are not read")
    folder = tmp_path / "x.zarr"
    folder.mkdir()
    text = '{"zarr_format": 2, "shape": [1, 1], "chunks": [1, 1], "dtype": "%s", "fill_value": 0, "order": "C", '
    (folder / "0.0").write_bytes(pickle.dumps([np.array([[Bomb(trace)]], dtype=object), [1, 1]]))
    for dtype, text_ in (("|O", "damaged: .*pickle"), ("<f8", "damaged: .*pickle")):
        packing = '"compressor": null, "filters": [{"id": "pickle", "protocol": 5}]}'
        (folder / ".zarray").write_text(text % dtype + packing)
        refused(folder, text_)
    assert not trace.exists()


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


@pytest.mark.parametrize("kind", ["coo", "csc"])
def test_rows_that_a_small_file_cannot_hold(tmp_path, kind):
    sp.save_npz(tmp_path / "x.npz", sp.coo_array((10**8, 2)).asformat(kind))
    refused(tmp_path / "x.npz", "claims 0.7 GiB of values in .* bytes; it is damaged")
