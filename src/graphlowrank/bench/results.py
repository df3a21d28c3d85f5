"""Results of a job on disk: rewritten whole after every cell, so that an interrupt loses one cell at most."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from .._files import write_atomically
from .cells import Cell
from .jobs import PREPARE, Job, Options
from .tables import Table


class Results:
    """What a job has given so far.

    Parameters
    ----------
    job, options
        What is being run.
    machine
        Description of the machine, from :func:`~graphlowrank.bench.machine.describe_machine`.
    folder
        Where to write ``<job>.json``.
    """

    def __init__(self, job: Job, options: Options, machine: dict[str, Any], folder: Path) -> None:
        self.job, self.options, self.machine = job, options, machine
        self.path = folder / options.file_name(job.name)
        self.data = Cell(PREPARE, "not run", "interrupted")
        self.cells: list[Cell] = []

    def add_data(self, cell: Cell) -> None:
        """Take what the preparation of the data gave."""
        self.data = cell
        self._write()

    def add(self, cell: Cell) -> None:
        """Take a finished cell."""
        self.cells.append(cell)
        self._write()

    def tables(self) -> tuple[Table, ...]:
        """Tables of the cells done by now."""
        if not self.data.done:
            return (Table(self.job.title, ("data",), [[self.data.why_not_done]]),)
        return self.job.tabulate(self.data, self.cells, self.options)

    def document(self) -> dict[str, Any]:
        """Everything, as plain values."""
        return {
            "job": self.job.name,
            "title": self.job.title,
            "quick": self.options.quick,
            "command": self.options.command(self.job.name),
            "machine": self.machine,
            "data": self.data.as_dict(),
            "cells": [cell.as_dict() for cell in self.cells],
            "tables": [asdict(table) for table in self.tables()],
        }

    def _write(self) -> None:
        write_atomically(self.path, json.dumps(self.document(), indent=2) + "\n")
