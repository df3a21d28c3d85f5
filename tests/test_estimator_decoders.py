"""Decoders and optimal sampling as a user meets them: through the estimators."""

import numpy as np
import pytest
from graphlowrank.preprocessing.standardize import StandardisedData
from numpy.testing import assert_allclose, assert_array_equal

from graphlowrank import CompressiveClustering, CompressivePCA, small_problem
from graphlowrank.datasets import make_low_rank_on_graphs
from graphlowrank.decoders import DECODERS
from graphlowrank.graphs import Graph
from graphlowrank.metrics import clustering_error, recovery_error
from graphlowrank.sampling import choose
from helpers import disjoint

ROBUST = [name for name in DECODERS if name not in ("approximate2", "approximate3")]


@pytest.fixture(scope="module")
def corrupted():
    return make_low_rank_on_graphs(600, 120, rank=4, outliers=0.1, random_state=0)


def fit(data, **options):
    options = {"downsampling": (5, 2), "gamma_samples": 2.0, "gamma_features": 2.0, "random_state": 0, **options}
    return CompressivePCA(4, sample_graph=data.sample_graph, feature_graph=data.feature_graph, **options).fit(data.X)


@pytest.mark.parametrize("decoder", ROBUST)
@pytest.mark.parametrize("sampling", ["uniform", "optimal"])
def test_every_robust_decoder_recovers_under_gross_errors(corrupted, decoder, sampling):
    model = fit(corrupted, decoder=decoder, sampling=sampling)
    limit = 0.25 if decoder == "orthonormal" else 0.05  # its scale rests on the isometry of the draw
    assert recovery_error(corrupted.X_true, model.low_rank_.to_array()) < limit
    assert model.n_components_ == 4
    assert (model.sample_weights_ is None) == (sampling == "uniform")


def test_projections_of_clean_data_recover_it():
    data = make_low_rank_on_graphs(600, 120, rank=4, random_state=0)
    for decoder in ("approximate2", "approximate3"):
        assert recovery_error(data.X_true, fit(data, decoder=decoder).low_rank_.to_array()) < 0.02


def test_projections_do_without_the_other_graph():
    data = make_low_rank_on_graphs(600, 120, rank=4, random_state=0)
    options = {"downsampling": (5, 2), "random_state": 0}
    for decoder, given in (
        ("approximate2", {"feature_graph": data.feature_graph, "sample_graph": None}),
        ("approximate3", {"sample_graph": data.sample_graph, "feature_graph": None}),
    ):
        model = CompressivePCA(4, decoder=decoder, **given, **options).fit(data.X)
        assert recovery_error(data.X_true, model.low_rank_.to_array()) < 0.1
    with pytest.raises(ValueError, match="leaves no way to decode the features"):
        CompressivePCA(4, decoder="approximate2", feature_graph=None, downsampling=(5, 2)).fit(data.X)


def test_decoder_options_arrive(corrupted):
    plain, steep = fit(corrupted), fit(corrupted, decoder_options={"filter": 2})
    assert steep.decoder_n_iter_ > plain.decoder_n_iter_
    assert np.abs(steep.low_rank_.to_array() - plain.low_rank_.to_array()).max() > 1e-6


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (
            {"decoder_options": {"gamma": 1}},
            "decoder 'subspace' has no option 'gamma'; it takes filter, normalise, delta",
        ),
        ({"decoder_options": {"n_components": 1}}, "has no option 'n_components'"),
        ({"decoder": "approximate2", "decoder_options": {"data": 1}}, "has no option 'data'"),
        ({"decoder_options": 3}, "must be None or a dictionary"),
        ({"decoder": "robust?"}, "decoder must be one of 'subspace'"),
    ],
)
def test_bad_decoder_options_are_named_before_work(corrupted, options, text):
    with pytest.raises(ValueError, match=text):
        fit(corrupted, **options)


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
    draws = [choose(None, 61, model.sample_graph_, optimal_for=3, random_state=seed) for seed in range(40)]
    stands_for = [np.bincount(y[kept.indices], weights=kept.weights) * 1224 / 61 for kept in draws]
    assert_allclose(np.mean(stands_for, axis=0), [600, 600, 24], rtol=0.1)


def test_weights_reach_the_loss(monkeypatch, corrupted):
    seen = {}
    original = small_problem.solve_frpcag
    monkeypatch.setattr(small_problem, "solve_frpcag", lambda *a, **kw: seen.update(kw) or original(*a, **kw))
    model = fit(corrupted, sampling="optimal")
    assert_array_equal(seen["sample_weights"], model.sample_weights_)
    assert_array_equal(seen["feature_weights"], model.feature_weights_)
    assert model.sample_weights_.std() > 0


def test_optimal_sampling_repeats_and_does_not_depend_on_threads(corrupted):
    a, b = (fit(corrupted, sampling="optimal", n_jobs=n) for n in (1, 2))
    assert_array_equal(a.sample_indices_, b.sample_indices_)
    assert_allclose(a.low_rank_.to_array(), b.low_rank_.to_array(), atol=1e-9)


def test_optimal_sampling_of_a_graph_in_many_pieces():
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


def test_standardised_data_multiplies_like_the_matrix_it_stands_for(rng):
    X, shift = rng.standard_normal((9, 5)), rng.standard_normal(5)
    view, full = StandardisedData(X, shift, 2.5), (X - shift) / 2.5
    A, B = rng.standard_normal((3, 9)), rng.standard_normal((5, 2))
    assert_allclose(view @ B, full @ B)
    assert_allclose(A @ view, A @ full)
