"""Several outputs of one command: all of them appear, or none."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import combinations
from pathlib import Path

from .._files import check_writable, target_of, temporary_beside
from ..io.outputs import is_zarr, remove, replace
from .shell import ending_in_order


def check_apart(source: Path, written: Mapping[str, Path], *, may_be_source: Iterable[str] = ()) -> None:
    """Raise if an output would be written over the input, into it, or over another; by the names of their options."""
    places = {name: path.resolve() for name, path in written.items()}
    origin = source.resolve()
    for name, place in places.items():
        if place == origin and name not in may_be_source:
            raise ValueError(f"--{name} is the input itself: choose another place.")
        if origin in place.parents:
            raise ValueError(f"--{name} is inside the input: choose another place.")
    for (one, its), (other, others) in combinations(places.items(), 2):
        if its == others or its in others.parents or others in its.parents:
            raise ValueError(f"--{one} and --{other} are the same place, or one is inside the other: choose another.")


@contextmanager
def all_or_none(paths: Iterable[Path]) -> Iterator[dict[Path, Path]]:
    """Yield a temporary place for each output, of the same name; at the end all are moved, or, on failure, removed.

    When told to end (SIGTERM, or the terminal goes) things are cleared away as after Ctrl-C; the moving itself, which
    takes no time, is not interrupted.
    """
    folders: dict[Path, Path] = {}
    with ending_in_order() as hold_on:
        try:
            for path in paths:
                _check_replaceable(path)
                check_writable(path)
                folder = temporary_beside(target_of(path))
                folder.mkdir()
                folders[path] = folder
            places = {path: folder / path.name for path, folder in folders.items()}
            with _by_their_names(places):
                yield places
                for place in filter(Path.is_file, places.values()):
                    _to_disk(place)
                hold_on()
                for path, place in places.items():
                    replace(place, target_of(path))
        finally:
            for folder in folders.values():
                remove(folder)


@contextmanager
def _by_their_names(places: dict[Path, Path]) -> Iterator[None]:
    """Say in errors the names that were asked for, not the temporary ones."""
    try:
        yield
    except (OSError, ValueError) as error:
        said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        asked = said
        for path, place in places.items():
            asked = asked.replace(str(place), str(path))
        if asked == said:
            raise
        raise (OSError(error.errno, asked) if isinstance(error, OSError) else ValueError(asked)) from error


def _check_replaceable(path: Path) -> None:
    if path.is_dir() and not (path.suffix.lower() == ".zarr" and (is_zarr(path) or not any(path.iterdir()))):
        raise FileExistsError(f"{path} is a folder of other things, which is not replaced.")


def _to_disk(path: Path) -> None:
    """Wait until a file is on the disk: a name must not appear before its content."""
    with path.open("r+b") as file:
        os.fsync(file.fileno())
