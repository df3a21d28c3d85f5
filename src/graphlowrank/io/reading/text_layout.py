"""How a text file is laid out, found from its first rows."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..._reading import refusal
from .text_cells import is_number, is_text, lines, open_bytes

_LOOK_AT = 20  # lines
_LETTERS = 2**24  # after which fewer lines have to do
_BOM = b"\xef\xbb\xbf"
_WIDE = (b"\xff\xfe", b"\xfe\xff")  # how UTF-16 begins


@dataclass(frozen=True)
class Layout:
    """How the rows of a file are to be read.

    Attributes
    ----------
    delimiter
        Between cells.
    columns
        Names of all columns, that of the samples' names too; None if the file does not say.
    n_columns
        How many there are.
    has_index
        Whether the first column holds the names of the samples.
    start
        Byte at which the rows begin.
    line
        Lines before it.
    """

    delimiter: str
    columns: tuple[str, ...] | None
    n_columns: int
    has_index: bool
    start: int
    line: int

    def name_of(self, column: int) -> str:
        """Say which column is meant: its number, from 1, and its name."""
        return f"column {column + 1}" + (f" ({self.columns[column]!r})" if self.columns else "")


def find_layout(path: Path, *, header: bool | None, index: bool | None) -> Layout:
    """Layout of a file from its first rows."""
    with open_bytes(path) as file:
        beginning = file.read(4)
        if beginning.startswith(_WIDE):
            raise refusal(path, "is UTF-16 text; save it as UTF-8.")
        start = len(_BOM) if beginning.startswith(_BOM) else 0
        file.seek(start)
        first = _first_lines(lines(file, path))
    if any("\0" in line for line in first):
        raise refusal(path, "is not text: it has zero bytes.")
    filled = [line for line in first if line.strip()]
    if not filled:
        raise refusal(path, "is empty.")
    delimiter = "\t" if path.name.lower().endswith((".tsv", ".tsv.gz")) else _delimiter(filled)
    consumed = _Counting(first)
    rows = [(row, consumed.n_bytes, consumed.n_lines) for row in csv.reader(consumed, delimiter=delimiter) if row]
    cells = [row for row, _, _ in rows]
    header = _has_header(cells, index=index) if header is None else header
    if not header:
        n_columns = len(cells[0])
        return Layout(delimiter, None, n_columns, _has_index(cells, n_columns) if index is None else index, start, 0)
    names, length, n_lines = rows[0]
    n_columns = len(names) + _lacks_a_name(cells)
    names = [""] * (n_columns - len(names)) + names
    has_index = (names[0].strip() == "" or _has_index(cells[1:], n_columns)) if index is None else index
    return Layout(delimiter, tuple(names), n_columns, has_index, start + length, n_lines)


def _first_lines(found: Iterator[str]) -> list[str]:
    first: list[str] = []
    n_letters = 0
    for line in found:
        first.append(line)
        n_letters += len(line)
        if len(first) == _LOOK_AT or (n_letters > _LETTERS and len(first) > 1):
            break
    return first


class _Counting:
    """Lines, and how many bytes and lines were handed out."""

    def __init__(self, found: list[str]) -> None:
        self._lines = iter(found)
        self.n_bytes = self.n_lines = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = next(self._lines)
        self.n_bytes += len(line.encode())
        self.n_lines += 1
        return line


def _delimiter(found: list[str]) -> str:
    """Return the one that cuts most of the first rows into numbers, and into rows alike."""

    def score(delimiter: str) -> tuple[bool, float, int]:
        rows = list(csv.reader(found, delimiter=delimiter))
        cells = [cell for row in rows[len(rows) > 1 :] for cell in row[len(row) > 1 :]]
        numbers = sum(is_number(cell) or (delimiter != "," and _has_decimal_comma(cell)) for cell in cells)
        return len(rows[0]) > 1, numbers / max(1, len(cells)), len(rows[0])

    return max(";", "\t", ",", key=score)


def _has_decimal_comma(cell: str) -> bool:
    return re.fullmatch(r"\s*[+-]?\d+,\d+\s*", cell) is not None


def _has_header(rows: list[list[str]], *, index: bool | None) -> bool:
    """Whether the first row has a name where the others have numbers, or counts the columns as pandas does."""
    first = rows[0]
    if _lacks_a_name(rows):
        return True
    if index is not False and not first[0].strip() and len(first) > 1 and len(rows) > 1:
        counted = first[1:] == [str(number) for number in range(len(first) - 1)]
        if counted or all(is_text(row[0]) for row in rows[1:]):
            return True
    return any(map(is_text, first[1:] if len(first) > 1 else first))


def _lacks_a_name(rows: list[list[str]]) -> bool:
    """Whether the first row has one cell less than all others: R has no name above the names of the rows."""
    others = rows[1 : -1 if len(rows) > 2 else None]  # the last one may be cut
    return bool(others) and all(map(is_text, rows[0])) and all(len(row) == len(rows[0]) + 1 for row in others)


def _has_index(rows: list[list[str]], n_columns: int) -> bool:
    # Numbers with decimal commas are wrong, but no names.
    return n_columns > 1 and any(is_text(row[0]) and not _has_decimal_comma(row[0]) for row in rows)
