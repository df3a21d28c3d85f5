"""Search by tasks on blocks of rows beside exact search and that in memory, and what must not change its answer."""

import errno
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from graphlowrank._threads import limit_threads
from graphlowrank.graphs import block_groups, cell_files, search_cells
from graphlowrank.graphs.search import nearest_neighbors
from graphlowrank.graphs.search_blocks import search_blocks


@dataclass
class ArrayRows:
    X: np.ndarray
    bounds: tuple

    @property
    def n_rows(self):
        return self.X.shape[0]

    @property
    def n_columns(self):
        return self.X.shape[1]

    @property
    def dtype(self):
        return self.X.dtype

    @property
    def blocks(self):
        return [slice(first, last) for first, last in zip(self.bounds[:-1], self.bounds[1:], strict=True)]

    def read(self, block):
        return self.X[self.blocks[block]]


def rows_of(X, n_blocks=4):
    return ArrayRows(X, tuple(np.linspace(0, len(X), n_blocks + 1).astype(int)))


def searched(folder, rows, k, **options):
    """Copies of the lists, from an empty folder."""
    place = folder / str(len(list(folder.iterdir())))
    place.mkdir()
    return [np.array(one) for one in search_blocks(rows, k, folder=place, random_state=0, **options)]


def clusters(n, p, dtype=np.float32, latent=8, seed=0):
    rng = np.random.default_rng(seed)
    hidden = rng.standard_normal((n, latent)) + 4 * rng.standard_normal((30, latent))[rng.integers(0, 30, n)]
    return (hidden @ rng.standard_normal((latent, p)) + 0.05 * rng.standard_normal((n, p))).astype(dtype)


def recall(truth, found):
    return np.mean([len(np.intersect1d(a, b)) for a, b in zip(truth, found, strict=True)]) / truth.shape[1]


def assert_same(one, other):
    for a, b in zip(one, other, strict=True):
        assert a.dtype == b.dtype
        assert_array_equal(a, b)


