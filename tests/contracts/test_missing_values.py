"""Missing values (NaN) have no weight in the loss, are imputed for distances and recovered in the answer."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_digits
from sklearn.impute import SimpleImputer

from graphlowrank import (
    CompressiveClustering,
    CompressivePCA,
    FastRobustPCAOnGraphs,
    GraphLaplacianPCA,
    GraphNMF,
    RobustPCA,
    RobustPCAOnGraphs,
    diagnose,
)
from graphlowrank._checks import without_mask
from graphlowrank.datasets import make_low_rank_on_graphs
from graphlowrank.graphs import as_graph, knn_graph, nearest_neighbors
from graphlowrank.metrics import approximate_rank, clustering_error, recovery_error
from graphlowrank.models import solve_glpca
from graphlowrank.preprocessing.missing import column_mean
from graphlowrank.tomography import projection_matrix, reconstruct
from graphlowrank.video import separate
from helpers import with_missing

RECOVERY = [CompressivePCA, FastRobustPCAOnGraphs, RobustPCA, RobustPCAOnGraphs]


@pytest.fixture(scope="module")
def clean():
    return make_low_rank_on_graphs(300, 60, rank=3, random_state=0).X


@pytest.mark.parametrize("Estimator", RECOVERY)
@pytest.mark.parametrize("share", [0.1, 0.5])
def test_missing_values_are_recovered(clean, Estimator, share):
    noisy = clean + 0.05 * clean.std() * np.random.default_rng(1).standard_normal(clean.shape)
    X = with_missing(noisy, share)
    kept = X.copy()
    model = Estimator(random_state=0) if "random_state" in Estimator().get_params() else Estimator()
    found = np.asarray(model.fit(X).low_rank_)
    assert_array_equal(X, kept)  # the caller's
    missing = np.isnan(X)
    error = np.linalg.norm((found - clean)[missing])
    by_means = np.linalg.norm((SimpleImputer().fit_transform(X) - clean)[missing])
    assert error < 0.35 * by_means
    assert "% of the entries missing" in repr(model.report_)
    assert np.isfinite(model.transform(X)).all()


@pytest.mark.parametrize("Estimator", [CompressivePCA, FastRobustPCAOnGraphs, RobustPCA])
def test_a_mask_is_the_same_as_nan(clean, Estimator):
    X = with_missing(clean, 0.3)
    mask = ~np.isnan(X)
    junk = np.where(mask, clean, 1e6)
    junk[0, np.flatnonzero(~mask[0])[0]] = np.inf
    model = Estimator(3) if Estimator is RobustPCA else Estimator(3, random_state=0)
    scores, found = model.fit_transform(X), np.asarray(model.low_rank_)
    assert_array_equal(model.fit_transform(junk, mask=mask), scores)
    assert_array_equal(np.asarray(model.low_rank_), found)
    model.fit(clean, mask=np.ones(clean.shape, dtype=bool))
    assert_array_equal(np.asarray(model.low_rank_), np.asarray(model.fit(clean).low_rank_))


@pytest.mark.parametrize("Estimator", [CompressivePCA, CompressiveClustering, FastRobustPCAOnGraphs, RobustPCA])
def test_bad_masks(clean, Estimator):
    for mask, text in (
        (np.ones((2, 2), dtype=bool), "mask must hold booleans of shape"),
        (np.ones(clean.shape), "mask must hold booleans"),
        (np.zeros(clean.shape, dtype=bool), "nothing is observed"),
    ):
        with pytest.raises(ValueError, match=text):
            Estimator(2).fit(clean, mask=mask)
    bad = clean.copy()
    bad[0, 0] = np.inf
    with pytest.raises(ValueError, match="where the mask is True \\(observed\\)"):
        Estimator(2).fit(bad, mask=np.ones(clean.shape, dtype=bool))


@pytest.mark.parametrize("Estimator", [CompressivePCA, CompressiveClustering, FastRobustPCAOnGraphs, RobustPCA])
def test_masked_arrays_are_data_with_missing_values(clean, Estimator):
    X = with_missing(clean[:80], 0.2)
    masked = np.ma.masked_array(np.where(np.isnan(X), -999, X), mask=np.isnan(X))
    model = Estimator(3, robust_graphs=False, random_state=0) if Estimator is not RobustPCA else Estimator(3)
    use = model.predict if Estimator is CompressiveClustering else model.transform
    expected = model.fit(X) and use(X)
    assert_array_equal(model.fit(masked) and use(masked), expected)
    integers = np.ma.masked_equal(np.arange(12).reshape(4, 3), 5)
    assert_array_equal(np.isnan(without_mask(integers)), integers.mask)
    assert without_mask(np.ma.masked_array(clean)).base is clean


@pytest.mark.parametrize("Estimator", [GraphLaplacianPCA, GraphNMF])
def test_masked_arrays_are_refused_where_missing_values_are(clean, Estimator):
    masked = np.ma.masked_array(np.abs(clean[:80]), mask=clean[:80] > 1)
    with pytest.raises(ValueError, match="NaN"):
        Estimator(2).fit(masked)
    with pytest.raises(ValueError, match="NaN"):
        Estimator(2).fit(np.abs(clean[:80])).transform(masked)
    with pytest.raises(ValueError, match="NaN"):
        solve_glpca(masked, knn_graph(clean[:80], 5).laplacian(), 2)


@pytest.mark.parametrize(
    "use",
    [
        as_graph, approximate_rank, diagnose, lambda X: nearest_neighbors(X, 3), lambda X: separate(X[:, :, None]),
        lambda X: CompressivePCA(2).fit(X.data, sample_loss_weight=X[0]),
        lambda X: CompressivePCA(2).fit(X.data, mask=X > 1),
        lambda X: RobustPCA(20).fit(np.random.default_rng(0).random((20, 20))).inverse_transform(X),
    ],
)  # fmt: skip
def test_functions_of_complete_data_refuse_masked_arrays(use):
    masked = np.ma.masked_array(np.ones((20, 20)), mask=np.eye(20))
    with pytest.raises(ValueError, match=r"NaN|finite|booleans"):
        use(masked)


def test_masked_readings_are_missing_and_masked_entries_have_no_error():
    A = projection_matrix((8, 8), np.arange(6) * 30)
    readings = A @ np.arange(64.0)
    readings[5] = np.nan
    masked = np.ma.masked_invalid(readings)
    masked.data[5] = 1e6
    gammas = {"gamma_features": 0.1, "gamma_samples": 0.1}
    expected, found = (reconstruct(A, b, (8, 8), **gammas).image for b in (readings, masked))
    assert_array_equal(found, expected)
    assert np.isnan(recovery_error(np.ones(len(masked)), masked))


@pytest.mark.parametrize("Estimator", [CompressivePCA, CompressiveClustering, RobustPCA])
def test_new_samples_without_any_value_are_refused(clean, Estimator):
    model = Estimator(3, robust_graphs=False) if Estimator is not RobustPCA else Estimator(3)
    model.fit(clean[:80])
    new = clean[80:90].copy()
    new[[3, 4]] = np.nan
    use = model.predict if Estimator is CompressiveClustering else model.transform
    with pytest.raises(ValueError, match=r"sample 3 has only missing values \(2 such samples\)"):
        use(new)


@pytest.mark.parametrize("solver", ["frpcag", "rpca", "rpcag"])
@pytest.mark.parametrize("decoder", ["subspace", "robust", "alternate", "graph_regression"])
def test_solvers_and_decoders(clean, solver, decoder):
    X = with_missing(clean, 0.2)
    model = CompressivePCA(3, solver=solver, decoder=decoder, downsampling=(2, 1), robust_graphs=False, random_state=0)
    model.fit(X)
    missing = np.isnan(X)
    error = np.linalg.norm((model.low_rank_.to_array() - clean)[missing])
    assert error < 0.4 * np.linalg.norm((clean - column_mean(X))[missing])


@pytest.mark.parametrize("decoder", ["approximate2", "approximate3"])
def test_decoders_that_project_the_data_refuse_missing_values(clean, decoder):
    with pytest.raises(ValueError, match="must have no missing values"):
        CompressivePCA(2, decoder=decoder).fit(with_missing(clean, 0.1))


def test_nothing_is_imputed_without_distances(clean):
    model = FastRobustPCAOnGraphs(2, sample_graph=knn_graph(clean, 5), feature_graph=None)
    assert "imputation" not in model.fit(with_missing(clean, 0.1)).stage_seconds_
    assert "imputation" in FastRobustPCAOnGraphs(2).fit(with_missing(clean, 0.1)).stage_seconds_


def test_clusters_of_incomplete_samples():
    X, y = load_digits(return_X_y=True)
    X, new, y = X[:500], X[1000:1200], y[:500]
    incomplete = with_missing(X, 0.3)
    model = CompressiveClustering(10, random_state=0, n_jobs=2).fit(incomplete)
    assert clustering_error(y, model.labels_) < 0.25
    predicted = model.predict(with_missing(new, 0.3, seed=1))
    assert np.mean(predicted == model.predict(new)) > 0.8
    again = CompressiveClustering(10, random_state=0, n_jobs=1).fit(incomplete)
    assert_array_equal(again.labels_, model.labels_)
    # New samples may have missing values where those of the fit had none.
    complete = CompressiveClustering(10, robust_graphs=False, random_state=0).fit(X)
    assert np.mean(complete.predict(with_missing(new, 0.1)) == complete.predict(new)) > 0.9


@pytest.mark.parametrize("Estimator", [*RECOVERY, CompressiveClustering])
def test_the_tag_allows_nan(Estimator):
    assert Estimator().__sklearn_tags__().input_tags.allow_nan


def test_the_same_bits_on_one_thread_and_two():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1200, 6)) @ rng.standard_normal((6, 120)) + rng.standard_normal((1200, 120))
    X = with_missing(X, 0.3)
    weights = rng.random(1200) + 0.1
    models = (CompressivePCA(random_state=0, laplacian="normalized", n_jobs=n) for n in (1, 2))
    one, two = (model.fit(X, sample_loss_weight=weights) for model in models)
    assert_array_equal(one.sample_graph_.weights.data, two.sample_graph_.weights.data)
    assert_array_equal(one.low_rank_.to_array(), two.low_rank_.to_array())
    assert_array_equal(one.transform(X[:50]), two.transform(X[:50]))
