import numpy as np
import pytest

from graphlowrank.auto.recovery_model import (
    CANDIDATES,
    N_FOLDS,
    assign_folds,
    best_estimate,
    choose_candidate,
    why_not_validated,
)
from graphlowrank.options import Options


def low_rank(n=300, p=40, rank=4, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, rank)) @ rng.standard_normal((rank, p))


def test_folds_are_balanced_in_every_sample():
    folds = assign_folds((50, 23), np.random.RandomState(0))
    counts = np.array([np.bincount(row, minlength=N_FOLDS) for row in folds])
    assert counts.min() >= 23 // N_FOLDS
    assert counts.max() <= 23 // N_FOLDS + 1
    assert len(np.unique(folds[:, 0])) == N_FOLDS


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


def test_a_perfect_model_is_kept():
    C = low_rank()
    X = C + 0.3 * np.random.default_rng(1).standard_normal(C.shape)
    assert best_estimate(X, C, C).choice.value == "fit"


def test_a_model_that_copies_noise_is_not_kept():
    C = low_rank()
    rng = np.random.default_rng(1)
    X = C + rng.standard_normal(C.shape)
    predicted = C + 0.5 * rng.standard_normal(C.shape)
    found = best_estimate(X, predicted, X)  # the fit is the data
    assert found.choice.value != "fit"
    assert np.linalg.norm(found.spectrum.matrix() - C) < 0.5 * np.linalg.norm(X - C)


def test_outliers_are_replaced():
    C = low_rank()
    rng = np.random.default_rng(1)
    wrong = rng.random(C.shape) < 0.1
    X = np.where(wrong, rng.uniform(-15, 15, C.shape), C) + 0.2 * rng.standard_normal(C.shape)
    predicted = C + 0.5 * rng.standard_normal(C.shape)
    found = best_estimate(X, predicted, X)
    assert found.choice.value == "shrinkage"
    assert np.linalg.norm(found.spectrum.matrix() - C) < 0.15 * np.linalg.norm(X - C)


def test_missing_entries_do_not_matter_where_they_are_predicted():
    C = low_rank()
    rng = np.random.default_rng(1)
    X = np.where(rng.random(C.shape) < 0.3, np.nan, C + 0.5 * rng.standard_normal(C.shape))
    found = best_estimate(X, C + 0.3 * rng.standard_normal(C.shape), np.where(np.isnan(X), C, X))
    assert found.choice.value == "shrinkage"
    assert np.linalg.norm(found.spectrum.matrix() - C) < 0.3 * np.linalg.norm(C)


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
    assert "more" in why_not_validated(options, np.zeros((10_000, 600), dtype=bool), weighted=False)
    assert "weights" in why_not_validated(options, np.zeros((100, 40)), weighted=True)


def test_candidates_are_options():
    for overrides in CANDIDATES.values():
        Options(**overrides)
