"""Layout of a text file, from its first rows: delimiter, header, names of samples."""

from __future__ import annotations

import csv
import gzip
import io
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO

from .._file_errors import invalid_file

MAX_LINE = 2**26  # characters
MISSING = ("", "NA", "NaN", "nan")
_N_LINES = 20  # that decide about the layout
_N_CHARACTERS = 2**24  # after which fewer lines decide
_BOM = b"\xef\xbb\xbf"
_UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True)
class Layout:
    """How to read the rows of a text file."""

    delimiter: str
    columns: tuple[str, ...] | None  # names of all columns, also that of the sample names; None without a header
    n_columns: int
    has_index: bool  # whether the first column holds the sample names
    start: int  # byte offset of the first row
    line: int  # number of lines before it


def find_layout(path: Path, *, header: bool | None, index: bool | None, max_line: int = MAX_LINE) -> Layout:
    """Return the layout of a file; ``header`` and ``index`` are detected if None."""
    with open_bytes(path) as file:
        beginning = file.read(4)
        if beginning.startswith(_UTF16_BOMS):
            raise invalid_file(path, "is UTF-16 text; save it as UTF-8.")
        start = len(_BOM) if beginning.startswith(_BOM) else 0
        file.seek(start)
        first = _first_lines(lines(file, path, max_line))
    if any("\0" in line for line in first):
        raise invalid_file(path, "is not text: it has zero bytes.")
    if not any(line.strip() for line in first):
        raise invalid_file(path, "is empty.")
    is_tsv = path.name.lower().endswith((".tsv", ".tsv.gz"))
    delimiter = "\t" if is_tsv else _delimiter([line for line in first if line.strip()])
    reader = csv.reader(first, delimiter=delimiter)
    rows = [(row, reader.line_num) for row in reader if row]
    cells = [row for row, _ in rows]
    header = _has_header(cells, index=index) if header is None else header
    if not header:
        n_columns = len(cells[0])
        return Layout(delimiter, None, n_columns, _has_index(cells, n_columns) if index is None else index, start, 0)
    names, n_lines = rows[0]
    n_columns = len(names) + _lacks_a_name(cells)
    names = [""] * (n_columns - len(names)) + names
    has_index = (names[0].strip() == "" or _has_index(cells[1:], n_columns)) if index is None else index
    start += sum(len(line.encode()) for line in first[:n_lines])
    return Layout(delimiter, tuple(names), n_columns, has_index, start, n_lines)


def is_number(cell: str) -> bool:
    """Whether a cell is a plain decimal number; Python would also accept 1_000 and digits of any script."""
    if "_" in cell or not cell.isascii():
        return False
    try:
        float(cell)
    except ValueError:
        return False
    return True


def is_text(cell: str) -> bool:
    """Whether a cell is neither a number nor missing."""
    return not is_number(cell) and cell.strip() not in MISSING


def open_bytes(path: Path) -> IO[bytes]:
    """Open a file, decompressed if its name ends in .gz."""
    return gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb")  # type: ignore[return-value]


def lines(file: IO[bytes], path: Path, max_line: int = MAX_LINE) -> Iterator[str]:
    """Yield lines with their ends; ValueError for a very long one, which a few compressed bytes can make."""
    text = io.TextIOWrapper(file, "utf-8", newline="")
    try:
        while line := text.readline(max_line):
            if len(line) >= max_line:
                raise invalid_file(path, f"has a line of more than {max_line} characters; it is no table, or damaged.")
            yield line
    finally:
        with suppress(ValueError):  # closed already
            text.detach()  # or it would close the file, which belongs to the caller


def _first_lines(found: Iterator[str]) -> list[str]:
    first = [next(found, "")]
    n_characters = len(first[0])
    for line in islice(found, _N_LINES - 1):
        first.append(line)
        n_characters += len(line)
        if n_characters > _N_CHARACTERS:
            break
    return first


def _delimiter(found: list[str]) -> str:
    """Return the delimiter that splits most of the first rows into numbers, and into rows of one length."""

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
    """Whether the first row is one cell shorter than all others: R writes no name above the row names."""
    others = rows[1 : -1 if len(rows) > 2 else None]  # the last one may be truncated
    return bool(others) and all(map(is_text, rows[0])) and all(len(row) == len(rows[0]) + 1 for row in others)


def _has_index(rows: list[list[str]], n_columns: int) -> bool:
    # Numbers with decimal commas are an error, but no names.
    return n_columns > 1 and any(is_text(row[0]) and not _has_decimal_comma(row[0]) for row in rows)
