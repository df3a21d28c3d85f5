"""Files that are either whole or not there."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


def write_atomically(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Write a file so that no reader ever sees half of it.

    The content goes to a temporary name in the same folder and is moved into place once it is on the disk.
    If anything stops the writing, Ctrl-C included, the temporary is removed and an older file of that name
    stays as it was.

    Parameters
    ----------
    path
        File to write; missing folders are made, a link is followed.
    content
        Text is written as UTF-8.

    Raises
    ------
    OSError
        "cannot write <path>: <reason>", with the system's error number.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "new", "page.html")
    ...     write_atomically(path, "<p>hello</p>")
    ...     path.read_text()
    '<p>hello</p>'
    """
    with writing(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)


@contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file for what comes bit by bit, as :func:`write_atomically` does: it is whole or not there."""
    with naming(path):
        target = target_of(path)
        temporary = temporary_beside(target)
        try:
            with temporary.open("xb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(target)  # os.replace: atomic within a folder
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise OSError now if :func:`write_atomically` could not write ``path`` later: before hours of work, not after."""
    with naming(path):
        probe = temporary_beside(target_of(path))
        probe.touch(exist_ok=False)
        probe.unlink()


@contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Say in an error of the system which file was meant."""
    try:
        yield
    except OSError as error:
        if error.errno is None:  # not of the system: what was to be written could not be had
            raise
        raise OSError(error.errno, f"cannot write {os.fspath(path)}: {error.strerror or error}") from error


def target_of(path: str | os.PathLike[str]) -> Path:
    """Where a file will be, links followed; missing folders are made."""
    target = Path(path).resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    return target


def temporary_beside(target: Path) -> Path:
    """Name in the same folder, for what is not complete yet."""
    # Not mkstemp: its files are private to the user, and a report is to be readable as the umask says.
    return target.parent / f".{secrets.token_hex(8)}.part"
