import numpy as np
import pytest

from graphlowrank.models.denoise import denoise


def low_rank(n=300, p=40, rank=4, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, rank)) @ rng.standard_normal((rank, p))


def error(found, C):
    return np.linalg.norm(found.spectrum.matrix() - C) / np.linalg.norm(C)


def run(X, start, **options):
    return denoise(X, start, np.random.RandomState(0), **options)


@pytest.mark.parametrize("shape", [(300, 40), (40, 300)])
def test_it_is_as_good_as_the_svd_of_the_true_rank(shape):
    C = low_rank(*shape)
    X = C + np.random.default_rng(1).standard_normal(shape)
    left, values, right = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    oracle = (left[:, :4] * values[:4]) @ right[:4] + X.mean(axis=0)
    found = run(X, X)
    assert error(found, C) < 1.05 * np.linalg.norm(oracle - C) / np.linalg.norm(C)
    assert found.noise == pytest.approx(1, rel=0.1)
    assert found.error == pytest.approx(np.sqrt(np.mean((found.spectrum.matrix() - C) ** 2)), rel=0.35)


def test_outliers_are_found_and_replaced():
    C, rng = low_rank(), np.random.default_rng(1)
    wrong = rng.random(C.shape) < 0.1
    X = np.where(wrong, rng.uniform(-15, 15, C.shape), C + 0.2 * rng.standard_normal(C.shape))
    found = run(X, C + 0.5 * rng.standard_normal(C.shape))
    far = wrong & (np.abs(X - C) > 3)
    assert found.probability[far].mean() > 0.95
    assert found.probability[~wrong].mean() < 0.02
    assert found.share == pytest.approx(0.1, abs=0.02)
    clean = np.where(wrong, np.nan, X)
    assert error(found, C) < 1.3 * error(run(clean, C), C)


def test_missing_values_are_imputed_from_any_start():
    C, rng = low_rank(), np.random.default_rng(1)
    missing = rng.random(C.shape) < 0.3
    X = np.where(missing, np.nan, C + 0.1 * rng.standard_normal(C.shape))
    start = np.where(missing, np.nanmean(X, axis=0), X)
    found = run(X, start)
    left = np.linalg.norm((found.spectrum.matrix() - C)[missing])
    assert left < 0.2 * np.linalg.norm((start - C)[missing])
    assert (found.probability[missing] == 1).all()


def test_entries_do_not_see_themselves_in_imputed_ones():
    """Imputed entries copy what they were predicted from, so predictions from them look better than they are."""
    C, rng = low_rank(), np.random.default_rng(0)
    missing, held_out = rng.random(C.shape) < 0.3, rng.random(C.shape) < 0.2
    X = np.where(missing, np.nan, C + rng.standard_normal(C.shape))
    start, trial = (np.where(hidden, 0, X) for hidden in (missing, missing | held_out))
    alone, found = run(X, start), run(X, start, held_out=held_out, trial=trial)
    judged = held_out & ~missing
    loss, true_loss = (
        [np.mean((seen - one.predicted)[judged] ** 2) + extra for one in (alone, found)]
        for seen, extra in ((X, 0), (C, 1))  # with noise of variance 1 of its own
    )
    assert loss[0] < 0.8 * true_loss[0]
    assert loss[1] == pytest.approx(true_loss[1], rel=0.1)
    assert error(found, C) < 0.95 * error(alone, C)
    assert alone.noise < 0.85
    assert found.noise == pytest.approx(1, rel=0.1)
    complete = run(C, C, held_out=held_out, trial=C)
    np.testing.assert_array_equal(complete.filled, run(C, C).filled)  # nothing is missing: no first pass


def test_only_suspects_are_outliers():
    C, rng = low_rank(), np.random.default_rng(1)
    X, suspects = C + 0.1 * rng.standard_normal(C.shape), np.zeros(C.shape, dtype=bool)
    X[3, 4], X[5, 6] = 80.0, 80.0
    suspects[5, 6] = True
    found = run(X, C, suspects=suspects)
    assert found.probability[3, 4] == 0
    assert found.probability[5, 6] > 0.99


def test_neighbors_help_where_samples_lie_on_a_curve():
    rng = np.random.default_rng(0)
    at = rng.random(800)
    C = np.exp(-((at[:, None] - np.linspace(0, 1, 60)) ** 2) / 2e-3)  # bumps: of high rank
    X = C + 0.3 * rng.standard_normal(C.shape)
    found = run(X, X)
    assert found.around_neighbors
    left, values, right = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    oracle = min(
        np.linalg.norm((left[:, :k] * values[:k]) @ right[:k] + X.mean(axis=0) - C) for k in range(1, len(values))
    )
    assert np.linalg.norm(found.spectrum.matrix() - C) < 0.9 * oracle


def test_single_precision_stays():
    C = low_rank().astype(np.float32)
    X = C + np.float32(0.5) * np.random.default_rng(1).standard_normal(C.shape).astype(np.float32)
    found = run(X, X)
    assert found.spectrum.matrix().dtype == np.float32
    assert found.predicted.dtype == np.float32


def test_the_input_stays_as_it_is():
    X = low_rank()
    X[3, 4] = np.nan
    start = np.nan_to_num(X)
    for given in (X, start):
        given.flags.writeable = False
    run(X, start)


def test_large_entries_of_sparse_data_are_signal():
    """A tenth of the entries are large and cannot be predicted: without them, only the zeros would be left."""
    rng = np.random.default_rng(0)
    rates = 0.3 * rng.random(60) ** 2
    C = np.where(rng.random((500, 60)) < rates, rng.uniform(2, 5, (500, 60)), 0.0)
    X = C + 0.1 * rng.standard_normal(C.shape)
    found = run(X, np.zeros_like(X))
    assert found.only_signal
    assert not found.probability.any()
    centered = C - C.mean(axis=0)
    assert np.linalg.norm(found.spectrum.matrix() - C) < np.linalg.norm(centered)
    assert not run(low_rank() + 0.1 * rng.standard_normal((300, 40)), np.zeros((300, 40))).only_signal
