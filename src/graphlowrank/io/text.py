"""Text tables: .csv and .tsv, also gzipped.

pyarrow parses the numbers where it is installed and accepts the file. Otherwise Python's csv module does: it is slower,
but defines what counts as a number and names the line and column of an error.
"""

import csv
import gzip
import io
import re
from array import array
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np

from .._files import InvalidFileError, invalid_file, reading, writing
from .memory import check_room
from .table import Rows, Table

BLOCK_BYTES = 2**24
MAX_LINE = 2**26  # characters
MAX_ARROW_COLUMNS = 50_000  # pyarrow's cost per column and block dominates above
MISSING = ("", "NA", "NaN", "nan")
_N_LINES = 20  # that decide about the layout
_N_CHARACTERS = 2**24  # after which fewer lines decide
_UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")
Cells = tuple["array[float]", list[str]]  # values row by row, and sample names


@dataclass(frozen=True)
class Layout:
    """How to read the rows of a text file."""

    delimiter: str
    columns: tuple[str, ...] | None  # names of all columns, also that of the sample names; None without a header
    n_columns: int
    has_index: bool  # whether the first column holds the sample names
    n_lines: int  # before the first row


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
        with _open(path) as file:
            reader = arrow_csv.open_csv(
                file,
                arrow_csv.ReadOptions(column_names=numbers, block_size=block_bytes, skip_rows=layout.n_lines),
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
    with _open(path) as file:
        rows = islice(_lines(file, path, max_line), layout.n_lines, None)
        reader = csv.reader(rows, delimiter=layout.delimiter)
        for number, row in enumerate(filter(None, reader)):
            line = layout.n_lines + reader.line_num
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
        if _is_text(cell):
            raise _text_found(cell, number, line, layout, path)
    return [float(cell) if _is_number(cell) else np.nan for cell in cells]


def _text_found(cell: str, number: int, line: int, layout: Layout, path: Path) -> InvalidFileError:
    shown = cell if len(cell) <= 40 else f"{cell[:40]}..."
    has_comma = "," in cell and _is_number(cell.replace(",", ".", 1))
    remedy = "write numbers with a decimal point" if has_comma else "leave such columns out"
    column = f"column {number + 1}" + (f" ({layout.columns[number]!r})" if layout.columns else "")
    return invalid_file(path, f"has text where numbers are expected: {shown!r} in {column}, line {line}; {remedy}.")


# --- layout ---


def find_layout(path: Path, *, header: bool | None, index: bool | None, max_line: int = MAX_LINE) -> Layout:
    """Return the layout of a file; ``header`` and ``index`` are detected if None."""
    with _open(path) as file:
        if file.read(2) in _UTF16_BOMS:
            raise invalid_file(path, "is UTF-16 text; save it as UTF-8.")
        file.seek(0)
        first = _first_lines(_lines(file, path, max_line))
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
    names, n_lines = rows[0] if header else (None, 0)
    if names is not None:
        names = [""] * _lacks_a_name(cells) + names
    n_columns = len(names or cells[0])
    if index is None:
        index = (names is not None and not names[0].strip()) or _has_index(cells[header:], n_columns)
    return Layout(delimiter, None if names is None else tuple(names), n_columns, index, n_lines)


def _is_number(cell: str) -> bool:
    """Whether a cell is a plain decimal number; Python would also accept 1_000 and digits of any script."""
    if "_" in cell or not cell.isascii():
        return False
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _is_text(cell: str) -> bool:
    """Whether a cell is neither a number nor missing."""
    return not _is_number(cell) and cell.strip() not in MISSING


def _open(path: Path) -> IO[bytes]:
    """Open a file, decompressed if its name ends in .gz."""
    return gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb")  # type: ignore[return-value]


def _lines(file: IO[bytes], path: Path, max_line: int = MAX_LINE) -> Iterator[str]:
    """Yield lines with their ends; ValueError for a very long one, which a few compressed bytes can make."""
    text = io.TextIOWrapper(file, "utf-8-sig", newline="")
    try:
        while line := text.readline(max_line):
            if len(line) >= max_line:
                raise invalid_file(path, f"has a line of more than {max_line} characters; it is no table, or damaged.")
            yield line
    finally:
        with suppress(ValueError):  # closed already
            text.detach()  # or it would close the file, which belongs to the caller


def _first_lines(found: Iterator[str]) -> list[str]:
    first: list[str] = []
    for line in islice(found, _N_LINES):
        first.append(line)
        if sum(map(len, first)) > _N_CHARACTERS:
            break
    return first


def _delimiter(found: list[str]) -> str:
    """Return the delimiter that splits most of the first rows into numbers, and into rows of one length."""

    def score(delimiter: str) -> tuple[bool, float, int]:
        rows = list(csv.reader(found, delimiter=delimiter))
        cells = [cell for row in rows[len(rows) > 1 :] for cell in row[len(row) > 1 :]]
        numbers = sum(_is_number(cell) or (delimiter != "," and _has_decimal_comma(cell)) for cell in cells)
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
        if counted or all(_is_text(row[0]) for row in rows[1:]):
            return True
    return any(map(_is_text, first[1:] if len(first) > 1 else first))


def _lacks_a_name(rows: list[list[str]]) -> bool:
    """Whether the first row is one cell shorter than all others: R writes no name above the row names."""
    others = rows[1 : -1 if len(rows) > 2 else None]  # the last one may be truncated
    return bool(others) and all(map(_is_text, rows[0])) and all(len(row) == len(rows[0]) + 1 for row in others)


def _has_index(rows: list[list[str]], n_columns: int) -> bool:
    # Numbers with decimal commas are an error, but no names.
    return n_columns > 1 and any(_is_text(row[0]) and not _has_decimal_comma(row[0]) for row in rows)


def write_text(path: Path, rows: Rows) -> None:
    """Write a matrix as .csv or .tsv."""
    features = rows.feature_names
    if rows.sample_names is not None:  # readers recognize names of samples by an empty cell above them
        features = ("", *(features or map(str, range(rows.shape[1]))))
    write_lines(path, [] if features is None else [features], _lines_of(rows))


def _lines_of(rows: Rows) -> Iterator[list[Any]]:
    names = iter(rows.sample_names or ())
    for _, block in rows.blocks():
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
