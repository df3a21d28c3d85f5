"""Losses: prox, value and IRLS weight belong together; a loss added from outside works everywhere."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from graphlowrank import CompressiveClustering, CompressivePCA, FastRobustPCAOnGraphs
from graphlowrank.datasets import make_low_rank_on_graphs
from graphlowrank.decoders.scores import robust_scores
from graphlowrank.models import solve_frpcag
from graphlowrank.models.losses import LOSSES, DataFit, Loss, make_loss, register
from graphlowrank.models.smoothness import TwoGraphSmoothness
from helpers import matrices, random_graph

NAMES = [*LOSSES, "log_cosh"]


class LogCosh(Loss):
    """``delta log(cosh(r / delta))``: a loss that the package does not have."""

    name = "log_cosh"

    def value(self, residual):
        size = np.abs(residual) / self.delta
        return self.delta * (size + np.log1p(np.exp(-2 * size)) - np.log(2))

    def prox(self, X, Y, step):
        residual, step = X - Y, np.broadcast_to(step, X.shape)
        low, high = np.minimum(residual, 0), np.maximum(residual, 0)
        for _ in range(60):  # bisection of u + step tanh(u / delta) = residual
            middle = (low + high) / 2
            below = middle + step * np.tanh(middle / self.delta) < residual
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return Y + (low + high) / 2

    def irls_weight(self, size):
        ratio = np.maximum(size / self.delta, 1e-12)
        return np.tanh(ratio) / ratio


@pytest.fixture(autouse=True)
def log_cosh(monkeypatch):
    monkeypatch.setitem(LOSSES, "log_cosh", LogCosh)


def data_fit(name, Y, weights=1.0, delta=0.7):
    return DataFit({**LOSSES, "log_cosh": LogCosh}[name](delta), Y, weights)


@given(X=matrices((3, 4)), Y=matrices((3, 4)), Q=matrices((3, 4)), step=st.floats(0.01, 5), name=st.sampled_from(NAMES))
@settings(max_examples=100, deadline=None)
def test_prox_belongs_to_its_value(X, Y, Q, step, name):
    fit = data_fit(name, Y)
    P = fit.prox(X, step)
    for other in (Q, X, Y, np.zeros_like(X)):
        slack = fit.value(other) - fit.value(P) - np.sum((X - P) * (other - P)) / step
        assert slack >= -1e-9 * (1 + abs(fit.value(other)) + np.sum(X**2 + other**2) / step)


@given(
    X=matrices((3, 4)), Y=matrices((3, 4)), Q=matrices((3, 4)), step=st.floats(0.01, 5),
    name=st.sampled_from(NAMES), seed=st.integers(0, 99),
)  # fmt: skip
@settings(max_examples=60, deadline=None)
def test_weighted_prox_belongs_to_its_weighted_value(X, Y, Q, step, name, seed):
    weights = np.random.default_rng(seed).uniform(0.1, 5, (3, 4))
    fit = data_fit(name, Y, weights)
    P = fit.prox(X, step)
    for other in (Q, X, Y, np.zeros_like(X)):
        slack = fit.value(other) - fit.value(P) - np.sum((X - P) * (other - P)) / step
        assert slack >= -1e-9 * (1 + abs(fit.value(other)) + np.sum(X**2 + other**2) / step)
    assert data_fit(name, Y, np.ones((3, 4))).value(X) == pytest.approx(data_fit(name, Y).value(X))


def test_losses_at_known_points():
    Y = np.zeros((1, 3))
    X = np.array([[0.5, -2.0, 0.0]])
    assert data_fit("l1", Y).value(X) == 2.5
    assert data_fit("l2", Y).value(X) == 4.25
    assert data_fit("huber", Y, delta=1.0).value(X) == 0.125 + 1.5


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", [0.1, 0.5, 2.0, 30.0])
def test_irls_weight_is_the_slope_over_the_residual(name, size):
    loss, h = make_loss(name, 0.7), 1e-6
    slope = (loss.value(np.array([size + h])) - loss.value(np.array([size - h]))) / (2 * h)
    weight = loss.irls_weight(np.array([size]))
    at_zero = 1.0 if loss.singular else (loss.value(np.array([h]))) / h**2 * 2  # loss''(0), which scales it to 1
    assert_allclose(weight * at_zero, slope / size, rtol=1e-3)


# --- a loss from outside ------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_a_corner_beyond_single_precision_is_least_squares():
    loss, R = make_loss("huber", 1e300), np.array([0.0, 1.0, 1e10], dtype=np.float32)
    assert_array_equal(loss.irls_weight(R), np.ones(3, dtype=np.float32))
    assert_allclose(loss.prox(np.zeros(3, np.float32), R, np.float32(1)), np.zeros(3), atol=1e-20)
    assert loss.value(R).dtype == np.float32


def test_register_adds_a_loss_by_its_name(monkeypatch):
    monkeypatch.delitem(LOSSES, "log_cosh")
    with pytest.raises(ValueError, match="loss must be one of 'l1', 'l2', 'huber'; got 'log_cosh'"):
        make_loss("log_cosh")
    assert register(LogCosh) is LogCosh
    assert isinstance(make_loss("log_cosh", 0.3), LogCosh)
    assert make_loss("log_cosh", 0.3).delta == 0.3


@pytest.mark.parametrize("compiled", [None, True])  # True has no loop for it, and runs plain
@pytest.mark.parametrize("missing", [False, True])
def test_frpcag_with_a_loss_from_outside_is_optimal(rng, compiled, missing):
    X = rng.standard_normal((12, 9))
    X[rng.random(X.shape) < 0.3 * missing] = np.nan
    L_s, L_f = random_graph(12, spread=1.0).unit_laplacian(), random_graph(9, seed=1, spread=1.0).unit_laplacian()
    options = {"gamma_samples": 0.5, "gamma_features": 0.2, "tol": 1e-13, "max_iter": 100_000}
    U = solve_frpcag(X, L_s, L_f, loss="log_cosh", huber_delta=0.7, compiled=compiled, **options).X
    slope = np.where(np.isnan(X), 0, np.tanh((U - X) / 0.7))
    assert_allclose(slope + TwoGraphSmoothness(L_s, L_f, 0.5, 0.2).grad(U), 0, atol=1e-8)


@pytest.mark.parametrize("code", [-1, 3, 7])
def test_a_code_without_a_compiled_loop_runs_in_numpy(monkeypatch, rng, code):
    X, L = rng.standard_normal((12, 9)), random_graph(12, spread=1.0).unit_laplacian()
    options = {"gamma_samples": 0.5, "gamma_features": 0.0, "loss": "log_cosh", "tol": 1e-8}
    plain = solve_frpcag(X, L, None, **options).X
    monkeypatch.setattr(LogCosh, "kernel", code)
    assert_array_equal(solve_frpcag(X, L, None, compiled=True, **options).X, plain)


@pytest.mark.parametrize("missing", [False, True])
def test_scores_under_a_loss_from_outside_are_optimal(rng, missing):
    C = np.linalg.qr(rng.standard_normal((30, 3)))[0].T
    X = rng.standard_normal((20, 3)) @ C + 0.1 * rng.standard_normal((20, 30))
    X[rng.random(X.shape) < 0.1] += 20
    X[rng.random(X.shape) < 0.2 * missing] = np.nan
    S = robust_scores(X, C, loss="log_cosh", huber_delta=0.2, tol=1e-12, max_iter=2000)
    slope = np.nan_to_num(np.tanh((X - S @ C) / 0.2))
    assert_allclose(slope @ C.T, 0, atol=1e-6)


@pytest.mark.parametrize("Estimator", [CompressivePCA, FastRobustPCAOnGraphs])
def test_estimators_take_a_loss_from_outside(Estimator):
    data = make_low_rank_on_graphs(120, 40, rank=3, outliers=0.05, random_state=0)
    model = Estimator(3, loss="log_cosh", huber_delta=0.05, random_state=0).fit(data.X)
    close = Estimator(3, loss="huber", huber_delta=0.05, random_state=0).fit(data.X)
    assert np.linalg.norm(np.asarray(model.low_rank_) - np.asarray(close.low_rank_)) < 0.05 * np.linalg.norm(data.X)
    scores = model.transform(data.X)
    assert np.linalg.norm(scores - close.transform(data.X)) < 0.05 * np.linalg.norm(scores)


def test_clustering_takes_a_loss_from_outside(blobs):
    X, _ = blobs
    labels = (CompressiveClustering(3, loss=loss, random_state=0).fit(X).labels_ for loss in ("log_cosh", "l1"))
    assert len({*zip(*(found.tolist() for found in labels), strict=True)}) == 3  # the same partition
