"""Coherence, distributions, sizes and the restricted isometry: known answers and statistics."""

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from graphlowrank.graphs import Graph, grid_graph, knn_graph, lowest_eigenpairs, path_graph
from graphlowrank.sampling import (
    cumulative_coherence,
    draw,
    empirical_rip,
    importance_weights,
    inclusion_probabilities,
    isometry,
    joint_isometry,
    local_coherence,
    optimal_distribution,
    promised_delta,
    required_samples,
)
from helpers import disjoint, random_graph


def ring(n):
    nodes = np.arange(n)
    W = sp.csr_array((np.ones(n), (nodes, (nodes + 1) % n)), shape=(n, n))
    return Graph((W + W.T).tocsr())


def torus(n):
    W, eye = ring(n).weights, sp.eye_array(n)
    return Graph(sp.csr_array(sp.kron(W, eye) + sp.kron(eye, W)))


def clique(n):
    return Graph(sp.csr_array(np.ones((n, n)) - np.eye(n)))


ISOLATED = Graph(sp.csr_array((1, 1)))

# --- known answers ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 3, 5, 7])  # pairs of sines and cosines: odd k close an eigenspace
def test_ring_is_as_easy_as_can_be(k):
    assert cumulative_coherence(ring(40), k) == pytest.approx(np.sqrt(k))


@pytest.mark.parametrize("k", [1, 5, 9])
def test_torus_is_as_easy_as_can_be(k):
    assert cumulative_coherence(torus(9), k) == pytest.approx(np.sqrt(k))


@pytest.mark.parametrize("method", ["exact", "estimate"])
@pytest.mark.parametrize("k", [2, 5])
def test_equal_cliques_are_as_easy_as_can_be(method, k):
    assert cumulative_coherence(disjoint(*[clique(8)] * k), k, method=method) == pytest.approx(np.sqrt(k))


@pytest.mark.parametrize("method", ["exact", "estimate"])
def test_an_isolated_node_is_as_hard_as_can_be(method):
    graph = disjoint(clique(24), ISOLATED)
    assert cumulative_coherence(graph, 2, method=method) == pytest.approx(np.sqrt(25))
    assert cumulative_coherence(graph, 4, method=method, random_state=0) == pytest.approx(np.sqrt(25), rel=0.3)


@given(n=st.integers(4, 20), k=st.integers(1, 20), seed=st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_coherence_lies_between_its_limits_and_sums_to_k(n, k, seed):
    graph, k = random_graph(n, seed=seed), min(n, k)
    coherence = local_coherence(graph, k)
    assert coherence.sum() == pytest.approx(k)
    assert np.all(coherence <= 1 + 1e-9)
    assert np.sqrt(k) - 1e-9 <= cumulative_coherence(graph, k) <= np.sqrt(n) + 1e-9


@pytest.mark.parametrize("kind", ["combinatorial", "normalized"])
def test_the_estimate_agrees_with_the_eigenvectors(kind):
    rng = np.random.default_rng(0)
    points = np.vstack([rng.standard_normal((400, 2)) + centre for centre in ([0, 0], [40, 0], [0, 40])])
    graph = knn_graph(np.vstack([points, 4 * rng.standard_normal((150, 2)) + 80]), 8)
    exact = local_coherence(graph, 4, method="exact", kind=kind)
    estimate = local_coherence(graph, 4, method="estimate", kind=kind, n_vectors=400, random_state=0)
    assert estimate.sum() == pytest.approx(4)
    assert np.corrcoef(exact, estimate)[0, 1] > 0.98
    assert np.abs(estimate - exact).mean() < 0.1 * exact.mean()


def test_auto_estimates_where_eigenvectors_do_not_converge(monkeypatch):
    hasty = partial(lowest_eigenpairs, dense_up_to=0, factorized_up_to=0, max_restarts=1)
    monkeypatch.setattr("graphlowrank.sampling.coherence.lowest_eigenpairs", hasty)
    graph = grid_graph((40, 40))
    with pytest.raises(RuntimeError, match="did not converge, as on long paths"):
        local_coherence(graph, 8, method="exact")
    assert local_coherence(graph, 8, random_state=0).sum() == pytest.approx(8)


def test_more_vectors_make_a_better_estimate():
    graph = grid_graph((20, 20))
    exact = local_coherence(graph, 12, method="exact")
    errors = [
        np.mean(
            [
                (local_coherence(graph, 12, method="estimate", n_vectors=d, random_state=s) - exact) ** 2
                for s in range(5)
            ]
        )
        for d in (8, 200)
    ]
    assert errors[1] < 0.3 * errors[0]


@pytest.mark.parametrize("method", ["exact", "estimate"])
def test_every_component_must_be_in_the_band(method):
    with pytest.raises(ValueError, match="less than the 3 connected components"):
        local_coherence(disjoint(clique(5), clique(5), clique(5)), 2, method=method)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: local_coherence(clique(5), 2, method="magic"), "method must be"),
        (lambda: local_coherence(clique(5), 6), "k must be between 1 and 5"),
        (lambda: optimal_distribution(clique(5), 2, uniform_share=2), "uniform_share must be"),
        (lambda: required_samples(2, 4, 0, 0.1), "delta must lie between"),
        (lambda: required_samples(2, 4, 0.5, 1), "epsilon must lie between"),
        (lambda: promised_delta(2, 4, 10, 0), "epsilon must lie between"),
        (lambda: promised_delta(2, 4, 0, 0.1), "n_drawn must be positive"),
        (lambda: required_samples(2, 0, 0.5, 0.1), "k and nu must be positive"),
        (lambda: draw(clique(5), 2, distribution=np.ones(4)), "must hold 5 finite numbers"),
        (lambda: draw(clique(5), 2, distribution=-np.ones(5)), "finite numbers >= 0"),
        (lambda: draw(clique(5), 2, distribution=np.eye(5)[0]), "only 1 nodes be drawn"),
    ],
)
def test_bad_input_is_named(call, text):
    with pytest.raises(ValueError, match=text):
        call()


