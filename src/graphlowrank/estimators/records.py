"""What model files hold by name: the table to edit when a dataclass or an attribute of a model is renamed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..auto.choice import Choice
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
