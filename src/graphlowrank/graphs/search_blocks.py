"""Approximate nearest-neighbor search in data that do not fit in memory, by tasks on blocks of rows.

The search of :mod:`.search_cells`, with the data in files. A random sample of the rows determines the projection and
the cells. Each block of rows is sorted by cell into files of its own; each group of cells is searched against itself
and the cells around it; each range of the output collects its lists from the groups. The tasks of a stage are
independent of each other and may be repeated. The answer depends neither on the memory nor on where tasks run.
"""

import pickle
import secrets
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.utils import check_random_state

from .._threads import single_threaded_libraries
from .._typing import Array, RandomState
from ..linalg.blocks import row_blocks
from .block_cells import SavedModel, assign, learn_cells
from .block_groups import array_offset, plan_search, search_group
from .block_tasks import Cost, Map, Rows, Stages
from .cell_files import read_runs, write_array, write_range

COLLECTED_ROWS = 262_144  # of the output, by a task


def search_blocks(
    rows: Rows,
    n_neighbors: int,
    *,
    folder: Path,
    map: Map = map,
    random_state: RandomState = None,
    memory: int = 1_000_000_000,
    report: Callable[[str, Cost], None] | None = None,
) -> tuple[Array, Array, Array]:
    """Nearest other rows of each row, in Euclidean distance.

    Parameters
    ----------
    rows : Rows
        Finite data.
    n_neighbors : int
        Between 1 and n - 1.
    folder : Path
        Existing empty folder that all tasks see, with room for about the data and twice the output. The output stays in
        it; the caller removes it.
    map : callable, default=map
        Runs the tasks: see :class:`Map`.
    random_state : int, RandomState or None, default=None
        Seed of the sample and the cells.
    memory : int
        Bytes that a task may use beside the program. A block of the data must take less than a quarter of it; below
        about 100 MB, the cells around 2048 rows may need more.
    report : callable, optional
        Is called with the name and the cost of each stage when it is done.

    Returns
    -------
    distances, indices : memory maps of shape (n, n_neighbors)
        Nearest first, different ones, without the row itself. In the dtype of the data; int32, int64 from 2^31 rows.
    order : memory map of shape (n,)
        The rows from cell to cell: near rows are close together.
    """
    if not 1 <= n_neighbors < rows.n_rows:
        raise ValueError(f"n_neighbors={n_neighbors} must be between 1 and n - 1 = {rows.n_rows - 1}.")
    stages = Stages(map, report or (lambda name, cost: None))
    with single_threaded_libraries():  # the same rounding for any number of threads
        model = learn_cells(rows, n_neighbors, folder, stages, check_random_state(random_state))
        saved = SavedModel(folder / "model", secrets.token_hex(8))
        write_array(saved.path, np.frombuffer(pickle.dumps(model), dtype=np.uint8))
        assigned = stages.run("cells", partial(assign, saved, rows), range(len(rows.blocks)))
        search = plan_search(model, assigned, rows.n_rows)
        outputs = _outputs(folder, rows, n_neighbors, model.number_dtype)
        groups = search.groups(memory)
        stages.run("search", partial(search_group, saved, search, memory, outputs), list(enumerate(groups)))
        ranges = list(row_blocks(rows.n_rows, 1, entries=COLLECTED_ROWS))
        stages.run("lists", partial(_collect, saved, outputs, len(groups)), ranges)
    distances, indices, order = (np.load(path, mmap_mode="r") for path in outputs)
    return distances, indices, order


def _outputs(folder: Path, rows: Rows, n_neighbors: int, number_dtype: np.dtype) -> tuple[Path, Path, Path]:
    """Create the files of the distances, the indices and the order."""
    shape = (rows.n_rows, n_neighbors)
    files = {"distances": (rows.dtype, shape), "indices": (number_dtype, shape), "order": (number_dtype, shape[:1])}
    for name, (dtype, of_file) in files.items():
        np.lib.format.open_memmap(folder / f"{name}.npy", mode="w+", dtype=dtype, shape=of_file)
    distances, indices, order = (folder / f"{name}.npy" for name in files)
    return distances, indices, order


def _collect(saved: SavedModel, outputs: Sequence[Path], n_groups: int, span: slice) -> tuple[None, Cost]:
    """Write the lists of consecutive rows to the output, from the files of all groups."""
    begin, model, n_read = time.perf_counter(), saved.load(), 0
    k, number_dtype = model.n_neighbors, model.number_dtype
    dtype = model.files.columns["rows"][0]
    lists = {
        "distances": np.empty((span.stop - span.start, k), dtype),
        "indices": np.empty((span.stop - span.start, k), number_dtype),
    }
    for group in range(n_groups):
        numbers = np.memmap(saved.path.with_name(f"group-{group}-numbers"), dtype=number_dtype, mode="r")
        run = np.searchsorted(numbers, [span.start, span.stop])
        places = numbers[slice(*run)] - span.start
        for name, array in lists.items():
            array[places] = read_runs(saved.path.with_name(f"group-{group}-{name}"), run[None], array.dtype, (k,))
        n_read += len(places) * 2 * k * 8
    written = sum(
        write_range(path, array_offset(path) + span.start * k * array.itemsize, array)
        for path, array in zip(outputs[:2], lists.values(), strict=True)
    )
    return None, Cost(1, time.perf_counter() - begin, n_read, written)
