"""Images from few measurements: the solver against others, certificates of optimality, and the choice of gamma."""

import sys

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.interpolate import NearestNDInterpolator
from scipy.ndimage import gaussian_filter
from scipy.optimize import nnls
from scipy.sparse.linalg import LinearOperator, aslinearoperator, lsqr

from graphlowrank.datasets import shepp_logan_phantom
from graphlowrank.metrics import psnr
from graphlowrank.solvers import bounded_cg
from graphlowrank.tomography import (
    entry_sampling,
    fourier_sampling,
    gaussian_projections,
    projection_matrix,
    radial_mask,
    reconstruct,
)
from graphlowrank.tomography import reconstruct as front_door
from graphlowrank.tomography.problem import HuberLoss, Measurements, Smoothness, descend, objective, optimality
from graphlowrank.tomography.reconstruct import GAMMAS, PATIENCE, gamma_path

N = 24
ANGLES = np.arange(0, 180, 10)
GIVEN = {"gamma_features": 0.1, "gamma_samples": 0.1, "chain": 0.3}


@pytest.fixture(scope="module")
def phantom():
    return shepp_logan_phantom(N)


@pytest.fixture(scope="module", name="A")
def projections():
    return projection_matrix((N, N), ANGLES)


@pytest.fixture
def one_split(monkeypatch):
    """Validate once instead of four times, where the test is not of how well that chooses."""
    monkeypatch.setattr(sys.modules[reconstruct.__module__], "MAX_SPLITS", 1)


# --- conjugate gradients with a bound ----------------------------------------------------------------------------


@given(seed=st.integers(0, 9999), m=st.integers(5, 40), n=st.integers(1, 30), alike=st.sampled_from([0.0, 3.0]))
@example(seed=0, m=10, n=20, alike=3.0)  # columns are nearly the same: a step that is cut off at zero may climb
@settings(max_examples=60, deadline=None)
def test_bounded_cg_agrees_with_nnls_and_never_climbs(seed, m, n, alike):
    rng = np.random.default_rng(seed)
    B, y = alike + rng.standard_normal((m + n, n)), rng.standard_normal(m + n) + alike
    H, right = B.T @ B, B.T @ y
    norm = float(np.linalg.eigvalsh(H)[-1])
    found = bounded_cg(lambda v: H @ v, right, rng.random(n), norm=norm, nonnegative=True, tol=1e-9, max_iter=9999)
    assert found.converged
    assert_allclose(found.X, nnls(B, y)[0], atol=1e-6)
    assert np.all(np.diff(found.objective) <= 1e-10)
    assert found.X.min() >= 0
    free = bounded_cg(lambda v: H @ v, right, np.zeros(n), norm=norm, tol=1e-10)
    assert_allclose(free.X, np.linalg.solve(H, right), atol=1e-6)
    assert_allclose(free.objective[-1], -0.5 * right @ np.linalg.solve(H, right), atol=1e-6)


def test_bounded_cg_bears_a_singular_matrix_and_counts_its_products():
    B = np.ones((3, 5))
    calls = []
    found = bounded_cg(lambda v: calls.append(1) or B.T @ (B @ v), B.T @ np.ones(3), np.zeros(5), norm=15.0)
    assert_allclose(B @ found.X, 1)
    assert len(calls) == found.n_iter
    short = bounded_cg(lambda v: np.arange(1, 50) * v, np.ones(49), np.zeros(49), norm=49.0, tol=1e-12, max_iter=3)
    assert (short.converged, short.n_iter) == (False, 3)


# --- the problem for fixed graphs --------------------------------------------------------------------------------


def fixed_problem(A, phantom, *, gamma=0.1, seed=0):
    rng = np.random.default_rng(seed)
    b = A @ phantom.ravel() + 0.02 * rng.standard_normal(A.shape[0])
    data = Measurements.of(A, b, phantom.shape)
    return data, Smoothness.around(phantom + 0.1 * rng.random(phantom.shape), 3, 0.3, (gamma, 2 * gamma), data.unit)


