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
from .hdf5 import write_h5ad_labels
from .rows import checked_names


@dataclass(frozen=True)
class _Labels:
    labels: Array
    names: tuple[str, ...] | None
    scores: Array | None
    column: str
    source: Path | None

    @property
    def score_names(self) -> list[str]:
        return [f"score_{number}" for number in range(0 if self.scores is None else self.scores.shape[1])]


def write_labels(
    path: str | os.PathLike[str],
    labels: Any,
    sample_names: Sequence[str] | None = None,
    *,
    scores: Any = None,
    column: str = "label",
    source: str | os.PathLike[str] | None = None,
) -> None:
    r"""Write a label for each sample; the file is whole or not there.

    Parameters
    ----------
    path
        A file .csv, .tsv, .parquet, .npz, .json, .npy (labels only) or .h5ad (``obs[column]`` as categories, scores as
        ``obsm["X_<column>"]``).
    labels
        (n_samples,) whole numbers or words.
    sample_names
        (n_samples,) without them, samples are counted from 0.
    scores
        (n_samples, k) numbers of each sample, such as coordinates.
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
    ...     write_labels(path, [1, 0], ["a", "b"])
    ...     path.read_text()
    'sample,label\na,1\nb,0\n'
    """
    path, extension = Path(path), Path(path).suffix.lower()
    if extension not in _WRITERS:
        raise ValueError(f"{path} is not of a known kind: {', '.join(_WRITERS)}.")
    if source is not None and extension != ".h5ad":
        raise ValueError(f"source is for .h5ad files; got {path}.")
    labels = np.asarray(labels)
    if labels.ndim != 1 or labels.dtype.kind not in "uiU" or not len(labels):
        raise ValueError(f"labels must be whole numbers or words, one a sample; got {labels.dtype} {labels.shape}.")
    if not column or "/" in column:
        raise ValueError(f"column must be a name without a slash; got {column!r}.")
    if scores is not None:
        scores = np.asarray(scores)
        if scores.ndim != 2 or len(scores) != len(labels) or scores.dtype.kind not in "buif":
            raise ValueError(f"scores must be numbers of shape ({len(labels)}, k); got {scores.shape}.")
    names = checked_names(sample_names, len(labels), "sample_names")
    _WRITERS[extension](path, _Labels(labels, names, scores, column, Path(source) if source is not None else None))


def _named(found: _Labels) -> tuple[str, ...]:
    return found.names if found.names is not None else tuple(map(str, range(len(found.labels))))


def _write_text(path: Path, found: _Labels) -> None:
    scores = found.scores.tolist() if found.scores is not None else [[]] * len(found.labels)
    with writing(path) as file:
        text = io.TextIOWrapper(file, "utf-8", newline="", write_through=True)
        out = csv.writer(text, delimiter="\t" if path.suffix.lower() == ".tsv" else ",", lineterminator="\n")
        out.writerow(["sample", found.column, *found.score_names])
        for name, label, more in zip(_named(found), found.labels.tolist(), scores, strict=True):
            out.writerow([name, label, *more])
        text.detach()


def _write_parquet(path: Path, found: _Labels) -> None:
    parquet = need("pyarrow.parquet", "Writing parquet files")
    import pyarrow as pa

    scores = found.scores.T if found.scores is not None else ()
    columns = [
        pa.array(_named(found)),
        pa.array(found.labels),
        *(pa.array(np.ascontiguousarray(one)) for one in scores),
    ]
    table = pa.Table.from_arrays(columns, names=["sample", found.column, *found.score_names])
    with writing(path) as file:
        parquet.write_table(table, file)


def _write_npy(path: Path, found: _Labels) -> None:
    with writing(path) as file:
        npy_format.write_array(file, found.labels, allow_pickle=False)


def _write_npz(path: Path, found: _Labels) -> None:
    arrays = {"labels": found.labels, "sample_names": found.names, "scores": found.scores}
    with writing(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in arrays.items():
            if array is not None:
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    npy_format.write_array(member, np.asarray(array), allow_pickle=False)


def _write_json(path: Path, found: _Labels) -> None:
    content = {"sample_names": list(_named(found)), found.column: found.labels.tolist()}
    if found.scores is not None:  # JSON has no NaN
        content["scores"] = [[x if math.isfinite(x) else None for x in row] for row in found.scores.tolist()]
    write_atomically(path, json.dumps(content, ensure_ascii=False, allow_nan=False) + "\n")


def _write_h5ad(path: Path, found: _Labels) -> None:
    write_h5ad_labels(path, {found.column: found.labels}, found.scores, found.names, found.source)


_WRITERS: dict[str, Callable[[Path, _Labels], None]] = {
    ".csv": _write_text,
    ".tsv": _write_text,
    ".parquet": _write_parquet,
    ".npy": _write_npy,
    ".npz": _write_npz,
    ".json": _write_json,
    ".h5ad": _write_h5ad,
}
