"""Small graphs and data, dense twins, and the invariants that tests check."""

import signal
import subprocess
import threading
from contextlib import contextmanager

import numpy as np
import scipy.sparse as sp
from hypothesis import strategies as st

from graphlowrank.graphs import Graph, knn_graph
from graphlowrank.preprocessing.sparse import ShiftedSparse


def random_graph(n=12, density=0.4, seed=0, *, connected=True, spread=2.0):
    """Graph with log-normal edge weights of standard deviation ``spread``; a path makes it connected."""
    rng = np.random.default_rng(seed)
    W = np.triu(rng.random((n, n)) < density, 1) * np.exp(spread * rng.standard_normal((n, n)))
    if connected:
        ring = np.arange(n)
        W[ring[:-1], ring[1:]] = np.maximum(W[ring[:-1], ring[1:]], 0.5)
    return Graph(sp.csr_array(W + W.T))


def disjoint(*graphs):
    return Graph(sp.csr_array(sp.block_diag([g.weights for g in graphs])))


def assert_is_laplacian(L):
    L = L.toarray() if sp.issparse(L) else L
    scale = np.abs(L).max()
    assert np.abs(L - L.T).max() <= 1e-12 * scale
    assert np.abs(L.sum(axis=1)).max() <= 1e-10 * scale
    assert np.all(L - np.diag(np.diag(L)) <= 1e-12 * scale)
    assert np.linalg.eigvalsh(L)[0] >= -1e-10 * scale


def effective_resistances(L):
    """Matrix of R_ij = (e_i - e_j)^T L^+ (e_i - e_j)."""
    P = np.linalg.pinv(L.toarray() if sp.issparse(L) else L, hermitian=True)
    d = np.diag(P)
    return d[:, None] + d[None, :] - 2 * P


def dense_laplacian(graph):
    return graph.unit_laplacian().toarray()


def dense_fit(side, values, gamma, power=1):
    """Fit under the penalty ``gamma tr(S^T L^power S)`` by dense algebra."""
    n = side.graph.n_nodes
    w = np.zeros(n)
    w[side.indices] = 1 if side.weights is None else side.weights
    right = np.zeros((n, values.shape[1]))
    right[side.indices] = w[side.indices, None] * values
    return np.linalg.solve(np.diag(w) + gamma * np.linalg.matrix_power(dense_laplacian(side.graph), power), right)


def dense_upsample(graph, keep, values):
    """Lemma 1 by dense algebra: S_a = -L_aa^-1 L_ab R."""
    L = graph.laplacian().toarray()
    drop = np.setdiff1d(np.arange(len(L)), keep)
    S = np.empty((len(L), values.shape[1]))
    S[keep] = values
    S[drop] = -np.linalg.solve(L[np.ix_(drop, drop)], L[np.ix_(drop, keep)] @ values)
    return S


def with_missing(X, share, seed=0):
    """Copy of X with a share of its entries replaced by NaN."""
    X = np.array(X, dtype=X.dtype if X.dtype.kind == "f" else float)
    X[np.random.default_rng(seed).random(X.shape) < share] = np.nan
    return X


def with_outliers(seed=0, *, n=400, p=30, share=0.05, noise=0.1, size=15):
    """Rank 3 with noise and outliers, the same without outliers, and where they are."""
    rng = np.random.default_rng(seed)
    clean = rng.standard_normal((n, 3)) @ rng.standard_normal((3, p)) + noise * rng.standard_normal((n, p))
    hit = rng.random(clean.shape) < share
    return np.where(hit, clean + size * rng.choice([-1, 1], clean.shape), clean), clean, hit


def salt_and_pepper(X, seed=0, *, share=0.15):
    """``X`` with some entries replaced by its lowest or highest value."""
    rng = np.random.default_rng(seed)
    hit = rng.random(X.shape) < share
    return np.where(hit, np.where(rng.random(X.shape) < 0.5, X.min(), X.max()), X).astype(X.dtype)


def sparse_counts(n=300, p=120, n_groups=3, seed=0, dtype=np.float64):
    """Sparse counts of groups of samples, each with features of its own; and the groups."""
    rng = np.random.default_rng(seed)
    groups = np.arange(n) % n_groups
    rates = 0.15 + 2.5 * (np.arange(p) % n_groups == np.arange(n_groups)[:, None])
    return sp.csr_array(rng.poisson(0.4 * rates[groups]).astype(dtype)), groups


def shifted_sparse(seed, n=12, p=9, dtype=np.float64):
    """Random sparse matrix with random row and column shifts."""
    rng = np.random.default_rng(seed)
    values = sp.random_array((n, p), density=0.3, rng=rng, format="csr", dtype=dtype)
    return ShiftedSparse(values, rng.standard_normal(n).astype(dtype), rng.standard_normal(p).astype(dtype))


def waves(n=150, p=40, *, noise=0.5, outliers=0.0, seed=0):
    """Noisy samples of a closed curve in units of their standard deviation, the truth, Laplacians of the noisy data."""
    rng = np.random.default_rng(seed)
    angle = np.sort(2 * np.pi * rng.random(n))
    truth = np.column_stack([np.cos(angle), np.sin(angle)]) @ rng.standard_normal((2, p))
    truth /= truth.std()
    X = truth + noise * rng.standard_normal((n, p))
    X = np.where(rng.random(X.shape) < outliers, 10 * rng.standard_normal(X.shape), X)
    return X, truth, knn_graph(X, 10).unit_laplacian(), knn_graph(X.T.copy(), 10).unit_laplacian()


@st.composite
def matrices(draw, shape=None, size=10.0):
    shape = shape or (draw(st.integers(1, 6)), draw(st.integers(1, 6)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    scale = 10.0 ** draw(st.integers(-2, 1))
    return scale * size * rng.standard_normal(shape) / 3


def interruptible(command):
    """Start a command that Ctrl-C reaches, even where the tests run in the background of a shell, which ignores it."""

    def hear_interrupts():
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, preexec_fn=hear_interrupts)  # noqa: PLW1509


@contextmanager
def received(read):
    """Call a function that waits for data in a thread, which nobody waits for forever; yield the list of its result."""
    results = []
    thread = threading.Thread(target=lambda: results.append(read()), daemon=True)
    thread.start()
    yield results
    thread.join(timeout=10)
