"""Matlab files of versions 4 to 7.3."""

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from whole_files import S, X, refused, values_of

from graphlowrank.io import read

pytestmark = pytest.mark.usefixtures("without_worker")


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
    assert_array_equal(read(path).values, X)  # all values are there
    scipy.io.savemat(path, {"X": X, "S": S.tocsc()}, format="4")
    assert_array_equal(read(path, key="X").values, X)
    assert_array_equal(values_of(read(path, key="S")), S.toarray())
    scipy.io.savemat(path, {"X": np.ones((2, 2, 2))})
    refused(path, "two axes")
    path.write_bytes(b"")
    refused(path, "damaged: .*truncated|damaged: .*empty")
