"""Text tables: .csv and .tsv, also gzipped.

pyarrow parses the numbers where it is installed and accepts the file. Otherwise Python's csv module does: it is slower,
but defines what counts as a number and names the line and column of an error.
"""

import csv
import gzip
import io
from array import array
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np

from .._files import invalid_file, reading, writing
from .columns import (
    MISSING,
    Choice,
    Plan,
    Texts,
    decide_roles,
    has_decimal_comma,
    is_number,
    is_text,
    parse_number,
    plan_columns,
)  # fmt: skip
from .memory import check_room
from .table import Rows, Table, table_of

BLOCK_BYTES = 2**24
MAX_LINE = 2**26  # characters
MAX_ARROW_COLUMNS = 50_000  # pyarrow's cost per column and block dominates above
_N_LINES = 20  # that decide about the layout
_N_CHARACTERS = 2**24  # after which fewer lines decide
_UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")
_NO_CHOICE = Choice()


@dataclass(frozen=True)
class Layout:
    """How to read the rows of a text file."""

    delimiter: str
    n_lines: int  # before the first row
    plan: Plan


class Cells:
    """What was read: numbers row by row, the columns that are kept as text, and text where numbers are expected."""

    def __init__(self, plan: Plan) -> None:
        self.values: array[float] = array("d")
        self.strings: dict[int, list[str]] = {number: [] for number in plan.strings}
        self.strays: dict[int, Texts] = {}


def read_text(
    path: Path,
    *,
    header: bool | None = None,
    choice: Choice = _NO_CHOICE,
    engine: Literal["auto", "pyarrow", "csv"] = "auto",
    block_bytes: int = BLOCK_BYTES,
    max_line: int = MAX_LINE,
) -> Table:
    """Read a text file; see :func:`~graphlowrank.io.read` for ``header`` and the ``choice`` of columns."""
    with reading(path):
        try:
            layout = find_layout(path, header, choice, max_line)
            plan, features = layout.plan, layout.plan.features
            if not features:
                raise invalid_file(path, "has no columns of numbers.")
            found = None if engine == "csv" else _read_arrow(path, layout, features, block_bytes)
            if found is None and engine == "pyarrow":
                raise ValueError("pyarrow cannot read it")
            found = found or _read_csv(path, layout, features, block_bytes, max_line)
        except UnicodeDecodeError as error:
            byte = error.object[error.start]
            reason = f"is not UTF-8 text: it has the byte 0x{byte:02x}, maybe of Latin-1; save it as UTF-8."
            raise invalid_file(path, reason) from error
        if not found.values:
            raise invalid_file(path, "has no rows of numbers.")
        values = np.frombuffer(found.values).reshape(-1, len(features))
        roles = decide_roles(plan, path, len(values), strings=found.strings, strays=found.strays, values=values)
    return table_of(plan, values, found.strings, roles)


def _read_arrow(path: Path, layout: Layout, features: list[int], block_bytes: int) -> Cells | None:
    """Return all cells; None if pyarrow is missing or does not accept the file."""
    plan = layout.plan
    if find_spec("pyarrow") is None or plan.n_columns > MAX_ARROW_COLUMNS or plan.numeric:  # parsed here only
        return None
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    numbers = [str(number) for number in range(plan.n_columns)]  # unique, which names need not be
    types = {numbers[number]: pa.string() for number in plan.strings}
    kept = [numbers[number] for number in (*features, *plan.strings)]
    cells = Cells(plan)
    try:
        with _open(path) as file:
            reader = arrow_csv.open_csv(
                file,
                arrow_csv.ReadOptions(column_names=numbers, block_size=block_bytes, skip_rows=layout.n_lines),
                arrow_csv.ParseOptions(delimiter=layout.delimiter, newlines_in_values=True),
                arrow_csv.ConvertOptions(
                    column_types=dict.fromkeys(numbers, pa.float64()) | types, include_columns=kept,
                    null_values=list(MISSING), strings_can_be_null=False,
                ),
            )  # fmt: skip
            for batch in filter(len, reader):
                block = np.empty((len(batch), len(features)))
                for place in range(len(features)):
                    block[:, place] = batch.column(place).to_numpy(zero_copy_only=False)
                check_room(block.nbytes, path)  # what was read so far is no longer free memory
                cells.values.frombytes(block.data.cast("B"))
                for place, number in enumerate(plan.strings, start=len(features)):
                    cells.strings[number] += batch.column(place).to_pylist()
    except (pa.ArrowException, UnicodeDecodeError):
        return None
    return cells


