"""Files from the network: checked while they arrive, and whole or not there."""

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

from .._files import writing
from .._progress import Progress, Update
from .._version import __version__

CHUNK = 2**16
MAX_BYTES = 2**30  # no data set here is near it
TRY_LATER = (429, 500, 502, 503, 504)  # what a server answers when it is only busy


class DownloadError(OSError):
    """A file could not be had from the network, or is not the one expected; nothing was written."""


class _CutError(DownloadError):
    """A connection that broke; the next may not."""


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
) -> None:
    """Download a file whose content is known.

    The content goes to a temporary name in the same folder, is checked while it arrives, and gets its name only if
    it is whole and right. Whatever happens, Ctrl-C included, no part of it stays behind.

    Parameters
    ----------
    url
        Address.
    path
        File to write; missing folders are made.
    sha256
        Checksum of the file in hexadecimal.
    gzipped
        The checksum is of what is packed in the file: packing the same again gives other bytes.
    verbose
        1 for a bar on a terminal and log lines elsewhere.
    tries
        How often to begin anew after a connection that broke.
    pause
        Seconds before the second try; twice as many before each further one.
    timeout
        Seconds without a byte after which a connection counts as broken.

    Raises
    ------
    DownloadError
        No network, an answer that is not the file, a broken connection, or the wrong content.
    OSError
        "cannot write <path>: <reason>".
    """
    path = Path(path)
    with ByteProgress(verbose).stage(f"download {path.name}") as update:
        for attempt in range(tries):
            try:
                return _fetch_once(url, path, _Checksum(gzipped=gzipped, expected=sha256), update, timeout)
            except _CutError:
                if attempt == tries - 1:
                    raise
                time.sleep(pause * 2**attempt)


def _fetch_once(url: str, path: Path, checksum: _Checksum, update: Update, timeout: float) -> None:
    with _connection(url, timeout) as response, writing(path) as file:
        total = math.nan if response.length is None else response.length
        received = 0
        for chunk in _chunks(url, response):
            file.write(chunk)
            checksum.add(url, chunk)
            received += len(chunk)
            if received > MAX_BYTES:
                raise DownloadError(f"{url} has more than {MAX_BYTES} bytes, which no data set has.")
            update(received, total)
        if not math.isnan(total) and received != total:
            raise _CutError(f"{url} broke off after {received} of {total} bytes.")
        checksum.check(url)


def _connection(url: str, timeout: float) -> HTTPResponse:
    request = Request(url, headers={"User-Agent": f"graphlowrank/{__version__}"})
    try:
        response: HTTPResponse = urlopen(request, timeout=timeout)
    except HTTPError as error:
        error.close()
        kind = _CutError if error.code in TRY_LATER else DownloadError
        raise kind(f"{url} cannot be had: the server answered {error.code} {error.reason}.") from error
    except URLError as error:  # before any answer: no network, no such server, no server at that port
        kind = _CutError if isinstance(error.reason, TimeoutError) else DownloadError
        raise kind(f"{urlsplit(url).netloc} cannot be reached ({error.reason}): is there a network?") from error
    except (OSError, HTTPException) as error:
        raise _CutError(f"{url} broke off before the first byte ({_reason(error)}).") from error
    return response


def _chunks(url: str, response: HTTPResponse) -> Iterator[bytes]:
    received = 0
    try:
        while chunk := response.read(CHUNK):
            received += len(chunk)
            yield chunk
    except (OSError, HTTPException) as error:
        raise _CutError(f"{url} broke off after {received} bytes ({_reason(error)}).") from error


def _reason(error: Exception) -> str:
    return str(error) or type(error).__name__


class _Checksum:
    """sha256 of bytes that come in pieces, or of what is packed in them."""

    def __init__(self, *, gzipped: bool, expected: str) -> None:
        self._expected = expected
        self._hash = hashlib.sha256()
        self._unpack = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS) if gzipped else None  # 16: with gzip's header

    def add(self, url: str, chunk: bytes) -> None:
        try:
            self._hash.update(chunk if self._unpack is None else self._unpack.decompress(chunk))
        except zlib.error as error:
            raise DownloadError(f"{url} is not the file expected: {error}.") from error

    def check(self, url: str) -> None:
        found = self._hash.hexdigest()
        rest = self._unpack is not None and (not self._unpack.eof or self._unpack.unused_data)
        if rest or found != self._expected:
            raise DownloadError(
                f"{url} is not the file expected: its sha256 is {found[:12]}... where {self._expected[:12]}... is due."
            )


class ByteProgress(Progress):
    """Progress whose stages are told (bytes so far, bytes in all), the latter nan if not known."""

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
        said = 0.0

        def update(n: int, total: float) -> None:
            nonlocal said
            step = 1e7 if math.isnan(total) else total / 10
            if n < said:  # begun anew after a broken connection
                said = 0.0
            if n - said >= step:
                said = n
                self._log(f"{name}: {n / 1e6:.1f} MB" + ("" if math.isnan(total) else f" of {total / 1e6:.1f}"))

        return update
