"""How a file is refused: one sentence that names it and says what to do."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..datasets.formats import reading


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
