"""HDF5 files, also those of AnnData (.h5ad) in their documented layout, by h5py; read in the worker process."""

import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._files import invalid_file, placing
from .contents import as_text, choose, entries_of, is_dataset, need, read_matrix
from .worker import FileArray, run_guarded

if TYPE_CHECKING:
    from .labels import Labels
    from .table import Rows

MAX_LEVELS = 4
MAX_ITEMS = 20_000
INDEX = "_index"  # column of AnnData's names in files written here; AnnData allows no other column of that name


def read_hdf5(path: Path, key: str | None = None) -> dict[str, Any]:
    """Read an .h5 file: an array, or a group with the parts of a sparse matrix."""
    items = open_items(path)
    key = choose(entries_of(items), key.strip("/") if key else key, path)
    values, shape = read_matrix(items, key, path, as_array)
    folder = key.rpartition("/")[0]
    samples, features = (
        strings(items.get(f"{folder}/{name}".strip("/")), length)
        for name, length in zip(("sample_names", "feature_names"), shape, strict=True)
    )
    return {"values": values, "sample_names": samples, "feature_names": features}


def open_items(path: Path) -> dict[str, Any]:
    """Return the datasets and groups of a file by name, the root as ""; links to other files are not followed."""
    need("h5py", f"Reading {path.suffix} files")
    import h5py

    def walk(group: Any, prefix: str, level: int) -> Iterator[tuple[str, Any]]:
        for name in group:
            if isinstance(group.get(name, getlink=True), h5py.HardLink):
                item = group[name]
                if isinstance(item, h5py.Dataset | h5py.Group):
                    yield f"{prefix}{name}", item
                if isinstance(item, h5py.Group) and level < MAX_LEVELS:
                    yield from walk(item, f"{prefix}{name}/", level + 1)

    file = h5py.File(path, "r")
    items = {"": file}
    for name, item in walk(file, "", 1):
        items[name] = item
        if len(items) >= MAX_ITEMS:
            break
    return items


def as_array(item: Any, path: Path) -> Any:
    """Return an array that the worker can send; one that lies uncompressed in the file is mapped."""
    if item.external or item.is_virtual:
        raise invalid_file(path, f"keeps the values of {item.name[1:]!r} in other files, which are not followed.")
    offset = item.id.get_offset() if item.chunks is None else None
    return item if offset is None or not item.size else FileArray(item.shape, item.dtype, offset)


def strings(item: Any, limit: int) -> list[str] | None:
    """Return the strings of a dataset; None if it has none, or more than ``limit``."""
    import h5py

    if not is_dataset(item) or h5py.check_string_dtype(item.dtype) is None or item.ndim != 1 or item.size > limit:
        return None
    return [as_text(value) for value in item[:].tolist()]


def write_hdf5(path: Path, rows: "Rows") -> None:
    """Write a matrix as "X", contiguous so that readers can map it; "sample_names" and "feature_names" beside it."""
    import h5py

    with placing(path) as place, h5py.File(place, "x") as file:
        rows.fill(file.create_dataset("X", rows.shape, rows.dtype))
        for name, names in rows.names.items():
            file.create_dataset(name, data=list(names), dtype=h5py.string_dtype())


# --- AnnData ---


def read_h5ad(path: Path, key: str | None = None, graph: str | None = None) -> dict[str, Any]:
    """Read X, a layer or "raw", the names of samples and features and, if asked for, a graph of ``obsp``."""
    items = open_items(path)
    tables = {"X": "X", **{name.removeprefix("layers/"): name for name in _children(items, "layers")}, "raw": "raw/X"}
    tables = {short: full for short, full in tables.items() if full in items}
    key = "X" if key is None else key
    if key not in tables:
        raise invalid_file(path, f"holds no {key!r}; choose by key one of: {', '.join(tables) or 'none'}.")
    values, (n_samples, n_features) = read_matrix(items, tables[key], path, as_array)
    found = {
        "values": values,
        "sample_names": strings(_index(items, "obs"), n_samples),
        "feature_names": strings(_index(items, "raw/var" if key == "raw" else "var"), n_features),
    }
    if graph is not None:
        graphs = _children(items, "obsp")
        if f"obsp/{graph}" not in graphs:
            there = ", ".join(name.removeprefix("obsp/") for name in graphs) or "none"
            raise invalid_file(path, f"holds no graph {graph!r}; it holds {there}.")
        found["graph"] = read_matrix(items, f"obsp/{graph}", path, as_array)[0]
    return found


def describe_h5ad(path: Path, n_samples: int | None) -> dict[str, Any]:
    """Return what is needed to add columns: number and names of the samples, and the name of their index."""
    items = open_items(path)
    obs, index = items.get("obs"), _index(items, "obs")
    return {
        "index": None if obs is None or is_dataset(obs) else _index_name(obs),
        "n_samples": index.size if is_dataset(index) else None,
        "names": None if n_samples is None else strings(index, n_samples),
    }