def _read_csv(path: Path, layout: Layout, features: list[int], block_bytes: int, max_line: int) -> Cells:
    """Return all cells; ValueError at the first row that has more or fewer than the others."""
    plan = layout.plan
    block_rows = max(1, min(4096, block_bytes // (8 * plan.n_columns)))
    cells = Cells(plan)
    is_range = features == list(range(features[0], features[-1] + 1))
    with _open(path) as file:
        rows = islice(_lines(file, path, max_line), layout.n_lines, None)
        reader = csv.reader(rows, delimiter=layout.delimiter)
        for number, row in enumerate(filter(None, reader)):
            line = layout.n_lines + reader.line_num
            if len(row) != plan.n_columns:
                raise invalid_file(path, f"has {len(row)} cells on line {line} where {plan.n_columns} are expected.")
            if number % block_rows == 0:
                check_room(8 * block_rows * len(row), path)
            for column, strings in cells.strings.items():
                strings.append(row[column])
            found = row[features[0] : features[-1] + 1] if is_range else [row[column] for column in features]
            cells.values.extend(_numbers(found, line, features, plan, cells.strays))
    return cells


def _numbers(found: list[str], line: int, features: list[int], plan: Plan, strays: dict[int, Texts]) -> list[float]:
    together = "".join(found)
    if together.isascii() and "_" not in together:
        try:
            return list(map(float, found))
        except ValueError:
            pass  # a missing value, or text
    values = [float(cell) if is_number(cell) else np.nan for cell in found]
    for place, (column, cell) in enumerate(zip(features, found, strict=True)):
        if is_text(cell):
            parsed = parse_number(cell) if column in plan.numeric else None
            values[place] = np.nan if parsed is None else parsed
            if parsed is None:
                strays.setdefault(column, Texts()).add(cell, f"line {line}")
    return values


# --- layout ---


def find_layout(path: Path, header: bool | None, choice: Choice, max_line: int = MAX_LINE) -> Layout:  # noqa: FBT001
    """Return the layout of a file; ``header`` and ``choice.index`` are detected if None."""
    index = choice.index
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
    texts = {column for row in cells[header:] for column, cell in enumerate(row[:n_columns]) if is_text(cell)}
    reason = "as asked for" if index else None
    if index is None and names is not None and not names[0].strip():
        reason = "without a name above them"
    is_index = reason is not None or (index is None and n_columns > 1 and 0 in texts)
    first_column = 0 if is_index else None
    plan = plan_columns(names, n_columns, sorted(texts), choice, path, index=first_column, index_reason=reason)
    return Layout(delimiter, n_lines, plan)


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
    """Return the delimiter that splits most of the first rows into numbers, and into many; a comma if none does."""

    def score(delimiter: str) -> tuple[bool, float, int, bool]:
        rows = list(csv.reader(found, delimiter=delimiter))
        splits = len(rows[0]) > 1 and (len(rows) == 1 or any(len(row) > 1 for row in rows[1:]))
        cells = [cell for row in rows[len(rows) > 1 :] for cell in row[len(row) > 1 :]]
        numbers = sum(is_number(cell) or (delimiter != "," and has_decimal_comma(cell)) for cell in cells)
        return splits, numbers / max(1, len(cells)), splits * len(rows[0]), delimiter == ","

    return max(";", "\t", ",", key=score)


def _has_header(rows: list[list[str]], *, index: bool | None) -> bool:
    """Whether the first row has a name where the others have numbers, or counts the columns as pandas does."""
    first, others = rows[0], rows[1:]
    if _lacks_a_name(rows):
        return True
    if index is not False and not first[0].strip() and len(first) > 1 and len(rows) > 1:
        counted = first[1:] == [str(number) for number in range(len(first) - 1)]
        if counted or all(is_text(row[0]) for row in rows[1:]):
            return True
    names = [column for column, cell in enumerate(first) if is_text(cell)]
    if len(first) > 1 and len(names) < len(first):
        names = [column for column in names if column > 0]  # it may hold sample names
    if any(is_number(row[column]) for row in others for column in names if column < len(row)):
        return True
    if any(is_number(cell) for row in others for cell in row):
        return False  # text only where the others have text, too: 5.1,3.5,setosa
    return any(map(is_text, first[1:] if len(first) > 1 else first))


def _lacks_a_name(rows: list[list[str]]) -> bool:
    """Whether the first row is one cell shorter than all others: R writes no name above the row names."""
    others = rows[1 : -1 if len(rows) > 2 else None]  # the last one may be truncated
    return bool(others) and all(map(is_text, rows[0])) and all(len(row) == len(rows[0]) + 1 for row in others)


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
