"""Run a reader in a child process with limits on memory and time.

scipy.io, h5py and the codecs of zarr crash or hang on some damaged files. A guarded reader runs in a child process: if
that crashes, hangs or runs out of memory, the file is damaged and this process goes on. Starting it takes about 0.2 s,
so readers that proved safe run without it. Nothing is pickled: the child sends lines of JSON, each array follows as
blocks of raw bytes.
"""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._file_errors import InvalidFileError, reading
from .memory import allowed_bytes, check_room

if TYPE_CHECKING:
    from .._backend import Array

TIMEOUT = 60.0  # seconds without an answer after which the child is killed
SLOWEST = 2**23  # bytes per second of the slowest reader: large files get more time
ORPHAN_TIMEOUT = 600  # seconds after which the child ends itself, should this process be gone
BLOCK_BYTES = 2**22
LIBRARY_BYTES = 2**31  # address space of the child's libraries, not counted as memory of the file
_ERRORS = {"InvalidFileError": InvalidFileError, "ImportError": ImportError, "MemoryError": MemoryError}
_BOOT = """
import json, sys
request = json.loads(sys.stdin.readline())
sys.path[:] = request["sys_path"]
from graphlowrank.io.worker import serve
serve(request)
"""


class FileArray(NamedTuple):
    """An array that lies uncompressed in the file: it is mapped, not copied."""

    shape: tuple[int, ...]
    dtype: np.dtype
    offset: int


def run_guarded(function: str, path: Path, *, timeout: float | None = None, **options: Any) -> Any:
    """Call a reader, named "module:function", with a path and options of JSON types in a child process.

    It may return nested dicts and lists of JSON values, arrays of numbers, :class:`FileArray`, and what can be sliced
    like an array (h5py, zarr), which is read block by block; they come back as arrays in memory, or mapped. Raises
    ValueError if the reader raises an exception, crashes, runs out of memory, or sends nothing for ``timeout`` seconds
    (by default ``TIMEOUT``, and longer for large files).
    """
    if not path.is_dir():
        path.open("rb").close()  # raises the errors of the operating system
    request = {
        "sys_path": sys.path, "memory": allowed_bytes(), "function": function, "path": str(path), "options": options,
    }  # fmt: skip
    # One thread: nothing is computed there, and starting more takes longer than reading a small file.
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    with reading(path), subprocess.Popen(
        [sys.executable, "-I", "-c", _BOOT],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment,
    ) as process:  # fmt: skip
        try:
            pipe: Any = process.stdin
            with suppress(OSError), pipe:  # a child that died at once is reported below
                pipe.write(json.dumps(request).encode() + b"\n")
            limit = TIMEOUT + path.stat().st_size / SLOWEST if timeout is None else timeout
            answer = _receive(process, limit)
            check_room(sum(_n_bytes(each) for each in answer["arrays"] if "offset" not in each), path)
            arrays = [_receive_array(process, limit, each, path) for each in answer["arrays"]]
            return _decode(answer["result"], arrays)
        finally:
            process.kill()


def _receive(process: subprocess.Popen[bytes], timeout: float, into: memoryview | None = None) -> Any:
    """Return the next message, or fill ``into``; ValueError if the child reports one, has died or is silent."""
    pipe: Any = process.stdout
    timer = threading.Timer(timeout, process.kill)
    timer.daemon = True
    timer.start()
    start = time.monotonic()
    line = pipe.readline() if into is None else b""
    complete = line.endswith(b"\n") if into is None else pipe.readinto(into) == len(into)
    timer.cancel()
    if not complete:
        reason = f"did not finish within {timeout:g} s" if time.monotonic() - start >= timeout else "crashed"
        raise ValueError(f"the library that reads it {reason}")
    message = json.loads(line) if into is None else None
    if isinstance(message, dict) and "error" in message:
        raise _ERRORS.get(message["kind"], ValueError)(message["error"])
    return message


