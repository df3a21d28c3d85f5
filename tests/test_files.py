"""Files are whole or not there."""

import os
import stat
from pathlib import Path

import pytest

from graphlowrank._files import check_writable, write_atomically

CONTENTS = [("é\n", "é\n".encode()), (b"\x00\xff", b"\x00\xff"), ("", b"")]


@pytest.mark.parametrize(("content", "expected"), CONTENTS)
def test_writes_text_and_bytes_as_they_are(tmp_path, content, expected):
    path = tmp_path / "a" / "b" / "page.html"
    write_atomically(path, content)
    assert path.read_bytes() == expected
    assert list(path.parent.iterdir()) == [path]


def test_replaces_an_older_file(tmp_path):
    path = tmp_path / "page.html"
    path.write_text("a much longer old text")
    write_atomically(str(path), "new")
    assert path.read_text() == "new"


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize("stopped_by", [KeyboardInterrupt, OSError(28, "No space left on device")])
def test_a_stopped_write_leaves_the_old_file_and_no_other(tmp_path, monkeypatch, step, stopped_by):
    path = tmp_path / "page.html"
    path.write_text("old")
    reached = []

    def stop(*args, **kwargs):
        reached.append(list(tmp_path.glob(".*.part")))
        raise stopped_by

    monkeypatch.setattr(os, step, stop)
    with pytest.raises((KeyboardInterrupt, OSError)):
        write_atomically(path, "new")
    assert len(reached[0]) == 1  # it was stopped in the middle, with a temporary on the disk
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_text() == "old"


def test_a_failure_names_the_file_and_the_reason(tmp_path):
    (tmp_path / "file").write_text("not a folder")
    path = tmp_path / "file" / "page.html"
    with pytest.raises(OSError, match=r"cannot write .*page\.html: ") as caught:
        write_atomically(path, "x")
    assert caught.value.errno is not None


def test_a_folder_is_not_overwritten(tmp_path):
    with pytest.raises(OSError, match="cannot write"):
        write_atomically(tmp_path, "x")
    assert list(tmp_path.parent.glob(".*.part")) == []


@pytest.mark.skipif(os.name == "nt", reason="POSIX permissions and links")
def test_permissions_follow_the_umask_and_links_are_followed(tmp_path):
    link = tmp_path / "link.html"
    link.symlink_to(tmp_path / "real.html")
    before = os.umask(0o022)
    try:
        write_atomically(link, "x")
    finally:
        os.umask(before)
    assert link.is_symlink()
    assert stat.S_IMODE(Path(tmp_path, "real.html").stat().st_mode) == 0o644


def test_a_place_is_tried_before_the_work(tmp_path):
    check_writable(tmp_path / "new" / "page.html")
    assert list((tmp_path / "new").iterdir()) == []  # only tried
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="cannot write"):
        check_writable(tmp_path / "file" / "page.html")