# --- distributions and draws -----------------------------------------------------------------------------------


def test_optimal_distribution_is_the_local_coherence():
    graph = disjoint(clique(30), clique(3))
    distribution = optimal_distribution(graph, 2)
    assert_allclose(distribution, local_coherence(graph, 2) / 2)
    mixed = optimal_distribution(graph, 2, uniform_share=0.2)
    assert mixed.sum() == pytest.approx(1)
    assert_allclose(mixed, 0.8 * distribution + 0.2 / 33)


@given(shares=st.lists(st.floats(0.001, 1e3), min_size=1, max_size=30), size=st.integers(1, 30))
@settings(max_examples=200, deadline=None)
def test_inclusion_probabilities_are_capped_shares(shares, size):
    shares = np.array(shares) / np.sum(shares)
    size = min(size, len(shares))
    chances = inclusion_probabilities(shares, size)
    assert chances.sum() == pytest.approx(size)
    assert np.all(chances <= 1)
    free = chances < 1 - 1e-9
    if free.any():  # below the cap they are in proportion, and no capped node has less than that proportion asks for
        ratio = chances[free] / shares[free]
        assert_allclose(ratio, ratio[0], rtol=1e-6)
        assert np.all(shares[~free] * ratio[0] >= 1 - 1e-6)


def test_nodes_are_drawn_as_often_as_they_should():
    distribution = np.array([0.6, 0.2, 0.1, 0.05, 0.05])
    counts = np.zeros(5)
    for seed in range(4000):
        kept = draw(5, 2, distribution=distribution, random_state=seed)
        assert len(kept) == len(set(kept)) == 2
        counts[kept] += 1
    assert_allclose(counts / 4000, inclusion_probabilities(distribution, 2), atol=0.04)
    assert counts[0] == 4000


def test_importance_weights_make_sums_fair():
    rng = np.random.default_rng(0)
    distribution = rng.random(40) ** 2
    distribution /= distribution.sum()
    x = rng.standard_normal(40)
    sums = []
    for seed in range(4000):
        kept = draw(40, 10, distribution=distribution, random_state=seed)
        sums.append(40 / 10 * importance_weights(kept, distribution, 10) @ x[kept] ** 2)
    assert np.mean(sums) == pytest.approx(x @ x, abs=5 * np.std(sums) / np.sqrt(4000))


def test_weights_stay_fair_where_nodes_were_added():
    """A big component and thirty pairs, of which a draw of ten misses most: each gets a node on top."""
    graph = disjoint(clique(100), *[clique(2)] * 30)
    distribution = np.full(160, 1 / 160)
    kept = draw(graph, 10, distribution=distribution, random_state=0)
    assert len(kept) > 20
    weights = importance_weights(kept, distribution, 10)
    assert_allclose(160 / len(kept) * weights, 16)  # each stands for 16 nodes, as it would had none been added


def test_uniform_distribution_has_weights_one():
    kept = draw(12, 5, distribution=np.full(12, 1 / 12), random_state=0)
    assert_allclose(importance_weights(kept, np.full(12, 1 / 12), 5), 1)


def test_optimal_draws_always_hold_an_isolated_node():
    graph = disjoint(clique(60), ISOLATED)
    distribution = optimal_distribution(graph, 2, uniform_share=0.1)
    for seed in range(20):
        kept = draw(graph, 4, distribution=distribution, random_state=seed)
        assert len(kept) == 4  # none had to be added
        assert 60 in kept


# --- how many, and what that promises --------------------------------------------------------------------------


