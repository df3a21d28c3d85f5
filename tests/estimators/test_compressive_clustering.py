"""CompressiveClustering: labels, soft labels, prediction, draws."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn.datasets import load_digits

from graphlowrank import CompressiveClustering, load
from graphlowrank.clustering import memberships_of_new
from graphlowrank.estimators import _points
from graphlowrank.graphs.search import nearest_to
from graphlowrank.metrics import clustering_error, conductance
from graphlowrank.preprocessing import fit_imputer
from graphlowrank.preprocessing.sparse import own_copy


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
    assert CompressiveClustering(10, random_state=0).fit(load_digits().data).scores_ != "scaled"


def test_predict_extends_the_labels(blobs):
    X, y = blobs
    train, test = np.arange(120) % 2 == 0, np.arange(120) % 2 == 1
    model = CompressiveClustering(3, random_state=0).fit(X[train])
    both = np.r_[model.labels_, model.predict(X[test])]
    assert clustering_error(np.r_[y[train], y[test]], both) == 0
    far = model.predict(X[test] * 1e6)  # no underflow: the nearest still decides
    assert set(far) <= {0, 1, 2}


def test_predict_weights_neighbors_by_the_kernel():
    # Two training points of one cluster a little farther away than one of the other: nearness must outweigh number.
    X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]])
    model = CompressiveClustering(2, n_neighbors=3, random_state=0).fit(X)
    assert model.predict([[0.3]])[0] == model.labels_[0]
    assert model.predict([[4.0]])[0] == model.labels_[-1]
    # The three nearest to 1.6 are 0.2 (one cluster), 5.0 and 5.1 (the other): uniform votes would give the other.
    training = np.array([[-9.0], [-9.0], [0.2], [5.0], [5.1], [99.0]])
    assert memberships_of_new(*nearest_to(np.array([[1.6]]), training, 3), np.eye(2)[[0, 0, 0, 1, 1, 1]]).argmax() == 0


def test_predict_does_not_depend_on_other_new_samples(blobs):
    X, _ = blobs
    model = CompressiveClustering(3, random_state=0).fit(X[::2])
    new = X[1::2] + np.random.default_rng(0).standard_normal((60, 10)) * 4
    assert_array_equal(model.predict(np.vstack([new, np.full((1, 10), 1e6)]))[:-1], model.predict(new))


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.coo_array, sp.csc_array, pd.DataFrame])
def test_predict_does_not_depend_on_later_changes_of_the_data(form, blobs):
    X, _ = blobs
    given, new = form(X[::2].copy()), form(X[1::2])
    model = CompressiveClustering(3, scaling="none", robust_graphs=False, random_state=0).fit(given)
    labels = model.predict(new)
    assert len(set(labels)) == 3
    (given.data if sp.issparse(given) else given.iloc if hasattr(given, "iloc") else given)[:] = 0
    assert_array_equal(model.predict(new), labels)


def test_only_data_that_may_change_are_copied(blobs, tmp_path):
    options = {"robust_graphs": False, "random_state": 0}
    np.save(tmp_path / "X.npy", blobs[0])
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert np.shares_memory(CompressiveClustering(3, scaling="none", **options).fit(mapped).points_, mapped)
    copies = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_points, "own_copy", lambda X, given: copies.append(own_copy(X, given) is not X) or X)
        for scaling, given in [("none", blobs[0]), ("features", blobs[0]), ("none", blobs[0].tolist())]:
            CompressiveClustering(3, scaling=scaling, **options).fit(given)
    assert copies == [True, False]  # scaled points are not compared with the data


def test_predict_fits_an_imputer_once(blobs, tmp_path, monkeypatch):
    fitted = []
    monkeypatch.setattr(_points, "fit_imputer", lambda *args: fitted.append(1) or fit_imputer(*args))
    X, _ = blobs
    model = CompressiveClustering(3, robust_graphs=False, random_state=0).fit(X[::2])
    new = X[1::2] + np.random.default_rng(0).standard_normal((60, 10)) * 4
    missing = np.where(np.random.default_rng(1).random(new.shape) < 0.3, np.nan, new)
    complete = model.predict(new)
    assert not fitted
    first = model.predict(missing)
    assert_array_equal(model.predict(missing), first)
    assert_array_equal(model.predict(new), complete)
    model.save(tmp_path / "model")
    assert_array_equal(load(tmp_path / "model").predict(missing), first)
    assert len(fitted) == 1
    assert_array_equal(model.fit(X[::2]).predict(missing), first)
    assert len(fitted) == 2  # a new fit has other points


def test_clustering_digits_beats_k_means():
    digits = load_digits()
    errors = [
        clustering_error(digits.target, CompressiveClustering(10, random_state=seed).fit_predict(digits.data))
        for seed in range(3)
    ]
    assert np.mean(errors) < 0.17  # k-means 0.21


def test_gamma_labels_smooths_labels(blobs):
    X, y = blobs
    noisy = X + 3 * np.random.default_rng(0).standard_normal(X.shape)
    soft = [
        CompressiveClustering(3, partition="k-means", gamma_labels=gamma, random_state=0).fit(noisy).confidence_.mean()
        for gamma in (0.0, 10.0)
    ]
    assert soft[1] < soft[0]
    assert clustering_error(y, CompressiveClustering(3, gamma_labels=1.0, random_state=0).fit_predict(X)) == 0
    for bad in (-1, np.inf, "auto"):
        with pytest.raises(ValueError, match="gamma_labels must be a number >= 0"):
            CompressiveClustering(3, gamma_labels=bad).fit(X)


@pytest.fixture
def pictures(rng):
    """Four patterns of 30 numbers, noisy."""
    y = np.repeat(np.arange(4), 60)
    return rng.standard_normal((4, 30))[y] + 0.3 * rng.standard_normal((240, 30)), y


def test_new_samples_are_scaled_like_the_training_data(pictures, rng):
    X, y = pictures
    shaded = X * np.exp(rng.standard_normal((240, 1)))
    model = CompressiveClustering(4, scaling="samples", random_state=0).fit(shaded)
    assert clustering_error(y, model.labels_) == 0
    assert_array_equal(model.predict(5 * shaded + 3), model.labels_)
    units = np.column_stack([X, 1e4 * rng.standard_normal(240)])  # left as it is, noise would decide
    model = CompressiveClustering(4, scaling="features", random_state=0).fit(units)
    assert clustering_error(y, model.labels_) == 0
    assert_array_equal(model.predict(units), model.labels_)


def test_the_graph_chooses_no_worse_a_partition_than_k_means_at_any_gamma():
    X = load_digits().data[:600]
    model = CompressiveClustering(10, random_state=0).fit(X)
    W = model.sample_graph_.weights
    assert model.conductance_ == pytest.approx(conductance(W, model.labels_, 10))
    assert_array_equal(model.labels_, model.soft_labels_.argmax(axis=1))
    for gamma in (0.5, 5.0, 40.0):
        plain = CompressiveClustering(10, partition="k-means", gamma_samples=gamma, random_state=0).fit(X)
        assert np.isnan(plain.conductance_)
        assert model.conductance_ <= conductance(W, plain.labels_, 10)


def test_draws_share_graphs_and_agree_on_clear_samples(pictures):
    X, y = pictures
    model = CompressiveClustering(4, n_draws=5, downsampling=(3, 1), random_state=0).fit(X)
    assert clustering_error(y, model.labels_) == 0
    assert np.all(model.confidence_ > 0.8)
    assert model.n_iter_ > CompressiveClustering(4, downsampling=(3, 1), random_state=0).fit(X).n_iter_
    with pytest.raises(ValueError, match="n_draws must be a positive integer"):
        CompressiveClustering(4, n_draws=0).fit(X)


def test_uncertain_samples_have_less_confidence(rng):
    y = np.repeat([0, 1], 150)
    X = np.column_stack([4.0 * y, np.zeros(300)]) + rng.standard_normal((300, 2))
    model = CompressiveClustering(2, n_draws=5, downsampling=(3, 1), random_state=0).fit(X)
    between = np.abs(X[:, 0] - 2) < 0.5
    assert model.confidence_[between].mean() < model.confidence_[~between].mean()


def test_conductance_is_that_of_the_labels_for_any_number_of_draws(rng):
    X = rng.standard_normal((300, 6))
    for n_draws in (1, 4):
        model = CompressiveClustering(3, n_draws=n_draws, downsampling=(4, 1), random_state=0).fit(X)
        assert model.conductance_ == pytest.approx(conductance(model.sample_graph_, model.labels_, 3))


def test_predict_uses_the_parameters_of_the_fit(pictures, rng):
    X, _ = pictures
    new = X + 2 * rng.standard_normal(X.shape)
    model = CompressiveClustering(4, random_state=0).fit(X)
    before = model.predict(new)
    assert_array_equal(model.set_params(n_clusters=60, n_neighbors=40).predict(new), before)


def test_a_graph_without_edges_is_accepted(rng):
    X = rng.standard_normal((60, 5))
    labels = CompressiveClustering(3, sample_graph=sp.csr_array((60, 60)), random_state=0).fit_predict(X)
    assert labels.shape == (60,)


def test_fewer_clusters_than_asked_for_are_a_warning():
    """Neighbors that are worth more than the labels of k-means outvote small clusters."""
    X = np.random.default_rng(0).normal(size=(100, 3))
    model = CompressiveClustering(8, gamma_labels=1e6, scores="whitened", robust_graphs=False, random_state=0)
    with pytest.warns(UserWarning, match=r"clusters? (was|were) found instead of 8"):
        model.fit(X)
    assert len(np.unique(model.labels_)) < model.n_clusters_ == 8


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_more_clusters_than_distinct_samples_are_a_warning(form):
    X = np.random.default_rng(0).standard_normal((4, 6))[np.arange(40) % 4]
    X[:20, 0], X[20:, 0] = 0.0, -0.0
    model = CompressiveClustering(8, scaling="none", robust_graphs=False, random_state=0)
    with pytest.warns(UserWarning, match="only 4 samples are distinct, so that 8 clusters separate equal samples"):
        model.fit(form(X))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.set_params(n_clusters=4).fit(form(X))


@pytest.mark.parametrize("kind", ["dense", "missing", "sparse"])
def test_centers_are_the_means_of_the_clusters(blobs, kind):
    X, y = blobs
    given = {"dense": X, "missing": np.where(y[:, None] + np.arange(X.shape[1]) == 3, np.nan, X), "sparse": X * (X > 0)}
    X = given[kind]
    X[5, 0] = np.nan if kind == "missing" else X[5, 0]
    model = CompressiveClustering(3, random_state=0).fit(sp.csr_array(X) if kind == "sparse" else X)
    for number in range(3):
        rows = X[model.labels_ == number]
        seen = ~np.isnan(rows).all(axis=0)
        np.testing.assert_allclose(model.cluster_centers_[number, seen], np.nanmean(rows[:, seen], axis=0), atol=1e-12)
        np.testing.assert_allclose(model.cluster_centers_[number, ~seen], np.nanmean(X[:, ~seen], axis=0), atol=1e-12)


def test_transform_gives_the_memberships_that_predict_decides_by(blobs):
    X, _ = blobs
    model = CompressiveClustering(3, random_state=0).fit(X[::2])
    shares = model.transform(X)
    assert shares.shape == (len(X), 3)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert_array_equal(shares.argmax(axis=1), model.predict(X))
    assert list(model.get_feature_names_out()) == [f"compressiveclustering{i}" for i in range(3)]
