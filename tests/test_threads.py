import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_info

from graphlowrank._threads import current_threads, limit_threads, map_ranges, resolve_n_jobs


@given(n=st.integers(0, 100), n_jobs=st.integers(1, 5))
@settings(max_examples=30, deadline=None)
def test_ranges_cover_everything_once(n, n_jobs):
    seen = np.zeros(n, dtype=int)

    def mark(start, stop):
        seen[start:stop] += 1

    with limit_threads(n_jobs):
        map_ranges(mark, n)
    assert np.all(seen == 1)


def test_errors_in_threads_come_out():
    with limit_threads(2), pytest.raises(ZeroDivisionError):
        map_ranges(lambda start, stop: 1 / 0, 10)


def test_an_inner_call_keeps_the_outer_limit():
    with limit_threads(1):
        with limit_threads(None):
            assert current_threads() == 1
        assert current_threads() == 1


def test_overlapping_limits_are_put_back():
    def blas_threads():
        return sorted(pool["num_threads"] for pool in threadpool_info())

    before = blas_threads()
    inside = threading.Barrier(3)

    def hold(n_jobs):
        with limit_threads(n_jobs):
            inside.wait()

    threads = [threading.Thread(target=hold, args=(n_jobs,)) for n_jobs in (1, 2, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert blas_threads() == before


def test_n_jobs_counts():
    assert resolve_n_jobs(None) == resolve_n_jobs(-1) >= 1
    assert resolve_n_jobs(4) == 4
    assert resolve_n_jobs(-1000) == 1
    with pytest.raises(ValueError, match="n_jobs"):
        resolve_n_jobs(0)
