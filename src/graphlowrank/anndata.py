"""Clusters of an AnnData object, written where tools for single cells look for them.

The package of this name is not imported: anything with the attributes of its objects will do. Everywhere in this
library, and in code that uses it, ``import anndata`` still means that package.

.. autosummary::
    cluster   a label, its confidence and coordinates for each cell
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from numbers import Real
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from .estimators import CompressiveClustering
from .estimators._base import check_count
from .graphs import Graph, as_graph
from .preprocessing.counts import are_counts, blocks, data_of, gathered, log_recipe, made, most_variable, stays_sparse
from .preprocessing.principal import coordinates

_PARTS = ("obs", "obsm", "obsp", "uns", "layers")


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
    """Cluster the cells of an AnnData object by :class:`~graphlowrank.CompressiveClustering`.

    Adds ``obs[key_added]``, the cluster of each cell (categories "0", "1", ...); ``obs["<key_added>_confidence"]``, the
    share of a cell's membership that its cluster has; ``obsm["X_<key_added>"]``, principal scores of what was
    clustered, one and a half times as many as clusters; and ``uns[key_added]``, the parameters, what was chosen and
    why. Older ones of these names are replaced; nothing else is changed.

    Parameters
    ----------
    adata
        AnnData, cells in rows, in memory or backed by a file: of that, rows come by blocks, and results are not written
        to the file.
    n_clusters
        How many, or "auto".
    layer, use_rep
        What to cluster: ``layers[layer]``, or ``obsm[use_rep]``; ``X`` if neither is given.
    neighbors_key
        Use a graph of cells that is there, instead of building one: that of ``sc.pp.neighbors`` under this key in
        ``uns``, or ``obsp[neighbors_key]``.
    normalize_counts
        Whether cells are brought to the same total, and logarithms log(1 + x) taken; "auto" does so if all values are
        whole numbers from 0 on.
    n_top_features
        How many features to keep, those of the highest variance after that; None for all.
    key_added
        How the results are called.
    copy
        Return a copy with the results, and leave ``adata`` as it is.
    random_state
        Seed.
    **options
        Further parameters of :class:`~graphlowrank.CompressiveClustering`.

    Returns
    -------
    adata
        A copy if ``copy``, else None.

    Examples
    --------
    >>> import anndata, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> kinds = np.repeat([0, 1], 30)
    >>> adata = anndata.AnnData(rng.poisson(np.where(kinds[:, None] == [0, 1, 0, 1], 20.0, 2.0)))
    >>> cluster(adata, 2, random_state=0)
    >>> adata.obs["graphlowrank"].value_counts().tolist()
    [30, 30]
    """
    _check_arguments(adata, key_added, normalize_counts, n_top_features, copy=copy)
    if neighbors_key is not None:
        if "sample_graph" in options:
            raise ValueError("neighbors_key and sample_graph both name a graph: give one of them.")
        options = {**options, "sample_graph": _graph(adata, neighbors_key)}
    model = CompressiveClustering(n_clusters, random_state=random_state, **options)
    values, called = _values(adata, layer, use_rep)
    X, steps = _prepared(values, called, normalize=normalize_counts, n_top_features=n_top_features)
    model.fit(X)
    asked = {
        "n_clusters": n_clusters, "layer": layer, "use_rep": use_rep, "neighbors_key": neighbors_key,
        "normalize_counts": normalize_counts, "n_top_features": n_top_features, "random_state": random_state, **options,
    }  # fmt: skip
    target = adata.copy() if copy else adata
    _write(target, model, key_added, _record(model, asked, steps))
    return target if copy else None


def _check_arguments(
    adata: Any, key_added: str, normalize_counts: Any, n_top_features: int | None, *, copy: bool
) -> None:  # fmt: skip
    if not all(hasattr(adata, part) for part in _PARTS):
        raise TypeError(f"adata must be an AnnData object; got {type(adata).__name__}.")
    usable = isinstance(key_added, str) and key_added and "/" not in key_added
    if not usable or key_added in ("_index", adata.obs.index.name):
        raise ValueError(f"key_added must be a name without a slash, and not that of the index; got {key_added!r}.")
    if not (isinstance(normalize_counts, bool) or normalize_counts == "auto"):
        raise ValueError(f"normalize_counts must be True, False or 'auto'; got {normalize_counts!r}.")
    if n_top_features is not None:
        check_count(n_top_features, "n_top_features", at_most=sys.maxsize, what="features there can be")
    if copy and getattr(adata, "isbacked", False):
        raise ValueError("adata is backed by a file and cannot be copied here: pass adata.to_memory(), without copy.")


# --- what is clustered ---


def _values(adata: Any, layer: str | None, use_rep: str | None) -> tuple[Any, str]:
    """Return the matrix, of which slices are rows, and what to call it in errors."""
    if layer is not None and use_rep is not None:
        raise ValueError("layer and use_rep both name what to cluster: give one of them.")
    if layer is not None:
        values, called = _entry(adata.layers, layer, "layers"), f"layers[{layer!r}]"
    elif use_rep is not None:
        values, called = _entry(adata.obsm, use_rep, "obsm"), f"obsm[{use_rep!r}]"
    else:
        values, called = adata.X, "X"
    if values is None:
        raise ValueError("adata has no X: choose what to cluster by layer or use_rep.")
    if hasattr(values, "to_numpy"):  # a DataFrame
        values = values.to_numpy()
    if getattr(values, "format", "csr") != "csr":  # sparse, but not by rows; in memory or in a file
        values = (values if sp.issparse(values) else values.to_memory()).tocsr()
    if len(values.shape) != 2 or min(values.shape) < 1 or np.dtype(values.dtype).kind not in "buif":
        raise ValueError(f"{called} must be a matrix of numbers; got {values.dtype} of shape {tuple(values.shape)}.")
    return values, called


def _graph(adata: Any, key: str) -> Graph:
    """Graph of cells under a key of ``uns``, as scanpy leaves it, or of ``obsp``."""
    about = adata.uns.get(key)
    named = about.get("connectivities_key", "connectivities") if isinstance(about, Mapping) else key
    if named not in adata.obsp:
        there = ", ".join(map(repr, adata.obsp)) or "nothing"
        raise ValueError(f"there is no graph {named!r} in obsp, asked for by neighbors_key={key!r}; it holds {there}.")
    return as_graph(adata.obsp[named], adata.n_obs, name=f"obsp[{named!r}]")


def _entry(parts: Any, key: str, called: str) -> Any:
    if key not in parts:
        raise ValueError(f"there is no {key!r} in {called}; it holds {', '.join(map(repr, parts)) or 'nothing'}.")
    return parts[key]


def _prepared(
    values: Any, called: str, *, normalize: bool | str, n_top_features: int | None
) -> tuple[Any, list[str]]:  # fmt: skip
    """Return what the estimator takes, and what was done, a sentence each."""
    steps, recipe, columns = [], None, None
    if normalize == "auto":
        normalize = are_counts(values)
    if normalize:
        if any(np.any(data_of(block) < 0) for _, block in blocks(values)):
            raise ValueError(f"{called} has negative values, which are no counts: normalize_counts must be False.")
        recipe = log_recipe(values, normalize=True)
        steps.append("every sample to the same total, then log(1 + x)")
    if n_top_features is not None and n_top_features < values.shape[1]:
        columns = most_variable(made(values, recipe), n_top_features)
        steps.append(f"{n_top_features} of {values.shape[1]} features, those of the highest variance")
    return gathered(values, recipe, columns, keep_sparse=stays_sparse(values)), steps


# --- what is written ---


def _write(adata: Any, model: CompressiveClustering, key: str, record: dict[str, Any]) -> None:
    import pandas as pd  # type: ignore[import-untyped]

    numbers, codes = np.unique(model.labels_, return_inverse=True)
    scores, _ = coordinates(model._fit_X, model.n_clusters_)
    adata.obs[key] = pd.Categorical.from_codes(codes, categories=[str(number) for number in numbers])
    adata.obs[f"{key}_confidence"] = model.confidence_
    adata.obsm[f"X_{key}"] = scores
    adata.uns[key] = record


def _record(model: CompressiveClustering, asked: dict[str, Any], steps: list[str]) -> dict[str, Any]:
    """Return what can be written to a file: numbers, words, and lists and dictionaries of them; None is left out."""
    said = model.report_.as_dict()
    return {
        "params": {name: _plain(value) for name, value in asked.items() if value is not None},
        "prepared": steps,
        "choices": {choice["name"]: _plain(choice["value"]) for choice in said["choices"]},
        "reasons": {choice["name"]: choice["reason"] for choice in said["choices"]},
        "n_clusters": int(model.n_clusters_),
        "conductance": float(model.conductance_),
        "converged": bool(said["converged"]),
        "n_iter": int(said["n_iter"]),
    }


def _plain(value: Any) -> Any:
    """Numbers and words as they are, pairs of them as lists, anything else by the name of its type."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (str, bool, Real)):
        return value
    if isinstance(value, (list, tuple)) and all(isinstance(one, Real) for one in value):
        return list(value)
    return type(value).__name__
