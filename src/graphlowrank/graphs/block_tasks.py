"""What a computation by tasks on blocks of rows is given, and what it costs."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeVar

import numpy as np

from .._threads import single_threaded_libraries
from .._typing import Array

Item = TypeVar("Item")
Result = TypeVar("Result")


class Rows(Protocol):
    """Data in blocks of consecutive rows, which can be read again and in other processes (pickled)."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""

    @property
    def n_columns(self) -> int:
        """Number of columns."""

    @property
    def dtype(self) -> np.dtype:
        """float32 or float64."""

    @property
    def blocks(self) -> Sequence[slice]:
        """Rows of each block; they cover all rows in order."""

    def read(self, block: int) -> Array:
        """Return the rows ``blocks[block]``."""


class Map(Protocol):
    """Call a task for each item, anywhere; yield the results in the order of the items. As the built-in ``map``."""

    def __call__(self, task: Callable[[Item], Result], items: Sequence[Item], /) -> Iterator[Result]:
        """Run the tasks, which can be pickled."""


@dataclass(frozen=True)
class Cost:
    """What a task, or all tasks of a stage, took."""

    n_tasks: int = 1
    seconds: float = 0.0
    """Sum over the tasks."""
    bytes_read: int = 0
    bytes_written: int = 0

    def __add__(self, other: "Cost") -> "Cost":
        """Sum."""
        return Cost(
            self.n_tasks + other.n_tasks, self.seconds + other.seconds, self.bytes_read + other.bytes_read,
            self.bytes_written + other.bytes_written,
        )  # fmt: skip


@dataclass(frozen=True)
class Stages:
    """Runs the tasks of a stage, which return (result, cost)."""

    map: Map
    report: Callable[[str, Cost], None]

    def run(self, name: str, task: Callable[[Item], tuple[Result, Cost]], items: Sequence[Item]) -> list[Result]:
        """Return the results of the tasks, in the order of the items; report their cost."""
        results, cost = [], Cost(0)
        for result, of_task in self.map(partial(_run_task, task), items):
            results.append(result)
            cost += of_task
        self.report(name, cost)
        return results


def _run_task(task: Callable[[Item], tuple[Result, Cost]], item: Item) -> tuple[Result, Cost]:
    """Run a task with BLAS on one thread: the threads of BLAS would change the rounding."""
    with single_threaded_libraries():
        return task(item)
