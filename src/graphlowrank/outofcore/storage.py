"""Rows on disk in fixed blocks."""

import math
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._files import temporary_beside
from .._typing import Array
from ..preprocessing.rows import BlockRows, create_rows, fixed_blocks, write_rows
from .checks import Contents, check_contents, contents_of, float_type
from .extension import reduced_blocks
from .settings import Settings
from .sources import Source
from .tasks import check_workers


@dataclass(frozen=True)
class Writer:
    """Writes checked rows to an .npy file."""

    path: Path

    def write(self, X: Array, start: int) -> Contents:
        """Write rows from number ``start`` on, and count what they hold."""
        write_rows(self.path, start, X)
        return contents_of(X)


def store_rows(source: Source, folder: Path) -> BlockRows:
    """Check the rows and write them to a file in the folder."""
    dtype, shape = float_type(source.array.dtype), source.shape
    check_disk(math.prod(shape) * dtype.itemsize, folder)
    path = folder / "rows.npy"
    create_rows(path, shape, dtype)
    starts = [rows.start for rows in fixed_blocks(shape)]
    found = list(reduced_blocks(source, Writer(path).write, starts))
    return BlockRows(path, shape, dtype, check_contents(found, dtype))


def check_disk(n_bytes: int, folder: Path) -> None:
    """Raise OSError, before hours of work, unless so many bytes are free."""
    free = shutil.disk_usage(folder).free
    if n_bytes > free:
        raise OSError(
            f"the fit needs {n_bytes / 1e9:.1f} GB of temporary files in {folder}, which has {free / 1e9:.1f} GB free; "
            "give another folder: large_data(folder=...)."
        )


@contextmanager
def work_folder(settings: Settings, client: Any) -> Iterator[Path]:
    """Yield a new folder for temporary files that all workers see; it is removed at the end."""
    place = settings.folder or Path(tempfile.gettempdir())
    with temporary_beside(place / "rows") as path:
        check_workers(client, path.parent)
        yield path.parent
