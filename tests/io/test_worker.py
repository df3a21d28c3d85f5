"""The worker process: crashes, hangs and overflows of a reader are one error; a new format is one registry entry."""

import time

import h5py
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from graphlowrank.io import formats, read, write_matrix
from graphlowrank.io.worker import run_guarded


@pytest.fixture
def path(tmp_path):
    (tmp_path / "x.toy").write_text("1 2\n3 4\n")
    return tmp_path / "x.toy"


@pytest.mark.parametrize(
    ("reader", "text"),
    [
        ("crash", "is damaged: the library that reads it crashed"),
        ("crash_midway", "is damaged: the library that reads it crashed"),
        ("fail_midway", "is damaged: chunk 3 cannot be decoded"),
        ("too_few_values", "is damaged: an array has fewer values than it claims"),
        ("overflow", "is too large or damaged: "),
        ("objects", "is damaged: an array holds object"),
    ],
)
def test_failures_of_a_reader_are_one_sentence(path, reader, text):
    with pytest.raises(ValueError, match=text) as caught:
        run_guarded(f"misbehaving:{reader}", path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith(".")


def test_a_reader_that_hangs_is_killed(path):
    start = time.monotonic()
    with pytest.raises(ValueError, match=r"x\.toy is damaged: the library that reads it did not finish within 1 s"):
        run_guarded("misbehaving:hang", path, timeout=1.0)
    assert time.monotonic() - start < 30


def test_files_that_cannot_be_opened(tmp_path):
    with pytest.raises(FileNotFoundError):
        run_guarded("misbehaving:print_much", tmp_path / "none")


def test_results_come_back_as_they_are(path):
    assert_array_equal(run_guarded("misbehaving:print_much", path)["values"], [[0, 1, 2], [3, 4, 5]])
    array, rest = run_guarded("misbehaving:transposed", path)["values"]
    assert array.flags.f_contiguous
    assert_array_equal(array, [[0, 3], [1, 4], [2, 5]])
    assert rest == {"name": "a", "none": None, "number": 3}


@pytest.mark.parametrize("is_guarded", [False, True])
def test_a_format_is_one_entry(path, monkeypatch, is_guarded):
    reader = "misbehaving:read_toy" if is_guarded else "misbehaving:read_toy_table"
    toy = formats.Format((".toy",), reader, "misbehaving:write_toy", options=("key",), is_guarded=is_guarded)
    monkeypatch.setattr(formats, "FORMATS", [*formats.FORMATS, toy])
    assert_array_equal(read(path, key="any").values, [[1, 2], [3, 4]])
    write_matrix(path, np.eye(2))
    assert_array_equal(read(path).values, np.eye(2))
    with pytest.raises(ValueError, match=r"known kind: .*\.toy"):
        write_matrix(path.with_suffix(".other"), np.eye(2))


def test_values_that_a_small_file_cannot_hold(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("X", (10**7, 10), "f8", chunks=(1000, 10))  # no chunk is written
    with pytest.raises(ValueError, match=r"GiB of values in .* bytes; it is damaged, or empty"):
        read(tmp_path / "x.h5")
