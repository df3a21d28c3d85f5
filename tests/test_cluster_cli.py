"""The command ``graphlowrank cluster``, as its users meet it."""

import json
import os
import signal
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
from graphlowrank.cli import app, outputs, preparing
from graphlowrank.cli import cluster as command
from graphlowrank.cli.cluster import plane_of
from graphlowrank.cli.options import OPTION_OF, ScaledBy, in_options
from graphlowrank.cli.preparing import Preparation, prepare
from graphlowrank.cli.shell import RemedyError
from graphlowrank.cli.telling import as_text, in_sizes
from graphlowrank.estimators.clustering import OPTIONS
from graphlowrank.graphs import knn_graph
from graphlowrank.io import Table
from graphlowrank.io import text as text_files
from graphlowrank.preprocessing.principal import coordinates
from helpers import interruptible

HELP = "see graphlowrank cluster --help, or run it again with --debug to see where it failed"
PLACE = "choose another place for the output"
INPUT = "check the name of the input, and that it may be read"
FILL = "fill them in, or leave out these rows or columns: values cannot be missing yet"
SLOW = """
import signal, sys, time
from graphlowrank.cli import app, cluster
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # whoever runs the tests may ignore it
write = cluster.write_labels
def wait(*parts, **named):
    write(*parts, **named)
    print("written", file=sys.stderr, flush=True)
    time.sleep(60)
cluster.write_labels = wait
app()
"""


@pytest.fixture
def here(tmp_path, monkeypatch, blobs):
    monkeypatch.chdir(tmp_path)
    X, _ = blobs
    names = [f"wine {row}, old" for row in range(len(X))]
    pd.DataFrame(X, index=names, columns=[f"f{i}" for i in range(X.shape[1])]).to_csv("in.csv")
    return tmp_path


def make_counts(seed=0):
    """Counts of 90 cells of three kinds, of unequal depth, and 40 genes of which the first 15 differ."""
    rng = np.random.default_rng(seed)
    rates = np.ones((3, 40))
    for kind in range(3):
        rates[kind, 5 * kind : 5 * kind + 5] = 12
    kinds = np.repeat(np.arange(3), 30)
    return rng.poisson(rates[kinds] * rng.uniform(1, 5, (90, 1))), kinds


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


@pytest.mark.parametrize("name", ["out.csv", "out.tsv", "out.parquet", "out.json", "out.npz", "out.npy", "out.h5ad"])
def test_labels_are_those_of_the_library_with_the_names_of_the_file(here, blobs, name):
    result = done(f"in.csv -k 3 -o new/{name} --threads 1")
    wanted = CompressiveClustering(3, random_state=0, n_jobs=1).fit(blobs[0])
    names, labels, confidence = read(f"new/{name}")
    assert_array_equal(labels, wanted.labels_)
    if name != "out.npy":
        assert names == [f"wine {row}, old" for row in range(120)]
        assert_allclose(confidence, wanted.confidence_, atol=1e-4)
    assert tree(here) == ["in.csv", "new", f"new/{name}"]
    first, second, empty, *table = result.stdout.splitlines()
    assert first == "120 samples x 10 features of in.csv."
    assert second == f"3 clusters of 40, 40 and 40 samples; mean confidence {wanted.confidence_.mean():.2f}."
    assert empty == ""
    assert table[0].split() == ["n_clusters", "3", "as", "asked"]
    assert result.stderr.splitlines()[-1] == f"wrote new/{name}"


def test_without_a_number_and_without_names_both_are_found(here, blobs):
    np.save("in.npy", blobs[0])
    result = done("in.npy -o out.csv")
    names, labels, _ = read("out.csv")
    assert names == list(range(120))
    assert len(np.unique(labels)) == 3
    assert "3 clusters" in result.stdout


def test_one_seed_gives_the_same_bytes_whatever_the_threads(here):
    contents = []
    for threads in (1, 2):
        done(f"in.csv -k 4 --seed 7 --draws 2 --threads {threads} -o out.csv")
        contents.append((here / "out.csv").read_bytes())
    assert contents[0] == contents[1]


