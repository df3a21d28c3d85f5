"""Options of a separation, and their validation."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._checks import is_number
from ..models import SOLVERS
from ..options import check_choice
from .foreground import DARKEST

OPTIONAL = ("rank", "smallest", "threshold")  # may be None


@dataclass(frozen=True)
class Options:
    """How to separate; see :func:`graphlowrank.video.separate`.

    ``darkest`` is ``shadows`` as a number, ``seed`` is ``random_state``. What follows ``seed`` is not public.
    """

    rank: int | None = None
    solver: str = "rpca"
    pixel_graph: str = "grid"
    n_sampled: int = 100
    darkest: float = DARKEST
    threshold: float | None = None
    smallest: int | None = None
    max_memory: float = 4e9
    seed: int = 0
    max_chunk: int = 2000  # frames that share a background; scenes change
    min_chunk: int = 100  # frames; fewer do not determine a background
    block_values: int = 10_000_000
    compiled: bool | None = None  # whether to run compiled loops; None for large videos only


def check_options(*, shadows: bool | float, **options: Any) -> Options:
    """Options of a separation, or a ValueError that names the wrong one."""
    is_flag = isinstance(shadows, (bool, np.bool_))
    found = Options(darkest=(DARKEST if shadows else 1.0) if is_flag else shadows, **options)
    check_choice(found.solver, "solver", tuple(SOLVERS))
    check_choice(found.pixel_graph, "pixel_graph", ("grid", "knn"))
    for name, least in (("rank", 0), ("n_sampled", 2), ("smallest", 0), ("seed", 0)):
        value = getattr(found, name)
        whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
        if not ((value is None and name in OPTIONAL) or (whole and value >= least)):
            public = "random_state" if name == "seed" else name
            raise ValueError(f"{public} must be a whole number of at least {least}; got {value!r}.")
    if (not is_flag or shadows) and not (is_number(found.darkest) and 0 < found.darkest < 1):
        raise ValueError(f"shadows must be True, False or a number between 0 and 1; got {shadows!r}.")
    for name in ("threshold", "max_memory"):
        value = getattr(found, name)
        if not ((value is None and name in OPTIONAL) or (is_number(value) and value > 0)):
            raise ValueError(f"{name} must be a positive number; got {value!r}.")
    return found
