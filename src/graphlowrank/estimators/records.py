"""What model files hold by name: the tables to edit when a dataclass or an attribute of a model is added or renamed."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .._checks import FLOATS, INDICES, check_range, is_number
from .._typing import AXES, Array
from ..auto.choice import Choice
from ..clustering import Alternative
from ..decoders import LowRankMatrix
from ..graphs import Graph
from ..preprocessing.imputer import LowRankImputer
from ..preprocessing.outlier_filter import OutlierFilter
from ..preprocessing.scaling import Scaling
from ..preprocessing.sparse import ShiftedSparse


@dataclass(frozen=True)
class StoredRecord:
    """How a dataclass is stored."""

    cls: type
    renamed: Mapping[str, str | None] = field(default_factory=dict)  # file -> class; None if the class dropped it
    added: Mapping[str, Any] = field(default_factory=dict)  # values of fields that the file lacks, without a default


# Dataclasses that models hold, by their names in files. The first name of a class is the one written. When a class is
# renamed, keep its old name, with the fields that changed: "Old": StoredRecord(New, renamed={"old_field": "field"}).
RECORDS: dict[str, StoredRecord] = {
    "Alternative": StoredRecord(Alternative),
    "Choice": StoredRecord(Choice),
    "Graph": StoredRecord(Graph),
    "LowRankMatrix": StoredRecord(LowRankMatrix),
    "LowRankImputer": StoredRecord(LowRankImputer),
    "OutlierFilter": StoredRecord(OutlierFilter),
    "Scaling": StoredRecord(Scaling, renamed={"reason": None, "tried": None}),
    "ShiftedSparse": StoredRecord(ShiftedSparse),
    # Names of 0.1.0.
    "ClusterCount": StoredRecord(Choice, renamed={"n_clusters": "value"}, added={"name": "n_clusters"}),
    "Filling": StoredRecord(LowRankImputer, renamed={"centre": "center", "doubt": "ridge"}),
    "Sieve": StoredRecord(OutlierFilter, renamed={"filling": "imputer", "middle": "median", "reach": "initial_limits"}),
}
# Attributes of estimators that were renamed: name in the file -> current name; None if they are no longer used.
RENAMED_ATTRIBUTES: dict[str, str | None] = {
    "_count": None,
    "_filling": "_distance_model",
    "_fit_X": "points_",
    "_said": "_fit_summary",
    "_way": None,
}


def rename(values: Mapping[str, Any], renamed: Mapping[str, str | None]) -> dict[str, Any]:
    """Return the values under their current names, without those whose current name is None."""
    named = {renamed.get(name, name): value for name, value in values.items()}
    return {name: value for name, value in named.items() if name is not None}


ORTHONORMAL_TOL = 1e-2  # of products of components: those of single precision are off by 1e-6 or less
# What attributes must be: methods of a loaded model, and the compiled loops that they call, trust shapes and indices.
WHOLE, REAL = (int, np.integer), (int, float, np.integer, np.floating)


@dataclass(frozen=True)
class Attribute:
    """Type, shape and range of an attribute."""

    # n samples, q points that new samples are compared with, p features, k components, c clusters, s kept samples,
    # f kept features
    shape: str = ""
    kinds: tuple[type, ...] = (np.ndarray,)
    dtypes: tuple[np.dtype[Any], ...] = FLOATS  # of an array
    least: float = -np.inf
    below: str = ""  # the size that indices are less than
    each: Any = object  # tuple, list or dict if the attribute holds such values
    optional: bool = False  # a number that is NaN where it is not known

    def check(self, value: Any, name: str, sizes: dict[str, int]) -> None:
        """Raise ValueError unless a value is like this; sizes that are not known are then those of the value."""
        if not isinstance(value, self.kinds):
            raise ValueError(f"{name} must not be of type {type(value).__name__}.")
        shape = _shape_of(value) if self.shape else ()
        known = [sizes.setdefault(letter, size) for letter, size in zip(self.shape, shape or (), strict=False)]
        if shape is not None and (len(shape) != len(self.shape) or list(shape) != known):
            expected = ", ".join(str(sizes.get(letter, letter)) for letter in self.shape)
            raise ValueError(f"{name} must have shape ({expected}), got {shape}.")
        if isinstance(value, REAL) and bool not in self.kinds and not self._in_range(value):
            raise ValueError(f"{name} must be a number of at least {self.least:g}.")
        if isinstance(value, np.ndarray) and value.dtype not in self.dtypes:
            raise ValueError(f"{name} must not be of dtype {value.dtype}.")
        if isinstance(value, np.ndarray) and value.dtype != object:
            check_range(value, name, least=self.least, most=sizes.get(self.below, np.inf) - 1)

    def _in_range(self, value: Any) -> bool:
        return (self.optional and np.isnan(value)) or (is_number(value) and value >= self.least)


def check_fitted(cls: type, attributes: Mapping[str, Any]) -> None:
    """Raise ValueError unless the attributes of an estimator fit together; one that was not fitted has none."""
    needed = [name for has, names in NEEDED.items() if hasattr(cls, has) for name in names if not hasattr(cls, name)]
    missing = [name for name in needed if name not in attributes and name not in attributes.get("_not_saved", ())]
    if missing and attributes.keys() & ATTRIBUTES.keys() - {"_sklearn_output_config"}:
        raise ValueError(f"it lacks {', '.join(missing)}.")
    sizes: dict[str, int] = {}
    apart = {"_point_labels", "_point_positions"} & attributes.keys()  # of points that are not all samples
    known = ATTRIBUTES if apart else ATTRIBUTES | {"points_": replace(ATTRIBUTES["points_"], shape="np")}
    for name, attribute in known.items():
        value: Any = attributes.get(name)
        if name not in attributes or (value is None and name in OPTIONAL):
            continue
        if not isinstance(value, attribute.each):
            raise ValueError(f"{name} must not be of type {type(value).__name__}.")
        values = value if attribute.each in (tuple, list) else value.values() if attribute.each is dict else (value,)
        for one in values:
            attribute.check(one, name, sizes)
    summary = attributes.get("_fit_summary", {"data": "", "choices": ()})
    data, choices = summary.get("data"), summary.get("choices")
    if not (isinstance(data, str) and isinstance(choices, tuple) and all(isinstance(one, Choice) for one in choices)):
        raise ValueError("_fit_summary must have data and choices.")
    if "components_" in attributes and hasattr(cls, "huber_delta"):  # those that samples are regressed on
        _check_orthonormal(attributes["components_"])


def _check_orthonormal(components: Array) -> None:
    """Raise ValueError unless the rows are orthonormal, as regression on them expects."""
    with np.errstate(over="ignore", invalid="ignore"):
        error = np.abs(components.astype(np.float64) @ components.T.astype(np.float64) - np.eye(len(components)))
    if not error.max(initial=0.0) <= ORTHONORMAL_TOL:  # nor if it is NaN
        raise ValueError("components_ must have orthonormal rows.")


def _shape_of(value: Any) -> tuple[int, ...] | None:
    """Return the sizes of an attribute; a number is one itself. None if any size will do."""
    if isinstance(value, Scaling):
        return None if value.shift is None else value.shift.shape
    if isinstance(value, LowRankImputer | OutlierFilter):
        return value.center.shape if isinstance(value, LowRankImputer) else value.median.shape
    if isinstance(value, Graph):
        return (value.n_nodes,)
    if isinstance(value, Alternative):
        return value.labels.shape
    return (int(value),) if isinstance(value, WHOLE) else value.shape


ATTRIBUTES = {  # of all estimators, those that set sizes first
    "n_features_in_": Attribute("p", WHOLE, least=1), "feature_names_in_": Attribute("p", dtypes=(np.dtype(object),)),
    "points_": Attribute("qp", (np.ndarray, ShiftedSparse)), "low_rank_": Attribute("np", (np.ndarray, LowRankMatrix)),
    "draws_": Attribute("np", (LowRankMatrix,), each=tuple), "sparse_": Attribute("np"),
    "components_": Attribute("kp"), "embedding_": Attribute("nk"), "singular_values_": Attribute("k", least=0),
    "n_components_": Attribute("k", WHOLE, least=0), "n_clusters_": Attribute("c", WHOLE, least=1),
    "offset_": Attribute("p"), "feature_scale_": Attribute("p", least=0), "soft_labels_": Attribute("nc", least=0),
    "cluster_centers_": Attribute("cp"), "alternatives_": Attribute("n", (Alternative,), each=tuple),
    "labels_": Attribute("n", dtypes=INDICES, least=0, below="c"), "confidence_": Attribute("n"),
    "conductance_": Attribute("", REAL, optional=True), "scaling_": Attribute("", (str,)),
    "sample_graph_": Attribute("n", (Graph,)), "feature_graph_": Attribute("p", (Graph,)),
    "sample_indices_": Attribute("s", dtypes=INDICES, least=0, below="n"),
    "feature_indices_": Attribute("f", dtypes=INDICES, least=0, below="p"),
    "sample_weights_": Attribute("s", least=0), "feature_weights_": Attribute("f", least=0),
    "scale_": Attribute("", REAL, least=np.finfo(float).tiny), "n_iter_": Attribute("", WHOLE, least=0),
    "converged_": Attribute("", (bool, np.bool_)), "stage_seconds_": Attribute("", REAL, each=dict),
    "_fit_summary": Attribute("", (dict,)), "_sklearn_output_config": Attribute("", (str,), each=dict),
    "_scaling": Attribute("p", (Scaling,)), "_distance_model": Attribute("p", (LowRankImputer, OutlierFilter)),
    "_point_labels": Attribute("qc", least=0), "_point_positions": Attribute("qk"),
    "fitted_rows_": Attribute("r", dtypes=INDICES, least=0), "_not_saved": Attribute("", (str,), each=list),
    "_n_neighbors": Attribute("", WHOLE, least=1), "_seed": Attribute("", WHOLE, least=0),
}  # fmt: skip
OPTIONAL = {"_distance_model", "feature_scale_", *(f"{axis}_{part}_" for axis in AXES for part in ("graph", "weights"))}
NEEDED = {  # by a method or parameter of an estimator
    "report_": ("n_features_in_", "stage_seconds_", "_fit_summary"), "inverse_transform": ("components_", "offset_"),
    "predict": (
        "points_", "soft_labels_", "labels_", "confidence_", "conductance_", "n_clusters_", "scaling_", "sample_graph_",
        "_scaling", "_n_neighbors", "_distance_model",
    ),
    "huber_delta": ("scale_",),
    "error_bars": ("draws_", "low_rank_"),
    "n_epochs": ("points_", "embedding_", "sample_graph_", "_scaling", "_n_neighbors", "_seed", "_distance_model"),
}  # fmt: skip
