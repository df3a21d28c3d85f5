"""Labels, and scores, of samples: written to any of the formats."""

import json
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy_format

from .._files import write_atomically, writing
from .._typing import Array
from .formats import find_writer
from .hdf5 import check_h5ad_columns
from .table import checked_names
from .text import write_lines

CONFIDENCE = "confidence"
SAMPLE = "sample"


@dataclass(frozen=True)
class Labels:
    """Labels to be written, checked by :func:`write_labels`, which describes them."""

    labels: Array
    names: tuple[str, ...] | None
    confidence: Array | None
    scores: Array | None
    score_names: tuple[str, ...]
    column: str
    source: Path | None

    def columns(self, *, rounded: bool = False) -> dict[str, Array]:
        """Return the columns of a table by name, each of length n_samples."""
        names = self.names or tuple(map(str, range(len(self.labels))))
        found: dict[str, Array] = {SAMPLE: np.array(names, dtype=object), self.column: self.labels}
        if self.confidence is not None:
            # Four digits in text: further ones differ between machines.
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
    """Write a label, an integer or a string, for each sample; an interrupted write leaves no file.

    ``confidence`` (n_samples,) is rounded to four digits in text and JSON. ``scores`` (n_samples, n_scores) are columns
    called ``score_names``. An .npy file holds labels only; an .h5ad file ``obs[column]`` as categories,
    ``obs["<column>_confidence"]``, and scores as ``obsm["X_<column>"]``. They are added to a copy of the .h5ad file
    ``source``, if given, which may be ``path`` itself and must have samples of the same names.
    """
    path, source = Path(path), Path(source) if source is not None else None
    write = _checked_writer(path, column, source)
    labels = np.asarray(labels)
    if labels.ndim != 1 or labels.dtype.kind not in "uiU" or not len(labels):
        raise ValueError(f"labels must be integers or strings, one per sample; got {labels.dtype} {labels.shape}.")
    names = checked_names(sample_names, len(labels), "sample_names")
    confidence = _checked_numbers(confidence, "confidence", len(labels), ndim=1)
    scores = _checked_numbers(scores, "scores", len(labels), ndim=2)
    n_scores = 0 if scores is None else scores.shape[1]
    given = [f"score_{number}" for number in range(n_scores)] if score_names is None else score_names
    of_scores = checked_names(given, n_scores, "score_names") or ()
    if len({SAMPLE, CONFIDENCE, column, *of_scores}) < 3 + len(of_scores):
        raise ValueError(f"score_names must differ from one another and from those of other columns; got {of_scores}.")
    write(path, Labels(labels, names, confidence, scores, of_scores, column, source))


def check_labels_path(path: Path, column: str = "label", source: Path | None = None) -> None:
    """Raise the errors of :func:`write_labels` that do not depend on the labels: before they are computed."""
    _checked_writer(path, column, source)
    if path.suffix.lower() == ".h5ad":
        check_h5ad_columns([column, f"{column}_{CONFIDENCE}"], source)


def _checked_writer(path: Path, column: str, source: Path | None) -> Callable[..., None]:
    write = find_writer(path, "label_writer")
    if source is not None and path.suffix.lower() != ".h5ad":
        raise ValueError(f"source is for .h5ad files; got {path}.")
    if not column or "/" in column or column == "." or not column.isprintable():
        raise ValueError(f"column must be a name without a slash; got {column!r}.")
    if column in (SAMPLE, CONFIDENCE):
        raise ValueError(f"column must not be {column!r}: that is the name of something else in the file.")
    return write


def _checked_numbers(values: Any, name: str, n_samples: int, *, ndim: int) -> Array | None:
    if values is None:
        return None
    found: Array = np.asarray(values)
    if found.ndim != ndim or len(found) != n_samples or found.dtype.kind not in "buif":
        shape = f"({n_samples},)" if ndim == 1 else f"({n_samples}, k)"
        raise ValueError(f"{name} must be numbers of shape {shape}; got {found.shape}.")
    return found


def write_text(path: Path, found: Labels) -> None:
    """Write columns as .csv or .tsv."""
    columns = found.columns(rounded=True)
    write_lines(path, [columns], zip(*(column.tolist() for column in columns.values()), strict=True))


def write_parquet(path: Path, found: Labels) -> None:
    """Write columns as .parquet."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with writing(path) as file:
        pq.write_table(pa.table(found.columns()), file)


def write_json(path: Path, found: Labels) -> None:
    """Write columns as lists; NaN, which JSON does not have, as null."""
    content = {
        name: [None if isinstance(value, float) and not math.isfinite(value) else value for value in column.tolist()]
        for name, column in found.columns(rounded=True).items()
    }
    write_atomically(path, json.dumps(content, ensure_ascii=False, allow_nan=False) + "\n")


def write_npy(path: Path, found: Labels) -> None:
    """Write the labels alone."""
    with writing(path) as file:
        npy_format.write_array(file, found.labels, allow_pickle=False)


def write_npz(path: Path, found: Labels) -> None:
    """Write an array for each part."""
    score_names = None if found.scores is None else found.score_names
    arrays: dict[str, Any] = {"labels": found.labels, "sample_names": found.names, CONFIDENCE: found.confidence,
              "scores": found.scores, "score_names": score_names}  # fmt: skip
    arrays = {name: np.asarray(each) for name, each in arrays.items() if each is not None}
    with writing(path) as file:
        np.savez_compressed(file, **arrays)
