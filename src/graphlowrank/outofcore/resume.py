"""Arrays that are written block by block, and continued after the process was stopped.

They grow in a folder beside the output, with a manifest that says what they are: input, options and version. A log has
a line for every block that is complete, with checksums. A run with the same manifest continues after the last line
whose block is as it was written; one with another is refused.
"""

import errno
import json
import os
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .._files import hold, temporary_beside, write_atomically
from .._typing import Array
from .._version import __version__

Plain = None | bool | int | float | str | Sequence["Plain"] | Mapping[str, "Plain"]  # what JSON has

SUFFIX = ".partial"
MANIFEST, LOG, DATA = "manifest.json", "done.jsonl", "data.zarr"
FORMAT = 1
SHOWN = 60  # characters of a value in a message


class ResumeError(ValueError):
    """A partial output that cannot be continued."""


@dataclass(frozen=True)
class Column:
    """An array of the output: (n_rows,), or (n_rows, width)."""

    name: str
    dtype: np.dtype[Any]
    width: int | None = None


@dataclass(eq=False)
class PartialOutput:
    """Arrays in a folder, complete up to a block.

    Attributes
    ----------
    folder
        Where the arrays, the manifest and the log are.
    blocks
        Rows of each block.
    settled
        What the manifest holds besides the description: what the run that began has found out.
    facts
        What was noted of each complete block, in order.
    """

    folder: Path
    blocks: Sequence[slice]
    settled: dict[str, Plain]
    facts: list[dict[str, Plain]] = field(default_factory=list)

    @property
    def data(self) -> Path:
        """The zarr group of the arrays."""
        return self.folder / DATA

    @property
    def rest(self) -> range:
        """Numbers of the blocks that are to be written."""
        return range(len(self.facts), len(self.blocks))

    def add(self, arrays: Mapping[str, Array], facts: dict[str, Plain]) -> None:
        """Write the next block, and note facts about it."""
        number, group = len(self.facts), _open(self.data)
        for name, values in arrays.items():
            group[name][self.blocks[number]] = values
        line = {"block": number, "crc32": {name: _checksum(values) for name, values in arrays.items()}, "facts": facts}
        with (self.folder / LOG).open("a", encoding="utf-8") as log:
            log.write(json.dumps(line) + "\n")
            log.flush()
            os.fsync(log.fileno())
        self.facts.append(facts)

    def recover(self) -> None:
        """Read the log: blocks count up to the first that is not as it was written."""
        path, group, lines = self.folder / LOG, _open(self.data), []
        found = path.read_text(encoding="utf-8", errors="replace").splitlines() if path.exists() else []
        for number, text in enumerate(found[: len(self.blocks)]):
            line = _parse(text)
            if line.get("block") != number or not _is_intact(group, self.blocks[number], line.get("crc32")):
                break
            lines.append(text)
            self.facts.append(line["facts"])
        write_atomically(path, "".join(f"{text}\n" for text in lines))  # without a line that was cut off


def partial_folder(output: Path) -> Path:
    """Return the folder in which an output grows."""
    return output.with_name(output.name + SUFFIX)


@contextmanager
def begun(
    folder: Path,
    description: Mapping[str, Plain],
    settled: Mapping[str, Plain],
    blocks: Sequence[slice],
    columns: Sequence[Column],
    prepare: Callable[[Path], None] = lambda folder: None,
) -> Iterator[PartialOutput]:
    """Create a partial output, which stays whatever happens; nobody else writes to it in the meantime.

    ``prepare`` adds files to its folder, such as the model, before the folder gets its name.
    """
    with temporary_beside(folder) as place:
        place.mkdir()
        create_arrays(place / DATA, blocks, columns)
        prepare(place)
        content = {
            "format": FORMAT, "graphlowrank": __version__, "description": description, "settled": settled,
            "block_rows": [rows.stop - rows.start for rows in blocks],
        }  # fmt: skip
        write_atomically(place / MANIFEST, json.dumps(content, indent=2, ensure_ascii=False))
        with _held(place, folder):
            try:
                place.rename(folder)
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                    raise
                raise ResumeError(f"{folder} was made by another process in the meantime.") from error
            yield PartialOutput(folder, list(blocks), dict(settled))


