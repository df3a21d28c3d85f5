"""Numbers of text files, read by Python's own csv module: what is a number, and where one is missing."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ..._backend import Array
from ..._reading import refusal
from .text_cells import is_number, is_text, lines, open_bytes
from .text_layout import Layout

_ROWS = 4096  # of a block
_CELLS = 2**20  # of a block


def blocks(path: Path, layout: Layout) -> Iterator[tuple[Array, list[str]]]:
    """Yield values and names of some rows at a time; ValueError at the first row that is not like the others."""
    with open_bytes(path) as file:
        file.seek(layout.start)
        reader = csv.reader(lines(file, path), delimiter=layout.delimiter)
        size = max(1, min(_ROWS, _CELLS // layout.n_columns))
        values = np.empty((size, layout.n_columns - layout.has_index))
        names: list[str] = []
        n_rows = 0
        for row in reader:
            if not row:
                continue
            line = layout.line + reader.line_num
            if len(row) != layout.n_columns:
                raise refusal(path, f"has {len(row)} cells on line {line} where {layout.n_columns} are due.")
            if layout.has_index:
                names.append(row[0])
            values[n_rows] = _numbers(row, line, layout, path)
            n_rows += 1
            if n_rows == size:
                yield values.copy(), names
                names, n_rows = [], 0
        if n_rows:
            yield values[:n_rows].copy(), names


def _numbers(row: list[str], line: int, layout: Layout, path: Path) -> list[float]:
    cells = row[layout.has_index :]
    together = "".join(cells)
    if together.isascii() and "_" not in together:
        try:
            return list(map(float, cells))
        except ValueError:
            pass  # a missing one, or text
    for number, cell in enumerate(cells, start=int(layout.has_index)):
        if is_text(cell):
            raise _text_found(cell, number, line, layout, path)
    return [float(cell) if is_number(cell) else np.nan for cell in cells]


def _text_found(cell: str, number: int, line: int, layout: Layout, path: Path) -> ValueError:
    shown = cell if len(cell) <= 40 else f"{cell[:40]}..."
    advice = "leave such columns out"
    if "," in cell and is_number(cell.replace(",", ".", 1)):
        advice = "write numbers with a decimal point"
    where = layout.name_of(number)
    return refusal(path, f"has text where numbers are due: {shown!r} in {where}, line {line}; {advice}.")