def _children(items: dict[str, Any], group: str) -> list[str]:
    return [name for name in items if name.startswith(f"{group}/") and name.count("/") == 1]


def _index_name(group: Any) -> str:
    return as_text(group.attrs.get("_index", INDEX))


def _index(items: dict[str, Any], group: str) -> Any:
    """Return the dataset with the names of rows or columns; an attribute of the group names the column."""
    if group not in items:
        return None
    column = f"{group}/{_index_name(items[group])}"
    return items.get(f"{column}/values", items.get(column))  # "values": strings with missing ones


def write_h5ad(path: Path, rows: "Rows") -> None:
    """Write an AnnData file with X and names only."""
    import h5py

    with placing(path) as place, h5py.File(place, "x") as file:
        _start(file, rows.sample_names or _count(rows.shape[0]), rows.feature_names or _count(rows.shape[1]))
        _mark(rows.fill(file.create_dataset("X", rows.shape, rows.dtype)), "array")


def write_h5ad_labels(path: Path, labels: "Labels") -> None:
    """Add columns to ``obs`` and scores to ``obsm``, in a copy of an .h5ad file or in a new one."""
    import h5py

    columns = {labels.column: labels.labels}
    if labels.confidence is not None:
        columns[f"{labels.column}_confidence"] = labels.confidence
    check_h5ad_columns(columns, labels.source, len(labels.labels), labels.names)
    with placing(path) as place:
        if labels.source is not None:
            shutil.copyfile(labels.source, place)
        with h5py.File(place, "x" if labels.source is None else "r+") as file:
            if labels.source is None:
                _start(file, labels.names or _count(len(labels.labels)), ())
            for name, values in columns.items():
                _write_column(file["obs"], name, values)
            if labels.scores is not None:
                obsm = file["obsm"] if "obsm" in file else _mark(file.create_group("obsm"), "dict", "0.1.0")
                _write_array(obsm, f"X_{labels.column}", labels.scores)


def check_h5ad_columns(
    columns: Iterable[str], source: Path | None, n_samples: int | None = None, names: tuple[str, ...] | None = None
) -> None:
    """Raise ValueError unless columns can be added to ``source``, which must have these samples, or to a new file."""
    index = INDEX
    if source is not None:
        found = run_guarded(f"{__name__}:describe_h5ad", source, n_samples=n_samples)
        if found["index"] is None:
            raise invalid_file(source, "has no table of samples (obs) as AnnData has written it since version 0.7.")
        if n_samples is not None and found["n_samples"] not in {n_samples, None}:
            raise invalid_file(source, f"has {found['n_samples']} samples; there are labels for {n_samples}.")
        if names is not None and found["names"] is not None and list(names) != found["names"]:
            raise invalid_file(source, "has samples of other names than those of the labels.")
        index = found["index"]
    for column in columns:
        if column in (INDEX, index):
            raise ValueError(f"column must not be {column!r}, which holds the names of the samples.")


def _start(file: Any, samples: Sequence[str], features: Sequence[str]) -> None:
    """Write what every AnnData file has."""
    _mark(file, "anndata", "0.1.0")
    for name, index in {"obs": samples, "var": features}.items():
        group = _mark(file.create_group(name), "dataframe")
        group.attrs.update({"_index": INDEX, "column-order": np.empty(0, dtype=float)})
        _write_array(group, INDEX, np.array(index, dtype=object))
    for name in ("layers", "obsm", "obsp", "uns", "varm", "varp"):
        _mark(file.create_group(name), "dict", "0.1.0")


def _write_column(obs: Any, name: str, values: np.ndarray) -> None:
    """Write the last column, as numbers or as the categories that single-cell tools expect of clusters."""
    import h5py

    others = [each for each in map(as_text, obs.attrs.get("column-order", ())) if each != name]
    if values.dtype.kind == "f":
        _write_array(obs, name, values)
    else:
        categories, codes = np.unique(values, return_inverse=True)
        if name in obs:
            del obs[name]
        group = _mark(obs.create_group(name), "categorical")
        group.attrs["ordered"] = False
        _write_array(group, "categories", np.array(list(map(str, categories)), dtype=object))
        _write_array(group, "codes", codes.ravel().astype(np.min_scalar_type(-len(categories))))
    obs.attrs.create("column-order", [*others, name], dtype=h5py.string_dtype())


def _write_array(group: Any, name: str, values: np.ndarray) -> None:
    """Write numbers, or strings of type object; an older array of that name is replaced."""
    import h5py

    if name in group:
        del group[name]
    is_text = values.dtype.kind == "O"
    dtype = h5py.string_dtype() if is_text else values.dtype
    _mark(group.create_dataset(name, data=values, dtype=dtype), "string-array" if is_text else "array")


def _mark(item: Any, kind: str, version: str = "0.2.0") -> Any:
    item.attrs["encoding-type"], item.attrs["encoding-version"] = kind, version
    return item


def _count(length: int) -> tuple[str, ...]:
    return tuple(map(str, range(length)))
