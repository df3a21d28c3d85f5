"""Regression with a graph prior: limits, a case that neither limit solves, and the weight by held-out entries."""

import numpy as np
import pytest
from decoder_helpers import Problem, as_data
from numpy.testing import assert_allclose

from graphlowrank import CompressivePCA
from graphlowrank.datasets import make_low_rank_on_graphs
from graphlowrank.decoders import decode_graph_regression, decode_robust, decode_subspace
from graphlowrank.decoders.factors import factorize
from graphlowrank.decoders.graph_regression import hold_out
from graphlowrank.decoders.penalty import fit_smooth
from graphlowrank.metrics import recovery_error
from graphlowrank.models.losses import Huber
from graphlowrank.sampling import SampledNodes
from graphlowrank.solvers.irls import irls
from helpers import disjoint, random_graph, with_missing


@pytest.fixture(scope="module")
def case():
    return Problem(n=60, p=40, m_rows=25, m_columns=20, seed=3, noise=0.02)


def noisy(case, level=0.02, seed=0):
    return case.X + level * np.random.default_rng(seed).standard_normal(case.X.shape)


def decode(case, X, **options):
    return decode_graph_regression(case.X_small, *case.sides, data=as_data(X), n_components=3, **options)


@pytest.mark.parametrize("loss", ["l1", "l2", "huber"])
def test_a_large_weight_is_the_subspace_decoder(case, loss):
    interpolated = decode_subspace(case.X_small, *case.sides, n_components=3).low_rank.to_array()
    for gamma, atol in ((np.inf, 1e-12), (1e10, 1e-6)):
        found = decode(case, noisy(case), gamma=gamma, loss=loss)
        assert_allclose(found.low_rank.to_array(), interpolated, atol=atol)


def test_it_is_the_subspace_decoder_on_graphs_with_components_too():
    """Shifts of a whole component are penalized, too."""
    graph = disjoint(random_graph(20, seed=1), random_graph(15, seed=2), random_graph(5, seed=3))
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2)) @ rng.standard_normal((2, 12))
    samples, features = SampledNodes(graph, np.arange(0, 40, 2)), SampledNodes(None, np.arange(12))
    X_small = X[::2] + np.repeat([0.0, 1.0, 2.0], [10, 8, 2])[:, None]
    found = decode_graph_regression(X_small, samples, features, data=as_data(X), n_components=2, gamma=1e10)
    expected = decode_subspace(X_small, samples, features, n_components=2)
    assert_allclose(found.low_rank.to_array(), expected.low_rank.to_array(), atol=1e-6)


def test_without_a_prior_every_sample_and_feature_is_fitted_by_itself(case):
    X, loss, options = noisy(case), Huber(0.1), {"damping": 0.0, "tol": 1e-9, "max_iter": 2000}
    factors = factorize(case.X_small, *case.sides, 3)
    V = fit_smooth(case.features, factors.features_and_center, gamma=0.0).X
    kept = case.features.indices
    S = irls(X[:, kept] - V[kept, -1], V[kept, :-1].T, loss, **options).X
    V = irls(np.ascontiguousarray(X.T), np.column_stack([S, np.ones(60)]).T, loss, **options).X
    S = irls(X - V[:, -1], V[:, :-1].T, loss, **options).X
    for gamma in (0.0, 1e-9):
        found = decode(case, X, gamma=gamma, corner=0.1, tol=1e-9, max_iter=2000).low_rank.to_array()
        assert_allclose(found, S @ V[:, :-1].T + V[:, -1], atol=1e-5)


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_it_beats_both_limits_on_noisy_data_that_follow_the_graphs_in_part(missing):
    case = Problem(n=200, p=60, m_rows=50, m_columns=60, seed=5)
    rng = np.random.default_rng(0)
    X = case.X + 0.3 * case.X.std() * rng.standard_normal((200, 1)) * case.P[:, 0] * 60**0.5
    X_small = X[case.block]
    data = as_data(with_missing(X + 0.7 * X.std() * rng.standard_normal(X.shape), missing))
    ours, robust = (
        decode(X_small, *case.sides, data=data, n_components=3).low_rank.to_array()
        for decode in (decode_graph_regression, decode_robust)
    )
    interpolated = decode_subspace(X_small, *case.sides, n_components=3).low_rank.to_array()
    assert recovery_error(X, ours) < 0.95 * min(recovery_error(X, one) for one in (robust, interpolated))


def test_the_weight_is_less_where_samples_have_something_of_their_own():
    made = make_low_rank_on_graphs(400, 60, rank=4, random_state=0)
    rng = np.random.default_rng(0)
    noise = 0.3 * made.X_true.std() * rng.standard_normal(made.X_true.shape)
    own = np.outer(rng.standard_normal(400), np.sqrt(np.mean(made.X_true**2, axis=0)))
    gammas = []
    for X in (made.X_true, made.X_true + own):
        model = CompressivePCA(
            5, decoder="graph_regression", downsampling=(4, 1), sample_graph=made.sample_graph, gamma_samples=1.0,
            feature_graph=made.feature_graph, gamma_features=1.0, random_state=0,
        ).fit(X + noise)  # fmt: skip
        choice = next(choice for choice in model.report_.choices if choice.name == "decoder gamma")
        assert "clipped squared error" in choice.reason
        gammas.append(choice.value)
    assert gammas[1] < gammas[0]


def test_a_spurious_factor_does_not_grow():
    """Rank 4, and a fifth factor is asked for, which has nothing but outliers of one feature."""
    made = make_low_rank_on_graphs(1000, 80, rank=5, shape="rings", outliers=0.1, random_state=1)
    model = CompressivePCA(
        5, solver="frpcag", decoder="graph_regression", decoder_options={"gamma": 1.0}, downsampling=(5, 1),
        sample_graph=made.sample_graph, feature_graph=made.feature_graph, gamma_samples=2.0, gamma_features=2.0,
        random_state=1,
    ).fit(made.X)  # fmt: skip
    assert recovery_error(made.X_true, model.low_rank_.to_array()) < 0.03  # 0.049 if the direction may grow


def test_held_out_entries_are_new_to_the_factors(case):
    X = with_missing(case.X, 0.2)
    rows, columns, values = hold_out(as_data(X), *case.sides)
    assert 0.05 * X.size < len(values) < 0.1 * X.size
    assert_allclose(values, X[rows, columns])
    assert not (np.isin(rows, case.samples.indices) & np.isin(columns, case.features.indices)).any()
    everything = [SampledNodes(graph, np.arange(graph.n_nodes)) for graph in case.graphs]
    assert len(hold_out(as_data(X), *everything)[0]) > len(rows)


def test_few_entries_get_the_weight_of_the_likelihood():
    X = np.outer(np.arange(5.0), [1.0, -1.0, 2.0])
    sides = SampledNodes(random_graph(5, 0.9), np.arange(5)), SampledNodes(None, np.arange(3))
    found = decode_graph_regression(X, *sides, data=as_data(X), n_components=1)
    ((_, gamma, reason),) = found.chosen
    assert gamma == 1.0
    assert "too few" in reason


def test_options_are_checked_and_a_stopped_regression_warns(case):
    for gamma in (-1.0, np.nan, "best"):
        with pytest.raises(ValueError, match="gamma must be"):
            decode(case, case.X, gamma=gamma)
    with pytest.raises(ValueError, match="loss must be one of"):
        decode(case, case.X, loss="l3")
    with pytest.warns(UserWarning, match="the graph regression on the .* did not converge in 1 iterations"):
        decode(case, noisy(case, 0.5), gamma=0.01, max_iter=1)
