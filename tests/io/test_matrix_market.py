"""Matrix Market files."""

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from whole_files import refused, values_of

from graphlowrank.io import read

pytestmark = pytest.mark.usefixtures("without_worker")


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
        ("", "Not a Matrix Market file"),
        (
            "%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 1\n",
            "complex numbers; save their real parts",
        ),
        ("%%MatrixMarket matrix coordinate real general\n% only remarks\n", "damaged: .*Premature EOF"),
        ("%%MatrixMarket matrix coordinate real general\n2 2 99999999999\n1 1 1\n", "claims .* more than"),
        ("%%MatrixMarket matrix coordinate real general\n9999999999999999 2 1\n1 1 1\n", "more than"),
        ("%%MatrixMarket matrix coordinate real general\n200000000 2 1\n1 1 1.0\n", r"claims 1\.5 GiB .* in 68 bytes"),
        ("%%MatrixMarket matrix coordinate real general\n2 200000000 50000000\n1 1 1.0\n", "GiB of values in"),
        ("%%MatrixMarket matrix array real general\n20000000 2\n1\n", "GiB of values in"),
        ("%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 1\n", "Row index out of bounds"),
        ("%%MatrixMarket matrix coordinate real general\n2 2 1\n0 1 1\n", "Row index out of bounds"),
        ("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 x 1\n", "damaged"),
        ("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1.5 1\n", "not an integer"),
        ("%%MatrixMarket matrix coordinate real general\n2 2 1\n1.5 1 1\n", "not an integer"),
        ("%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n", "Truncated file"),
        ("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 1\n1 2 1\n", "Too many lines"),
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
