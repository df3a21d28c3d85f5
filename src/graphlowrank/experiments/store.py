"""Finished cells on disk, so that an interrupted run goes on where it was."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path

import numpy as np

from .._files import write_atomically
from .cells import Cell, Outcome


class Store:
    """A folder with one file for each finished cell, ``<key>.json``, and one for its pictures, ``<key>.npz``.

    A file that cannot be read, whatever the reason, is as good as none: the cell is run again.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def get(self, cell: Cell) -> Outcome | None:
        """Return the outcome of a cell, if it is here and whole."""
        path = self.folder / f"{cell.key}.json"
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            pictures = {}
            if found["pictures"]:
                with path.with_suffix(".npz").open("rb") as file, np.load(file, allow_pickle=False) as stored:
                    pictures = {name: stored[name] for name in found["pictures"]}
            return Outcome("done", "", dict(found["values"]), pictures, float(found["seconds"]))
        except Exception:  # damage shows in many ways: zlib, zipfile and json each have their own
            return None

    def put(self, cell: Cell, outcome: Outcome) -> None:
        """Keep a finished cell; its pictures first, so that the file that promises them comes last."""
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
