"""The command ``graphlowrank warmup``: compile before the first fit."""

from dataclasses import asdict
from typing import Any

from .._warmup import warmup


def run_warmup() -> tuple[dict[str, Any], str]:
    """Compile all kernels; return the record and two lines for people."""
    done = warmup()
    return {**asdict(done), "folder": None if done.folder is None else str(done.folder)}, str(done)
