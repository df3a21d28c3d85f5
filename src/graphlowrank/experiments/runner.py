"""Run the cells that are not stored yet, one by one or several at a time; an interrupt loses those in flight only."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import chain
from threading import Thread
from typing import Any

from .._threads import available_cores, limit_threads
from ..bench.cells import thread_environment, without_folders
from .cells import Cell, Outcome, Status
from .kinds import KINDS
from .store import Store

Done = Callable[[Cell, Outcome], None]
Group = Sequence[Cell]  # of equal content


def measure(content: Mapping[str, Any], threads: int | None = None) -> Outcome:
    """Run one cell here; whatever befalls it becomes an outcome."""
    begin = time.perf_counter()

    def ended(status: Status, reason: str = "", values: Any = None, pictures: Any = None) -> Outcome:
        return Outcome(status, without_folders(reason), values or {}, pictures or {}, time.perf_counter() - begin)

    try:
        with warnings.catch_warnings(), limit_threads(threads):
            warnings.simplefilter("ignore")  # a corner of a grid may not converge; its error speaks for itself
            return ended("done", "", *KINDS[content["kind"]].run(content))
    except ImportError as error:
        return ended("missing", f"needs {error.name or error}")
    except FileNotFoundError as error:  # a data set
        return ended("missing", str(error))
    except Exception as error:  # it belongs in the table
        return ended("failed", f"{type(error).__name__}: {error}")


def run_cells(cells: Sequence[Cell], store: Store, *, jobs: int = 0, done: Done = lambda cell, outcome: None) -> None:
    """Measure the cells and store each as it ends.

    Parameters
    ----------
    cells
        To measure. Those of equal content are measured once; what is timed runs alone, after the rest.
    store
        Where outcomes go.
    jobs
        How many at a time, each in a process of its own with its share of the cores; 0 for this process.
    done
        Is told each outcome.
    """
    groups: dict[str, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(cell.key, []).append(cell)
    beside = [same for same in groups.values() if not any(cell.alone for cell in same)]
    alone = [same for same in groups.values() if any(cell.alone for cell in same)]
    outcomes: Iterable[tuple[Group, Outcome]]
    if jobs == 0:
        outcomes = ((same, measure(same[0].content)) for same in (*beside, *alone))
    else:
        outcomes = chain(_in_processes(beside, jobs), _in_processes(alone, 1))
    for same, outcome in outcomes:
        if outcome.done:
            store.put(same[0], outcome)
        for cell in same:
            done(cell, outcome)


def _in_processes(groups: Sequence[Group], jobs: int) -> Iterator[tuple[Group, Outcome]]:
    """Outcomes as they come.

    A process that is killed, for want of memory for instance, takes those beside it along. They are run again one by
    one, and only one that is killed again has failed.
    """
    waiting = deque(groups)
    while waiting:
        suspects = yield from _until_broken(waiting, jobs)
        for suspect in suspects:
            again = yield from _until_broken(deque([suspect]), 1)
            if again:
                yield suspect, Outcome("failed", "its process was killed, for want of memory perhaps")


def _until_broken(waiting: deque[Group], jobs: int) -> Generator[tuple[Group, Outcome], None, list[Group]]:
    """Outcomes of the groups, taken from ``waiting``; returns those that were in flight when a process was killed.

    Leaving early, by Ctrl-C or otherwise, stops the processes at once.
    """
    threads = max(1, available_cores() // jobs)
    with _environment(thread_environment(threads)):
        # Fresh processes, not forks: threads of OpenMP do not survive a fork.
        spawn = multiprocessing.get_context("spawn")
        pool = ProcessPoolExecutor(jobs, mp_context=spawn, initializer=_leave_interrupts_to_the_parent)
        try:
            flying: dict[Future[Outcome], Group] = {}
            while waiting or flying:
                while waiting and len(flying) < jobs:
                    group = waiting.popleft()
                    try:
                        flying[pool.submit(measure, group[0].content, threads)] = group
                    except BrokenProcessPool:
                        return [*flying.values(), group]
                for future in wait(flying, return_when=FIRST_COMPLETED).done:
                    if isinstance(future.exception(), BrokenProcessPool):
                        return list(flying.values())
                    yield flying.pop(future), future.result()
            return []
        finally:
            for process in list((getattr(pool, "_processes", None) or {}).values()):
                process.terminate()
            pool.shutdown(wait=True, cancel_futures=True)


def _leave_interrupts_to_the_parent() -> None:
    """Ctrl-C reaches every process of a terminal; only the first one is to act on it. Nobody outlives it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_the_parent, daemon=True).start()


def _end_with_the_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Variables that processes started in the block see."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
