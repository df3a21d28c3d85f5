"""From a file to what the estimators take: counts to logarithms, features chosen, values that cannot be used refused.

Everything goes by blocks of rows, so that of a sparse or mapped table only the chosen features are ever held.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._backend import Array
from ..io import Table, read
from ..io.memory import allowed_bytes
from ..preprocessing import counts
from ..preprocessing.counts import (
    blocks,
    data_of,
    float_type,
    gathered,
    is_complete,
    log_recipe,
    made,
    most_variable,
    n_missing,
)
from .shell import RemedyError

COPIES = 2  # of the matrix that a fit holds: as it came, and scaled
FEWER = "keep fewer features by --top-features, such as --top-features 2000"


@dataclass(frozen=True)
class Input:
    """What to read; see :func:`graphlowrank.io.read`."""

    path: Path
    key: str | None = None
    header: bool | None = None
    index: bool | None = None
    graph: str | None = None
    transpose: bool = False

    def read(self) -> Table:
        """Read it."""
        if not self.path.exists():
            raise FileNotFoundError(f"there is no file or folder {self.path}.")
        table = read(
            self.path, key=self.key, header=self.header, index=self.index, graph=self.graph, transpose=self.transpose
        )  # fmt: skip
        if table.graph is not None and abs(table.graph - table.graph.T).max() > 1e-6 * abs(table.graph).max():
            raise RemedyError(
                f"the graph {self.graph!r} of {self.path} is not symmetric.",
                "choose one of weights, such as connectivities: distances are no weights",
            )
        return table


@dataclass(frozen=True)
class Preparation:
    """What to make of the values before a model sees them."""

    normalize_counts: bool = False
    log1p: bool = False
    top_features: int | None = None


@dataclass(frozen=True, eq=False)
class Prepared:
    """Values (n_samples, n_features), dense or csr_array, names, and what was done, a sentence each."""

    X: Any
    sample_names: tuple[str, ...] | None
    feature_names: tuple[str, ...] | None
    steps: tuple[str, ...]


def prepare(table: Table, asked: Preparation, path: Path, *, only_dense: bool = False) -> Prepared:
    """Make of a table what the estimators take, or one that takes only dense matrices; the file is named in errors."""
    complete = check_values(table, path)
    values, n_features, steps = table.values, table.shape[1], []
    keep_sparse = sp.issparse(values) and complete and not only_dense
    logarithms = asked.normalize_counts or asked.log1p
    n_kept = n_features if asked.top_features is None else min(asked.top_features, n_features)
    if not keep_sparse and (logarithms or n_kept < n_features or sp.issparse(values) or values.dtype.kind != "f"):
        check_room(values, n_kept, path)  # before the passes through all values
    recipe: counts.Recipe | None = None
    if logarithms:
        _check_logarithms(values, asked, path)
        recipe = log_recipe(values, normalize=asked.normalize_counts)
        said = (
            "every sample to the same total, then log(1 + x)" if asked.normalize_counts else "log(1 + x) of the values"
        )
        steps.append(said)
    columns, names = None, table.feature_names
    if n_kept < n_features:
        columns = most_variable(made(values, recipe), n_kept)
        names = None if names is None else tuple(names[column] for column in columns)
        steps.append(f"{n_kept} of {n_features} features, those of the highest variance")
    X = gathered(values, recipe, columns, keep_sparse=keep_sparse)
    if not complete:
        steps.insert(0, _say_missing(X, table, columns, path))
    return Prepared(X, table.sample_names, names, tuple(steps))


def check_room(values: Any, n_features: int, path: Path) -> None:
    """Raise if so many features as a dense matrix, and the copy that a fit makes, would not fit into memory."""
    shape = (values.shape[0], n_features)
    needed, allowed = COPIES * shape[0] * shape[1] * float_type(values.dtype).itemsize, allowed_bytes()
    if needed > allowed:
        raise RemedyError(
            f"{path} needs {needed / 2**30:.1f} GiB as a dense matrix of {shape[0]} x {shape[1]}, and "
            f"{allowed / 2**30:.1f} GiB are free.",
            FEWER,
        )


# --- values that cannot be used ---


def check_values(table: Table, path: Path) -> bool:
    """Raise if a value is infinite, saying how many are and where the first one is; return whether none is missing."""
    if table.values.dtype.kind != "f":
        return True
    n_bad, first = 0, (0, 0)
    for start, block in blocks(table.values):
        bad = np.isinf(data_of(block))
        if bad.any() and not n_bad:
            row, column = _place(block, bad)
            first = (start + row, column)
        n_bad += int(np.count_nonzero(bad))
    if n_bad:
        values = "1 value that is" if n_bad == 1 else f"{n_bad} values that are"
        raise RemedyError(
            f"{path} has {values} infinite, the first in row {_named(table.sample_names, first[0])}, "
            f"column {_named(table.feature_names, first[1])}.",
            "put numbers there, or leave the cells empty: values may be missing",
        )
    return is_complete(table.values)


def _say_missing(X: Any, table: Table, columns: Array | None, path: Path) -> str:
    """Return how many values of the kept features are missing; raise if a sample or a feature has none at all."""
    found = [n_missing(block) for _, block in blocks(X)]
    of_samples, of_features = np.concatenate([rows for rows, _ in found]), sum(lacks for _, lacks in found)
    kept, more_features = ("", "") if columns is None else (" of the kept features", ", or keep more features")
    empty = np.flatnonzero(of_samples == X.shape[1])
    if len(empty):
        others = "" if len(empty) == 1 else f", nor in {len(empty) - 1} other rows"
        raise RemedyError(
            f"{path} has no value{kept} in row {_named(table.sample_names, int(empty[0]))}{others}.",
            f"leave out rows without any value{more_features}",
        )
    empty = np.flatnonzero(of_features == X.shape[0])
    if len(empty):
        first = int(empty[0] if columns is None else columns[empty[0]])
        others = "" if len(empty) == 1 else f", nor in {len(empty) - 1} other columns"
        raise RemedyError(
            f"{path} has no value in column {_named(table.feature_names, first)}{others}.",
            "leave out columns without any value",
        )
    total = int(of_samples.sum())
    return f"{total} of {X.shape[0] * X.shape[1]} values {'is' if total == 1 else 'are'} missing"


def _check_logarithms(values: Any, asked: Preparation, path: Path) -> None:
    least = min(float(np.fmin.reduce(data_of(block), axis=None, initial=0)) for _, block in blocks(values))
    if asked.normalize_counts and least < 0:
        raise RemedyError(
            f"{path} has negative values, the least is {least:g}: these are no counts.",
            "leave out --normalize-counts, or choose the counts by --key",
        )
    if least <= -1:
        raise RemedyError(f"{path} has values down to {least:g}, which have no log(1 + x).", "leave out --log1p")


def _place(block: Any, bad: Array) -> tuple[int, int]:
    """Row and column of the first bad value of a block."""
    where = int(np.flatnonzero(bad.ravel())[0])
    if not sp.issparse(block):
        row, column = divmod(where, block.shape[1])
        return row, column
    return int(np.searchsorted(block.indptr, where, side="right")) - 1, int(block.indices[where])


def _named(names: tuple[str, ...] | None, place: int) -> str:
    return str(place + 1) if names is None else f"{place + 1} ({names[place][:60]!r})"
