"""Counts, such as reads of genes in cells: to one depth and logarithms, and the features that vary most.

Matrices may be numpy arrays, memory maps, ``scipy.sparse.csr_array`` or anything with ``shape`` and ``dtype`` whose
slices ``values[a:b]`` are rows, such as an array in a file. They go by blocks of rows, so that only the chosen features
are ever held. Entries that are NaN are missing, and left out of every sum.

.. autosummary::
    are_counts      whether a matrix holds whole numbers from 0 on
    size_factors    depth of each sample over the usual depth
    log_counts      log(1 + x / factor)
    log_recipe      the same for blocks, with the factors of a whole matrix
    most_variable   features of the highest variance
    moments         mean and variance of each feature
    gathered        what a recipe makes of the chosen features, as one matrix
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._backend import Array

BLOCK_BYTES = 2**26
Recipe = Callable[[Any, int], Any]  # rows, and the number of the first, to what is made of them


def are_counts(values: Any) -> bool:
    """Whether every value is a whole number from 0 on; missing ones are not asked.

    Examples
    --------
    >>> are_counts(np.array([[0.0, 3.0]])), are_counts(np.array([[0.5, 3.0]])), are_counts(np.array([[-1, 3]]))
    (True, False, False)
    """
    return all(_whole(data_of(block)) for _, block in blocks(values))


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


def log_recipe(values: Any, *, normalize: bool) -> Recipe:
    """Return the recipe of :func:`log_counts`; ``normalize`` brings every sample of ``values`` to the same total."""
    factors = size_factors(values) if normalize else None
    return lambda block, start: log_counts(block, None if factors is None else factors[start:])


# --- features ---


def most_variable(parts: Iterable[Any], n_kept: int) -> Array:
    """Return the columns of the highest variance, in their order; of equals the first.

    Parameters
    ----------
    parts
        Blocks of rows, (any, n_features) each.
    n_kept
        How many columns.

    Examples
    --------
    >>> most_variable([np.array([[1, 5, 2], [1, 9, 3]])], 2)
    array([1, 2])
    """
    return np.sort(np.argsort(-moments(parts)[1], kind="stable")[:n_kept])


def moments(parts: Iterable[Any]) -> tuple[Array, Array]:
    """Mean and variance (n_features,) of a matrix that comes by blocks of rows (Chan, Golub and LeVeque 1979).

    Both are 0 for a column without any value.

    Examples
    --------
    >>> moments([np.array([[1.0, 5.0]]), np.array([[3.0, np.nan]])])
    (array([2., 5.]), array([1., 0.]))
    """
    n, mean, spread = np.zeros(1), np.zeros(1), np.zeros(1)
    for block in parts:
        m, centre, within = _moments(block)
        together = np.maximum(n + m, 1)
        away = centre - mean
        spread = spread + within + away**2 * (n * m / together)
        mean = mean + away * (m / together)
        n = n + m
    return mean, spread / np.maximum(n, 1)


def _moments(block: Any) -> tuple[Array, Array, Array]:
    """Values that each column has, their mean, and the sum of squares around it."""
    missing = missing_in(block)
    m = (block.shape[0] - _by_column(block, missing)).astype(np.float64)
    if sp.issparse(block):
        known = np.where(missing, 0, block.data).astype(np.float64)
        sums = np.bincount(block.indices, known, minlength=block.shape[1])
        squares = np.bincount(block.indices, known**2, minlength=block.shape[1])
        centre = sums / np.maximum(m, 1)
        return m, centre, np.maximum(squares - m * centre**2, 0)
    known = np.where(missing, 0, block) if missing.any() else block
    centre = known.sum(axis=0, dtype=np.float64) / np.maximum(m, 1)
    away = np.where(missing, 0, known - centre) if missing.any() else known - centre
    return m, centre, np.square(away).sum(axis=0)


# --- blocks of rows ---


def blocks(values: Any) -> Iterator[tuple[int, Any]]:
    """Yield the number of the first row, and some rows, a few megabytes at a time: a numpy array or a csr_array."""
    step = max(1, BLOCK_BYTES // (8 * max(values.shape[1], 1)))
    for start in range(0, values.shape[0], step):
        rows = values[start : start + step]
        yield start, _canonical(rows) if sp.issparse(rows) else dense(rows)


def _canonical(rows: Any) -> sp.csr_array:
    """Rows in which no entry is stored twice: its logarithm would be taken in two parts."""
    found = sp.csr_array(rows)
    if not found.has_canonical_format:
        found = found.copy()
        found.sum_duplicates()
    return found


def made(values: Any, recipe: Recipe | None) -> Iterator[Any]:
    """Blocks of rows, as the recipe makes them."""
    for start, block in blocks(values):
        yield block if recipe is None else recipe(block, start)


def stays_sparse(values: Any) -> bool:
    """Whether a matrix is handed to the estimators as it is stored; values may only be missing in dense ones."""
    return not isinstance(values, np.ndarray) and is_complete(values)


def is_complete(values: Any) -> bool:
    """Whether no value is missing."""
    return not any(missing_in(block).any() for _, block in blocks(values))


def gathered(values: Any, recipe: Recipe | None, columns: Array | None, *, keep_sparse: bool = False) -> Any:
    """Return what a recipe makes of the chosen columns; the values themselves where nothing is to be done.

    Parameters
    ----------
    values
        (n_samples, n_features).
    recipe
        What to make of blocks of rows, see :func:`log_recipe`; None for nothing.
    columns
        Which columns, in order; None for all.
    keep_sparse
        Whether a sparse matrix is returned as csr_array, not as a dense array.

    Returns
    -------
    X
        (n_samples, n_columns) float32, where that is exact, or float64.
    """
    plain = isinstance(values, np.ndarray) or (keep_sparse and sp.issparse(values))
    if plain and recipe is None and columns is None and values.dtype in (np.float32, np.float64):
        return sp.csr_array(values) if sp.issparse(values) else np.asarray(values)
    kind = float_type(values.dtype)
    out: Array | None = None
    kept: list[sp.csr_array] = []
    start = 0
    for block in made(values, recipe):
        chosen = block if columns is None else block[:, columns]
        if keep_sparse and sp.issparse(chosen):
            kept.append(chosen.astype(kind))
            continue
        if out is None:
            out = np.empty((values.shape[0], chosen.shape[1]), kind)
        out[start : start + block.shape[0]] = dense(chosen)
        start += block.shape[0]
    return sp.csr_array(sp.vstack(kept, format="csr")) if out is None else out


def float_type(dtype: np.dtype) -> np.dtype:
    """Single precision for what it holds exactly, else double."""
    exact = dtype == np.float32 or (dtype.kind in "bui" and dtype.itemsize <= 2)
    return np.dtype(np.float32 if exact else np.float64)


def dense(rows: Any) -> Array:
    """Rows of any kind as a dense array, themselves if they are one."""
    for decoded in ("toarray", "to_array"):  # scipy's name, and that of our own matrices
        if hasattr(rows, decoded):
            return np.asarray(getattr(rows, decoded)())
    return np.asarray(rows)


def data_of(block: Any) -> Array:
    """Values that are held: of a sparse matrix those that are stored."""
    return block.data if sp.issparse(block) else block


def missing_in(block: Any) -> Array:
    """Which of the held values are missing, of the shape of :func:`data_of`."""
    held = data_of(block)
    return np.isnan(held) if held.dtype.kind == "f" else np.zeros(held.shape, dtype=bool)


def n_missing(block: Any) -> tuple[Array, Array]:
    """How many values each row (n_rows,) and each column (n_columns,) lacks."""
    missing = missing_in(block)
    return _by_row(block, missing), _by_column(block, missing)


def _by_row(block: Any, held: Array) -> Array:
    if not sp.issparse(block):
        return np.count_nonzero(held, axis=1)
    of_rows = np.repeat(np.arange(block.shape[0]), np.diff(block.indptr))
    return np.bincount(of_rows[held], minlength=block.shape[0])


def _by_column(block: Any, held: Array) -> Array:
    if not sp.issparse(block):
        return np.count_nonzero(held, axis=0)
    return np.bincount(block.indices[held], minlength=block.shape[1])


def _whole(held: Array) -> bool:
    if held.dtype.kind != "f":
        return bool(held.dtype.kind in "bu" or held.min(initial=0) >= 0)
    return bool(np.all(np.isnan(held) | ((held >= 0) & (held == np.floor(held)) & np.isfinite(held))))


def _totals(block: Any) -> Array:
    if missing_in(block).any():
        block = np.nan_to_num(dense(block))
    return np.asarray(block.sum(axis=1, dtype=np.float64)).ravel()
