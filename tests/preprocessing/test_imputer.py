"""Imputation of missing values by a low-rank model."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits

from graphlowrank.graphs import knn_graph
from graphlowrank.graphs.search import nearest_neighbors
from graphlowrank.preprocessing import fit_outlier_filter
from graphlowrank.preprocessing.imputer import fit_imputer, impute
from helpers import with_missing


def test_imputation_keeps_observed_entries_and_finds_low_rank_data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 3)) @ rng.standard_normal((3, 30)) + rng.standard_normal(30)
    incomplete = with_missing(X, 0.2)
    filled = impute(incomplete, np.random.RandomState(0))
    seen = ~np.isnan(incomplete)
    assert_array_equal(filled[seen], X[seen])
    imputed = np.linalg.norm((filled - X)[~seen]) / np.linalg.norm((X - X.mean(axis=0))[~seen])
    assert imputed < 0.02
    assert impute(X, np.random.RandomState(0)) is X
    assert impute(incomplete.astype(np.float32), np.random.RandomState(0)).dtype == np.float32
    # Each sample is imputed on its own.
    model = fit_imputer(incomplete, np.random.RandomState(0))
    assert_allclose(model.apply(incomplete[:5]), model.apply(incomplete)[:5], atol=1e-12)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("dtype", "least", "most"), [(np.float64, -300, 150), (np.float32, -44, 35)])
@pytest.mark.parametrize("fit", [fit_imputer, fit_outlier_filter])
def test_features_of_any_units_are_imputed(fit, dtype, least, most):
    X = np.random.default_rng(0).standard_normal((60, 12)) * np.logspace(least, most, 12)
    incomplete = with_missing(X, 0.1).astype(dtype)
    assert np.isfinite(fit(incomplete, np.random.RandomState(0)).apply(incomplete)).all()


def test_neighbors_are_better_than_by_distances_over_common_entries():
    from sklearn.metrics.pairwise import nan_euclidean_distances

    X, y = load_digits(return_X_y=True)
    incomplete = with_missing(X[:800], 0.5)
    usual = nan_euclidean_distances(incomplete)
    np.fill_diagonal(usual, np.inf)
    usual = np.argsort(usual, axis=1)[:, :10]
    edges = knn_graph(incomplete, 10).weights.tocoo()
    ours = np.mean(y[edges.coords[0]] == y[edges.coords[1]])
    assert ours > np.mean(y[usual] == y[:800, None]) + 0.05
    _, true = nearest_neighbors(X[:800], 10)
    assert ours > 0.75 * np.mean(y[true] == y[:800, None])
