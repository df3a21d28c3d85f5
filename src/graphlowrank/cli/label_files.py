"""Labels with their confidence, to any of the formats."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .._backend import Array
from ..tables.packages import need
from ..tables.writing.hdf5 import write_h5ad_labels

CONFIDENCE = "confidence"


@dataclass(frozen=True, eq=False)
class Labelled:
    """What a file of labels holds.

    Attributes
    ----------
    labels, confidence
        (n_samples,).
    names
        Of the samples; None counts them from 0.
    column
        How the labels are called.
    coordinates
        (n_samples, k) of each sample; only .h5ad files have them.
    source
        .h5ad file to add to.
    """

    labels: Array
    confidence: Array
    names: tuple[str, ...] | None
    column: str
    coordinates: Array | None = None
    source: Path | None = None

    @property
    def called(self) -> tuple[str, ...]:
        """Names, or numbers of the rows from 0."""
        return self.names if self.names is not None else tuple(map(str, range(len(self.labels))))


def check_kind(path: Path) -> None:
    """Raise if labels cannot be written to a file of this name, or a package is missing for it."""
    if path.suffix.lower() not in WRITERS:
        raise ValueError(f"{path} is not of a known kind: {', '.join(WRITERS)}.")
    if path.suffix.lower() == ".parquet":
        need("pyarrow", "Writing parquet files")
    if path.suffix.lower() == ".h5ad":
        need("h5py", "Writing .h5ad files")


def write(path: Path, found: Labelled) -> None:
    """Write labels by the extension of the file; not atomic, see :func:`.outputs.all_or_none`."""
    WRITERS[path.suffix.lower()](path, found)


def _text(delimiter: str) -> Callable[[Path, Labelled], None]:
    def put(path: Path, found: Labelled) -> None:
        text = io.StringIO()
        out = csv.writer(text, delimiter=delimiter, lineterminator="\n")
        out.writerow(["sample", found.column, CONFIDENCE])
        # Four digits: more would say nothing, and differ between machines.
        rows = zip(found.called, found.labels.tolist(), np.round(found.confidence, 4).tolist(), strict=True)
        out.writerows(rows)
        path.write_text(text.getvalue(), encoding="utf-8", newline="")

    return put


def _json(path: Path, found: Labelled) -> None:
    confidence = np.round(found.confidence, 4).tolist()
    content = {"sample": list(found.called), found.column: found.labels.tolist(), CONFIDENCE: confidence}
    path.write_text(json.dumps(content, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")


def _parquet(path: Path, found: Labelled) -> None:
    parquet = need("pyarrow.parquet", "Writing parquet files")
    import pyarrow as pa

    columns = [pa.array(found.called), pa.array(found.labels), pa.array(found.confidence)]
    parquet.write_table(pa.Table.from_arrays(columns, names=["sample", found.column, CONFIDENCE]), path)


def _npy(path: Path, found: Labelled) -> None:
    with path.open("wb") as file:  # numpy would add an extension to a name in capitals
        np.save(file, found.labels, allow_pickle=False)


def _npz(path: Path, found: Labelled) -> None:
    arrays: dict[str, Any] = {"labels": found.labels, CONFIDENCE: found.confidence}
    if found.names is not None:
        arrays["sample_names"] = np.array(found.names, dtype=str)
    with path.open("wb") as file:
        np.savez_compressed(file, **arrays)


def _h5ad(path: Path, found: Labelled) -> None:
    """Categories in obs, their confidence beside them, coordinates in obsm."""
    write_h5ad_labels(path, {found.column: found.labels}, found.coordinates, found.names, found.source)
    h5py = need("h5py", "Writing .h5ad files")
    name = f"{found.column}_{CONFIDENCE}"
    with h5py.File(path, "r+") as file:
        obs = file["obs"]
        if name in obs:
            del obs[name]
        column = obs.create_dataset(name, data=found.confidence)
        column.attrs["encoding-type"], column.attrs["encoding-version"] = "array", "0.2.0"
        kept = [each for each in obs.attrs["column-order"] if each != name]
        obs.attrs.create("column-order", [*kept, name], dtype=h5py.string_dtype())


WRITERS: dict[str, Callable[[Path, Labelled], None]] = {
    ".csv": _text(","),
    ".tsv": _text("\t"),
    ".parquet": _parquet,
    ".json": _json,
    ".npz": _npz,
    ".npy": _npy,
    ".h5ad": _h5ad,
}
