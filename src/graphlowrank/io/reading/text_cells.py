"""What a cell of a text file is: a number, missing, or text; and its lines."""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO

from ..._reading import refusal

MAX_LINE = 2**26  # characters
MISSING = ("", "NA", "NaN", "nan")


def is_number(cell: str) -> bool:
    """Whether a cell is a number as everyone writes them; Python would also take 1_000 and digits of any script."""
    if "_" in cell or not cell.isascii():
        return False
    try:
        float(cell)
    except ValueError:
        return False
    return True


def is_text(cell: str) -> bool:
    """Whether a cell is neither a number nor missing."""
    return not is_number(cell) and cell.strip() not in MISSING


def open_bytes(path: Path) -> IO[bytes]:
    """Bytes of a file, unpacked if its name says that it is gzipped."""
    return gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb")  # type: ignore[return-value]


def lines(file: IO[bytes], path: Path) -> Iterator[str]:
    """Lines of a text file, with their ends; refused if one is absurdly long, which a few packed bytes can make."""
    text = io.TextIOWrapper(file, "utf-8", newline="")
    try:
        while line := text.readline(MAX_LINE):
            if len(line) >= MAX_LINE:
                raise refusal(path, f"has a line of more than {MAX_LINE} characters; it is no table, or damaged.")
            yield line
    finally:
        with suppress(ValueError):  # closed already
            text.detach()  # or it would close the file, which is the caller's
