"""The estimators as published have the answers of the literal algorithms, on the same graphs and draws."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_digits

from graphlowrank import CompressiveClustering, CompressivePCA, paper
from graphlowrank.graphs import knn_graph
from helpers import random_graph

KINDS = st.sampled_from(["combinatorial", "normalized"])
GAMMAS = st.sampled_from([0.0, 0.01, 0.3, 2.0, 30.0])


def draw_problem(n, p, share, seed):
    """Low-rank data with a mean and noise, two graphs, and kept indices, for the twin and the estimator."""
    rng = np.random.default_rng(seed)
    Y = 3 + rng.standard_normal((p, 2)) @ rng.standard_normal((2, n)) + 0.1 * rng.standard_normal((p, n))
    graphs = random_graph(n, seed=seed, spread=0.5), random_graph(p, seed=seed + 1, spread=0.5)
    kept = paper.sample(n, max(2, round(share * n)), seed), paper.sample(p, max(2, round(share * p)), seed)
    return Y, graphs, kept


def given_parts(graphs, kept, kind, **options):
    return {
        "sample_graph": graphs[0], "feature_graph": graphs[1], "sampling": kept, "laplacian": kind,
        "downsampling": (1, 1), "random_state": 0, **options,
    }  # fmt: skip


def literal_parts(graphs, kind):
    return [paper.laplacian(graph.weights, normalized=kind == "normalized") for graph in graphs]


problems = given(
    n=st.integers(12, 90), p=st.integers(5, 70), share=st.sampled_from([0.3, 0.6, 1.0]), seed=st.integers(0, 9999),
    gamma_c=GAMMAS, gamma_r=GAMMAS, kind=KINDS,
)  # fmt: skip


@problems
@settings(max_examples=60, deadline=None)
@pytest.mark.filterwarnings("ignore:only:UserWarning", "ignore::graphlowrank.exceptions.WeakClustersWarning")
def test_recovery_is_that_of_the_literal_algorithms(n, p, share, seed, gamma_c, gamma_r, kind):
    Y, graphs, kept = draw_problem(n, p, share, seed)
    L_c, L_r = literal_parts(graphs, kind)
    X_small = paper.compress(Y, L_r, L_c, kept[1], kept[0], gamma_r, gamma_c)
    values = np.linalg.svd(X_small, compute_uv=False) / np.linalg.norm(X_small, 2)
    gaps = np.diff(values[values > 0.05])
    if np.abs(values - 0.1).min() < 1e-6 or (np.abs(gaps) < 1e-4).any():
        return  # the rank, or the vectors of equal values, depend on rounding
    X = paper.decode(X_small, L_r, L_c, kept[1], kept[0], delta=0.1)
    model = CompressivePCA.as_published(
        gamma_samples=gamma_c, gamma_features=gamma_r, delta=0.1, **given_parts(graphs, kept, kind)
    ).fit(Y.T)
    assert_allclose(model.low_rank_.to_array().T, X, rtol=0, atol=1e-7 * np.abs(X).max())
    assert_array_equal(model.offset_, 0)
    assert model.scale_ == 1


@problems
@settings(max_examples=60, deadline=None)
@pytest.mark.filterwarnings("ignore:only:UserWarning", "ignore::graphlowrank.exceptions.WeakClustersWarning")
def test_labels_are_those_of_the_literal_algorithms(n, p, share, seed, gamma_c, gamma_r, kind):
    Y, graphs, kept = draw_problem(n, p, max(share, 0.4), seed)
    L_c, L_r = literal_parts(graphs, kind)
    X_small = paper.compress(Y, L_r, L_c, kept[1], kept[0], gamma_r, gamma_c)
    if np.ptp(X_small, axis=1).max() < 1e-6 * np.abs(X_small).max():
        return  # all samples are the same
    literal = paper.decode_labels(X_small, L_c, kept[0], 3, random_state=0)
    model = CompressiveClustering.as_published(
        3, gamma_samples=gamma_c, gamma_features=gamma_r, **given_parts(graphs, kept, kind)
    ).fit(Y.T)
    top = np.sort(model.soft_labels_, axis=1)
    clear = top[:, -1] - top[:, -2] > 1e-6  # no tie
    assert clear.mean() > 0.8
    # Starts of k-means with the same inertia, up to rounding, number the clusters differently.
    pairs = set(zip(model.labels_[clear], literal[clear], strict=True))
    assert len(pairs) == len({one for one, _ in pairs}) == len({other for _, other in pairs})


@pytest.mark.parametrize("kind", ["combinatorial", "normalized"])
def test_digits_with_their_own_graphs(kind):
    """Graphs are built from the data as printed, not given."""
    rng = np.random.RandomState(0)
    Y = (load_digits().data[:300] / 16).T + 0.01 * rng.standard_normal((64, 300))  # no equal distances
    kept = paper.sample(300, 150, rng), paper.sample(64, 32, rng)
    L_c, L_r = (paper.laplacian(paper.weights(A, 10), normalized=kind == "normalized") for A in (Y.T, Y))
    options = {"sampling": kept, "downsampling": (1, 1), "laplacian": kind, "random_state": 0}
    model = CompressivePCA.as_published(gamma_samples=2.0, gamma_features=0.5, **options).fit(Y.T)
    X_small = paper.compress(Y, L_r, L_c, kept[1], kept[0], 0.5, 2.0)
    expected = paper.decode(X_small, L_r, L_c, kept[1], kept[0])
    assert_allclose(model.low_rank_.to_array().T, expected, rtol=0, atol=1e-6 * np.abs(expected).max())
    clusters = CompressiveClustering.as_published(10, gamma_samples=2.0, gamma_features=0.5, **options).fit(Y.T)
    literal = paper.decode_labels(X_small, L_c, kept[0], 10, random_state=0)
    assert np.mean(clusters.labels_ == literal) > 0.99


def test_drawn_sizes_are_those_of_the_paper():
    X = load_digits().data[:200] / 16
    model = CompressivePCA.as_published(gamma_samples=1, gamma_features=1, downsampling=(4, 2), random_state=0).fit(X)
    assert (len(model.sample_indices_), len(model.feature_indices_)) == (50, 32)


def test_edge_weights_are_the_printed_ones(rng):
    X = rng.standard_normal((80, 4))
    assert_allclose(knn_graph(X, 6, bandwidth="published").weights.toarray(), paper.weights(X, 6).toarray(), rtol=1e-9)
    with pytest.raises(ValueError, match="edge weights vanish"):
        knn_graph(1e4 * X, 6, bandwidth="published")


def test_gammas_of_the_default_from_those_of_the_paper():
    """Units of data and Laplacians change the gammas by known factors, and nothing else."""
    Y, graphs, _ = draw_problem(40, 20, 1.0, 0)
    L_c, L_r = (L.toarray() for L in literal_parts(graphs, "combinatorial"))
    scale, of_c, of_r = 7.0, L_c.diagonal().mean(), L_r.diagonal().mean()
    ours = paper.frpcag(Y / scale, L_r / of_r, L_c / of_c, 0.2 * scale * of_r, 0.5 * scale * of_c)
    assert_allclose(scale * ours, paper.frpcag(Y, L_r, L_c, 0.2, 0.5), atol=1e-10)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"gamma_samples": "auto"}, "needs gamma_samples and gamma_features"),
        ({"reduction": "random_walk"}, "needs reduction='exact'"),
        ({"solver": "rpca", "reduction": "exact"}, "needs solver='frpcag'"),
        ({"decoder": "robust", "decoder_options": None}, "needs decoder='subspace'"),
        ({"sampling": "optimal"}, "draws uniformly"),
    ],
)
def test_what_the_paper_does_not_have_is_refused(changed, message, rng):
    model = CompressivePCA.as_published(gamma_samples=1, gamma_features=1, downsampling=(1, 1))
    with pytest.raises(ValueError, match=message):
        clone(model).set_params(**changed).fit(rng.standard_normal((30, 4)))


def test_the_matrix_itself_is_for_k_means_only(rng):
    with pytest.raises(ValueError, match="scores='matrix' needs partition='k-means'"):
        CompressiveClustering(2, scores="matrix").fit(rng.standard_normal((30, 4)))
