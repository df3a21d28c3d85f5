import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import linprog
from sklearn.exceptions import ConvergenceWarning

from graphlowrank.clustering.labels import decode_labels
from graphlowrank.decoders import LowRankMatrix, Side, decode_subspace, upsample
from graphlowrank.graphs import Graph, knn_graph, path_graph
from graphlowrank.metrics import clustering_error
from graphlowrank.models.regression import robust_scores
from graphlowrank.sampling import draw
from helpers import disjoint, random_graph


def dense_upsample(graph, keep, values):
    """Lemma 1 by dense algebra: S_a = -L_aa^-1 L_ab R."""
    L = graph.laplacian().toarray()
    drop = np.setdiff1d(np.arange(len(L)), keep)
    S = np.empty((len(L), values.shape[1]))
    S[keep] = values
    S[drop] = -np.linalg.solve(L[np.ix_(drop, drop)], L[np.ix_(drop, keep)] @ values)
    return S


# --- upsampling ---------------------------------------------------------------------------------------------


@given(
    seed=st.integers(0, 5000), n=st.integers(2, 20), m=st.integers(1, 10), k=st.integers(1, 4), parts=st.integers(1, 3)
)
@settings(max_examples=50, deadline=None)
def test_upsampling_is_lemma_1(seed, n, m, k, parts):
    graph = disjoint(*(random_graph(n, seed=seed + part, spread=1.0) for part in range(parts)))
    keep = draw(graph, min(m, graph.n_nodes), random_state=seed)
    values = np.random.default_rng(seed).standard_normal((len(keep), k))
    S = upsample(graph, keep, values, tol=1e-12).X
    assert_allclose(S, dense_upsample(graph, keep, values), atol=1e-7)
    # Maximum principle: an interpolated value never leaves the range of the known ones.
    assert np.all(values.max(axis=0) + 1e-7 >= S)
    assert np.all(values.min(axis=0) - 1e-7 <= S)


def test_everything_sampled_is_the_identity(rng):
    values = rng.standard_normal((9, 2))
    assert_array_equal(upsample(random_graph(9), np.arange(9), values).X, values)


def test_constants_stay_constant_in_each_component():
    graph = disjoint(random_graph(6), random_graph(5, seed=1), Graph(sp.csr_array((1, 1))))
    S = upsample(graph, np.array([2, 7, 11]), np.array([[1.0], [2.0], [3.0]])).X.ravel()
    assert_allclose(S, graph.components + 1.0, atol=1e-6)


def test_nodes_on_faint_ties_are_solved_too(rng):
    # Eight close points far from the rest, none of them kept: tied to each other by 1 and to the others by 1e-4.
    X = np.vstack([rng.standard_normal((300, 3)), 1e3 + 1e-3 * rng.standard_normal((8, 3))])
    graph = knn_graph(X, 10)
    keep = np.arange(0, 300, 3)
    values = rng.standard_normal((len(keep), 2)) + 3
    assert_allclose(upsample(graph, keep, values).X, dense_upsample(graph, keep, values), atol=1e-2)


def test_upsampling_keeps_float32(rng):
    graph = random_graph(20, spread=0.5)
    keep = np.arange(0, 20, 3)
    assert upsample(graph, keep, rng.standard_normal((7, 2)).astype(np.float32)).X.dtype == np.float32


def test_component_without_a_sample_is_refused():
    with pytest.raises(ValueError, match="without a kept node"):
        upsample(disjoint(path_graph(3), path_graph(3)), np.array([0]), np.ones((1, 1)))


def test_unfinished_decoding_warns():
    with pytest.warns(ConvergenceWarning, match="Decoding did not converge"):
        upsample(path_graph(300), np.array([0, 299]), np.array([[0.0], [1.0]]), max_iter=3)


# --- subspace -----------------------------------------------------------------------------------------------


def test_sampled_block_is_reproduced(rng):
    samples, features = random_graph(30, spread=0.5), random_graph(20, seed=1, spread=0.5)
    rows, columns = np.arange(0, 30, 2), np.arange(0, 20, 2)
    X_small = rng.standard_normal((15, 3)) @ rng.standard_normal((3, 10)) + 5
    M = decode_subspace(X_small, Side(samples, rows), Side(features, columns), n_components=3).low_rank
    M = M.rescaled(2.0, 1.0)
    assert M.shape == (30, 20)
    assert M.rank == 3
    assert_allclose(M[np.ix_(rows, columns)], 2 * X_small + 1, atol=1e-6)
    assert_allclose(M.left.T @ M.left, np.eye(3), atol=1e-10)
    assert_allclose(M.right.T @ M.right, np.eye(3), atol=1e-10)


