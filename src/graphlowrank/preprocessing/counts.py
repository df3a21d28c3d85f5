"""Count matrices, such as reads of genes in cells: normalize, log-transform, select variable features.

A matrix may be a numpy array, a memory map, a ``scipy.sparse.csr_array`` or any object with ``shape`` and ``dtype``
whose slices ``values[a:b]`` are rows, such as an array in a file. It is processed in blocks of rows, so that only the
selected features are held in memory. NaN entries are missing and left out of every sum.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._typing import Array
from ..linalg.blocks import row_blocks
from .sparse import canonical_csr

BLOCK_ENTRIES = 2**23
BlockTransform = Callable[[Any, slice], Any]  # transform of a row block, given its rows


def preprocess(
    values: Any, *, normalize: bool, log1p: bool = False, n_top_features: int | None = None, keep_sparse: bool = False
) -> tuple[Any, Array | None, list[str]]:
    """Log-transform, and select the features of the highest variance.

    Parameters
    ----------
    values
        (n_samples, n_features).
    normalize
        Whether to divide samples by their size factors and take log(1 + x).
    log1p
        Whether to take log(1 + x) without normalizing.
    n_top_features
        Number of features to keep; None for all.
    keep_sparse
        Whether a sparse matrix stays sparse.

    Returns
    -------
    X, columns, steps
        Data (n_samples, n_kept), see :func:`select_columns`; kept features, or None for all; what was done, in words.

    Examples
    --------
    >>> X, columns, steps = preprocess(np.array([[1, 5, 2], [1, 9, 3]]), normalize=False, n_top_features=2)
    >>> columns, steps
    (array([1, 2]), ['2 of 3 features, those of the highest variance'])
    """
    steps, transform, columns = [], None, None
    if normalize or log1p:
        transform = log_transform(values, normalize=normalize)
        steps.append("every sample to the same total, then log(1 + x)" if normalize else "log(1 + x) of the values")
    if n_top_features is not None and n_top_features < values.shape[1]:
        columns = most_variable((block for _, block in blocks(values, transform)), n_top_features)
        steps.append(f"{n_top_features} of {values.shape[1]} features, those of the highest variance")
    return select_columns(values, transform, columns, keep_sparse=keep_sparse), columns, steps


def are_counts(values: Any) -> bool:
    """Whether every value is a non-negative integer; missing values are ignored."""
    return all(_all_counts(stored_values(block)) for _, block in blocks(values))


def _all_counts(stored: Array) -> bool:
    if stored.dtype.kind != "f":
        return bool(stored.dtype.kind in "bu" or stored.min(initial=0) >= 0)
    return bool(np.all(np.isnan(stored) | ((stored >= 0) & (stored == np.floor(stored)) & np.isfinite(stored))))


def size_factors(values: Any, typical: float | None = None) -> Array:
    """Total of each sample over the typical, else the median, total, (n_samples,); 1 for samples whose total is 0."""
    totals = _all_totals(values)
    return np.where(totals > 0, totals / (_median_total(totals) if typical is None else typical), 1.0)


def typical_total(values: Any) -> float:
    """Median of the positive totals of the samples; 1 if there is none."""
    return _median_total(_all_totals(values))


def _median_total(totals: Array) -> float:
    positive = totals[totals > 0]
    return float(np.median(positive)) if len(positive) else 1.0


def _all_totals(values: Any) -> Array:
    return np.concatenate([_totals(block) for _, block in blocks(values)])


def _totals(block: Any) -> Array:
    if missing_in(block).any():
        block = np.nan_to_num(dense(block))
    return np.asarray(block.sum(axis=1, dtype=np.float64)).ravel()


def log_counts(block: Any, factors: Array | None = None) -> Any:
    """Return ``log(1 + x / factor)``, dense or sparse like ``block``; None or at least (n_rows,) size factors."""
    dtype = float_type(block.dtype)
    if not sp.issparse(block):
        return np.log1p(np.asarray(block if factors is None else block / factors[: len(block), None], dtype=dtype))
    data = block.data.astype(dtype)
    if factors is not None:
        data /= np.repeat(factors[: block.shape[0]], np.diff(block.indptr))
    return sp.csr_array((np.log1p(data), block.indices, block.indptr), shape=block.shape)


def log_transform(values: Any, *, normalize: bool) -> BlockTransform:
    """Return :func:`log_counts` as a transform of row blocks; ``normalize`` divides samples by their size factors."""
    factors = size_factors(values) if normalize else None
    return lambda block, rows: log_counts(block, None if factors is None else factors[rows])


# --- features ---


def most_variable(parts: Iterable[Any], n_kept: int) -> Array:
    """Return the columns of the highest variance of row blocks, in ascending order; ties go to the first."""
    return np.sort(np.argsort(-moments(parts)[1], kind="stable")[:n_kept])


def moments(parts: Iterable[Any]) -> tuple[Array, Array]:
    """Mean and variance (n_features,) of a matrix given in blocks of rows (Chan, Golub and LeVeque 1979).

    Both are 0 for a column without any value.
    """
    n, mean, squares = np.zeros(1), np.zeros(1), np.zeros(1)
    for block in parts:
        m, block_mean, block_squares = _block_moments(block)
        total = np.maximum(n + m, 1)
        difference = block_mean - mean
        squares = squares + block_squares + difference**2 * (n * m / total)
        mean = mean + difference * (m / total)
        n = n + m
    return mean, squares / np.maximum(n, 1)


def _block_moments(block: Any) -> tuple[Array, Array, Array]:
    """Count of known values, their mean and their sum of squares around it, for each column."""
    missing = missing_in(block)
    m = (block.shape[0] - n_missing(block)[1]).astype(np.float64)
    if sp.issparse(block):
        known = np.where(missing, 0, block.data).astype(np.float64)
        sums = np.bincount(block.indices, known, minlength=block.shape[1])
        squares = np.bincount(block.indices, known**2, minlength=block.shape[1])
        mean = sums / np.maximum(m, 1)
        return m, mean, np.maximum(squares - m * mean**2, 0)
    known = np.where(missing, 0, block) if missing.any() else block
    mean = known.sum(axis=0, dtype=np.float64) / np.maximum(m, 1)
    centered = np.where(missing, 0, known - mean) if missing.any() else known - mean
    return m, mean, np.square(centered).sum(axis=0)


def select_columns(
    values: Any, transform: BlockTransform | None, columns: Array | None, *, keep_sparse: bool = False
) -> Any:
    """Return columns (None: all) of the transformed matrix, or ``values`` itself if there is nothing to do.

    The result (n_samples, n_columns) is float32 if that is exact, else float64; csr_array if ``keep_sparse`` and
    ``values`` are sparse, else dense.
    """
    in_memory = isinstance(values, np.ndarray) or (keep_sparse and sp.issparse(values))
    if in_memory and transform is None and columns is None and values.dtype in (np.float32, np.float64):
        return sp.csr_array(values) if sp.issparse(values) else np.asarray(values)
    dtype = float_type(values.dtype)
    out: Array | None = None
    sparse_blocks: list[sp.csr_array] = []
    for rows, block in blocks(values, transform):
        selected = block if columns is None else block[:, columns]
        if keep_sparse and sp.issparse(selected):
            sparse_blocks.append(selected.astype(dtype))
            continue
        if out is None:
            out = np.empty((values.shape[0], selected.shape[1]), dtype)
        out[rows] = dense(selected)
    return sp.csr_array(sp.vstack(sparse_blocks, format="csr")) if out is None else out


# --- row blocks ---


def blocks(values: Any, transform: BlockTransform | None = None) -> Iterator[tuple[slice, Any]]:
    """Yield the rows of each block, and the block, a dense array or a csr_array, transformed."""
    for rows in row_blocks(*values.shape, entries=BLOCK_ENTRIES):
        block = values[rows]
        block = canonical_csr(block) if sp.issparse(block) else dense(block)
        yield rows, block if transform is None else transform(block, rows)


def float_type(dtype: np.dtype) -> np.dtype:
    """Single precision if it represents the values exactly, else double."""
    exact = dtype == np.float32 or (dtype.kind in "bui" and dtype.itemsize <= 2)
    return np.dtype(np.float32 if exact else np.float64)


def dense(rows: Any) -> Array:
    """Rows of any matrix as a dense array; no copy if they are one."""
    for name in ("toarray", "to_array"):  # of scipy, and of the matrices of this library
        if hasattr(rows, name):
            return np.asarray(getattr(rows, name)())
    return np.asarray(rows)


# --- missing values ---


def stays_sparse(values: Any) -> bool:
    """Whether the estimators take the matrix in sparse form: they take missing values only in dense ones."""
    return not isinstance(values, np.ndarray) and is_complete(values)


def is_complete(values: Any) -> bool:
    """Whether no value is missing."""
    return not any(missing_in(block).any() for _, block in blocks(values))


def stored_values(block: Any) -> Array:
    """Values of a dense array; stored values of a sparse one."""
    return np.asarray(block.data if sp.issparse(block) else block)


def missing_in(block: Any) -> Array:
    """Mask of the missing ones among :func:`stored_values`."""
    stored = stored_values(block)
    return np.isnan(stored) if stored.dtype.kind == "f" else np.zeros(stored.shape, dtype=bool)


def n_missing(block: Any) -> tuple[Array, Array]:
    """Count the missing values of each row (n_rows,) and each column (n_columns,)."""
    missing = missing_in(block)
    if not sp.issparse(block):
        return np.count_nonzero(missing, axis=1), np.count_nonzero(missing, axis=0)
    rows = np.repeat(np.arange(block.shape[0]), np.diff(block.indptr))[missing]
    return np.bincount(rows, minlength=block.shape[0]), np.bincount(block.indices[missing], minlength=block.shape[1])
