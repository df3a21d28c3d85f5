import inspect

import numpy as np
import pandas as pd
import polars
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from graphlowrank import CompressiveClustering, CompressivePCA, FastRobustPCAOnGraphs, small_problem, two_graphs
from graphlowrank.datasets import make_low_rank_on_graphs
from graphlowrank.graphs import Graph, knn_graph
from graphlowrank.metrics import clustering_error, recovery_error
from graphlowrank.options import Settings

ESTIMATORS = [CompressivePCA, CompressiveClustering, FastRobustPCAOnGraphs]
RECOVERY = [CompressivePCA, FastRobustPCAOnGraphs]


NODES = "a sample is a node of the graphs whatever its weight in the loss"
CLUSTERS = "asks for 8 clusters of at most 6 different samples: a warning is what we promise"


def weight_checks(estimator):
    failing = {f"check_sample_weight_equivalence_on_{kind}_data": NODES for kind in ("dense", "sparse")}
    if isinstance(estimator, CompressiveClustering):
        failing |= dict.fromkeys(["check_sample_weights_shape", "check_sample_weights_not_overwritten"], CLUSTERS)
    return failing


@parametrize_with_checks([Estimator(n_neighbors=3) for Estimator in ESTIMATORS], expected_failed_checks=weight_checks)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


TOO_FEW = "has 5 or 10 samples, too few for 10 neighbours: an error is what we promise"


@parametrize_with_checks(
    [Estimator() for Estimator in ESTIMATORS],
    expected_failed_checks=lambda estimator: (
        weight_checks(estimator) | ({"check_fit2d_1feature": TOO_FEW} if estimator.n_neighbors == 10 else {})
    ),
)
def test_scikit_learn_checks_with_default_parameters(estimator, check):
    check(estimator)


# --- recovery ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=["clusters", "rings"])
def clean(request):
    return make_low_rank_on_graphs(3000, 300, rank=5, shape=request.param, random_state=0)


@pytest.fixture(scope="module", params=["clusters", "rings"])
def corrupted(request):
    return make_low_rank_on_graphs(3000, 300, rank=5, shape=request.param, outliers=0.1, random_state=0)


def on_graphs(data, **options):
    given = {"sample_graph": data.sample_graph, "feature_graph": data.feature_graph}
    return CompressivePCA(downsampling=(10, 2), reduction="random_walk", random_state=0, **given, **options).fit(data.X)


def test_recovery_without_noise(clean):
    assert recovery_error(clean.X_true, on_graphs(clean).low_rank_) < 0.03


def test_recovery_under_gross_outliers(corrupted):
    truncated = PCA(5).fit(corrupted.X)
    assert recovery_error(corrupted.X_true, truncated.inverse_transform(truncated.transform(corrupted.X))) > 0.4
    model = on_graphs(corrupted, gamma_samples=2.0, gamma_features=2.0)
    assert recovery_error(corrupted.X_true, model.low_rank_) < 0.05
    assert model.n_components_ <= 5
    # Each sample fitted on the components by itself is as good: this is what `transform` does with new samples.
    assert recovery_error(corrupted.X_true, model.inverse_transform(model.transform(corrupted.X))) < 0.05


def test_compressing_nothing_is_frpcag():
    X = load_digits().data[:150]
    options = {"n_components": 64, "gamma_samples": 1.0, "gamma_features": 0.2, "tol": 1e-6}
    whole = FastRobustPCAOnGraphs(**options).fit(X)
    same = CompressivePCA(downsampling=(1, 1), **options).fit(X)
    assert_allclose(same.low_rank_.to_array(), whole.low_rank_, atol=1e-4)
    assert_allclose(same.singular_values_, whole.singular_values_, atol=1e-4)


def test_zero_gammas_return_the_data():
    X = load_digits().data[:80]
    model = FastRobustPCAOnGraphs(gamma_samples=0, gamma_features=0).fit(X)
    assert_allclose(model.low_rank_, X, atol=1e-10)


@pytest.mark.parametrize("Estimator", RECOVERY)
def test_answers_follow_the_units_of_the_data(Estimator):
    X = load_digits().data[:200]
    model = Estimator(random_state=0).fit(X)
    scaled = Estimator(random_state=0).fit(1000 * X + 500)
    assert_allclose(np.asarray(scaled.low_rank_), 1000 * np.asarray(model.low_rank_) + 500, rtol=1e-3, atol=5)