def test_decoding_is_the_dense_twin(rng):
    samples, features = random_graph(25, spread=0.5), random_graph(16, seed=1, spread=0.5)
    rows, columns = draw(samples, 12, random_state=0), draw(features, 9, random_state=0)
    X_small = rng.standard_normal((12, 4)) @ rng.standard_normal((4, 9))
    M = decode_subspace(X_small, Side(samples, rows), Side(features, columns), n_components=4).low_rank.to_array()
    half = dense_upsample(samples, rows, X_small)  # interpolation is linear, so factors need not be formed
    assert_allclose(M, dense_upsample(features, columns, half.T).T, atol=1e-6)


def test_without_compression_decoding_is_the_truncated_svd(rng):
    X = rng.standard_normal((20, 8))
    M = decode_subspace(X, Side(None, np.arange(20)), Side(None, np.arange(8)), n_components=2).low_rank
    mean = X.mean(axis=0)
    u, s, vt = np.linalg.svd(X - mean, full_matrices=False)
    assert_allclose(M.to_array(), (u[:, :2] * s[:2]) @ vt[:2] + mean, atol=1e-10)
    assert_allclose(M.singular_values, s[:2])


# --- the matrix that is held by its factors ----------------------------------------------------------------------


@pytest.fixture(params=["plain", "in units"])
def matrix(rng, request):
    left, right = np.linalg.qr(rng.standard_normal((9, 3)))[0], np.linalg.qr(rng.standard_normal((7, 3)))[0]
    M = LowRankMatrix(left, np.array([3.0, 2.0, 1.0]), right, rng.standard_normal(7))
    return M if request.param == "plain" else M.measured_in(np.arange(1.0, 8.0), np.ones(7))


def test_units_multiply_features_and_leave_the_factors(matrix, rng):
    units, shift = rng.uniform(1, 5, 7), rng.standard_normal(7)
    measured = matrix.measured_in(units, shift)
    assert_allclose(measured.to_array(), matrix.to_array() * units + shift)
    assert measured.right is matrix.right
    assert_allclose(measured.rescaled(2.0, 1.0).to_array(), 2 * measured.to_array() + 1)


MASK = np.array([True, False] * 4 + [True])
INDICES = [
    (0,), 3, -1, slice(2, 5), [1, 4, 4], MASK, (slice(None), 2), (3, 2), (slice(1, 4), [0, 6]), ([1, 2], [3, 4]),
    np.ix_([1, 5, 8], [0, 3]), (MASK, slice(0, 2)), (4, slice(None)), ([0, 8], 1), (slice(None, None, -2), slice(3)),
]  # fmt: skip


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_indexing_is_numpys(matrix, index):
    expected = matrix.to_array()[index]
    found = matrix[index]
    assert np.shape(found) == np.shape(expected)
    assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize(
    "index", [None, Ellipsis, (0, None), (1, 2, 3), (0, [[1, 2], [3, 4]]), ([[0, 1]], slice(None))], ids=str
)
def test_other_indices_are_refused(matrix, index):
    with pytest.raises(IndexError, match="index a LowRankMatrix by"):
        matrix[index]


def test_products_without_decoding(matrix, rng):
    A, B, b = rng.standard_normal((4, 9)), rng.standard_normal((7, 5)), rng.standard_normal(7)
    full = matrix.to_array()
    assert_allclose(matrix @ B, full @ B)
    assert_allclose(matrix @ b, full @ b)
    assert_allclose(A @ matrix, A @ full)
    a = rng.standard_normal(9)
    assert_allclose(a @ matrix, a @ full)
    with pytest.raises(ValueError, match="a vector or a matrix"):
        matrix @ np.ones((2, 7, 3))
    assert_allclose(np.asarray(matrix), full)
    assert_allclose(full + 1 - matrix, np.ones((9, 7)))
    assert_allclose(matrix - full, np.zeros((9, 7)), atol=1e-12)
    assert len(matrix) == 9
    assert matrix.ndim == 2


def test_a_slice_decodes_only_what_is_asked(rng):
    # 200000 x 200000 entries would be 320 GB.
    left = rng.standard_normal((200_000, 2))
    M = LowRankMatrix(left, np.ones(2), left, np.zeros(200_000))
    assert M[5:8, [1, 199_999]].shape == (3, 2)
    assert (M @ np.ones(200_000)).shape == (200_000,)


# --- labels --------------------------------------------------------------------------------------------------


