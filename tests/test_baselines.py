"""The estimators to compare with: robust PCA with and without a graph, PCA on a graph in two forms."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from graphlowrank import GraphLaplacianPCA, ManifoldMF, RobustPCA, RobustPCAOnGraphs
from graphlowrank.datasets import make_low_rank_on_graphs
from graphlowrank.graphs import knn_graph, lowest_eigenpairs
from graphlowrank.metrics import recovery_error
from graphlowrank.models import solve_glpca, solve_mmf, solve_rpca, solve_rpcag

ON_GRAPHS = [RobustPCAOnGraphs, GraphLaplacianPCA, ManifoldMF]
ROBUST = [RobustPCA, RobustPCAOnGraphs]
ALL = [RobustPCA, *ON_GRAPHS]


@pytest.mark.filterwarnings("ignore:n_neighbors=10 is lowered")
@parametrize_with_checks([Estimator() for Estimator in ALL])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def digits():
    X = load_digits().data[:300].astype(np.float32)
    return X, knn_graph(X, 10)


# --- they are the models ---------------------------------------------------------------------------------------


def test_robust_pca_is_its_model(digits):
    X, _ = digits
    model, answer = RobustPCA(4).fit(X), solve_rpca(X, tol=1e-6)
    assert_array_equal(model.low_rank_, answer.low_rank)
    assert_array_equal(model.sparse_, answer.sparse)
    assert (model.rank_, model.n_components_) == (answer.rank, 4)
    assert_allclose(model.components_ @ model.components_.T, np.eye(4), atol=1e-4)


@pytest.mark.parametrize("factor", [1, 1000])
def test_robust_pca_on_graphs_is_its_model_in_any_unit(digits, factor):
    X = digits[0][:120]
    graph = knn_graph(X, 10)
    model = RobustPCAOnGraphs(gamma=2.0, sample_graph=graph, tol=1e-5).fit(factor * X)
    answer = solve_rpcag(X / (model.scale_ / factor), graph.unit_laplacian(), gamma=2.0, tol=1e-5)
    assert_allclose(model.low_rank_, answer.low_rank * model.scale_, atol=2e-3 * factor * np.abs(X).max())


def test_without_graph_it_is_robust_pca(digits):
    X, _ = digits
    assert_allclose(
        RobustPCAOnGraphs(sample_graph=None, tol=1e-6).fit(X).low_rank_, RobustPCA().fit(X).low_rank_, rtol=1e-6
    )


def test_embeddings_are_their_models(digits):
    X, graph = digits
    centred = X - X.mean(axis=0)
    glpca = GraphLaplacianPCA(4, beta=0.3, laplacian="combinatorial", sample_graph=graph).fit(X)
    mmf = ManifoldMF(4, gamma=5.0, sample_graph=graph).fit(X)
    L = graph.unit_laplacian()
    assert_allclose(glpca.embedding_, solve_glpca(centred, L, 4, beta=0.3).scores, atol=1e-3)
    expected = solve_mmf(centred, L, 4, gamma=5.0).scores
    assert_allclose(mmf.embedding_, expected, atol=1e-3 * np.abs(expected).max())


def test_on_the_graph_alone_glpca_is_laplacian_eigenmaps_of_either_kind(digits):
    X, graph = digits
    for kind in ("combinatorial", "normalized"):
        found = GraphLaplacianPCA(4, beta=1.0, laplacian=kind, sample_graph=graph).fit(X).embedding_
        _, maps = lowest_eigenpairs(graph, 5, kind=kind)
        assert np.linalg.svd(found.T @ maps, compute_uv=False).min() > 0.99
        null = np.sqrt(graph.degrees) if kind == "normalized" else np.ones(len(X))
        assert_allclose(null @ found / np.linalg.norm(null), 0, atol=1e-3)


@pytest.mark.parametrize("model", [GraphLaplacianPCA(6, beta=0.0), ManifoldMF(6, gamma=0.0)], ids=str)
def test_without_weight_on_the_graph_they_are_pca(digits, model):
    X, _ = digits
    pca = PCA(6).fit(X)
    model.fit(X)
    assert_allclose(
        model.inverse_transform(model.transform(X)), pca.inverse_transform(pca.transform(X)), atol=1e-2 * X.max()
    )


@pytest.mark.parametrize("Estimator", [GraphLaplacianPCA, ManifoldMF])
def test_embedding_is_smoother_than_what_transform_gives(digits, Estimator):
    X, graph = digits
    model = Estimator(5, sample_graph=graph).fit(X)

    def roughness(scores):
        return np.sum(scores * (graph.laplacian() @ scores)) / np.sum(scores**2)

    assert roughness(model.embedding_) < roughness(model.transform(X))


# --- robust recovery -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("Estimator", ROBUST)
def test_gross_errors_are_removed_from_new_samples_too(Estimator):
    data = make_low_rank_on_graphs(400, 120, rank=4, outliers=0.05, random_state=0)
    options = {} if Estimator is RobustPCA else {"gamma": 0.01, "sample_graph": data.sample_graph}
    model = Estimator(**options).fit(data.X)
    assert recovery_error(data.X_true, model.low_rank_) < 0.02
    assert recovery_error(data.X_true, model.inverse_transform(model.transform(data.X))) < 0.02


@pytest.mark.parametrize("Estimator", ROBUST)
def test_unseen_entries_are_filled_in(Estimator, rng):
    data = make_low_rank_on_graphs(400, 120, rank=4, outliers=0.05, random_state=0)
    mask = rng.random(data.X.shape) < 0.7
    options = {} if Estimator is RobustPCA else {"gamma": 0.01, "sample_graph": data.sample_graph}
    model = Estimator(**options).fit(np.where(mask, data.X, np.nan), mask=mask)
    assert recovery_error(data.X_true, model.low_rank_) < 0.03
    assert not model.sparse_[~mask].any()


@pytest.mark.parametrize("Estimator", ROBUST)
def test_scores_of_incomplete_samples_are_those_of_what_was_recovered(Estimator, rng):
    data = make_low_rank_on_graphs(200, 60, rank=3, random_state=0)
    mask = rng.random(data.X.shape) < 0.8
    options = {} if Estimator is RobustPCA else {"gamma": 0.01, "sample_graph": data.sample_graph}
    model = Estimator(**options)
    scores = model.fit_transform(np.where(mask, data.X, 1e6), mask=mask)
    assert recovery_error(data.X_true, model.inverse_transform(scores)) < 0.03


@pytest.mark.parametrize("Estimator", ROBUST)
@pytest.mark.parametrize(
    ("mask", "text"),
    [(np.ones((3, 3), dtype=bool), "shape"), (np.ones((300, 64)), "booleans"), (np.zeros((300, 64), bool), "observed")],
)
def test_a_wrong_mask_is_named_before_work(digits, Estimator, mask, text, monkeypatch):
    X, graph = digits
    model = Estimator() if Estimator is RobustPCA else Estimator(sample_graph=graph)
    monkeypatch.setattr(Estimator, "_run", None)
    with pytest.raises(ValueError, match=text):
        model.fit(X, mask=mask)
    with pytest.raises(ValueError, match="where the mask is True"):
        model.fit(np.where(X > 8, np.nan, X), mask=np.ones(X.shape, dtype=bool))


def test_a_slower_growth_comes_closer_to_the_optimum(digits):
    X = (digits[0] - digits[0].mean(axis=0)).astype(float)
    weight = 1 / np.sqrt(len(X))

    def objective(model):
        return np.linalg.norm(model.low_rank_, "nuc") + weight * np.abs(model.sparse_).sum()

    fast, slow = (objective(RobustPCA(growth=growth).fit(X)) for growth in (None, 1.05))
    assert slow < fast < 1.01 * slow


@pytest.mark.parametrize("Estimator", [GraphLaplacianPCA, ManifoldMF])
def test_directions_that_the_data_do_not_have_are_not_divided_by(Estimator, rng):
    X = (rng.standard_normal((200, 3)) @ rng.standard_normal((3, 64))).astype(np.float32)
    noisy = X + 0.01 * rng.standard_normal(X.shape).astype(np.float32)
    model = Estimator(10).fit(X)
    assert np.abs(model.transform(noisy)).max() < 10 * np.abs(model.embedding_).max()


# --- contract --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("Estimator", ALL)
def test_single_precision_stays_single(digits, Estimator):
    X, _ = digits
    model = Estimator(3).fit(X)
    assert model.components_.dtype == model.transform(X).dtype == np.float32


@pytest.mark.parametrize("Estimator", ALL)
def test_the_answer_repeats_whatever_the_number_of_threads(digits, Estimator):
    X, _ = digits
    seed = {} if Estimator is RobustPCA else {"random_state": 0}
    first, again = (Estimator(3, n_jobs=n_jobs, **seed).fit(X) for n_jobs in (1, 2))
    if Estimator in ROBUST:  # the others leave products to BLAS, whose rounding depends on its threads
        assert_array_equal(first.low_rank_, again.low_rank_)
    assert_allclose(first.components_, again.components_, rtol=1e-4, atol=1e-4 * np.abs(first.components_).max())
    assert_array_equal(clone(first).fit(X).components_, first.components_)


@pytest.mark.parametrize("Estimator", ALL)
def test_stages_are_timed_and_progress_is_shown(digits, Estimator, capfd):
    model = Estimator(2, verbose=1).fit(digits[0])
    shown = capfd.readouterr().err
    assert len(model.stage_seconds_) == (1 if Estimator is RobustPCA else 2)
    assert all(f"graphlowrank: {stage}:" in shown for stage in model.stage_seconds_)


@pytest.mark.parametrize("Estimator", ROBUST)
def test_stopping_short_is_said(digits, Estimator):
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        Estimator(max_iter=2).fit(digits[0])


@pytest.mark.parametrize(
    ("model", "text"),
    [
        (RobustPCA(weight=-1), "weight"),
        (RobustPCA(weight="large"), "weight"),
        (RobustPCA(weight=0), "weight"),
        (RobustPCA(growth=1.0), "growth"),
        (RobustPCA(n_components=65), "n_components"),
        (RobustPCA(tol=0), "tol"),
        (RobustPCAOnGraphs(gamma=-1), "gamma"),
        (RobustPCAOnGraphs(gamma="large"), "gamma"),
        (RobustPCAOnGraphs(sample_graph=np.eye(3)), "sample_graph"),
        (GraphLaplacianPCA(beta=1.5), "beta"),
        (GraphLaplacianPCA(laplacian="random walk"), "laplacian"),
        (GraphLaplacianPCA(beta=None), "beta"),
        (GraphLaplacianPCA(300), "n_components"),
        (ManifoldMF(gamma=np.nan), "gamma"),
        (ManifoldMF(65), "n_components"),
        (ManifoldMF(0), "n_components"),
        (ManifoldMF(n_jobs=0), "n_jobs"),
    ],
    ids=str,
)
def test_bad_parameters_are_named(digits, model, text):
    with pytest.raises(ValueError, match=text):
        model.fit(digits[0])
