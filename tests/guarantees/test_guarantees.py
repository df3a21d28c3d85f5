"""Measured errors never exceed the theorems' bounds; the diagnosis says what is so."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from graphlowrank import CompressiveClustering, CompressivePCA
from graphlowrank.datasets import make_low_rank_on_graphs
from graphlowrank.decoders import alternate_matrix, decode_subspace, fit_bandlimited, fit_smooth, upsample
from graphlowrank.graphs import Graph, lowest_eigenpairs, path_graph
from graphlowrank.guarantees import (
    alternate_bound,
    amplification,
    approximate_bound,
    diagnose,
    ideal_bound,
    label_bound,
    subspace_bound,
    subspace_matrix_bound,
)
from graphlowrank.metrics.recovery import energy_share
from graphlowrank.sampling import SampledNodes, draw, isometry, joint_isometry, required_samples
from helpers import disjoint, random_graph


class OneSide:
    """A graph, its first k eigenvectors, a draw, and the constants that the theorems speak of."""

    def __init__(self, n, k, m, seed, *, weighted=False):
        rng = np.random.default_rng(seed)
        self.graph = random_graph(n, 0.25, seed, spread=1.0)
        values, vectors = np.linalg.eigh(self.graph.unit_laplacian().toarray())
        values = np.maximum(values, 0.0)
        self.basis, self.eigenvalue, self.next_eigenvalue = vectors[:, :k], values[k - 1], values[k]
        self.gap = self.eigenvalue / self.next_eigenvalue
        self.keep = draw(self.graph, m, random_state=seed)
        self.weights = rng.uniform(0.3, 2, m) if weighted else None
        self.root = np.ones(m) if self.weights is None else np.sqrt(self.weights)
        self.max_weight = float(self.root.max() ** 2)
        self.isometry = isometry(self.basis, self.keep, self.weights)
        self.amplify = amplification(n, m, self.isometry.delta_below)
        self.side = SampledNodes(self.graph, self.keep, self.weights)


def sides(seed, *, weighted=False):
    return OneSide(30, 3, 16, seed, weighted=weighted), OneSide(22, 2, 12, seed + 500, weighted=weighted)


norm = np.linalg.norm


# --- theorems --------------------------------------------------------------------------------------------------


@given(seed=st.integers(0, 9999), noise=st.floats(0, 2), weighted=st.booleans())
@settings(max_examples=60, deadline=None)
def test_theorem_2_bounds_the_ideal_decoder(seed, noise, weighted):
    c, r = sides(seed, weighted=weighted)
    rng = np.random.default_rng(seed)
    X = c.basis @ rng.standard_normal((3, 2)) @ r.basis.T
    E = noise * rng.standard_normal((16, 12))
    X_small = X[np.ix_(c.keep, r.keep)] + E
    half = fit_bandlimited(c.side, X_small, basis=c.basis).X
    found = fit_bandlimited(r.side, half.T, basis=r.basis).X.T
    delta = joint_isometry(c.isometry, r.isometry).delta_below
    assume(delta < 1 - 1e-9)
    bound = ideal_bound(norm(c.root[:, None] * E * r.root), amplification(30 * 22, 16 * 12, delta))
    assert norm(found - X) <= bound / 2 + 1e-6  # half of the printed bound holds, as the docstring says


@given(seed=st.integers(0, 9999), noise=st.floats(0, 1), gamma=st.floats(1e-3, 1e2), weighted=st.booleans())
@settings(max_examples=60, deadline=None)
def test_theorem_3_bounds_the_alternate_decoder(seed, noise, gamma, weighted):
    c, r = sides(seed, weighted=weighted)
    rng = np.random.default_rng(seed)
    X = c.basis @ rng.standard_normal((3, 2)) @ r.basis.T
    E = noise * rng.standard_normal((16, 12))
    found = alternate_matrix(
        X[np.ix_(c.keep, r.keep)] + E, c.side, r.side, tol=1e-9,
        gamma_samples=gamma / c.next_eigenvalue, gamma_features=gamma / r.next_eigenvalue,
    ).X  # fmt: skip
    inside = c.basis @ (c.basis.T @ found @ r.basis) @ r.basis.T
    delta = joint_isometry(c.isometry, r.isometry).delta_below
    assume(delta < 1 - 1e-9)
    bound = alternate_bound(
        norm(c.root[:, None] * E * r.root), norm(X), amplification(30 * 22, 16 * 12, delta), gamma=gamma,
        gap_samples=c.gap, gap_features=r.gap, max_weight=c.max_weight * r.max_weight,
    )  # fmt: skip
    assert norm(inside - X) <= bound.inside + 1e-5
    assert norm(found - inside) <= bound.outside + 1e-5
    assert norm(found - X) <= bound.total + 1e-5


@given(seed=st.integers(0, 9999), noise=st.floats(0, 1), gamma=st.floats(1e-3, 1e2), weighted=st.booleans())
@settings(max_examples=60, deadline=None)
def test_theorem_4_bounds_the_approximate_decoder(seed, noise, gamma, weighted):
    c, _ = sides(seed, weighted=weighted)
    rng = np.random.default_rng(seed)
    U = c.basis @ rng.standard_normal((3, 4))
    E = noise * rng.standard_normal((16, 4))
    found = fit_smooth(c.side, U[c.keep] + E, gamma=gamma).X
    inside = c.basis @ (c.basis.T @ found)
    bound = approximate_bound(
        norm(c.root[:, None] * E), norm(U), c.amplify, gamma=gamma, eigenvalue=c.eigenvalue,
        next_eigenvalue=c.next_eigenvalue, max_weight=c.max_weight,
    )  # fmt: skip
    assert norm(inside - U) <= bound.inside + 1e-6
    assert norm(found - inside) <= bound.outside + 1e-6


@given(seed=st.integers(0, 9999), weighted=st.booleans())
@settings(max_examples=60, deadline=None)
def test_theorems_5_and_6_bound_upsampling(seed, weighted):
    c, _ = sides(seed, weighted=weighted)
    U = c.basis @ np.random.default_rng(seed).standard_normal((3, 4))
    found = upsample(c.graph, c.keep, U[c.keep], tol=1e-10).X
    inside = c.basis @ (c.basis.T @ found)
    bound = subspace_bound(norm(U), c.amplify, gap=c.gap, max_weight=c.max_weight)
    assert norm(inside - U) <= bound.inside + 1e-7
    assert norm(found - inside) <= bound.outside + 1e-7
    for column in range(4):
        label = label_bound(norm(U[:, column]), c.amplify, gap=c.gap, max_weight=c.max_weight)
        assert norm(inside[:, column] - U[:, column]) <= label.inside + 1e-7
        assert norm((found - inside)[:, column]) <= label.outside + 1e-7


@given(seed=st.integers(0, 9999))
@settings(max_examples=40, deadline=None)
def test_the_matrix_bound_holds(seed):
    c, r = sides(seed)
    X = c.basis @ np.random.default_rng(seed).standard_normal((3, 2)) @ r.basis.T
    found = decode_subspace(X[np.ix_(c.keep, r.keep)], c.side, r.side, n_components=2).low_rank.to_array()
    bounds = [subspace_bound(1.0, side.amplify, gap=side.gap) for side in (c, r)]
    assert norm(found - X) <= subspace_matrix_bound(*bounds) * norm(X) + 1e-5


def test_bounds_are_the_printed_formulas():
    bound = alternate_bound(2.0, 3.0, 5.0, gamma=0.5, gap_samples=0.04, gap_features=0.05)
    assert bound.inside == pytest.approx(5 * ((2 + 1) * 2 + (1 / np.sqrt(2) + np.sqrt(0.5)) * 0.3 * 3))
    assert bound.outside == pytest.approx(2 + 0.3 * 3 / np.sqrt(2))
    bound = approximate_bound(2.0, 3.0, 5.0, gamma=0.5, eigenvalue=0.02, next_eigenvalue=2.0)
    assert bound.inside == pytest.approx(np.sqrt(2) * 5 * ((2 + 1) * 2 + (0.1 + 0.1) * 3))
    assert bound.outside == pytest.approx(np.sqrt(2) * (2 + 0.1 * 3))
    assert subspace_bound(3.0, 5.0, gap=0.02).inside == pytest.approx(0.2 * 5 * 3)
    assert label_bound(3.0, 5.0, gap=0.01).inside == pytest.approx(0.1 * 5 * 3)
    assert ideal_bound(2.0, 5.0) == 20.0
    assert amplification(100, 25, 0.75) == pytest.approx(4.0)
    assert amplification(100, 25, 1.0) == np.inf
    blind = np.inf  # no promise, and no promise times nothing is still none
    assert ideal_bound(0.0, blind) == subspace_bound(1.0, blind, gap=0.0).total == label_bound(1, blind, gap=0).total
    assert approximate_bound(0, 0, blind, gamma=1, eigenvalue=0, next_eigenvalue=1).inside == np.inf
    assert alternate_bound(0, 0, blind, gamma=1, gap_samples=0, gap_features=0).inside == np.inf
    for call in (
        lambda: amplification(10, 0, 0.1),
        lambda: alternate_bound(1, 1, 1, gamma=0, gap_samples=0, gap_features=0),
        lambda: approximate_bound(1, 1, 1, gamma=1, eigenvalue=0, next_eigenvalue=0),
    ):
        with pytest.raises(ValueError, match="must be positive"):
            call()


# --- diagnosis -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def clusters():
    return make_low_rank_on_graphs(300, 90, rank=3, random_state=0)


def given_graphs(data):
    return {"sample_graph": data.sample_graph, "feature_graph": data.feature_graph}


def test_ideal_data_get_a_clean_bill(clusters):
    found = diagnose(clusters.X, k=3, downsampling=(4, 2), random_state=0, **given_graphs(clusters))
    for side in (found.samples, found.features):
        assert side.gap == pytest.approx(0, abs=1e-9)
        assert side.energy == pytest.approx(1)
        assert side.nu == pytest.approx(np.sqrt(3), rel=0.01)
        assert side.isometry.delta < 0.6
    assert found.bound < 1e-3
    assert found.advice == ["Nothing stands out: the data are low-rank on the graphs and the draw is good."]
    assert (found.samples.n_drawn, found.features.n_drawn) == (75, 45)


def test_noise_is_not_low_rank_on_any_graph(clusters):
    noise = np.random.default_rng(0).standard_normal(clusters.X.shape)
    found = diagnose(noise, k=3, downsampling=(4, 2), random_state=0, **given_graphs(clusters))
    assert found.samples.energy < 0.05
    assert any("not low-rank on it" in sentence for sentence in found.advice)


def test_an_outlying_node_is_reported_unless_sampling_is_optimal():
    graph = disjoint(random_graph(200, 0.1, spread=0.2), path_graph(2))
    options = {"k": 2, "sample_graph": graph, "feature_graph": None, "downsampling": (5, 1), "random_state": 0}
    X = np.random.default_rng(0).standard_normal((202, 4))
    uniform, optimal = diagnose(X, **options), diagnose(X, sampling="optimal", **options)
    assert uniform.features is None
    assert any("sampling='optimal' always keeps them" in sentence for sentence in uniform.advice)
    assert not any("sampling='optimal'" in sentence for sentence in optimal.advice)
    assert "more than all" in str(uniform)
    # What the optimal draw needs does not depend on how uneven the graph is: Theorem 1 with nu^2 = k / 0.9.
    assert optimal.samples.n_required == required_samples((2 / 0.9) ** 0.5, 2, 0.5, 0.1, joint=False)


@pytest.mark.parametrize("sampling", ["uniform", "optimal"])
def test_amplification_bounds_the_ideal_decoder(sampling):
    """The largest growth of any error by the ideal decoder is the norm of a matrix; the diagnosis is not below it."""
    graph = random_graph(40, 0.2, seed=3, spread=1.0)
    model = CompressivePCA(
        3, sample_graph=graph, feature_graph=None, downsampling=(3, 1), sampling=sampling, random_state=1
    ).fit(np.random.default_rng(0).standard_normal((40, 5)))
    basis = lowest_eigenpairs(graph, 3)[1]
    side = SampledNodes(graph, model.sample_indices_, model.sample_weights_)
    decoder = fit_bandlimited(side, np.eye(len(model.sample_indices_)), basis=basis).X
    found = diagnose(model)
    assert norm(decoder, 2) <= found.amplification * (1 + 1e-9)
    assert found.amplification <= 6 * norm(decoder, 2)


def test_every_component_is_looked_at():
    rng = np.random.default_rng(0)
    y = np.arange(240) % 12
    X = 20 * np.eye(12)[y] @ rng.standard_normal((12, 30)) + 0.01 * rng.standard_normal((240, 30))
    model = CompressivePCA(2, downsampling=(2, 1), random_state=0).fit(X)
    found = diagnose(model, X)
    assert model.sample_graph_.n_components == found.samples.k == 12
    assert found.samples.gap == pytest.approx(0, abs=1e-9)
    assert found.samples.energy > 0.99


def test_advice_fits_the_model(blobs):
    noise = np.random.default_rng(0).standard_normal((150, 12))
    matrix = diagnose(noise, k=5, downsampling=(3, 1), random_state=0)
    labels = diagnose(CompressiveClustering(5, downsampling=(3, 1), random_state=0).fit(noise), noise)
    assert any("decoder_options" in sentence for sentence in matrix.advice)
    assert not any("decoder" in sentence for sentence in labels.advice)
    two = diagnose(noise[:, :2], k=5, downsampling=(3, 1), random_state=0)
    assert not any("raise k" in sentence and "feature" in sentence for sentence in two.advice)


def test_a_blind_draw_is_reported():
    graph = path_graph(100)
    found = diagnose(
        np.random.default_rng(0).standard_normal((100, 4)), k=6, sample_graph=graph, feature_graph=None,
        sampling=(np.arange(6), None),
    )  # fmt: skip
    assert found.isometry.lower < 1e-3
    assert any("nearly vanish" in sentence for sentence in found.advice)
    assert found.amplification > 100
    assert "guarantees nothing" in str(found)


def test_a_fitted_model_is_diagnosed_on_its_own_graphs_and_draw(clusters):
    model = CompressivePCA(3, downsampling=(4, 2), random_state=0, **given_graphs(clusters)).fit(clusters.X)
    found = diagnose(model, clusters.X)
    assert found.samples.k == 3
    assert found.samples.n_drawn == len(model.sample_indices_)
    basis = lowest_eigenpairs(model.sample_graph_, 3)[1]
    assert_allclose(found.samples.isometry.delta, isometry(basis, model.sample_indices_).delta, atol=1e-9)
    assert diagnose(model).samples.energy is None
    assert "unknown" in str(diagnose(model))
    labels = CompressiveClustering(3, sampling="optimal", downsampling=(4, 1), random_state=0).fit(clusters.X)
    assert diagnose(labels).samples.k == 3


def test_the_printed_table_is_aligned(clusters):
    lines = str(diagnose(clusters.X, k=3, downsampling=(4, 2), random_state=0, **given_graphs(clusters))).splitlines()
    column = lines[0].index("samples")
    assert all(line[column - 1] == " " and line[column] != " " for line in lines[:9])


def test_bad_requests_are_named(clusters):
    with pytest.raises(ValueError, match="fit the model first"):
        diagnose(CompressivePCA(3))
    for k in (0, -1, 2.5, "a", True):
        with pytest.raises(ValueError, match="k must be a positive integer"):
            diagnose(clusters.X, k=k)
    with pytest.raises(ValueError, match="neither side has a graph"):
        diagnose(clusters.X, sample_graph=None, feature_graph=None)
    with pytest.raises(ValueError, match="leaves no way to decode the samples"):
        diagnose(clusters.X, sample_graph=None, downsampling=(10, 1))
    model = CompressivePCA(3, random_state=0, **given_graphs(clusters)).fit(clusters.X)
    with pytest.raises(ValueError, match="has its own options; got downsampling"):
        diagnose(model, downsampling=(2, 2))
    with pytest.raises(ValueError, match="data has 4 features"):
        diagnose(model, clusters.X[:, :4])
    with pytest.raises(ValueError, match="data has 100 samples"):
        diagnose(model, clusters.X[:100])
    assert diagnose(clusters.X, n_components=3, **given_graphs(clusters)).samples.k == 3
    with pytest.raises(ValueError, match="NaN"):
        diagnose(np.full((20, 3), np.nan))


def test_energy_share_is_a_share():
    basis = np.linalg.qr(np.random.default_rng(0).standard_normal((20, 4)))[0]
    assert energy_share(basis, basis @ np.ones((4, 3))) == pytest.approx(1)
    assert energy_share(basis, np.eye(20)) == pytest.approx(4 / 20)
    assert energy_share(basis, np.zeros((20, 2))) == 1.0


def test_graph_scale_does_not_matter(clusters):
    scaled = Graph(clusters.sample_graph.weights * 1000.0)
    options = {"k": 3, "downsampling": (4, 2), "random_state": 0, "feature_graph": clusters.feature_graph}
    a = diagnose(clusters.X, sample_graph=clusters.sample_graph, **options)
    b = diagnose(clusters.X, sample_graph=scaled, **options)
    assert a.samples.next_eigenvalue == pytest.approx(b.samples.next_eigenvalue)
