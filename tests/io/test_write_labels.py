"""Labels that are written, also into AnnData files."""

import csv
import json
import warnings

import anndata
import h5py
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from whole_files import FEATURES, SAMPLES, X

from graphlowrank.io import write_labels
from graphlowrank.io.labels import check_labels_path

pytestmark = pytest.mark.usefixtures("without_worker")

LABELS = np.arange(12) % 3


def test_labels_as_text(tmp_path):
    write_labels(tmp_path / "x.csv", LABELS, ["a,b", *SAMPLES[1:]], scores=X[:, :2].astype(float), column="cluster")
    with (tmp_path / "x.csv").open(newline="") as file:
        header, first, *_ = csv.reader(file)
    assert header == ["sample", "cluster", "score_0", "score_1"]
    assert first == ["a,b", "0", *map(repr, X[0, :2].astype(float).tolist())]
    write_labels(tmp_path / "x.tsv", ["u", "v"])
    assert (tmp_path / "x.tsv").read_text() == "sample\tlabel\n0\tu\n1\tv\n"


def test_labels_as_arrays(tmp_path):
    write_labels(tmp_path / "x.npy", LABELS, SAMPLES)
    assert_array_equal(np.load(tmp_path / "x.npy"), LABELS)
    write_labels(tmp_path / "x.npz", LABELS, SAMPLES, scores=X)
    with np.load(tmp_path / "x.npz") as archive:
        assert_array_equal(archive["labels"], LABELS)
        assert_array_equal(archive["sample_names"], SAMPLES)
        assert_array_equal(archive["scores"], X)
    write_labels(tmp_path / "x.parquet", LABELS, SAMPLES, scores=X)
    frame = pd.read_parquet(tmp_path / "x.parquet")
    assert list(frame.columns) == ["sample", "label", *[f"score_{number}" for number in range(5)]]
    assert_array_equal(frame["label"], LABELS)
    write_labels(tmp_path / "x.json", LABELS[:2], ["é", "b"], scores=[[1.5], [np.nan]])
    expected = {"sample": ["é", "b"], "label": [0, 1], "score_0": [1.5, None]}
    assert json.loads((tmp_path / "x.json").read_text(encoding="utf-8")) == expected


@pytest.mark.parametrize("extension", ["csv", "tsv", "json", "parquet"])
def test_confidence_and_named_scores_are_columns(tmp_path, extension):
    path = tmp_path / f"x.{extension}"
    confidence = np.linspace(0.123456, 1, 12)
    write_labels(path, LABELS, SAMPLES, confidence=confidence, scores=X[:, :2], score_names=["height", "width"])
    if extension == "json":
        frame = pd.DataFrame(json.loads(path.read_text(encoding="utf-8")))
    else:
        frame = pd.read_parquet(path) if extension == "parquet" else pd.read_csv(path, sep=None, engine="python")
    assert list(frame.columns) == ["sample", "label", "confidence", "height", "width"]
    assert tuple(frame["sample"]) == SAMPLES
    assert_array_equal(frame["label"], LABELS)
    assert_array_equal(frame["confidence"], confidence if extension == "parquet" else np.round(confidence, 4))
    assert_array_equal(frame["width"].astype(np.float32), X[:, 1])


def test_confidence_and_named_scores_are_arrays(tmp_path):
    confidence = np.linspace(0.5, 1, 12)
    write_labels(tmp_path / "x.npz", LABELS, confidence=confidence, scores=X[:, :2], score_names=["height", "width"])
    with np.load(tmp_path / "x.npz") as archive:
        assert set(archive.files) == {"labels", "confidence", "scores", "score_names"}
        assert_array_equal(archive["confidence"], confidence)
        assert archive["score_names"].tolist() == ["height", "width"]


def test_confidence_in_anndata_is_a_column_of_numbers(tmp_path):
    path = tmp_path / "x.h5ad"
    write_cells(path)
    for confidence in (np.linspace(0, 1, 12), np.linspace(0, 1, 12, dtype=np.float32)):  # the second replaces the first
        write_labels(path, LABELS, SAMPLES, confidence=confidence, column="fast", source=path)
        obs = anndata.read_h5ad(path).obs
        assert list(obs.columns) == ["depth", "fast", "fast_confidence"]
        assert_array_equal(obs["fast_confidence"], confidence)
        assert obs["fast_confidence"].dtype == confidence.dtype


