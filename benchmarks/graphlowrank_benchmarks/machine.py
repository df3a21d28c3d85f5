"""Description of the machine, without names of host, user or folders."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from graphlowrank import __version__

from .internals import available_cores

LIBRARIES = (
    "numpy", "scipy", "scikit-learn", "numba", "faiss-cpu", "pyamg", "umap-learn", "pynndescent", "openTSNE",
    "pacmap", "pygsp", "rpca",
)  # fmt: skip


def describe_machine(threads: int | None) -> dict[str, Any]:
    """Processor, cores, memory, versions and time; ``threads`` is the limit of every system, None for every core."""
    return {
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "cores_allowed": available_cores(),
        "threads": threads or available_cores(),
        "memory_gb": _memory_gb(),
        "load_average": _load(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "versions": {"graphlowrank": __version__, **_versions()},
        "blas": _blas(),
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    }


def machine_line(machine: dict[str, Any]) -> str:
    """Return the description as one line, for the head of the tables."""
    versions = ", ".join(f"{name} {number}" for name, number in machine["versions"].items())
    memory = f"{machine['memory_gb']:g} GB, " if machine["memory_gb"] else ""
    load = f", load {machine['load_average']:g} at the start" if machine["load_average"] is not None else ""
    return (
        f"{machine['cpu']}, {machine['threads']} threads on {machine['cores_allowed']} cores, {memory}"
        f"{machine['system']}, {machine['python']}, {versions}; {machine['date']}{load}"
    )


def _cpu_model() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return " ".join(line.split(":", 1)[1].split())
    except OSError:
        pass
    if platform.system() == "Darwin":
        command = ["/usr/sbin/sysctl", "-n", "machdep.cpu.brand_string"]
        try:
            return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
        except (OSError, subprocess.CalledProcessError):
            pass
    return platform.processor() or platform.machine()


def _memory_gb() -> float | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1)
    except (AttributeError, ValueError, OSError):  # Windows
        return None


def _load() -> float | None:
    """Load average at the start: above about 0.5 the times are not reliable."""
    try:
        return round(os.getloadavg()[0], 2)
    except (AttributeError, OSError):
        return None


def _versions() -> dict[str, str]:
    found = {}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _blas() -> list[str]:
    """Linear algebra libraries that numpy and scipy load."""
    import scipy.linalg  # noqa: F401
    from threadpoolctl import threadpool_info

    described = {
        f"{library['internal_api']} {library.get('version') or ''} {library.get('architecture') or ''}".strip()
        for library in threadpool_info()
    }
    return sorted(described)
