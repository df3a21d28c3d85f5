"""Search of groups of cells of data in blocks: a plan tuned on trial rows, and the task that searches a group."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .._threads import map_ranges
from .._typing import Array
from ..linalg.blocks import row_blocks
from .block_cells import Assigned, CellModel, SavedModel
from .block_tasks import Cost
from .candidates import nearest_of
from .cell_files import write_array, write_range
from .search_cells import MAX_PROBES, candidates_needed, probes_needed
from .search_exact import SPARE_CANDIDATES, exact_candidates

GROUP_ROWS, MAX_GROUPS = 131_072, 64  # rows of a group, if memory allows; more if there would be too many groups


@dataclass(frozen=True, eq=False)
class SearchPlan:
    """Rows in the order of their cells, and the tuned numbers of cells and candidates."""

    cell_starts: Array  # (n_cells + 1,)
    n_probes: int
    n_candidates: int
    row_bytes: int  # of a row that is searched, and of a query

    @property
    def n_rows(self) -> int:
        """Number of all rows."""
        return int(self.cell_starts[-1])

    def groups(self, memory: int) -> list[slice]:
        """Ranges of rows whose neighbors are searched together: whole blocks of queries, so that the bits stay."""
        from ..kernels.cell_search import QUERIES

        size = min(memory // 4 // self.row_bytes, max(GROUP_ROWS, self.n_rows // MAX_GROUPS)) // QUERIES * QUERIES
        return list(row_blocks(self.n_rows, 1, entries=max(size, QUERIES)))


def plan_search(model: CellModel, assigned: Sequence[Assigned], n: int) -> SearchPlan:
    """Tune the search on the true neighbors of the trial rows, as :func:`.search_cells.tune` does."""
    k = model.n_neighbors
    numbers = np.hstack([one.numbers for one in assigned])
    distances = np.hstack([one.distances for one in assigned])
    distances[numbers == model.trial_numbers[:, None]] = np.inf
    nearest = np.lexsort((numbers, distances), axis=1)[:, :k]
    cells = np.take_along_axis(np.hstack([one.cells for one in assigned]), nearest, axis=1)
    probes = model.nearest_cells(model.points(model.trial), min(MAX_PROBES, len(model.centers)))
    ranks = None
    if model.projection.directions is not None:
        smallest = np.sort(np.hstack([one.near for one in assigned]), axis=1)
        projected = np.take_along_axis(np.hstack([one.projected for one in assigned]), nearest, axis=1)
        ranks = (smallest[:, :, None] < projected[:, None, :]).sum(axis=1)
    n_probes, n_candidates = probes_needed(probes, cells), min(candidates_needed(k, ranks), n)
    columns = model.files.columns
    row_bytes = columns["rows"][0].itemsize * columns["rows"][1][0] + 8 * model.centers.shape[1]
    row_bytes += 4 * n_probes + 8 * n_candidates + 24 * k
    cell_starts = np.concatenate([[0], np.cumsum(np.sum([one.sizes for one in assigned], axis=0))])
    return SearchPlan(cell_starts, n_probes, n_candidates, row_bytes)


def search_group(
    saved: SavedModel, search: SearchPlan, memory: int, outputs: Sequence[Path], item: tuple[int, slice]
) -> tuple[None, Cost]:
    """Neighbors of the rows of some consecutive cells, into files of the group, sorted by row."""
    from ..kernels.cell_search import QUERIES

    begin, model, (group, span) = time.perf_counter(), saved.load(), item
    first, last = _cells_of(search, span)
    arrays, n_read = model.files.read(np.arange(first, last), ["points" if "points" in model.files.columns else "rows"])
    inside = slice(span.start - search.cell_starts[first], span.stop - search.cell_starts[first])
    (points,) = arrays.values()
    points = points[inside] if "points" in arrays else model.points(points[inside])
    probes = model.nearest_cells(points, search.n_probes)
    del arrays, points
    homes = np.searchsorted(search.cell_starts, np.arange(span.start, span.stop), side="right") - 1
    _put_first(probes, homes)
    parts = []
    for part in _within_memory(search, probes, span, memory // 2 // search.row_bytes, QUERIES):
        mine = slice(part.start - span.start, part.stop - span.start)
        found, of_part = _search_part(model, search, part, probes[mine])
        parts.append(found)
        n_read += of_part
    numbers, distances, indices = (np.concatenate(of_parts) for of_parts in zip(*parts, strict=True))
    order = np.argsort(numbers)
    sorted_lists = {"numbers": numbers[order], "distances": distances[order], "indices": indices[order]}
    written = sum(
        write_array(saved.path.with_name(f"group-{group}-{name}"), array) for name, array in sorted_lists.items()
    )
    written += write_range(outputs[2], array_offset(outputs[2]) + span.start * numbers.itemsize, numbers)
    return None, Cost(1, time.perf_counter() - begin, n_read, written)


def _cells_of(search: SearchPlan, span: slice) -> tuple[int, int]:
    """First cell, and the one after the last, of a range of rows."""
    first, last = np.searchsorted(search.cell_starts, [span.start, span.stop - 1], side="right") - 1
    return int(first), int(last) + 1


def _put_first(probes: Array, homes: Array) -> None:
    """Make the cell that a row is in the first that it probes, should the index of the centers have missed it."""
    for row in np.flatnonzero(probes[:, 0] != homes):
        others = probes[row][probes[row] != homes[row]]
        probes[row] = np.append(homes[row], others)[: probes.shape[1]]


def _within_memory(search: SearchPlan, probes: Array, span: slice, max_rows: int, size: int) -> Iterator[slice]:
    """Split a range of rows, at multiples of ``size``, so that the cells that each part probes have few rows."""
    sizes, start = np.diff(search.cell_starts), span.start
    needed = np.zeros(len(sizes), dtype=bool)
    for block in range(span.start, span.stop, size):
        of_block = np.zeros_like(needed)
        of_block[probes[block - span.start : block - span.start + size]] = True
        if block > start and sizes[needed | of_block].sum() > max_rows:
            yield slice(start, block)
            start, needed = block, of_block
        needed |= of_block
    yield slice(start, span.stop)


def _search_part(
    model: CellModel, search: SearchPlan, span: slice, probes: Array
) -> tuple[tuple[Array, Array, Array], int]:
    """Numbers of the rows of a range, distances and numbers of their neighbors; and the bytes read."""
    from ..kernels.cell_search import QUERIES, search_cells

    first = _cells_of(search, span)[0]
    cells = np.unique(probes)
    arrays, n_read = model.files.read(cells, list(model.files.columns))
    X, numbers = arrays["rows"], arrays["numbers"]
    points = arrays["points"] if "points" in arrays else model.points(X)
    sizes = np.diff(search.cell_starts)[cells]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    centers, k = model.centers[cells], model.n_neighbors
    cell_of_row = np.repeat(np.arange(len(cells)), sizes)
    shifted = points - centers[cell_of_row]
    squares = np.einsum("ij,ij->i", shifted, shifted)
    at = int(starts[np.searchsorted(cells, first)]) + span.start - int(search.cell_starts[first])
    mine = slice(at, at + span.stop - span.start)  # cells between the first and the last are probed by their own rows
    found = np.empty((len(probes), search.n_candidates), dtype=np.int32)
    local = np.searchsorted(cells, probes).astype(np.int32)
    map_ranges(
        search_cells, -(-len(found) // QUERIES), shifted[mine], shifted, squares, centers, starts, local, found
    )  # fmt: skip
    del shifted
    found[found == np.arange(mine.start, mine.stop)[:, None]] = -1
    short = np.flatnonzero((found >= 0).sum(axis=1) < k)
    found[short] = 0  # replaced below
    distances, near = nearest_of(X, found, k, X[mine], compiled=True)
    indices, mine_numbers = numbers[near], numbers[mine]
    for block in np.unique(short // QUERIES):  # these cells hold too few points, so all blocks are searched
        some = short[short // QUERIES == block]
        lists, of_block = _search_all(model, search, X[mine][some], points[mine][some], mine_numbers[some])
        distances[some], indices[some] = lists
        n_read += of_block
    return (mine_numbers, distances * X.dtype.type(model.divisor), indices), n_read


def _search_all(
    model: CellModel, search: SearchPlan, X: Array, points: Array, numbers: Array
) -> tuple[tuple[Array, Array], int]:
    """Neighbors of a few rows among all rows, and the bytes read."""
    k, n_read = model.n_neighbors, 0
    distances = np.full((len(X), k), np.inf, dtype=X.dtype)
    indices = np.full((len(X), k), -1, dtype=model.number_dtype)
    for block in range(model.files.n_blocks):
        others, names = model.files.read_block(block, "rows"), model.files.read_block(block, "numbers")
        if not len(others):
            continue
        of_others = model.files.read_block(block, "points") if "points" in model.files.columns else model.points(others)
        candidates = exact_candidates(
            points, of_others, min(max(search.n_candidates, k + 1 + SPARE_CANDIDATES), len(others))
        )
        squared, near = nearest_of(others, candidates, min(k + 1, len(others)), X, compiled=True)
        near_names = names[near]
        squared[near_names == numbers[:, None]] = np.inf
        distances, indices = np.hstack([distances, squared]), np.hstack([indices, near_names])
        best = np.lexsort((indices, distances), axis=1)[:, :k]
        distances, indices = (np.take_along_axis(one, best, axis=1) for one in (distances, indices))
        n_read += others.nbytes + names.nbytes
    return (distances, indices), n_read


def array_offset(path: Path) -> int:
    """First byte of the data of a .npy file."""
    with path.open("rb") as file:
        np.lib.format.read_magic(file)
        np.lib.format.read_array_header_1_0(file)
        return file.tell()
