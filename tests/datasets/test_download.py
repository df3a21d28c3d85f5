"""Downloads from a server on this machine: whole and right, or not there at all."""

import gzip
import hashlib
import logging
import os
import socket
import sys
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from urllib.error import URLError

import fake_data
import numpy as np
import pytest
import sklearn.datasets
from numpy.testing import assert_allclose, assert_array_equal

from graphlowrank import datasets
from graphlowrank.datasets import download, images
from graphlowrank.datasets.download import DownloadError, fetch

CONTENT = np.random.default_rng(0).bytes(300_000)
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class Handler(BaseHTTPRequestHandler):
    """Serves the server's files in the manner that the first part of the path names."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        _, manner, name = self.path.split("/")
        self.server.asked[self.path] += 1
        self.close_connection = True
        if name not in self.server.files:
            manner = "missing"
        getattr(self, manner)(self.server.files.get(name, b""))

    def normal(self, content):
        self.head(200, len(content))
        self.wfile.write(content)

    def missing(self, content):
        self.head(404, 0)

    def cut(self, content):
        self.head(200, len(content))
        self.wfile.write(content[: len(content) // 2])

    def cut_once(self, content):
        (self.cut if self.server.asked[self.path] == 1 else self.normal)(content)

    def busy_once(self, content):
        if self.server.asked[self.path] == 1:
            self.head(503, 0)
        else:
            self.normal(content)

    def silent(self, content):
        self.server.stop.wait(5)  # until the test is over

    def hang_up(self, content):
        self.connection.shutdown(socket.SHUT_RDWR)

    def in_pieces(self, content):
        self.pieces(content)
        self.wfile.write(b"0\r\n\r\n")

    def cut_in_pieces(self, content):
        self.pieces(content[:100_000])

    def pieces(self, content):
        self.head(200, None)
        for start in range(0, len(content), 50_000):
            piece = content[start : start + 50_000]
            self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            self.wfile.flush()
            self.server.stop.wait(0.01)

    def head(self, status, length):
        self.send_response(status)
        self.send_header(*("Transfer-Encoding", "chunked") if length is None else ("Content-Length", str(length)))
        self.end_headers()

    def log_message(self, *args):
        pass


@pytest.fixture
def server(monkeypatch):
    """A server of ``files``, which counts what it was ``asked`` for."""
    monkeypatch.setenv("no_proxy", "*")
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        running.files, running.asked, running.stop = {"file": CONTENT}, Counter(), threading.Event()
        running.url = f"http://127.0.0.1:{running.server_port}"
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.stop.set()
        running.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def pauses(monkeypatch):
    """Seconds that would have been waited."""
    waited = []
    monkeypatch.setattr(download.time, "sleep", waited.append)
    return waited


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.delenv("GRAPHLOWRANK_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    return tmp_path / "caches" / "graphlowrank"


def assert_nothing_left(folder):
    assert [path for path in folder.rglob("*") if path.is_file()] == []


# --- fetch -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("manner", ["normal", "in_pieces", "cut_once", "busy_once"])
def test_a_file_arrives_whole(tmp_path, server, pauses, manner):
    path = tmp_path / "new" / "folder" / "file"
    fetch(f"{server.url}/{manner}/file", path, SHA256)
    assert path.read_bytes() == CONTENT
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
    assert_nothing_left(tmp_path)
    assert server.asked[f"/{manner}/file"] == tries
    assert pauses == [1.0, 2.0][: tries - 1]


def test_a_server_that_says_nothing_is_not_waited_for(tmp_path, server):
    with pytest.raises(DownloadError, match=r"broke off before the first byte \(timed out"):
        fetch(f"{server.url}/silent/file", tmp_path / "file", SHA256, timeout=0.1, tries=2)
    assert_nothing_left(tmp_path)
    assert server.asked["/silent/file"] == 2


@pytest.mark.parametrize("gzipped", [False, True])
def test_a_wrong_checksum(tmp_path, server, gzipped):
    server.files["file"] = gzip.compress(CONTENT) if gzipped else CONTENT
    path = tmp_path / "file"
    with pytest.raises(DownloadError, match="is not the file expected: its sha256 is") as caught:
        fetch(f"{server.url}/normal/file", path, "0" * 64, gzipped=gzipped)
    assert SHA256[:12] in str(caught.value)
    assert_nothing_left(tmp_path)
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
    server.files["file"] = gzip.compress(CONTENT, level)
    fetch(f"{server.url}/normal/file", tmp_path / "file", SHA256, gzipped=True)
    assert (tmp_path / "file").read_bytes() == server.files["file"]


@pytest.mark.parametrize(
    "spoil", [lambda raw: raw[:-3], lambda raw: raw + b"more", lambda raw: b"<html>no such file</html>"]
)
def test_packed_files_must_end_where_they_say(tmp_path, server, spoil):
    server.files["file"] = spoil(gzip.compress(CONTENT))
    with pytest.raises(DownloadError, match="is not the file expected"):
        fetch(f"{server.url}/normal/file", tmp_path / "file", SHA256, gzipped=True)
    assert_nothing_left(tmp_path)


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
    assert_nothing_left(tmp_path)


def test_a_full_disk(tmp_path, server, monkeypatch):
    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=r"cannot write .*file: No space left on device") as caught:
        fetch(f"{server.url}/normal/file", tmp_path / "file", SHA256)
    assert caught.value.errno == 28
    assert not isinstance(caught.value, DownloadError)
    assert_nothing_left(tmp_path)


def test_a_place_that_cannot_be_written(tmp_path, server):
    (tmp_path / "not a folder").touch()
    with pytest.raises(OSError, match="cannot write"):
        fetch(f"{server.url}/normal/file", tmp_path / "not a folder" / "file", SHA256)


def test_a_file_without_end_is_given_up(tmp_path, server, monkeypatch):
    monkeypatch.setattr(download, "MAX_BYTES", 100_000)
    with pytest.raises(DownloadError, match="more than 100000 bytes"):
        fetch(f"{server.url}/in_pieces/file", tmp_path / "file", SHA256)
    assert_nothing_left(tmp_path)


def test_interrupting_leaves_nothing(tmp_path, server, monkeypatch):
    seen = []

    def interrupt(self, url, chunk):
        seen.extend(tmp_path.glob(".*.part"))
        raise KeyboardInterrupt

    monkeypatch.setattr(download._Checksum, "add", interrupt)
    with pytest.raises(KeyboardInterrupt):
        fetch(f"{server.url}/normal/file", tmp_path / "file", SHA256)
    assert len(seen) == 1
    assert_nothing_left(tmp_path)


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


# --- data sets ---------------------------------------------------------------------------------------------------


@pytest.fixture
def mnist_server(server, tmp_path, monkeypatch):
    """A server of tiny digits, which the loader takes for the mirror."""
    fake_data.write_mnist(tmp_path / "original")
    server.files = {path.name: path.read_bytes() for path in (tmp_path / "original" / "mnist").iterdir()}
    sums = {name: hashlib.sha256(gzip.decompress(raw)).hexdigest() for name, raw in server.files.items()}
    assert sums.keys() == images.MNIST_SHA256.keys()
    monkeypatch.setattr(images, "MNIST_URL", f"{server.url}/normal/")
    monkeypatch.setattr(images, "MNIST_SHA256", sums)
    return server


def test_mnist_is_downloaded_once(tmp_path, mnist_server, cache):
    with pytest.raises(FileNotFoundError, match="download=True"):
        datasets.load_mnist()
    assert not mnist_server.asked
    expected = datasets.load_mnist(folder=tmp_path / "original")
    for _ in range(2):
        assert all(map(np.array_equal, datasets.load_mnist(download=True), expected))
    assert all(map(np.array_equal, datasets.load_mnist(), expected))
    assert list(mnist_server.asked.values()) == [1, 1, 1, 1]
    assert sorted(path.name for path in (cache / "mnist").iterdir()) == sorted(mnist_server.files)


def test_downloads_go_to_the_folder_given(tmp_path, mnist_server, cache):
    datasets.load_mnist(folder=tmp_path / "mine", download=True)
    assert len(list((tmp_path / "mine" / "mnist").iterdir())) == 4
    assert not cache.exists()


def test_a_folder_named_in_the_environment_is_only_read(tmp_path, mnist_server, monkeypatch, cache):
    named = tmp_path / "named"
    (named / "mnist").mkdir(parents=True)
    here = "train-images-idx3-ubyte.gz"
    (named / "mnist" / here).write_bytes(mnist_server.files[here])
    monkeypatch.setenv("GRAPHLOWRANK_DATA", str(named))
    datasets.load_mnist(download=True)
    assert len(mnist_server.asked) == 3  # the fourth was there
    assert len(list((named / "mnist").iterdir())) == 1
    assert len(list((cache / "mnist").iterdir())) == 3


def test_mnist_from_a_server_that_breaks_off(mnist_server, monkeypatch, cache, pauses):
    monkeypatch.setattr(images, "MNIST_URL", images.MNIST_URL.replace("normal", "cut"))
    with pytest.raises(DownloadError, match="broke off"):
        datasets.load_mnist(download=True)
    assert_nothing_left(cache)
    assert pauses == [1.0, 2.0]


def openml(target_type=str, **changes):
    """Make a set that answers to the description of USPS, as OpenML would give it."""
    labels = np.random.default_rng(0).permutation(np.repeat(np.arange(1, 11), images.USPS_COUNTS))
    values = np.zeros((len(labels), 256))
    values[:, 0], values[:, 1], values[:, 2] = -1, 1, labels / 10
    return SimpleNamespace(**{"data": values, "target": labels.astype(target_type), **changes})


@pytest.fixture
def answer(monkeypatch):
    """Let scikit-learn's fetcher give, or raise, what is put here."""
    given = SimpleNamespace(result=openml(), calls=[])

    def fetch_openml(*args, **kwargs):
        given.calls.append((args, kwargs))
        if isinstance(given.result, Exception):
            raise given.result
        return given.result

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch_openml)
    return given


