"""The command ``graphlowrank cluster``, end to end."""

import json
import os
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import typer
from numpy.testing import assert_allclose, assert_array_equal
from typer.testing import CliRunner

from command_helpers import failure, invoke, succeeded, tree
from graphlowrank import CompressiveClustering
from graphlowrank.cli import app
from graphlowrank.cli import cluster as command
from graphlowrank.cli.cluster import describe_sizes
from graphlowrank.cli.console import to_json
from graphlowrank.graphs import knn_graph
from graphlowrank.preprocessing.principal import principal_scores

HELP = "see graphlowrank cluster --help, or run it again with --debug to see where it failed"


def run(words):
    return invoke("cluster", words)


def done(words):
    return succeeded(run(words))


def read(name):
    """Names, labels and confidence of a file."""
    if name.endswith(".npy"):
        return None, np.load(name), None
    if name.endswith(".npz"):
        with np.load(name) as file:
            return file["sample_names"].tolist(), file["labels"], file["confidence"]
    if name.endswith(".json"):
        table = pd.DataFrame(json.loads(Path(name).read_text(encoding="utf-8")))
    elif name.endswith(".h5ad"):
        obs = pytest.importorskip("anndata").read_h5ad(name).obs
        return list(obs.index), obs["label"].astype(str).astype(int).to_numpy(), obs["label_confidence"].to_numpy()
    else:
        table = pd.read_parquet(name) if name.endswith("parquet") else pd.read_csv(name, sep=None, engine="python")
    return table["sample"].tolist(), table["label"].to_numpy(), table["confidence"].to_numpy()


@pytest.fixture(scope="module")
def fitted(blobs):
    """What the library makes of the input."""
    return CompressiveClustering(3, random_state=0, n_jobs=1).fit(blobs[0])


@pytest.mark.parametrize("name", ["out.csv", "out.tsv", "out.parquet", "out.json", "out.npz", "out.npy", "out.h5ad"])
def test_labels_are_those_of_the_library_with_the_names_of_the_file(here, fitted, name):
    result = done(f"in.csv -k 3 -o new/{name} --threads 1")
    names, labels, confidence = read(f"new/{name}")
    assert_array_equal(labels, fitted.labels_)
    if name != "out.npy":
        assert names == [f"wine {row}, old" for row in range(45)]
        assert_allclose(confidence, fitted.confidence_, atol=1e-4)
    assert tree(here) == ["in.csv", "new", f"new/{name}"]
    first, second, empty, *table = result.stdout.splitlines()
    assert first == "45 samples x 10 features of in.csv."
    assert second == f"3 clusters of 15, 15 and 15 samples; mean confidence {fitted.confidence_.mean():.2f}."
    assert empty == ""
    assert table[0].split() == ["n_clusters", "3", "as", "given"]
    assert result.stderr.splitlines()[-1] == f"wrote new/{name}"


def test_without_a_number_and_without_names_both_are_found(here, blobs):
    np.save("in.npy", blobs[0])
    result = done("in.npy -o out.csv")
    names, labels, _ = read("out.csv")
    assert names == list(range(45))
    assert len(np.unique(labels)) == 3
    assert "3 clusters" in result.stdout


def test_one_seed_gives_the_same_bytes_whatever_the_threads(here):
    contents = []
    for threads in (1, 2):
        done(f"in.csv -k 4 --seed 7 --draws 2 --threads {threads} -o out.csv")
        contents.append((here / "out.csv").read_bytes())
    assert contents[0] == contents[1]


@pytest.mark.skipif(os.name == "nt", reason="links")
def test_links_are_followed(here, fitted):
    (here / "out.npy").symlink_to("labels.bin")
    done("in.csv -k 3 -o out.npy")
    assert (here / "out.npy").is_symlink()
    assert_array_equal(np.load("labels.bin"), fitted.labels_)


def test_options_reach_the_model(here, monkeypatch):
    seen = Mock(side_effect=ValueError("enough"))
    monkeypatch.setattr(command, "CompressiveClustering", seen)
    run("in.csv -o out.csv")
    assert seen.call_args.kwargs == {
        "n_clusters": "auto", "scaling": "auto", "n_draws": 1, "random_state": 0, "n_jobs": None
    }  # fmt: skip
    run("in.csv -o out.csv -k 4 --scaling samples --draws 3 --neighbors 7 --seed 5 --threads 2 --gamma-samples 2 "
        "--gamma-features 0.5 --downsampling 2 1.5")  # fmt: skip
    assert seen.call_args.kwargs == {
        "n_clusters": 4, "scaling": "samples", "n_draws": 3, "random_state": 5, "n_jobs": 2, "n_neighbors": 7,
        "gamma_samples": 2.0, "gamma_features": 0.5, "downsampling": (2.0, 1.5),
    }  # fmt: skip
    for auto in ("--downsampling auto", "--downsampling=auto"):
        seen.reset_mock()
        run(f"{auto} in.csv -o out.csv")
        assert "downsampling" not in seen.call_args.kwargs