@pytest.mark.skipif(os.name == "nt", reason="links")
def test_a_link_is_followed_and_names_the_kind(here, blobs):
    (here / "out.npy").symlink_to("labels.bin")
    done("in.csv -k 3 -o out.npy")
    assert (here / "out.npy").is_symlink()
    assert_array_equal(np.load("labels.bin"), CompressiveClustering(3, random_state=0).fit(blobs[0]).labels_)


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
    assert {kind.value for kind in ScaledBy} == set(OPTIONS["scaling"])


def test_arrays_are_chosen_and_turned(here, blobs):
    np.savez("in.npz", first=np.ones((3, 3)), second=blobs[0].T)
    done("in.npz --key second --transpose -k 3 -o out.npy")
    assert_array_equal(np.load("out.npy"), CompressiveClustering(3, random_state=0).fit(blobs[0]).labels_)
    pd.DataFrame(blobs[0]).to_csv("plain.csv", header=False, index=False)
    assert "119 samples x 10 features" in done("plain.csv --header -k 3 -o out.npy").stdout
    assert "120 samples x 9 features" in done("plain.csv --index -k 3 -o out.npy").stdout


def test_json_is_all_of_stdout(here):
    result = done("in.csv -k 3 -o out.csv -r r.html --json")
    found = json.loads(result.stdout, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert (found["samples"], found["features"], found["clusters"], found["sizes"]) == (120, 10, 3, [40, 40, 40])
    assert found["written"] == {"output": "out.csv", "report": "r.html"}
    assert {choice["name"] for choice in found["fit"]["choices"]} >= {"n_clusters", "scaling", "gamma_samples"}
    assert found["fit"]["seconds"]["reading"] > 0
    assert found["warnings"] == []


def test_json_has_no_numbers_that_are_none():
    record = {"words": "x", "a": float("nan"), "b": [1, {"c": float("inf")}], "d": (2.5,)}
    assert json.loads(as_text(record)) == {"a": None, "b": [1, {"c": None}], "d": [2.5]}


def test_many_sizes_are_told_by_the_extremes():
    assert in_sizes([5]) == "5 samples"
    assert in_sizes(range(1, 20)) == "19 to 1 samples"


def test_clusters_without_a_sample_are_said(here, monkeypatch):
    class Model(CompressiveClustering):
        def fit(self, X, y=None):
            super().fit(X)
            self.labels_ = np.where(self.labels_ == 1, 0, self.labels_)
            return self

    monkeypatch.setattr(command, "CompressiveClustering", Model)
    assert "2 clusters of 80 and 40 samples (1 of 3 got no sample);" in done("in.csv -k 3 -o out.csv -r r.html").stdout


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
    assert_array_equal(found.obs["age"], np.arange(120))
    assert_array_equal(found.X, blobs[0].astype(np.float32))
    labels = found.obs["kind"].astype(str).astype(int).to_numpy()
    assert_array_equal(labels, CompressiveClustering(3, random_state=0).fit(blobs[0].astype(np.float32)).labels_)
    X = blobs[0].astype(np.float32)
    assert_allclose(found.obsm["X_kind"], coordinates(X, 3)[0], atol=1e-4)
    assert found.obsm["X_kind"].shape == (120, 5)
    assert tree(here) == ["in.csv", "in.h5ad"]


def test_coordinates_are_those_of_the_scaled_data_that_the_model_holds(here, monkeypatch):
    models, seen = [], Mock(side_effect=coordinates)

    class Model(CompressiveClustering):
        def fit(self, X, y=None):
            models.append(self)
            return super().fit(X)

    monkeypatch.setattr(command, "CompressiveClustering", Model)
    monkeypatch.setattr(command, "coordinates", seen)
    done("in.csv -k 3 --scaling features -o out.h5ad -r r.html")
    assert seen.call_args.args[0] is models[0]._fit_X  # no copy is made to scale them again
    done("in.csv -k 3 -o out.csv")
    assert seen.call_count == 1  # nor are they computed where nobody asks


@pytest.mark.parametrize("column", ["cell", "_index", ".", "a/b", "sample", "confidence"])
def test_a_column_that_the_file_cannot_take_is_refused_before_any_work(here, monkeypatch, blobs, column):
    anndata = pytest.importorskip("anndata")
    obs = pd.DataFrame(index=pd.Index([f"c{i}" for i in range(120)], name="cell"))
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
    obs = pd.DataFrame(index=pd.Index([f"c{i}" for i in range(120)], name="label_confidence"))
    anndata.AnnData(blobs[0], obs=obs).write_h5ad("in.h5ad")
    monkeypatch.setattr(command, "CompressiveClustering", lambda **_: pytest.fail("it has begun"))
    assert failure(run("in.h5ad -o in.h5ad"))[0].startswith("--column must not be 'label_confidence', which holds")


def test_anndata_of_an_old_layout_is_refused_before_any_work(here, monkeypatch, blobs):
    h5py = pytest.importorskip("h5py")
    with h5py.File("old.h5ad", "w") as file:
        file["X"] = blobs[0]
        file["obs"] = np.array([(f"c{i}".encode(),) for i in range(120)], dtype=[("index", "S5")])
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
    assert remedy == "choose one of weights, such as connectivities: distances are no weights"
    cause, _ = failure(run("in.h5ad --graph none -o out.npy"))
    assert cause == "in.h5ad holds no graph 'none'; it holds connectivities."


# --- counts ---


@pytest.mark.parametrize("sparse", [False, True])
def test_counts_are_prepared_alike_dense_and_sparse(monkeypatch, sparse):
    counts, _ = make_counts()
    monkeypatch.setattr("graphlowrank.preprocessing.counts.BLOCK_BYTES", 8 * 40 * 7)  # rows come in blocks of seven
    values = sp.csr_array(counts) if sparse else counts
    names = tuple(f"g{i}" for i in range(40))
    found = prepare(Table(values, None, names), Preparation(normalize_counts=True, top_features=12), Path("x"))
    assert isinstance(found.X, sp.csr_array) == sparse
    totals = counts.sum(axis=1)
    whole = np.log1p(counts * np.median(totals) / totals[:, None])
    kept = np.sort(np.argsort(-whole.var(axis=0))[:12])
    assert_allclose(found.X.toarray() if sparse else found.X, whole[:, kept])
    assert found.feature_names == tuple(names[i] for i in kept)
    assert set(kept) <= set(range(15))  # those that differ between kinds


def test_cells_are_told_apart_by_normalised_counts(here):
    counts, kinds = make_counts()
    sp.save_npz("in.npz", sp.csr_matrix(counts))
    result = done("in.npz -k 3 --normalize-counts --top-features 15 -o out.npy")
    labels = np.load("out.npy")
    assert all(len(np.unique(labels[kinds == kind])) == 1 for kind in range(3))
    assert result.stdout.splitlines()[:3] == [
        "90 samples x 15 features of in.npz.",
        "Prepared: every sample to the same total, then log(1 + x).",
        "Prepared: 15 of 40 features, those of the highest variance.",
    ]


def test_what_does_not_fit_into_memory_is_refused_and_fewer_features_are_not(here, monkeypatch):
    np.save("in.npy", make_counts()[0].astype(float).astype(int))  # whole numbers are copied
    monkeypatch.setattr(preparing, "allowed_bytes", lambda: 2 * 90 * 20 * 8)
    assert failure(run("in.npy -k 3 -o out.npy")) == (
        "in.npy needs 0.0 GiB as a dense matrix of 90 x 40, and 0.0 GiB are free.", preparing.FEWER
    )  # fmt: skip
    assert failure(run("in.npy -k 3 -o out.npy --top-features 21"))[1] == preparing.FEWER
    done("in.npy -k 3 -o out.npy --top-features 20")


def test_sparse_tables_that_stay_sparse_need_no_room_for_a_dense_one(here, monkeypatch):
    counts, kinds = make_counts()
    sp.save_npz("in.npz", sp.csr_matrix(counts.astype(np.float32)))
    np.save("in.npy", counts)
    monkeypatch.setattr(preparing, "allowed_bytes", lambda: 1)
    done("in.npz -k 3 --normalize-counts -o out.npy -r r.html")
    labels = np.load("out.npy")
    assert all(len(np.unique(labels[kinds == kind])) == 1 for kind in range(3))
    assert failure(run("in.npy -k 3 -o out.npy"))[1] == preparing.FEWER
    with pytest.raises(RemedyError):
        prepare(Table(sp.csr_array(counts)), Preparation(), Path("x"), only_dense=True)


# --- missing values ---


def with_gaps(X, *places):
    X = X.astype(float).copy()
    for place in places:
        X[place] = np.nan
    return X


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("preparation", [Preparation(), Preparation(normalize_counts=True, top_features=39)])
def test_missing_values_are_counted_and_handed_on(monkeypatch, sparse, preparation):
    counts, _ = make_counts()
    monkeypatch.setattr("graphlowrank.preprocessing.counts.BLOCK_BYTES", 8 * 40 * 7)
    X = with_gaps(counts, (3, 4), (50, 2), (50, 6))
    found = prepare(Table(sp.csr_array(X) if sparse else X), preparation, Path("x"))
    assert isinstance(found.X, np.ndarray)  # the estimators take gaps in dense matrices
    assert np.isnan(found.X).sum() == 3
    assert found.steps[0] == f"3 of {found.X.size} values are missing"
    if preparation == Preparation():
        assert_array_equal(found.X, X)


def test_missing_values_are_said(here, blobs):
    pd.DataFrame(with_gaps(blobs[0], (3, 4), (50, 2)), columns=list("abcdefghij")).to_csv("gaps.csv", index=False)
    result = done("gaps.csv -k 3 -o out.h5ad -r r.html")
    assert result.stdout.splitlines()[1] == "Prepared: 2 of 1200 values are missing."
    assert "3 clusters of 40, 40 and 40 samples" in result.stdout
    assert "2 of 1200 values are missing" in (here / "r.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(
    ("places", "asked", "cause", "remedy"),
    [
        ([(2, slice(None))], {}, "x has no value in row 3 ('s2').", "leave out rows without any value"),
        ([2, 5, 6], {}, "x has no value in row 3 ('s2'), nor in 2 other rows.", "leave out rows without any value"),
        ([(slice(None), 1)], {}, "x has no value in column 2 ('b').", "leave out columns without any value"),
        ([(slice(None), [1, 3])], {"top_features": 3}, "x has no value in column 2 ('b').",
         "leave out columns without any value"),
        ([(0, [0, 2])], {"top_features": 2}, "x has no value of the kept features in row 1 ('s0').",
         "leave out rows without any value, or keep more features"),
    ],
)  # fmt: skip
def test_samples_and_features_without_any_value_are_refused(sparse, places, asked, cause, remedy):
    X = with_gaps(np.arange(8)[:, None] * np.array([3, 1, 4, 2]) + 1, *places)
    table = Table(sp.csr_array(X) if sparse else X, tuple(f"s{i}" for i in range(8)), tuple("abcd"))
    with pytest.raises(RemedyError) as caught:
        prepare(table, Preparation(**asked), Path("x"))
    assert (str(caught.value), caught.value.remedy) == (cause, remedy)


def test_features_without_any_value_are_not_chosen():
    X = with_gaps(np.arange(8)[:, None] * np.array([3, 1, 4, 2]) + 1, (slice(None), 0), (1, 2))
    found = prepare(Table(X, None, tuple("abcd")), Preparation(top_features=2), Path("x"))
    assert found.feature_names == ("c", "d")
    assert found.steps[0] == "1 of 16 values is missing"


def test_gaps_do_not_hide_values_without_a_logarithm():
    X = with_gaps(-np.ones((8, 4)), (0, 0))
    with pytest.raises(RemedyError, match="negative values, the least is -1"):
        prepare(Table(X), Preparation(normalize_counts=True), Path("x"))


def test_infinite_values_are_refused_where_missing_ones_are_not(here, blobs):
    X = with_gaps(blobs[0], (3, 4))
    X[5, 1] = np.inf
    np.save("gaps.npy", X)
    assert failure(run("gaps.npy -o out.csv")) == (
        "gaps.npy has 1 value that is infinite, the first in row 6, column 2.",
        "put numbers there, or leave the cells empty: values may be missing",
    )


# --- refusals ---


def test_infinite_values_of_a_sparse_table_are_counted_and_the_first_is_named(here):
    sparse = sp.csr_array(([1.0, np.inf, 2.0], ([0, 2, 2], [1, 0, 3])), shape=(4, 5))
    sp.save_npz("gaps.npz", sparse)
    assert failure(run("gaps.npz -o out.csv"))[0].endswith(
        "has 1 value that is infinite, the first in row 3, column 1."
    )
    assert tree(here) == ["gaps.npz", "in.csv"]


@pytest.mark.parametrize(
    ("given", "text"),
    [("in.csv", "--output"), ("in.csv -o out.csv -k 0", "'0' is neither"), ("in.csv -o out.csv -k many", "'many' is"),
     ("in.csv -o out.csv --scaling some", "features"), ("in.csv -o out.csv --draws 0", "--draws"),
     *((f"in.csv -o out.csv --downsampling {words}", text) for words, text in {
         "0.5 2": "'0.5' is no number >= 1: give two of them, or 'auto' alone", "2 b": "'b' is no number",
         "inf 2": "'inf' is no number", "nan 2": "'nan' is no number", "2 auto": "'auto' is no number",
         "auto 2": "unexpected extra argument", "2": "--downsampling",
     }.items()),
     ("in.csv -o .", "--output"), ("in.csv -o out.csv --top-features 0", "--top-features"), ("-o out.csv", "FILE")],
)  # fmt: skip
def test_wrong_usage_exits_with_2(here, given, text):
    result = run(given)
    assert (result.exit_code, result.stdout, tree(here), text in result.stderr) == (2, "", ["in.csv"], True)


@pytest.mark.parametrize(
    ("given", "cause", "remedy"),
    [
        ("none.csv -o new/out.csv", "there is no file or folder none.csv.", INPUT),
        ("none -o new/out.csv", "there is no file or folder none.", INPUT),
        ("text.csv -o new/out.csv", "text.csv ", HELP),
        ("in.csv -o out.xyz", "out.xyz is not of a known kind: .csv, .tsv,", HELP),
        ("in.csv -o ./in.csv", "--output is the input itself", HELP),
        ("in.csv -o out.csv -r ./out.csv", "--output and --report are the same place", HELP),
        ("in.csv -o text.csv/out.csv", "cannot write text.csv/out.csv: ", PLACE),
        ("in.csv -o out.csv --key X", "in.csv takes no key", HELP),
        ("in.csv -o out.csv --column confidence", "--column must not be 'confidence'", HELP),
        ("in.csv -o out.csv --normalize-counts", "in.csv has negative values, the least is -", "leave out --norma"),
        ("in.csv -o out.csv --log1p", "in.csv has values down to -", "leave out --log1p"),
    ],
)
def test_refusals_before_any_work(here, monkeypatch, given, cause, remedy):
    monkeypatch.setattr(command, "CompressiveClustering", lambda **_: pytest.fail("it has begun"))
    (here / "text.csv").write_text("a,b\nc,d\n")
    before = tree(here)
    said, advice = failure(run(given))
    assert (said[: len(cause)], advice[: len(remedy)], tree(here)) == (cause, remedy, before)


def test_more_clusters_than_samples(here):
    cause, remedy = failure(run("in.csv -o out.csv -k 500"))
    assert cause == "--clusters 500 is more than the 120 samples."
    assert (remedy, tree(here)) == (HELP, ["in.csv"])


def test_messages_of_the_library_name_the_options(here):
    result = run("in.csv -o out.csv -k 8 --downsampling 20 1 -r r.html")
    assert failure(result)[0] == "--clusters 8 is more than the 6 kept samples (see --downsampling)."
    cause, _ = failure(run("in.csv -o out.csv --neighbors 120"))
    assert cause == "--neighbors 120 needs at least 121 samples, got 120 samples; lower --neighbors."


@pytest.mark.filterwarnings("default")
def test_warnings_of_the_library_name_the_options(here):
    result = done("in.csv -o out.csv -k 2 --downsampling 20 1 --json")
    said = "--downsampling 20 1 keeps only 6 of 120 samples; expect a coarse answer."
    assert json.loads(result.stdout)["warnings"] == [said]
    assert f"warning: {said}" in result.stderr.splitlines()


def test_options_that_messages_are_put_in_exist():
    commands = typer.main.get_command(app).commands
    options = {opt for name in ("cluster", "recover") for option in commands[name].params for opt in option.opts}
    assert set(OPTION_OF.values()) <= options
    model = {**CompressiveClustering().get_params(), "n_components": None}
    assert {name for name in OPTION_OF if name.isidentifier()} <= set(model)


@pytest.mark.parametrize("text", ["n_clusters.csv has text", "/data/downsampling/x.npy is damaged",
                                  "my_n_jobs is", "downsampling-2.csv has 3 columns", "a column of text"])  # fmt: skip
def test_names_of_files_and_words_are_left_alone(text):
    assert in_options(text) == text


@pytest.mark.parametrize(
    ("package", "given", "cause", "install"),
    [("h5py", "-o out.h5ad", "Writing .h5ad files needs h5py", "graphlowrank[io]"),
     ("pyarrow", "-o out.parquet", "Writing .parquet files needs pyarrow", "graphlowrank[io]"),
     ("jinja2", "-o out.csv -r r.html", "the report needs jinja2", "graphlowrank[plots]")],
)  # fmt: skip
def test_a_missing_package_says_what_to_install(here, monkeypatch, package, given, cause, install):
    monkeypatch.setitem(sys.modules, package, None)
    said, remedy = failure(run(f"in.csv {given}"))
    assert said.startswith(cause)
    assert (remedy, tree(here)) == (f"pip install {install}", ["in.csv"])


def test_debug_shows_the_failure_itself(here):
    assert isinstance(run("none.csv -o out.csv --debug").exception, FileNotFoundError)


@pytest.mark.parametrize(
    ("home", "step", "error", "said"),
    [
        (command, "write_labels", OSError(28, "no space"), "error: no space"),
        (command, "write_labels", KeyboardInterrupt(), "interrupted; no half-written file is left"),
        (command.FitPage, "to_html", ValueError("no"), "error: no"),
        (outputs, "_to_disk", OSError(28, "no space"), "error: no space"),
        (text_files, "writing", OSError(28, "no space"), "error: no space"),
    ],
)
def test_a_failure_leaves_older_files_and_nothing_else(here, monkeypatch, home, step, error, said):
    for name in ("out.csv", "r.html"):
        (here / name).write_text("older")
    monkeypatch.setattr(home, step, Mock(side_effect=error))
    result = run("in.csv -k 3 -o out.csv -r r.html")
    assert result.exit_code == (1 if said.startswith("error") else 130)
    assert (result.stdout, said in result.stderr.splitlines()) == ("", True)
    assert tree(here) == ["in.csv", "out.csv", "r.html"]
    assert {(here / name).read_text() for name in ("out.csv", "r.html")} == {"older"}


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize("sent", ["SIGINT", "SIGTERM"])
def test_a_signal_in_the_middle_leaves_nothing(here, sent):
    words = ["cluster", "in.csv", "-k", "3", "-o", "out.csv", "-r", "r.html"]
    with interruptible([sys.executable, "-c", SLOW, *words]) as process:
        while process.stderr.readline() not in ("written\n", ""):
            pass
        assert len(tree(here)) == 4  # the labels are there, under another name
        process.send_signal(getattr(signal, sent))
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, "", "interrupted; no half-written file is left\n")
    assert tree(here) == ["in.csv"]


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
    assert done.stdout.split() == ["--normalize-counts"]


# --- the plane of the page ---


def test_the_plane_holds_the_centres(blobs):
    X, kinds = blobs
    scores, _ = coordinates(X, 3)
    places = plane_of(scores, kinds)
    centres = np.stack([places[kinds == kind].mean(axis=0) for kind in range(3)])
    apart = np.stack([scores[kinds == kind].mean(axis=0) for kind in range(3)])
    for one, other in ((0, 1), (0, 2), (1, 2)):  # three centres lie in a plane: nothing of their distances is lost
        wanted = np.linalg.norm(apart[one] - apart[other])
        assert np.linalg.norm(centres[one] - centres[other]) == pytest.approx(wanted)


@pytest.mark.parametrize("n_clusters", [1, 2])
@pytest.mark.parametrize("n_features", [1, 2, 6])
def test_few_clusters_and_few_features_have_a_plane_too(n_clusters, n_features):
    rng = np.random.default_rng(0)
    X, labels = rng.standard_normal((20, n_features)), np.arange(20) % n_clusters
    places = plane_of(coordinates(X, n_clusters)[0], labels)
    assert places.shape == (20, 2)
    assert (np.ptp(places, axis=0) > 0).sum() == min(2, n_features)
