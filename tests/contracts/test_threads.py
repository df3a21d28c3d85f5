"""The number of threads is limited as asked, and does not change an answer."""

import subprocess
import sys
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.datasets import load_digits
from threadpoolctl import threadpool_info

from graphlowrank import CompressiveClustering, CompressivePCA
from graphlowrank._threads import current_threads, limit_threads, map_ranges, map_tasks, resolve_n_jobs
from graphlowrank.datasets import make_low_rank_on_graphs
from graphlowrank.solvers.irls import irls


@given(n=st.integers(0, 100), n_jobs=st.integers(1, 5))
@settings(max_examples=30, deadline=None)
def test_ranges_cover_everything_once(n, n_jobs):
    seen = np.zeros(n, dtype=int)

    def mark(start, stop):
        seen[start:stop] += 1

    with limit_threads(n_jobs):
        map_ranges(mark, n)
    assert np.all(seen == 1)


def test_exceptions_in_threads_are_raised():
    with limit_threads(2), pytest.raises(ZeroDivisionError):
        map_ranges(lambda start, stop: 1 / 0, 10)


STUCK = """
import threading
from graphlowrank import _threads

_threads.PATIENCE = 0.1
begun = threading.Event()

def work(start, stop):
    if threading.current_thread() is threading.main_thread():
        begun.wait()
        raise KeyboardInterrupt
    begun.set()
    threading.Event().wait()  # forever

with _threads.limit_threads(2):
    _threads.map_ranges(work, 10)
"""


def test_a_process_ends_although_an_interrupt_left_a_helper_waiting():
    """Ctrl-C between a lock and the ``with`` that releases it leaves it locked; numba's was seen so."""
    ended = subprocess.run([sys.executable, "-c", STUCK], capture_output=True, text=True, timeout=60, check=False)
    assert "KeyboardInterrupt" in ended.stderr


def test_a_loop_inside_a_task_keeps_none_of_its_arrays():
    """Its helpers never start, since the outer loop has the threads, and stay in the queue."""
    arrays, seen = [], []

    def task(number):
        array = np.zeros(10)
        arrays.append(weakref.ref(array))
        map_ranges(lambda start, stop, held: None, 10, array)
        seen.append(sum(one() is not None for one in arrays))

    with limit_threads(2):
        map_tasks(task, range(20))
    assert max(seen) <= 2  # one in each thread
    held = np.zeros(10)
    arrays = [weakref.ref(held)]
    with limit_threads(2):
        map_ranges(lambda start, stop, held: time.sleep(0.01), 10, held)
    del held
    time.sleep(0.1)
    assert arrays[0]() is None  # nor does a helper that waits for more


def test_an_inner_call_keeps_the_outer_limit():
    with limit_threads(1):
        with limit_threads(None):
            assert current_threads() == 1
        assert current_threads() == 1


def library_threads():
    """Threads that each library may use in this thread."""
    return {library["filepath"]: library["num_threads"] for library in threadpool_info()}


def in_a_thread(function):
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(function).result()


def test_libraries_have_one_thread_in_every_thread():
    """A pool of a server: the first fit was in another thread, which is still there."""
    before = library_threads()

    def inside():
        with limit_threads(2):
            return library_threads()

    with ThreadPoolExecutor(1) as other:
        for place in (inside, lambda: in_a_thread(inside), lambda: other.submit(inside).result(), inside):
            assert set(place().values()) == {1}
            assert library_threads() == before
        assert other.submit(library_threads).result() == before


def test_overlapping_limits_are_restored():
    """Three calls begin together, and end in the order in which they began."""
    before = library_threads()
    inside = threading.Barrier(3)
    left = [threading.Event() for _ in range(3)]
    seen = []

    def hold(number):
        with limit_threads(number):
            inside.wait()
            if number > 1:
                left[number - 2].wait()
            seen.append(set(library_threads().values()))
        left[number - 1].set()
        return library_threads()

    with ThreadPoolExecutor(3) as pool:
        after = list(pool.map(hold, [1, 2, 3]))
    assert seen == [{1}, {1}, {1}]
    assert after[-1] == library_threads() == before


