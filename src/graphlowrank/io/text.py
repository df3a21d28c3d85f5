"""Text tables: .csv and .tsv, also gzipped.

pyarrow parses the numbers where it is installed and accepts the file. Otherwise Python's csv module does: it is slower,
but defines what counts as a number and names the line and column of an error.
"""

from __future__ import annotations

import csv
import io
from array import array
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import numpy as np

from .._file_errors import InvalidFileError, invalid_file, reading
from .._files import writing
from .memory import check_room
from .rows import Rows
from .table import Table
from .text_layout import MAX_LINE, MISSING, Layout, find_layout, is_number, is_text, lines, open_bytes

BLOCK_BYTES = 2**24
MAX_ARROW_COLUMNS = 50_000  # pyarrow's cost per column and block dominates above
Cells = tuple["array[float]", list[str]]  # values row by row, and sample names


def read_text(
    path: Path,
    *,
    header: bool | None = None,
    index: bool | None = None,
    engine: Literal["auto", "pyarrow", "csv"] = "auto",
    block_bytes: int = BLOCK_BYTES,
    max_line: int = MAX_LINE,
) -> Table:
    """Read a text file; see :func:`~graphlowrank.io.read` for ``header`` and ``index``."""
    with reading(path):
        try:
            layout = find_layout(path, header=header, index=index, max_line=max_line)
            found = None if engine == "csv" else _read_arrow(path, layout, block_bytes)
            if found is None and engine == "pyarrow":
                raise ValueError("pyarrow cannot read it")
            cells, names = found or _read_csv(path, layout, block_bytes, max_line)
        except UnicodeDecodeError as error:
            byte = error.object[error.start]
            reason = f"is not UTF-8 text: it has the byte 0x{byte:02x}, maybe of Latin-1; save it as UTF-8."
            raise invalid_file(path, reason) from error
        if not cells:
            raise invalid_file(path, "has no rows of numbers.")
        values = np.frombuffer(cells).reshape(-1, layout.n_columns - layout.has_index)
    features = layout.columns[1:] if layout.columns and layout.has_index else layout.columns
    return Table(values, tuple(names) if layout.has_index else None, features)


def _read_arrow(path: Path, layout: Layout, block_bytes: int) -> Cells | None:
    """Return all values, row by row, and sample names; None if pyarrow is missing or does not accept the file."""
    if find_spec("pyarrow") is None or layout.n_columns > MAX_ARROW_COLUMNS:
        return None
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    numbers = [str(number) for number in range(layout.n_columns)]  # unique, which names need not be
    types = dict.fromkeys(numbers, pa.float64()) | ({"0": pa.string()} if layout.has_index else {})
    values: array[float] = array("d")
    names: list[str] = []
    try:
        with open_bytes(path) as file:
            file.seek(layout.start)
            reader = arrow_csv.open_csv(
                file,
                arrow_csv.ReadOptions(column_names=numbers, block_size=block_bytes),
                arrow_csv.ParseOptions(delimiter=layout.delimiter, newlines_in_values=True),
                arrow_csv.ConvertOptions(column_types=types, null_values=list(MISSING), strings_can_be_null=False),
            )
            for batch in filter(len, reader):
                columns = batch.columns[layout.has_index :]
                block = np.empty((len(batch), len(columns)))
                for number, column in enumerate(columns):
                    block[:, number] = column.to_numpy(zero_copy_only=False)
                check_room(block.nbytes, path)  # what was read so far is no longer free memory
                values.frombytes(block.data.cast("B"))
                names += batch.column(0).to_pylist() if layout.has_index else []
    except (pa.ArrowException, UnicodeDecodeError):
        return None
    return values, names


def _read_csv(path: Path, layout: Layout, block_bytes: int, max_line: int) -> Cells:
    """Return all values, row by row, and sample names; ValueError at the first row that is not like the others."""
    block_rows = max(1, min(4096, block_bytes // (8 * layout.n_columns)))
    values: array[float] = array("d")
    names: list[str] = []
    with open_bytes(path) as file:
        file.seek(layout.start)
        reader = csv.reader(lines(file, path, max_line), delimiter=layout.delimiter)
        for number, row in enumerate(filter(None, reader)):
            line = layout.line + reader.line_num
            if len(row) != layout.n_columns:
                raise invalid_file(path, f"has {len(row)} cells on line {line} where {layout.n_columns} are expected.")
            if number % block_rows == 0:
                check_room(8 * block_rows * len(row), path)
            names += row[: layout.has_index]
            values.extend(_numbers(row, line, layout, path))
    return values, names


def _numbers(row: list[str], line: int, layout: Layout, path: Path) -> list[float]:
    cells = row[layout.has_index :]
    together = "".join(cells)
    if together.isascii() and "_" not in together:
        try:
            return list(map(float, cells))
        except ValueError:
            pass  # a missing value, or text
    for number, cell in enumerate(cells, start=int(layout.has_index)):
        if is_text(cell):
            raise _text_found(cell, number, line, layout, path)
    return [float(cell) if is_number(cell) else np.nan for cell in cells]


def _text_found(cell: str, number: int, line: int, layout: Layout, path: Path) -> InvalidFileError:
    shown = cell if len(cell) <= 40 else f"{cell[:40]}..."
    has_comma = "," in cell and is_number(cell.replace(",", ".", 1))
    remedy = "write numbers with a decimal point" if has_comma else "leave such columns out"
    column = f"column {number + 1}" + (f" ({layout.columns[number]!r})" if layout.columns else "")
    return invalid_file(path, f"has text where numbers are expected: {shown!r} in {column}, line {line}; {remedy}.")


def write_text(path: Path, rows: Rows) -> None:
    """Write a matrix as .csv or .tsv."""
    features = rows.feature_names
    if rows.sample_names is not None:  # readers recognize names of samples by an empty cell above them
        features = ("", *(features or map(str, range(rows.shape[1]))))
    write_lines(path, [] if features is None else [features], _lines_of(rows))


def _lines_of(rows: Rows) -> Iterator[list[Any]]:
    names = iter(rows.sample_names or ())
    for block in rows.blocks():
        # numpy writes single precision with fewer digits; Python has only double.
        for line in map(list, block) if block.dtype == np.float32 else block.tolist():
            yield [next(names), *line] if rows.sample_names else line


def write_lines(path: Path, *parts: Iterable[Iterable[Any]]) -> None:
    """Write lines of cells, separated by tabs if the extension is .tsv, by commas otherwise."""
    with writing(path) as file:
        text = io.TextIOWrapper(file, "utf-8", newline="", write_through=True)
        out = csv.writer(text, delimiter="\t" if path.suffix.lower() == ".tsv" else ",", lineterminator="\n")
        for part in parts:
            out.writerows(part)
        text.detach()
