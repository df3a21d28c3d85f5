"""Memory, folder and method for data that do not fit in memory."""

import ctypes
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from .._checks import is_count
from ..options import check_choice

Method = Literal["auto", "whole", "out_of_core", "two_level"]

DEFAULT_SHARE = 0.5  # of the memory of the machine
UNKNOWN = 2**33  # bytes, where the system does not report them
UNITS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}


@dataclass(frozen=True)
class Settings:
    """What :func:`large_data` sets."""

    memory: int  # bytes of this process
    folder: Path | None = None
    method: Method = "auto"


_settings: ContextVar[Settings | None] = ContextVar("graphlowrank_large_data", default=None)


@contextmanager
def large_data(
    *, memory: int | str | None = None, folder: str | os.PathLike[str] | None = None, method: Method = "auto"
) -> Iterator[None]:
    """Set how data that do not fit in memory are fitted inside a ``with`` block.

    Parameters
    ----------
    memory : int, str or None, default=None
        Bytes that this process may use, also as "4GB" or "512 MiB"; None for half of the machine's memory. Workers of
        a dask cluster have limits of their own.
    folder : path or None, default=None
        Folder for temporary files, which the workers of a cluster must see, too; None for that of the system. An
        out-of-core fit needs two to three times the size of the data there, and removes what it wrote.
    method : {"auto", "whole", "out_of_core", "two_level"}, default="auto"
        "whole" loads the data; "out_of_core" keeps them on disk, and graph and labels of all samples in memory;
        "two_level" fits some of the samples and extends the answer to all. "auto" takes the first that fits.

    Examples
    --------
    >>> with large_data(memory="4GB"):
    ...     pass  # model.fit(X)
    """
    check_choice(method, "method", ("auto", "whole", "out_of_core", "two_level"))
    given = None if folder is None else Path(folder)
    if given is not None and not given.is_dir():
        raise NotADirectoryError(f"folder={os.fspath(given)!r} is not a folder.")
    token = _settings.set(Settings(default_memory() if memory is None else parse_bytes(memory), given, method))
    try:
        yield
    finally:
        _settings.reset(token)


def current_settings() -> Settings:
    """Return the settings of the current ``with`` block, or the default ones."""
    return _settings.get() or Settings(default_memory())


def parse_bytes(text: int | str) -> int:
    """Return the bytes that a text like "4GB" or "512 MiB" stands for.

    Examples
    --------
    >>> parse_bytes("1.5 GB"), parse_bytes("2MiB")
    (1500000000, 2097152)
    """
    if not isinstance(text, str):
        if is_count(text):
            return int(text)
        raise ValueError(f"memory must be a positive number of bytes, or a text like '4GB'; got {text!r}.")
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kKMGT]?i?)B?\s*", text)
    unit = found[2].replace("K", "k") if found else "?"
    unit = "Ki" if unit == "ki" else unit
    if found is None or unit not in UNITS or float(found[1]) * UNITS[unit] < 1:
        raise ValueError(f"memory={text!r} is not understood: write a number and a unit, like '4GB' or '512MiB'.")
    return int(float(found[1]) * UNITS[unit])


def default_memory() -> int:
    """Return half of the memory of the machine, or of its container: the same number at any time."""
    return int(DEFAULT_SHARE * total_memory())


def total_memory() -> int:
    """Return the bytes of memory of the machine, or of its container."""
    if sys.platform == "win32":
        # MEMORYSTATUSEX: two 32-bit numbers (its length, the load), then seven 64-bit ones (total, free, ...).
        status = (ctypes.c_ulonglong * 8)()
        ctypes.cast(status, ctypes.POINTER(ctypes.c_ulong))[0] = ctypes.sizeof(status)
        kernel = getattr(ctypes, "windll").kernel32  # noqa: B009 (the attribute is missing elsewhere)
        return int(status[1]) if kernel.GlobalMemoryStatusEx(ctypes.byref(status)) else UNKNOWN
    total = UNKNOWN
    with suppress(OSError, ValueError):
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    with suppress(OSError, ValueError):  # a container without a limit has "max"
        total = min(total, int(Path("/sys/fs/cgroup/memory.max").read_text()))
    return total
