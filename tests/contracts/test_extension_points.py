"""Extensions registered from outside the package work through the estimators, like built-in ones.

A toy decoder, solver and neighbor search are here; a toy loss is in tests/models/test_losses.py, and wrong answers of
a search are in tests/graphs/test_search_registry.py.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.neighbors import KDTree

from command_helpers import invoke
from graphlowrank import CompressiveClustering, CompressivePCA, FastRobustPCAOnGraphs, graphs, models
from graphlowrank.datasets import make_low_rank_on_graphs
from graphlowrank.decoders import DECODERS, Decoded, Decoder, LowRankMatrix, register_decoder
from graphlowrank.graphs.search import ACCEPTS_SPARSE, SEARCHES
from graphlowrank.metrics import clustering_error, recovery_error
from graphlowrank.models import SOLVERS, SmallSolver, register_solver
from graphlowrank.models.losses import L1, LOSSES, register
from graphlowrank.solvers.solution import Solution


@pytest.fixture(autouse=True)
def registries():
    """Remove after each test what it registered."""
    before = [(registry, dict(registry)) for registry in (DECODERS, LOSSES, SOLVERS, SEARCHES)]
    sparse = set(ACCEPTS_SPARSE)
    yield
    for registry, entries in before:
        registry.clear()
        registry.update(entries)
    ACCEPTS_SPARSE.intersection_update(sparse)


@pytest.fixture
def data():
    return make_low_rank_on_graphs(200, 60, rank=3, random_state=0)


# --- a decoder ---


def nearest_kept(nodes):
    """Kept node with the heaviest edge to each node; itself for a kept one."""
    if nodes.graph is None:
        return np.arange(len(nodes.indices))
    edges = nodes.graph.weights[:, nodes.indices].toarray()
    edges[nodes.indices, np.arange(len(nodes.indices))] = np.inf
    return edges.argmax(axis=1)


def copy_nearest(X_small, samples, features, *, n_components=None, shrink=1.0):
    """Toy decoder: a node that was left out copies the values of its nearest kept one."""
    X = shrink * X_small[nearest_kept(samples)][:, nearest_kept(features)]
    center = X.mean(axis=0)
    left, values, right = np.linalg.svd(X - center, full_matrices=False)
    k = slice(n_components)
    return Decoded(LowRankMatrix(left[:, k], values[k], right[k].T, center), 0, converged=True)


def least_squares(X_small, samples, features, *, data, n_components=None):
    """Toy decoder that needs no graph: project all samples on the leading directions of the kept ones."""
    center = X_small.mean(axis=0)
    directions = np.linalg.svd(X_small - center, full_matrices=False)[2][:n_components]
    scores = (data.block(slice(None), features.indices) - center) @ directions.T
    left, rest = np.linalg.qr(scores)
    rotation, values, right = np.linalg.svd(rest @ directions, full_matrices=False)
    return Decoded(LowRankMatrix(left @ rotation, values, right.T, center), 0, converged=True)


def test_a_decoder_that_uses_the_graphs(data):
    with pytest.raises(ValueError, match=r"decoder must be one of 'subspace', .*; got 'toy'"):
        CompressivePCA(3, decoder="toy").fit(data.X)
    decoder = register_decoder(Decoder("toy", copy_nearest))
    assert decoder is DECODERS["toy"]
    options = {
        "sample_graph": data.sample_graph, "feature_graph": data.feature_graph, "downsampling": (2, 2),
        "gamma_samples": 1.0, "gamma_features": 1.0, "random_state": 0,
    }  # fmt: skip
    model = CompressivePCA(3, decoder="toy", **options).fit(data.X)
    assert recovery_error(data.X_true, model.low_rank_.to_array()) < 0.2
    kept = np.ix_(model.sample_indices_, model.feature_indices_)
    built_in = CompressivePCA(3, **options).fit(data.X)
    assert_allclose(model.low_rank_[kept], built_in.low_rank_[kept], atol=0.1 * data.X.std())
    half = CompressivePCA(3, decoder="toy", decoder_options={"shrink": 0.5}, **options).fit(data.X)
    assert half.low_rank_.singular_values[0] < model.low_rank_.singular_values[0]
    with pytest.raises(ValueError, match="decoder 'toy' has no option 'filter'; it takes shrink"):
        CompressivePCA(3, decoder="toy", decoder_options={"filter": 2}).fit(data.X)
    with pytest.raises(ValueError, match=r"decoder must be one of 'subspace', .*, 'toy'; got 'other'"):
        CompressivePCA(3, decoder="other").fit(data.X)


def test_a_decoder_that_fits_the_data(data):
    register_decoder(Decoder("toy", least_squares, fits=("sample",), needs_complete=True))
    model = CompressivePCA(3, decoder="toy", solver="rpca", downsampling=(3, 1), random_state=0).fit(data.X_true)
    assert recovery_error(data.X_true, model.low_rank_.to_array()) < 0.02
    assert model.sample_graph_ is None  # neither solver nor decoder uses it
    missing = np.where(np.arange(data.X.size).reshape(data.X.shape) % 7 == 0, np.nan, data.X)
    with pytest.raises(ValueError, match="decoder='toy' projects the data, which must have no missing values"):
        CompressivePCA(3, decoder="toy").fit(missing)


# --- a solver ---


def truncated_svd(problem, callback):
    """Toy solver: the best approximation of rank 3."""
    left, values, right = np.linalg.svd(problem.X, full_matrices=False)
    if callback is not None:
        callback(1, 0.0)
    return Solution((left[:, :3] * values[:3]) @ right[:3], 1, converged=True, residual=0.0)


def test_a_solver_of_the_compressed_problem(data):
    with pytest.raises(ValueError, match="solver must be one of 'auto', 'frpcag', 'rpca', 'rpcag'; got 'svd'"):
        CompressivePCA(3, solver="svd").fit(data.X_true)
    models.register_solver(SmallSolver("svd", truncated_svd, "truncated SVD"))
    model = CompressivePCA(3, solver="svd", decoder="robust", downsampling=(2, 2), random_state=0).fit(data.X_true)
    assert recovery_error(data.X_true, model.low_rank_.to_array()) < 0.05
    assert "svd" in model.stage_seconds_
    assert model.sample_graph_ is None  # neither solver nor decoder uses it
    with pytest.raises(ValueError, match="solver='svd' has no importance weights"):
        CompressivePCA(3, solver="svd", sampling="optimal").fit(data.X_true)
    with pytest.raises(ValueError, match="sample_loss_weight needs solver='frpcag': 'svd' has no weights"):
        CompressivePCA(3, solver="svd").fit(data.X_true, sample_loss_weight=np.ones(200))
    with pytest.raises(ValueError, match="solver must be one of 'auto', 'frpcag', 'rpca', 'rpcag', 'svd'; got 'other'"):
        CompressivePCA(3, solver="other").fit(data.X_true)


# --- a neighbor search ---


def kdtree(X, n_neighbors, *, random_state=None):
    """Toy search; the first neighbor of a row is the row itself."""
    distances, indices = KDTree(X).query(X, n_neighbors + 1)
    return distances[:, 1:], indices[:, 1:]


@pytest.mark.parametrize("Estimator", [CompressiveClustering, CompressivePCA, FastRobustPCAOnGraphs])
def test_a_neighbor_search(Estimator, blobs):
    X, labels = blobs
    with pytest.raises(ValueError, match="neighbors must be one of 'auto', 'exact', 'approximate'; got 'kdtree'"):
        Estimator(3, neighbors="kdtree").fit(X)
    graphs.register_search("kdtree", kdtree)
    model, exact = (Estimator(3, neighbors=name, random_state=0).fit(X) for name in ("kdtree", "exact"))
    assert_array_equal(model.sample_graph_.weights.indices, exact.sample_graph_.weights.indices)
    if Estimator is CompressiveClustering:
        assert clustering_error(labels, model.labels_) == 0
    with pytest.raises(ValueError, match="neighbors must be one of 'auto', 'exact', 'approximate', 'kdtree'; got 'x'"):
        Estimator(3, neighbors="x").fit(X)


# --- deprecated names ---


def test_the_deprecated_decoder_option_warns_and_gives_the_same_answer(data):
    options = {"downsampling": (2, 2), "gamma_samples": 1.0, "gamma_features": 1.0, "random_state": 0}
    new = CompressivePCA(3, decoder_options={"normalize": True, "delta": 0.1}, **options).fit(data.X)
    with pytest.warns(FutureWarning, match="decoder option 'normalise' was renamed 'normalize'"):
        old = CompressivePCA(3, decoder_options={"normalise": True, "delta": 0.1}, **options).fit(data.X)
    assert_array_equal(old.low_rank_.to_array(), new.low_rank_.to_array())
    plain = CompressivePCA(3, **options).fit(data.X)
    assert np.abs(plain.low_rank_.to_array() - new.low_rank_.to_array()).max() > 1e-6


# --- the command line ---


def test_commands_read_the_registries(data, tmp_path, monkeypatch):
    class Toy(L1):
        name = "toy"

    monkeypatch.chdir(tmp_path)
    np.save("in.npy", data.X)
    result = invoke("recover", "in.npy --rank 3 -o toy.npy --loss toy")
    assert (result.exit_code, "'toy' is not one of 'l1', 'l2', 'huber'." in result.stderr) == (2, True)
    register(Toy)
    for name in ("toy", "l1"):
        assert invoke("recover", f"in.npy --rank 3 -o {name}.npy --loss {name}").exit_code == 0
    assert_array_equal(np.load("toy.npy"), np.load("l1.npy"))
    register_solver(SmallSolver("toy", SOLVERS["rpca"].minimize, "a copy"))
    np.save("video.npy", (255 * np.random.default_rng(0).random((12, 16, 16))).astype(np.uint8))
    assert invoke("video", "video.npy -b background.npy --solver toy").exit_code == 0
