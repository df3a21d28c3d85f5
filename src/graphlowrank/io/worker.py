"""Run a reader in a child process with limits on memory and time.

scipy.io, h5py and the codecs of zarr crash or hang on some damaged files: then the file is damaged, and this process
goes on. Starting the child takes about 0.2 s, so readers that proved safe run without it. Nothing is pickled: the child
sends a line of JSON, then each array as blocks of raw bytes.
"""

import json
import math
import os
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name
from typing import IO, Any

import numpy as np

from .._files import InvalidFileError, reading
from .contents import SPARSE_PARTS
from .memory import allowed_bytes, check_room

TIMEOUT = 60.0  # seconds without an answer after which the child is killed
SLOWEST = 2**23  # bytes per second of the slowest reader: large files get more time
ORPHAN_TIMEOUT = 600  # seconds after which the child ends itself, should this process be gone
BLOCK_BYTES = 2**22
LIBRARY_BYTES = 2**31  # address space of the child's libraries, not counted as memory of the file
_ARRAY = "shape of an array"  # key of its description in an answer
_ERRORS = {"InvalidFileError": InvalidFileError, "ImportError": ImportError, "MemoryError": MemoryError}
_BOOT = """
import json, sys
request = json.loads(sys.stdin.readline())
sys.path[:] = request["sys_path"]
from graphlowrank.io.worker import serve
serve(request)
"""


@dataclass(frozen=True)
class FileArray:
    """An array that lies uncompressed in the file: it is mapped, not copied."""

    shape: tuple[int, ...]
    dtype: np.dtype
    offset: int


def run_guarded(function: str, path: Path, *, timeout: float | None = None, **options: Any) -> Any:
    """Call a reader, named "module:function", with a path and options of JSON types in a child process.

    It may return nested dicts and lists of JSON values, arrays of numbers, :class:`FileArray`, what can be sliced like
    an array and is read block by block (h5py, zarr), and sparse matrices, which come back as a dict of their parts.
    Raises ValueError if it raises, crashes, or sends nothing for ``timeout`` seconds (longer by default for large
    files).
    """
    if not path.is_dir():
        path.open("rb").close()  # raises the errors of the operating system
    request = {
        "sys_path": sys.path, "memory": allowed_bytes(), "function": function, "path": str(path), "options": options,
    }  # fmt: skip
    limit = TIMEOUT + path.stat().st_size / SLOWEST if timeout is None else timeout
    # One thread: nothing is computed there, and starting more takes longer than reading a small file.
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    with reading(path), subprocess.Popen(
        [sys.executable, "-I", "-c", _BOOT],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment,
    ) as process:  # fmt: skip

        def array(found: dict[str, Any]) -> Any:
            return _receive_array(process, limit, found, path) if _ARRAY in found else found

        try:
            pipe: Any = process.stdin
            with suppress(OSError), pipe:  # a child that died at once is reported below
                pipe.write(json.dumps(request).encode() + b"\n")
            return _receive(process, limit, object_hook=array)["result"]
        finally:
            process.kill()


def _receive(
    process: subprocess.Popen[bytes],
    timeout: float,
    *,
    into: memoryview | None = None,
    object_hook: Callable[[dict[str, Any]], Any] | None = None,
) -> Any:
    """Return the next message, or fill ``into``; ValueError if the child reports one, has died or is silent."""
    pipe: Any = process.stdout
    expired = threading.Event()

    def expire() -> None:
        expired.set()
        process.kill()

    timer = threading.Timer(timeout, expire)
    timer.daemon = True
    timer.start()
    line = pipe.readline() if into is None else b""
    complete = line.endswith(b"\n") if into is None else pipe.readinto(into) == len(into)
    timer.cancel()
    if not complete:
        reason = f"did not finish within {timeout:g} s" if expired.is_set() else "crashed"
        raise ValueError(f"the library that reads it {reason}")
    message = json.loads(line, object_hook=object_hook) if into is None else None
    if isinstance(message, dict) and "error" in message:
        raise _ERRORS.get(message["kind"], ValueError)(message["error"])
    return message


