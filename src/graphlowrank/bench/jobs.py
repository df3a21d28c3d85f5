"""What a job is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .cells import Cell
from .record import Record
from .tables import Table

GIVEN = ("seeds", "threads", "timeout", "repeats")
PREPARE = "(data)"  # the cell that stores the data for all others


@dataclass(frozen=True)
class Options:
    """What the user may choose.

    Attributes
    ----------
    quick
        Tiny data, to see whether everything runs.
    seeds
        Runs to average errors over, for systems that take less than half a minute; times are of the first.
    threads
        Threads of every system; None for every core.
    timeout
        Seconds that one cell may take.
    repeats
        Runs of each cell; the quickest is told, since whatever else runs on a machine only adds.
    """

    quick: bool = False
    seeds: int = 1
    threads: int | None = None
    timeout: float = 3600.0
    repeats: int = 1

    def command(self, job: str) -> str:
        """Command that repeats a job with these options."""
        given = [f"--{name} {getattr(self, name):g}" for name in GIVEN if self._differs(name)]
        return " ".join(["graphlowrank bench", job, *(["--quick"] if self.quick else []), *given])

    def file_name(self, job: str) -> str:
        """Name of a job's results: those of a quick run never take the place of a full one's."""
        return f"{job}-quick.json" if self.quick else f"{job}.json"

    def _differs(self, name: str) -> bool:
        return bool(getattr(self, name) != getattr(type(self), name))


class Job(ABC):
    """Data, and the systems that are to do the same with them."""

    name: str
    title: str

    @abstractmethod
    def systems(self, options: Options) -> tuple[str, ...]:
        """Names of the cells, in the order of the rows."""

    @abstractmethod
    def prepare(self, folder: Path, options: Options, record: Record) -> None:
        """Store in ``folder`` what every system is given; ``record`` says what the data are."""

    @abstractmethod
    def run(self, system: str, folder: Path, options: Options, record: Record) -> None:
        """Run a system on the stored data; ``record`` is told what it cost and gave."""

    @abstractmethod
    def tabulate(self, data: Cell, cells: Sequence[Cell], options: Options) -> tuple[Table, ...]:
        """Make tables of the cells done by now."""

    def warm_up(self, options: Options) -> tuple[str, ...]:
        """Systems of ours to run once unmeasured, so that compiled code is in its cache."""
        return ()

    def skip(self, system: str, options: Options) -> str | None:
        """Reason not to run a system; None to run it."""
        return None

    def environment(self, system: str, folder: Path) -> dict[str, str]:
        """Further environment variables of a system's process."""
        return {}