def write_cells(path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = anndata.AnnData(X, pd.DataFrame({"depth": np.arange(12)}, index=SAMPLES), pd.DataFrame(index=FEATURES))
        data.uns["note"] = "kept"
        data.write_h5ad(path)


def test_labels_in_a_copy_of_anndata(tmp_path):
    write_cells(tmp_path / "in.h5ad")
    before = (tmp_path / "in.h5ad").read_bytes()
    write_labels(tmp_path / "out.h5ad", LABELS, SAMPLES, scores=X[:, :2], column="fast", source=tmp_path / "in.h5ad")
    assert (tmp_path / "in.h5ad").read_bytes() == before
    data = anndata.read_h5ad(tmp_path / "out.h5ad")
    assert list(data.obs.columns) == ["depth", "fast"]
    assert data.obs["fast"].astype(str).tolist() == list(map(str, LABELS))
    assert data.obs["fast"].dtype == "category"
    assert_array_equal(data.obsm["X_fast"], X[:, :2])
    assert_array_equal(data.X, X)
    assert data.uns["note"] == "kept"


def test_labels_in_anndata_itself(tmp_path):
    path = tmp_path / "x.h5ad"
    write_cells(path)
    for labels in (LABELS, np.array(["u", "v"] * 6)):  # the second ones replace the first
        write_labels(path, labels, scores=X, source=path)
        assert anndata.read_h5ad(path).obs["label"].astype(str).tolist() == list(map(str, labels))
    assert list(anndata.read_h5ad(path).obs.columns) == ["depth", "label"]
    assert len(list(tmp_path.iterdir())) == 1


def test_labels_in_new_anndata(tmp_path):
    write_labels(tmp_path / "x.h5ad", LABELS, SAMPLES, scores=X)
    data = anndata.read_h5ad(tmp_path / "x.h5ad")
    assert tuple(data.obs_names) == SAMPLES
    assert_array_equal(data.obsm["X_label"], X)


def test_labels_of_other_write_cells(tmp_path):
    path = tmp_path / "x.h5ad"
    write_cells(path)
    before = path.read_bytes()
    for labels, names, text in [
        (LABELS[:5], None, "has 12 samples; there are labels for 5"),
        (LABELS, SAMPLES[::-1], "samples of other names"),
    ]:
        with pytest.raises(ValueError, match=text):
            write_labels(path, labels, names, source=path)
    path.write_bytes(before[:2000])
    with pytest.raises(ValueError, match="damaged"):
        write_labels(tmp_path / "y.h5ad", LABELS, source=path)
    assert len(list(tmp_path.iterdir())) == 1


def test_wrong_labels(tmp_path):
    for arguments, text in [
        ({"labels": [0.5]}, "integers or strings"),
        ({"labels": [[1]]}, "one per sample"),
        ({"labels": []}, "one per sample"),
        ({"labels": [1], "sample_names": ["a", "b"]}, "sample_names must have 1 names; got 2"),
        ({"labels": [1], "scores": [1.0]}, r"shape \(1, k\); got \(1,\)"),
        ({"labels": [1], "confidence": [[1.0]]}, r"confidence must be numbers of shape \(1,\); got \(1, 1\)"),
        ({"labels": [1], "confidence": ["sure"]}, "confidence must be numbers"),
        ({"labels": [1], "score_names": ["a"]}, "score_names must have 0 names; got 1"),
        ({"labels": [1], "scores": [[1, 2]], "score_names": ["a", "a"]}, "score_names must differ from one another"),
        ({"labels": [1], "scores": [[1]], "score_names": ["label"]}, "score_names must differ"),
        ({"labels": [1], "column": "a/b"}, "without a slash"),
        ({"labels": [1], "column": "\n"}, "without a slash"),
        ({"labels": [1], "column": "confidence"}, "name of something else"),
        ({"labels": [1], "source": "x.h5ad"}, r"source is for \.h5ad files"),
    ]:
        with pytest.raises(ValueError, match=text):
            write_labels(tmp_path / "x.csv", **arguments)
    with pytest.raises(ValueError, match=r"x.txt is not of a known kind: \.csv"):
        write_labels(tmp_path / "x.txt", [1])
    assert not list(tmp_path.iterdir())


def test_columns_that_hold_the_names_of_samples(tmp_path):
    path = tmp_path / "x.h5ad"
    write_cells(path)
    with h5py.File(path, "r+") as file:
        file["obs"].move("_index", "cell")
        file["obs"].attrs["_index"] = "cell"
    before = path.read_bytes()
    for column, source in (("cell", path), ("_index", path), ("_index", None)):
        for check in (
            check_labels_path,
            lambda *place: write_labels(place[0], LABELS, column=place[1], source=place[2]),
        ):
            with pytest.raises(ValueError, match=f"column must not be '{column}', which holds the names"):
                check(tmp_path / "y.h5ad", column, source)
    check_labels_path(path, "label", path)
    check_labels_path(tmp_path / "y.h5ad", "cell")
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == {"x.h5ad": before}