def test_l2_transform_is_the_projection():
    X = load_digits().data[:200]
    model = CompressivePCA(5, loss="l2", random_state=0).fit(X)
    assert_allclose(model.components_ @ model.components_.T, np.eye(5), atol=1e-8)
    assert_allclose(model.transform(X), (X - model.offset_) @ model.components_.T, atol=1e-8)
    assert_allclose(model.transform(model.inverse_transform(model.transform(X))), model.transform(X), atol=1e-8)


@pytest.mark.parametrize("amplitude", [10, 1e5])
def test_the_size_of_gross_errors_does_not_matter(amplitude):
    data = make_low_rank_on_graphs(400, 60, rank=3, random_state=0)
    rng = np.random.default_rng(1)
    hit = rng.random(data.X.shape) < 0.1
    X = np.where(hit, amplitude * data.X_true.std() * rng.standard_normal(data.X.shape), data.X_true)
    model = CompressivePCA(  # three groups lie in a plane around their mean
        2, sample_graph=data.sample_graph, feature_graph=data.feature_graph, gamma_samples=2.0, gamma_features=2.0
    ).fit(X)
    assert recovery_error(data.X_true, model.low_rank_) < 0.05
    assert recovery_error(data.X_true, model.inverse_transform(model.transform(X))) < 0.05


def test_a_feature_on_a_high_level_does_not_end_the_iterations():
    X = load_digits().data[:200]
    level = np.r_[1e5, np.zeros(X.shape[1] - 1)]
    options = {"feature_graph": None, "gamma_samples": 1.0}
    plain = FastRobustPCAOnGraphs(**options).fit(X)
    lifted = FastRobustPCAOnGraphs(**options).fit(X + level)
    assert lifted.n_iter_ >= plain.n_iter_ / 2
    assert_allclose(lifted.low_rank_[:, 1:], plain.low_rank_[:, 1:], atol=0.5)


def test_huber_corner_is_in_units_of_the_data():
    X = load_digits().data[:150]
    small, large = (
        CompressivePCA(4, loss="huber", huber_delta=0.5, random_state=0).fit(unit * X).transform(unit * X) / unit
        for unit in (1.0, 1000.0)
    )
    assert_allclose(np.abs(large), np.abs(small), rtol=1e-2, atol=0.1)


# --- clustering ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("downsampling", ["auto", (4, 2), (4, 1), (1, 1)])
def test_clear_clusters_are_found(blobs, downsampling):
    X, y = blobs
    model = CompressiveClustering(3, downsampling=downsampling, random_state=0).fit(X)
    assert clustering_error(y, model.labels_) == 0
    assert_array_equal(model.predict(X), model.labels_)


def test_the_graph_chooses_the_scores():
    """Whitening must not drown three clear groups on a line in five directions of noise, nor be given up on digits."""
    rng = np.random.default_rng(1)
    y = np.repeat(np.arange(3), 100)
    line = np.column_stack([10.0 * y + rng.standard_normal(300), rng.standard_normal((300, 5))])
    model = CompressiveClustering(3, random_state=0).fit(line)
    assert clustering_error(y, model.labels_) == 0
    whitened = CompressiveClustering(3, scores="whitened", partition="k-means", random_state=0).fit_predict(line)
    assert clustering_error(y, whitened) > 0.3
    assert CompressiveClustering(10, random_state=0).fit(load_digits().data).scores_ == "whitened"


def test_predict_extends_the_labels(blobs):
    X, y = blobs
    train, test = np.arange(120) % 2 == 0, np.arange(120) % 2 == 1
    model = CompressiveClustering(3, random_state=0).fit(X[train])
    both = np.r_[model.labels_, model.predict(X[test])]
    assert clustering_error(np.r_[y[train], y[test]], both) == 0
    far = model.predict(X[test] * 1e6)  # no underflow: the nearest still decides
    assert set(far) <= {0, 1, 2}


def test_predict_weighs_neighbours_by_the_kernel():
    # Two training points of one cluster a little farther away than one of the other: nearness must outweigh number.
    X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]])
    model = CompressiveClustering(2, n_neighbors=3, random_state=0).fit(X)
    model.n_neighbors = 6
    assert model.predict([[0.3]])[0] == model.labels_[0]
    assert model.predict([[4.0]])[0] == model.labels_[-1]
    # The three nearest to 1.6 are 0.2 (one cluster), 5.0 and 5.1 (the other): uniform votes would give the other.
    model.n_neighbors = 3
    model.soft_labels_ = np.eye(2)[[0, 0, 0, 1, 1, 1]]
    model._fit_X = np.array([[-9.0], [-9.0], [0.2], [5.0], [5.1], [99.0]])
    assert model.predict([[1.6]])[0] == 0


