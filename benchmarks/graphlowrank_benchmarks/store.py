"""Results on disk: a file for each cell of the paper's tables, a file for each benchmark job."""

from __future__ import annotations

import json
from dataclasses import asdict
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .cells import Cell, Outcome
from .internals import write_atomically
from .tables import Table

if TYPE_CHECKING:
    from .jobs import Job, Options

PREPARE = "(data)"  # the cell that stores the data for all others of a job


class CellStore:
    """A folder with ``<key>.json`` for each finished cell, and ``<key>.npz`` if it has pictures.

    A file that cannot be read, for whatever reason, counts as absent: the cell is run again.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def get(self, cell: Cell) -> Outcome | None:
        """Return the outcome of a cell if it is stored and intact."""
        path = self.folder / f"{cell.key}.json"
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            pictures = {}
            if found["pictures"]:
                with path.with_suffix(".npz").open("rb") as file, np.load(file, allow_pickle=False) as stored:
                    pictures = {name: stored[name] for name in found["pictures"]}
            return Outcome("done", "", dict(found["values"]), pictures, float(found["seconds"]))
        except Exception:  # damaged files raise errors of zlib, zipfile, json and more
            return None

    def put(self, cell: Cell, outcome: Outcome) -> None:
        """Store a finished cell; its pictures first, because the JSON file lists them."""
        path = self.folder / f"{cell.key}.json"
        if outcome.pictures:
            buffer = BytesIO()
            np.savez_compressed(buffer, allow_pickle=False, **outcome.pictures)
            write_atomically(path.with_suffix(".npz"), buffer.getvalue())
        document = {
            "cell": cell.name,
            "content": cell.content,
            "values": outcome.values,
            "pictures": list(outcome.pictures),
            "seconds": outcome.seconds,
        }
        write_atomically(path, json.dumps(document, indent=1) + "\n")


class JobResults:
    """Outcomes of a job so far, in ``<job>.json``, which is rewritten after every cell.

    Parameters
    ----------
    job, options
        What is being run.
    machine
        From :func:`.machine.describe_machine`.
    folder
        Where to write the file.
    """

    def __init__(self, job: Job, options: Options, machine: dict[str, Any], folder: Path) -> None:
        self.job, self.options, self.machine = job, options, machine
        self.path = folder / options.file_name(job.name)
        self.data = Outcome("not run", "interrupted")
        self.outcomes: dict[str, Outcome] = {}  # by system

    def add_data(self, outcome: Outcome) -> None:
        """Add the outcome of preparing the data."""
        self.data = outcome
        self._write()

    def add(self, system: str, outcome: Outcome) -> None:
        """Add the outcome of a system."""
        self.outcomes[system] = outcome
        self._write()

    def tables(self) -> tuple[Table, ...]:
        """Tables of the outcomes so far."""
        if not self.data.done:
            return (Table(self.job.title, ("data",), [[self.data.why_not_done]]),)
        return self.job.tabulate(self.data, self.outcomes, self.options)

    def document(self) -> dict[str, Any]:
        """Everything, as plain values."""
        return {
            "job": self.job.name,
            "title": self.job.title,
            "quick": self.options.quick,
            "command": self.options.command(self.job.name),
            "machine": self.machine,
            "data": {"system": PREPARE, **self.data.as_dict()},
            "cells": [{"system": system, **outcome.as_dict()} for system, outcome in self.outcomes.items()],
            "tables": [asdict(table) for table in self.tables()],
        }

    def _write(self) -> None:
        write_atomically(self.path, json.dumps(self.document(), indent=2) + "\n")


def read_job(path: Path) -> tuple[dict[str, Any], Outcome, dict[str, Outcome]]:
    """Read a file of :class:`JobResults`: the whole document, the outcome of its data, the outcomes by system."""
    document = json.loads(path.read_text(encoding="utf-8"))
    outcomes = {cell["system"]: Outcome.from_dict(cell) for cell in document["cells"]}
    return document, Outcome.from_dict(document["data"]), outcomes
