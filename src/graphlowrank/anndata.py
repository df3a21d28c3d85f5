"""Cluster and map AnnData objects, with the results where single-cell tools expect them.

The anndata package, which ``import anndata`` means here, too, is not imported: any object with its attributes will do.
"""

import sys
from collections.abc import Mapping
from numbers import Real
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from .estimators import CompressiveClustering, CompressiveEmbedding
from .graphs import Graph, as_graph
from .options import check_count
from .preprocessing.counts import are_counts, blocks, preprocess, stays_sparse, stored_values
from .preprocessing.principal import principal_scores


def cluster(
    adata: Any,
    n_clusters: int | Literal["auto"] = "auto",
    *,
    layer: str | None = None,
    use_rep: str | None = None,
    neighbors_key: str | None = None,
    normalize_counts: bool | Literal["auto"] = "auto",
    n_top_features: int | None = 2000,
    key_added: str = "graphlowrank",
    copy: bool = False,
    random_state: Any = None,
    **options: Any,
) -> Any:
    """Cluster the cells of an AnnData object with :class:`~graphlowrank.CompressiveClustering`.

    Adds ``obs[key_added]``, the cluster of each cell (categories "0", "1", ...); ``obs["<key_added>_confidence"]``, its
    membership in that cluster; ``obsm["X_<key_added>"]``, principal scores, 1.5 times as many as clusters; and
    ``uns[key_added]``, parameters, automatic choices and their reasons. Existing entries of these names are replaced.

    Parameters
    ----------
    adata
        AnnData, cells in rows, in memory or backed by a file, which is read in blocks of rows and not written to.
    n_clusters
        Number of clusters, or "auto".
    layer, use_rep
        Matrix to cluster: ``layers[layer]`` or ``obsm[use_rep]``; ``X`` if both are None.
    neighbors_key
        Graph to use instead of building one: of ``sc.pp.neighbors`` under this key in ``uns``, or in ``obsp``.
    normalize_counts
        Whether to normalize cells to the same total and take log(1 + x); "auto": if all values are counts.
    n_top_features
        Number of features to keep, those of the highest variance after that; None for all.
    key_added
        Name of the results.
    copy
        Return a copy with the results, and leave ``adata`` unchanged.
    random_state, **options
        Random seed, and further parameters of :class:`~graphlowrank.CompressiveClustering`.

    Returns
    -------
    adata
        A copy if ``copy``, else None.

    Examples
    --------
    >>> import anndata, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> groups = np.repeat([0, 1], 30)
    >>> adata = anndata.AnnData(rng.poisson(np.where(groups[:, None] == [0, 1, 0, 1], 20.0, 2.0)))
    >>> cluster(adata, 2, random_state=0)
    >>> adata.obs["graphlowrank"].value_counts().tolist()
    [30, 30]
    """
    _check_arguments(adata, key_added, normalize_counts, n_top_features, copy=copy)
    options = _with_graph(adata, neighbors_key, options)
    model = CompressiveClustering(n_clusters, random_state=random_state, **options)
    X, steps = _prepared(adata, layer, use_rep, normalize_counts, n_top_features)
    model.fit(X)
    params = {
        "n_clusters": n_clusters, "layer": layer, "use_rep": use_rep, "neighbors_key": neighbors_key,
        "normalize_counts": normalize_counts, "n_top_features": n_top_features, "random_state": random_state, **options,
    }  # fmt: skip
    target = adata.copy() if copy else adata
    _write(target, model, key_added, params, steps)
    return target if copy else None


def embed(
    adata: Any,
    *,
    layer: str | None = None,
    use_rep: str | None = None,
    neighbors_key: str | None = None,
    normalize_counts: bool | Literal["auto"] = "auto",
    n_top_features: int | None = 2000,
    key_added: str = "graphlowrank",
    copy: bool = False,
    random_state: Any = None,
    **options: Any,
) -> Any:
    """Map the cells of an AnnData object with :class:`~graphlowrank.CompressiveEmbedding`.

    Adds ``obsm["X_<key_added>_map"]``, the positions of the cells, which ``sc.pl.embedding(adata, "graphlowrank_map")``
    plots; and ``uns["<key_added>_map"]``, parameters, automatic choices and their reasons. Cells are prepared as by
    :func:`cluster`. Existing entries of these names are replaced.

    Parameters
    ----------
    adata
        AnnData, cells in rows, in memory or backed by a file, which is read in blocks of rows and not written to.
    layer, use_rep, neighbors_key, normalize_counts, n_top_features, key_added, copy
        As in :func:`cluster`.
    random_state, **options
        Random seed, and further parameters of :class:`~graphlowrank.CompressiveEmbedding`.

    Returns
    -------
    adata
        A copy if ``copy``, else None.

    Examples
    --------
    >>> import anndata, numpy as np
    >>> adata = anndata.AnnData(np.random.default_rng(0).poisson(5.0, (60, 4)))
    >>> embed(adata, random_state=0)
    >>> adata.obsm["X_graphlowrank_map"].shape
    (60, 2)
    """
    _check_arguments(adata, key_added, normalize_counts, n_top_features, copy=copy)
    model = CompressiveEmbedding(random_state=random_state, **_with_graph(adata, neighbors_key, options))
    X, steps = _prepared(adata, layer, use_rep, normalize_counts, n_top_features)
    positions = model.fit_transform(X)
    params = {
        "layer": layer, "use_rep": use_rep, "neighbors_key": neighbors_key, "normalize_counts": normalize_counts,
        "n_top_features": n_top_features, "random_state": random_state, **options,
    }  # fmt: skip
    target = adata.copy() if copy else adata
    target.obsm[f"X_{key_added}_map"] = positions
    target.uns[f"{key_added}_map"] = _record(model, params, steps)
    return target if copy else None


