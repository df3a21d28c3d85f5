"""HDF5 files, read by a process of their own.

The HDF5 library crashes, or loops for ever, on some damaged files (of 1600 damaged ones, 2 and 3). So a second
interpreter opens the file and hands the bytes on (:mod:`.hdf5_worker`); if it dies or falls silent the file is damaged,
and this process goes on. It costs about a fifth of a second a file. An array that is neither packed nor in pieces is
mapped from its place in the file; others come block by block straight to where they are wanted.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any, Self

import numpy as np

from ..._backend import Array
from ..._reading import refusal, refusing
from ..memory import allowed_bytes, check_room
from ..packages import need
from .table import Entry, Table, check_layout, choose, compressed

SILENCE = 60.0  # seconds in which not even one block comes, after which the file is given up
_PARTS = {"data", "indices", "indptr"}
_MAX_ANSWER = 2**30
_SCRIPT = Path(__file__).with_name("hdf5_worker.py")


@dataclass(frozen=True)
class Node:
    """An array of a file, or a group if it has no shape."""

    attributes: dict[str, Any]
    shape: tuple[int, ...] | None = None
    dtype: np.dtype | None = None
    text: bool = False
    place: int | None = None
    elsewhere: bool = False

    @property
    def n_bytes(self) -> int:
        """Length of an array of numbers."""
        return math.prod(self.shape or (0,)) * (self.dtype.itemsize if self.dtype else 0)


class Hdf5:
    """An open HDF5 file; use :func:`open_hdf5`.

    Attributes
    ----------
    nodes
        What it holds, by name.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.nodes: dict[str, Node] = {}
        self._process: subprocess.Popen[bytes] | None = None
        self._silent = False

    def __enter__(self) -> Self:
        arguments = json.dumps([str(self.path), allowed_bytes(), sys.path])
        # One thread: nothing is computed there, and starting many takes longer than reading a small file.
        self._process = subprocess.Popen(
            [sys.executable, "-I", str(_SCRIPT), arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        )
        try:
            self._heard()
            listed = self._asked("list")
            self.nodes = {name: _node(found) for name, found in listed.items()}
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe is not None:
                    pipe.close()

    def array(self, name: str) -> Array:
        """Return an array of numbers of this name: mapped if it lies in the file as it is, in memory if not."""
        node = self.nodes.get(name)
        if node is None or node.shape is None or node.dtype is None or not node.shape:
            raise refusal(self.path, f"holds no array of numbers called {name!r}.")
        if node.elsewhere:
            raise refusal(self.path, f"keeps the values of {name!r} in other files, which are not followed.")
        if node.place is not None and node.n_bytes:
            if node.place + node.n_bytes > self.path.stat().st_size:
                raise ValueError("it is truncated")
            return np.memmap(self.path, node.dtype, "r", node.place, node.shape)
        check_room(node.n_bytes, self.path)
        return self._streamed(name, node)

    def strings(self, name: str, limit: int) -> tuple[str, ...] | None:
        """Return strings of this name; None if there are none, or more than so many."""
        node = self.nodes.get(name)
        if node is None or not node.text:
            return None
        found = self._asked("text", name, limit)
        return None if found is None else tuple(found)

    def _streamed(self, name: str, node: Node) -> Array:
        out = np.empty(node.shape or (), node.dtype)
        view, start = out.reshape(-1).view(np.uint8).data, 0
        size = self._asked("rows", name)
        while size:
            if start + size > len(view):
                raise ValueError(f"{name} has more values than it says")
            self._heard(view[start : start + size])
            start += size
            size = self._heard()
        if start < len(view):
            raise ValueError(f"{name} has fewer values than it says")
        return out

    def _asked(self, *command: object) -> Any:
        try:
            self._input.write(json.dumps(command).encode() + b"\n")
            self._input.flush()
        except OSError:  # it has died; the answer will say of what
            pass
        return self._heard()

    def _heard(self, into: memoryview | None = None) -> Any:
        """Return the next answer, or fill ``into``; ValueError if the process has died, complains or is silent."""
        watchdog = threading.Timer(SILENCE, self._give_up)
        watchdog.daemon = True
        watchdog.start()
        try:
            if into is not None:
                if _fill(self._output, into):
                    return None
                raise ValueError(self._last_words())
            line = self._output.readline(_MAX_ANSWER)
        finally:
            watchdog.cancel()
        if not line.endswith(b"\n"):
            raise ValueError(self._last_words())
        answer = json.loads(line)
        if isinstance(answer, dict) and set(answer) == {"error"}:
            raise ValueError(next(iter(str(answer["error"]).splitlines()), ""))
        return answer

    def _give_up(self) -> None:
        self._silent = True
        if self._process is not None:
            self._process.kill()

    def _last_words(self) -> str:
        return "the HDF5 library does not come to an end on it" if self._silent else "the HDF5 library crashes on it"

    @property
    def _input(self) -> IO[bytes]:
        assert self._process is not None and self._process.stdin is not None  # noqa: PT018
        return self._process.stdin

    @property
    def _output(self) -> IO[bytes]:
        assert self._process is not None and self._process.stdout is not None  # noqa: PT018
        return self._process.stdout


@contextmanager
def open_hdf5(path: Path) -> Iterator[Hdf5]:
    """Open an HDF5 file; whatever goes wrong with it inside of the ``with`` statement is one ValueError."""
    if find_spec("h5py") is None:  # it is loaded by the other process only
        need("h5py", f"Reading {path.suffix} files")
    with path.open("rb"):  # the system's own errors: missing, not allowed
        pass
    with refusing(path), Hdf5(path) as file:
        yield file


def _fill(pipe: IO[bytes], view: memoryview) -> bool:
    """Read exactly as many bytes as there is room for; False if the pipe ends before."""
    start = 0
    while start < len(view):
        found = pipe.readinto(view[start:])  # type: ignore[attr-defined]
        if not found:
            return False
        start += found
    return True


def _node(found: dict[str, Any]) -> Node:
    if "shape" not in found:
        return Node(found["attributes"])
    dtype = np.dtype(found["dtype"]) if found["dtype"] else None
    return Node(
        found["attributes"], tuple(found["shape"]), dtype, found["text"], found["place"], found["elsewhere"]
    )  # fmt: skip


# --- tables ------------------------------------------------------------------------------------------------------


def read_hdf5(path: Path, key: str | None) -> Table:
    """Table of an .h5 file: an array, or a group with the parts of a sparse matrix."""
    with open_hdf5(path) as file:
        key = choose(tables_of(file.nodes), key.strip("/") if key else key, path)
        values = matrix(file, key)
        beside = key.rpartition("/")[0]
        names = [f"{beside}/{name}".strip("/") for name in ("sample_names", "feature_names")]
        samples, features = (file.strings(name, size) for name, size in zip(names, values.shape, strict=True))
    return Table(values, samples, features)


def matrix(file: Hdf5, name: str) -> Any:
    """Dense or sparse matrix of this name."""
    node = file.nodes[name]
    if node.shape is not None:
        check_layout(node.shape, node.dtype, file.path)
        return file.array(name)
    data, indices, indptr = (file.array(f"{name}/{part}") for part in ("data", "indices", "indptr"))
    axis, shape = sparse_layout(file, name, n_ends=len(indptr) - 1)
    return compressed(np.asarray(data), np.asarray(indices), np.asarray(indptr), shape, axis, file.path)


def sparse_layout(file: Hdf5, name: str, n_ends: int) -> tuple[str, Sequence[int]]:
    """Axis ("csr" or "csc") and shape of a sparse matrix, as AnnData, 10x Genomics and scipy users write them."""
    said = file.nodes[name].attributes
    kind = str(said.get("encoding-type", said.get("h5sparse_format", "csr")))
    shape = said.get("shape", said.get("h5sparse_shape"))
    stored = file.nodes.get(f"{name}/shape")
    if shape is None and stored is not None and stored.n_bytes <= 64:
        shape = file.array(f"{name}/shape").tolist()
    if not (isinstance(shape, list) and len(shape) == 2 and all(isinstance(size, int) for size in shape)):
        raise refusal(file.path, f"does not say which shape the sparse matrix {name!r} has.")
    if "encoding-type" in said or "h5sparse_format" in said or shape[0] == n_ends:
        return ("csc" if kind.startswith("csc") else "csr"), shape
    return "csc", shape


def tables_of(nodes: dict[str, Node]) -> dict[str, Entry]:
    """Arrays of a file, and its sparse matrices, by name."""
    found = {}
    for name, node in nodes.items():
        parts = [nodes.get(f"{name}/{part}") for part in _PARTS]
        if node.shape is None and all(parts):
            found[name] = Entry(_claimed_shape(node), nodes[f"{name}/data"].dtype)
        elif node.shape is not None and name.rpartition("/")[0] not in found:
            found[name] = Entry(node.shape, node.dtype)
    sparse = {name for name in found if nodes[name].shape is None}
    return {name: entry for name, entry in found.items() if name.rpartition("/")[0] not in sparse}


def _claimed_shape(node: Node) -> tuple[int, ...]:
    shape = node.attributes.get("shape", node.attributes.get("h5sparse_shape", [2, 2]))
    return tuple(shape) if isinstance(shape, list) else (2, 2)
