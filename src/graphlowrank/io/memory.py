"""How much memory a file may ask for."""

from __future__ import annotations

import ctypes
import os
import sys
from contextlib import suppress
from pathlib import Path

from .._reading import refusal

SHARE = 0.9  # of what is free
UNKNOWN = 2**33  # where the system does not say
DEFLATE_RATIO = 1032  # bytes that one byte of a deflated stream can become, at most
_MEMINFO = Path("/proc/meminfo")
_CGROUP = Path("/sys/fs/cgroup")


def allowed_bytes() -> int:
    """Bytes that one file may take: most of the memory that is free."""
    return int(SHARE * _free_bytes())


def check_room(n_bytes: int, path: Path, what: str = "values") -> None:
    """Raise ValueError if what a file claims to hold does not fit into memory; called before any is taken."""
    allowed = allowed_bytes()
    if n_bytes > allowed:
        raise refusal(
            path,
            f"claims {_in_words(n_bytes)} of {what}, more than the {_in_words(allowed)} that fit into memory; "
            "it is damaged, or needs to be cut into parts or saved as an .npy file, which is not loaded whole.",
        )


def _in_words(n_bytes: int) -> str:
    return f"{n_bytes / 2**30:.1f} GiB" if n_bytes >= 2**27 else f"{n_bytes} bytes"


def _free_bytes() -> int:
    if sys.platform == "win32":
        return _free_on_windows()
    with suppress(OSError, ValueError, KeyError):
        fields = dict(line.split(":", 1) for line in _MEMINFO.read_text().splitlines())
        return min(1024 * int(fields["MemAvailable"].split()[0]), _free_in_container())
    with suppress(OSError, ValueError):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2  # macOS does not say what is free
    return UNKNOWN


def _free_in_container() -> int:
    """Bytes left below the limit of this process's group; without a limit, no fewer than any machine has."""
    with suppress(OSError, ValueError, KeyError):
        limit, used = (int((_CGROUP / name).read_text()) for name in ("memory.max", "memory.current"))
        kept = dict(line.split() for line in (_CGROUP / "memory.stat").read_text().splitlines())
        return max(0, limit - used + int(kept["file"]))  # copies of files are given up when memory is needed
    return sys.maxsize


class _MemoryStatus(ctypes.Structure):
    """MEMORYSTATUSEX of the Windows API."""

    _fields_ = (
        ("length", ctypes.c_ulong),
        ("load", ctypes.c_ulong),
        *[(name, ctypes.c_ulonglong) for name in ("total", "free", "c", "d", "e", "f", "g")],
    )


def _free_on_windows() -> int:
    status = _MemoryStatus(length=ctypes.sizeof(_MemoryStatus))
    kernel = getattr(ctypes, "windll").kernel32  # noqa: B009 (the attribute is missing elsewhere)
    return int(status.free) if kernel.GlobalMemoryStatusEx(ctypes.byref(status)) else UNKNOWN
