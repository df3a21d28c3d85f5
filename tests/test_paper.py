"""The literal algorithms of the paper: what they solve, checked without the rest of the package."""

import inspect

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import graphlowrank
from graphlowrank import paper
from helpers import random_graph


def problem(p=6, n=9, seed=0):
    Y = np.random.default_rng(seed).standard_normal((p, n))
    return Y, *(paper.laplacian(random_graph(m, seed=seed + m, spread=0.5).weights) for m in (p, n))


def test_a_reader_opens_one_short_file_that_imports_nothing_of_the_package():
    text = inspect.getsource(paper)
    assert len(text.splitlines()) < 250
    assert [line for line in text.splitlines() if line.startswith("from .")] == [
        "from ._typing import Array, RandomState"
    ]
    assert graphlowrank.paper is paper


def test_edge_weights_by_hand():
    # On a line at 0, 1, 3: the nearest of 0 is 1, of 1 is 0, of 3 is 1; sigma^2 is their mean distance 4 / 3.
    W = paper.weights(np.array([[0.0], [1.0], [3.0]]), 1).toarray()
    near, far = np.exp(-1 / (4 / 3)), np.exp(-4 / (4 / 3))
    assert_allclose(W, [[0, near, 0], [near, 0, far], [0, far, 0]])


@given(seed=st.integers(0, 999))
@settings(max_examples=20, deadline=None)
def test_laplacians_and_their_schur_complements(seed):
    W = random_graph(12, seed=seed, spread=0.5).weights
    Omega = paper.sample(12, 5, seed)
    for normalized in (False, True):
        L = paper.laplacian(W, normalized=normalized)
        assert_allclose(L.diagonal(), np.ones(12) if normalized else W.sum(axis=1), rtol=1e-12)
        # The inverse of a Schur complement is the block of the inverse.
        regular = L + sp.diags_array(np.full(12, 0.1))
        inverse = np.linalg.inv(regular.toarray())[np.ix_(Omega, Omega)]
        assert_allclose(paper.kron(sp.csr_array(regular), Omega), np.linalg.inv(inverse), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("gammas", [(0.3, 0.7), (0.0, 2.0), (4.0, 0.1)])
def test_algorithm_1_minimizes_equation_4(gammas):
    Y, L_r, L_c = problem()
    (gamma_r, gamma_c), X = gammas, cp.Variable(Y.shape)
    roots = [np.linalg.cholesky(L.toarray() + 1e-13 * np.eye(len(L.toarray()))) for L in (L_r, L_c)]
    smooth = gamma_r * cp.sum_squares(roots[0].T @ X) + gamma_c * cp.sum_squares(X @ roots[1])
    cp.Problem(cp.Minimize(cp.sum(cp.abs(Y - X)) + smooth)).solve(solver="CLARABEL")
    found = paper.frpcag(Y, L_r.toarray(), L_c.toarray(), gamma_r, gamma_c, epsilon=1e-24, J=20000)
    assert_allclose(found, X.value, atol=1e-5)


def test_algorithm_1_stops_by_the_printed_rule():
    """One iteration more changes Z by less than sqrt(epsilon) of its norm; no epsilon below stops it there."""
    Y, L_r, L_c = problem()
    runs = [paper.frpcag(Y, L_r.toarray(), L_c.toarray(), 1, 1, epsilon=0, J=J) for J in range(1, 60)]
    stopped = paper.frpcag(Y, L_r.toarray(), L_c.toarray(), 1, 1, epsilon=1e-4)
    at = next(J for J, X in enumerate(runs, 1) if np.array_equal(X, stopped))
    assert 1 < at < 59
    t, Z, change = 1.0, Y, []
    step = 1 / (2 * np.linalg.norm(L_r.toarray(), 2) + 2 * np.linalg.norm(L_c.toarray(), 2))
    for S, last in zip(runs, [Y, *runs], strict=False):  # the extrapolated points from the iterates
        back = Z - step * 2 * (Z @ L_c + L_r @ Z) - Y
        assert_allclose(S, Y + np.sign(back) * np.maximum(abs(back) - step, 0), atol=1e-12)
        t_next = (1 + np.sqrt(1 + 4 * t**2)) / 2
        Z, before, t = S + (t - 1) / t_next * (S - last), Z, t_next
        change.append(np.sum((Z - before) ** 2) / np.sum(before**2))
    assert next(J for J, value in enumerate(change, 1) if value < 1e-4) == at


def test_upsampled_signals_are_harmonic():
    L = paper.laplacian(random_graph(15, seed=3, spread=0.5).weights)
    Omega, R = paper.sample(15, 6, 0), np.random.default_rng(0).standard_normal((6, 2))
    S = paper.upsample(L, Omega, R)
    assert_array_equal(S[Omega], R)
    assert_allclose((L @ S)[paper.others(15, Omega)], 0, atol=1e-12)


def test_algorithm_2_without_compression_truncates():
    Y, L_r, L_c = problem(p=7, n=8)
    U, s, Vt = np.linalg.svd(Y)
    s[5:] = 0.05 * s[0]
    Y = (U * s[:7]) @ Vt[:7]
    everything = np.arange(7), np.arange(8)
    X = paper.decode(Y, L_r, L_c, *everything)
    assert_allclose(X, (U[:, :5] * s[:5]) @ Vt[:5], atol=1e-10)
    assert_allclose(paper.decode(Y, L_r, L_c, *everything, delta=0.75), 2 * X, atol=1e-10)


def test_algorithm_2_scales_by_the_isometry_constant():
    Y, L_r, L_c = problem(p=10, n=14)
    Omega_r, Omega_c = paper.sample(10, 5, 0), paper.sample(14, 7, 0)
    X_small = Y[np.ix_(Omega_r, Omega_c)]
    X = paper.decode(X_small, L_r, L_c, Omega_r, Omega_c)
    k = int(np.sum(np.linalg.svd(X_small, compute_uv=False) >= 0.1 * np.linalg.norm(X_small, 2)))
    assert np.linalg.matrix_rank(X) == k
    flat = paper.decode(X_small[:, :1] @ np.ones((1, 7)), L_r, L_c, Omega_r, Omega_c)
    # Unit vectors, so the norm is Sigma: sqrt(10 14 / (5 7)) times that of the compressed matrix.
    assert_allclose(np.linalg.norm(flat), 2 * np.linalg.norm(X_small[:, :1]) * np.sqrt(7))


def test_the_whole_method_finds_separated_groups():
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(3), 30)
    Y = 3 * np.eye(3).repeat(4, axis=0)[:, truth]
    Y = Y + 0.3 * rng.standard_normal(Y.shape)
    for normalized in (False, True):
        found = paper.cluster(Y, 3, 0.1, 1.0, 2, 1, normalized=normalized, random_state=0)
        assert len(set(zip(truth, found, strict=True))) == len(set(found)) == 3
    X = paper.recover(Y, 0.01, 0.1, 2, 1, random_state=0)
    clean = 3 * np.eye(3).repeat(4, axis=0)[:, truth]
    assert np.linalg.norm(X - clean) < np.linalg.norm(Y - clean)