def test_predict_does_not_depend_on_company(blobs):
    X, _ = blobs
    model = CompressiveClustering(3, random_state=0).fit(X[::2])
    new = X[1::2] + np.random.default_rng(0).standard_normal((60, 10)) * 4
    assert_array_equal(model.predict(np.vstack([new, np.full((1, 10), 1e6)]))[:-1], model.predict(new))


def test_clustering_digits_beats_k_means():
    digits = load_digits()
    errors = [
        clustering_error(digits.target, CompressiveClustering(10, random_state=seed).fit_predict(digits.data))
        for seed in range(3)
    ]
    assert np.mean(errors) < 0.17  # k-means 0.21


# --- scikit-learn's ways ---------------------------------------------------------------------------------------


def test_works_in_a_pipeline_and_a_grid_search():
    X, y = load_digits(n_class=3, return_X_y=True)
    search = GridSearchCV(
        make_pipeline(
            StandardScaler(with_std=False), CompressivePCA(5, random_state=0), LogisticRegression(max_iter=500)
        ),
        {"compressivepca__gamma_samples": [0.1, 0.5], "compressivepca__n_components": [3, 6]},
        cv=2,
    ).fit(X, y)
    assert search.best_score_ > 0.9


FRAMES = {"pandas": pd.DataFrame, "polars": polars.DataFrame}


@pytest.mark.parametrize("Estimator", RECOVERY)
@pytest.mark.parametrize("kind", FRAMES)
def test_frames_in_and_out(Estimator, kind):
    X = load_digits().data[:100]
    names = [f"pixel{i}" for i in range(64)]
    frame = FRAMES[kind](dict(zip(names, X.T, strict=True)))
    model = Estimator(3, random_state=0).set_output(transform=kind).fit(frame)
    out = model.transform(frame)
    assert isinstance(out, FRAMES[kind])
    assert list(out.columns) == [f"{Estimator.__name__.lower()}{i}" for i in range(3)]
    assert list(model.feature_names_in_) == names
    assert_array_equal(np.asarray(out), Estimator(3, random_state=0).fit(X).transform(X))
    with pytest.raises(ValueError, match="feature names should match"):
        model.transform(FRAMES[kind](dict(zip(names[::-1], X.T, strict=True))))


def test_a_frame_keeps_its_index_where_entries_are_masked():
    frame = pd.DataFrame(load_digits().data[:100], index=[f"s{i}" for i in range(100)])
    frame.columns = [f"pixel{i}" for i in range(64)]
    model = CompressivePCA(2, random_state=0).set_output(transform="pandas")
    assert list(model.fit_transform(frame, mask=frame.to_numpy() < 16).index) == list(frame.index)


@pytest.mark.parametrize("kind", FRAMES)
def test_clusters_of_frames(kind):
    X = np.array(load_digits().data[:150])
    X[3, 5] = np.nan
    frame = FRAMES[kind](dict(zip([f"pixel{i}" for i in range(64)], X.T, strict=True)))
    model = CompressiveClustering(10, random_state=0).fit(frame)
    assert_array_equal(model.labels_, CompressiveClustering(10, random_state=0).fit(X).labels_)
    assert_array_equal(model.predict(frame), CompressiveClustering(10, random_state=0).fit(X).predict(X))


@pytest.mark.parametrize("Estimator", ESTIMATORS)
def test_every_parameter_arrives(monkeypatch, Estimator):
    """Give each shared option an unusual value and see it reach the pipeline."""
    unusual = {
        "downsampling": (3.0, 1.0), "gamma_samples": 0.123, "gamma_features": 0.456, "loss": "huber",
        "huber_delta": 0.9,
        "n_neighbors": 4, "sample_graph": Graph(knn_graph(np.arange(30.0)[:, None], 3).weights), "feature_graph": None,
        "neighbors": "exact", "robust_graphs": True,
        "laplacian": "normalized", "sampling": (np.arange(0, 30, 2), None), "reduction": "exact",
        "solver": "rpcag", "decoder": "approximate",
        "decoder_options": {"gamma_samples": 0.5}, "tol": 0.017, "max_iter": 77, "n_jobs": 1,
    }  # fmt: skip
    known = set(inspect.signature(Estimator).parameters)
    given = {name: value for name, value in unusual.items() if name in known}
    shared = {field for field in Settings.__dataclass_fields__ if field in known}
    assert shared == set(given), "an option has no unusual value in this test"

    class ReachedError(Exception):
        pass

    def spy(X, settings, **kwargs):
        raise ReachedError(settings, kwargs["laplacian"])

    home = inspect.getmodule(Estimator)
    monkeypatch.setattr(home, "reduce", lambda X, graphs, settings, **kwargs: spy(X, settings, **kwargs))
    with pytest.raises(ReachedError) as caught:
        Estimator(**given).fit(np.random.default_rng(0).standard_normal((30, 5)))
    settings, laplacian = caught.value.args
    for name, value in given.items():
        assert getattr(settings, name) is value or getattr(settings, name) == value, name
    assert laplacian == "normalized"