def test_labels_are_spread_over_the_graph(blobs):
    X, y = blobs
    graph = knn_graph(X, 8)
    keep = draw(graph, 20, random_state=0)
    for scores in ("whitened", "scaled"):
        found = decode_labels(X[keep] - X[keep].mean(axis=0), Side(graph, keep), 3, scores=scores, random_state=0)
        assert clustering_error(y, found.labels) == 0
        assert_allclose(found.soft_labels.sum(axis=1), 1, atol=1e-6)
        assert np.all(found.soft_labels >= 0)
        assert_array_equal(found.labels, found.soft_labels.argmax(axis=1))


def test_soft_labels_are_the_harmonic_extension(blobs):
    X, _ = blobs
    graph = knn_graph(X + 3 * np.random.default_rng(0).standard_normal(X.shape), 8)
    keep = draw(graph, 30, random_state=0)
    found = decode_labels(X[keep] - X[keep].mean(axis=0), Side(graph, keep), 3, random_state=0)
    assert_allclose(found.soft_labels, dense_upsample(graph, keep, found.soft_labels[keep]), atol=1e-3)
    assert set(found.soft_labels[keep].ravel()) == {0.0, 1.0}


def test_more_clusters_than_directions(rng):
    y = np.repeat(np.arange(5), 30)
    line = 10.0 * y[:, None] + rng.standard_normal((150, 1)) / 3
    found = decode_labels(line - line.mean(), Side(None, np.arange(150)), 5, random_state=0)
    assert clustering_error(y, found.labels) == 0
    assert found.scores == "scaled"  # what was used, not what was asked for
    plane = np.column_stack([line, 1e-5 * rng.standard_normal((150, 8))])  # one real direction, eight of dust
    found = decode_labels(plane - plane.mean(axis=0), Side(None, np.arange(150)), 5, random_state=0)
    assert clustering_error(y, found.labels) == 0


def test_without_compression_labels_are_k_means(blobs):
    X, y = blobs
    found = decode_labels(X - X.mean(axis=0), Side(None, np.arange(len(X))), 3, random_state=0)
    assert clustering_error(y, found.labels) == 0


# --- scores of new samples -----------------------------------------------------------------------------------


def test_huber_scores_meet_the_optimality_condition(rng):
    C = np.linalg.qr(rng.standard_normal((30, 3)))[0].T
    X = rng.standard_normal((20, 3)) @ C + 0.1 * rng.standard_normal((20, 30))
    X[rng.random(X.shape) < 0.1] += 20
    residual = X - robust_scores(X, C, loss="huber", huber_delta=0.2, tol=1e-10, max_iter=2000) @ C
    slope = np.clip(residual / 0.2, -1, 1) @ C.T  # derivative of Huber's loss along the components
    assert np.abs(slope).max() < 1e-6


def test_l1_scores_are_as_good_as_a_linear_program(rng):
    C = np.linalg.qr(rng.standard_normal((15, 2)))[0].T
    X = rng.standard_normal((6, 2)) @ C + 0.1 * rng.standard_normal((6, 15))
    X[rng.random(X.shape) < 0.15] += 30
    found = np.abs(X - robust_scores(X, C, loss="l1", max_iter=1000) @ C).sum(axis=1)
    for x, value in zip(X, found, strict=True):
        # min sum(t)  s.t.  -t <= x - C^T s <= t
        A = np.block([[-C.T, -np.eye(15)], [C.T, -np.eye(15)]])
        best = linprog(np.r_[np.zeros(2), np.ones(15)], A, np.r_[-x, x], bounds=[(None, None)] * 17).fun
        assert value == pytest.approx(best, rel=1e-3)


@pytest.mark.parametrize("amplitude", [10, 1e3, 1e6])
def test_gross_errors_do_not_move_l1_scores(amplitude, rng):
    C = np.linalg.qr(rng.standard_normal((40, 3)))[0].T
    S = rng.standard_normal((15, 3))
    X = S @ C
    X[:, ::8] += amplitude * rng.standard_normal((15, 5))
    assert_allclose(robust_scores(X, C, loss="l1"), S, atol=1e-2)
    assert np.abs(robust_scores(X, C, loss="l2") - S).max() > 0.1 * amplitude


def test_scores_do_not_depend_on_company(rng):
    C = np.linalg.qr(rng.standard_normal((10, 2)))[0].T
    X = rng.standard_normal((6, 10))
    together = robust_scores(X, C, loss="l1")
    alone = np.vstack([robust_scores(x[None], C, loss="l1") for x in X])
    assert_allclose(together, alone, atol=1e-9)


def test_l1_scores_scale_with_the_data(rng):
    C = np.linalg.qr(rng.standard_normal((10, 2)))[0].T
    X = rng.standard_normal((6, 10))
    assert_allclose(robust_scores(1e6 * X, C, loss="l1"), 1e6 * robust_scores(X, C, loss="l1"), rtol=1e-5)