def _n_bytes(found: dict[str, Any]) -> int:
    n_bytes: int = math.prod(found["shape"]) * np.dtype(found["dtype"]).itemsize
    return n_bytes


def _receive_array(process: subprocess.Popen[bytes], timeout: float, found: dict[str, Any], path: Path) -> Array:
    dtype, shape = np.dtype(found["dtype"]), tuple(found["shape"])
    if "offset" in found:
        if found["offset"] + _n_bytes(found) > path.stat().st_size:
            raise ValueError("it is truncated")
        return np.memmap(path, dtype, "r", found["offset"], shape)
    out = np.empty(shape[::-1] if found["transposed"] else shape, dtype)
    view, start = out.reshape(-1).view(np.uint8).data, 0
    while size := _receive(process, timeout):
        if start + size > len(view):
            raise ValueError("an array has more values than it claims")
        _receive(process, timeout, view[start : start + size])
        start += size
    if start < len(view):
        raise ValueError("an array has fewer values than it claims")
    return out.T if found["transposed"] else out


def _decode(found: Any, arrays: list[Array]) -> Any:
    if isinstance(found, list):
        return [_decode(each, arrays) for each in found]
    if isinstance(found, dict):
        return arrays[found["array"]] if set(found) == {"array"} else {k: _decode(v, arrays) for k, v in found.items()}
    return found


# --- the child ---------------------------------------------------------------------------------------------------


def serve(request: dict[str, Any]) -> None:
    """Answer a request of :func:`run_guarded` and send the result, or the error, to standard output."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # libraries may print
    _limit_memory(request["memory"])
    _end_after(ORPHAN_TIMEOUT)
    warnings.simplefilter("ignore")
    try:
        module, _, name = request["function"].partition(":")
        result = getattr(import_module(module), name)(Path(request["path"]), **request["options"])
        arrays: list[Any] = []
        _send(out, {"result": _encode(result, arrays), "arrays": [_describe(array) for array in arrays]})
        for array in arrays:
            if not isinstance(array, FileArray):
                for block in _blocks(array.T if _is_transposed(array) else array):
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


def _end_after(seconds: int) -> None:
    if hasattr(signal, "alarm"):  # not on Windows
        signal.alarm(seconds)  # ends the process even within a loop of a library


def _send(out: IO[bytes], message: object) -> None:
    _end_after(ORPHAN_TIMEOUT)
    out.write(json.dumps(message).encode() + b"\n")
    out.flush()


def _encode(found: Any, arrays: list[Any]) -> Any:
    """Return JSON; arrays are replaced by their numbers and appended to ``arrays``."""
    if hasattr(found, "dtype") and found.shape:
        arrays.append(found)
        return {"array": len(arrays) - 1}
    if isinstance(found, dict):
        return {name: _encode(each, arrays) for name, each in found.items()}
    if isinstance(found, list | tuple):
        return [_encode(each, arrays) for each in found]
    return found.item() if hasattr(found, "item") else found


def _describe(array: Any) -> dict[str, Any]:
    if array.dtype.kind not in "buifc":
        raise ValueError(f"an array holds {array.dtype}")
    found = {"shape": list(array.shape), "dtype": array.dtype.str}
    return found | ({"offset": array.offset} if isinstance(array, FileArray) else {"transposed": _is_transposed(array)})


def _is_transposed(array: Any) -> bool:
    return isinstance(array, np.ndarray) and array.flags.f_contiguous and not array.flags.c_contiguous


def _blocks(array: Any) -> Iterator[Array]:
    """Yield contiguous rows; each chunk of a chunked array is decoded once."""
    chunks = getattr(array, "shards", None) or getattr(array, "chunks", None) or (1,)
    row_bytes = math.prod(array.shape[1:]) * array.dtype.itemsize
    step = max(1, BLOCK_BYTES // max(1, row_bytes * chunks[0])) * chunks[0]
    for start in range(0, array.shape[0], step):
        yield np.ascontiguousarray(array[start : start + step])
