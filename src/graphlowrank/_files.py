"""Outputs that get their names only once they are complete, and errors about inputs that cannot be used."""

import errno
import os
import platform
import re
import secrets
import shutil
import socket
import stat
import tempfile
import time
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

HOST = f"{zlib.crc32(platform.node().encode()):08x}"
ZARR_FILES = ("zarr.json", ".zarray", ".zgroup")  # one of which every folder of zarr has
GRACE = 60.0  # seconds during which a temporary folder without a lock may just have been made
_ACCESS_LIST = "system.posix_acl_access"


def write_atomically(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Write a file whole or not at all: to a temporary file in the same folder, renamed once it is on disk.

    Missing folders are created, links are followed, text is UTF-8. A file that is replaced keeps its owner and mode;
    devices, pipes and sockets are written to, not replaced. OSError reads "cannot write <path>: <reason>".
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
        with temporary_beside(target) as temporary:
            yield temporary
            sync(temporary)
            replace(temporary, target)


def sync(path: Path) -> None:
    """Wait until a file is on disk: its name must not appear before its content. Folders are not waited for."""
    if path.is_file():
        with path.open("r+b") as file:
            os.fsync(file.fileno())


def replace(temporary: Path, target: Path) -> None:
    """Rename a file or folder. An older one of that name is replaced; a device, pipe or socket is written to."""
    if is_special(target):
        with temporary.open("rb") as file, _open_special(target) as out:
            shutil.copyfileobj(file, out)
        return
    if target.exists():
        _keep_permissions(target, temporary)
    if not (temporary.is_dir() and target.is_dir()):
        temporary.replace(target)  # os.replace: atomic within a file system
        return
    # A folder that is not empty cannot be replaced in one step: the older one is kept until the new one is there.
    old = target.parent / f".{secrets.token_hex(8)}.old"  # never swept
    target.replace(old)
    try:
        temporary.replace(target)
    except BaseException:
        old.replace(target)
        raise
    remove(old)


def _keep_permissions(old: Path, new: Path) -> None:
    """Give a file or folder the owner, the access list and the mode of the one that it replaces."""
    about = old.stat()
    if hasattr(os, "chown"):  # not on Windows
        for owner in (about.st_uid, -1):  # only root may give a file away; a group can be kept by its members
            with suppress(OSError):
                os.chown(new, owner, about.st_gid)
                break
    if hasattr(os, "setxattr"):  # otherwise the mode would grant to the group what the list grants to one user
        with suppress(OSError):
            os.setxattr(new, _ACCESS_LIST, os.getxattr(old, _ACCESS_LIST))
    new.chmod(stat.S_IMODE(about.st_mode))


def is_special(path: Path) -> bool:
    """Whether a path is a device, a pipe or a socket."""
    return path.exists() and not path.is_file() and not path.is_dir()


def _open_special(path: Path) -> BinaryIO:
    if not path.is_socket():
        return path.open("wb")
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(path))
        return connection.makefile("wb")


def remove(path: Path) -> None:
    """Remove a file or folder, if it exists."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise OSError if :func:`write_atomically` cannot write ``path``: before hours of work, not after."""
    with naming(path):
        target = target_of(path)
        with temporary_beside(target) as probe:
            probe.touch()
        if is_special(target) and not os.access(target, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def is_folder_with(path: Path, names: tuple[str, ...]) -> bool:
    """Whether a path is a folder with a file of one of these names."""
    return any((path / name).is_file() for name in names)


def check_replaceable(path: Path, names: tuple[str, ...]) -> None:
    """Raise FileExistsError if a path is a folder of other files, with none of these names."""
    if path.is_dir() and any(path.iterdir()) and not is_folder_with(path, names):
        raise FileExistsError(f"{path} is a folder of other files, which are not replaced.")


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
    if is_special(Path(path)):
        return Path(path).absolute()  # /dev/stdout is a link to a pipe, which has no other name
    target = Path(path).resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    return target


# --- temporary folders ---


@contextmanager
def temporary_beside(target: Path) -> Iterator[Path]:
    """Yield the same name in a new folder beside ``target``; whatever is left of the folder at the end is removed.

    Nobody else can look into the folder: what will replace a private file is private from the start. Files in it follow
    the umask.
    """
    beside = Path(tempfile.gettempdir()) if is_special(target) else target.parent
    sweep(beside)
    folder = beside / f".{HOST}-{secrets.token_hex(8)}.part"
    lock = None
    try:  # Ctrl-C may come as soon as the folder exists
        folder.mkdir(0o700)
        lock = _lock(folder)
        yield folder / target.name
    finally:
        try:
            remove(folder)
        except KeyboardInterrupt:
            remove(folder)
            raise
        if lock is not None:
            os.close(lock)


def sweep(place: Path) -> None:
    """Remove the temporary folders of processes that were killed before they could.

    A process holds a lock on its folder, which the system releases however the process ends: a folder that can be
    locked belongs to nobody. Only folders of this host are tried (another may not see our locks), only those of this
    user, and only if they are older than ``GRACE``.
    """
    if fcntl is None:
        return
    for folder in place.glob(f".{HOST}-*.part"):
        with suppress(OSError):
            about = folder.lstat()
            is_ours = stat.S_ISDIR(about.st_mode) and about.st_uid == os.getuid()
            if is_ours and time.time() - about.st_mtime > GRACE and (lock := _lock(folder)) is not None:
                remove(folder)
                os.close(lock)


@contextmanager
def hold(folder: Path) -> Iterator[None]:
    """Lock a folder; BlockingIOError if another process has it. The lock ends with the process, however it ends."""
    lock = _lock(folder)
    if lock is None and fcntl is not None:
        raise BlockingIOError(errno.EWOULDBLOCK, f"{folder} is in use by another process")
    try:
        yield
    finally:
        if lock is not None:
            os.close(lock)


def _lock(folder: Path) -> int | None:
    """Lock a folder until the returned descriptor is closed; None if another process has it, or locks are missing."""
    if fcntl is None:
        return None
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


# --- inputs ---


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
