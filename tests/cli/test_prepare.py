"""Preprocessing of tables: counts, missing values, memory."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from command_helpers import failure, invoke, make_counts, succeeded
from graphlowrank.anndata import cluster
from graphlowrank.cli import prepare as prepare_module
from graphlowrank.cli.console import RemedyError
from graphlowrank.cli.prepare import FEWER_FEATURES, prepare
from graphlowrank.io import Table


def run(words):
    return invoke("cluster", words)


def done(words):
    return succeeded(run(words))


# --- counts ---


@pytest.mark.parametrize("sparse", [False, True])
def test_counts_are_prepared_alike_dense_and_sparse(monkeypatch, sparse):
    counts, _ = make_counts()
    monkeypatch.setattr("graphlowrank.preprocessing.counts.BLOCK_ENTRIES", 40 * 7)  # rows come in blocks of seven
    values = sp.csr_array(counts) if sparse else counts
    names = tuple(f"g{i}" for i in range(40))
    found, _ = prepare(Table(values, None, names), Path("x"), normalize_counts=True, top_features=12)
    assert isinstance(found.values, sp.csr_array) == sparse
    totals = counts.sum(axis=1)
    whole = np.log1p(counts * np.median(totals) / totals[:, None])
    kept = np.sort(np.argsort(-whole.var(axis=0))[:12])
    assert_allclose(found.values.toarray() if sparse else found.values, whole[:, kept])
    assert found.feature_names == tuple(names[i] for i in kept)
    assert set(kept) <= set(range(15))  # those that differ between kinds


def test_normalized_counts_separate_the_cells(here):
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


def test_counts_of_anndata_files_are_prepared_as_in_python(here, monkeypatch):
    anndata = pytest.importorskip("anndata")
    monkeypatch.setattr(prepare_module, "TOP_OF_COUNTS", 15)
    adata = anndata.AnnData(sp.csr_matrix(make_counts()[0].astype(np.float32)))
    adata.write_h5ad("in.h5ad")
    lines = done("in.h5ad -k 3 -o out.npy").stdout.splitlines()
    assert lines[:4] == [
        "90 samples x 15 features of in.h5ad.",
        "Prepared: all values are counts, hence the following; --no-normalize-counts keeps them.",
        "Prepared: every sample to the same total, then log(1 + x).",
        "Prepared: 15 of 40 features, those of the highest variance.",
    ]
    cluster(adata, 3, n_top_features=15, random_state=0)
    assert_array_equal(np.load("out.npy"), adata.obs["graphlowrank"].astype(int))
    assert "90 samples x 20 features" in done("in.h5ad -k 3 -o out.npy --top-features 20").stdout
    for words in ("in.h5ad -k 3 -o out.npy --no-normalize-counts", "in.h5ad -k 3 -o out.npy --log1p"):
        assert "all values are counts" not in done(words).stdout
    assert "every sample" not in succeeded(invoke("recover", "in.h5ad -o low.npy")).stdout


def test_too_large_a_matrix_is_an_error_unless_fewer_features_fit(here, monkeypatch):
    np.save("in.npy", make_counts()[0].astype(float).astype(int))  # whole numbers are copied
    monkeypatch.setattr(prepare_module, "allowed_bytes", lambda: 2 * 90 * 20 * 8)
    assert failure(run("in.npy -k 3 -o out.npy")) == (
        "in.npy needs 0.0 GiB as a dense matrix of 90 x 40, and 0.0 GiB are free.", FEWER_FEATURES
    )  # fmt: skip
    assert failure(run("in.npy -k 3 -o out.npy --top-features 21"))[1] == FEWER_FEATURES
    done("in.npy -k 3 -o out.npy --top-features 20")


def test_sparse_tables_that_stay_sparse_need_no_room_for_a_dense_one(here, monkeypatch):
    counts, kinds = make_counts()
    sp.save_npz("in.npz", sp.csr_matrix(counts.astype(np.float32)))
    np.save("in.npy", counts)
    monkeypatch.setattr(prepare_module, "allowed_bytes", lambda: 1)
    done("in.npz -k 3 --normalize-counts -o out.npy -r r.html")
    labels = np.load("out.npy")
    assert all(len(np.unique(labels[kinds == kind])) == 1 for kind in range(3))
    assert failure(run("in.npy -k 3 -o out.npy"))[1] == FEWER_FEATURES
    with pytest.raises(RemedyError):
        prepare(Table(sp.csr_array(counts)), Path("x"), only_dense=True)


# --- missing values ---


def with_missing(X, *places):
    X = X.astype(float).copy()
    for place in places:
        X[place] = np.nan
    return X


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("preparation", [{}, {"normalize_counts": True, "top_features": 39}])
def test_missing_values_are_counted_and_handed_on(monkeypatch, sparse, preparation):
    counts, _ = make_counts()
    monkeypatch.setattr("graphlowrank.preprocessing.counts.BLOCK_ENTRIES", 40 * 7)
    X = with_missing(counts, (3, 4), (50, 2), (50, 6))
    found, steps = prepare(Table(sp.csr_array(X) if sparse else X), Path("x"), **preparation)
    assert isinstance(found.values, np.ndarray)  # the estimators take missing values only in dense matrices
    assert np.isnan(found.values).sum() == 3
    assert steps[0] == f"3 of {found.values.size} values are missing"
    if not preparation:
        assert_array_equal(found.values, X)


def test_missing_values_are_reported(here, blobs):
    pd.DataFrame(with_missing(blobs[0], (3, 4), (20, 2)), columns=list("abcdefghij")).to_csv("missing.csv", index=False)
    result = done("missing.csv -k 3 -o out.h5ad -r r.html")
    assert result.stdout.splitlines()[1] == "Prepared: 2 of 450 values are missing."
    assert "3 clusters of 15, 15 and 15 samples" in result.stdout
    assert "2 of 450 values are missing" in (here / "r.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(
    ("places", "asked", "cause", "remedy"),
    [
        ([(2, slice(None))], {}, "x has no value in row 3 ('s2').", "remove rows without any value"),
        ([2, 5, 6], {}, "x has no value in row 3 ('s2'), nor in 2 other rows.", "remove rows without any value"),
        ([(slice(None), 1)], {}, "x has no value in column 2 ('b').", "remove columns without any value"),
        ([(slice(None), [1, 3])], {"top_features": 3}, "x has no value in column 2 ('b').",
         "remove columns without any value"),
        ([(0, [0, 2])], {"top_features": 2}, "x has no value of the kept features in row 1 ('s0').",
         "remove rows without any value, or keep more features"),
    ],
)  # fmt: skip
def test_samples_and_features_without_any_value_are_errors(sparse, places, asked, cause, remedy):
    X = with_missing(np.arange(8)[:, None] * np.array([3, 1, 4, 2]) + 1, *places)
    table = Table(sp.csr_array(X) if sparse else X, tuple(f"s{i}" for i in range(8)), tuple("abcd"))
    with pytest.raises(RemedyError) as caught:
        prepare(table, Path("x"), **asked)
    assert (str(caught.value), caught.value.remedy) == (cause, remedy)


def test_features_without_any_value_are_not_selected():
    X = with_missing(np.arange(8)[:, None] * np.array([3, 1, 4, 2]) + 1, (slice(None), 0), (1, 2))
    found, steps = prepare(Table(X, None, tuple("abcd")), Path("x"), top_features=2)
    assert found.feature_names == ("c", "d")
    assert steps[0] == "1 of 16 values is missing"


def test_missing_values_do_not_hide_values_without_a_logarithm():
    X = with_missing(-np.ones((8, 4)), (0, 0))
    with pytest.raises(RemedyError, match="negative values, down to -1"):
        prepare(Table(X), Path("x"), normalize_counts=True)


def test_infinite_values_are_errors_but_missing_ones_are_not(here, blobs):
    X = with_missing(blobs[0], (3, 4))
    X[5, 1] = np.inf
    np.save("missing.npy", X)
    assert failure(run("missing.npy -o out.csv")) == (
        "missing.npy has 1 infinite value, the first in row 6, column 2.",
        "replace them by numbers, or leave the cells empty: values may be missing",
    )
