"""Downloads from a server on this machine: complete and correct, or not there at all."""

import gzip
import hashlib
import logging
import os
import socket
import sys

import fake_data
import pytest

from graphlowrank_benchmarks.datasets import download
from graphlowrank_benchmarks.datasets.download import DownloadError, fetch

SHA256 = hashlib.sha256(fake_data.CONTENT).hexdigest()


@pytest.mark.parametrize("manner", ["normal", "in_pieces", "cut_once", "busy_once"])
def test_a_file_arrives_whole(tmp_path, server, pauses, manner):
    path = tmp_path / "new" / "folder" / "file"
    fetch(f"{server.url}/{manner}/file", path, SHA256)
    assert path.read_bytes() == fake_data.CONTENT
    assert list(path.parent.iterdir()) == [path]
    assert pauses == ([1.0] if "once" in manner else [])


@pytest.mark.parametrize(
    ("manner", "text", "tries"),
    [
        ("cut", "broke off after 150000 of 300000 bytes", 3),
        ("cut_in_pieces", "broke off after", 3),
        ("hang_up", "broke off before the first byte", 3),
        ("missing", "the server answered 404 Not Found", 1),
    ],
)
def test_a_failure_is_one_sentence_and_leaves_nothing(tmp_path, server, pauses, manner, text, tries):
    server.files = {} if manner == "missing" else server.files
    url = f"{server.url}/{manner}/file"
    with pytest.raises(DownloadError, match=text) as caught:
        fetch(url, tmp_path / "file", SHA256)
    assert str(caught.value).startswith(url)
    assert str(caught.value).endswith(".")
    fake_data.assert_nothing_left(tmp_path)
    assert server.asked[f"/{manner}/file"] == tries
    assert pauses == [1.0, 2.0][: tries - 1]


def test_a_server_that_says_nothing_is_not_waited_for(tmp_path, server):
    with pytest.raises(DownloadError, match=r"broke off before the first byte \(timed out"):
        fetch(f"{server.url}/silent/file", tmp_path / "file", SHA256, timeout=0.1, tries=2)
    fake_data.assert_nothing_left(tmp_path)
    assert server.asked["/silent/file"] == 2


@pytest.mark.parametrize("gzipped", [False, True])
def test_a_wrong_checksum(tmp_path, server, gzipped):
    server.files["file"] = gzip.compress(fake_data.CONTENT) if gzipped else fake_data.CONTENT
    path = tmp_path / "file"
    with pytest.raises(DownloadError, match="is not the file expected: its sha256 is") as caught:
        fetch(f"{server.url}/normal/file", path, "0" * 64, gzipped=gzipped)
    assert SHA256[:12] in str(caught.value)
    fake_data.assert_nothing_left(tmp_path)
    assert server.asked["/normal/file"] == 1  # the same would come again


def test_an_older_file_stays_when_a_download_fails(tmp_path, server):
    path = tmp_path / "file"
    path.write_text("old")
    with pytest.raises(DownloadError, match="sha256"):
        fetch(f"{server.url}/normal/file", path, "0" * 64)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("level", [1, 9])
def test_the_checksum_of_what_is_packed(tmp_path, server, level):
    server.files["file"] = gzip.compress(fake_data.CONTENT, level)
    fetch(f"{server.url}/normal/file", tmp_path / "file", SHA256, gzipped=True)
    assert (tmp_path / "file").read_bytes() == server.files["file"]


@pytest.mark.parametrize(
    "spoil", [lambda raw: raw[:-3], lambda raw: raw + b"more", lambda raw: b"<html>no such file</html>"]
)
def test_packed_files_must_end_where_they_say(tmp_path, server, spoil):
    server.files["file"] = spoil(gzip.compress(fake_data.CONTENT))
    with pytest.raises(DownloadError, match="is not the file expected"):
        fetch(f"{server.url}/normal/file", tmp_path / "file", SHA256, gzipped=True)
    fake_data.assert_nothing_left(tmp_path)