def test_the_answer_for_fixed_graphs_is_that_of_dense_algebra(A, phantom):
    data, smooth = fixed_problem(A, phantom)
    found = descend(data, smooth, HuberLoss(), np.zeros(N * N), nonnegative=False, tol=1e-9, max_iter=5000)
    L_rows, L_columns = smooth.rows.toarray(), smooth.columns.toarray()
    dense = A.toarray()
    H = dense.T @ dense + smooth.gamma_features * np.kron(L_rows, np.eye(N))
    H += smooth.gamma_samples * np.kron(np.eye(N), L_columns)
    # Corners that no ray sees: compare where the answer is determined, by its objective.
    exact = np.linalg.lstsq(H, dense.T @ data.b, rcond=None)[0]
    values = [objective(data, smooth, HuberLoss(), x) for x in (found.X, exact)]
    assert values[0] == pytest.approx(values[1], rel=1e-9)
    assert found.objective[-1] == pytest.approx(values[0], rel=1e-9)  # what it says it reached
    X = found.X.reshape(N, N)
    by_hand = np.sum((dense @ found.X - data.b) ** 2) + smooth.gamma_features * np.trace(X.T @ L_rows @ X)
    assert values[0] == pytest.approx(by_hand + smooth.gamma_samples * np.trace(X @ L_columns @ X.T))
    assert np.linalg.eigvalsh(H)[-1] <= data.norm + smooth.norm


@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("loss", ["l2", "huber", "l1"])
def test_the_certificate_holds_at_the_answer_and_nowhere_near_it(A, phantom, loss, nonnegative):
    data, smooth = fixed_problem(A, phantom)
    form = HuberLoss.named(loss, 0.02 * np.random.default_rng(0).standard_normal(999), np.ones(1))
    x, values = np.zeros(N * N), []
    for _ in range(200 if loss != "l2" else 1):
        x = descend(data, smooth, form, x, nonnegative=nonnegative, tol=1e-8, max_iter=3000).X
        values.append(objective(data, smooth, form, x))
    assert optimality(data, smooth, form, x, nonnegative=nonnegative) < (1e-6 if loss == "l2" else 2e-3)
    assert np.all(np.diff(values) <= 1e-8 * values[0])
    rng = np.random.default_rng(1)
    for _ in range(10):
        other = x + 0.01 * rng.standard_normal(x.shape)
        other = np.maximum(other, 0) if nonnegative else other
        assert objective(data, smooth, form, other) > values[-1]
    assert optimality(data, smooth, form, x + 0.1, nonnegative=nonnegative) > 0.01
    assert not nonnegative or x.min() >= 0


def test_chains_are_a_share_of_the_graphs(phantom):
    alike, mixed, chains = (Smoothness.around(phantom, 3, share, (1.0, 1.0), 1.0) for share in (0.0, 0.25, 1.0))
    for name in ("rows", "columns"):
        of_chain = (2 * np.eye(N) - np.eye(N, k=1) - np.eye(N, k=-1)).clip(-1, 2)
        of_chain[0, 0] = of_chain[-1, -1] = 1
        by_hand = of_chain / np.diag(of_chain).mean()
        assert_allclose(getattr(chains, name).toarray(), by_hand)
        assert_allclose(
            getattr(mixed, name).toarray(), 0.25 * by_hand + 0.75 * getattr(alike, name).toarray(), atol=1e-12
        )
    assert_array_equal(Smoothness.around(0 * phantom, 3, 1.0, (1.0, 1.0), 1.0).rows.toarray(), chains.rows.toarray())


def test_the_loss_is_a_square_then_a_line():
    loss = HuberLoss(2.0)
    r = np.linspace(-5, 5, 11)
    slopes = np.array([(loss.value(np.array([x + 1e-6])) - loss.value(np.array([x - 1e-6]))) / 2e-6 for x in r])
    assert_allclose(slopes, 2 * np.clip(r, -2, 2), atol=1e-4)
    assert_allclose(loss.weights(r) * r, np.clip(r, -2, 2))


def test_the_operator_is_measured_right(A):
    data = Measurements.of(aslinearoperator(A), np.ones(A.shape[0]), (N, N))
    true = np.linalg.svd(A.toarray(), compute_uv=False)[0] ** 2
    assert true <= data.norm <= 1.1 * true
    assert data.unit == pytest.approx(np.mean(A.toarray() ** 2) * A.shape[0], rel=0.2)


