"""Functions of rows on all rows of a source: lazily, as a dask array, or reduced block by block."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .._threads import limit_threads
from .._typing import Array
from ..preprocessing.rows import fixed_blocks
from .checks import check_block, float_type
from .sources import Source
from .tasks import compute_in_order, shared


def extended(source: Source, function: Callable[[Array], Array], n_columns: int | None, dtype: Any) -> Any:
    """Return the dask array of ``function(rows)``, (n_rows, n_columns) or (n_rows,), in the chunks of the source."""
    import dask.array as da
    from dask import delayed

    columns = () if n_columns is None else (n_columns,)
    tasks, _, blocks = block_tasks(source, delayed(function, pure=False))
    parts = [
        da.from_delayed(task, shape=(rows.stop - rows.start, *columns), dtype=dtype)
        for task, rows in zip(tasks, blocks, strict=True)
    ]
    return da.concatenate(parts).rechunk((source.array.chunks[0], *((n,) for n in columns)))


def chunked(values: Array, source: Source) -> Any:
    """Return an array of one entry, or one row, for each row of the source as a dask array in its chunks."""
    import dask.array as da

    return da.from_array(values, chunks=(source.array.chunks[0], *((n,) for n in values.shape[1:])))


def reduced_blocks(
    source: Source, function: Callable[..., Any], arguments: Sequence[Any] | None = None
) -> Iterator[Any]:
    """Yield ``function(rows)`` of each block in order, or ``function(rows, argument)``; few are in memory at a time."""
    tasks, names, _ = block_tasks(source, shared(function), arguments)
    yield from compute_in_order(tasks, names)


def block_tasks(
    source: Source, function: Any, arguments: Sequence[Any] | None = None
) -> tuple[list[Any], list[str], list[slice]]:
    """Return calls of a delayed function, their names for messages, and their rows.

    It sees fixed blocks of rows, so that the answer does not depend on the chunks of the source.
    """
    from dask import delayed

    blocks = fixed_blocks(source.shape)
    array = source.array.rechunk((tuple(rows.stop - rows.start for rows in blocks), -1))
    call = delayed(call_on_block, pure=False)
    dtype, width = float_type(source.array.dtype), source.shape[1]
    tasks, names = [], []
    for number, (block, rows) in enumerate(zip(array.to_delayed().ravel(), blocks, strict=True)):
        name = f"rows {rows.start} to {rows.stop - 1} of {source.name}"
        given = () if arguments is None else (arguments[number],)
        tasks.append(call(function, block, name, rows.start, (rows.stop - rows.start, width), dtype, *given))
        names.append(name)
    return tasks, names, blocks


def call_on_block(
    function: Callable[..., Any],
    block: Any,
    name: str,
    start: int,
    shape: tuple[int, int],
    dtype: np.dtype[Any],
    *arguments: Any,
) -> Any:
    """Check a block and call the function with one thread: as many tasks run at a time as there are threads."""
    with limit_threads(1):
        return function(check_block(block, name, start, shape, dtype), *arguments)
