"""Drift: the p-values are exact, whatever the distribution; real changes are found."""

from itertools import combinations

import numpy as np
import pytest

from graphlowrank.auto.drift import LEVEL, RowScores, changed_shares, compare_rows, exceedance, held_out

LEVELS = np.array([0.01, 0.05, 0.1, 0.3, 0.5])


def arrangements(pooled, n_new):
    """Every division of the pooled rows into a reference and new rows: equally likely without drift."""
    for chosen in combinations(range(len(pooled)), n_new):
        new = np.zeros(len(pooled), dtype=bool)
        new[list(chosen)] = True
        yield pooled[~new], pooled[new]


@pytest.mark.parametrize("n_new", [1, 4, 8])
@pytest.mark.parametrize("ties", [False, True])
def test_p_values_of_scores_hold_over_all_arrangements(n_new, ties):
    pooled = np.array([0, 0, 0, 1, 1, 2, 2, 2, 3, 5, 5, 5.0]) if ties else np.arange(12.0)
    p = np.array([exceedance(*both)[0] for both in arrangements(pooled, n_new)])
    assert (np.mean(p[:, None] <= LEVELS, axis=0) <= LEVELS + 1e-12).all()


@pytest.mark.parametrize("n_new", [3, 6])
def test_p_values_of_shares_hold_over_all_arrangements(n_new):
    pooled = np.array([0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3])
    p = np.array([changed_shares(*both)[0] for both in arrangements(pooled, n_new)])
    assert (np.mean(p[:, None] <= LEVELS, axis=0) <= LEVELS + 1e-12).all()


def test_one_rank_has_the_probability_of_counting():
    """All of 4 new scores are above all of 4: one of 70 arrangements, times 2 sides and 2 ranks."""
    p, reason = exceedance(np.arange(4.0), 10 + np.arange(4.0))
    assert p == pytest.approx(4 / 70)
    assert "4 of 4 rows" in reason


def test_equal_scores_are_no_evidence():
    assert exceedance(np.ones(50), np.ones(40)) == (1.0, "")
    assert exceedance(np.zeros(50), np.r_[np.zeros(39), 1.0])[0] > LEVEL


def test_false_alarms_of_heavy_tailed_scores_and_overlapping_windows(rng):
    alarms = 0
    for _ in range(300):
        labels, values = rng.integers(0, 5, 700), np.abs(rng.standard_cauchy((700, 2)))
        rows = RowScores(values, labels)
        alarms += compare_rows(rows[:300], rows[600:], rows[400:], ("a", "b")).detected
    assert alarms <= 8  # 3 are expected at most


def scores(rng, n):
    return RowScores(rng.standard_normal((n, 1)) ** 2, rng.integers(0, 4, n))


def test_few_far_rows_a_shift_and_near_rows_are_found(rng):
    reference = scores(rng, 500)
    for change in (lambda v: np.where(np.arange(len(v))[:, None] < 5, 30, v), lambda v: 2 * v, lambda v: v / 3):
        new = scores(rng, 100)
        assert compare_rows(reference, RowScores(change(new.values), new.labels), None, ("x",)).detected
    assert not compare_rows(reference, scores(rng, 100), None, ("x",)).detected


def test_a_cluster_that_grows_or_vanishes_is_named(rng):
    reference, new = scores(rng, 500), scores(rng, 200)
    for label in (3, 0):
        changed = RowScores(new.values, np.where(new.labels == 2, label, new.labels))
        drift = compare_rows(reference, changed, None, ("x",))
        assert drift.detected
        assert "cluster 2" in drift.reason or f"cluster {label}" in drift.reason


def test_recent_rows_find_what_a_small_batch_does_not(rng):
    reference, new = scores(rng, 500), scores(rng, 300)
    new = RowScores(2.2 * new.values, new.labels)
    assert not compare_rows(reference, new[-5:], None, ("x",)).detected
    assert compare_rows(reference, new[-5:], new, ("x",)).detected


def test_the_level_is_kept_when_a_batch_has_one_row(rng):
    drift = compare_rows(scores(rng, 20), RowScores(np.full((1, 1), 1e9), np.zeros(1, dtype=np.int64)), None, ("x",))
    assert drift.p_value > LEVEL
    assert drift.n_rows == 1


@pytest.mark.parametrize(("n", "expected"), [(20, 4), (1000, 200), (100_000, 2000)])
def test_held_out_rows(n, expected):
    held = held_out(n, (3, n))
    assert held.sum() == expected
    assert not np.array_equal(held, held_out(n, (4, n)))
