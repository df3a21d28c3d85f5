"""Parquet files, by pyarrow."""

from pathlib import Path
from typing import Any

import numpy as np

from .._files import invalid_file, reading, writing
from .columns import Choice, Plan, Texts, decide_roles, parse_number, plan_columns
from .memory import check_room
from .table import Rows, Table, table_of, table_type

SAMPLE = "sample"  # name of the column of sample names
_EXAMPLES = 100  # rows from which a message quotes
_BLOCK_ROWS = 2**16
_BLOCK_CELLS = 2**21


def read_parquet(path: Path, choice: Choice) -> Table:
    """Read a .parquet file block by block; the sample names are pandas' index, or the first column of text."""
    import pyarrow.parquet as pq

    with reading(path), pq.ParquetFile(path, memory_map=True) as file:
        schema, n_rows = file.schema_arrow, file.metadata.num_rows
        plan = _plan(schema, choice, path)
        features = plan.features
        if not features or not n_rows:
            raise invalid_file(path, f"has no {'rows' if features else 'columns of numbers'}.")
        if strays := _strays(file, plan):
            decide_roles(plan, path, n_rows, strings={}, strays=strays)  # raises
        dtype = np.result_type(*{number_type(schema.types[number]) or np.dtype(float) for number in features})
        check_room(n_rows * len(features) * dtype.itemsize, path)
        values, start = np.empty((n_rows, len(features)), dtype), 0
        strings: dict[int, list[str]] = {number: [] for number in plan.strings}
        for batch in file.iter_batches(max(1, min(_BLOCK_ROWS, _BLOCK_CELLS // len(features)))):
            stop = start + batch.num_rows
            if values.dtype.kind != "f" and any(batch.column(number).null_count for number in features):
                check_room(8 * values.size, path)
                values = values.astype(float)  # integers cannot be missing
            for place, number in enumerate(features):
                values[start:stop, place] = _numbers(batch.column(number), number, strays)
            for number in strings:
                strings[number] += _cells(batch.column(number))
            start = stop
        if start != n_rows:
            raise ValueError(f"it claims {n_rows} rows and has {start}")
        notes = {number: "true and false, as 1 and 0" for number in features if str(schema.types[number]) == "bool"}
        roles = decide_roles(plan, path, n_rows, strings=strings, strays=strays, values=values, notes=notes)
    return table_of(plan, values, strings, roles)


def _plan(schema: Any, choice: Choice, path: Path) -> Plan:
    """Decide about columns; the sample names are pandas' index, or the first column of text."""
    marked = (schema.pandas_metadata or {}).get("index_columns", [])
    texts = [number for number, kind in enumerate(schema.types) if _is_text(kind)]
    index, reason = next(iter(texts), None), None
    if len(marked) == 1 and isinstance(marked[0], str) and schema.names.count(marked[0]) == 1:
        index, reason = int(schema.names.index(marked[0])), "pandas' index"
    elif choice.index:
        index, reason = 0, "as asked for"
    elif index == 0 and schema.names[0].rstrip("_") == SAMPLE:  # as write_parquet names it
        reason = f"named {SAMPLE}"
    index = None if choice.index is False else index
    return plan_columns(schema.names, len(schema), texts, choice, path, index=index, index_reason=reason)


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def number_type(kind: Any) -> np.dtype | None:
    """Return the type that holds the numbers of a column; None if it has none."""
    import pyarrow as pa

    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
        return table_type(np.dtype(kind.to_pandas_dtype()))
    return np.dtype(float) if pa.types.is_null(kind) else None


def _strays(file: Any, plan: Plan) -> dict[int, Texts]:
    """Return the features that hold no numbers, unless they are to be parsed."""
    types = file.schema_arrow.types
    found = [number for number in plan.features if number not in plan.numeric and number_type(types[number]) is None]
    first: Any = next(file.iter_batches(_EXAMPLES)) if found else None
    return {number: Texts.of(_cells(first.column(number)), f", {types[number]}") for number in found}


def _cells(column: Any) -> list[str]:
    return ["" if value is None else str(value) for value in column.to_pylist()]


def _numbers(column: Any, number: int, strays: dict[int, Texts]) -> Any:
    if number_type(column.type) is not None:
        return column.to_numpy(zero_copy_only=False)
    cells = _cells(column)
    parsed = [parse_number(cell) for cell in cells]
    if None in parsed:
        strays[number] = Texts.of(cell if found is None else "" for cell, found in zip(cells, parsed, strict=True))
    return [np.nan if found is None else found for found in parsed]


def write_parquet(path: Path, rows: Rows) -> None:
    """Write a matrix, with the sample names as a first column."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    features = rows.feature_names or tuple(map(str, range(rows.shape[1])))
    kind = pa.from_numpy_dtype(rows.dtype)
    index = SAMPLE
    while index in features:  # readers could not tell two columns of one name apart
        index += "_"
    first = [pa.field(index, pa.string())] if rows.sample_names else []
    schema = pa.schema([*first, *(pa.field(name, kind) for name in features)])
    with writing(path) as file, pq.ParquetWriter(file, schema) as out:
        for part, block in rows.blocks():
            names = [pa.array(rows.sample_names[part])] if rows.sample_names else []
            columns = [pa.array(column) for column in np.ascontiguousarray(block.T)]
            out.write_batch(pa.RecordBatch.from_arrays([*names, *columns], schema=schema))
