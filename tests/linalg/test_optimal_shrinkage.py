import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphlowrank.linalg.optimal_shrinkage import Spectrum, marchenko_pastur_quantiles, optimal_values


def noisy(n, p, rank, noise, seed=0):
    rng = np.random.default_rng(seed)
    clean = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, p))
    return clean, clean + noise * rng.standard_normal((n, p))


@pytest.mark.parametrize("shape", [(300, 100), (100, 300), (200, 200)])
def test_noise_of_a_matrix_of_low_rank_is_found(shape):
    for level in (0.1, 1.0, 10.0):
        found = Spectrum.of(noisy(*shape, 3, level)[1]).noise()
        assert 0.9 * level < found < 1.05 * level


def test_quantiles_are_those_of_random_matrices():
    Z = np.random.default_rng(0).standard_normal((4000, 1000))
    eigenvalues = np.linalg.eigvalsh(Z.T @ Z / 4000)
    shares = np.array([0.05, 0.25, 0.5, 0.9])
    np.testing.assert_allclose(marchenko_pastur_quantiles(0.25, shares), np.quantile(eigenvalues, shares), rtol=0.01)


def test_constant_features_have_no_noise():
    X = noisy(300, 50, 2, 1.0)[1]
    wide = np.column_stack([X, np.full((300, 25), 7.0)])
    assert Spectrum.of(wide).noise() < 0.1
    assert Spectrum.of(wide).noise(n_constant=25) == pytest.approx(Spectrum.of(X).noise(), rel=1e-6)
    assert Spectrum.of(np.ones((10, 4))).noise(n_constant=4) == 0


@pytest.mark.parametrize("shape", [(400, 60), (60, 400)])
def test_shrinkage_beats_truncation_at_every_rank(shape):
    clean, X = noisy(*shape, 12, 3.0)
    found = Spectrum.of(X).shrunk(3.0).matrix()
    left, values, right = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    truncated = [(left[:, :k] * values[:k]) @ right[:k] + X.mean(axis=0) for k in range(1, 40)]
    assert np.linalg.norm(found - clean) < min(np.linalg.norm(one - clean) for one in truncated)


def test_without_noise_nothing_is_lost():
    X = noisy(50, 30, 4, 1.0)[1]
    spectrum = Spectrum.of(X)
    np.testing.assert_allclose(spectrum.shrunk(0.0).matrix(), X, atol=1e-7 * np.abs(X).max())
    assert spectrum.own_weight(0.0) == pytest.approx(1.0)


def test_noise_alone_is_removed():
    X = noisy(300, 100, 1, 1.0)[1] - noisy(300, 100, 1, 1.0)[0]
    shrunk = Spectrum.of(X).shrunk(1.05)
    assert shrunk.values.size == 0
    np.testing.assert_allclose(shrunk.matrix(), np.broadcast_to(X.mean(axis=0), X.shape))
    assert Spectrum.of(X).own_weight(1.05) == 0


def test_single_precision_stays():
    spectrum = Spectrum.of(noisy(40, 20, 2, 0.1)[1].astype(np.float32)).shrunk(0.1)
    assert spectrum.matrix().dtype == np.float32


@settings(max_examples=25, deadline=None)
@given(st.integers(8, 25), st.integers(6, 20), st.floats(0.05, 1.0), st.integers(0, 1000))
def test_own_weight_is_the_divergence(n, p, noise, seed):
    """Twin: the derivative of every entry by itself, by finite differences, around a fixed mean."""
    X = noisy(n, p, 2, noise, seed)[1]
    X = X - X.mean(axis=0)
    basis = np.linalg.svd(np.ones((n, 1)))[0][:, 1:]  # deviations from the mean: n - 1 free rows
    free = basis.T @ X
    values = np.linalg.svd(free, compute_uv=False)
    shape = n - 1, p
    edge = noise * (max(shape) ** 0.5 + min(shape) ** 0.5)
    if np.abs(values - edge).min() < 0.05 * edge:  # the shrinker is not smooth there
        return

    def shrink(M):
        left, s, right = np.linalg.svd(M, full_matrices=False)
        return (left * optimal_values(s, noise, shape)) @ right

    total, step = 0.0, 1e-5
    for i in range(n - 1):
        for j in range(p):
            moved = free.copy()
            moved[i, j] += step
            back = free.copy()
            back[i, j] -= step
            total += (shrink(moved)[i, j] - shrink(back)[i, j]) / (2 * step)
    assert Spectrum.of(X).own_weight(noise) == pytest.approx(min(total / ((n - 1) * p), 1), rel=1e-3, abs=1e-6)
