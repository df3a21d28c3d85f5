"""Files that are either whole or not there."""

from __future__ import annotations

import os
import secrets
from pathlib import Path


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
    data = content.encode() if isinstance(content, str) else content
    try:
        target = Path(path).resolve()
        target.parent.mkdir(parents=True, exist_ok=True)
        _write_and_move(target, data)
    except OSError as error:
        raise OSError(error.errno, f"cannot write {os.fspath(path)}: {error.strerror or error}") from error


def _write_and_move(target: Path, data: bytes) -> None:
    # Not mkstemp: its files are private to the user, and a report is to be readable as the umask says.
    temporary = target.parent / f".{secrets.token_hex(8)}.part"
    try:
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)  # os.replace: atomic within a folder
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