def _with_graph(adata: Any, neighbors_key: str | None, options: dict[str, Any]) -> dict[str, Any]:
    """Options with the graph that the user names, if any."""
    if neighbors_key is None:
        return options
    if "sample_graph" in options:
        raise ValueError("neighbors_key and sample_graph both name a graph: give only one of them.")
    return {**options, "sample_graph": _graph(adata, neighbors_key)}


def _prepared(
    adata: Any, layer: str | None, use_rep: str | None, normalize_counts: Any, n_top_features: int | None
) -> tuple[Any, list[str]]:
    """Return the matrix, normalized if it holds counts, and the steps of the preparation."""
    values, name = _matrix(adata, layer, use_rep)
    normalize = are_counts(values) if normalize_counts == "auto" else normalize_counts
    if normalize and any(np.any(stored_values(block) < 0) for _, block in blocks(values)):
        raise ValueError(f"{name} has negative values, which are not counts: normalize_counts must be False.")
    keep_sparse = stays_sparse(values)
    X, _, steps = preprocess(values, normalize=normalize, n_top_features=n_top_features, keep_sparse=keep_sparse)
    return X, steps


def _check_arguments(
    adata: Any, key_added: str, normalize_counts: Any, n_top_features: int | None, *, copy: bool
) -> None:  # fmt: skip
    if not all(hasattr(adata, part) for part in ("obs", "obsm", "obsp", "uns", "layers")):
        raise TypeError(f"adata must be an AnnData object; got {type(adata).__name__}.")
    valid = isinstance(key_added, str) and key_added and "/" not in key_added
    if not valid or key_added in ("_index", adata.obs.index.name):
        raise ValueError(f"key_added must be a name without a slash, and not the name of the index; got {key_added!r}.")
    if not (isinstance(normalize_counts, bool) or normalize_counts == "auto"):
        raise ValueError(f"normalize_counts must be True, False or 'auto'; got {normalize_counts!r}.")
    if n_top_features is not None:
        check_count(n_top_features, "n_top_features", at_most=sys.maxsize, what="features there can be")
    if copy and getattr(adata, "isbacked", False):
        raise ValueError("adata is backed by a file and cannot be copied here: pass adata.to_memory(), without copy.")


def _matrix(adata: Any, layer: str | None, use_rep: str | None) -> tuple[Any, str]:
    """Return the matrix, which can be sliced by rows, and its name for error messages."""
    if layer is not None and use_rep is not None:
        raise ValueError("layer and use_rep both name a matrix: give only one of them.")
    part, key = ("layers", layer) if layer is not None else ("obsm", use_rep)
    if key is None:
        values, name = adata.X, "X"
    else:
        values, name = _entry(getattr(adata, part), key, f"{key!r} in {part}"), f"{part}[{key!r}]"
    if values is None:
        raise ValueError("adata has no X: choose a matrix with layer or use_rep.")
    if hasattr(values, "to_numpy"):  # a DataFrame
        values = values.to_numpy()
    if getattr(values, "format", "csr") != "csr":  # CSC, in memory or in a file
        values = (values if sp.issparse(values) else values.to_memory()).tocsr()
    if len(values.shape) != 2 or min(values.shape) < 1 or np.dtype(values.dtype).kind not in "buif":
        raise ValueError(f"{name} must be a matrix of numbers; got {values.dtype} of shape {tuple(values.shape)}.")
    return values, name


def _graph(adata: Any, key: str) -> Graph:
    """Graph of cells under a key of ``uns``, as scanpy stores it, or of ``obsp``."""
    entry = adata.uns.get(key)
    graph_key = entry.get("connectivities_key", "connectivities") if isinstance(entry, Mapping) else key
    graph = _entry(adata.obsp, graph_key, f"graph {graph_key!r} in obsp, which neighbors_key={key!r} names")
    return as_graph(graph, adata.n_obs, name=f"obsp[{graph_key!r}]")


def _entry(entries: Any, key: str, what: str) -> Any:
    if key not in entries:
        names = ", ".join(repr(name) for name in entries if name is not None)  # anndata 0.13 lists X as layer None
        raise ValueError(f"there is no {what}; it holds {names or 'nothing'}.")
    return entries[key]


def _write(adata: Any, model: CompressiveClustering, key: str, params: dict[str, Any], steps: list[str]) -> None:
    """Store the results."""
    import pandas as pd  # type: ignore[import-untyped]

    clusters, codes = np.unique(model.labels_, return_inverse=True)
    adata.obs[key] = pd.Categorical.from_codes(codes, categories=[str(number) for number in clusters])
    adata.obs[f"{key}_confidence"] = model.confidence_
    adata.obsm[f"X_{key}"], _ = principal_scores(model.points_, model.n_clusters_)
    report = model.report_
    adata.uns[key] = _record(model, params, steps) | {
        "n_clusters": int(model.n_clusters_),
        "conductance": float(model.conductance_),
        "converged": bool(report.converged),
        "n_iter": int(report.n_iter),
    }


def _record(model: CompressiveClustering | CompressiveEmbedding, params: dict[str, Any], steps: list[str]) -> Any:
    """Parameters and choices, of types that every version of anndata can write, so without None."""
    choices = model.report_.choices
    return {
        "params": {name: _plain(value) for name, value in params.items() if value is not None},
        "prepared": steps,
        "choices": {choice.name: _plain(choice.value) for choice in choices},
        "reasons": {choice.name: choice.reason for choice in choices},
    }


def _plain(value: Any) -> Any:
    """Return numbers and strings as they are, pairs of numbers as lists, anything else as the name of its type."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (str, bool, Real)):
        return value
    if isinstance(value, (list, tuple)) and all(isinstance(one, Real) for one in value):
        return list(value)
    return type(value).__name__