def test_no_server_at_that_port(tmp_path, monkeypatch, pauses):
    monkeypatch.setenv("no_proxy", "*")
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    with pytest.raises(DownloadError, match=rf"127.0.0.1:{port} cannot be reached .*: is there a network\?"):
        fetch(f"http://127.0.0.1:{port}/normal/file", tmp_path / "new" / "file", SHA256)
    assert list(tmp_path.iterdir()) == []
    assert pauses == []


def test_no_network(tmp_path, monkeypatch):
    def unknown(*args, **kwargs):
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(DownloadError, match=r"example.org cannot be reached .*not known\): is there a network\?"):
        fetch("http://example.org/file", tmp_path / "file", SHA256)
    fake_data.assert_nothing_left(tmp_path)


def test_a_full_disk(tmp_path, server, monkeypatch):
    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=r"cannot write .*file: No space left on device") as caught:
        fetch(f"{server.url}/normal/file", tmp_path / "file", SHA256)
    assert caught.value.errno == 28
    assert not isinstance(caught.value, DownloadError)
    fake_data.assert_nothing_left(tmp_path)


def test_a_place_that_cannot_be_written(tmp_path, server):
    (tmp_path / "not a folder").touch()
    with pytest.raises(OSError, match="cannot write"):
        fetch(f"{server.url}/normal/file", tmp_path / "not a folder" / "file", SHA256)


def test_a_file_without_end_is_given_up(tmp_path, server):
    with pytest.raises(DownloadError, match="more than 100000 bytes"):
        fetch(f"{server.url}/in_pieces/file", tmp_path / "file", SHA256, max_bytes=100_000)
    fake_data.assert_nothing_left(tmp_path)


def test_interrupting_leaves_nothing(tmp_path, server, monkeypatch):
    seen = []

    def interrupt(self, url, chunk):
        seen.extend(tmp_path.glob(".*.part"))
        raise KeyboardInterrupt

    monkeypatch.setattr(download._Checksum, "add", interrupt)
    with pytest.raises(KeyboardInterrupt):
        fetch(f"{server.url}/normal/file", tmp_path / "file", SHA256)
    assert len(seen) == 1
    fake_data.assert_nothing_left(tmp_path)


# --- progress ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("manner", ["normal", "in_pieces"])
def test_silent_unless_asked(tmp_path, server, caplog, capsys, manner):
    caplog.set_level(logging.INFO, "graphlowrank")
    fetch(f"{server.url}/{manner}/file", tmp_path / "file", SHA256)
    assert caplog.messages == []
    assert capsys.readouterr() == ("", "")


def test_log_lines_where_there_is_no_terminal(tmp_path, server, caplog):
    caplog.set_level(logging.INFO, "graphlowrank")
    fetch(f"{server.url}/normal/file", tmp_path / "file", SHA256, verbose=1)
    assert 2 < len(caplog.messages) < 12
    assert caplog.messages[-2] == "download file: 0.3 MB of 0.3"
    assert caplog.messages[-1].startswith("download file: 0.")
    assert caplog.messages[-1].endswith(" s")


def test_log_lines_count_anew_after_a_cut(tmp_path, server, caplog):
    caplog.set_level(logging.INFO, "graphlowrank")
    fetch(f"{server.url}/cut_once/file", tmp_path / "file", SHA256, verbose=1)
    assert caplog.messages.count("download file: 0.1 MB of 0.3") == 4  # after 65 and 131 kB, twice


@pytest.mark.parametrize("manner", ["normal", "in_pieces"])
def test_a_bar_on_a_terminal(tmp_path, server, capsys, monkeypatch, manner):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "100")
    fetch(f"{server.url}/{manner}/file", tmp_path / "file", SHA256, verbose=1)
    shown = capsys.readouterr()
    assert "download file" in shown.err
    assert shown.out == ""
