import numpy as np
import pytest

from graphlowrank.models.entry_regression import (
    N_FOLDS,
    N_NEIGHBORS,
    RIDGES,
    assign_folds,
    neighbor_means,
    predict_left_out,
)


@pytest.fixture
def X():  # noqa: N802
    rng = np.random.default_rng(0)
    return rng.standard_normal((60, 4)) @ rng.standard_normal((4, 9)) + 0.3 * rng.standard_normal((60, 9))


@pytest.fixture
def folds():
    return assign_folds(60, np.random.RandomState(1))


def first_is_best():
    """Loss that ends the search for a ridge where it begins."""
    losses = iter([0.0, 1.0, 1.0])
    return lambda _: next(losses)


def test_folds_have_equal_size(folds):
    np.testing.assert_array_equal(np.bincount(folds), np.full(N_FOLDS, 12))


def test_each_entry_is_its_conditional_expectation(X, folds):
    base = np.broadcast_to(X.mean(axis=0), X.shape)
    at = 3
    found, end = predict_left_out(X, base, folds, first_is_best(), at)
    assert end == at
    deviations = X - base
    ridge = RIDGES[at] * np.mean(deviations**2)
    for i, j in [(0, 0), (17, 4), (59, 8)]:
        others = deviations[folds != folds[i]]
        mean, S = others.mean(axis=0), np.cov(others.T, bias=True) + ridge * np.eye(9)
        rest = np.arange(9) != j
        expected = mean[j] + S[j, rest] @ np.linalg.solve(S[np.ix_(rest, rest)], (deviations[i] - mean)[rest])
        assert found[i, j] == pytest.approx(base[i, j] + expected)


def test_no_entry_takes_part_in_its_own_prediction(X, folds):
    base, changed = np.zeros_like(X), X.copy()
    changed[5, 2] *= -1  # the mean square, in whose units ridges are, stays
    one, other = (predict_left_out(A, base, folds, first_is_best(), 3)[0] for A in (X, changed))
    assert other[5, 2] == pytest.approx(one[5, 2])
    assert other[5, 3] != pytest.approx(one[5, 3])


def test_the_ridge_of_least_loss_is_found(X, folds):
    base = np.zeros_like(X)

    def loss(predicted):
        return float(np.mean((predicted - X) ** 2))

    losses = [loss(predict_left_out(X, base, folds, first_is_best(), at)[0]) for at in range(len(RIDGES))]
    assert predict_left_out(X, base, folds, loss)[1] == int(np.argmin(losses))


def test_exact_rows_are_their_base(folds):
    base = np.arange(9.0) * np.ones((60, 1))
    np.testing.assert_array_equal(predict_left_out(base.copy(), base, folds, lambda _: 0.0)[0], base)


def test_neighbor_means_are_those_of_the_nearest_rows_in_other_columns(X):
    columns = assign_folds(9, np.random.RandomState(0))
    found = neighbor_means(X, columns, 0.0)
    for fold in range(N_FOLDS):
        mine = columns == fold
        distances = np.linalg.norm(X[:, None, ~mine] - X[None, :, ~mine], axis=2)
        np.fill_diagonal(distances, np.inf)
        nearest = np.argsort(distances, axis=1)[:, :N_NEIGHBORS]
        np.testing.assert_allclose(found[:, mine], X[nearest][:, :, mine].mean(axis=1))


def test_neighbors_do_not_depend_on_the_entry_itself(X):
    columns = assign_folds(9, np.random.RandomState(0))
    changed = X.copy()
    changed[5, 2] += 10
    assert neighbor_means(changed, columns, 0.2)[5, 2] == pytest.approx(neighbor_means(X, columns, 0.2)[5, 2])


def test_pure_noise_has_no_neighbors():
    X = np.random.default_rng(0).standard_normal((200, 10))
    found = neighbor_means(X, assign_folds(10, np.random.RandomState(0)), 2.0)
    np.testing.assert_allclose(found, np.broadcast_to(X.mean(axis=0), X.shape))
