"""From a file to the data of an estimator, in blocks of rows: only the selected features are held in memory."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import typer

from .._typing import Array
from ..io import Table, read
from ..io.memory import allowed_bytes
from ..preprocessing.counts import are_counts, blocks, float_type, is_complete, n_missing, preprocess, stored_values
from .console import RemedyError

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")  # of cells that spreadsheets run
COPIES = 2  # of the matrix during a fit: the data, and scaled
TOP_OF_COUNTS = 2000  # features kept, as by graphlowrank.anndata.cluster
FEWER_FEATURES = "keep fewer features, for example by --top-features 2000"


def read_table(path: Path, **options: Any) -> Table:
    """Read a table with the ``options`` of :func:`graphlowrank.io.read`; print what its columns were read as."""
    if not path.exists():
        raise FileNotFoundError(f"there is no file or folder {path}.")
    table = read(path, **options)
    for line in table.columns.lines() if table.columns else ():
        typer.echo(line, err=True)
    if table.graph is not None and abs(table.graph - table.graph.T).max() > 1e-6 * abs(table.graph).max():
        raise RemedyError(
            f"the graph {options['graph']!r} of {path} is not symmetric.",
            "choose a graph of edge weights, such as connectivities, not of distances",
        )
    return table


def prepare(
    table: Table, path: Path, *, normalize_counts: bool | None = None, log1p: bool = False,
    top_features: int | None = None, recognize_counts: bool = False, only_dense: bool = False,
) -> tuple[Table, list[str]]:  # fmt: skip
    """Return the table for an estimator, dense if it takes ``only_dense`` matrices, and the preprocessing in words.

    ``path`` is named in errors. ``recognize_counts``: unless something else is asked for, counts are prepared as
    :func:`graphlowrank.anndata.cluster` does by default.
    """
    complete = check_finite(table, path)
    values, n_features, names = table.values, table.shape[1], table.feature_names
    recognized = recognize_counts and normalize_counts is None and not log1p and are_counts(values)
    normalize_counts = recognized or bool(normalize_counts)
    top_features = TOP_OF_COUNTS if recognized and top_features is None else top_features
    keep_sparse = sp.issparse(values) and complete and not only_dense
    n_kept = min(top_features or n_features, n_features)
    copies = normalize_counts or log1p or n_kept < n_features or sp.issparse(values) or values.dtype.kind != "f"
    if copies and not keep_sparse:
        check_memory(values, n_kept, path)  # before the passes through all values
    if normalize_counts or log1p:
        _check_logarithms(values, path, normalize_counts=normalize_counts)
    X, columns, steps = preprocess(
        values, normalize=normalize_counts, log1p=log1p, n_top_features=n_kept, keep_sparse=keep_sparse
    )  # fmt: skip
    if recognized:
        steps.insert(0, "all values are counts, hence the following; --no-normalize-counts keeps them")
    if columns is not None and names is not None:
        names = tuple(names[column] for column in columns)
    if not complete:
        steps.insert(0, _count_missing(X, table, columns, path))
    picture = table.picture if columns is None else None  # a selection of pixels is no image
    return replace(
        table, values=X, feature_names=names, picture=picture, logs=normalize_counts or log1p
    ), steps  # fmt: skip


def quote_formulas(table: Table) -> Table:
    """Return the table with an apostrophe before names that a spreadsheet would run, such as =cmd."""
    samples, features = (
        names and tuple(f"'{name}" if name.lstrip(" ").startswith(FORMULA_STARTS) else name for name in names)
        for names in (table.sample_names, table.feature_names)
    )
    return replace(table, sample_names=samples, feature_names=features)


def check_memory(values: Any, n_features: int, path: Path) -> None:
    """Raise if a dense matrix of ``n_features`` features, and the copy of a fit, would not fit into memory."""
    n_samples = values.shape[0]
    needed, allowed = COPIES * n_samples * n_features * float_type(values.dtype).itemsize, allowed_bytes()
    if needed > allowed:
        raise RemedyError(
            f"{path} needs {needed / 2**30:.1f} GiB as a dense matrix of {n_samples} x {n_features}, and "
            f"{allowed / 2**30:.1f} GiB are free.",
            FEWER_FEATURES,
        )


def check_finite(table: Table, path: Path) -> bool:
    """Raise if values are infinite, with their number and the first position; return whether none is missing."""
    if table.values.dtype.kind != "f":
        return True
    n_infinite, first = 0, (0, 0)
    for rows, block in blocks(table.values):
        infinite = np.isinf(stored_values(block))
        if infinite.any() and not n_infinite:
            entries = sp.coo_array(block)
            index = np.flatnonzero(np.isinf(entries.data))[0]
            first = (rows.start + int(entries.row[index]), int(entries.col[index]))
        n_infinite += int(np.count_nonzero(infinite))
    if n_infinite:
        count = "1 infinite value" if n_infinite == 1 else f"{n_infinite} infinite values"
        raise RemedyError(
            f"{path} has {count}, the first in row {_position(table.sample_names, first[0])}, "
            f"column {_position(table.feature_names, first[1])}.",
            "replace them by numbers, or leave the cells empty: values may be missing",
        )
    return is_complete(table.values)


def _count_missing(X: Any, table: Table, columns: Array | None, path: Path) -> str:
    """Return the number of missing values in words; raise if a sample or a feature has no value at all."""
    counts = [n_missing(block) for _, block in blocks(X)]
    in_rows, in_columns = np.concatenate([rows for rows, _ in counts]), sum(missing for _, missing in counts)
    empty_rows, empty_columns = np.flatnonzero(in_rows == X.shape[1]), np.flatnonzero(in_columns == X.shape[0])
    if len(empty_rows):
        kept, more_features = ("", "") if columns is None else (" of the kept features", ", or keep more features")
        place = f"row {_position(table.sample_names, int(empty_rows[0]))}{_others(empty_rows, 'rows')}"
        raise RemedyError(f"{path} has no value{kept} in {place}.", f"remove rows without any value{more_features}")
    if len(empty_columns):
        first = int(empty_columns[0] if columns is None else columns[empty_columns[0]])
        place = f"column {_position(table.feature_names, first)}{_others(empty_columns, 'columns')}"
        raise RemedyError(f"{path} has no value in {place}.", "remove columns without any value")
    total = int(in_rows.sum())
    return f"{total} of {X.shape[0] * X.shape[1]} values {'is' if total == 1 else 'are'} missing"


def _check_logarithms(values: Any, path: Path, *, normalize_counts: bool) -> None:
    least = min(float(np.fmin.reduce(stored_values(block), axis=None, initial=0)) for _, block in blocks(values))
    if normalize_counts and least < 0:
        raise RemedyError(
            f"{path} has negative values, down to {least:g}: these are not counts.",
            "omit --normalize-counts, or select the counts by --key",
        )
    if least <= -1:
        raise RemedyError(f"{path} has values down to {least:g}, which have no log(1 + x).", "omit --log1p")


def _position(names: tuple[str, ...] | None, index: int) -> str:
    return str(index + 1) if names is None else f"{index + 1} ({names[index][:60]!r})"


def _others(empty: Array, kind: str) -> str:
    return "" if len(empty) == 1 else f", nor in {len(empty) - 1} other {kind}"
