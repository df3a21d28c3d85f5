"""The two kinds of HDF5 files with rules of their own: Matlab's of version 7.3, and AnnData's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..._reading import refusal
from .hdf5 import Hdf5, Node, matrix, open_hdf5
from .table import Entry, Table, check_layout, choose, compressed


def read_mat73(path: Path, key: str | None) -> Table:
    """Table of a .mat file of version 7.3, where every array lies transposed."""
    with open_hdf5(path) as file:
        entries = {name: _matlab_entry(node, file.nodes, name) for name, node in file.nodes.items() if _is_top(name)}
        key = choose({name: entry for name, entry in entries.items() if entry}, key, path)
        if file.nodes[key].shape is not None:
            check_layout(file.nodes[key].shape or (), file.nodes[key].dtype, path)
            return Table(file.array(key).T)
        data, rows, ends = (np.asarray(file.array(f"{key}/{part}")) for part in ("data", "ir", "jc"))
        shape = (int(file.nodes[key].attributes["MATLAB_sparse"]), len(ends) - 1)
        return Table(compressed(data, rows, ends, shape, "csc", path))


def _is_top(name: str) -> bool:
    return bool(name) and "/" not in name and not name.startswith("#")  # #refs# and #subsystem# are Matlab's own


def _matlab_entry(node: Node, nodes: dict[str, Node], name: str) -> Entry:
    sparse = node.attributes.get("MATLAB_sparse")
    parts = [nodes.get(f"{name}/{part}") for part in ("data", "ir", "jc")]
    if node.shape is None and isinstance(sparse, int) and all(parts):
        ends = nodes[f"{name}/jc"].shape or (1,)
        return Entry((sparse, ends[0] - 1), nodes[f"{name}/data"].dtype)
    is_text = node.attributes.get("MATLAB_class") in {"char", "cell", "struct"}
    return Entry((node.shape or ())[::-1], None if is_text else node.dtype)


def read_h5ad(path: Path, key: str | None, graph: str | None) -> Table:
    """Table of an .h5ad file: ``X``, a layer, or "raw"; with the names of cells and genes and, if asked, a graph."""
    with open_hdf5(path) as file:
        name, var = _place(file, key)
        values = matrix(file, name)
        n_samples, n_features = values.shape
        samples, features = index_of(file, "obs", n_samples), index_of(file, var, n_features)
        return Table(values, samples, features, None if graph is None else _graph(file, graph))


def _place(file: Hdf5, key: str | None) -> tuple[str, str]:
    """Names of the matrix and of the group that describes its columns."""
    layers = [
        name.removeprefix("layers/") for name in file.nodes if name.count("/") == 1 and name.startswith("layers/")
    ]
    tables = {"X": "X", **{layer: f"layers/{layer}" for layer in layers}, "raw": "raw/X"}
    there = {short: full for short, full in tables.items() if full in file.nodes}
    wanted = "X" if key is None else key
    if wanted not in there:
        raise refusal(file.path, f"holds no {wanted!r}; choose by key one of: {', '.join(there) or 'none'}.")
    return there[wanted], "raw/var" if wanted == "raw" else "var"


def index_of(file: Hdf5, group: str, length: int) -> tuple[str, ...] | None:
    """Names of rows or columns; AnnData says in an attribute which column of the group has them."""
    node = file.nodes.get(group)
    column = f"{group}/{node.attributes.get('_index', '_index')}" if node else ""
    if f"{column}/values" in file.nodes:  # strings of which some may be missing
        column = f"{column}/values"
    return file.strings(column, length)


def n_obs(file: Hdf5) -> int | None:
    """Count the samples by the shape of X, or of their names; None if there is neither."""
    X, obs = file.nodes.get("X"), file.nodes.get("obs")
    shape = X.shape or X.attributes.get("shape") if X else None
    names = file.nodes.get(f"obs/{obs.attributes.get('_index', '_index')}") if obs else None
    shape = shape or (names.shape if names else None)
    return int(shape[0]) if shape else None


def _graph(file: Hdf5, name: str) -> sp.csr_array:
    found: Any = file.nodes.get(f"obsp/{name}")
    if found is None:
        there = [each.removeprefix("obsp/") for each in file.nodes if each.startswith("obsp/") and each.count("/") == 1]
        raise refusal(file.path, f"holds no graph {name!r}; it holds {', '.join(there) or 'none'}.")
    return sp.csr_array(matrix(file, f"obsp/{name}"))
