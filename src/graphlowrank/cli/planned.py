"""The command ``graphlowrank plan``: how long a table will take, and how much memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._backend import Array
from ..estimators.planning import PILOTS, Plan, Task, plan
from ..linalg.blocks import evenly_spaced
from ..preprocessing.counts import dense, float_type, most_variable
from .options import in_options
from .preparing import Input
from .shell import hearing_warnings, naming_options

FEWEST = 20  # samples


def run_plan(
    source: Input,
    task: Task,
    n_clusters: int,
    top_features: int | None,
    options: dict[str, Any],
    say: Callable[[str], None],
) -> Plan:
    """Read some rows, time small fits to them, and predict."""
    say(f"reading {source.path}")
    values = source.read().values
    n_samples, n_features = values.shape
    if n_samples < FEWEST:
        raise ValueError(f"{source.path} has {n_samples} samples; that takes no time worth planning.")
    rows = some_rows(values)
    if top_features is not None and top_features < n_features:
        rows = rows[:, most_variable([rows], top_features)]
    say(f"trying {len(rows)} samples x {rows.shape[1]} features")
    kept = min(n_clusters, rows.shape[1] if task == "recover" else len(rows) // 2)
    with hearing_warnings(in_options), naming_options({"n_components": "--clusters"}):
        return plan(
            n_samples, rows.shape[1], task=task, n_clusters=kept, data=rows, itemsize=rows.itemsize, **options
        )  # fmt: skip


def some_rows(values: Any) -> Array:
    """Rows at even distances, dense, what is missing or infinite as NaN."""
    part = values[evenly_spaced(values.shape[0], PILOTS[1])]
    part = dense(part).astype(float_type(part.dtype))
    part[~np.isfinite(part)] = np.nan
    return part