@pytest.mark.parametrize("target_type", [str, float, object])
def test_usps_is_downloaded_once(answer, cache, target_type):
    answer.result = openml(target_type)
    with pytest.raises(FileNotFoundError, match="download=True"):
        datasets.load_usps()
    for arguments in ({"download": True}, {"download": True}, {}):
        X, y = datasets.load_usps(**arguments)
        assert X.shape == (9298, 256)
        assert X.dtype == np.float32
        assert_array_equal(np.bincount(y), images.USPS_COUNTS)
        assert_allclose(X[:, :3], np.column_stack([0 * y, 0 * y + 1, (1 + (y + 1) / 10) / 2]), atol=0.5 / 255 + 1e-6)
    assert len(answer.calls) == 1
    assert answer.calls[0][0] == ("USPS",)
    assert answer.calls[0][1]["version"] == 2
    assert [path.name for path in (cache / "usps").iterdir()] == ["usps_openml.npz"]


def test_the_file_of_the_data_folder_comes_first(tmp_path, answer):
    datasets.load_usps(folder=tmp_path, download=True)
    fake_data.write_usps(tmp_path, n=50)
    assert len(datasets.load_usps(folder=tmp_path, download=True)[0]) == 50
    assert len(answer.calls) == 1


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (URLError("no route to host"), "USPS cannot be had from OpenML: .*no route to host"),
        (ValueError("md5 checksum does not match"), "USPS cannot be had from OpenML: md5 checksum"),
        (openml(data=np.zeros((9298, 255))), "shape or number"),
        (openml(target=np.full(9298, "3")), "shape or number"),
        (openml(target=np.full(9298, "-3")), "shape or number"),
        (openml(data=np.full((9298, 256), 0.5)), "do not span -1 to 1"),
    ],
    ids=["no network", "checksum", "shape", "labels", "negative labels", "values"],
)
def test_another_usps_is_refused(answer, cache, result, text):
    answer.result = result
    with pytest.raises(DownloadError, match=text):
        datasets.load_usps(download=True)
    assert_nothing_left(cache)


def test_usps_is_not_fetched_for_a_place_that_cannot_be_written(tmp_path, answer):
    (tmp_path / "usps").touch()
    with pytest.raises(OSError, match="cannot write"):
        datasets.load_usps(folder=tmp_path, download=True)
    assert answer.calls == []
