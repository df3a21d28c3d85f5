"""How many threads our own loops, BLAS and OpenMP may use: one number for all of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import pairwise
from threading import Lock
from typing import Any

from threadpoolctl import threadpool_limits

_allowed: ContextVar[int | None] = ContextVar("graphlowrank_threads", default=None)

CHUNKS_PER_THREAD = 8  # uneven rows even out, and Ctrl-C is felt within an eighth of the loop


def available_cores() -> int:
    """Cores this process may run on."""
    affinity = getattr(os, "sched_getaffinity", None)  # not on macOS and Windows
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def resolve_n_jobs(n_jobs: int | None) -> int:
    """Turn ``n_jobs`` into a count: None and -1 mean every core, -2 all but one.

    Examples
    --------
    >>> resolve_n_jobs(3)
    3
    """
    if n_jobs is None:
        return available_cores()
    if n_jobs == 0:
        raise ValueError("n_jobs must not be 0; use None for every core or 1 for a single thread.")
    return n_jobs if n_jobs > 0 else max(1, available_cores() + 1 + n_jobs)


def current_threads() -> int:
    """Threads the running call may use."""
    return _allowed.get() or available_cores()


@contextmanager
def limit_threads(n_jobs: int | None) -> Iterator[None]:
    """Hold our loops, BLAS and OpenMP to ``n_jobs`` threads inside the block; None leaves things as they are."""
    if n_jobs is None:
        yield
        return
    token = _allowed.set(resolve_n_jobs(n_jobs))
    try:
        with library_limit():
            yield
    finally:
        _allowed.reset(token)


class _SharedLimits:
    """Limits of the libraries belong to the whole process, so calls that overlap in several threads share them.

    What was in force before the first one is put back by the last one.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._n_inside = 0
        self._set: list[threadpool_limits] = []

    def enter(self, limit: int) -> None:
        with self._lock:
            self._n_inside += 1
            self._set.append(threadpool_limits(limit))

    def leave(self) -> None:
        with self._lock:
            self._n_inside -= 1
            while self._n_inside == 0 and self._set:
                self._set.pop().restore_original_limits()


_shared = _SharedLimits()


@contextmanager
def library_limit() -> Iterator[None]:
    """Apply the limit in force, if any, to the libraries loaded by now."""
    limit = _allowed.get()
    if limit is None:
        yield
        return
    _shared.enter(limit)
    try:
        yield
    finally:
        _shared.leave()


def map_ranges(kernel: Callable[..., Any], n_items: int, *args: Any) -> None:
    """Call ``kernel(start, stop, *args)`` over ranges that cover ``n_items``, in threads.

    The kernel must release the GIL and write only to rows of its own range, so the outcome does not
    depend on how the ranges are cut.
    """
    n_threads = min(current_threads(), max(1, n_items))
    n_chunks = min(n_items, n_threads * CHUNKS_PER_THREAD)
    bounds = [n_items * chunk // max(n_chunks, 1) for chunk in range(n_chunks + 1)]
    ranges = list(pairwise(bounds))
    if n_threads == 1:
        for start, stop in ranges:
            kernel(start, stop, *args)
        return
    pool = ThreadPoolExecutor(n_threads)
    try:
        for future in [pool.submit(kernel, start, stop, *args) for start, stop in ranges]:
            future.result()
    finally:
        pool.shutdown(cancel_futures=True)
