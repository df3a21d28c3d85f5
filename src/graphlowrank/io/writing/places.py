"""Files and folders that appear under their names only when they are complete."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..._files import naming, target_of, temporary_beside
from ..reading.zarr_store import is_zarr


@contextmanager
def placing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary name to write to, a file or a folder; it gets its own name if all goes well, or is removed."""
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
    """Put a file or folder in the place of another."""
    if not target.is_dir():
        temporary.replace(target)
        return
    # A folder with something in it cannot be replaced in one step; the older one is there until the new one is.
    old = temporary_beside(target)
    target.replace(old)
    try:
        temporary.replace(target)
    except BaseException:
        old.replace(target)
        raise
    remove(old)


def remove(path: Path) -> None:
    """Remove a file or folder, if it is there."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
