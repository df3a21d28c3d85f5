"""Run the cells that are not stored yet, one by one or several at a time; an interrupt loses those in flight only."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from itertools import chain
from typing import Any

from .._threads import available_cores, limit_threads
from ..bench.cells import thread_environment, without_folders
from .cells import Cell, Outcome
from .kinds import KINDS
from .store import Store

Done = Callable[[Cell, Outcome], None]


def measure(content: Mapping[str, Any], threads: int | None = None) -> Outcome:
    """Run one cell here; whatever befalls it becomes an outcome."""
    begin = time.perf_counter()
    try:
        with warnings.catch_warnings(), limit_threads(threads):
            warnings.simplefilter("ignore")  # a corner of a grid may not converge; its error speaks for itself
            values, pictures = KINDS[content["kind"]].run(content)
    except ImportError as error:
        return Outcome("missing", f"needs {error.name or error}")
    except FileNotFoundError as error:  # a data set
        return Outcome("missing", without_folders(str(error)))
    except Exception as error:  # it belongs in the table
        return Outcome("failed", without_folders(f"{type(error).__name__}: {error}"))
    return Outcome("done", "", values, pictures, time.perf_counter() - begin)


def run_cells(cells: Sequence[Cell], store: Store, *, jobs: int = 1, done: Done = lambda cell, outcome: None) -> None:
    """Measure the cells and store each as it ends.

    Parameters
    ----------
    cells
        To measure. Those of equal content are measured once; what is timed runs alone, after the rest.
    store
        Where outcomes go.
    jobs
        How many at a time, each in a process of its own with its share of the cores.
    done
        Is told each outcome.
    """
    groups: dict[str, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(cell.key, []).append(cell)
    beside = [same for same in groups.values() if not any(cell.alone for cell in same)]
    alone = [same for same in groups.values() if any(cell.alone for cell in same)]
    several = _in_processes(beside, jobs) if jobs > 1 else _one_by_one(beside)
    for same, outcome in chain(several, _one_by_one(alone)):
        if outcome.done:
            store.put(same[0], outcome)
        for cell in same:
            done(cell, outcome)


Group = Sequence[Cell]


def _one_by_one(groups: Sequence[Group]) -> Iterator[tuple[Group, Outcome]]:
    for same in groups:
        yield same, measure(same[0].content)


def _in_processes(groups: Sequence[Group], jobs: int) -> Iterator[tuple[Group, Outcome]]:
    """Outcomes as they come; leaving early, by Ctrl-C or otherwise, stops the processes at once."""
    threads = max(1, available_cores() // jobs)
    with _environment(thread_environment(threads)):
        # Fresh processes, not forks: threads of OpenMP do not survive a fork.
        pool = ProcessPoolExecutor(
            jobs, mp_context=multiprocessing.get_context("spawn"), initializer=_ignore_interrupts
        )
        try:
            waiting: dict[Future[Outcome], Group] = {
                pool.submit(measure, same[0].content, threads): same for same in groups
            }
            while waiting:
                for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                    yield waiting.pop(future), _outcome(future)
        finally:
            for process in list((getattr(pool, "_processes", None) or {}).values()):
                process.terminate()
            pool.shutdown(wait=True, cancel_futures=True)


def _outcome(future: Future[Outcome]) -> Outcome:
    error = future.exception()
    return future.result() if error is None else Outcome("failed", f"the process ended: {error}")


def _ignore_interrupts() -> None:
    """Ctrl-C reaches every process of a terminal; only the first one is to act on it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


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
