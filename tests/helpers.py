"""Small graphs and the invariants that tests hold things to."""

import signal
import subprocess

import numpy as np
import scipy.sparse as sp
from hypothesis import strategies as st

from graphlowrank.graphs import Graph


def random_graph(n=12, density=0.4, seed=0, *, connected=True, spread=2.0):
    """Weighted graph with weights over several orders of magnitude; a ring keeps it in one piece."""
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
