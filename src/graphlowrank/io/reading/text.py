"""Tables of .csv and .tsv files, also gzipped.

The layout is found from the first rows: which delimiter, whether the first row has names of features and the first
column names of samples. Then pyarrow reads the numbers if it is there and finds nothing odd; if not, the parser of
:mod:`.text_plain` does, which is slower, and whose word on what a number is, and which line is wrong, is final.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from ..._backend import Array
from ..._reading import refusal, refusing
from ..memory import check_room
from . import text_arrow, text_plain
from .table import Table
from .text_layout import find_layout


def read_text(path: Path, *, header: bool | None, index: bool | None) -> Table:
    """Table of a text file; see :func:`~graphlowrank.io.read`."""
    with refusing(path), _plainly(path):
        layout = find_layout(path, header=header, index=index)
        blocks = text_arrow.blocks(path, layout) or text_plain.blocks(path, layout)
        values, names = _gather(blocks, path)
    features = layout.columns[1:] if layout.columns and layout.has_index else layout.columns
    return Table(values, names if layout.has_index else None, features)


def _gather(blocks: Iterator[tuple[Array, list[str]]], path: Path) -> tuple[Array, tuple[str, ...]]:
    """One array of many, each let go as soon as it is copied: the table is not in memory twice."""
    parts: list[Array] = []
    names: list[str] = []
    taken = 0
    for values, more in blocks:
        taken += values.nbytes
        check_room(values.nbytes, path)  # what is taken so far is no longer free
        parts.append(values)
        names += more
    if not taken:
        raise refusal(path, "has no rows of numbers.")
    out = np.empty((sum(map(len, parts)), parts[0].shape[1]))
    start = 0
    parts.reverse()
    while parts:
        part = parts.pop()
        out[start : start + len(part)] = part
        start += len(part)
    return out, tuple(names)


@contextmanager
def _plainly(path: Path) -> Iterator[None]:
    try:
        yield
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        raise refusal(
            path, f"is not UTF-8 text: it has the byte 0x{byte:02x}, maybe of Latin-1; save it as UTF-8."
        ) from error
