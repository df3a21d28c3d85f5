"""Gammas and rank without a truth: certificates on data whose truth is known to the test alone."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import graphlowrank.auto.gammas as module
from graphlowrank import CompressivePCA
from graphlowrank.auto.gammas import LATTICE, choose_gammas, choose_rank, climb, descend, hide_entries
from graphlowrank.datasets import make_low_rank_on_graphs
from graphlowrank.graphs import knn_graph
from graphlowrank.models import solve_frpcag
from graphlowrank.models.frpcag_path import FRPCAGPath, spectrum_of


def waves(n=150, p=40, *, noise=0.5, gross=0.0, seed=0):
    """Noisy samples along a closed curve, in units of their deviation; the truth; the Laplacians of the noisy data."""
    rng = np.random.default_rng(seed)
    angle = np.sort(2 * np.pi * rng.random(n))
    truth = np.column_stack([np.cos(angle), np.sin(angle)]) @ rng.standard_normal((2, p))
    truth /= truth.std()
    X = truth + noise * rng.standard_normal((n, p))
    X = np.where(rng.random(X.shape) < gross, 10 * rng.standard_normal(X.shape), X)
    return X, truth, knn_graph(X, 10).unit_laplacian(), knn_graph(X.T.copy(), 10).unit_laplacian()


def clusters(n=150, p=40, *, noise=0.5, seed=0):
    """Noisy samples of three groups, features of three groups."""
    rng = np.random.default_rng(seed)
    levels = np.sqrt(3) * np.linalg.qr(rng.standard_normal((3, 3)))[0]
    truth = levels[np.ix_(rng.integers(3, size=n), rng.integers(3, size=p))]
    X = truth + noise * rng.standard_normal((n, p))
    return X, truth, knn_graph(X, 10).unit_laplacian(), knn_graph(X.T.copy(), 10).unit_laplacian()


def cut(U, rank):
    mean = U.mean(axis=0)
    left, values, right = np.linalg.svd(U - mean, full_matrices=False)
    return left[:, :rank] * values[:rank] @ right[:rank] + mean


def errors_of_grid(X, truth, L_s, L_f, rank):
    return {
        (a, b): np.linalg.norm(_answer(solve_frpcag(X, L_s, L_f, gamma_samples=a, gamma_features=b).X, rank) - truth)
        for a in LATTICE
        for b in LATTICE
    }


def _answer(U, rank):
    return U if rank is None else cut(U, rank)


@pytest.mark.parametrize(
    ("data", "of_rank"),
    [
        (waves(noise=0.2), 2), (waves(noise=1.0), 2), (waves(noise=0.2, gross=0.1), 2), (clusters(noise=0.3), 2),
        (clusters(noise=1.0), 2),
    ],
)  # fmt: skip
def test_errors_are_near_the_best_of_the_grid(data, of_rank):
    X, truth, L_s, L_f = data
    errors = errors_of_grid(X, truth, L_s, L_f, of_rank)
    for rank in (None, of_rank, of_rank + 1):
        choice = choose_gammas(X, L_s, L_f, rank=rank, random_state=0)
        assert errors[choice.gamma_samples, choice.gamma_features] <= 1.25 * min(errors.values())
        assert choice.rank == (of_rank if rank is None else rank)


def test_an_answer_that_is_not_cut_is_smoothed_more():
    X, truth, L_s, L_f = waves(noise=0.5)
    errors = errors_of_grid(X, truth, L_s, L_f, None)
    choice = choose_gammas(X, L_s, L_f, cut=False, random_state=0)
    assert errors[choice.gamma_samples, choice.gamma_features] <= 1.25 * min(errors.values())
    gentle = choose_gammas(X, L_s, L_f, cut=True, random_state=0)
    assert choice.gamma_samples * choice.gamma_features > gentle.gamma_samples * gentle.gamma_features


def test_noise_is_measured():
    for noise in (0.2, 1.0):
        X, _, L_s, L_f = waves(noise=noise)
        assert choose_gammas(X, L_s, L_f, random_state=0).noise == pytest.approx(noise, rel=0.25)


# --- rank --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(200, 200), (400, 50), (30, 500)])
@pytest.mark.parametrize("rank", [1, 4])
def test_rank_of_a_matrix_in_noise(shape, rank):
    rng = np.random.default_rng(rank)
    left, right = (np.linalg.qr(rng.standard_normal((n, rank)))[0] for n in shape)
    noise = rng.standard_normal(shape)
    edge = np.sqrt(shape[0]) + np.sqrt(shape[1])  # of the noise's singular values
    assert np.linalg.norm(noise, 2) == pytest.approx(edge, rel=0.1)
    for strength in (2.0, 10.0):
        values = np.linalg.svd(3 * (strength * edge * left @ right.T + noise), compute_uv=False)
        assert choose_rank(values, shape) == rank


def test_rank_threshold_is_that_of_the_paper():
    # Gavish and Donoho: 2.858 times the median for a square matrix; tends to 1.43 as one side vanishes.
    for shape, multiple in (((100, 100), 2.858), ((1, 10**6), 1.43)):
        values = np.array([9e9, 1.002 * multiple, 0.998 * multiple, 1.0, 1.0, 1.0, 1.0, 1.0])
        assert choose_rank(values, shape) == 2
    assert choose_rank(np.ones(5), (10, 5)) == 1


# --- what is hidden and where the search goes -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("side", "hidden"), [(20, int(0.3 * 380)), (150, 5000), (200, int(0.2 * 39_800)), (600, 50_000)]
)
def test_hidden_entries_are_observed_ones(side, hidden):
    X = np.arange(float(side**2)).reshape(side, side)
    X[3] = np.nan
    before = X.copy()
    fold = hide_entries(X, np.random.RandomState(0))
    assert len(set(zip(fold.rows, fold.columns, strict=True))) == hidden
    assert np.isnan(fold.X).sum() == side + hidden
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


def test_larger_weights_are_taken_where_they_are_worse_by_chance_alone():
    def excess(pair, lowest):  # standard errors: nothing along the first side up to 5, three along the second
        assert lowest == (3, 2)
        return 1.9 * (pair[0] > 3) + 1.2 * (pair[0] > 5) + 3.0 * (pair[1] - 2)

    assert climb(excess, (3, 2), (0, 1)) == (5, 2)
    assert climb(excess, (3, 2), (1,)) == (3, 2)
    assert climb(lambda pair, lowest: 0.0, (3, 2), (0, 1)) == (7, 7)


# --- contract ---------------------------------------------------------------------------------------------------


def test_fixed_sides_are_not_searched():
    X, _, L_s, L_f = waves()
    choice = choose_gammas(X, L_s, L_f, fixed_samples=0.7, random_state=0)
    assert {trial.gamma_samples for trial in choice.tried} == {0.7}
    assert choice.gamma_samples == 0.7
    assert len({trial.gamma_features for trial in choice.tried}) == len(choice.tried) > 1
    choice = choose_gammas(X, L_s, None, random_state=0)
    assert choice.gamma_features == 0
    assert {trial.gamma_features for trial in choice.tried} == {0}
    both = choose_gammas(X, L_s, L_f, fixed_samples=0.7, fixed_features=0.2, random_state=0)
    assert (both.gamma_samples, both.gamma_features, both.rank, len(both.tried)) == (0.7, 0.2, 2, 1)


def test_scores_are_of_the_rank_asked_for_unless_it_is_more_than_there_is():
    X, _, L_s, L_f = waves()
    fixed = {"fixed_samples": 1.0, "random_state": 0}
    scores = {}
    for rank in (None, 1, 2, 7):
        choice = choose_gammas(X, L_s, L_f, rank=rank, **fixed)
        assert choice.rank == rank or (rank is None and choice.rank == 2)
        scores[rank] = choice.tried[0].score
    assert scores[None] == scores[2] == scores[7] < 0.9 * scores[1]  # one wave of two is not enough


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda X, L_s, L_f: choose_gammas(X, None, None), "no graph"),
        (lambda X, L_s, L_f: choose_gammas(X, L_s, L_f, fixed_samples=1, fixed_features=2, rank=3), "were given"),
        (lambda X, L_s, L_f: choose_gammas(np.where(X < 99, np.nan, X), L_s, L_f), "too few"),
    ],
)
def test_nothing_to_choose_is_said_at_no_cost(make, word):
    X, _, L_s, L_f = waves()
    choice = make(X, L_s, L_f)
    assert word in choice.reason
    assert (choice.n_iter, choice.tried) == (0, ())


def test_the_seed_alone_decides():
    X, _, L_s, L_f = waves()
    first, second = (choose_gammas(X, L_s, L_f, random_state=np.random.RandomState(3)) for _ in range(2))
    assert first == second
    assert first.n_iter == sum(trial.n_iter for trial in first.tried)


@pytest.mark.parametrize("data", [waves(noise=0.5), clusters(noise=0.5)])
def test_the_choice_predicts_as_well_as_the_lowest_score_and_has_a_reason(data):
    X, _, L_s, L_f = data
    choice = choose_gammas(X, L_s, L_f, random_state=0)
    lowest = min(choice.tried, key=lambda trial: trial.score)
    (chosen,) = (
        trial
        for trial in choice.tried
        if (trial.gamma_samples, trial.gamma_features) == (choice.gamma_samples, choice.gamma_features)
    )
    assert lowest.score <= chosen.score <= 1.02 * lowest.score  # two standard errors of a paired difference
    assert chosen.gamma_samples >= lowest.gamma_samples
    assert chosen.gamma_features >= lowest.gamma_features
    assert choice.noise == chosen.noise
    assert f"{len(choice.tried)} pairs" in choice.reason


def test_large_weights_are_solved_for():
    # Where trials stop where they start, all large weights score the same.
    X, _, L_s, L_f = clusters(noise=0.3)
    choice = choose_gammas(X, L_s, L_f, random_state=0)
    assert max(choice.gamma_samples, choice.gamma_features) >= 10
    assert len({trial.score for trial in choice.tried}) == len(choice.tried)
    assert min(trial.n_iter for trial in choice.tried) > 1


@pytest.mark.parametrize("times", [1e-3, 1e3])
def test_units_do_not_matter(times):
    data = make_low_rank_on_graphs(300, 40, rank=3, random_state=0)
    one, other = (CompressivePCA(random_state=0).fit(factor * data.X) for factor in (1, times))
    assert (one.gamma_samples_, one.gamma_features_) == (other.gamma_samples_, other.gamma_features_)
    assert one.n_components_ == other.n_components_


def test_twice_the_samples_choose_as_well():
    X, truth, L_s, L_f = waves(300, noise=0.5)
    errors = errors_of_grid(X, truth, L_s, L_f, 2)
    choice = choose_gammas(X, L_s, L_f, random_state=0)
    assert errors[choice.gamma_samples, choice.gamma_features] <= 1.25 * min(errors.values())


def test_missing_entries_and_single_precision():
    X, truth, L_s, L_f = waves(noise=0.5)
    errors = errors_of_grid(X, truth, L_s, L_f, 2)
    gaps = np.where(np.random.default_rng(1).random(X.shape) < 0.2, np.nan, X)
    for Y in (gaps, X.astype(np.float32)):
        laplacians = (L.astype(Y.dtype) for L in (L_s, L_f))
        choice = choose_gammas(Y, *laplacians, random_state=0)
        assert choice.rank == 2
        assert errors[choice.gamma_samples, choice.gamma_features] <= 1.25 * min(errors.values())


def test_equal_weights_change_nothing_and_unequal_ones_arrive(monkeypatch):
    X, _, L_s, L_f = waves()
    plain = choose_gammas(X, L_s, L_f, random_state=0)
    ones = choose_gammas(X, L_s, L_f, sample_weights=np.ones(150), feature_weights=np.ones(40), random_state=0)
    assert [trial.n_iter for trial in ones.tried] == [trial.n_iter for trial in plain.tried]
    assert_allclose([trial.score for trial in ones.tried], [trial.score for trial in plain.tried], rtol=1e-8)
    seen = {}

    class Spy(FRPCAGPath):
        def __init__(self, *args, **options):
            seen.update(options)
            super().__init__(*args, **options)

        def solve(self, gammas, **options):
            seen.update(options)
            return super().solve(gammas, **options)

    monkeypatch.setattr(module, "FRPCAGPath", Spy)
    given = {"loss": "huber", "huber_delta": 0.3, "max_iter": 7}
    weights = np.linspace(0.5, 2, 150)
    choose_gammas(X, L_s, L_f, random_state=0, sample_weights=weights, **given)
    assert all(seen[name] == value for name, value in given.items())
    assert_allclose(seen["weights"], weights[:, None] * np.ones(40))


# --- trials ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("loss", "weighted"), [("l1", False), ("l2", False), ("huber", True)])
@pytest.mark.parametrize("gammas", [(0.1, 0.3), (1.0, 0.0), (30.0, 30.0)])
def test_trials_are_the_minima_that_fista_finds(loss, weighted, gammas):
    X, _, L_s, L_f = waves(60, 20, noise=0.5, gross=0.05)
    X = np.where(np.random.default_rng(2).random(X.shape) < 0.2, np.nan, X)
    X[:, 7] = np.nan  # nothing is known of a feature
    weights = np.linspace(0.5, 2, 60) if weighted else np.ones(60)
    L_f = L_f if gammas[1] else None
    slow = solve_frpcag(
        X, L_s, L_f, gamma_samples=gammas[0], gamma_features=gammas[1], loss=loss, huber_delta=0.5,
        sample_weights=weights, tol=1e-7, max_iter=50_000,
    )  # fmt: skip
    spectra = spectrum_of(L_s, 60, X.dtype), spectrum_of(L_f, 20, X.dtype)
    path = FRPCAGPath(X, *spectra, X, loss=loss, huber_delta=0.5, weights=weights[:, None])
    near = path.solve((0.5, 0.5 if gammas[1] else 0.0), tol=1e-3, max_iter=1000)
    for start in (None, near):
        found = path.solve(gammas, tol=1e-6, max_iter=20_000, start=start)
        value, least = (objective(U, X, L_s, L_f, gammas, loss, weights) for U in (found.X, slow.X))
        assert_allclose(value, least, rtol=1e-4)


def objective(U, X, L_s, L_f, gammas, loss, weights):
    """What both solvers minimise, written out."""
    r = np.abs(np.nan_to_num(U - X))
    each = {"l1": r, "l2": r**2, "huber": np.where(r < 0.5, r**2 / 2, 0.5 * (r - 0.25))}[loss]
    graphs = gammas[0] * np.sum(U * (L_s @ U)) + (gammas[1] * np.sum(U * (L_f @ U.T).T) if gammas[1] else 0)
    return np.sum(weights[:, None] * each) + graphs


def test_inputs_are_left_alone():
    X, _, L_s, L_f = waves()
    X.setflags(write=False)
    start = X + 0
    start.setflags(write=False)
    choose_gammas(X, L_s, L_f, X0=start, random_state=0)


def test_error_bars_tell_how_far_draws_differ():
    data = make_low_rank_on_graphs(300, 40, rank=3, random_state=0)
    model = CompressivePCA(3, n_draws=4, downsampling=(3, 1), random_state=0).fit(data.X)
    assert len(model.draws_) == 4
    assert model.draws_[0] is model.low_rank_
    bars = model.error_bars(slice(0, 50))
    every = np.std([draw.to_array()[:50] for draw in model.draws_], axis=0, ddof=1)
    np.testing.assert_allclose(bars, every, atol=1e-6)
    assert np.any(bars > 0)
    one = CompressivePCA(3, downsampling=(3, 1), random_state=0).fit(data.X)
    np.testing.assert_allclose(one.low_rank_.to_array(), model.low_rank_.to_array())  # the first draw is the answer
    with pytest.raises(ValueError, match="error bars need n_draws"):
        one.error_bars()
    with pytest.raises(ValueError, match="n_draws must be a positive"):
        CompressivePCA(3, n_draws=0).fit(data.X)