def test_wide_data_in_every_number_of_threads():
    X = np.random.default_rng(0).standard_normal((150, 1500))
    options = {"gamma_samples": 1.0, "gamma_features": 1.0, "robust_graphs": False, "random_state": 0}

    def answers(n_jobs):
        model = CompressivePCA(5, downsampling=(2, 3), n_jobs=n_jobs, **options).fit(X)
        return np.hstack([model.low_rank_.to_array(), model.transform(X)])

    first = answers(1)
    for other in (answers(2), answers(3), in_a_thread(lambda: answers(1)), in_a_thread(lambda: answers(2))):
        assert_array_equal(other, first)


def test_n_jobs_counts():
    assert resolve_n_jobs(None) == resolve_n_jobs(-1) >= 1
    assert resolve_n_jobs(4) == 4
    assert resolve_n_jobs(-1000) == 1
    with pytest.raises(ValueError, match="n_jobs"):
        resolve_n_jobs(0)


def test_same_seed_same_answer_whatever_the_threads():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((800, 5)) @ rng.standard_normal((5, 40)) + rng.standard_normal((800, 40))
    options = {"neighbors": "approximate", "downsampling": (4, 1)}
    X = X.astype(np.float32)
    fits = [CompressiveClustering(5, n_jobs=n_jobs, random_state=7, **options).fit(X) for n_jobs in (1, 2, 2)]
    for other in fits[1:]:
        assert_array_equal(other.sample_indices_, fits[0].sample_indices_)
        assert_array_equal(other.labels_, fits[0].labels_)
    other_seed = CompressiveClustering(5, random_state=8, **options).fit(X)
    assert not np.array_equal(fits[0].sample_indices_, other_seed.sample_indices_)


def test_the_same_bits_whatever_the_threads():
    """Equal features, of which a search may take any, and products large enough for threads of BLAS."""
    X = make_low_rank_on_graphs(1500, 200, rank=5, random_state=0).X.astype(np.float32)
    X += 0.3 * X.std() * np.random.default_rng(0).standard_normal(X.shape, dtype=np.float32)
    X[:, 150:] = 0
    one, two = (CompressivePCA(random_state=0, neighbors="approximate", n_jobs=n).fit(X) for n in (1, 2))
    assert_array_equal(one.feature_graph_.weights.indices, two.feature_graph_.weights.indices)
    assert_array_equal(one.sample_graph_.weights.data, two.sample_graph_.weights.data)
    assert (one.gamma_samples_, one.gamma_features_, one.n_components_) == (
        two.gamma_samples_, two.gamma_features_, two.n_components_
    )  # fmt: skip
    assert_array_equal(one.low_rank_.to_array(), two.low_rank_.to_array())


@pytest.mark.parametrize("n_draws", [1, 3])
def test_labels_do_not_depend_on_threads_or_units(n_draws):
    X = load_digits().data[:300].astype(np.float32)
    options = {"n_draws": n_draws, "downsampling": (4, 1), "random_state": 3}
    first = CompressiveClustering(10, n_jobs=1, **options).fit(X)
    second = CompressiveClustering(10, n_jobs=2, **options).fit(X)
    assert_array_equal(first.labels_, second.labels_)
    assert_array_equal(first.soft_labels_, second.soft_labels_)
    scaled = CompressiveClustering(10, **options).fit(1024 * X)  # a power of two: nothing is rounded differently
    assert np.mean(scaled.labels_ != first.labels_) < 0.02


@pytest.fixture(scope="module")
def corrupted():
    return make_low_rank_on_graphs(300, 100, rank=4, outliers=0.1, random_state=0)


def test_graph_regression_does_not_depend_on_threads(corrupted, monkeypatch):
    monkeypatch.setattr("graphlowrank.solvers.graph_irls.BLOCK_ENTRIES", 2000)
    a, b = (
        CompressivePCA(3, decoder="graph_regression", downsampling=(3, 2), n_jobs=n, random_state=0)
        .fit(corrupted.X).low_rank_.to_array() for n in (1, 2)
    )  # fmt: skip
    assert_array_equal(a, b)


def test_the_robust_decoder_does_not_depend_on_threads(corrupted, monkeypatch):
    monkeypatch.setattr("graphlowrank.decoders.robust.irls", partial(irls, compiled=True))
    a, b = (
        CompressivePCA(3, solver="rpca", decoder="robust", downsampling=(3, 2), n_jobs=n, random_state=0)
        .fit(corrupted.X).low_rank_.to_array() for n in (1, 2)
    )  # fmt: skip
    assert_array_equal(a, b)
