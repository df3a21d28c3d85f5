"""One cell: a process of its own, timed from outside; whatever befalls it becomes a row."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

Status = Literal["done", "failed", "timed out", "missing", "not run"]

NOT_COUNTED = ("load", "score", "repeat")
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMBA_NUM_THREADS",
    "LOKY_MAX_CPU_COUNT",
)
# Results are to be shared: what an error says of places on this machine is cut to the last name.
FOLDERS = re.compile(r"(?<![\w.~-])(?:[A-Za-z]:)?[\\/](?:[^\\/\s'\":;,]+[\\/])*(?=[^\\/\s'\":;,])")


@dataclass(frozen=True)
class Cell:
    """What came of one system in one job.

    Attributes
    ----------
    system
        Name of the row.
    status, reason
        "done", or what happened instead and why.
    wall
        Seconds of the whole process, seen from outside.
    record
        What the process wrote down (:class:`~graphlowrank.bench.record.Record`).
    """

    system: str
    status: Status
    reason: str = ""
    wall: float | None = None
    record: Mapping[str, Any] = field(default_factory=dict)

    @property
    def done(self) -> bool:
        """Whether it finished."""
        return self.status == "done"

    @property
    def why_not_done(self) -> str:
        """What a row says in place of figures."""
        return f"{self.status}: {self.reason}"

    @property
    def start_to_finish(self) -> float | None:
        """Seconds of the process, start and imports included, without loading the data, scoring and repeats."""
        if not self.done or self.wall is None:
            return None
        return self.wall - sum(self.record["seconds"].get(part, 0.0) for part in NOT_COUNTED)

    def seconds(self, part: str) -> float | None:
        """Seconds of a part; None if it has none or did not finish."""
        return self.record["seconds"].get(part) if self.done else None

    def stage(self, name: str) -> float | None:
        """Seconds of a stage."""
        return self.record["stages"].get(name) if self.done else None

    def value(self, name: str) -> Any:
        """Any other value that was written down."""
        return self.record["values"].get(name) if self.done else None

    @property
    def peak(self) -> int | None:
        """Bytes held at most."""
        return self.record.get("peak_bytes") if self.done else None

    def as_dict(self) -> dict[str, Any]:
        """Return the cell as plain values, for JSON."""
        return {**asdict(self), "start_to_finish": self.start_to_finish}


def run_process(
    command: Sequence[str], system: str, *, timeout: float, environment: Mapping[str, str] | None = None
) -> Cell:
    """Run a command whose last line of output is a record, and time it.

    Parameters
    ----------
    command
        Program and arguments.
    system
        Name of the row.
    timeout
        Seconds allowed.
    environment
        Variables beside those of this process.
    """
    begin = time.perf_counter()
    try:
        ended = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=timeout, check=False,
            stdin=subprocess.DEVNULL, env={**os.environ, **(environment or {})},
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return Cell(system, "timed out", f"not done after {timeout:g} s", time.perf_counter() - begin)
    except OSError as error:
        return Cell(system, "failed", without_folders(str(error)))
    wall = time.perf_counter() - begin
    answer = _last_record(ended.stdout)
    if answer is None:
        return Cell(system, "failed", _last_words(ended.returncode, ended.stderr), wall)
    if "failed" in answer:
        status: Status = "missing" if answer.get("missing") else "failed"
        return Cell(system, status, without_folders(answer["failed"]), wall)
    return Cell(system, "done", "", wall, answer)


def thread_environment(threads: int | None) -> dict[str, str]:
    """Environment that holds the usual libraries to a number of threads."""
    return {} if threads is None else dict.fromkeys(THREAD_VARIABLES, str(threads))


def without_folders(text: str) -> str:
    """Cut every path in a message to its last name, and the message to one line.

    Examples
    --------
    >>> without_folders("usps/usps_9298.mat is not in /home/ann/data; put it there")
    'usps/usps_9298.mat is not in data; put it there'
    """
    return FOLDERS.sub("", " ".join(text.replace(str(Path.home()), "~").split()))


def _last_record(output: str) -> dict[str, Any] | None:
    lines = output.strip().splitlines()
    try:
        found = json.loads(lines[-1]) if lines else None
    except json.JSONDecodeError:
        return None
    return found if isinstance(found, dict) else None


def _last_words(returncode: int, errors: str) -> str:
    """Why a process ended without a record."""
    said = [line for line in errors.strip().splitlines() if line.strip()]
    how = f"killed by signal {-returncode}" if returncode < 0 else f"ended with code {returncode}"
    return without_folders(f"{how}: {said[-1]}" if said else how)
