"""Number of threads: one limit for compiled loops, BLAS and OpenMP."""

import os
import sys
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from itertools import pairwise
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController

_allowed: ContextVar[int | None] = ContextVar("graphlowrank_threads", default=None)

CHUNKS_PER_THREAD = 8  # balances uneven rows; Ctrl-C takes effect within an eighth of the loop


def available_cores() -> int:
    """Return the number of cores this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)  # not on macOS and Windows
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def resolve_n_jobs(n_jobs: int | None) -> int:
    """Convert ``n_jobs`` to a number of threads: None and -1 mean all cores, -2 all but one."""
    if n_jobs is None:
        return available_cores()
    if n_jobs == 0:
        raise ValueError("n_jobs must not be 0; use None for all cores or 1 for a single thread.")
    return n_jobs if n_jobs > 0 else max(1, available_cores() + 1 + n_jobs)


def current_threads() -> int:
    """Return the number of threads of the current call."""
    return _allowed.get() or available_cores()


@contextmanager
def limit_threads(n_jobs: int | None) -> Iterator[None]:
    """Limit compiled loops, BLAS and OpenMP to ``n_jobs`` threads inside the block; None changes nothing."""
    if n_jobs is None:
        yield
        return
    limit = resolve_n_jobs(n_jobs)
    token = _allowed.set(limit)
    try:
        with _libraries_at(limit):
            yield
    finally:
        _allowed.reset(token)


class _SharedLimits:
    """Library limits are global to the process, while calls may nest, or overlap in several threads.

    The limits that a call found are restored once every call that began after it has ended.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._begun: list[Any] = []
        self._ended: set[int] = set()
        self._libraries: ThreadpoolController | None = None
        self._modules = 0

    def enter(self, limit: int) -> Any:
        with self._lock:
            # Scanning for libraries takes milliseconds; new ones come with new modules.
            modules = len(sys.modules)
            if self._libraries is None or modules != self._modules:
                self._libraries, self._modules = ThreadpoolController(), modules
            self._begun.append(self._libraries.limit(limits=limit))
            return self._begun[-1]

    def leave(self, limits: Any) -> None:
        with self._lock:
            self._ended.add(id(limits))
            while self._begun and id(self._begun[-1]) in self._ended:
                last = self._begun.pop()
                self._ended.remove(id(last))
                last.restore_original_limits()


_shared = _SharedLimits()


def single_threaded_libraries() -> AbstractContextManager[None]:
    """Limit BLAS and OpenMP to one thread, for loops that call them from their own threads.

    BLAS threads keep spinning after a product, and take the cores from what runs next.
    """
    return _libraries_at(1)


@contextmanager
def _libraries_at(limit: int) -> Iterator[None]:
    limits = _shared.enter(limit)
    try:
        yield
    finally:
        _shared.leave(limits)


def map_ranges(kernel: Callable[..., Any], n_items: int, *args: Any) -> None:
    """Call ``kernel(start, stop, *args)`` over ranges that cover ``n_items``, in threads.

    The kernel must release the GIL and write only to rows of its own range, so that the result does not depend on the
    ranges.
    """
    n_threads = min(current_threads(), max(1, n_items))
    n_chunks = min(n_items, n_threads * CHUNKS_PER_THREAD)
    bounds = [n_items * chunk // max(n_chunks, 1) for chunk in range(n_chunks + 1)]
    left = deque(pairwise(bounds))

    def work() -> None:
        try:
            while True:
                try:
                    start, stop = left.popleft()
                except IndexError:
                    return
                kernel(start, stop, *args)
        except BaseException:
            left.clear()  # after an error or Ctrl-C the other threads stop after their current range
            raise

    helpers: list[Future[None]] = []
    try:
        helpers.extend(_helpers(n_threads - 1).submit(work) for _ in range(n_threads - 1))
        work()
    finally:
        # Helpers that have not started (another call uses the threads) have nothing left to do.
        begun = [helper for helper in helpers if not helper.cancel()]
        wait(begun)
    for helper in begun:
        helper.result()


_pools: dict[int, ThreadPoolExecutor] = {}


def _helpers(n_threads: int) -> ThreadPoolExecutor:
    """Return a pool that is kept between calls: starting threads costs as much as a short loop."""
    if n_threads not in _pools:
        _pools[n_threads] = ThreadPoolExecutor(n_threads, thread_name_prefix="graphlowrank")
    return _pools[n_threads]


def _reset_after_fork() -> None:
    """Drop threads and locks, which do not survive a fork."""
    global _shared  # noqa: PLW0603
    _pools.clear()
    _shared = _SharedLimits()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_after_fork)
