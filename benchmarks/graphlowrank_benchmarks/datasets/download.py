"""Download of files with known checksums: complete and correct, or not there."""

from __future__ import annotations

import hashlib
import math
import os
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from graphlowrank import __version__
from graphlowrank._files import writing
from graphlowrank._progress import Progress, Update

CHUNK = 2**16
MAX_BYTES = 2**30  # far above the size of any data set here
BUSY = (429, 500, 502, 503, 504)  # status codes of a server that may answer later


class DownloadError(OSError):
    """A file could not be downloaded, or is not the expected one; nothing was written."""


class _InterruptedError(DownloadError):
    """The connection broke; another attempt may succeed."""


def fetch(
    url: str,
    path: str | os.PathLike[str],
    sha256: str,
    *,
    gzipped: bool = False,
    verbose: int = 0,
    tries: int = 3,
    pause: float = 1.0,
    timeout: float = 30.0,
    max_bytes: int = MAX_BYTES,
) -> None:
    """Download a file with a known checksum.

    The content goes to a temporary file in the same folder and is renamed only if it is complete and correct. Whatever
    happens, Ctrl-C included, no partial file stays behind. With ``gzipped`` the checksum is that of the unpacked
    content. A broken connection (no data for ``timeout`` seconds) is tried again after ``pause`` seconds, then twice as
    many. Failures are a :class:`DownloadError`, or an OSError "cannot write <path>: <reason>".
    """
    path = Path(path)
    with ByteProgress(verbose).stage(f"download {path.name}") as update:
        for attempt in range(tries):
            checksum = _Checksum(gzipped=gzipped, expected=sha256)
            try:
                return _fetch_once(url, path, checksum, update, timeout, max_bytes)
            except _InterruptedError:
                if attempt == tries - 1:
                    raise
                time.sleep(pause * 2**attempt)


def _fetch_once(url: str, path: Path, checksum: _Checksum, update: Update, timeout: float, max_bytes: int) -> None:
    with _connection(url, timeout) as response, writing(path) as file:
        total = math.nan if response.length is None else response.length
        received = 0
        for chunk in _chunks(url, response):
            file.write(chunk)
            checksum.add(url, chunk)
            received += len(chunk)
            if received > max_bytes:
                raise DownloadError(f"{url} has more than {max_bytes} bytes, which no data set has.")
            update(received, total)
        if not math.isnan(total) and received != total:
            raise _InterruptedError(f"{url} broke off after {received} of {total} bytes.")
        checksum.check(url)


def _connection(url: str, timeout: float) -> HTTPResponse:
    request = Request(url, headers={"User-Agent": f"graphlowrank/{__version__}"})
    try:
        response: HTTPResponse = urlopen(request, timeout=timeout)
    except HTTPError as error:
        error.close()
        kind = _InterruptedError if error.code in BUSY else DownloadError
        raise kind(f"{url} cannot be downloaded: the server answered {error.code} {error.reason}.") from error
    except URLError as error:  # no network, unknown host, or no server at that port
        kind = _InterruptedError if isinstance(error.reason, TimeoutError) else DownloadError
        raise kind(f"{urlsplit(url).netloc} cannot be reached ({error.reason}): is there a network?") from error
    except (OSError, HTTPException) as error:
        raise _InterruptedError(f"{url} broke off before the first byte ({_reason(error)}).") from error
    return response


def _chunks(url: str, response: HTTPResponse) -> Iterator[bytes]:
    received = 0
    try:
        while chunk := response.read(CHUNK):
            received += len(chunk)
            yield chunk
    except (OSError, HTTPException) as error:
        raise _InterruptedError(f"{url} broke off after {received} bytes ({_reason(error)}).") from error


def _reason(error: Exception) -> str:
    return str(error) or type(error).__name__


class _Checksum:
    """sha256 of a stream of bytes, or of its unpacked content."""

    def __init__(self, *, gzipped: bool, expected: str) -> None:
        self._expected = expected
        self._hash = hashlib.sha256()
        self._unpack = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS) if gzipped else None  # 16: gzip header

    def add(self, url: str, chunk: bytes) -> None:
        try:
            self._hash.update(chunk if self._unpack is None else self._unpack.decompress(chunk))
        except zlib.error as error:
            raise DownloadError(f"{url} is not the file expected: {error}.") from error

    def check(self, url: str) -> None:
        found, expected = self._hash.hexdigest(), self._expected
        incomplete = self._unpack is not None and (not self._unpack.eof or self._unpack.unused_data)
        if incomplete or found != expected:
            raise DownloadError(
                f"{url} is not the file expected: its sha256 is {found[:12]}... instead of {expected[:12]}...."
            )


class ByteProgress(Progress):
    """Progress of downloads: updates are (bytes received, bytes in total), the latter nan if unknown."""

    @contextmanager
    def _reporting(self, name: str) -> Iterator[Update]:
        if not self._live:
            yield self._log_tenths(name)
            return
        from rich import progress
        from rich.console import Console

        columns = (progress.TextColumn("{task.description}"), progress.BarColumn(), progress.DownloadColumn())
        with progress.Progress(*columns, console=Console(stderr=True)) as bar:
            task = bar.add_task(name, total=None)
            yield lambda n, total: bar.update(task, completed=n, total=None if math.isnan(total) else total)

    def _log_tenths(self, name: str) -> Update:
        logged = 0.0

        def update(n: int, total: float) -> None:
            nonlocal logged
            step = 1e7 if math.isnan(total) else total / 10
            if n < logged:  # another attempt after a broken connection
                logged = 0.0
            if n - logged >= step:
                logged = n
                self._log(f"{name}: {n / 1e6:.1f} MB" + ("" if math.isnan(total) else f" of {total / 1e6:.1f}"))

        return update