# --- the whole ---------------------------------------------------------------------------------------------------


def test_a_phantom_from_few_projections(A, phantom):
    b = A @ phantom.ravel()
    found = reconstruct(A, b, (N, N), nonnegative=True)
    plain = reconstruct(A, b, (N, N), nonnegative=True, gamma_features=0, gamma_samples=0)
    assert found.converged
    assert psnr(phantom, found.image) > psnr(phantom, plain.image) + 1
    for steps in found.objective:
        assert np.all(np.diff(steps) <= 1e-9 * abs(steps[0]))  # between two graphs it never grows
    assert len(found.objective) == found.n_graphs
    chosen = found.gamma_features, found.gamma_samples, found.chain
    assert chosen == min(found.tried, key=found.tried.get)
    assert found.n_iter >= found.n_graphs > 0


def scene(seed=0):
    """A photograph of a kind: blurred noise and an edge."""
    smooth = gaussian_filter(np.random.default_rng(seed).standard_normal((N, N)), 2)
    return np.clip(0.5 + smooth / np.ptp(smooth) + 0.3 * (np.arange(N) > 15), 0, None)


@pytest.mark.parametrize(("noise", "seed"), [(0.01, 0), (0.05, 0), (0.05, 1)])
def test_it_beats_least_squares_stopped_where_that_is_best(A, noise, seed):
    image = scene(seed)
    clean = A @ image.ravel()
    b = clean + noise * clean.max() * np.random.default_rng(seed).standard_normal(len(clean))
    stopped = [lsqr(A, b, atol=0, btol=0, conlim=0, iter_lim=n)[0].reshape(N, N) for n in range(1, 60)]
    found = reconstruct(A, b, (N, N), nonnegative=True, tol=1e-3)
    assert psnr(image, found.image) > max(psnr(image, np.maximum(x, 0)) for x in stopped) + 0.5


def test_noise_asks_for_chains_and_repeated_rows_do_not(A):
    rng = np.random.default_rng(0)
    noisy = A @ scene().ravel()
    noisy += 0.05 * noisy.max() * rng.standard_normal(len(noisy))
    assert reconstruct(A, noisy, (N, N), tol=1e-3).chain > 0
    lines = rng.permutation(np.arange(N) % 4)
    weave = rng.random((4, 4))[lines][:, rng.permutation(lines)]  # neighbours differ, others are the same
    assert reconstruct(A, A @ weave.ravel(), (N, N), tol=1e-3).chain == 0


def test_missing_pixels_are_told_by_their_neighbours():
    image = scene()
    seen = np.random.default_rng(0).random((N, N)) < 0.3
    B = entry_sampling(seen)
    found = reconstruct(B, B @ image.ravel(), (N, N), tol=1e-3)
    nearest = NearestNDInterpolator(np.argwhere(seen), image[seen])(*np.mgrid[:N, :N])
    assert psnr(image, found.image) > psnr(image, nearest) + 1


def test_the_way_down_ends_where_it_was_asked_to():
    assert gamma_path(None, None) == [(gamma, gamma) for gamma in GAMMAS]
    assert gamma_path(2.0, None)[-1] == (2.0, GAMMAS[-1])
    way = np.array(gamma_path(0.02, 0.2))
    assert tuple(way[-1]) == (0.02, 0.2)
    assert np.all(np.diff(way, axis=0) < 0)
    assert_allclose(way[:, 1] / way[:, 0], 10)
    assert way.max() == pytest.approx(max(GAMMAS))
    assert gamma_path(0.0, 0.0) == [(0.0, 0.0)]
    assert gamma_path(5e3, 0.0) == [(5e3, 0.0)]


def test_a_reading_that_no_other_tells_of_does_not_decide():
    image = shepp_logan_phantom(N)
    B = fourier_sampling((N, N), radial_mask((N, N), 12))
    b = B.matvec(image.ravel())
    # This seed holds out the mean, which is larger than all else.
    assert reconstruct(B, b, (N, N), nonnegative=True, tol=1e-3, chain=0.5).gamma_samples < 0.5


