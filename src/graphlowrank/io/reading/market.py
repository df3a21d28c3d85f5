"""Tables of Matrix Market files (.mtx, .mtx.gz)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import IO

import numpy as np

from ..._backend import Array
from ..._reading import refusal, refusing
from ..memory import DEFLATE_RATIO, check_room
from .npy import from_triplets
from .table import Table, check_layout
from .text_cells import open_bytes

_FIELDS = {"real": float, "double": float, "integer": np.int64, "pattern": np.int8}
_SYMMETRIES = ("general", "symmetric", "skew-symmetric")
_HEADER_BYTES = 2**20  # of remarks, at most


def read_market(path: Path) -> Table:
    """Table of a Matrix Market file: sparse if it lists entries, dense if it lists all values."""
    with refusing(path), open_bytes(path) as file:
        layout, field, symmetry = _kind(file.readline(1024), path)
        sizes = _sizes(file, 3 if layout == "coordinate" else 2)
        shape, n_entries = sizes[:2], sizes[2] if layout == "coordinate" else sizes[0] * sizes[1]
        check_layout(shape, np.dtype(float), path)
        if symmetry != "general" and shape[0] != shape[1]:
            raise ValueError(f"it is {symmetry} but of shape {shape}")
        # An entry takes two bytes at least: what the file cannot hold is not waited for.
        packing = DEFLATE_RATIO if path.suffix.lower() == ".gz" else 1
        if 2 * n_entries > packing * path.stat().st_size:
            raise ValueError(f"it claims {n_entries} entries, more than its bytes can hold")
        n_numbers = 1 if layout == "array" else 2 if field == "pattern" else 3
        check_room(8 * n_entries * n_numbers, path)
        if layout == "array":
            if symmetry != "general" or field == "pattern":
                raise refusal(path, f"lists the values of a {symmetry} {field} array; save it as coordinates.")
            return Table(_numbers(file, n_entries, 1).reshape(shape[::-1]).T.astype(_FIELDS[field], copy=False))
        entries = _numbers(file, n_entries, n_numbers)
        return Table(_sparse(entries, (shape[0], shape[1]), field, symmetry, path))


def _kind(line: bytes, path: Path) -> tuple[str, str, str]:
    words = line.decode("ascii").lower().split()
    if len(words) != 5 or words[:2] != ["%%matrixmarket", "matrix"] or words[2] not in {"coordinate", "array"}:
        raise refusal(path, "is not a Matrix Market file: its first line does not say so.")
    if words[3] not in _FIELDS or words[4] not in _SYMMETRIES:
        raise refusal(path, f"holds a matrix that is {words[3]} and {words[4]}; a table is real and general.")
    return words[2], words[3], words[4]


def _sizes(file: IO[bytes], number: int) -> tuple[int, ...]:
    left = _HEADER_BYTES
    while (line := file.readline(left)) and left > 0:
        left -= len(line)
        words = line.split()
        if words and not words[0].startswith(b"%"):
            if len(words) != number or not all(re.fullmatch(rb"\d{1,18}", word) for word in words):
                raise ValueError(f"its sizes are {line[:80]!r}")
            return tuple(map(int, words))
    raise ValueError("it has no sizes")


def _numbers(file: IO[bytes], n_entries: int, n_numbers: int) -> Array:
    """Return all numbers, (n_entries, n_numbers)."""
    # numpy's parser in C takes what is written one entry a line, and says which line is wrong.
    found = np.loadtxt(file, ndmin=2, max_rows=n_entries, encoding="ascii", comments=None) if n_entries else None
    if found is None:
        return np.empty((0, n_numbers))
    if found.shape != (n_entries, n_numbers):
        raise ValueError(f"it has {found.shape[0]} entries of {found.shape[1]} numbers where {n_entries} are due")
    if file.read(2**16).strip():
        raise ValueError("it has more entries than it says")
    return found


def _sparse(entries: Array, shape: tuple[int, int], field: str, symmetry: str, path: Path) -> Array:
    places = entries[:, :2]
    if not np.all(np.isfinite(places)) or np.any(places != np.rint(places)) or np.any(places < 1):
        raise ValueError("it has entries at places that are not 1, 2, ...")
    rows, columns = places.astype(np.int64).T - 1
    data = np.ones(len(rows)) if field == "pattern" else entries[:, 2]
    data = data.astype(_FIELDS[field]) if field != "pattern" else data
    if symmetry != "general":
        off = rows != columns
        mirrored = -data[off] if symmetry == "skew-symmetric" else data[off]
        rows, columns = np.concatenate([rows, columns[off]]), np.concatenate([columns, rows[off]])
        data = np.concatenate([data, mirrored])
    return from_triplets(data, rows, columns, shape, path)
