"""Recovery of rows that are read block by block: as good as in memory, whatever the chunks, and lazy."""

import warnings

import dask.array as da
import numpy as np
import pytest
import zarr

import graphlowrank as gl
from graphlowrank import large_data
from graphlowrank.decoders import LowRankMatrix
from graphlowrank.outofcore import method


@pytest.fixture(autouse=True)
def nothing_fits(monkeypatch):
    monkeypatch.setattr(method, "FEW_ROWS", 0)


def noisy(n=4000, p=12, *, outliers=0.0, missing=0.0, curved=False):
    rng = np.random.default_rng(0)
    clean = rng.standard_normal((n, 3)) @ rng.standard_normal((3, p)) + 5
    clean = np.tanh(clean / 4) * 4 if curved else clean
    X = clean + 0.3 * rng.standard_normal(clean.shape)
    X[rng.random(X.shape) < outliers] += 30
    X[rng.random(X.shape) < missing] = np.nan
    X[np.isnan(X).all(axis=1), 0] = 0
    return clean.astype(np.float32), X.astype(np.float32)


def recovered(X):
    with large_data(method="out_of_core"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return gl.CompressivePCA(random_state=0).fit(X)


def error(found, clean):
    return np.linalg.norm(np.asarray(found) - clean) / np.linalg.norm(clean - clean.mean(axis=0))


@pytest.mark.parametrize("kind", [{}, {"outliers": 0.05}, {"missing": 0.2}, {"curved": True}], ids=str)
def test_it_is_as_good_as_in_memory(kind):
    clean, X = noisy(**kind)
    model = recovered(da.from_array(X, chunks=(1111, 12)))
    in_memory = gl.CompressivePCA(random_state=0).fit(X)
    assert error(model.low_rank_, clean) < 1.1 * error(in_memory.low_rank_, clean)
    assert model.low_rank_.shape == X.shape
    assert isinstance(model.low_rank_.left, da.Array)
    assert model.report_.choices[-1].value == "out_of_core"


def test_the_answer_does_not_depend_on_the_chunks():
    _, X = noisy(outliers=0.05)
    models = [recovered(da.from_array(X, chunks=chunks)) for chunks in [(4000, 12), (999, 7), ((1, 3999), 12)]]
    for model in models[1:]:
        np.testing.assert_array_equal(model.low_rank_.to_array(), models[0].low_rank_.to_array())
        np.testing.assert_array_equal(model.components_, models[0].components_)


def test_factors_are_orthonormal_and_sorted():
    _, X = noisy()
    low_rank = recovered(da.from_array(X, chunks=(1000, 12))).low_rank_
    left = np.asarray(low_rank.left)
    np.testing.assert_allclose(left.T @ left, np.eye(low_rank.rank), atol=1e-4)
    np.testing.assert_allclose(low_rank.right.T @ low_rank.right, np.eye(low_rank.rank), atol=1e-5)
    assert (np.diff(low_rank.singular_values) < 0).all()


def test_parts_of_the_matrix_are_decoded_alone(tmp_path):
    _, X = noisy(n=900)
    model = recovered(da.from_array(X, chunks=(200, 12)))
    low_rank, whole = model.low_rank_, model.low_rank_.to_array()
    np.testing.assert_allclose(low_rank[3], whole[3], rtol=1e-5)
    np.testing.assert_allclose(low_rank[100:300, [5, 2]], whole[100:300, [5, 2]], rtol=1e-5)
    np.testing.assert_allclose(low_rank[[1, 700], [3, 4]], whole[[1, 700], [3, 4]], rtol=1e-5)
    B = np.ones((12, 2), dtype=np.float32)
    np.testing.assert_allclose(np.asarray(low_rank @ B), whole @ B, rtol=1e-4)
    np.testing.assert_allclose(np.ones((1, 900), np.float32) @ low_rank, whole.sum(axis=0, keepdims=True), rtol=1e-4)
    np.testing.assert_allclose(X - low_rank, X - whole, rtol=1e-5)
    low_rank.to_zarr(tmp_path / "clean.zarr")
    np.testing.assert_allclose(zarr.open(str(tmp_path / "clean.zarr"), mode="r")[:], whole, rtol=1e-5)


def test_matrices_in_memory_are_written_too(tmp_path):
    rng = np.random.default_rng(0)
    left, right = (np.linalg.qr(rng.standard_normal((n, 2)))[0] for n in (50, 7))
    matrix = LowRankMatrix(left, np.array([3.0, 1]), right, np.arange(7.0), np.arange(1.0, 8))
    matrix.to_zarr(tmp_path / "x.zarr")
    np.testing.assert_allclose(zarr.open(str(tmp_path / "x.zarr"), mode="r")[:], matrix.to_array())
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "mine.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="a folder of other files"):
        matrix.to_zarr(tmp_path / "folder")


def test_units_of_the_features_are_kept():
    clean, X = noisy()
    units = np.ones(12, dtype=np.float32)
    units[3] = 10_000
    model = recovered(da.from_array(X * units, chunks=(1000, 12)))
    assert model.feature_scale_ is not None
    assert error(np.asarray(model.low_rank_) / units, clean) < 0.2


def test_other_solvers_fit_some_rows():
    clean, X = noisy()
    lazy = da.from_array(X, chunks=(1000, 12))
    model = gl.CompressivePCA(3, solver="frpcag", random_state=0)
    with (
        large_data(method="out_of_core"),
        pytest.raises(ValueError, match="not possible: recovery out of core compares models, and solver='frpcag'"),
    ):
        model.fit(lazy)
    with large_data(memory="450MB"):
        model.fit(lazy)
    assert model.report_.choices[-1].value in ("whole", "two_level")
    assert error(model.low_rank_, clean) < 0.3