@pytest.mark.usefixtures("one_split")
def test_what_is_worse_and_worse_is_not_tried(A):
    image = scene()
    clean = A @ image.ravel()
    b = clean + 0.2 * clean.max() * np.random.default_rng(0).standard_normal(len(clean))
    found = reconstruct(A, b, (N, N))
    gammas = [gammas for gammas, _, _ in found.tried]
    assert min(gammas) == GAMMAS[GAMMAS.index(found.gamma_samples) + PATIENCE]


@pytest.mark.usefixtures("one_split")
def test_a_chosen_gamma_given_gives_the_same_image(A, phantom):
    b = A @ phantom.ravel()
    auto = reconstruct(A, b, (N, N))
    given = reconstruct(A, b, (N, N), gamma_features=auto.gamma_features, gamma_samples=auto.gamma_samples)
    assert given.chain == auto.chain
    assert psnr(auto.image, given.image) > 40  # not to rounding: see below


@pytest.mark.parametrize("kind", [np.asarray, sp.csc_array, aslinearoperator])
def test_any_kind_of_operator_gives_the_same_image(A, phantom, kind):
    b = A @ phantom.ravel()
    other = A.toarray() if kind is np.asarray else A
    ours, theirs = (reconstruct(B, b, (N, N), **GIVEN).image for B in (A, kind(other)))
    assert psnr(ours, theirs) > 30  # not to rounding: which of two equal rows is nearer is a matter of it


def test_units_do_not_matter(A, phantom):
    b = A @ phantom.ravel()
    one = reconstruct(A, b, (N, N), **GIVEN, tol=1e-6, max_iter=5000)
    other = reconstruct(30 * A, 1e4 * b, (N, N), **GIVEN, tol=1e-6, max_iter=5000)
    assert_allclose(other.image, 1e4 / 30 * one.image, rtol=1e-3, atol=1e4 / 30 * 1e-3)


def test_missing_readings_are_left_out(A, phantom):
    b = A @ phantom.ravel()
    gone = np.random.default_rng(0).random(len(b)) < 0.2
    with_gaps = reconstruct(A, np.where(gone, np.nan, b), (N, N), **GIVEN)
    without = reconstruct(A[~gone], b[~gone], (N, N), **GIVEN)
    assert_allclose(with_gaps.image, without.image, atol=1e-8)


@pytest.mark.parametrize("loss", ["huber", "l1"])
def test_gross_errors_in_readings_are_borne(A, phantom, loss):
    rng = np.random.default_rng(0)
    b = A @ phantom.ravel()
    b[rng.random(len(b)) < 0.05] += 30
    options = GIVEN | {"nonnegative": True, "tol": 1e-3, "max_iter": 2000}
    robust, plain = (reconstruct(A, b, (N, N), loss=kind, **options).image for kind in (loss, "l2"))
    assert psnr(phantom, robust) > psnr(phantom, plain) + 5


def test_a_robust_loss_bears_readings_that_are_explained_at_once(phantom):
    B = entry_sampling(np.random.default_rng(0).random((N, N)) < 0.7)
    options = {"gamma_features": 0.01, "gamma_samples": 0.01, "max_iter": 2000, "tol": 1e-3}
    found = reconstruct(B, B @ phantom.ravel(), (N, N), loss="huber", **options)
    assert found.converged
    for steps in found.objective:
        assert np.all(np.diff(steps) <= 1e-9 * abs(steps[0]))
    assert np.mean((found.image - phantom) ** 2) < 0.3 * np.mean(phantom**2)


@pytest.mark.parametrize("kind", ["entries", "gaussian", "fourier"])
def test_other_measurements(phantom, kind):
    rng = np.random.default_rng(0)
    operators = {
        "entries": lambda: entry_sampling(rng.random((N, N)) < 0.7),
        "gaussian": lambda: gaussian_projections((N, N), 250, random_state=0),
        "fourier": lambda: fourier_sampling((N, N), radial_mask((N, N), 12)),
    }
    B = aslinearoperator(operators[kind]())
    b = B.matvec(phantom.ravel())
    found = reconstruct(B, b, (N, N), nonnegative=True)
    least = reconstruct(B, b, (N, N), gamma_features=0, gamma_samples=0)
    assert psnr(phantom, found.image) > psnr(phantom, least.image) + 0.5


