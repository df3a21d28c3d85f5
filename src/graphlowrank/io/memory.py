"""How much memory a file may take."""

import ctypes
import os
import sys
from contextlib import suppress
from pathlib import Path

from .._files import invalid_file

SHARE = 0.9  # of the free memory
MAX_EXPANSION = 2**16  # bytes of values for a byte of a file: compression of almost constant columns stays below
ALWAYS_ALLOWED = 2**26  # bytes, whatever the size of the file
UNKNOWN = 2**33  # bytes, where the system does not report them


def allowed_bytes() -> int:
    """Return how many bytes one file may take: most of the free memory."""
    return int(SHARE * _free_bytes())


def check_room(n_bytes: int, path: Path) -> None:
    """Raise ValueError if the values of a file do not fit into memory, or cannot come from a file of its size.

    Called before any is allocated: a few bytes can claim any number of rows.
    """
    allowed = allowed_bytes()
    if n_bytes > allowed:
        raise invalid_file(
            path,
            f"claims {_in_words(n_bytes)} of values, more than the {_in_words(allowed)} that fit into memory; "
            "it is damaged, or needs to be split or saved as an .npy file, which is not loaded whole.",
        )

    if n_bytes > ALWAYS_ALLOWED and n_bytes > MAX_EXPANSION * (size := _size(path)):
        raise invalid_file(
            path, f"claims {_in_words(n_bytes)} of values in {_in_words(size)}; it is damaged, or empty."
        )


def _size(path: Path) -> int:
    return sum(part.stat().st_size for part in ([path, *path.rglob("*")] if path.is_dir() else [path]))


def _in_words(n_bytes: int) -> str:
    return f"{n_bytes / 2**30:.1f} GiB" if n_bytes >= 2**27 else f"{n_bytes} bytes"


def _free_bytes() -> int:
    if sys.platform == "win32":
        return _free_on_windows()
    with suppress(OSError, ValueError, KeyError):
        fields = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
        return min(1024 * int(fields["MemAvailable"].split()[0]), _free_in_container())
    with suppress(OSError, ValueError):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2  # macOS does not report free memory
    return UNKNOWN


def _free_in_container() -> int:
    """Return the bytes below the limit of this process's control group; without a limit, the largest integer."""
    with suppress(OSError, ValueError, KeyError):
        group = Path("/sys/fs/cgroup")
        limit, used = (int((group / name).read_text()) for name in ("memory.max", "memory.current"))
        usage = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
        return max(0, limit - used + int(usage["file"]))  # the page cache is freed when memory is needed
    return sys.maxsize


def _free_on_windows() -> int:
    # MEMORYSTATUSEX: two 32-bit numbers (its length, the load), then seven 64-bit ones (total, free, ...).
    status = (ctypes.c_ulonglong * 8)()
    ctypes.cast(status, ctypes.POINTER(ctypes.c_ulong))[0] = ctypes.sizeof(status)
    kernel = getattr(ctypes, "windll").kernel32  # noqa: B009 (the attribute is missing elsewhere)
    return int(status[2]) if kernel.GlobalMemoryStatusEx(ctypes.byref(status)) else UNKNOWN
