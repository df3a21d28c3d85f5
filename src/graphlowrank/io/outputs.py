"""Outputs, files or folders, that get their names only once they are complete."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .._files import naming, target_of, temporary_beside

ZARR_FILES = ("zarr.json", ".zarray", ".zgroup")


def is_zarr(folder: Path) -> bool:
    """Whether a folder is a zarr array or group."""
    return any((folder / name).is_file() for name in ZARR_FILES)


@contextmanager
def placing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary name for a file or folder, which is renamed to ``path`` on success and removed on failure."""
    with naming(path):
        target = target_of(path)
        if target.is_dir() and any(target.iterdir()) and not is_zarr(target):
            raise FileExistsError(f"{os.fspath(path)} is a folder of other files, which are not replaced.")
        temporary = temporary_beside(target)
        try:
            yield temporary
            if temporary.is_file():
                with temporary.open("r+b") as file:
                    os.fsync(file.fileno())
            replace(temporary, target)
        except BaseException:
            remove(temporary)
            raise


def replace(temporary: Path, target: Path) -> None:
    """Rename a file or folder; an older one of that name is replaced."""
    if not target.is_dir():
        temporary.replace(target)
        return
    # A folder that is not empty cannot be replaced in one step: the older one is kept until the new one is there.
    old = temporary_beside(target)
    target.replace(old)
    try:
        temporary.replace(target)
    except BaseException:
        old.replace(target)
        raise
    remove(old)


def remove(path: Path) -> None:
    """Remove a file or folder, if it exists."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