def test_sizes_are_the_theorems():
    assert required_samples(3.0, 4, 0.5, 0.1) == int(np.ceil(27 / 0.25 * 9 * np.log(160)))
    assert required_samples(3.0, 4, 0.5, 0.1, joint=False) == int(np.ceil(3 / 0.25 * 9 * np.log(80)))


@given(nu=st.floats(1, 30), k=st.integers(1, 50), delta=st.floats(0.05, 0.95), epsilon=st.floats(0.01, 0.5))
@settings(max_examples=50, deadline=None)
def test_promised_delta_is_the_inverse(nu, k, delta, epsilon):
    for joint in (True, False):
        n = required_samples(nu, k, delta, epsilon, joint=joint)
        assert promised_delta(nu, k, n, epsilon, joint=joint) <= delta + 1e-9
        assert promised_delta(nu, k, n - 1, epsilon, joint=joint) > delta - 1e-6 or n == 1


@given(seed=st.integers(0, 999), k=st.integers(1, 4))
@settings(max_examples=30, deadline=None)
def test_the_exact_isometry_contains_every_member(seed, k):
    samples, features = random_graph(20, seed=seed, spread=0.5), random_graph(14, seed=seed + 1, spread=0.5)
    Q, P = lowest_eigenpairs(samples, k)[1], lowest_eigenpairs(features, k)[1]
    rows, columns = draw(samples, 9, random_state=seed), draw(features, 8, random_state=seed)
    exact = joint_isometry(isometry(Q, rows), isometry(P, columns))
    seen = empirical_rip(Q, P, rows, columns, n_members=30, random_state=seed)
    assert exact.lower - 1e-9 <= seen.lower <= seen.upper <= exact.upper + 1e-9
    Y = Q @ np.random.default_rng(seed).standard_normal((k, k)) @ P.T
    ratio = 20 * 14 / 72 * np.sum(Y[np.ix_(rows, columns)] ** 2) / np.sum(Y**2)
    assert exact.lower - 1e-9 <= ratio <= exact.upper + 1e-9


def test_keeping_everything_is_an_isometry():
    Q = lowest_eigenpairs(path_graph(30), 5)[1]
    assert isometry(Q, np.arange(30)).delta == pytest.approx(0, abs=1e-12)
    assert empirical_rip(Q, Q, np.arange(30), np.arange(30), random_state=0).delta == pytest.approx(0, abs=1e-12)
    doubled = empirical_rip(Q, Q, np.arange(30), np.arange(30), weights=(np.full(30, 2.0), None), random_state=0)
    assert (doubled.lower, doubled.upper) == (pytest.approx(2), pytest.approx(2))


def failure_rate(Q, size, delta, n_draws=300, *, distribution=None):
    failures = 0
    for seed in range(n_draws):
        kept = draw(len(Q), size, distribution=distribution, random_state=seed)
        weights = None if distribution is None else importance_weights(kept, distribution, size)
        failures += isometry(Q, kept, weights).delta > delta
    return failures / n_draws


def test_theorem_1_holds_at_its_bound_and_not_far_below():
    delta, epsilon, k = 0.9, 0.3, 3
    Q, P = lowest_eigenpairs(ring(800), k)[1], lowest_eigenpairs(ring(601), k)[1]
    size = required_samples(np.sqrt(k), k, delta, epsilon)
    assert size < 601
    failures = sum(
        joint_isometry(
            isometry(Q, draw(800, size, random_state=seed)), isometry(P, draw(601, size, random_state=seed + 1000))
        ).delta > delta
        for seed in range(200)
    )  # fmt: skip
    assert failures / 200 <= epsilon
    assert failure_rate(Q, 4, delta) > epsilon  # the test can fail: four samples are not enough


def test_the_bound_for_one_graph_holds_and_not_far_below():
    delta, epsilon, k = 0.5, 0.2, 5
    Q = lowest_eigenpairs(ring(900), k)[1]
    size = required_samples(np.sqrt(k), k, delta, epsilon, joint=False)
    assert size < 900
    assert failure_rate(Q, size, delta) <= epsilon
    assert failure_rate(Q, 8, delta) > epsilon


def test_optimal_draws_meet_the_bound_where_uniform_ones_fail():
    """A large and a tiny group: nu is large, so uniform draws miss what optimal ones cannot."""
    graph = disjoint(ring(1500), ring(6))
    Q = lowest_eigenpairs(graph, 4)[1]
    delta, epsilon = 0.6, 0.2
    size = required_samples(2.0, 4, delta, epsilon, joint=False)  # sqrt(k): what the optimal distribution needs
    assert size < 150
    assert failure_rate(Q, size, delta, distribution=optimal_distribution(graph, 4)) <= epsilon
    assert failure_rate(Q, size, delta) > 0.5


def test_draws_by_a_distribution_repeat():
    distribution = optimal_distribution(path_graph(50), 4)
    a, b = (draw(path_graph(50), 10, distribution=distribution, random_state=7) for _ in range(2))
    assert_array_equal(a, b)
