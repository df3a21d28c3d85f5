"""HDF5 files: plain ones and AnnData's, in the layout that its own documentation describes."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..._backend import Array
from ..._reading import refusal
from ..packages import need
from ..reading.hdf5 import open_hdf5
from ..reading.hdf5_kinds import index_of, n_obs
from .places import placing
from .rows import Rows

INDEX = "_index"  # column of names in files of ours; AnnData allows no other column of that name
_GROUPS = ("layers", "obsm", "obsp", "uns", "varm", "varp")


def write_h5(path: Path, rows: Rows) -> None:
    """Matrix "X", in one piece so that readers can map it; "sample_names" and "feature_names" beside it."""
    h5py = need("h5py", f"Writing {path.suffix} files")
    with placing(path) as place, h5py.File(place, "x") as file:
        _put_rows(file, rows)
        for name, names in {"sample_names": rows.sample_names, "feature_names": rows.feature_names}.items():
            if names is not None:
                file.create_dataset(name, data=list(names), dtype=h5py.string_dtype())


def write_h5ad(path: Path, rows: Rows) -> None:
    """AnnData with nothing but X and names."""
    h5py = need("h5py", "Writing .h5ad files")
    with placing(path) as place, h5py.File(place, "x") as file:
        _start(file, rows.sample_names or _count(rows.shape[0]), rows.feature_names or _count(rows.shape[1]))
        _marked(_put_rows(file, rows), "array", "0.2.0")


def write_h5ad_labels(
    path: Path, columns: dict[str, Array], scores: Array | None, names: tuple[str, ...] | None, source: Path | None
) -> None:
    """Columns in ``obs`` and scores in ``obsm`` of a copy of an .h5ad file, or of a new one.

    Whole numbers and words become categories, which is what tools for single cells expect of clusters; the scores are
    called after the first column.
    """
    h5py = need("h5py", "Writing .h5ad files")
    n_samples = len(next(iter(columns.values())))
    check_h5ad_columns(columns, source, n_samples, names)
    with placing(path) as place:
        if source is not None:
            shutil.copyfile(source, place)
        with h5py.File(place, "x" if source is None else "r+") as file:
            if source is None:
                _start(file, names or _count(n_samples), ())
            for column, values in columns.items():
                _put_column(h5py, file["obs"], column, values)
            if scores is not None:
                _put_scores(file, f"X_{next(iter(columns))}", scores)


def check_h5ad_columns(
    columns: Iterable[str], source: Path | None, n_samples: int | None = None, names: tuple[str, ...] | None = None
) -> None:
    """Raise ValueError unless columns can be added to an .h5ad file, or a new one if ``source`` is None.

    The file must be whole, which a damaged one that could crash this process is not, and of these samples, if they are
    named; its index must not be called like one of the columns.
    """
    index = INDEX
    if source is not None:
        with open_hdf5(source) as file:
            found = None if n_samples is None else index_of(file, "obs", n_samples)
            if n_samples is not None and n_obs(file) not in {n_samples, None}:
                raise refusal(source, f"has {n_obs(file)} samples; there are labels for {n_samples}.")
            if "obs" not in file.nodes or file.nodes["obs"].shape is not None:
                raise refusal(source, "has no table of samples (obs) as AnnData has written it since version 0.7.")
            index = str(file.nodes["obs"].attributes.get("_index", INDEX))
        if names is not None and found is not None and names != found:
            raise refusal(source, "has samples of other names than those of the labels.")
    for column in columns:
        if column in (INDEX, index):
            raise ValueError(f"column must not be {column!r}, which holds the names of the samples.")


def _put_rows(file: Any, rows: Rows) -> Any:
    out = file.create_dataset("X", rows.shape, rows.dtype)
    start = 0
    for block in rows.blocks():
        out[start : start + len(block)] = block
        start += len(block)
    return out


def _start(file: Any, samples: Sequence[str], features: Sequence[str]) -> None:
    """Write what every AnnData file has."""
    _marked(file, "anndata", "0.1.0")
    for name, index in {"obs": samples, "var": features}.items():
        group = _marked(file.create_group(name), "dataframe", "0.2.0")
        group.attrs["_index"] = INDEX
        group.attrs["column-order"] = np.empty(0, dtype=float)
        _put_strings(group, INDEX, index)
    for name in _GROUPS:
        _marked(file.create_group(name), "dict", "0.1.0")


def _put_strings(group: Any, name: str, strings: Sequence[str]) -> None:
    h5py = need("h5py", "Writing .h5ad files")
    array = np.array(strings, dtype=object)
    _marked(group.create_dataset(name, data=array, dtype=h5py.string_dtype()), "string-array", "0.2.0")


def _put_column(h5py: Any, obs: Any, name: str, values: Array) -> None:
    """Write a column as the last one: categories, or numbers as they are; an older one of that name goes."""
    kept = [each for each in map(_word, obs.attrs.get("column-order", ())) if each != name]
    if name in obs:
        del obs[name]
    if values.dtype.kind == "f":
        _marked(obs.create_dataset(name, data=values), "array", "0.2.0")
    else:
        categories, codes = np.unique(values, return_inverse=True)
        group = _marked(obs.create_group(name), "categorical", "0.2.0")
        group.attrs["ordered"] = False
        _put_strings(group, "categories", [str(category) for category in categories])
        codes = codes.ravel().astype(np.min_scalar_type(-len(categories)))
        _marked(group.create_dataset("codes", data=codes), "array", "0.2.0")
    obs.attrs.create("column-order", [*kept, name], dtype=h5py.string_dtype())


def _put_scores(file: Any, name: str, scores: Array) -> None:
    if "obsm" not in file:
        _marked(file.create_group("obsm"), "dict", "0.1.0")
    if name in file["obsm"]:
        del file["obsm"][name]
    _marked(file["obsm"].create_dataset(name, data=scores), "array", "0.2.0")


def _marked(item: Any, kind: str, version: str) -> Any:
    item.attrs["encoding-type"], item.attrs["encoding-version"] = kind, version
    return item


def _word(name: str | bytes) -> str:
    return name.decode() if isinstance(name, bytes) else str(name)


def _count(length: int) -> tuple[str, ...]:
    return tuple(map(str, range(length)))
