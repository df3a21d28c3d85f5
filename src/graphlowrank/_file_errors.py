"""Errors about files that cannot be used: one sentence that names the file and the remedy."""

import errno
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


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
