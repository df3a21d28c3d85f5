"""Each score against its definition, its limits, and what must not change it."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from graphlowrank.graphs import Graph, lowest_eigenpairs, path_graph
from graphlowrank.metrics import (
    adjusted_rand_index,
    approximate_rank,
    best_f1,
    clustering_error,
    graph_alignment,
    mask_scores,
    modularity,
    normalized_mutual_information,
    psnr,
    recovery_error,
    ssim,
)
from helpers import disjoint, matrices, random_graph

seeds = st.integers(0, 2**32 - 1)
quick = settings(max_examples=80, deadline=None)


# --- clusters -----------------------------------------------------------------------------------------------------

CLUSTER_SCORES = [clustering_error, normalized_mutual_information, adjusted_rand_index]
labels_of_two = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=12)


@given(pairs=labels_of_two)
@quick
def test_clustering_error_is_the_best_relabelling(pairs):
    truth, found = (np.array(side) for side in zip(*pairs, strict=True))
    best = min(np.mean(np.array(names)[found] != truth) for names in itertools.permutations(range(5)))
    assert clustering_error(truth, found) == pytest.approx(best)


def test_more_clusters_than_classes_and_any_names():
    assert clustering_error(["a", "a", "b", "b"], [7, 8, 9, 9]) == 0.25


@pytest.mark.parametrize("score", CLUSTER_SCORES)
@given(pairs=labels_of_two, names=st.permutations(range(5)), seed=seeds)
@quick
def test_names_and_order_do_not_matter(score, pairs, names, seed):
    truth, found = (np.array(side) for side in zip(*pairs, strict=True))
    expected = score(truth, found)
    assert isinstance(expected, float)
    assert score(truth, np.array(names)[found]) == pytest.approx(expected)
    assert score(np.array(list("abcde"))[truth], found) == pytest.approx(expected)
    order = np.random.default_rng(seed).permutation(len(truth))
    assert score(truth[order], found[order]) == pytest.approx(expected)
    assert score(found, truth) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("score", "best", "low", "high"),
    [(clustering_error, 0, 0, 1), (normalized_mutual_information, 1, 0, 1), (adjusted_rand_index, 1, -1, 1)],
)
@given(pairs=labels_of_two)
@quick
def test_cluster_scores_stay_in_their_range(score, best, low, high, pairs):
    truth, found = (np.array(side) for side in zip(*pairs, strict=True))
    assert low - 1e-12 <= score(truth, found) <= high + 1e-12
    assert score(truth, truth) == pytest.approx(best)


def test_mutual_information_and_rand_index_by_their_definitions():
    truth, found = np.array([0, 0, 0, 1, 1, 2]), np.array([0, 0, 1, 1, 1, 1])
    joint = np.array([[2, 1], [0, 2], [0, 1]]) / 6

    def entropy(p):
        p = p[p > 0]
        return -np.sum(p * np.log(p))

    h_truth, h_found = entropy(joint.sum(axis=1)), entropy(joint.sum(axis=0))
    shared = h_truth + h_found - entropy(joint.ravel())
    assert normalized_mutual_information(truth, found) == pytest.approx(2 * shared / (h_truth + h_found))

    pairs = list(itertools.combinations(range(6), 2))
    in_truth = np.array([truth[i] == truth[j] for i, j in pairs])
    in_found = np.array([found[i] == found[j] for i, j in pairs])
    chance = in_truth.sum() * in_found.sum() / len(pairs)
    best = (in_truth.sum() + in_found.sum()) / 2
    assert adjusted_rand_index(truth, found) == pytest.approx(((in_truth & in_found).sum() - chance) / (best - chance))


@pytest.mark.parametrize("score", CLUSTER_SCORES)
def test_labels_must_be_as_many(score):
    with pytest.raises(ValueError, match=r"shapes differ: \(2,\) and \(3,\)"):
        score([0, 1], [0, 1, 2])
    with pytest.raises(ValueError, match="nothing to compare"):
        score([], [])


def test_modularity_is_the_double_sum():
    rng = np.random.default_rng(0)
    W = rng.random((9, 9))
    W = np.triu(W, 1) + np.triu(W, 1).T
    labels = rng.integers(0, 3, 9)
    d, total = W.sum(axis=1), W.sum()
    pairs = [(i, j) for i in range(9) for j in range(9) if labels[i] == labels[j]]
    assert modularity(W, labels) == pytest.approx(sum(W[i, j] - d[i] * d[j] / total for i, j in pairs) / total)
    assert modularity(np.zeros((3, 3)), [0, 1, 2]) == 0


# --- matrices -----------------------------------------------------------------------------------------------------


@given(X=matrices(), factor=st.floats(0.01, 100), error=st.floats(0, 3))
@quick
def test_recovery_error_is_relative(X, factor, error):
    assert recovery_error(X, (1 + error) * X) == pytest.approx(error)
    assert recovery_error(factor * X, factor * (1 - error) * X) == pytest.approx(error)
    assert recovery_error(X.T, X.T) == 0
    assert recovery_error(X, np.zeros_like(X)) == pytest.approx(1)


def test_recovery_error_of_a_zero_matrix_and_of_bytes():
    assert recovery_error(np.zeros((2, 2)), np.zeros((2, 2))) == 0
    assert recovery_error(np.zeros((2, 2)), np.ones((2, 2))) == np.inf
    assert recovery_error(np.array([4], np.uint8), np.array([3], np.uint8)) == 0.25


@pytest.mark.parametrize("score", [recovery_error, psnr, ssim, mask_scores, best_f1])
def test_shapes_must_agree(score):
    with pytest.raises(ValueError, match=r"shapes differ: \(12, 12\) and \(12, 13\)"):
        score(np.ones((12, 12)), np.ones((12, 13)))
    with pytest.raises(ValueError, match="nothing to compare"):
        score(np.ones((0, 2)), np.ones((0, 2)))


@st.composite
def singular_values(draw):
    """Decreasing, first 1, none within rounding of a tenth."""
    values = draw(st.lists(st.floats(1e-6, 1).filter(lambda v: abs(v - 0.1) > 1e-6), max_size=5))
    return np.sort([1.0, *values])[::-1]


@given(values=singular_values(), seed=seeds, scale=st.floats(1e-3, 1e3))
@quick
def test_approximate_rank_counts_what_is_not_noise(values, seed, scale):
    rng = np.random.default_rng(seed)
    k = len(values)
    U, V = (np.linalg.qr(rng.standard_normal((k + extra, k)))[0] for extra in (4, 2))
    X = scale * (U * values) @ V.T
    assert approximate_rank(X) == np.sum(values > 0.1)
    assert approximate_rank(X.T) == np.sum(values > 0.1)
    assert approximate_rank(X, 1e-7) == k
    assert approximate_rank(X, 1e-300) == k  # rounding is no rank
    assert isinstance(approximate_rank(X), int)


def test_approximate_rank_on_the_edge_and_of_nothing():
    assert approximate_rank(np.diag([1.0, 0.5, 0.25]), 0.5) == 2
    assert approximate_rank(np.zeros((3, 4))) == 0
    for threshold in (0, -1, 1.5, float("nan")):
        with pytest.raises(ValueError, match="threshold must be above 0 and at most 1"):
            approximate_rank(np.eye(2), threshold)


@given(seed=seeds, k=st.integers(1, 12), scale=st.floats(0.01, 100))
@quick
def test_alignment_is_a_share_that_grows_with_k(seed, k, scale):
    rng = np.random.default_rng(seed)
    graph, X = random_graph(12, seed=seed), rng.standard_normal((12, 3))
    share = graph_alignment(X, graph, k)
    assert isinstance(share, float)
    assert 0 <= share <= 1
    assert graph_alignment(scale * X, graph, k) == pytest.approx(share)
    assert graph_alignment(X @ np.linalg.qr(rng.standard_normal((3, 3)))[0], graph, k) == pytest.approx(share)
    order = rng.permutation(12)
    renamed = Graph(graph.weights[order][:, order].tocsr())
    assert graph_alignment(X[order], renamed, k) == pytest.approx(share, abs=1e-6)
    assert graph_alignment(X, graph, 12) == pytest.approx(1)
    if k < 12:
        assert graph_alignment(X, graph, k + 1) >= share - 1e-12


def test_alignment_of_known_signals():
    graph = path_graph(20)
    P = lowest_eigenpairs(graph, 20)[1]
    assert graph_alignment(np.ones((20, 2)), graph, 1) == pytest.approx(1)
    assert graph_alignment(P[:, 5:], graph, 5) == pytest.approx(0, abs=1e-12)
    assert graph_alignment(3 * P[:, [0, 4]] + P[:, [9, 11]], graph.weights, 5) == pytest.approx(0.9)
    assert graph_alignment(np.zeros((20, 2)), graph, 3) == 1
    noise = np.random.default_rng(0).standard_normal((20, 4000))
    assert graph_alignment(noise, graph, 5) == pytest.approx(5 / 20, abs=0.01)
    # Not the normalized Laplacian: its first vector is not constant where degrees differ.
    assert graph_alignment(np.ones((12, 1)), random_graph(12), 1) == pytest.approx(1)


def test_alignment_with_pieces_is_that_of_their_means():
    graph = disjoint(random_graph(6, seed=1), random_graph(4, seed=2))
    X = np.random.default_rng(0).standard_normal((10, 3))
    means = 6 * np.sum(X[:6].mean(axis=0) ** 2) + 4 * np.sum(X[6:].mean(axis=0) ** 2)
    assert graph_alignment(X, graph, 2) == pytest.approx(means / np.sum(X**2))


def test_alignment_checks_its_input():
    with pytest.raises(ValueError, match="graph has 4 nodes, but the data need 5"):
        graph_alignment(np.ones((5, 2)), path_graph(4), 1)
    with pytest.raises(ValueError, match="k must be between 1 and 5"):
        graph_alignment(np.ones((5, 2)), path_graph(5), 6)


# --- images -------------------------------------------------------------------------------------------------------


def pictures(shape=(16, 19), seed=0, noise=0.2):
    """A smooth picture, and the same with noise."""
    rng = np.random.default_rng(seed)
    rows, columns = np.mgrid[: shape[0], : shape[1]]
    truth = 0.5 + 0.3 * np.sin(rows / 3) * np.cos(columns / 4)
    if len(shape) == 3:
        truth = truth[..., None] * np.linspace(0.5, 1, shape[2])
    return truth, truth + noise * rng.standard_normal(shape)


@given(seed=seeds, factor=st.floats(0.01, 100), shift=st.floats(-10, 10))
@quick
def test_psnr_is_the_error_on_the_scale_of_the_data(seed, factor, shift):
    truth, image = pictures(seed=seed)
    rms = np.sqrt(np.mean((truth - image) ** 2))
    assert psnr(truth, image, data_range=1) == pytest.approx(20 * np.log10(1 / rms))
    assert psnr(truth, image, data_range=10) == pytest.approx(psnr(truth, image, data_range=1) + 20)
    assert psnr(truth, image) == pytest.approx(psnr(truth, image, data_range=np.ptp(truth)))
    assert psnr(factor * truth + shift, factor * image + shift) == pytest.approx(psnr(truth, image))
    assert isinstance(psnr(truth, image), float)


def test_psnr_of_equal_images_and_of_bytes():
    truth = pictures()[0]
    assert psnr(truth, truth) == np.inf
    assert psnr(np.ones((3, 3)), np.ones((3, 3))) == np.inf
    assert psnr(np.array([0, 255], np.uint8), np.array([255, 0], np.uint8)) == pytest.approx(0)


@pytest.mark.parametrize("shape", [(11, 11), (16, 19), (13, 12, 3)])
@pytest.mark.parametrize("data_range", [1.0, 255.0])
def test_scikit_image_agrees(shape, data_range):
    metrics = pytest.importorskip("skimage.metrics")
    truth, image = pictures(shape)
    expected = metrics.structural_similarity(
        truth,
        image,
        gaussian_weights=True,
        sigma=1.5,
        use_sample_covariance=False,
        data_range=data_range,
        channel_axis=2 if len(shape) == 3 else None,
    )
    assert ssim(truth, image, data_range) == pytest.approx(expected, rel=1e-10)
    assert psnr(truth, image, data_range) == pytest.approx(
        metrics.peak_signal_noise_ratio(truth, image, data_range=data_range)
    )


@given(seed=seeds, span=st.floats(0.1, 10))
@quick
def test_ssim_of_one_window_is_the_formula(seed, span):
    """An image of 11 x 11 pixels has one window; its weights are written out."""
    truth, image = np.random.default_rng(seed).random((2, 11, 11))
    taps = np.exp(-(np.arange(-5, 6) ** 2) / (2 * 1.5**2))
    weights = np.outer(taps, taps) / taps.sum() ** 2
    m_x, m_y = np.sum(weights * truth), np.sum(weights * image)
    v_x, v_y = np.sum(weights * (truth - m_x) ** 2), np.sum(weights * (image - m_y) ** 2)
    cov = np.sum(weights * (truth - m_x) * (image - m_y))
    c1, c2 = (0.01 * span) ** 2, (0.03 * span) ** 2
    expected = (2 * m_x * m_y + c1) * (2 * cov + c2) / ((m_x**2 + m_y**2 + c1) * (v_x + v_y + c2))
    assert ssim(truth, image, span) == pytest.approx(expected)


@given(seed=seeds, factor=st.floats(0.01, 100))
@quick
def test_ssim_does_not_depend_on_scale_side_or_order(seed, factor):
    truth, image = pictures(seed=seed)
    expected = ssim(truth, image, 1.0)
    assert -1 <= expected < 1
    assert ssim(truth, truth) == pytest.approx(1)
    assert ssim(factor * truth, factor * image, factor) == pytest.approx(expected)
    assert ssim(image, truth, 1.0) == pytest.approx(expected)
    for turn in (np.transpose, np.flipud, np.fliplr):
        assert ssim(turn(truth), turn(image), 1.0) == pytest.approx(expected)


def test_ssim_of_colour_is_the_mean_of_channels_and_falls_with_noise():
    truth, image = pictures((14, 15, 3))
    by_channel = [ssim(truth[..., c], image[..., c], 1.0) for c in range(3)]
    assert ssim(truth, image, 1.0) == pytest.approx(np.mean(by_channel))
    by_noise = [ssim(*pictures(noise=noise), 1.0) for noise in (0.0, 0.05, 0.1, 0.3, 1.0)]
    assert np.all(np.diff(by_noise) < 0)


def test_ssim_far_from_zero_keeps_its_digits():
    truth, image = pictures()
    # Both means are far from 0, so only contrast and pattern are left to differ.
    far, further = (ssim(truth + level, image + level, 1.0) for level in (1e4, 1e8))
    assert far == pytest.approx(further, abs=1e-3)


def test_images_of_the_wrong_kind():
    flat = np.ones((12, 12))
    with pytest.raises(ValueError, match="at least 11 x 11 pixels"):
        ssim(np.eye(10), np.eye(10))
    for shape in [(12,), (2, 12, 12), (2, 2, 12, 12)]:
        with pytest.raises(ValueError, match="images must be"):
            ssim(np.ones(shape), np.ones(shape))
    for score in (ssim, psnr):
        with pytest.raises(ValueError, match="data_range must be given"):
            score(flat, flat + 1)
        with pytest.raises(ValueError, match="data_range must be positive"):
            score(flat, flat + 1, 0.0)


# --- masks --------------------------------------------------------------------------------------------------------

masks_of_two = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=15)


@given(pairs=masks_of_two, seed=seeds)
@quick
def test_mask_scores_are_shares(pairs, seed):
    truth, mask = (np.array(side) for side in zip(*pairs, strict=True))
    scores = mask_scores(truth, mask)
    if mask.any():
        assert scores.precision == pytest.approx(truth[mask].mean())
    if truth.any():
        assert scores.recall == pytest.approx(mask[truth].mean())
    if truth.any() or mask.any():
        assert scores.f1 * (scores.precision + scores.recall) == pytest.approx(2 * scores.precision * scores.recall)
    swapped = mask_scores(mask, truth)
    assert (swapped.precision, swapped.recall, swapped.f1) == (scores.recall, scores.precision, scores.f1)
    order = np.random.default_rng(seed).permutation(len(truth))
    assert mask_scores(truth[order], mask[order]) == scores
    assert mask_scores(255 * truth.astype(np.uint8), mask.astype(float)) == scores


def test_empty_masks():
    nothing, something = np.zeros(4, bool), np.array([0, 1, 0, 0], bool)
    perfect, failed = (1.0, 1.0, 1.0), (0.0, 0.0, 0.0)
    for truth, mask, expected in [
        (nothing, nothing, perfect), (something, nothing, failed), (nothing, something, failed),
        (something, something, perfect), (something, ~something, failed),
    ]:  # fmt: skip
        scores = mask_scores(truth, mask)
        assert (scores.precision, scores.recall, scores.f1) == expected


@given(
    entries=st.lists(st.tuples(st.booleans(), st.integers(-4, 4)), min_size=1, max_size=12),
    dtype=st.sampled_from([np.int8, np.float32, np.float64]),
)
@quick
def test_best_f1_is_the_best_of_all_thresholds(entries, dtype):
    truth, values = (np.array(side) for side in zip(*entries, strict=True))
    values = (values / 10 if dtype != np.int8 else values).astype(dtype)
    best = best_f1(truth, values)
    tried = [mask_scores(truth, np.abs(values) >= t).f1 for t in [*np.unique(np.abs(values)), np.inf]]
    assert best.f1 == pytest.approx(max(tried))
    assert mask_scores(truth, np.abs(values) >= best.threshold).f1 == pytest.approx(best.f1)
    assert isinstance(best.f1, float)
    assert isinstance(best.threshold, float)
    assert best_f1(truth, -values) == best
    assert best_f1(truth[::-1], values[::-1]) == best
    assert best_f1(truth, 4 * values.astype(np.float64)).f1 == pytest.approx(best.f1)


def test_best_f1_at_its_limits():
    assert best_f1(np.zeros(3, bool), [1.0, 2.0, 3.0]).f1 == 1
    assert best_f1(np.ones(3, bool), [1.0, -2.0, 3.0]).threshold == 1
    assert best_f1([1, 0], [0.0, 0.0]).f1 == pytest.approx(2 / 3)
    # Of two thresholds as good, the higher: 2 / 3 with one pixel, and with four.
    assert best_f1([1, 0, 0, 1], [4, 3, 2, 1]).threshold == 4
    assert best_f1([1, 0], np.array([-128, 127], np.int8)).f1 == 1
    with pytest.raises(ValueError, match="NaN or infinite"):
        best_f1([1, 0], [np.nan, 1.0])


# --- all ----------------------------------------------------------------------------------------------------------


def test_nothing_is_changed():
    truth, image = pictures()
    for array in (truth, image):
        array.flags.writeable = False
    before = truth.copy(), image.copy()
    for score in (recovery_error, psnr, ssim, mask_scores, best_f1):
        score(truth, image)
    approximate_rank(truth)
    graph_alignment(truth, path_graph(16), 3)
    assert_allclose((truth, image), before, rtol=0)
