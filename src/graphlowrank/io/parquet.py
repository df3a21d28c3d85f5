"""Parquet files, by pyarrow."""

from pathlib import Path
from typing import Any

import numpy as np

from .._files import invalid_file, reading, writing
from .memory import check_room
from .table import Rows, Table, table_type

_BLOCK_ROWS = 2**16
_BLOCK_CELLS = 2**21


def read_parquet(path: Path) -> Table:
    """Read a .parquet file block by block; the sample names are pandas' index, or the first column of text."""
    import pyarrow.parquet as pq

    with reading(path), pq.ParquetFile(path, memory_map=True) as file:
        schema, n_rows = file.schema_arrow, file.metadata.num_rows
        index = _index_column(schema)
        columns = [number for number in range(len(schema)) if number != index]
        if not columns or not n_rows:
            raise invalid_file(path, f"has no {'rows' if columns else 'columns of numbers'}.")
        dtype = _common_type(file, columns, path)
        check_room(n_rows * len(columns) * dtype.itemsize, path)
        values, start = np.empty((n_rows, len(columns)), dtype), 0
        names: list[str] = []
        for batch in file.iter_batches(max(1, min(_BLOCK_ROWS, _BLOCK_CELLS // len(columns)))):
            stop = start + batch.num_rows
            if values.dtype.kind != "f" and any(batch.column(number).null_count for number in columns):
                check_room(8 * values.size, path)
                values = values.astype(float)  # integers cannot be missing
            for place, number in enumerate(columns):
                values[start:stop, place] = batch.column(number).to_numpy(zero_copy_only=False)
            names += [] if index is None else map(str, batch.column(index).to_pylist())
            start = stop
        if start != n_rows:
            raise ValueError(f"it claims {n_rows} rows and has {start}")
    return Table(values, None if index is None else tuple(names), tuple(schema.names[number] for number in columns))


def _index_column(schema: Any) -> int | None:
    """Return the number of the column with sample names: pandas' index, or the first column of text."""
    import pyarrow as pa

    marked = (schema.pandas_metadata or {}).get("index_columns", [])
    if len(marked) == 1 and isinstance(marked[0], str) and schema.names.count(marked[0]) == 1:
        return int(schema.names.index(marked[0]))
    for number, whole in enumerate(schema.types):
        kind = whole.value_type if pa.types.is_dictionary(whole) else whole
        if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
            return number
    return None


def _common_type(file: Any, columns: list[int], path: Path) -> np.dtype:
    """Return the type that holds the numbers of all columns; ValueError if one holds something else."""
    import pyarrow as pa

    schema, found = file.schema_arrow, set()
    for number in columns:
        kind = schema.types[number]
        if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
            found.add(table_type(np.dtype(kind.to_pandas_dtype())))
        elif pa.types.is_null(kind):
            found.add(np.dtype(float))
        else:
            values = next(file.iter_batches(_BLOCK_ROWS)).column(number).drop_null()
            first = f": the first is {str(values[0].as_py())[:40]!r}" if len(values) else ""
            place = f"in column {schema.names[number]!r}{first}"
            raise invalid_file(path, f"has {kind} where numbers are expected, {place}; leave such columns out.")
    return np.result_type(*found)


def write_parquet(path: Path, rows: Rows) -> None:
    """Write a matrix, with the sample names as a first column."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    features = rows.feature_names or tuple(map(str, range(rows.shape[1])))
    kind = pa.from_numpy_dtype(rows.dtype)
    index = "sample"
    while index in features:  # readers could not tell two columns of one name apart
        index += "_"
    first = [pa.field(index, pa.string())] if rows.sample_names else []
    schema = pa.schema([*first, *(pa.field(name, kind) for name in features)])
    with writing(path) as file, pq.ParquetWriter(file, schema) as out:
        for part, block in rows.blocks():
            names = [pa.array(rows.sample_names[part])] if rows.sample_names else []
            columns = [pa.array(column) for column in np.ascontiguousarray(block.T)]
            out.write_batch(pa.RecordBatch.from_arrays([*names, *columns], schema=schema))