def test_settings_reach_the_functions_they_are_for(monkeypatch):
    seen = {}

    def watch(module, name):
        original = getattr(module, name)

        def watched(*args, **kwargs):
            seen.setdefault(name, []).append((args, kwargs))
            return original(*args, **kwargs)

        monkeypatch.setattr(module, name, watched)

    for module, name in (
        (two_graphs, "knn_graph"), (two_graphs, "choose"), (two_graphs, "reduce_graph"), (small_problem, "solve_frpcag")
    ):  # fmt: skip
        watch(module, name)
    X = np.random.default_rng(0).standard_normal((60, 20))
    CompressivePCA(
        2, downsampling=(3, 2), gamma_samples=0.123, gamma_features=0.456, loss="huber", huber_delta=0.9, n_neighbors=4,
        neighbors="exact", reduction="rebuild", tol=0.017, max_iter=77,
    ).fit(X)  # fmt: skip
    for args, kwargs in seen["knn_graph"]:
        assert args[1] == 4
        assert kwargs["neighbors"] == "exact"
    assert [args[1] for args, _ in seen["choose"]] == [20, 10]
    assert [args[3:5] for args, _ in seen["reduce_graph"]] == [("rebuild", 4)] * 2
    (_, solver), *_ = seen["solve_frpcag"]
    expected = {
        "gamma_samples": 0.123, "gamma_features": 0.456, "loss": "huber", "huber_delta": 0.9,
        "tol": 0.017, "max_iter": 77,
    }  # fmt: skip
    assert solver.items() >= expected.items()


@pytest.mark.parametrize("Estimator", ESTIMATORS)
def test_parameters_and_inputs_are_never_rewritten(Estimator):
    X = np.random.default_rng(0).standard_normal((40, 6))
    W = knn_graph(X, 5).weights
    before, X_before = W.copy(), X.copy()
    X.setflags(write=False)
    W.data.setflags(write=False)
    model = Estimator(3, sample_graph=W, random_state=0)
    params = model.get_params()
    model.fit(X)
    assert all(model.get_params()[name] is value for name, value in params.items())
    assert_array_equal(X, X_before)
    assert abs(W - before).nnz == 0
    clone(model)


@pytest.mark.parametrize("Estimator", ESTIMATORS)
def test_float32_stays_float32(Estimator):
    X = load_digits().data[:120].astype(np.float32)
    model = Estimator(4, random_state=0).fit(X)
    for name, value in vars(model).items():
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            assert value.dtype == np.float32, name
    if hasattr(model, "low_rank_"):
        assert model.low_rank_.dtype == np.float32
        assert model.transform(X).dtype == np.float32
        assert model.inverse_transform(model.transform(X)).dtype == np.float32


def test_same_seed_same_answer_whatever_the_threads():
    rng = np.random.default_rng(0)
    X = (rng.standard_normal((4000, 5)) @ rng.standard_normal((5, 40)) + rng.standard_normal((4000, 40))).astype(
        np.float32
    )
    fits = [
        CompressiveClustering(5, neighbors="approximate", n_jobs=n_jobs, random_state=7).fit(X) for n_jobs in (1, 2, 2)
    ]
    for other in fits[1:]:
        assert_array_equal(other.sample_indices_, fits[0].sample_indices_)
        assert_array_equal(other.labels_, fits[0].labels_)
    assert not np.array_equal(
        fits[0].sample_indices_,
        CompressiveClustering(5, neighbors="approximate", random_state=8).fit(X).sample_indices_,
    )


