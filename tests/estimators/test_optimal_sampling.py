"""sampling="optimal" in the estimators."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from graphlowrank import CompressiveClustering, CompressivePCA
from graphlowrank.datasets import make_low_rank_on_graphs
from graphlowrank.decoders import DECODERS
from graphlowrank.graphs import Graph
from graphlowrank.models import SOLVERS
from graphlowrank.sampling import sample_nodes
from helpers import disjoint


@pytest.fixture(scope="module")
def corrupted():
    return make_low_rank_on_graphs(600, 120, rank=4, outliers=0.1, random_state=0)


def fit(data, **options):
    options = {"downsampling": (5, 2), "gamma_samples": 2.0, "gamma_features": 2.0, "random_state": 0, **options}
    return CompressivePCA(4, sample_graph=data.sample_graph, feature_graph=data.feature_graph, **options).fit(data.X)


def test_float32_stays_float32_with_optimal_sampling(corrupted):
    data = make_low_rank_on_graphs(300, 80, rank=3, random_state=0)
    for decoder in DECODERS:
        model = CompressivePCA(3, downsampling=(3, 2), sampling="optimal", decoder=decoder, random_state=0)
        assert model.fit(data.X.astype(np.float32)).low_rank_.dtype == np.float32


def test_optimal_sampling_is_fair_to_a_rare_group():
    """A group of 24 among 1224 samples: uniform draws of 61 hold one or two of them, optimal ones many."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], [600, 600, 24])
    X = 6 * np.eye(3)[y] @ rng.standard_normal((3, 12)) + rng.standard_normal((1224, 12))
    kept = {}
    for sampling in ("uniform", "optimal"):
        model = CompressiveClustering(3, downsampling=(20, 1), n_neighbors=5, sampling=sampling, random_state=0).fit(X)
        kept[sampling] = np.bincount(y[model.sample_indices_], minlength=3)
    assert kept["uniform"][2] < 5
    assert kept["optimal"][2] > 10
    # Each kept sample stands for its share, so that over draws the groups weigh what they should.
    draws = [sample_nodes(model.sample_graph_, 1224, 61, optimal_for=3, random_state=seed) for seed in range(40)]
    stands_for = [np.bincount(y[kept.indices], weights=kept.weights) * 1224 / 61 for kept in draws]
    assert_allclose(np.mean(stands_for, axis=0), [600, 600, 24], rtol=0.1)


def test_importance_weights_reach_the_loss(monkeypatch, corrupted):
    seen = []
    frpcag = SOLVERS["frpcag"]
    spy = replace(frpcag, minimize=lambda problem, update: seen.append(problem) or frpcag.minimize(problem, update))
    monkeypatch.setitem(SOLVERS, "frpcag", spy)
    model = fit(corrupted, sampling="optimal")
    assert_array_equal(seen[0].sample_weights, model.sample_weights_)
    assert_array_equal(seen[0].feature_weights, model.feature_weights_)
    assert model.sample_weights_.std() > 0


def test_optimal_sampling_repeats_and_does_not_depend_on_threads(corrupted):
    a, b = (fit(corrupted, sampling="optimal", n_jobs=n) for n in (1, 2))
    assert_array_equal(a.sample_indices_, b.sample_indices_)
    assert_allclose(a.low_rank_.to_array(), b.low_rank_.to_array(), atol=1e-9)


def test_optimal_sampling_of_a_graph_with_many_components():
    data = make_low_rank_on_graphs(200, 60, rank=3, random_state=0)
    pieces = disjoint(*[Graph(data.sample_graph.weights[:20, :20].tocsr())] * 10)
    model = CompressivePCA(
        3,
        sample_graph=pieces,
        feature_graph=data.feature_graph,
        downsampling=(4, 2),
        sampling="optimal",
        random_state=0,
    ).fit(data.X)
    assert set(pieces.components[model.sample_indices_]) == set(range(pieces.n_components))