def assert_valid(lists, X, k):
    """Every row has ``k`` different other rows, nearest first, at the distances of the data."""
    distances, indices, order = lists
    n = len(X)
    assert distances.dtype == X.dtype
    assert indices.dtype == np.int32
    assert distances.shape == indices.shape == (n, k)
    assert_array_equal(np.sort(order), np.arange(n))
    assert indices.min() >= 0
    assert not np.any(indices == np.arange(n)[:, None])
    assert not np.any(np.diff(np.sort(indices, axis=1), axis=1) == 0)
    assert np.all(np.diff(distances, axis=1) >= 0)
    some = np.arange(0, n, max(n // 50, 1))
    true = np.linalg.norm(X[indices[some]].astype(float) - X[some, None].astype(float), axis=2)
    assert_allclose(distances[some], true, rtol=1e-5, atol=1e-6 * np.abs(X).max())


@pytest.mark.parametrize("data", ["clusters", "uniform", "projected", "float64"])
def test_recall_is_that_of_the_search_in_memory(data, tmp_path):
    if data == "uniform":
        X = np.random.default_rng(0).random((9000, 6)).astype(np.float32)
    else:
        X = clusters(9000, 140 if data == "projected" else 20, np.float64 if data == "float64" else np.float32)
    lists = searched(tmp_path, rows_of(X), 10)
    assert_valid(lists, X, 10)
    truth = nearest_neighbors(X, 10, engine="exact")[1]
    in_memory = search_cells.search(X, 10, random_state=0)[1]
    assert recall(truth, lists[1]) >= 0.98
    assert recall(truth, lists[1]) >= recall(truth, in_memory) - 0.005
    hops = np.abs(np.diff(X[lists[2]].astype(float), axis=0)).mean()  # the order goes from cell to cell
    assert hops < 0.75 * np.abs(np.diff(X.astype(float), axis=0)).mean()


@pytest.mark.parametrize("data", ["lattice", "projected"])
def test_neither_memory_nor_blocks_nor_threads_change_a_bit(data, tmp_path, monkeypatch):
    # Of many points at the same distance, rounding chooses.
    lattice = np.random.default_rng(0).integers(0, 3, (11_000, 9)).astype(np.float32)
    X = lattice if data == "lattice" else clusters(11_000, 130)
    expected = searched(tmp_path, rows_of(X), 7)
    for memory in (1, 3_000_000):  # one block of queries at a time; parts of groups
        assert_same(searched(tmp_path, rows_of(X), 7, memory=memory), expected)
    monkeypatch.setattr(block_groups, "GROUP_ROWS", 5000)
    assert_same(searched(tmp_path, rows_of(X), 7), expected)
    for bounds in ((0, 11_000), (0, 1, 1, 137, 5000, 5001, 10_990, 11_000)):  # one of them empty
        assert_same(searched(tmp_path, ArrayRows(X, bounds), 7), expected)
    for n_jobs in (1, 3):
        with limit_threads(n_jobs):
            assert_same(searched(tmp_path, rows_of(X), 7), expected)


def test_processes_give_the_answer_of_a_loop(tmp_path):
    rows = rows_of(clusters(5000, 10))
    expected = searched(tmp_path, rows, 5, memory=1)
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        assert_same(searched(tmp_path, rows, 5, memory=1, map=pool.map), expected)


def test_tasks_may_be_killed_and_repeated(tmp_path, monkeypatch):
    """Each is stopped halfway through its files once, runs twice, and in any order."""
    X = clusters(6000, 10)
    expected = searched(tmp_path, rows_of(X), 5, memory=1)
    write, range_write = cell_files.write_array, cell_files.write_range

    class KilledError(Exception):
        pass

    def restless(task, items):
        def once(item):
            for left in (1, 2):
                remaining = [left]

                def failing(path, *args, remaining=remaining):
                    if not remaining[0]:
                        (path.with_name(f"{path.name}.half")).write_bytes(b"half")
                        raise KilledError
                    remaining[0] -= 1
                    return (write if len(args) == 1 else range_write)(path, *args)

                with monkeypatch.context() as patch:
                    for module in (cell_files, block_groups):
                        patch.setattr(module, "write_array", failing)
                    with suppress(KilledError):
                        task(item)
            task(item)
            return task(item)

        results = {index: once(items[index]) for index in reversed(range(len(items)))}
        return (results[index] for index in range(len(items)))

    assert_same(searched(tmp_path, rows_of(X), 5, memory=1, map=restless), expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n", "k"), [(2, 1), (9, 8), (40, 5), (300, 299), (1200, 300)])
def test_small_data_and_many_neighbors(n, k, dtype, tmp_path):
    X = clusters(n, 4, dtype, latent=2)
    lists = searched(tmp_path, rows_of(X, min(3, n)), k)
    assert_valid(lists, X, k)
    distances, indices = nearest_neighbors(X, k, engine="exact")
    assert recall(indices, lists[1]) >= (1 if n <= 300 else 0.97)
    if n <= 300:
        assert_allclose(lists[0], distances, rtol=1e-5, atol=1e-6)


def test_rows_whose_cells_hold_too_few_points_are_searched_exactly(tmp_path, monkeypatch):
    monkeypatch.setattr(search_cells, "MIN_PROBES", 1)
    monkeypatch.setattr(search_cells, "TRIAL_RECALL", 0.0)  # only the nearest cell is probed
    X = clusters(3000, 5, np.float64)
    lists = searched(tmp_path, rows_of(X), 60)  # of about 30 points
    assert_valid(lists, X, 60)
    distances = nearest_neighbors(X, 60, engine="exact")[0]
    assert np.mean(np.all(np.isclose(lists[0], distances), axis=1)) > 0.8
    assert_same(searched(tmp_path, rows_of(X, 7), 60, memory=1), lists)


def test_copies_are_neighbors_of_each_other(tmp_path):
    """More copies of a row than cells have points, and than neighbors are asked for."""
    rng = np.random.default_rng(0)
    X = np.concatenate([np.ones((3000, 5)), rng.integers(0, 3, (3000, 5)), 9 + rng.random((500, 5))]).astype(np.float32)
    X = X[rng.permutation(len(X))]
    lists = searched(tmp_path, rows_of(X), 6)
    assert_valid(lists, X, 6)
    copies = X.max(axis=1) < 9
    assert_allclose(lists[0][copies], nearest_neighbors(X, 6, engine="exact")[0][copies], atol=1e-6)
    assert_same(searched(tmp_path, rows_of(X, 9), 6, memory=1), lists)
    same = np.zeros((700, 3))
    assert_valid(searched(tmp_path, rows_of(same), 4), same, 4)


@pytest.mark.parametrize("unit", [1e-30, 1e30])
def test_units_do_not_change_neighbors(unit, tmp_path):
    X = clusters(2500, 6)
    lists, scaled = (searched(tmp_path, rows_of(one), 5) for one in (X, (X * np.float32(unit))))
    assert recall(lists[1], scaled[1]) > 0.999
    assert_allclose(scaled[0] / np.float32(unit), lists[0], rtol=1e-3)


def test_an_enormous_row_has_neighbors(tmp_path):
    X = clusters(5000, 6, np.float64)
    X[77] = 1e60
    lists = searched(tmp_path, rows_of(X), 5)
    assert_valid(lists, X, 5)


def test_costs_are_reported(tmp_path):
    X = clusters(5000, 10)
    costs = {}
    lists = searched(tmp_path, rows_of(X), 5, report=costs.__setitem__)
    assert list(costs) == ["sample", "cells", "search", "lists"]
    assert [cost.n_tasks for cost in costs.values()] == [4, 4, 1, 1]
    assert costs["cells"].bytes_read == X.nbytes
    assert X.nbytes < costs["cells"].bytes_written < 2 * X.nbytes
    assert costs["search"].bytes_read >= X.nbytes
    assert costs["lists"].bytes_written == lists[0].nbytes + lists[1].nbytes
    assert all(cost.seconds > 0 for cost in costs.values())


def test_errors_name_the_block(tmp_path):
    X = clusters(400, 5)
    with pytest.raises(ValueError, match="n_neighbors=400 must be between 1 and n - 1 = 399"):
        searched(tmp_path, rows_of(X), 400)
    X[250, 2] = np.nan
    with pytest.raises(ValueError, match=r"block 2 \(rows 200 to 299\) has NaN or infinite entries"):
        searched(tmp_path, rows_of(X), 5)
    rows = rows_of(X)
    rows.read = lambda block: X[rows.blocks[block], :4]
    with pytest.raises(ValueError, match=r"block 0 .* has shape \(100, 4\)"):
        searched(tmp_path, rows, 5)


def test_a_full_disk_is_the_error_of_the_system(tmp_path, monkeypatch):
    def full(path, *args):
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr(cell_files, "write_array", full)
    with pytest.raises(OSError, match="No space left") as caught:
        searched(tmp_path, rows_of(clusters(400, 5)), 5)
    assert caught.value.errno == errno.ENOSPC