def test_the_same_bits_whatever_the_threads():
    """Equal features, of which a search may take any, and products large enough for threads of BLAS."""
    X = make_low_rank_on_graphs(2500, 300, rank=5, random_state=0).X.astype(np.float32)
    X += 0.3 * X.std() * np.random.default_rng(0).standard_normal(X.shape, dtype=np.float32)
    X[:, 200:] = 0
    one, two = (CompressivePCA(random_state=0, neighbors="approximate", n_jobs=n).fit(X) for n in (1, 2))
    assert_array_equal(one.feature_graph_.weights.indices, two.feature_graph_.weights.indices)
    assert_array_equal(one.sample_graph_.weights.data, two.sample_graph_.weights.data)
    assert (one.gamma_samples_, one.gamma_features_, one.n_components_) == (
        two.gamma_samples_, two.gamma_features_, two.n_components_
    )  # fmt: skip
    assert_array_equal(one.low_rank_.to_array(), two.low_rank_.to_array())


def test_user_graphs_and_indices_are_used():
    X = np.random.default_rng(0).standard_normal((40, 8))
    graph = knn_graph(X, 6)
    model = CompressivePCA(2, sample_graph=graph, sampling=(np.arange(0, 40, 2), [0, 3, 5, 7]), random_state=0).fit(X)
    assert model.sample_graph_ is graph
    assert_array_equal(model.sample_indices_, np.arange(0, 40, 2))
    assert_array_equal(model.feature_indices_, [0, 3, 5, 7])


@pytest.mark.parametrize("Estimator", ESTIMATORS)
def test_terms_can_be_switched_off(Estimator):
    X = load_digits().data[:100]
    model = Estimator(3, sample_graph=None, feature_graph=None, random_state=0).fit(X)
    assert model.sample_graph_ is None
    assert model.n_iter_ == 0  # no term, nothing to solve


@pytest.mark.parametrize("reduction", ["exact", "random_walk", "rebuild"])
def test_every_reduction_runs(reduction):
    X = load_digits().data[:300]
    model = CompressivePCA(5, downsampling=(3, 2), reduction=reduction, random_state=0).fit(X)
    assert recovery_error(X, model.low_rank_) < 0.6


@pytest.mark.parametrize("Estimator", ESTIMATORS)
@pytest.mark.parametrize("shape", [(40, 200), (200, 3), (60, 2), (11, 30)])
def test_all_shapes(Estimator, shape):
    X = np.random.default_rng(0).standard_normal(shape)
    model = Estimator(2, random_state=0).fit(X)
    assert model.converged_


def test_disconnected_data_and_isolated_nodes():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.standard_normal((60, 5)), rng.standard_normal((60, 5)) + 1000])
    model = CompressivePCA(2, downsampling=(10, 1), random_state=0).fit(X)
    assert model.sample_graph_.n_components == 2
    W = knn_graph(X, 5).weights.tolil()
    W[7, :] = 0
    W[:, 7] = 0
    isolated = CompressivePCA(2, downsampling=(10, 1), sample_graph=W.tocsr(), random_state=0).fit(X)
    assert 7 in isolated.sample_indices_


def test_not_converging_warns():
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        CompressivePCA(max_iter=1, tol=1e-9).fit(load_digits().data[:100])


def test_progress_is_silent_unless_asked(capfd):
    X = load_digits().data[:100]
    CompressivePCA().fit(X)
    assert capfd.readouterr().err == ""
    CompressivePCA(verbose=1).fit(X)
    out, err = capfd.readouterr()
    assert out == ""
    assert "sample graph" in err


def test_stages_are_timed():
    model = CompressivePCA().fit(load_digits().data[:100])
    assert list(model.stage_seconds_) == [
        "scaling",
        "gross errors",
        "sample graph",
        "feature graph",
        "sampling",
        "reduction",
        "gammas",
        "frpcag",
        "decoding",
    ]


def test_no_square_dense_array_is_formed(monkeypatch):
    """Neither n x n nor p x p: dense copies of sparse matrices stay under the size of the data."""
    largest = []
    original = sp.csr_array.toarray

    def watched(self, *args, **kwargs):
        largest.append(np.prod(self.shape))
        return original(self, *args, **kwargs)

    monkeypatch.setattr(sp.csr_array, "toarray", watched)
    X = np.random.default_rng(0).standard_normal((1500, 1400)).astype(np.float32)
    CompressivePCA(3, downsampling=(3, 3), random_state=0).fit(X)
    assert max(largest, default=0) <= 500 * 500
