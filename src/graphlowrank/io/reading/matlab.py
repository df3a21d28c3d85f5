"""Tables of Matlab's .mat files of version 5 to 7.2, read without scipy: its reader crashes on damaged files.

A file is a list of elements, each with a type and a length; an element may be a deflated one. A matrix is an element
made of elements: flags, lengths, name, values, and, before the values of a sparse one, row indices and column ends.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from ..._backend import Array
from ..._reading import refusal, refusing
from ..memory import allowed_bytes, check_room
from .table import Entry, Table, check_layout, choose, compressed

_TYPES = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
_MATRIX, _PACKED = 14, 15
_SPARSE, _CELL, _CHAR = 5, 1, 4  # classes of matrices
_UTF8 = 16
_CLASSES = {6: "f8", 7: "f4", 8: "i1", 9: "u1", 10: "i2", 11: "u2", 12: "i4", 13: "u4", 14: "i8", 15: "u8"}
_COMPLEX = 0x08
HDF5 = b"\x89HDF\r\n\x1a\n"


def is_hdf5(path: Path) -> bool:
    """Whether a .mat file is of version 7.3, which is HDF5 after 512 bytes."""
    with path.open("rb") as file:
        start = file.read(520)
    return start.startswith(HDF5) or start[512:] == HDF5


def read_mat(path: Path, key: str | None) -> Table:
    """Table of a .mat file up to version 7.2."""
    with refusing(path), path.open("rb") as file:
        order = _byte_order(file.read(128), path)
        found = {}
        for place in _elements(file, order):
            head = _head(_Stream(file, place), order)
            if head is not None and head.name:
                found[head.name] = head, place
        key = choose({name: head.entry for name, (head, _) in found.items()}, key, path)
        head, place = found[key]
        check_layout(head.shape, head.entry.dtype, path)
        values = _read_matrix(_Stream(file, place), order, path)
        samples, features = (
            _read_names(_Stream(file, found[name][1]), order, length) if name in found else None
            for name, length in zip(("sample_names", "feature_names"), values.shape, strict=True)
        )
        return Table(values, samples, features)


@dataclass(frozen=True)
class _Head:
    name: str
    kind: int
    flags: int
    shape: tuple[int, ...]

    @property
    def entry(self) -> Entry:
        dtype = _CLASSES.get(self.kind, "f8" if self.kind == _SPARSE else None)
        if self.flags & _COMPLEX and dtype:
            dtype = "c16"
        return Entry(self.shape, np.dtype(dtype) if dtype else None)


class _Place(NamedTuple):
    start: int
    size: int
    packed: bool


class _Stream:
    """Bytes of one element of the file, inflated bit by bit if it is packed."""

    def __init__(self, file: IO[bytes], place: _Place) -> None:
        self._file, self._left = file, place.size
        self._unpack: Any = zlib.decompressobj() if place.packed else None
        file.seek(place.start)

    def read(self, size: int) -> bytes | bytearray:
        """Return the next bytes; ValueError if there are fewer."""
        if size > allowed_bytes():
            raise ValueError(f"a part claims {size} bytes")
        raw = self._inflated(size) if self._unpack else self._raw(size)
        if len(raw) < size:
            raise ValueError("it is truncated")
        return raw

    def end(self) -> None:
        """Go on to the end of what is packed, where its checksum is."""
        if self._unpack and (self._inflated(1) or not self._unpack.eof):
            raise ValueError("a packed part does not end where it should")

    def _raw(self, size: int) -> bytes:
        raw = self._file.read(min(size, self._left))
        self._left -= len(raw)
        return raw

    def _inflated(self, size: int) -> bytearray:
        found = bytearray()
        while len(found) < size and not self._unpack.eof:
            more = self._unpack.unconsumed_tail or self._raw(2**16)
            part = self._unpack.decompress(more, min(size - len(found), 2**24))
            if not part and not more:
                break
            found += part
        return found


def _byte_order(header: bytes, path: Path) -> str:
    mark = header[126:128]
    if len(header) < 128 or mark not in {b"IM", b"MI"}:
        raise refusal(path, "is not a Matlab file of version 5 or later, or damaged; save it with -v7.")
    return "<" if mark == b"IM" else ">"


def _elements(file: IO[bytes], order: str) -> Iterator[_Place]:
    """Places of the variables; the file may be read in between."""
    place = 128
    while True:
        file.seek(place)
        tag = file.read(8)
        if not tag:
            return
        if len(tag) < 8:
            raise ValueError("it is truncated")
        kind, size = struct.unpack(f"{order}II", tag)
        if kind not in {_MATRIX, _PACKED}:
            raise ValueError(f"it has an element of type {kind}")
        yield _Place(place + 8, size, packed=True) if kind == _PACKED else _Place(place, size + 8, packed=False)
        place += 8 + size


def _head(stream: _Stream, order: str) -> _Head | None:
    """Return what a matrix says of itself before its values; None for objects, which say it in another way."""
    kind, _ = struct.unpack(f"{order}II", stream.read(8))
    if kind != _MATRIX:
        raise ValueError(f"it has an element of type {kind}")
    flags = np.frombuffer(_part(stream, order)[1], f"{order}u4")
    if len(flags) != 2:
        raise ValueError("a matrix has no flags")
    if int(flags[0]) & 0xFF == 17:  # opaque: its parts come in another order
        return None
    shape = tuple(np.frombuffer(_part(stream, order)[1], f"{order}i4").tolist())
    name = _part(stream, order)[1].decode("ascii")
    if min(shape, default=-1) < 0:
        raise ValueError(f"it claims the shape {shape}")
    return _Head(name, int(flags[0]) & 0xFF, int(flags[0]) >> 8 & 0xFF, shape)


def _part(stream: _Stream, order: str) -> tuple[int, bytes | bytearray]:
    """Type and bytes of one element; a short one has its bytes in its tag."""
    tag = stream.read(8)
    first, size = struct.unpack(f"{order}II", tag)
    if first >> 16:
        size = first >> 16
        if size > 4:
            raise ValueError(f"a part claims {size} bytes where 4 have room")
        return first & 0xFFFF, tag[4 : 4 + size]
    raw = stream.read(size)
    stream.read(-size % 8)
    return first, raw


def _numbers(stream: _Stream, order: str) -> Array:
    kind, raw = _part(stream, order)
    if kind not in _TYPES:
        raise ValueError(f"numbers are of type {kind}")
    return np.frombuffer(raw, order + _TYPES[kind])


def _read_matrix(stream: _Stream, order: str, path: Path) -> Any:
    head = _head(stream, order)
    if head is None or len(head.shape) != 2:
        raise ValueError("a matrix has changed while it was read")
    if head.kind == _SPARSE:
        rows, ends, data = (_numbers(stream, order) for _ in range(3))
        stream.end()
        n_stored = int(ends[-1]) if len(ends) else 0  # there may be room for more
        # Whole numbers are stored in the smallest type that holds them, though all are double to Matlab.
        data = data if data.dtype.kind == "f" else data.astype(float)
        return compressed(data[: max(n_stored, 0)], rows[: max(n_stored, 0)], ends, head.shape, "csc", path)
    dtype = np.dtype(_CLASSES[head.kind])
    check_room(math.prod(head.shape) * dtype.itemsize, path)
    values = _numbers(stream, order)
    stream.end()
    if len(values) != math.prod(head.shape):
        raise ValueError(f"it has {len(values)} values for the shape {head.shape}")
    return values.astype(dtype, copy=False).reshape(head.shape, order="F")


def _read_names(stream: _Stream, order: str, length: int) -> tuple[str, ...] | None:
    """Words of a list of cells; None if it is something else."""
    head = _head(stream, order)
    if head is None or head.kind != _CELL or math.prod(head.shape) != length:
        return None
    names = []
    for _ in range(length):
        cell = _head(stream, order)
        if cell is None or cell.kind != _CHAR:
            return None
        kind, raw = _part(stream, order) if math.prod(cell.shape) else (_UTF8, b"")
        names.append(raw.decode({_UTF8: "utf-8", 2: "latin-1"}.get(kind, "utf-16-le" if order == "<" else "utf-16-be")))
    stream.end()
    return tuple(names)
