"""Run cells: each in a fresh process that is timed from outside, or several at a time in a pool of processes."""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import time
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from threading import Thread
from typing import Any

from .cells import Cell, Outcome, Record, Status
from .internals import available_cores, limit_threads
from .store import CellStore

Run = Callable[[Mapping[str, Any]], Record]
Measure = Callable[..., Outcome]  # (content, threads)
Done = Callable[[Cell, Outcome], None]
Group = Sequence[Cell]  # cells of equal content

THREAD_VARIABLES = (
    "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "NUMBA_NUM_THREADS",
    "LOKY_MAX_CPU_COUNT",
)  # fmt: skip
# Results are published: paths in error messages are reduced to the file name.
FOLDERS = re.compile(r"(?<![\w.~-])(?:[A-Za-z]:)?[\\/](?:[^\\/\s'\":;,]+[\\/])*(?=[^\\/\s'\":;,])")


def measure(content: Mapping[str, Any], threads: int | None = None, *, run: Run | None = None) -> Outcome:
    """Measure one cell in this process. Exceptions become outcomes, so that they end up in the table.

    Parameters
    ----------
    content
        Content of the cell.
    threads
        Number of threads; None for every core.
    run
        Function that measures it; None looks it up by ``content["kind"]``.
    """
    begin = time.perf_counter()

    def ended(status: Status, reason: str) -> Outcome:
        return Outcome(status, without_folders(reason), seconds=time.perf_counter() - begin)

    try:
        with warnings.catch_warnings(), limit_threads(threads):
            warnings.simplefilter("ignore")  # convergence is recorded where it is known
            record = (run or find_run(content["kind"]))(content)
            record.note_peak()
            return Outcome.of(record.as_dict(), time.perf_counter() - begin, record.pictures)
    except ImportError as error:
        return ended("missing", f"needs {error.name or error}")
    except FileNotFoundError as error:  # a data set
        return ended("missing", str(error))
    except Exception as error:
        return ended("failed", f"{type(error).__name__}: {error}")


def find_run(kind: str) -> Run:
    """Function that measures cells of a kind. Imported late: a benchmark must not pay for imports of others."""
    if kind == "bench":
        from .jobs import run_content

        return run_content
    from .paper.kinds import KINDS

    return KINDS[kind].run


def thread_environment(threads: int | None) -> dict[str, str]:
    """Environment variables that limit the usual libraries to a number of threads."""
    return {} if threads is None else dict.fromkeys(THREAD_VARIABLES, str(threads))


def without_folders(text: str) -> str:
    """Reduce every path in a message to its file name, and the message to one line.

    Examples
    --------
    >>> without_folders("usps/usps_9298.mat is not in /home/ann/data; put it there")
    'usps/usps_9298.mat is not in data; put it there'
    """
    return FOLDERS.sub("", " ".join(text.replace(str(Path.home()), "~").split()))


# --- a fresh process for each cell ---


