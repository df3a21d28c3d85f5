"""Outputs that get their names only once they are complete, and errors about inputs that cannot be used."""

import errno
import os
import re
import secrets
import shutil
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


def write_atomically(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Write a file whole or not at all: to a temporary file in the same folder, renamed once it is on disk.

    Missing folders are created, links are followed, text is UTF-8. OSError reads "cannot write <path>: <reason>".
    """
    with writing(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)


@contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file for writing in parts, atomically as :func:`write_atomically`."""
    with placing(path) as temporary, temporary.open("xb") as file:
        yield file


@contextmanager
def placing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary name for a file or folder, which is renamed to ``path`` on success and removed on failure."""
    with naming(path):
        target = target_of(path)
        temporary = temporary_beside(target)
        try:
            yield temporary
            sync(temporary)
            replace(temporary, target)
        except BaseException:
            remove(temporary)
            raise


def sync(path: Path) -> None:
    """Wait until a file is on disk: its name must not appear before its content. Folders are not waited for."""
    if path.is_file():
        with path.open("r+b") as file:
            os.fsync(file.fileno())


def replace(temporary: Path, target: Path) -> None:
    """Rename a file or folder; an older one of that name is replaced."""
    if not (temporary.is_dir() and target.is_dir()):
        temporary.replace(target)  # os.replace: atomic within a folder
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


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise OSError if :func:`write_atomically` cannot write ``path``: before hours of work, not after."""
    with naming(path):
        probe = temporary_beside(target_of(path))
        probe.touch(exist_ok=False)
        probe.unlink()


@contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Name the file in errors of the operating system."""
    try:
        yield
    except OSError as error:
        if error.errno is None:  # not of the operating system: raised by the content
            raise
        raise OSError(error.errno, f"cannot write {os.fspath(path)}: {error.strerror or error}") from error


def target_of(path: str | os.PathLike[str]) -> Path:
    """Return the path with links resolved; missing folders are created."""
    target = Path(path).resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    return target


def temporary_beside(target: Path) -> Path:
    """Return a temporary name in the same folder."""
    # Not mkstemp, whose files only the user can read: permissions follow the umask.
    return target.parent / f".{secrets.token_hex(8)}.part"


class InvalidFileError(ValueError):
    """A file is damaged or holds something else than expected; the message names it."""


def invalid_file(path: Path, reason: str) -> InvalidFileError:
    """Return the error "<path> <reason>"; names from the file are made printable."""
    printable = "".join(letter if letter.isprintable() else "?" for letter in reason)
    return InvalidFileError(f"{path} {printable}")


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Convert any exception of a decoder into an :class:`InvalidFileError` that says the file is damaged.

    Decoders raise almost any exception on damaged bytes. Three kinds pass unchanged: an :class:`InvalidFileError`, the
    ImportError of a missing package, and errors of the operating system, such as missing permissions. Warnings are
    ignored: what libraries return is checked.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except (InvalidFileError, ImportError):
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno not in {None, errno.EINVAL}:  # EINVAL: seek to a bad offset
            raise
        reason = next(iter(str(error).splitlines()), "") or type(error).__name__
        state = "too large or damaged" if isinstance(error, MemoryError) else "damaged"
        raise InvalidFileError(f"{path} is {state}: {reason.rstrip('.')}.") from error


def natural_order(path: Path) -> tuple[list[tuple[int, str]], str]:
    """Sort key of file names in which runs of digits count as numbers."""
    parts = re.split(r"([0-9]+)", path.name.lower())
    return [(int(part), "") if part.isdecimal() and part.isascii() else (-1, part) for part in parts], path.name
