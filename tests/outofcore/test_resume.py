"""Arrays that are written block by block, and continued after a stop."""

import json
from contextlib import contextmanager

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from graphlowrank.outofcore.resume import (
    DATA,
    LOG,
    MANIFEST,
    Column,
    ResumeError,
    begun,
    continued,
    differences,
    identity_of,
    partial_folder,
)

zarr = pytest.importorskip("zarr")

BLOCKS = [slice(0, 4), slice(4, 8), slice(8, 10)]
COLUMNS = [Column("label", np.dtype(np.int64)), Column("rows", np.dtype(np.float32), 3)]
ABOUT = {"input": "x.zarr", "clusters": 10}
VALUES = {"label": np.arange(10), "rows": np.arange(30, dtype=np.float32).reshape(10, 3)}


@pytest.fixture
def folder(tmp_path):
    return partial_folder(tmp_path / "out.zarr")


def add(partial, number):
    rows = BLOCKS[number]
    partial.add({name: values[rows] for name, values in VALUES.items()}, {"sum": float(rows.start) + 0.1})


@contextmanager
def first_run(folder, n_blocks=2, **options):
    """A run that was stopped after some blocks."""
    with begun(folder, ABOUT, {"method": "two_level"}, BLOCKS, COLUMNS, **options) as partial:
        for number in range(n_blocks):
            add(partial, number)
        yield partial


def kept(folder):
    with continued(folder, ABOUT, BLOCKS) as partial:
        return list(partial.rest), partial.facts


def test_a_run_continues_where_another_stopped(folder):
    with first_run(folder, prepare=lambda place: (place / "model").write_text("m")):
        pass
    assert (folder / "model").read_text() == "m"
    with continued(folder, ABOUT, BLOCKS) as partial:
        assert partial.settled == {"method": "two_level"}
        assert list(partial.rest) == [2]
        add(partial, 2)
    assert partial.facts == [{"sum": 0.1}, {"sum": 4.1}, {"sum": 8.1}]
    group = zarr.open_group(str(partial.data), mode="r")
    for name, values in VALUES.items():
        assert_array_equal(group[name][:], values)
        assert group[name].dtype == values.dtype
    assert [path.name for path in folder.parent.iterdir()] == ["out.zarr.partial"]


def cut_the_log(folder):
    text = (folder / LOG).read_text()
    (folder / LOG).write_text(text[:-10])


def log_more_than_was_written(folder):
    line = json.loads((folder / LOG).read_text().splitlines()[1])
    with (folder / LOG).open("a") as file:
        file.write(json.dumps({**line, "block": 2}) + "\n")


def change_a_value(folder):
    zarr.open_group(str(folder / DATA), mode="r+")["label"][5] = 77


def cut_a_chunk(folder):
    chunks = [path for path in (folder / DATA / "rows").rglob("*") if path.is_file() and path.name.startswith("1")]
    chunks += [path / "0" for path in (folder / DATA / "rows").rglob("1") if path.is_dir()]
    (chunk,) = chunks
    chunk.write_bytes(chunk.read_bytes()[:5])


def lose_a_chunk(folder):
    chunks = [path / "0" for path in (folder / DATA / "rows").rglob("1") if path.is_dir()]
    (chunk,) = chunks
    chunk.unlink()


@pytest.mark.parametrize(
    ("harm", "rest"),
    [(cut_the_log, [1, 2]), (log_more_than_was_written, [2]), (change_a_value, [1, 2]), (cut_a_chunk, [1, 2]),
     (lose_a_chunk, [1, 2])],
)  # fmt: skip
def test_only_blocks_that_are_as_they_were_written_count(folder, harm, rest):
    with first_run(folder):
        pass
    harm(folder)
    assert kept(folder)[0] == rest
    assert kept(folder)[0] == rest  # the log was corrected, and is read again
    with continued(folder, ABOUT, BLOCKS) as partial:
        for number in list(partial.rest):
            add(partial, number)
    assert kept(folder) == ([], [{"sum": 0.1}, {"sum": 4.1}, {"sum": 8.1}])


def test_another_description_is_refused_and_what_differs_is_named(folder):
    with first_run(folder):
        pass
    with pytest.raises(ResumeError, match=r"clusters was 10, is 12; seed was not given, is 3\.$"):
        continued(folder, {**ABOUT, "clusters": 12, "seed": 3}, BLOCKS).__enter__()
    with pytest.raises(ResumeError, match="blocks have other rows"):
        continued(folder, ABOUT, BLOCKS[:2]).__enter__()
    content = json.loads((folder / MANIFEST).read_text())
    (folder / MANIFEST).write_text(json.dumps({**content, "graphlowrank": "0.0.1"}))
    with pytest.raises(ResumeError, match=r"graphlowrank was 0\.0\.1, is "):
        continued(folder, ABOUT, BLOCKS).__enter__()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": 99}', '{"format": 1}'])
def test_a_damaged_manifest_is_refused(folder, text):
    with first_run(folder):
        pass
    (folder / MANIFEST).write_text(text)
    with pytest.raises(ResumeError, match=r"out\.zarr\.partial has (no|a) manifest"):
        continued(folder, ABOUT, BLOCKS).__enter__()


def test_two_processes_do_not_write_to_one_output(folder):
    pytest.importorskip("fcntl")
    with first_run(folder), pytest.raises(ResumeError, match="being written by another process"):
        continued(folder, ABOUT, BLOCKS).__enter__()
    with pytest.raises(ResumeError, match="made by another process in the meantime"):
        first_run(folder).__enter__()
    assert kept(folder)[0] == [2]


def test_nothing_is_left_if_the_beginning_fails(folder):
    def fail(place):
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        first_run(folder, prepare=fail).__enter__()
    assert list(folder.parent.iterdir()) == []


def test_an_input_is_known_by_its_place_size_and_times(tmp_path):
    path = tmp_path / "x"
    (path / "c").mkdir(parents=True)
    (path / "c" / "0").write_bytes(b"1234")
    (path / "zarr.json").write_bytes(b"{}")
    before = identity_of(path)
    assert before == identity_of(path)
    assert before["bytes of the input"] == 6
    (path / "c" / "0").write_bytes(b"1235")
    assert [one.partition(" was ")[0] for one in differences(before, identity_of(path))] == ["files of the input"]
    assert identity_of(path / "zarr.json")["bytes of the input"] == 2


def test_tuples_are_lists_in_a_manifest():
    assert differences({"downsampling": [2.0, 1.0]}, {"downsampling": (2.0, 1.0)}) == []