def test_arrays_are_selected_and_transposed(here, blobs, fitted):
    np.savez("in.npz", first=np.ones((3, 3)), second=blobs[0].T)
    done("in.npz --key second --transpose -k 3 -o out.npy")
    assert_array_equal(np.load("out.npy"), fitted.labels_)
    pd.DataFrame(blobs[0]).to_csv("plain.csv", header=False, index=False)
    assert "44 samples x 10 features" in done("plain.csv --header -k 3 -o out.npy").stdout
    assert "45 samples x 9 features" in done("plain.csv --index -k 3 -o out.npy").stdout


def test_json_is_all_of_stdout(here):
    result = done("in.csv -k 3 -o out.csv -r r.html --json")
    found = json.loads(result.stdout, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert (found["samples"], found["features"], found["clusters"], found["sizes"]) == (45, 10, 3, [15, 15, 15])
    assert found["written"] == {"output": "out.csv", "report": "r.html"}
    assert {choice["name"] for choice in found["fit"]["choices"]} >= {"n_clusters", "scaling", "gamma_samples"}
    assert found["fit"]["seconds"]["reading"] > 0
    assert found["warnings"] == []


def test_json_has_null_for_numbers_that_are_not_finite():
    record = {"a": float("nan"), "b": [1, {"c": float("inf")}], "d": (2.5,)}
    assert json.loads(to_json(record)) == {"a": None, "b": [1, {"c": None}], "d": [2.5]}


def test_many_sizes_are_described_by_the_extremes():
    assert describe_sizes([5]) == "5 samples"
    assert describe_sizes([1, 2, 3]) == "3, 2 and 1 samples"
    assert describe_sizes(range(1, 20)) == "19 to 1 samples"


def test_empty_clusters_are_reported(here, monkeypatch):
    class Model(CompressiveClustering):
        def fit(self, X, y=None):
            super().fit(X)
            self.labels_ = np.where(self.labels_ == 1, 0, self.labels_)
            return self

    monkeypatch.setattr(command, "CompressiveClustering", Model)
    assert "2 clusters of 30 and 15 samples (1 of 3 are empty);" in done("in.csv -k 3 -o out.csv -r r.html").stdout


# --- AnnData ---


def make_h5ad(path, X, graph=None):
    anndata = pytest.importorskip("anndata")
    obs = pd.DataFrame({"age": np.arange(X.shape[0])}, index=[f"cell{i}" for i in range(X.shape[0])])
    data = anndata.AnnData(X.astype(np.float32), obs=obs)
    if graph is not None:
        data.obsp["connectivities"] = sp.csr_matrix(graph)
    data.write_h5ad(path)
    return anndata


def test_anndata_gets_its_labels_in_place(here, blobs):
    anndata = make_h5ad("in.h5ad", blobs[0])
    for _ in range(2):  # again: the older labels are replaced
        done("in.h5ad -k 3 -o in.h5ad --column kind")
    found = anndata.read_h5ad("in.h5ad")
    assert list(found.obs.columns) == ["age", "kind", "kind_confidence"]
    assert_array_equal(found.obs["age"], np.arange(45))
    assert_array_equal(found.X, blobs[0].astype(np.float32))
    labels = found.obs["kind"].astype(str).astype(int).to_numpy()
    assert_array_equal(labels, CompressiveClustering(3, random_state=0).fit(blobs[0].astype(np.float32)).labels_)
    X = blobs[0].astype(np.float32)
    assert_allclose(found.obsm["X_kind"], principal_scores(X, 3)[0], atol=1e-4)
    assert found.obsm["X_kind"].shape == (45, 5)
    assert tree(here) == ["in.csv", "in.h5ad"]


def test_scores_are_those_of_the_scaled_data(here, monkeypatch):
    models, seen = [], Mock(side_effect=principal_scores)

    class Model(CompressiveClustering):
        def fit(self, X, y=None):
            models.append(self)
            return super().fit(X)

    monkeypatch.setattr(command, "CompressiveClustering", Model)
    monkeypatch.setattr(command, "principal_scores", seen)
    done("in.csv -k 3 --scaling features -o out.h5ad -r r.html")
    assert seen.call_args.args[0] is models[0].points_  # no copy is made to scale them again
    done("in.csv -k 3 -o out.csv")
    assert seen.call_count == 1  # nor are they computed where nobody asks


@pytest.mark.parametrize("column", ["cell", "_index", ".", "a/b", "sample", "confidence"])
def test_a_column_that_the_file_cannot_take_is_an_error_before_any_work(here, monkeypatch, blobs, column):
    anndata = pytest.importorskip("anndata")
    obs = pd.DataFrame(index=pd.Index([f"c{i}" for i in range(45)], name="cell"))
    anndata.AnnData(blobs[0], obs=obs).write_h5ad("in.h5ad")
    before = (here / "in.h5ad").read_bytes()
    monkeypatch.setattr(command, "CompressiveClustering", lambda **_: pytest.fail("it has begun"))
    cause, remedy = failure(run(f"in.h5ad -o in.h5ad --column {column}"))
    assert cause.startswith("--column must ")
    assert repr(column) in cause
    assert (remedy, (here / "in.h5ad").read_bytes() == before) == (HELP, True)
    if column != "cell":  # a new file has an index of its own
        assert failure(run(f"in.csv -o out.h5ad --column {column}"))[0] == cause


def test_the_confidence_must_not_take_the_place_of_the_names_either(here, monkeypatch, blobs):
    anndata = pytest.importorskip("anndata")
    obs = pd.DataFrame(index=pd.Index([f"c{i}" for i in range(45)], name="label_confidence"))
    anndata.AnnData(blobs[0], obs=obs).write_h5ad("in.h5ad")
    monkeypatch.setattr(command, "CompressiveClustering", lambda **_: pytest.fail("it has begun"))
    assert failure(run("in.h5ad -o in.h5ad"))[0].startswith("--column must not be 'label_confidence', which holds")


def test_anndata_of_an_old_layout_is_an_error_before_any_work(here, monkeypatch, blobs):
    h5py = pytest.importorskip("h5py")
    with h5py.File("old.h5ad", "w") as file:
        file["X"] = blobs[0]
        file["obs"] = np.array([(f"c{i}".encode(),) for i in range(45)], dtype=[("index", "S5")])
    monkeypatch.setattr(command, "CompressiveClustering", lambda **_: pytest.fail("it has begun"))
    assert failure(run("old.h5ad -o new.h5ad"))[0].startswith("old.h5ad has no table of samples (obs)")


def test_a_graph_of_the_file_is_used(here, blobs):
    X, kinds = blobs
    rng = np.random.default_rng(0)
    graph = knn_graph(X, 10).weights  # of the data; the values themselves say nothing
    make_h5ad("in.h5ad", rng.standard_normal(X.shape), graph)
    found = json.loads(done("in.h5ad -k 3 --graph connectivities -o out.npy --json").stdout)
    assert found["fit"]["graphs"][0]["n_edges"] == graph.nnz // 2
    labels = np.load("out.npy")
    assert all(len(np.unique(labels[kinds == kind])) == 1 for kind in range(3))
    make_h5ad("far.h5ad", X, np.triu(graph.toarray()))
    cause, remedy = failure(run("far.h5ad --graph connectivities -o out.npy"))
    assert cause == "the graph 'connectivities' of far.h5ad is not symmetric."
    assert remedy == "choose a graph of edge weights, such as connectivities, not of distances"
    cause, _ = failure(run("in.h5ad --graph none -o out.npy"))
    assert cause == "in.h5ad holds no graph 'none'; it holds connectivities."


# --- help ---


def test_help_shows_examples_and_every_option():
    shown = run("--help").stdout
    options = typer.main.get_command(app).commands["cluster"].params
    assert all(name in shown for option in options for name in option.opts if name.startswith("-"))
    assert "graphlowrank cluster wine.csv -k 3 -o labels.csv" in shown


@pytest.mark.skipif(os.name == "nt", reason="bash")
def test_completion_is_offered_and_can_be_installed(tmp_path):
    assert "--install-completion" in CliRunner().invoke(app, ["--help"], env={"COLUMNS": "160"}).stdout
    program = [sys.executable, "-m", "graphlowrank"]
    around = {**os.environ, "HOME": str(tmp_path), "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    subprocess.run([*program, "--install-completion", "bash"], env=around, check=True, capture_output=True)
    script = (tmp_path / ".bash_completions" / "graphlowrank.sh").read_text()
    assert "_GRAPHLOWRANK_COMPLETE=complete_bash" in script
    asked = {
        **around, "_GRAPHLOWRANK_COMPLETE": "complete_bash", "COMP_WORDS": "graphlowrank cluster --norm",
        "COMP_CWORD": "2",
    }  # fmt: skip
    done = subprocess.run(program, env=asked, capture_output=True, text=True, check=False)
    assert "--normalize-counts" in done.stdout.split()
