"""What a fit tells on the terminal and to machines."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from math import isfinite
from pathlib import Path
from platform import python_version
from typing import Any

from .. import __version__
from ..report import missing_extras

LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba", "faiss-cpu")
MAX_SIZES = 12  # clusters whose sizes fit into a line


def as_text(record: dict[str, Any]) -> str:
    """JSON; what is not finite becomes null, which JSON has."""
    shown = {name: value for name, value in record.items() if name != "words"}
    return json.dumps(_finite(shown), indent=2, allow_nan=False, ensure_ascii=False)


def as_words(record: dict[str, Any]) -> str:
    """Return the summary."""
    return str(record["words"])


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not isfinite(value) else value


def listed(words: Sequence[str]) -> str:
    """Words in a sentence.

    Examples
    --------
    >>> listed(["3", "2", "1"])
    '3, 2 and 1'
    """
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]])) if words else ""


def in_sizes(sizes: Sequence[int]) -> str:
    """Sizes of clusters, largest first, in a sentence; of many the extremes.

    Examples
    --------
    >>> in_sizes([2, 3])
    '3 and 2 samples'
    """
    ordered = sorted(sizes, reverse=True)
    if len(ordered) > MAX_SIZES:
        return f"{ordered[0]} to {ordered[-1]} samples"
    return f"{listed([str(size) for size in ordered])} samples"


def versions() -> dict[str, str]:
    """Name the libraries that the numbers depend on, without loading them."""
    found = {"graphlowrank": __version__, "python": python_version()}
    for library in LIBRARIES:
        try:
            found[library] = version(library)
        except PackageNotFoundError:  # another build of it, such as conda's
            continue
    return found


def need_page(report: Path | None) -> None:
    """Raise if a page is asked for and cannot be made; before the work, not after it."""
    if report is not None and "jinja2" in missing_extras():
        raise ModuleNotFoundError("the report needs jinja2: pip install graphlowrank[plots]", name="jinja2")
