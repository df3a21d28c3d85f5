"""Number of threads: our own loops use all that are allowed, BLAS and OpenMP one."""

import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from contextvars import Context, ContextVar, copy_context
from itertools import pairwise
from numbers import Integral
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any, TypeVar

from threadpoolctl import LibController, OpenBLASController, ThreadpoolController

_allowed: ContextVar[int | None] = ContextVar("graphlowrank_threads", default=None)

Item = TypeVar("Item")
Result = TypeVar("Result")

MAX_THREADS = 1024  # more would only exhaust the system
CHUNKS_PER_THREAD = 8  # balances uneven rows; Ctrl-C takes effect within an eighth of the loop
# Each chunk waits for the GIL, so many threads get fewer chunks each.
MANY_THREADS, CHUNKS_OF_MANY = 4, 3
# Seconds that a loop waits for its helpers after Ctrl-C, which may leave a lock of Python or numba locked forever: it
# can come between the lock and the ``with`` that would release it.
PATIENCE = 5.0


def available_cores() -> int:
    """Return the number of cores this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)  # not on macOS and Windows
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def resolve_n_jobs(n_jobs: int | None) -> int:
    """Convert ``n_jobs`` to a number of threads: None and -1 mean all cores, -2 all but one."""
    if n_jobs is None:
        return available_cores()
    if not isinstance(n_jobs, Integral) or n_jobs == 0:
        raise ValueError(f"n_jobs must be None for all cores, or an integer other than 0; got {n_jobs!r}.")
    return min(int(n_jobs), MAX_THREADS) if n_jobs > 0 else max(1, available_cores() + 1 + int(n_jobs))


def current_threads() -> int:
    """Return the number of threads of the current call."""
    return _allowed.get() or available_cores()


@contextmanager
def limit_threads(n_jobs: int | None) -> Iterator[None]:
    """Limit our loops to ``n_jobs`` threads inside the block (None changes nothing), and BLAS and OpenMP to one.

    Work is divided among our threads in the same way for any number of them. The threads of BLAS would change the
    rounding, and they keep spinning after a product, which takes the cores from what runs next.
    """
    token = None if n_jobs is None else _allowed.set(resolve_n_jobs(n_jobs))
    try:
        with single_threaded_libraries():
            yield
    finally:
        if token is not None:
            _allowed.reset(token)


@contextmanager
def single_threaded_libraries() -> Iterator[None]:
    """Limit BLAS and OpenMP to one thread. Libraries that are imported inside the block are not limited."""
    before = _libraries.enter()
    try:
        yield
    finally:
        _libraries.leave(before)


class _Libraries:
    """Limits of the libraries' threads while calls of ours, which may overlap in several threads, are running.

    OpenMP has a limit for each thread. That of BLAS is global: the first call that enters sets it, and the last that
    leaves restores it.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._n_running = 0
        self._n_modules = 0
        self._of_threads: list[LibController] = []
        self._of_process: list[LibController] = []
        self._original: dict[str, int] = {}  # threads of the libraries of the process, by file

    def enter(self) -> list[tuple[LibController, int]]:
        """Set the limits to 1; return those of this thread as they were."""
        with self._lock:
            self._scan()
            self._n_running += 1
            for library in self._of_process:
                if library.filepath not in self._original:
                    self._original[library.filepath] = library.get_num_threads()
                    _set_threads(library, 1)
            before = [(library, library.get_num_threads()) for library in self._of_threads]
        for library, _ in before:
            library.set_num_threads(1)
        return before

    def leave(self, before: list[tuple[LibController, int]]) -> None:
        """Restore the limits of this thread and, after the last call, those of the process."""
        for library, n_threads in before:
            library.set_num_threads(n_threads)
        with self._lock:
            self._n_running -= 1
            if self._n_running == 0:
                for library in self._of_process:
                    _set_threads(library, self._original.pop(library.filepath))

    def _scan(self) -> None:
        """Look for libraries, which takes milliseconds, if there are new modules."""
        if len(sys.modules) == self._n_modules:
            return
        self._n_modules = len(sys.modules)
        found = ThreadpoolController().lib_controllers
        self._of_threads = [library for library in found if _is_limited_by_thread(library)]
        self._of_process = [library for library in found if not _is_limited_by_thread(library)]