def test_more_noise_asks_for_more_smoothing(A, phantom):
    rng = np.random.default_rng(0)
    b = A @ phantom.ravel()
    unit = rng.standard_normal(len(b))
    for known in (False, True):
        gammas = [
            reconstruct(A, b + sd * unit, (N, N), chain=0.5, noise=sd if known else None, tol=1e-3).gamma_samples
            for sd in (0.05, 1.0)
        ]
        assert gammas[1] > gammas[0]


@pytest.mark.usefixtures("one_split")
def test_the_discrepancy_is_met(A, phantom):
    sd = 0.3
    b = A @ phantom.ravel() + sd * np.random.default_rng(0).standard_normal(A.shape[0])
    found = reconstruct(A, b, (N, N), nonnegative=True, noise=sd)
    assert np.sqrt(np.mean((A @ found.image.ravel() - b) ** 2)) <= 1.02 * sd
    *smoother, chosen = found.tried.values()
    assert chosen <= sd < min(smoother)
    sharpest = reconstruct(A, b, (N, N), noise=1e-9, chain=0.5, n_neighbors=1)  # none fits
    assert sharpest.gamma_samples == min(GAMMAS)


@pytest.mark.usefixtures("one_split")
def test_it_repeats(A, phantom):
    b, given = A @ phantom.ravel(), {"gamma_features": 3.0, "gamma_samples": 3.0, "tol": 1e-3}
    one, two = (reconstruct(A, b, (N, N), n_jobs=n, **given) for n in (1, 2))
    assert_array_equal(one.image, two.image)
    assert one.tried == two.tried


@pytest.mark.usefixtures("one_split")
@pytest.mark.parametrize("shape", [(1, 9), (9, 1), (2, 3), (4, 4)])
def test_tiny_images(shape):
    n = shape[0] * shape[1]
    image = np.arange(n, dtype=float)
    found = reconstruct(np.eye(n), image, shape, gamma_features=1e-6, gamma_samples=1e-6)
    assert_allclose(found.image.ravel(), image, atol=1e-3 * n)


def test_too_few_iterations_are_reported(A, phantom):
    with pytest.warns(UserWarning, match="reconstruct did not converge"):
        found = reconstruct(A, A @ phantom.ravel(), (N, N), **GIVEN, tol=1e-12, max_iter=1)
    assert not found.converged


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"b": np.zeros(5)}, "b must have a reading for each of the"),
        ({"b": np.full(N * len(ANGLES), np.inf)}, "infinite readings"),
        ({"b": np.full(N * len(ANGLES), np.nan)}, "every reading in b is missing"),
        ({"shape": (N, N + 1)}, "columns"),
        ({"gamma_samples": -1}, "gamma_samples must be 'auto' or a number >= 0"),
        ({"gamma_features": "big"}, "gamma_features must be"),
        ({"chain": 1.5}, "chain must be 'auto' or a number from 0 to 1"),
        ({"noise": 0.0}, "noise must be"),
        ({"loss": "cauchy"}, "loss must be 'l2', 'l1' or 'huber'"),
        ({"n_neighbors": 0}, "n_neighbors must be a positive integer"),
        ({"tol": 0}, "tol must be between 0 and 1"),
        ({"max_iter": 2.5}, "max_iter must be a positive integer"),
    ],
)
def test_bad_input_is_named(A, phantom, change, text):
    given = {"A": A, "b": A @ phantom.ravel(), "shape": (N, N)} | change
    with pytest.raises(ValueError, match=text):
        front_door(given.pop("A"), given.pop("b"), given.pop("shape"), **given)


def test_an_operator_that_sees_nothing_is_refused():
    with pytest.raises(ValueError, match="A is zero on every image"):
        reconstruct(np.zeros((4, 9)), np.ones(4), (3, 3))


def test_a_wrong_adjoint_is_refused(A):
    wrong = LinearOperator(A.shape, matvec=lambda v: A @ v, rmatvec=lambda v: 2 * (A.T @ v), dtype=float)
    with pytest.raises(ValueError, match="rmatvec is not the transpose of matvec"):
        reconstruct(wrong, np.ones(A.shape[0]), (N, N))
