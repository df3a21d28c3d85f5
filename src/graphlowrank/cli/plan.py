"""The command ``graphlowrank plan``: time and memory that a table will take."""

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._typing import Array
from ..estimators.large_plan import LargePlan, plan_large
from ..estimators.plan import MAX_ROWS, Plan, Task, plan
from ..linalg.blocks import evenly_spaced
from ..outofcore.settings import Method, large_data
from ..outofcore.sources import open_in_blocks
from ..preprocessing.counts import dense, float_type, most_variable
from .console import Show, print_warnings
from .options import to_option_names
from .prepare import read_table


def run_plan(
    path: Path, reading: dict[str, Any], task: Task, n_clusters: int, top_features: int | None,
    options: dict[str, Any], show: Show,
) -> tuple[Plan, dict[str, Any] | None]:  # fmt: skip
    """Read some rows, time small fits to them, and predict; return the roles of the columns, too."""
    show(f"reading {path}")
    table = read_table(path, **reading)
    values = table.values
    n_samples, n_features = values.shape
    rows = pilot_rows(values)
    if top_features is not None and top_features < n_features:
        rows = rows[:, most_variable([rows], top_features)]
    show(f"timing fits to {rows.shape[0]} samples x {rows.shape[1]} features")
    with print_warnings(to_option_names):
        found = plan(n_samples, rows.shape[1], task=task, n_clusters=n_clusters, data=rows, **options)
    return found, None if table.columns is None else table.columns.as_dict()


def run_large_plan(
    path: Path, key: str | None, task: Task, n_clusters: int | None, options: dict[str, Any], memory: str | None,
    method: Method | None,
) -> LargePlan:  # fmt: skip
    """Choose how data that may not fit in memory would be fitted."""
    if not path.exists():
        raise FileNotFoundError(f"there is no file or folder {path}.")
    with large_data(memory=memory, method=method or "auto"):
        return plan_large(open_in_blocks(path, key), task=task, n_clusters=n_clusters, **options)


def pilot_rows(values: Any) -> Array | sp.csr_array:
    """Return evenly spaced rows: sparse if the table is, and complete; else dense, NaN where missing or infinite."""
    rows = values[evenly_spaced(values.shape[0], MAX_ROWS)]
    if sp.issparse(rows) and np.isfinite(rows.data).all():
        return sp.csr_array(rows, dtype=float_type(rows.dtype))
    rows = dense(rows).astype(float_type(rows.dtype))
    rows[~np.isfinite(rows)] = np.nan
    return rows
