"""How a file is refused: one sentence that names it and says what to do."""

from __future__ import annotations

import errno
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn whatever a reader raises on damaged bytes into one sentence that names the file."""
    try:
        yield
    except Exception as error:  # decoders meet damaged bytes with almost any exception
        # The system's own errors: no permission, a failing disk. EINVAL is a seek to a place that cannot be.
        if isinstance(error, OSError) and error.errno not in {None, errno.EINVAL}:
            raise
        reason = next(iter(str(error).splitlines()), "") or type(error).__name__
        fault = "too large or damaged" if isinstance(error, MemoryError) else "damaged"
        raise ValueError(f"{path} is {fault}: {reason.rstrip('.')}.") from error


class RefusalError(ValueError):
    """A complete sentence about a file that cannot be used as it is, damaged or not."""


def refusal(path: Path, what: str) -> RefusalError:
    """Return the error that says ``what`` of the file, to be raised."""
    printable = "".join(letter if letter.isprintable() else "?" for letter in what)  # names come from the file
    return RefusalError(f"{path} {printable}")


@contextmanager
def refusing(path: Path) -> Iterator[None]:
    """Turn whatever a decoder raises on damaged bytes into one ValueError; a :class:`RefusalError` goes on as it is."""
    try:
        with reading(path), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what libraries mutter about damaged files; we check what they return
            yield
    except ValueError as error:
        if isinstance(error.__cause__, RefusalError):
            raise error.__cause__ from None
        raise
