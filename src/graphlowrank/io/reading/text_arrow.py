"""Numbers of text files, read by pyarrow: fast, and silent about what is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from ..._backend import Array
from ..memory import check_room
from .text_cells import MISSING, open_bytes
from .text_layout import Layout

BLOCK_BYTES = 2**24
MAX_COLUMNS = 50_000  # each costs more than its few numbers in a block


def blocks(path: Path, layout: Layout) -> Iterator[tuple[Array, list[str]]] | None:
    """Return all values and names, some rows at a time; None if pyarrow is missing or finds the file odd."""
    if find_spec("pyarrow") is None or layout.n_columns > MAX_COLUMNS:
        return None
    import pyarrow as pa

    try:
        # Nothing is handed on before the end is reached: whether the file is odd is known only then.
        found = []
        for values, names in _parsed(path, layout):
            check_room(values.nbytes, path)  # what is taken so far is no longer free
            found.append((values, names))
        found.reverse()
    except (pa.ArrowException, UnicodeDecodeError):
        return None
    return _drained(found)


def _drained(found: list[tuple[Array, list[str]]]) -> Iterator[tuple[Array, list[str]]]:
    while found:
        yield found.pop()  # so that nobody holds it twice


def _parsed(path: Path, layout: Layout) -> Iterator[tuple[Array, list[str]]]:
    import pyarrow as pa
    from pyarrow import csv

    # Names may be there twice; numbers are not.
    names = [str(number) for number in range(layout.n_columns)]
    types = dict.fromkeys(names, pa.float64()) | ({"0": pa.string()} if layout.has_index else {})
    with open_bytes(path) as file:
        file.seek(layout.start)
        reader = csv.open_csv(
            file,
            csv.ReadOptions(column_names=names, block_size=BLOCK_BYTES),
            csv.ParseOptions(delimiter=layout.delimiter, newlines_in_values=True),
            csv.ConvertOptions(column_types=types, null_values=list(MISSING), strings_can_be_null=False),
        )
        for batch in reader:
            if batch.num_rows:
                yield _block(batch.columns, has_index=layout.has_index)


def _block(columns: list[Any], *, has_index: bool) -> tuple[Array, list[str]]:
    values = np.empty((len(columns[0]), len(columns) - has_index))
    for number, column in enumerate(columns[has_index:]):
        values[:, number] = column.to_numpy(zero_copy_only=False)
    return values, columns[0].to_pylist() if has_index else []
