"""How much memory this process holds, and has held at most."""

from __future__ import annotations

import logging
import re
import sys
from pathlib import Path

STATUS = Path("/proc/self/status")  # Linux
CLEAR = Path("/proc/self/clear_refs")
STAGE_DONE = re.compile(r"^(.+): [\d.]+ s$")  # how graphlowrank._progress reports the end of a stage


def peak_memory() -> int | None:
    """Bytes that the process held at most; None where the system does not say (Windows).

    On Linux ``ru_maxrss`` starts at what the parent held when it started us, so the kernel's own mark is preferred.
    """
    if (found := _status("VmHWM")) is not None:
        return found
    try:
        import resource
    except ImportError:
        return None
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def current_memory() -> int | None:
    """Bytes held now; the most so far where only that is known."""
    found = _status("VmRSS")
    return peak_memory() if found is None else found


def forget_peak() -> bool:
    """Start the mark of :func:`peak_memory` anew; False where that cannot be done."""
    try:
        CLEAR.write_text("5")
    except OSError:
        return False
    return True


def _status(name: str) -> int | None:
    try:
        found = re.search(rf"^{name}:\s+(\d+) kB", STATUS.read_text(), flags=re.MULTILINE)
    except OSError:
        return None
    return int(found[1]) * 1024 if found else None


class StagePeaks(logging.Handler):
    """Notes the peak memory of each stage of a fit as its end is logged (``verbose=1``).

    Where the mark cannot be started anew (not Linux), a stage's figure is the most up to its end.
    """

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.peaks: dict[str, int] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Take the mark if a stage has ended."""
        done, peak = STAGE_DONE.match(record.getMessage()), peak_memory()
        if done and peak is not None:
            self.peaks[done[1]] = max(peak, self.peaks.get(done[1], 0))
            forget_peak()

    def __enter__(self) -> StagePeaks:
        logger = logging.getLogger("graphlowrank")
        self._level_before = logger.level
        logger.setLevel(logging.INFO)
        logger.addHandler(self)
        forget_peak()
        return self

    def __exit__(self, *_: object) -> None:
        logger = logging.getLogger("graphlowrank")
        logger.removeHandler(self)
        logger.setLevel(self._level_before)