def _is_limited_by_thread(library: LibController) -> bool:
    return library.user_api == "openmp" or getattr(library, "threading_layer", None) == "openmp"


def _set_threads(library: LibController, n_threads: int) -> None:
    """Set the limit. threadpoolctl 3.8 would let only one thread set that of OpenBLAS, the first to do so."""
    clear = getattr(OpenBLASController, "clear_controlling_thread", lambda **_: None)
    clear(force=True)
    library.set_num_threads(n_threads)
    clear(force=True)


_libraries = _Libraries()


def map_ranges(kernel: Callable[..., Any], n_items: int, *args: Any) -> None:
    """Call ``kernel(start, stop, *args)`` over ranges that cover ``n_items``, in threads.

    The kernel must release the GIL and write only to rows of its own range, so that the result does not depend on the
    ranges.
    """
    n_threads = min(current_threads(), max(1, n_items))
    n_chunks = min(n_items, n_threads * (CHUNKS_PER_THREAD if n_threads <= MANY_THREADS else CHUNKS_OF_MANY))
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
    job: Job = [work]
    patience: float | None = PATIENCE
    try:
        helpers.extend(_helpers(n_threads - 1).submit(job) for _ in range(n_threads - 1))
        work()
        patience = None
    finally:
        # Helpers that have not started (another call uses the threads) have nothing left to do.
        begun = [helper for helper in helpers if not helper.cancel()]
        wait(begun, patience)
        job.clear()  # those that were canceled stay in the queue for as long, and would keep all arrays
    for helper in begun:
        helper.result()


def map_tasks(task: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """Return ``task(item)`` for each item, computed in threads. Tasks must not share a random number generator."""
    given = list(items)
    found: dict[int, Result] = {}

    def work(start: int, stop: int) -> None:
        with single_threaded_libraries():  # OpenMP has a limit for each thread
            for place in range(start, stop):
                found[place] = task(given[place])

    map_ranges(work, len(given))
    return [found[place] for place in range(len(given))]


Job = list[Callable[[], None]]  # empty once its loop has ended


class _Pool:
    """Threads that the process does not wait for when it ends, as it would for those of ThreadPoolExecutor."""

    def __init__(self, n_threads: int) -> None:
        self._queue: SimpleQueue[tuple[Future[None], Context, Job]] = SimpleQueue()
        for _ in range(n_threads):
            Thread(target=self._serve, name="graphlowrank", daemon=True).start()

    def submit(self, job: Job) -> Future[None]:
        """Run a job with a copy of the context: a loop inside it has the same limit of threads."""
        future: Future[None] = Future()
        self._queue.put((future, copy_context(), job))
        return future

    def _serve(self) -> None:
        while True:
            future, context, job = self._queue.get()
            if future.set_running_or_notify_cancel():
                try:
                    context.run(_do, job)
                    future.set_result(None)
                except BaseException as error:
                    future.set_exception(error)
            del future, context, job  # nothing is kept while waiting


def _do(job: Job) -> None:
    for work in job:
        work()


_pools: dict[int, _Pool] = {}


def _helpers(n_threads: int) -> _Pool:
    """Return a pool that is kept between calls: starting threads costs as much as a short loop."""
    if n_threads not in _pools:
        _pools[n_threads] = _Pool(n_threads)
    return _pools[n_threads]


def _reset_after_fork() -> None:
    """Drop threads and locks, which do not survive a fork."""
    global _libraries  # noqa: PLW0603
    _pools.clear()
    _libraries = _Libraries()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_after_fork)