def run_fresh(content: Mapping[str, Any], *, timeout: float, environment: Mapping[str, str] | None = None) -> Outcome:
    """Measure one cell in a fresh process, so that its imports and its peak memory are its own."""
    paths = [str(Path(__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
    command = [sys.executable, "-m", f"{__package__}.worker", json.dumps(content)]
    environment = {"PYTHONPATH": os.pathsep.join(paths), **(environment or {})}
    return run_process(command, timeout=timeout, environment=environment)


def run_process(command: Sequence[str], *, timeout: float, environment: Mapping[str, str] | None = None) -> Outcome:
    """Run a command whose last line of output is an outcome as JSON, and time it.

    Parameters
    ----------
    command
        Program and arguments.
    timeout
        Seconds allowed.
    environment
        Variables in addition to those of this process.
    """
    begin = time.perf_counter()
    try:
        ended = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=timeout, check=False,
            stdin=subprocess.DEVNULL, env={**os.environ, **(environment or {})},
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return Outcome("timed out", f"not done after {timeout:g} s", seconds=time.perf_counter() - begin)
    except OSError as error:
        return Outcome("failed", without_folders(str(error)))
    wall = time.perf_counter() - begin
    answer = _last_line(ended.stdout)
    if answer is None:
        return Outcome("failed", _last_words(ended.returncode, ended.stderr), seconds=wall)
    return Outcome.from_dict({**answer, "wall": wall})


def _last_line(output: str) -> dict[str, Any] | None:
    lines = output.strip().splitlines()
    try:
        found = json.loads(lines[-1]) if lines else None
    except json.JSONDecodeError:
        return None
    return found if isinstance(found, dict) else None


def _last_words(returncode: int, errors: str) -> str:
    """Why a process ended without an answer."""
    lines = [line for line in errors.strip().splitlines() if line.strip()]
    how = f"killed by signal {-returncode}" if returncode < 0 else f"ended with code {returncode}"
    return without_folders(f"{how}: {lines[-1]}" if lines else how)


# --- a pool of processes ---


def run_cells(
    cells: Sequence[Cell],
    store: CellStore,
    *,
    jobs: int = 0,
    done: Done = lambda cell, outcome: None,
    measure: Measure = measure,
) -> None:
    """Measure the cells and store each outcome as it comes; an interrupt loses only the cells that are running.

    Parameters
    ----------
    cells
        Cells to measure. Those of equal content are measured once; timed ones run alone, after the others.
    store
        Where outcomes are kept.
    jobs
        Number of processes, each with its share of the cores; 0 for this process.
    done
        Called with every cell and its outcome.
    measure
        Function that measures a content.
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
        outcomes = chain(_in_processes(beside, jobs, measure), _in_processes(alone, 1, measure))
    for same, outcome in outcomes:
        if outcome.done:
            store.put(same[0], outcome)
        for cell in same:
            done(cell, outcome)


def _in_processes(groups: Sequence[Group], jobs: int, measure: Measure) -> Iterator[tuple[Group, Outcome]]:
    """Outcomes as they come.

    A process that is killed, for lack of memory for instance, breaks the whole pool. The cells that were running are
    run again one by one, and only one that is killed again has failed.
    """
    waiting = deque(groups)
    while waiting:
        suspects = yield from _until_broken(waiting, jobs, measure)
        for suspect in suspects:
            again = yield from _until_broken(deque([suspect]), 1, measure)
            if again:
                yield suspect, Outcome("failed", "its process was killed, for want of memory perhaps")


def _until_broken(
    waiting: deque[Group], jobs: int, measure: Measure
) -> Generator[tuple[Group, Outcome], None, list[Group]]:
    """Outcomes of the groups, taken from ``waiting``; returns those that were running when a process was killed.

    Leaving early, by Ctrl-C or otherwise, stops the processes at once.
    """
    threads = max(1, available_cores() // jobs)
    with _environment(thread_environment(threads)):
        # Fresh processes, not forks: OpenMP threads do not survive a fork.
        spawn = multiprocessing.get_context("spawn")
        pool = ProcessPoolExecutor(jobs, mp_context=spawn, initializer=_leave_interrupts_to_the_parent)
        try:
            running: dict[Future[Outcome], Group] = {}
            while waiting or running:
                while waiting and len(running) < jobs:
                    group = waiting.popleft()
                    try:
                        running[pool.submit(measure, group[0].content, threads)] = group
                    except BrokenProcessPool:
                        return [*running.values(), group]
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    if isinstance(future.exception(), BrokenProcessPool):
                        return list(running.values())
                    yield running.pop(future), future.result()
            return []
        finally:
            for process in list((getattr(pool, "_processes", None) or {}).values()):
                process.terminate()
            pool.shutdown(wait=True, cancel_futures=True)


def _leave_interrupts_to_the_parent() -> None:
    """Ignore Ctrl-C, which reaches every process of a terminal, and end with the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_the_parent, daemon=True).start()


def _end_with_the_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Set variables for processes that are started in the block."""
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
