"""What a benchmark job is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..cells import Outcome, Record
from ..tables import Table

SHOWN = ("seeds", "threads", "timeout", "repeats")


@dataclass(frozen=True)
class Options:
    """Options of ``graphlowrank bench``."""

    quick: bool = False  # tiny data, to check that everything runs
    seeds: int = 1  # runs to average errors over, of systems below half a minute; times are of the first run
    threads: int | None = None  # of every system; None for every core
    timeout: float = 3600.0  # seconds that one system may take
    repeats: int = 1  # runs of each system; the fastest is reported, since other processes only add time

    def command(self, job: str) -> str:
        """Command that repeats a job with these options."""
        shown = [name for name in SHOWN if getattr(self, name) != getattr(type(self), name)]
        given = [f"--{name} {getattr(self, name):g}" for name in shown]
        return " ".join(["graphlowrank bench", job, *(["--quick"] if self.quick else []), *given])

    def file_name(self, job: str) -> str:
        """Name of the results file; a quick run does not overwrite a full one."""
        return f"{job}-quick.json" if self.quick else f"{job}.json"


class Job(ABC):
    """A data set, and the systems that are compared on it."""

    name: str
    title: str

    @abstractmethod
    def systems(self, options: Options) -> tuple[str, ...]:
        """Names of the systems, in the order of the rows."""

    @abstractmethod
    def prepare(self, folder: Path, options: Options, record: Record) -> None:
        """Store in ``folder`` the data that every system gets, and describe them in ``record``."""

    @abstractmethod
    def run(self, system: str, folder: Path, options: Options, record: Record) -> None:
        """Run a system on the stored data; its cost and its results go to ``record``."""

    @abstractmethod
    def tabulate(self, data: Outcome, outcomes: Mapping[str, Outcome], options: Options) -> tuple[Table, ...]:
        """Tables of the outcomes, which are given by system."""

    def warm_up(self, options: Options) -> tuple[str, ...]:
        """Systems to run once without measuring, so that compiled code is in its cache."""
        return ()

    def skip(self, system: str, options: Options) -> str | None:
        """Reason not to run a system; None to run it."""
        return None

    def environment(self, system: str, folder: Path) -> dict[str, str]:
        """Further environment variables of a system's process."""
        return {}
