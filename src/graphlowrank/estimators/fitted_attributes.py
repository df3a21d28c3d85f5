"""What the attributes of a fitted model must be: shapes that fit together, indices in range, finite numbers.

A model file may come from a stranger. Methods of a loaded model, and the compiled loops that they call, trust these
attributes, so :func:`check_fitted` runs when a model is loaded. Each record checks itself in the same way.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .._checks import check_floats, check_range
from ..auto import Choice
from ..decoders import LowRankMatrix
from ..graphs import Graph
from ..options import check_count, is_number
from ..preprocessing.imputer import LowRankImputer
from ..preprocessing.outlier_filter import OutlierFilter
from ..preprocessing.scaling import Scaling
from ..preprocessing.sparse import ShiftedSparse
from ..sampling import check_indices

NOUNS = {"n": "samples", "p": "features", "k": "components", "c": "clusters", "s": "kept samples", "f": "kept features"}
Sizes = dict[str, int]
"""Size of each, set by the first attribute that has it."""
Check = Callable[[Any, str, Sizes], None]  # of a value, with its name and the sizes of the model


def check_fitted(cls: type, attributes: Mapping[str, Any]) -> None:
    """Raise ValueError unless the attributes of an estimator fit together; one that was not fitted has none."""
    if attributes.keys() & ATTRIBUTES.keys() - SETTINGS:
        needed = [name for has, names in NEEDED.items() if hasattr(cls, has) for name in names]
        missing = [name for name in needed if name not in attributes and not hasattr(cls, name)]
        if missing:
            raise ValueError(f"it lacks {', '.join(missing)}.")
    sizes: Sizes = {}
    for name, check in ATTRIBUTES.items():
        if name in attributes:
            check(attributes[name], name, sizes)


def _fits(shape: tuple[int, ...], letters: str, sizes: Sizes) -> tuple[int, ...]:
    """Return the shape that is expected; sizes that are not known yet are those of ``shape``."""
    for letter, size in zip(letters, shape, strict=False):
        sizes.setdefault(letter, size)
    return tuple(sizes.get(letter, 0) for letter in letters)


def _size(letter: str, least: int = 1) -> Check:
    def check(value: Any, name: str, sizes: Sizes) -> None:
        if value != 0 or least > 0:
            check_count(value, name)
        if sizes.setdefault(letter, int(value)) != value:
            raise ValueError(f"{name} is {value}, but other parts have {sizes[letter]} {NOUNS[letter]}.")

    return check


def _floats(letters: str, **limits: Any) -> Check:
    def check(value: Any, name: str, sizes: Sizes) -> None:
        check_floats(value, name, _fits(np.shape(value), letters, sizes), **limits)

    return check


def _matrix(value: Any, name: str, sizes: Sizes) -> None:
    """(n, p), dense, sparse or low-rank: the latter two have checked their parts."""
    if not isinstance(value, LowRankMatrix | ShiftedSparse):
        _floats("np")(value, name, sizes)
    elif value.shape != (expected := _fits(value.shape, "np", sizes)):
        raise ValueError(f"{name} must have shape {expected}, got {value.shape}.")


def _draws(value: Any, name: str, sizes: Sizes) -> None:
    if not isinstance(value, tuple) or not all(isinstance(draw, LowRankMatrix) for draw in value):
        raise ValueError(f"{name} must be low-rank matrices.")
    for draw in value:
        _matrix(draw, name, sizes)


def _record(kinds: type | tuple[type, ...], n_features: Callable[[Any], int | None], letter: str) -> Check:
    def check(value: Any, name: str, sizes: Sizes) -> None:
        if not isinstance(value, kinds):
            raise ValueError(f"{name} must not be of type {type(value).__name__}.")
        size = n_features(value)
        if size is not None and sizes.setdefault(letter, size) != size:
            raise ValueError(f"{name} has {size} {NOUNS[letter]}, but other parts have {sizes[letter]}.")

    return check


def _indices(letter: str, kept: str) -> Check:
    def check(value: Any, name: str, sizes: Sizes) -> None:
        if not isinstance(value, np.ndarray) or value.dtype.kind not in "iu":
            raise ValueError(f"{name} must be an array of indices.")
        check_indices(value, sizes.setdefault(letter, int(value.max(initial=0)) + 1), name=name)
        sizes[kept] = len(value)

    return check


def _labels(value: Any, name: str, sizes: Sizes) -> None:
    expected = _fits(np.shape(value), "n", sizes)
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "iu" or value.shape != expected:
        raise ValueError(f"{name} must be whole numbers of shape {expected}.")
    check_range(value, name, least=0, most=sizes.get("c", np.inf) - 1)


def _names(value: Any, name: str, sizes: Sizes) -> None:
    expected = _fits(np.shape(value), "p", sizes)
    if not isinstance(value, np.ndarray) or value.dtype != object or value.shape != expected:
        raise ValueError(f"{name} must be {expected[0]} names.")


def _that(what: str, holds: Callable[[Any], bool]) -> Check:
    def check(value: Any, name: str, sizes: Sizes) -> None:
        if not holds(value):
            raise ValueError(f"{name} must be {what}.")

    return check


def _or_none(check: Check) -> Check:
    return lambda value, name, sizes: None if value is None else check(value, name, sizes)


def _is_summary(value: Any) -> bool:
    known = isinstance(value, dict) and {"data", "choices"} <= set(value) and isinstance(value["data"], str)
    return known and isinstance(value["choices"], tuple) and all(isinstance(one, Choice) for one in value["choices"])


def _is_output_config(value: Any) -> bool:
    outputs = (None, "default", "pandas", "polars")
    return isinstance(value, dict) and all(isinstance(one, str | None) and one in outputs for one in value.values())


def _is_times(value: Any) -> bool:
    return isinstance(value, dict) and all(map(is_number, value.values()))


ATTRIBUTES: dict[str, Check] = {  # of all estimators, those that set sizes first
    "n_features_in_": _size("p"),
    "feature_names_in_": _names,
    "points_": _matrix,
    "low_rank_": _matrix,
    "draws_": _draws,
    "sparse_": _floats("np"),
    "components_": _floats("kp"),
    "embedding_": _floats("nk"),
    "singular_values_": _floats("k", least=0),
    "n_components_": _size("k", least=0),
    "offset_": _floats("p"),
    "feature_scale_": _or_none(_floats("p", least=0)),
    "soft_labels_": _floats("nc", least=0),
    "n_clusters_": _size("c"),
    "labels_": _labels,
    "confidence_": _floats("n"),
    "sample_graph_": _or_none(_record(Graph, lambda graph: graph.n_nodes, "n")),
    "feature_graph_": _or_none(_record(Graph, lambda graph: graph.n_nodes, "p")),
    "sample_indices_": _indices("n", "s"),
    "feature_indices_": _indices("p", "f"),
    "sample_weights_": _or_none(_floats("s", least=0)),
    "feature_weights_": _or_none(_floats("f", least=0)),
    "scale_": _that("a positive number", lambda value: is_number(value) and value > 0),
    "n_iter_": _that("a whole number", lambda value: is_number(value) and value >= 0 and value == int(value)),
    "converged_": _that("True or False", lambda value: isinstance(value, bool | np.bool_)),
    "stage_seconds_": _that("the seconds of each stage", _is_times),
    "_fit_summary": _that("a summary of the fit", _is_summary),
    "_scaling": _record(Scaling, lambda scaling: scaling.n_features, "p"),
    "_distance_model": _or_none(_record((LowRankImputer, OutlierFilter), lambda model: model.n_features, "p")),
    "_n_neighbors": lambda value, name, sizes: check_count(value, name),
    "_sklearn_output_config": _that("an output of scikit-learn", _is_output_config),
}
NEEDED = {  # by a method or parameter of an estimator
    "report_": ("n_features_in_", "stage_seconds_", "_fit_summary"),
    "inverse_transform": ("components_", "offset_"),
    "huber_delta": ("scale_",),
    "error_bars": ("draws_", "low_rank_"),
    "predict": ("points_", "soft_labels_", "_scaling", "_distance_model", "_n_neighbors"),
}
SETTINGS = {"_sklearn_output_config"}  # that a model which was not fitted may have