def _receive_array(process: subprocess.Popen[bytes], timeout: float, found: dict[str, Any], path: Path) -> np.ndarray:
    shape, dtype = tuple(found[_ARRAY]), np.dtype(found["dtype"])
    n_bytes = math.prod(shape) * dtype.itemsize
    if "offset" in found:
        if found["offset"] + n_bytes > path.stat().st_size:
            raise ValueError("it is truncated")
        return np.memmap(path, dtype, "r", found["offset"], shape)
    check_room(n_bytes, path)
    out = np.empty(shape, dtype)
    view, start = out.reshape(-1).view(np.uint8).data, 0
    while size := _receive(process, timeout):
        if start + size > n_bytes:
            raise ValueError("an array has more values than it claims")
        _receive(process, timeout, into=view[start : start + size])
        start += size
    if start < n_bytes:
        raise ValueError("an array has fewer values than it claims")
    return out.T if found["transposed"] else out


# --- the child ---------------------------------------------------------------------------------------------------


def serve(request: dict[str, Any]) -> None:
    """Answer a request of :func:`run_guarded` and send the result, or the error, to standard output."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # libraries may print
    _limit_memory(request["memory"])
    _postpone_end()
    warnings.simplefilter("ignore")
    arrays: list[Any] = []
    try:
        result = resolve_name(request["function"])(Path(request["path"]), **request["options"])
        _send(out, {"result": result}, default=lambda found: _describe(found, arrays))
        for array in arrays:
            for block in _blocks(array):
                _send(out, block.nbytes)
                out.write(block.data.cast("B"))
            _send(out, 0)
    except Exception as error:
        kind = next((name for name, kind in _ERRORS.items() if isinstance(error, kind)), "ValueError")
        _send(out, {"error": str(error) or type(error).__name__, "kind": kind})


def _limit_memory(limit: int) -> None:
    with suppress(ImportError):  # Windows
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        if hard == resource.RLIM_INFINITY or limit + LIBRARY_BYTES < hard:
            resource.setrlimit(resource.RLIMIT_AS, (limit + LIBRARY_BYTES, hard))


def _postpone_end() -> None:
    if hasattr(signal, "alarm"):  # not on Windows
        signal.alarm(ORPHAN_TIMEOUT)  # ends the process even within a loop of a library


def _send(out: IO[bytes], message: object, default: Callable[[Any], Any] | None = None) -> None:
    _postpone_end()
    out.write(json.dumps(message, default=default).encode() + b"\n")
    out.flush()


def _describe(found: Any, arrays: list[Any]) -> Any:
    """Return JSON in place of an array, which is appended to ``arrays`` unless it is mapped, or of a numpy number."""
    if hasattr(found, "indptr"):
        return {part: getattr(found, part) for part in (*SPARSE_PARTS, "shape")} | {"axis": found.format}
    if not found.shape:
        return found.item()
    if found.dtype.kind not in "buifc":
        raise ValueError(f"an array holds {found.dtype}")
    if isinstance(found, FileArray):
        return {_ARRAY: found.shape, "dtype": found.dtype.str, "offset": found.offset}
    transposed = isinstance(found, np.ndarray) and found.flags.f_contiguous and not found.flags.c_contiguous
    arrays.append(found.T if transposed else found)
    return {_ARRAY: arrays[-1].shape, "dtype": found.dtype.str, "transposed": transposed}


def _blocks(array: Any) -> Iterator[np.ndarray]:
    """Yield contiguous rows; each chunk of a chunked array is decoded once."""
    chunks = getattr(array, "shards", None) or getattr(array, "chunks", None) or (1,)
    row_bytes = math.prod(array.shape[1:]) * array.dtype.itemsize
    step = max(1, BLOCK_BYTES // max(1, row_bytes * chunks[0])) * chunks[0]
    for start in range(0, array.shape[0], step):
        yield np.ascontiguousarray(array[start : start + step])
