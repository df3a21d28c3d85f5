"""A label, and scores, for each sample, to any of the formats."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy_format

from ..._backend import Array
from ..._files import write_atomically, writing
from ..packages import need
from .hdf5 import check_h5ad_columns, write_h5ad_labels
from .rows import checked_names

CONFIDENCE = "confidence"
SAMPLE = "sample"


@dataclass(frozen=True)
class _Labels:
    labels: Array
    names: tuple[str, ...] | None
    confidence: Array | None
    scores: Array | None
    score_names: tuple[str, ...]
    column: str
    source: Path | None

    def columns(self, *, rounded: bool = False) -> dict[str, Array | tuple[str, ...]]:
        """Name and values of each column of a table, (n_samples,)."""
        names = self.names if self.names is not None else tuple(map(str, range(len(self.labels))))
        found: dict[str, Array | tuple[str, ...]] = {SAMPLE: names, self.column: self.labels}
        if self.confidence is not None:
            # Four digits: more would say nothing, and differ between machines.
            found[CONFIDENCE] = np.round(self.confidence, 4) if rounded else self.confidence
        scores = () if self.scores is None else np.ascontiguousarray(self.scores.T)
        return found | dict(zip(self.score_names, scores, strict=True))


def write_labels(
    path: str | os.PathLike[str],
    labels: Any,
    sample_names: Sequence[str] | None = None,
    *,
    confidence: Any = None,
    scores: Any = None,
    score_names: Sequence[str] | None = None,
    column: str = "label",
    source: str | os.PathLike[str] | None = None,
) -> None:
    r"""Write a label for each sample; the file is whole or not there.

    Parameters
    ----------
    path
        A file .csv, .tsv, .parquet, .npz, .json, .npy (labels only) or .h5ad (``obs[column]`` as categories,
        ``obs["<column>_confidence"]``, scores as ``obsm["X_<column>"]``).
    labels
        (n_samples,) whole numbers or words.
    sample_names
        (n_samples,) without them, samples are counted from 0.
    confidence
        (n_samples,) numbers; rounded to four digits in text and JSON.
    scores
        (n_samples, k) numbers of each sample, such as coordinates.
    score_names
        (k,) names of their columns, "score_0", "score_1", ... if not given; .h5ad files have none.
    column
        How the labels are called.
    source
        An .h5ad file to which labels and scores are added: ``path`` is a copy of it, or the file itself, which is
        replaced once the new one is complete. It must have as many samples, of the same names.

    Raises
    ------
    ValueError
        If the extension is not known, or the parts do not fit each other.
    OSError
        "cannot write <path>: <reason>".
    ImportError
        If the package that writes this kind of file is missing.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "labels.csv")
    ...     write_labels(path, [1, 0], ["a", "b"], confidence=[0.987654, 1])
    ...     path.read_text()
    'sample,label,confidence\na,1,0.9877\nb,0,1.0\n'
    """
    path, source = Path(path), Path(source) if source is not None else None
    _check_name(path, column, source)
    labels = np.asarray(labels)
    if labels.ndim != 1 or labels.dtype.kind not in "uiU" or not len(labels):
        raise ValueError(f"labels must be whole numbers or words, one a sample; got {labels.dtype} {labels.shape}.")
    names = checked_names(sample_names, len(labels), "sample_names")
    confidence = _numbers(confidence, "confidence", len(labels), ndim=1)
    scores = _numbers(scores, "scores", len(labels), ndim=2)
    of_scores = _checked_score_names(score_names, 0 if scores is None else scores.shape[1], column)
    _WRITERS[path.suffix.lower()](path, _Labels(labels, names, confidence, scores, of_scores, column, source))


def check_labels_place(path: Path, column: str = "label", source: Path | None = None) -> None:
    """Raise if labels and their confidence could not be written there, whatever they are: before they are worked out.

    See :func:`write_labels` for the parameters and errors.
    """
    _check_name(path, column, source)
    if path.suffix.lower() == ".parquet":
        need("pyarrow", "Writing parquet files")
    if path.suffix.lower() == ".h5ad":
        need("h5py", "Writing .h5ad files")
        check_h5ad_columns(_columns_of_obs(column), source)


def _check_name(path: Path, column: str, source: Path | None) -> None:
    extension = path.suffix.lower()
    if extension not in _WRITERS:
        raise ValueError(f"{path} is not of a known kind: {', '.join(_WRITERS)}.")
    if source is not None and extension != ".h5ad":
        raise ValueError(f"source is for .h5ad files; got {path}.")
    if not column or "/" in column or column == "." or not column.isprintable():
        raise ValueError(f"column must be a name without a slash; got {column!r}.")
    if column in (SAMPLE, CONFIDENCE):
        raise ValueError(f"column must not be {column!r}: that is the name of something else in the file.")


def _numbers(values: Any, name: str, n_samples: int, *, ndim: int) -> Array | None:
    if values is None:
        return None
    values = np.asarray(values)
    if values.ndim != ndim or len(values) != n_samples or values.dtype.kind not in "buif":
        shape = f"({n_samples},)" if ndim == 1 else f"({n_samples}, k)"
        raise ValueError(f"{name} must be numbers of shape {shape}; got {values.shape}.")
    return values


def _checked_score_names(names: Sequence[str] | None, length: int, column: str) -> tuple[str, ...]:
    if names is None:
        names = [f"score_{number}" for number in range(length)]
    found = checked_names(names, length, "score_names") or ()
    if len({SAMPLE, CONFIDENCE, column, *found}) < 3 + len(found):
        raise ValueError(f"score_names must differ from one another and from those of other columns; got {found}.")
    return found


def _columns_of_obs(column: str) -> tuple[str, str]:
    return column, f"{column}_{CONFIDENCE}"


def _write_text(path: Path, found: _Labels) -> None:
    columns = found.columns(rounded=True)
    with writing(path) as file:
        text = io.TextIOWrapper(file, "utf-8", newline="", write_through=True)
        out = csv.writer(text, delimiter="\t" if path.suffix.lower() == ".tsv" else ",", lineterminator="\n")
        out.writerow(columns)
        out.writerows(zip(*map(_listed, columns.values()), strict=True))
        text.detach()


def _write_parquet(path: Path, found: _Labels) -> None:
    parquet = need("pyarrow.parquet", "Writing parquet files")
    import pyarrow as pa

    columns = found.columns()
    table = pa.Table.from_arrays([pa.array(column) for column in columns.values()], names=list(columns))
    with writing(path) as file:
        parquet.write_table(table, file)


def _write_npy(path: Path, found: _Labels) -> None:
    with writing(path) as file:
        npy_format.write_array(file, found.labels, allow_pickle=False)


def _write_npz(path: Path, found: _Labels) -> None:
    arrays = {
        "labels": found.labels, "sample_names": found.names, CONFIDENCE: found.confidence, "scores": found.scores,
        "score_names": None if found.scores is None else found.score_names,
    }  # fmt: skip
    with writing(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in arrays.items():
            if array is not None:
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    npy_format.write_array(member, np.asarray(array), allow_pickle=False)


def _write_json(path: Path, found: _Labels) -> None:
    content = {name: _listed(column) for name, column in found.columns(rounded=True).items()}
    for name, column in content.items():  # JSON has no NaN
        content[name] = [None if isinstance(x, float) and not math.isfinite(x) else x for x in column]
    write_atomically(path, json.dumps(content, ensure_ascii=False, allow_nan=False) + "\n")


def _write_h5ad(path: Path, found: _Labels) -> None:
    label, confidence = _columns_of_obs(found.column)
    columns = {label: found.labels}
    if found.confidence is not None:
        columns[confidence] = found.confidence
    write_h5ad_labels(path, columns, found.scores, found.names, found.source)


def _listed(column: Array | tuple[str, ...]) -> list[Any]:
    return column.tolist() if isinstance(column, np.ndarray) else list(column)


_WRITERS: dict[str, Callable[[Path, _Labels], None]] = {
    ".csv": _write_text,
    ".tsv": _write_text,
    ".parquet": _write_parquet,
    ".json": _write_json,
    ".npz": _write_npz,
    ".npy": _write_npy,
    ".h5ad": _write_h5ad,
}
