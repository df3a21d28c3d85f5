"""K-means in compiled loops draws the starts of scikit-learn's and finds the same clusters."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from graphlowrank._threads import limit_threads
from graphlowrank.clustering.kmeans import _assign, _iterate, _seed_centers, k_means


def blobs(n, d, k, seed=0):
    rng = np.random.RandomState(seed)
    return rng.standard_normal((n, d)) + 3 * rng.standard_normal((k, d))[rng.randint(k, size=n)]


@pytest.mark.parametrize(("n", "d", "k", "n_init"), [(500, 5, 7, 1), (300, 40, 12, 3), (259, 1, 2, 2), (30, 3, 1, 1)])
def test_clusters_are_those_of_scikit_learn(n, d, k, n_init):
    X, weights = blobs(n, d, k), np.random.RandomState(1).uniform(0.1, 2, n)
    for seed in range(3):
        theirs = KMeans(k, n_init=n_init, random_state=seed).fit(X, sample_weight=weights)
        labels, inertia = k_means(X, k, n_init, seed, weights)
        assert adjusted_rand_score(theirs.labels_, labels) == pytest.approx(1)
        assert inertia == pytest.approx(theirs.inertia_)


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(1, 600), d=st.integers(1, 9), k=st.integers(1, 11), seed=st.integers(0, 99),
    values=st.sampled_from([1, 3, 1000]),
)  # fmt: skip
def test_a_run_ends_at_a_fixed_point(n, d, k, seed, values):
    """No point has a nearer center, centers are means, inertia is the sum of squared distances; with copies, too."""
    rng = np.random.RandomState(seed)
    X, weights = rng.randint(values, size=(n, d)).astype(float), rng.uniform(0.5, 2, n)
    points = np.ascontiguousarray(X.T)
    centers = _seed_centers(points, weights, rng.random_sample(), rng.random_sample((k - 1, 3)))
    inertia = _iterate(points, weights, centers)
    labels, squared = _assign(points, centers)
    everything = ((X[:, None] - centers) ** 2).sum(axis=2)
    np.testing.assert_allclose(squared, everything.min(axis=1), rtol=1e-9, atol=1e-9)
    assert inertia == pytest.approx(float(weights @ squared), rel=1e-9, abs=1e-9)
    for c in np.unique(labels):
        mean = np.average(X[labels == c], axis=0, weights=weights[labels == c])
        np.testing.assert_allclose(centers[c], mean, rtol=1e-9, atol=0.02 * X.std() + 1e-9)  # it stops at small shifts


def test_empty_clusters_move_to_the_farthest_points():
    X = np.array([[0.0], [0.1], [0.2], [100.0], [200.0]])
    centers = np.zeros((3, 1))  # the first point three times
    inertia = _iterate(np.ascontiguousarray(X.T), np.ones(5), centers)
    assert sorted(centers.ravel().round(6)) == [0.1, 100, 200]
    assert inertia == pytest.approx(0.02)


def test_labels_do_not_depend_on_threads():
    X = blobs(3000, 6, 8)
    found = []
    for n_jobs in (1, 3):
        with limit_threads(n_jobs):
            found.append(k_means(X, 8, 5, 0, fit_on=1000)[0])
    np.testing.assert_array_equal(*found)
