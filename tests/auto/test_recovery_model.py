import numpy as np
import pytest

from graphlowrank.auto.recovery_model import (
    CANDIDATES,
    choose_candidate,
    choose_estimate,
    choose_held_out,
    why_not_validated,
)
from graphlowrank.models.denoise import denoise
from graphlowrank.options import Options


def low_rank(n=300, p=40, rank=4, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, rank)) @ rng.standard_normal((rank, p))


def noisy(C, seed=1):
    return C + 0.3 * np.random.default_rng(seed).standard_normal(C.shape)


def choose(X, trial, fitted):
    held_out = choose_held_out(X, np.random.RandomState(0))
    denoised = denoise(X, np.where(np.isnan(X), fitted, X), np.random.RandomState(0))
    return choose_estimate(X, held_out, np.where(held_out, trial, fitted), fitted, denoised)


def test_a_fifth_of_every_sample_is_held_out():
    held_out = choose_held_out(np.zeros((50, 23)), np.random.RandomState(0))
    np.testing.assert_array_equal(held_out.sum(axis=1), 5)
    assert held_out.sum(axis=0).min() > 3


def test_the_best_prediction_wins_whatever_the_outliers():
    C = low_rank()
    rng = np.random.default_rng(1)
    X = C + 0.1 * rng.standard_normal(C.shape)
    X[rng.random(C.shape) < 0.1] = 100.0
    held_out = rng.random(C.shape) < 0.2
    candidates = {"good": C + 0.1, "bad": C + 1.0, "mean": np.zeros_like(C)}
    choice = choose_candidate(X, held_out, candidates)
    assert choice.value == "good"
    assert all(name in choice.reason for name in candidates)


def test_a_perfect_model_is_the_answer():
    C = low_rank()
    choice = choose(noisy(C), C, C)
    assert choice.value == "fit"
    assert "noise 0.1" in choice.reason


def test_a_model_that_copies_noise_is_not():
    C = low_rank()
    X = noisy(C)
    assert choose(X, C, X).value == "denoised"


def test_a_model_that_predicts_badly_is_not():
    C = low_rank()
    assert choose(noisy(C), C + 0.5, C + 0.5).value == "denoised"


def test_a_model_that_needs_the_held_out_entries_is_the_answer():
    """Its graph misplaces samples without them: the trial predicts badly, and the fit has left that behind."""
    C = low_rank(rank=12)
    misplaced = np.where(np.arange(len(C))[:, None] % 20 == 0, C[::-1], C)
    assert choose(noisy(C), misplaced, C).value == "fit"


def test_a_model_that_loses_what_it_cannot_predict_is_not():
    C = low_rank()
    C += 0.5 * np.random.default_rng(2).standard_normal((len(C), 3)) @ np.eye(3, C.shape[1])  # three features alone
    without = np.where(np.arange(C.shape[1]) < 3, 0, C)
    assert choose(noisy(C), without, without).value == "denoised"


def test_missing_entries_are_not_judged():
    C = low_rank()
    X = np.where(np.random.default_rng(3).random(C.shape) < 0.3, np.nan, noisy(C))
    assert choose(X, C, np.where(np.isnan(X), 1e3, C)).value == "fit"


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"n_components": 3}, "rank"),
        ({"gamma_samples": 1.0}, "gammas"),
        ({"loss": "l2"}, "loss"),
        ({"decoder": "robust"}, "decoder"),
        ({"n_draws": 2}, "draws"),
        ({"downsampling": (2, 1)}, "sampled"),
        ({"sample_graph": None}, "graph"),
    ],
)
def test_given_options_are_respected(options, reason):
    X = low_rank()
    assert reason in why_not_validated(Options(solver="auto", **options), X, weighted=False)
    assert why_not_validated(Options(solver="auto"), X, weighted=False) is None


def test_small_large_and_weighted_data_are_not_validated():
    options = Options(solver="auto")
    assert "fewer" in why_not_validated(options, np.zeros((10, 40)), weighted=False)
    assert "more than" in why_not_validated(options, np.zeros((4000, 2300), dtype=bool), weighted=False)
    assert why_not_validated(options, np.zeros((10_000, 600), dtype=bool), weighted=False) is None  # 2000 are solved
    assert "weights" in why_not_validated(options, np.zeros((100, 40)), weighted=True)


def test_candidates_are_options():
    for overrides in CANDIDATES.values():
        Options(**overrides)
