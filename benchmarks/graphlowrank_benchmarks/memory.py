"""Current and peak memory of this process."""

from __future__ import annotations

import logging
import re
import sys
from pathlib import Path

STATUS = Path("/proc/self/status")  # Linux
CLEAR = Path("/proc/self/clear_refs")
STAGE_DONE = re.compile(r"^(.+): [\d.]+ s$")  # how estimators report the end of a stage with verbose=1


def peak_memory() -> int | None:
    """Peak resident memory in bytes; None where it is unknown (Windows).

    On Linux ``ru_maxrss`` starts at the memory of the parent process, so the peak that the kernel reports is used.
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
    """Resident memory in bytes; the peak where only that is known."""
    found = _status("VmRSS")
    return peak_memory() if found is None else found


def reset_peak() -> bool:
    """Reset the peak of :func:`peak_memory`; False where that is impossible."""
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
    """Records the peak memory of each stage of a fit when its end is logged (``verbose=1``).

    Where the peak cannot be reset (not Linux), it is the peak up to the end of the stage.
    """

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.peaks: dict[str, int] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Record the peak if a stage has ended."""
        done, peak = STAGE_DONE.match(record.getMessage()), peak_memory()
        if done and peak is not None:
            self.peaks[done[1]] = max(peak, self.peaks.get(done[1], 0))
            reset_peak()

    def __enter__(self) -> StagePeaks:
        logger = logging.getLogger("graphlowrank")
        self._level_before = logger.level
        logger.setLevel(logging.INFO)
        logger.addHandler(self)
        reset_peak()
        return self

    def __exit__(self, *_: object) -> None:
        logger = logging.getLogger("graphlowrank")
        logger.removeHandler(self)
        logger.setLevel(self._level_before)
