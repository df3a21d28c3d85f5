"""From a file to what the estimators take: counts to logarithms, features chosen, dense, nothing missing.

Everything goes by blocks of rows, so that of a sparse or mapped table only the chosen features are ever held.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._backend import Array
from ..tables import Table, read
from ..tables.memory import allowed_bytes
from .shell import RemedyError

BLOCK_BYTES = 2**26
COPIES = 2  # of the matrix that a fit holds: as it came, and scaled
FEWER = "keep fewer features by --top-features, such as --top-features 2000"
Recipe = Callable[[Any, int], Any]  # rows, and the number of the first, to what is made of them


@dataclass(frozen=True)
class Input:
    """What to read; see :func:`graphlowrank.tables.read`."""

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
    """Dense finite values (n_samples, n_features), names, and what was done, a sentence each."""

    X: Array
    sample_names: tuple[str, ...] | None
    feature_names: tuple[str, ...] | None
    steps: tuple[str, ...]


def prepare(table: Table, asked: Preparation, path: Path) -> Prepared:
    """Make of a table what the estimators take; the file is named in errors."""
    check_finite(table, path)
    values, steps = table.values, []
    recipe: Recipe | None = None
    if asked.normalize_counts or asked.log1p:
        _check_logarithms(values, asked, path)
        factors, said = _factors(values) if asked.normalize_counts else (None, "log(1 + x) of the values")
        recipe = lambda block, start: log_counts(block, None if factors is None else factors[start:])  # noqa: E731
        steps.append(said)
    columns, names = None, table.feature_names
    if asked.top_features is not None and asked.top_features < values.shape[1]:
        check_room((values.shape[0], asked.top_features), values.dtype, path)  # before the longer pass
        columns = most_variable(made(values, recipe), asked.top_features)
        names = None if names is None else tuple(names[column] for column in columns)
        steps.append(f"{len(columns)} of {values.shape[1]} features, those of the highest variance")
    X = gathered(values, recipe, columns, path)
    return Prepared(X, table.sample_names, names, tuple(steps))


# --- counts ---


def size_factors(values: Any) -> Array:
    """Total of each sample over the median total, (n_samples,); 1 for samples without a count.

    Examples
    --------
    >>> size_factors(np.array([[1, 1], [3, 1], [0, 0], [8, 0]]))
    array([0.5, 1. , 1. , 2. ])
    """
    totals = np.concatenate([_totals(block) for _, block in blocks(values)])
    counted = totals > 0
    if not counted.any():
        return np.ones(len(totals))
    return np.where(counted, totals / np.median(totals[counted]), 1.0)


def log_counts(block: Any, factors: Array | None = None) -> Any:
    """``log(1 + x / factor)``, dense or sparse as it came; ``factors`` (n_samples or more,), or None for 1.

    Examples
    --------
    >>> log_counts(np.array([[0.0, 6.0]]), np.array([2.0])).round(3)
    array([[0.   , 1.386]])
    """
    if not sp.issparse(block):
        kind = float_type(block.dtype)
        divided = block if factors is None else block / factors[: len(block), None]
        return np.log1p(np.asarray(divided, dtype=kind))
    data = block.data.astype(float_type(block.dtype))
    if factors is not None:
        data /= np.repeat(factors[: block.shape[0]], np.diff(block.indptr))
    return sp.csr_array((np.log1p(data), block.indices, block.indptr), shape=block.shape)


def _factors(values: Any) -> tuple[Array, str]:
    factors = size_factors(values)
    return factors, "every sample to the same total, then log(1 + x)"


def _check_logarithms(values: Any, asked: Preparation, path: Path) -> None:
    least = min(float(_data(block).min(initial=0)) for _, block in blocks(values))
    if asked.normalize_counts and least < 0:
        raise RemedyError(
            f"{path} has negative values, the least is {least:g}: these are no counts.",
            "leave out --normalize-counts, or choose the counts by --key",
        )
    if least <= -1:
        raise RemedyError(f"{path} has values down to {least:g}, which have no log(1 + x).", "leave out --log1p")


# --- features ---


def most_variable(parts: Iterable[Any], n_kept: int) -> Array:
    """Return the columns of the highest variance, in their order; of equals the first.

    Examples
    --------
    >>> most_variable([np.array([[1, 5, 2], [1, 9, 3]])], 2)
    array([1, 2])
    """
    return np.sort(np.argsort(-variances(parts), kind="stable")[:n_kept])


def variances(parts: Iterable[Any]) -> Array:
    """Variance of each column of a matrix that comes by blocks of rows (Chan, Golub and LeVeque 1979)."""
    n, mean, spread = 0, np.zeros(1), np.zeros(1)
    for block in parts:
        m = block.shape[0]
        centre, within = _moments(block)
        away = centre - mean
        spread = spread + within + away**2 * (n * m / (n + m))
        mean = mean + away * (m / (n + m))
        n += m
    return spread / max(n, 1)


def _moments(block: Any) -> tuple[Array, Array]:
    """Mean of each column, and the sum of squares around it."""
    if not sp.issparse(block):
        centre = block.mean(axis=0, dtype=np.float64)
        return centre, np.square(block - centre).sum(axis=0)
    wide = block.astype(np.float64)
    centre = np.asarray(wide.sum(axis=0)).ravel() / block.shape[0]
    squares = np.asarray(wide.multiply(wide).sum(axis=0)).ravel()
    return centre, np.maximum(squares - block.shape[0] * centre**2, 0)


# --- values ---


def made(values: Any, recipe: Recipe | None) -> Iterator[Any]:
    """Blocks of rows, as the recipe makes them."""
    for start, block in blocks(values):
        yield block if recipe is None else recipe(block, start)


def gathered(values: Any, recipe: Recipe | None, columns: Array | None, path: Path) -> Array:
    """Return the chosen columns as one dense array, the values themselves where nothing is to be done."""
    if recipe is None and columns is None and not sp.issparse(values) and values.dtype.kind == "f":
        return np.asarray(values)
    shape = (values.shape[0], values.shape[1] if columns is None else len(columns))
    check_room(shape, values.dtype, path)
    out, start = np.empty(shape, float_type(values.dtype)), 0
    for block in made(values, recipe):
        chosen = block if columns is None else block[:, columns]
        out[start : start + block.shape[0]] = chosen.toarray() if sp.issparse(chosen) else chosen
        start += block.shape[0]
    return out


def check_room(shape: tuple[int, int], dtype: np.dtype, path: Path) -> None:
    """Raise if a dense matrix of this shape, and the copy that a fit makes, would not fit into memory."""
    needed, allowed = COPIES * shape[0] * shape[1] * float_type(dtype).itemsize, allowed_bytes()
    if needed > allowed:
        raise RemedyError(
            f"{path} needs {needed / 2**30:.1f} GiB as a dense matrix of {shape[0]} x {shape[1]}, and "
            f"{allowed / 2**30:.1f} GiB are free.",
            FEWER,
        )


def check_finite(table: Table, path: Path) -> None:
    """Raise if a value is missing or infinite: how many are, and where the first one is."""
    if table.values.dtype.kind != "f":
        return
    n_bad, first = 0, (0, 0)
    for start, block in blocks(table.values):
        bad = ~np.isfinite(_data(block))
        if bad.any() and not n_bad:
            row, column = _place(block, bad)
            first = (start + row, column)
        n_bad += int(np.count_nonzero(bad))
    if n_bad:
        values = "1 value that is" if n_bad == 1 else f"{n_bad} values that are"
        raise RemedyError(
            f"{path} has {values} missing or infinite, the first in row {_named(table.sample_names, first[0])}, "
            f"column {_named(table.feature_names, first[1])}.",
            "fill them in, or leave out these rows or columns: values cannot be missing yet",
        )


def _place(block: Any, bad: Array) -> tuple[int, int]:
    """Row and column of the first bad value of a block."""
    where = int(np.flatnonzero(bad.ravel())[0])
    if not sp.issparse(block):
        row, column = divmod(where, block.shape[1])
        return row, column
    return int(np.searchsorted(block.indptr, where, side="right")) - 1, int(block.indices[where])


def _named(names: tuple[str, ...] | None, place: int) -> str:
    return str(place + 1) if names is None else f"{place + 1} ({names[place][:60]!r})"


def blocks(values: Any) -> Iterator[tuple[int, Any]]:
    """Yield the number of the first row, and some rows, a few megabytes at a time."""
    step = max(1, BLOCK_BYTES // (8 * values.shape[1]))
    for start in range(0, values.shape[0], step):
        yield start, values[start : start + step]


def float_type(dtype: np.dtype) -> np.dtype:
    """Single precision for what it holds exactly, else double."""
    exact = dtype == np.float32 or (dtype.kind in "ui" and dtype.itemsize <= 2)
    return np.dtype(np.float32 if exact else np.float64)


def _data(block: Any) -> Array:
    return block.data if sp.issparse(block) else np.asarray(block)


def _totals(block: Any) -> Array:
    return np.asarray(block.sum(axis=1, dtype=np.float64)).ravel()
