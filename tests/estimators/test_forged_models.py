"""Whole model files with wrong content are refused, or harmless. ``make fuzz`` forges thousands."""

import fuzz_models as made
import numpy as np
import pytest

from graphlowrank import load

OLD = [kind for kind in made.MODELS if kind.startswith("old ")]  # which need no fit


@pytest.mark.parametrize("kind", OLD)
def test_a_forged_model_is_refused_or_harmless(tmp_path, kind):
    found = [made.outcome_of(made.forged(kind, "tests", number, tmp_path)) for number in range(8)]
    assert not [text for outcome, text in found if outcome not in {"works", "refused"}]
    assert "refused" in dict(found)


def at(name, place, value):
    """Change one entry of an array."""

    def change(header, arrays):
        arrays[name] = arrays[name].copy()
        arrays[name][place] = value

    return change


def to(name, function):
    """Change an array."""
    return lambda header, arrays: arrays.update({name: function(arrays[name])})


def put(value, *path):
    """Change a value of the JSON; "order" becomes an array of zeros."""

    def change(header, arrays):
        arrays["order"] = np.zeros(30, dtype=np.int64)
        held = header
        for key in path[:-1]:
            held = held[key]
        held[path[-1]] = value

    return change


def with_overflow(header, arrays):
    """Add a matrix whose row pointers decrease, but whose differences overflow and become positive; nothing uses it."""
    starts = np.array([0, 2**31 - 1, -2, 1], dtype=np.int32)
    arrays |= {"indptr": starts, "indices": np.zeros(1, dtype=np.int32), "data": np.ones(1)}
    parts = {name: {"array": name} for name in ("data", "indices", "indptr")}
    header["attributes"]["found_"] = {"csr_array": {"shape": [3, 3], **parts}}


GRAPH, DRAW = "sample_graph_.weights", "draws_.0"
ATTRIBUTES = "attributes"
FORGED = {
    "order must be a permutation": ("cpca", put({"array": "order"}, ATTRIBUTES, "sample_graph_", "Graph", "order")),
    "31 row pointers in increasing": ("cpca", at(f"{GRAPH}.indptr", 1, -1)),
    "must have 4 row pointers": ("cpca", with_overflow),
    "row pointers in increasing order": ("cpca", at(f"{GRAPH}.indptr", -1, 0)),  # scipy then checks nothing
    "indices from 0 to 29": ("cpca", at(f"{GRAPH}.indices", 5, 30)),
    "of the same type": ("cpca", to(f"{GRAPH}.indptr", np.int64)),
    "must be symmetric": ("cpca", to(f"{GRAPH}.data", lambda data: data * np.arange(1, len(data) + 1))),
    "weights must be between 0 and inf, got -": ("cpca", to(f"{GRAPH}.data", np.negative)),
    "weights must not have NaN": ("cpca", at(f"{GRAPH}.data", 0, np.nan)),
    "must not store zeros": ("cpca", to(f"{GRAPH}.data", np.zeros_like)),
    "float32 or float64, got csr_array of int64": ("cpca", to(f"{GRAPH}.data", lambda data: np.ones(len(data), int))),
    "largest weight is 1e-310": ("cpca", to(f"{GRAPH}.data", lambda data: np.full(len(data), 1e-310))),
    "largest weight is 1e\\+200": ("cpca", to(f"{GRAPH}.data", lambda data: np.full(len(data), 1e200))),
    "left must have shape": ("cpca", to(f"{DRAW}.left", np.transpose)),
    "does not hold the array": ("cpca", to(f"{DRAW}.left", lambda left: np.empty((10**9, 0)))),
    "sample_indices_ must be between 0 and 29": ("cpca", at("sample_indices_", 0, 2**40)),
    "sample_graph_ must have shape \\(30\\), got \\(6,\\)": ("cpca", lambda header, arrays: header[ATTRIBUTES].update(
        sample_graph_=header[ATTRIBUTES]["feature_graph_"])),
    "it lacks _fit_summary": ("cpca", lambda header, arrays: header[ATTRIBUTES].pop("_said")),
    "cannot have an attribute '_checks'": ("gnmf", put({"dict": {}}, ATTRIBUTES, "_checks")),
    "n_features_in_ must be a number of at least 1": ("rpca", put(0, ATTRIBUTES, "n_features_in_")),
    "offset_ must have shape \\(6\\), got \\(5,\\)": ("rpca", to("offset_", lambda offset: offset[:-1])),
    "components_ must have orthonormal rows": ("rpca", to("components_", lambda C: np.full_like(C, 1e300))),
    "components_ must not have NaN or infinite": ("glpca", at("components_", (0, 0), np.inf)),
    "components_ must not be of dtype complex128": ("mmf", to("components_", lambda C: C.astype(complex))),
    "stage_seconds_ must not be of type str": ("rpca", put({"dict": {"rpca": "long"}}, ATTRIBUTES, "stage_seconds_")),
    "it holds a tuple that is none": ("rpca", put({"tuple": 3}, ATTRIBUTES, "_said", "dict", "choices")),
    "a list in place of named values": ("rpca", put([], ATTRIBUTES)),
    "a value of the unknown kind ''": ("rpca", put({}, ATTRIBUTES, "scale_")),
    "scale_ must be a number of at least": ("cpca", put(10**400, ATTRIBUTES, "scale_")),
    "labels_ must be between 0 and 2": ("clustering", at("labels_", 0, 3)),
    "soft_labels_ must have shape \\(30, 3\\)": ("clustering", to("soft_labels_", lambda soft: soft[:5])),
    "soft_labels_ must have shape \\(29, 3\\)": ("clustering", to("_fit_X", lambda X: X[1:])),
    "_n_neighbors must be a number of at least 1": ("clustering", put(-1, ATTRIBUTES, "_n_neighbors")),
    "_scaling must not be of type": ("clustering", put(None, ATTRIBUTES, "_scaling")),
    "a positive total if it is of counts": ("clustering", put("5", ATTRIBUTES, "_scaling", "Scaling", "total")),
    "sorted indices without duplicates": ("clustering_sparse", at("_fit_X.values.indices", slice(None), 0)),
    "directions must be between": ("clustering_outliers_scaled", to("_filling.filling.directions", lambda C: C + 1)),
    "limits must have shape": ("clustering_outliers_scaled", to("_filling.reach", lambda reach: reach[:-1])),
}  # fmt: skip


@pytest.mark.parametrize("what", FORGED)
def test_the_error_says_what_is_wrong(tmp_path, what):
    kind, forge = FORGED[what]
    header, arrays = made.unzipped(made.FOLDER / f"{kind}.model")
    made.zipped(tmp_path / "a.model", header, arrays)
    load(tmp_path / "a.model")
    forge(header, arrays)
    made.zipped(tmp_path / "a.model", header, arrays)
    with pytest.raises(ValueError, match=rf"a\.model is damaged: .*({what}).*\.$"):
        load(tmp_path / "a.model")


@pytest.mark.parametrize(
    ("parameter", "value"), [("loss", "x"), ("huber_delta", "x"), ("n_jobs", "x"), ("n_jobs", 1.5)]
)
def test_wrong_parameters_are_refused_where_they_are_used(tmp_path, parameter, value):
    header, arrays = made.unzipped(made.FOLDER / "cpca.model")
    header["parameters"][parameter] = value
    made.zipped(tmp_path / "a.model", header, arrays)
    with pytest.raises(ValueError, match=f"{parameter} must be .*; got {value!r}"):
        load(tmp_path / "a.model").transform(np.ones((2, 6)))
