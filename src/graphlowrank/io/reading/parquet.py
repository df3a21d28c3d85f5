"""Tables of .parquet files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from ..._backend import Array
from ..._reading import refusal, refusing
from ..memory import check_room
from ..packages import need
from .table import Table, table_type

_ROWS = 2**16  # of a block
_CELLS = 2**21


def read_parquet(path: Path) -> Table:
    """Table of a .parquet file, loaded row group by row group."""
    parquet = need("pyarrow.parquet", "Reading parquet files")
    with refusing(path), parquet.ParquetFile(path, memory_map=True) as file:
        schema, n_rows = file.schema_arrow, file.metadata.num_rows
        index = _index_column(schema)
        columns = [number for number in range(len(schema)) if number != index]
        if not columns or not n_rows:
            raise refusal(path, f"has no {'rows' if columns else 'columns of numbers'}.")
        dtype = _common_type(file, columns, path)
        check_room(n_rows * len(columns) * dtype.itemsize, path)
        filled = _filled(file, columns, index, dtype)
        if filled is None:  # whole numbers with some missing
            check_room(8 * n_rows * len(columns), path)
            filled = _filled(file, columns, index, np.dtype(float))
    values, names = filled or (None, None)
    return Table(values, names, tuple(schema.names[number] for number in columns))


def _index_column(schema: Any) -> int | None:
    """Column with the names of the samples: pandas' index, if it was saved as one, or the first column of text."""
    import pyarrow as pa

    pandas = json.loads((schema.metadata or {}).get(b"pandas", b"{}"))
    marked = pandas.get("index_columns", [])
    if len(marked) == 1 and isinstance(marked[0], str) and schema.names.count(marked[0]) == 1:
        return schema.names.index(marked[0])
    for number, whole in enumerate(schema.types):
        kind = whole.value_type if pa.types.is_dictionary(whole) else whole
        if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
            return number
    return None


def _common_type(file: Any, columns: list[int], path: Path) -> np.dtype:
    """Type that holds the numbers of all columns; refused if one has something else."""
    import pyarrow as pa

    schema, found = file.schema_arrow, set()
    for number in columns:
        kind = schema.types[number]
        if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
            found.add(table_type(np.dtype(kind.to_pandas_dtype())))
        elif pa.types.is_null(kind):
            found.add(np.dtype(float))
        else:
            values = next(file.iter_batches(_ROWS)).column(number).drop_null()
            first = f": the first is {str(values[0].as_py())[:40]!r}" if len(values) else ""
            name = schema.names[number]
            raise refusal(path, f"has {kind} where numbers are due, in column {name!r}{first}; leave such columns out.")
    return np.result_type(*found)


def _filled(
    file: Any, columns: list[int], index: int | None, dtype: np.dtype
) -> tuple[Array, tuple[str, ...] | None] | None:
    """Values and names of all rows; None if whole numbers are missing and the type has no way to say so."""
    n_rows = file.metadata.num_rows
    values = np.empty((n_rows, len(columns)), dtype)
    names: list[str] = []
    start = 0
    for batch in file.iter_batches(max(1, min(_ROWS, _CELLS // len(columns)))):
        rows = values[start : start + batch.num_rows]
        if len(rows) < batch.num_rows:
            raise ValueError("it has more rows than it says")
        for place, number in enumerate(columns):
            column = batch.column(number)
            if column.null_count and dtype.kind != "f":
                return None
            rows[:, place] = column.to_numpy(zero_copy_only=False)
        if index is not None:
            names += map(str, batch.column(index).to_pylist())
        start += len(rows)
    if start < n_rows:
        raise ValueError("it has fewer rows than it says")
    return values, tuple(names) if index is not None else None
