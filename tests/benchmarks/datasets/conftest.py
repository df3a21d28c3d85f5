"""A file server on this machine, and empty data folders."""

import socket
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import fake_data
import pytest

from graphlowrank_benchmarks.datasets import download


class Handler(BaseHTTPRequestHandler):
    """Serves the server's files in the manner that the first part of the path names."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        manner, *_, name = self.path.strip("/").split("/")
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
        running.files, running.asked, running.stop = {"file": fake_data.CONTENT}, Counter(), threading.Event()
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
    """Neither the data folder nor the cache of the user; returns an empty cache folder."""
    monkeypatch.delenv("GRAPHLOWRANK_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    return tmp_path / "caches" / "graphlowrank"
