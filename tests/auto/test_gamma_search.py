"""Gammas and rank by validation on held-out entries; the truth is known to the test alone."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import graphlowrank.auto.gamma_search as module
from graphlowrank import CompressivePCA
from graphlowrank.auto.gamma_search import choose_gammas, climb, descend, hold_out
from graphlowrank.auto.gammas import GRID
from graphlowrank.datasets import make_low_rank_on_graphs
from graphlowrank.graphs import knn_graph
from graphlowrank.models import CompressedProblem
from graphlowrank.models.frpcag_path import FRPCAGPath
from helpers import waves


def clusters(n=150, p=40, *, noise=0.5, seed=0):
    """Noisy samples of three groups, features of three groups."""
    rng = np.random.default_rng(seed)
    levels = np.sqrt(3) * np.linalg.qr(rng.standard_normal((3, 3)))[0]
    truth = levels[np.ix_(rng.integers(3, size=n), rng.integers(3, size=p))]
    X = truth + noise * rng.standard_normal((n, p))
    return X, truth, knn_graph(X, 10).unit_laplacian(), knn_graph(X.T.copy(), 10).unit_laplacian()


def truncate(U, rank):
    mean = U.mean(axis=0)
    left, values, right = np.linalg.svd(U - mean, full_matrices=False)
    return left[:, :rank] * values[:rank] @ right[:rank] + mean


def errors_of_grid(X, truth, L_s, L_f, rank):
    """Error of the answer at every pair of gammas; test_frpcag_path.py compares this solver with FISTA."""
    path = FRPCAGPath(CompressedProblem(X, L_s, L_f))
    errors, start = {}, None
    for i, a in enumerate(GRID):
        for b in GRID[:: (-1) ** i]:  # there and back, so that every solve starts nearby
            start = path.solve((a, b), tol=1e-3, max_iter=1000, start=start)
            errors[a, b] = np.linalg.norm(truncate(start.X, rank) - truth)
    return errors


@pytest.mark.parametrize(
    ("data", "of_rank"),
    [
        (waves(noise=0.2), 2), (waves(noise=1.0), 2), (waves(noise=0.2, outliers=0.1), 2), (clusters(noise=0.3), 2),
        (clusters(noise=1.0), 2),
    ],
)  # fmt: skip
def test_errors_are_near_the_best_of_the_grid(data, of_rank):
    X, truth, L_s, L_f = data
    errors = errors_of_grid(X, truth, L_s, L_f, of_rank)
    for rank in (None, of_rank, of_rank + 1):
        choice = choose_gammas(CompressedProblem(X, L_s, L_f), rank=rank, random_state=0)
        assert errors[choice.gamma_samples, choice.gamma_features] <= 1.25 * min(errors.values())
        assert choice.rank == (of_rank if rank is None else rank)


def test_noise_is_measured():
    for noise in (0.2, 1.0):
        X, _, L_s, L_f = waves(noise=noise)
        assert choose_gammas(CompressedProblem(X, L_s, L_f), random_state=0).noise == pytest.approx(noise, rel=0.25)


@pytest.mark.parametrize(
    ("side", "held_out"), [(20, int(0.3 * 380)), (150, 5000), (200, int(0.2 * 39_800)), (600, 50_000)]
)
def test_held_out_entries_are_observed_ones(side, held_out):
    X = np.arange(float(side**2)).reshape(side, side)
    X[3] = np.nan
    before = X.copy()
    fold = hold_out(X, np.random.RandomState(0))
    assert len(set(zip(fold.rows, fold.columns, strict=True))) == held_out
    assert np.isnan(fold.X).sum() == side + held_out
    assert_array_equal(fold.values, X[fold.rows, fold.columns])
    assert np.isfinite(fold.values).all()
    assert_array_equal(X, before)


@pytest.mark.parametrize("target", [(0, 0), (7, 7), (3, 2), (0, 7), (6, 1)])
def test_the_search_finds_the_bottom_of_a_bowl(target):
    asked = set()

    def bowl(pair):
        asked.add(pair)
        a, b = pair[0] - target[0], pair[1] - target[1]
        return a**2 + b**2 + 0.5 * a * b

    assert descend(bowl, (3, 2), (0, 1)) == target
    assert len(asked) < 25
    assert descend(bowl, (3, target[1]), (0,)) == target
    assert descend(lambda pair: 0.0, (3, 2), (0, 1)) == (3, 2)  # a tie stays


def test_larger_gammas_are_chosen_while_the_loss_ties():
    def excess(pair, lowest):  # standard errors: nothing along the first side up to 5, three along the second
        assert lowest == (3, 2)
        return 1.9 * (pair[0] > 3) + 1.2 * (pair[0] > 5) + 3.0 * (pair[1] - 2)

    assert climb(excess, (3, 2), (0, 1)) == (5, 2)
    assert climb(excess, (3, 2), (1,)) == (3, 2)
    assert climb(lambda pair, lowest: 0.0, (3, 2), (0, 1)) == (7, 7)


def test_fixed_gammas_are_not_searched():
    X, _, L_s, L_f = waves()
    choice = choose_gammas(CompressedProblem(X, L_s, L_f), fixed=(0.7, None), random_state=0)
    assert {trial.gamma_samples for trial in choice.trials} == {0.7}
    assert choice.gamma_samples == 0.7
    assert len({trial.gamma_features for trial in choice.trials}) == len(choice.trials) > 1
    choice = choose_gammas(CompressedProblem(X, L_s, None), random_state=0)
    assert choice.gamma_features == 0
    assert {trial.gamma_features for trial in choice.trials} == {0}
    both = choose_gammas(CompressedProblem(X, L_s, L_f), fixed=(0.7, 0.2), random_state=0)
    assert (both.gamma_samples, both.gamma_features, both.rank, len(both.trials)) == (0.7, 0.2, 2, 1)


def test_losses_are_at_the_given_rank_unless_the_data_support_less():
    X, _, L_s, L_f = waves()
    options = {"fixed": (1.0, None), "random_state": 0}
    losses = {}
    for rank in (None, 1, 2, 7):
        choice = choose_gammas(CompressedProblem(X, L_s, L_f), rank=rank, **options)
        assert choice.rank == rank or (rank is None and choice.rank == 2)
        losses[rank] = choice.trials[0].loss
    assert losses[None] == losses[2] == losses[7] < 0.9 * losses[1]  # one wave of two is not enough


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda X, L_s, L_f: choose_gammas(CompressedProblem(X, None, None)), "no graph"),
        (lambda X, L_s, L_f: choose_gammas(CompressedProblem(X, L_s, L_f), fixed=(1.0, 2.0), rank=3), "were given"),
        (lambda X, L_s, L_f: choose_gammas(CompressedProblem(np.where(X < 99, np.nan, X), L_s, L_f)), "too few"),
    ],
)
def test_nothing_to_choose_is_reported_at_no_cost(make, word):
    X, _, L_s, L_f = waves()
    choice = make(X, L_s, L_f)
    assert word in choice.reason
    assert choice.trials == ()


def test_the_seed_decides():
    X, _, L_s, L_f = waves()
    first, second = (
        choose_gammas(CompressedProblem(X, L_s, L_f), random_state=np.random.RandomState(3)) for _ in range(2)
    )
    assert first == second


@pytest.mark.parametrize("data", [waves(noise=0.5), clusters(noise=0.5)])
def test_the_choice_ties_with_the_lowest_loss_and_has_a_reason(data):
    X, _, L_s, L_f = data
    choice = choose_gammas(CompressedProblem(X, L_s, L_f), random_state=0)
    lowest = min(choice.trials, key=lambda trial: trial.loss)
    (chosen,) = (
        trial
        for trial in choice.trials
        if (trial.gamma_samples, trial.gamma_features) == (choice.gamma_samples, choice.gamma_features)
    )
    assert lowest.loss <= chosen.loss <= 1.02 * lowest.loss  # two standard errors of a paired difference
    assert chosen.gamma_samples >= lowest.gamma_samples
    assert chosen.gamma_features >= lowest.gamma_features
    assert choice.noise == chosen.noise
    assert f"{len(choice.trials)} pairs" in choice.reason


def test_large_gammas_are_solved_for():
    # Where trials stop where they start, all large weights score the same.
    X, _, L_s, L_f = clusters(noise=0.3)
    choice = choose_gammas(CompressedProblem(X, L_s, L_f), random_state=0)
    assert max(choice.gamma_samples, choice.gamma_features) >= 10
    assert len({trial.loss for trial in choice.trials}) == len(choice.trials)
    assert min(trial.n_iter for trial in choice.trials) > 1


@pytest.mark.parametrize("times", [1e-3, 1e3])
def test_units_do_not_matter(times):
    data = make_low_rank_on_graphs(300, 40, rank=3, random_state=0)
    one, other = (CompressivePCA(solver="frpcag", random_state=0).fit(factor * data.X) for factor in (1, times))
    assert (one.gamma_samples_, one.gamma_features_) == (other.gamma_samples_, other.gamma_features_)
    assert one.n_components_ == other.n_components_


def test_twice_the_samples_choose_as_well():
    X, truth, L_s, L_f = waves(300, noise=0.5)
    errors = errors_of_grid(X, truth, L_s, L_f, 2)
    choice = choose_gammas(CompressedProblem(X, L_s, L_f), random_state=0)
    assert errors[choice.gamma_samples, choice.gamma_features] <= 1.25 * min(errors.values())


def test_missing_values_and_single_precision():
    X, truth, L_s, L_f = waves(noise=0.5)
    errors = errors_of_grid(X, truth, L_s, L_f, 2)
    missing = np.where(np.random.default_rng(1).random(X.shape) < 0.2, np.nan, X)
    for Y in (missing, X.astype(np.float32)):
        laplacians = (L.astype(Y.dtype) for L in (L_s, L_f))
        choice = choose_gammas(CompressedProblem(Y, *laplacians), random_state=0)
        assert choice.rank == 2
        assert errors[choice.gamma_samples, choice.gamma_features] <= 1.25 * min(errors.values())


def test_equal_weights_change_nothing_and_unequal_ones_arrive(monkeypatch):
    X, _, L_s, L_f = waves()
    plain = choose_gammas(CompressedProblem(X, L_s, L_f), random_state=0)
    ones = choose_gammas(
        CompressedProblem(X, L_s, L_f, sample_weights=np.ones(150), feature_weights=np.ones(40)), random_state=0
    )
    assert [trial.n_iter for trial in ones.trials] == [trial.n_iter for trial in plain.trials]
    assert_allclose([trial.loss for trial in ones.trials], [trial.loss for trial in plain.trials], rtol=1e-8)
    seen = {}

    class Spy(FRPCAGPath):
        def __init__(self, problem, weights):
            seen.update(loss=problem.loss, huber_delta=problem.huber_delta, weights=weights)
            super().__init__(problem, weights)

        def solve(self, gammas, **options):
            seen.update(options)
            return super().solve(gammas, **options)

    monkeypatch.setattr(module, "FRPCAGPath", Spy)
    given = {"loss": "huber", "huber_delta": 0.3, "max_iter": 7}
    weights = np.linspace(0.5, 2, 150)
    choose_gammas(CompressedProblem(X, L_s, L_f, sample_weights=weights, **given), random_state=0)
    assert all(seen[name] == value for name, value in given.items())
    assert_allclose(seen["weights"], weights[:, None] * np.ones(40))


def test_inputs_are_not_modified():
    X, _, L_s, L_f = waves()
    X.setflags(write=False)
    start = X + 0
    start.setflags(write=False)
    choose_gammas(CompressedProblem(X, L_s, L_f, X0=start), random_state=0)