@contextmanager
def continued(folder: Path, description: Mapping[str, Plain], blocks: Sequence[slice]) -> Iterator[PartialOutput]:
    """Open a partial output of the same description; ResumeError says what differs."""
    with _held(folder, folder):
        content = _read_manifest(folder)
        changed = differences(content["description"], description)
        if content["graphlowrank"] != __version__:
            changed.insert(0, f"graphlowrank was {content['graphlowrank']}, is {__version__}")
        if not changed and content["block_rows"] != [rows.stop - rows.start for rows in blocks]:
            changed = ["blocks have other rows"]
        if changed:
            raise ResumeError(f"{folder} is of a run that differs: {'; '.join(changed)}.")
        partial = PartialOutput(folder, list(blocks), content["settled"])
        try:
            partial.recover()
        except (ValueError, KeyError, TypeError) as error:
            raise ResumeError(f"{folder} is damaged: {error}.") from error
        yield partial


def create_arrays(path: Path, blocks: Sequence[slice], columns: Sequence[Column]) -> None:
    """Create a zarr group of arrays whose chunks are the blocks."""
    import zarr

    group = zarr.open_group(store=str(path), mode="w")
    n_rows, chunk = blocks[-1].stop, blocks[0].stop - blocks[0].start
    for column in columns:
        more = () if column.width is None else (column.width,)
        group.create_array(column.name, shape=(n_rows, *more), chunks=(chunk, *more), dtype=column.dtype)


def differences(old: Mapping[str, Plain], new: Mapping[str, Plain]) -> list[str]:
    """Say what changed from one description to another."""
    names = [*old, *(name for name in new if name not in old)]
    plain = json.loads(json.dumps(dict(new)))  # tuples are lists in a file
    return [
        f"{name} was {_shown(old.get(name))}, is {_shown(plain.get(name))}"
        for name in names
        if old.get(name) != plain.get(name)
    ]


def identity_of(path: Path) -> dict[str, Plain]:
    """Return what changes when a file, or a folder, changes: its place, its bytes, and times of its files."""
    files = sorted(one for one in path.rglob("*") if one.is_file()) if path.is_dir() else [path]
    times, n_bytes = 0, 0
    for one in files:
        about = one.stat()
        n_bytes += about.st_size
        times = zlib.crc32(f"{one.relative_to(path)} {about.st_size} {about.st_mtime_ns}".encode(), times)
    return {"input": str(path.resolve()), "bytes of the input": n_bytes, "files of the input": f"{times:08x}"}


def _read_manifest(folder: Path) -> dict[str, Any]:
    try:
        content = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        known = isinstance(content, dict) and content.get("format") == FORMAT
    except (OSError, ValueError) as error:
        raise ResumeError(f"{folder} has no manifest that can be read.") from error
    if not known or not content.keys() >= {"graphlowrank", "description", "settled", "block_rows"}:
        raise ResumeError(f"{folder} has a manifest of another kind.")
    if not (folder / DATA).is_dir():
        raise ResumeError(f"{folder} has no {DATA}.")
    return content


@contextmanager
def _held(place: Path, folder: Path) -> Iterator[None]:
    try:
        with hold(place):
            yield
    except BlockingIOError as error:
        raise ResumeError(f"{folder} is being written by another process.") from error


def _open(path: Path) -> Any:
    import zarr

    return zarr.open_group(store=str(path), mode="r+")


def _parse(text: str) -> dict[str, Any]:
    """Return a line of the log; an empty one if it was cut off."""
    try:
        line = json.loads(text)
    except ValueError:
        return {}
    return line if isinstance(line, dict) and isinstance(line.get("facts"), dict) else {}


def _is_intact(group: Any, rows: slice, expected: Any) -> bool:
    if not isinstance(expected, dict) or expected.keys() != set(group.array_keys()):
        return False
    try:
        return all(_checksum(np.asarray(group[name][rows])) == crc for name, crc in expected.items())
    except Exception:  # codecs raise almost any on a chunk that was cut off
        return False


def _checksum(values: Array) -> int:
    return zlib.crc32(np.ascontiguousarray(values).data)


def _shown(value: Plain) -> str:
    text = "not given" if value is None else str(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
