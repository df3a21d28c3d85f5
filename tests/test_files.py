"""Files are whole or not there."""

import os
import shutil
import socket
import stat
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from command_helpers import tree
from graphlowrank import _files
from graphlowrank._files import check_writable, placing, sweep, temporary_beside, write_atomically, writing
from helpers import received

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


# --- what exists already ---

posix = pytest.mark.skipif(os.name == "nt", reason="POSIX permissions, devices and locks")


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def umask():
    before = os.umask(0o022)
    yield
    os.umask(before)


@posix
def test_a_replaced_file_keeps_its_mode_and_a_new_one_follows_the_umask(tmp_path, umask):
    path = tmp_path / "page.html"
    path.touch()
    for given in (0o600, 0o640, 0o666):
        path.chmod(given)
        write_atomically(path, "new")
        assert (path.read_text(), mode(path)) == ("new", given)
    write_atomically(tmp_path / "new.html", "new")
    assert mode(tmp_path / "new.html") == 0o644


@posix
def test_a_replaced_folder_keeps_its_mode(tmp_path, umask):
    folder = tmp_path / "x.zarr"
    folder.mkdir()
    folder.chmod(0o710)
    with placing(folder) as place:
        place.mkdir()
        (place / "new").touch()
    assert (mode(folder), tree(folder)) == (0o710, ["new"])


@posix
def test_the_owner_is_kept_or_at_least_the_group(tmp_path, monkeypatch):
    path = tmp_path / "page.html"
    path.write_text("old")
    tried = []

    def refuse(_, owner, group):
        tried.append((owner, group))
        if owner >= 0:
            raise PermissionError(1, "only root gives files away")

    owner, group = path.stat().st_uid, path.stat().st_gid
    monkeypatch.setattr(os, "chown", refuse)
    write_atomically(path, "new")
    assert tried == [(owner, group), (-1, group)]  # at least the group


@posix
def test_what_replaces_a_private_file_is_private_from_the_start(tmp_path, umask):
    with writing(tmp_path / "page.html"):
        (folder,) = tmp_path.glob(".*.part")
        assert mode(folder) == 0o700


@posix
def test_pipes_and_sockets_are_written_to_and_not_replaced(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the address of a socket is short
    os.mkfifo("pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        server.listen()

        def accepted():
            with server.accept()[0] as connection:
                return connection.recv(9)

        readers = {"pipe": lambda: Path("pipe").read_bytes(), "socket": accepted}
        for name, read in readers.items():
            check_writable(name)
            with received(read) as pages:
                write_atomically(name, "page")
            assert pages == [b"page"]
    assert Path("pipe").is_fifo()
    assert Path("socket").is_socket()
    assert tree(tmp_path) == ["pipe", "socket"]


@posix
def test_a_device_is_written_to_and_not_replaced(tmp_path):
    device = tmp_path / "null"
    try:
        os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("only root makes devices")
    check_writable(device)
    write_atomically(device, "page")
    assert device.is_char_device()


# --- temporary folders of processes that were killed ---


@pytest.fixture
def killed(tmp_path):
    """What a process leaves that was killed while it wrote, two minutes ago."""
    with temporary_beside(tmp_path / "x") as place:
        left = place.parent.with_name(f".{_files.HOST}-0123456789abcdef.part")
    left.mkdir()
    (left / "x").touch()
    os.utime(left, (time.time() - 120,) * 2)
    return left


@posix
def test_the_folder_of_a_killed_process_is_swept(tmp_path, killed):
    write_atomically(tmp_path / "page.html", "new")
    assert tree(tmp_path) == ["page.html"]


@posix
@pytest.mark.parametrize("why", ["running", "new", "of another host", "no folder"])
def test_nothing_else_is_swept(tmp_path, killed, why):
    with ExitStack() as stack:
        if why == "running":
            locked = subprocess.Popen(
                [sys.executable, "-c", f"import fcntl, os; f = os.open({str(killed)!r}, os.O_RDONLY); "
                 "fcntl.flock(f, fcntl.LOCK_EX); print(flush=True); input()"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            )  # fmt: skip
            stack.enter_context(locked)
            stack.callback(locked.stdin.close)
            locked.stdout.readline()
        elif why == "new":
            os.utime(killed)
        elif why == "of another host":
            killed = killed.rename(tmp_path / ".00000000-0123456789abcdef.part")
        else:
            shutil.rmtree(killed)
            killed.touch()
            os.utime(killed, (0, 0))
        write_atomically(tmp_path / "page.html", "new")
        assert killed.exists()


@posix
def test_a_process_locks_its_folder(tmp_path):
    with temporary_beside(tmp_path / "x") as place:
        place.touch()
        os.utime(place.parent, (0, 0))
        sweep(tmp_path)
        assert place.exists()
    assert list(tmp_path.iterdir()) == []
