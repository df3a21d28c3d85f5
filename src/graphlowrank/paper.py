"""Algorithms 1, 2 and 3 of the paper as printed: the reference that the fast implementation is tested against.

*Compressive PCA for Low-Rank Matrices on Graphs* (Shahid, Perraudin, Puy, Vandergheynst). Read it beside the paper:
this file alone uses its orientation and symbols. **Y is p x n, features x samples**, subscript r belongs to its rows
(features) and c to its columns (samples); numbers in parentheses are those of the paper's equations.

    recover(Y, ...)   steps 1 to 6 of Table I: the low-rank matrix X (p, n)
    cluster(Y, ...)   steps 1 to 5 and 7: a cluster for each column of Y

Nothing is centered, rescaled or chosen here. The paper's experiments standardize the features first, and choose the
gammas with the true labels. ``CompressivePCA.as_published`` and ``CompressiveClustering.as_published`` have the same
answers, for large data; docs/deviations.md lists what their defaults do instead. Where the print is open:

    which Laplacian    "the Laplacian" is D - W; the normalized one is defined beside it: ``normalized=True``
    k of Algorithm 2   "the number of entries above a threshold" (Section V-C), a tenth of the first (Algorithm 2)
    output             "U_{j+1}" of Algorithm 1 does not exist; S_j does
    delta, epsilon     not given: 0 (its ideal value), and 1e-6 (a relative change of 1e-3)
    k-means            starts not given: ten
"""

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu
from scipy.spatial import KDTree
from sklearn.cluster import KMeans
from sklearn.utils import check_random_state

from ._typing import Array, RandomState


def weights(points: Array, K: int = 10) -> sp.csr_array:
    """Edge weights W (m, m) between m points (rows): Section I, and "Graph Construction" in Section VII-A."""
    distances, neighbors = KDTree(points).query(points, K + 1)  # the nearest is the point itself, or a copy of it
    distances, neighbors = distances[:, 1:], neighbors[:, 1:]
    sigma2 = distances.mean()  # "sigma^2 ... set to the average distance of the K-nearest neighbors"
    values = np.exp(-(distances**2) / sigma2)  # W_ij = exp(-||y_i - y_j||^2 / sigma^2)
    m = len(points)
    W = sp.csr_array((values.ravel(), neighbors.ravel(), np.arange(0, m * K + 1, K)), shape=(m, m))
    W = W.maximum(W.T).tocsr()  # "if y_j is connected to y_i or vice versa"
    W.setdiag(0)
    W.eliminate_zeros()
    return W


def laplacian(W: sp.csr_array, *, normalized: bool = False) -> sp.csr_array:
    """``L = D - W``, or its normalized form ``D^-1/2 (D - W) D^-1/2`` (Section I)."""
    degrees = np.asarray(W.sum(axis=1)).ravel()  # D_ii = sum_j W_ij
    L = sp.diags_array(degrees) - W
    if normalized:
        root = sp.diags_array(np.divide(1, np.sqrt(degrees), out=np.zeros_like(degrees), where=degrees > 0))
        L = root @ L @ root
    return sp.csr_array(L)


def sample(n: int, rho: int, random_state: RandomState = None) -> Array:
    """Omega (rho,): indices drawn uniformly without replacement (1), in increasing order."""
    return np.sort(check_random_state(random_state).choice(n, rho, replace=False))


def others(n: int, Omega: Array) -> Array:
    """Complement of Omega in 0 ... n - 1."""
    return np.setdiff1d(np.arange(n), Omega)


def kron(L: sp.csr_array, Omega: Array) -> Array:
    """``L(O, O) - L(O, N) L(N, N)^-1 L(N, O)`` with N the complement of O = Omega (Section IV-A)."""
    N = others(L.shape[0], Omega)
    reduced = L[Omega][:, Omega].toarray()
    if len(N):
        reduced -= L[Omega][:, N] @ splu(L[N][:, N].tocsc()).solve(L[N][:, Omega].toarray())
    return reduced


def frpcag(
    Y: Array, L_r: Array, L_c: Array, gamma_r: float, gamma_c: float, *, epsilon: float = 1e-6, J: int = 1000
) -> Array:
    """Solve ``min_X ||Y - X||_1 + gamma_c tr(X L_c X^T) + gamma_r tr(X^T L_r X)`` (4) by Algorithm 1."""

    def gradient(Z: Array) -> Array:  # of g
        return 2 * (gamma_c * Z @ L_c + gamma_r * L_r @ Z)

    def prox(Z: Array, step: float) -> Array:  # of step * h, h(Z) = ||Y - Z||_1
        return Y + np.sign(Z - Y) * np.maximum(np.abs(Z - Y) - step, 0)

    beta = float(2 * gamma_c * np.linalg.norm(L_c, 2) + 2 * gamma_r * np.linalg.norm(L_r, 2))  # beta'
    if beta == 0:
        return Y.copy()  # no smoothness is asked for
    step = 1 / beta  # lambda_j
    Z, S_last, t = Y, Y, 1.0  # Z_1, S_0, t_1
    for _ in range(J):
        S = prox(Z - step * gradient(Z), step)
        t_next = (1 + np.sqrt(1 + 4 * t**2)) / 2
        Z_next = S + (t - 1) / t_next * (S - S_last)
        stop = np.sum((Z_next - Z) ** 2) < epsilon * np.sum(Z**2)
        Z, S_last, t = Z_next, S, t_next
        if stop:
            break
    return S


def upsample(L: sp.csr_array, Omega: Array, R: Array) -> Array:
    """``argmin_S tr(S^T L S)  s.t.  M S = R`` (17), by Lemma 1: ``S_a = -L_aa^-1 L_ab R`` (18, 24)."""
    a = others(L.shape[0], Omega)
    S = np.zeros((L.shape[0], R.shape[1]))
    S[Omega] = R
    if len(a):
        S[a] = -splu(L[a][:, a].tocsc()).solve(L[a][:, Omega] @ R)
    return S


def decode(
    X_small: Array, L_r: sp.csr_array, L_c: sp.csr_array, Omega_r: Array, Omega_c: Array, *, delta: float = 0.0
) -> Array:
    """Algorithm 2: the full low-rank matrix X (p, n) from the compressed one (rho_r, rho_c)."""
    U_small, Sigma_small, Vt_small = np.linalg.svd(X_small, full_matrices=False)  # 1
    k = int(np.sum(Sigma_small >= 0.1 * Sigma_small[0]))  # 2: the next one has Sigma_kk / Sigma_11 < 0.1
    U = upsample(L_r, Omega_r, U_small[:, :k])  # 3 (16)
    V = upsample(L_c, Omega_c, Vt_small[:k].T)
    U, V = U / np.linalg.norm(U, axis=0), V / np.linalg.norm(V, axis=0)  # 4
    p, n, (rho_r, rho_c) = L_r.shape[0], L_c.shape[0], X_small.shape
    Sigma = np.sqrt(n * p / (rho_r * rho_c * (1 - delta))) * Sigma_small[:k]  # 5
    return (U * Sigma) @ V.T  # 6


def decode_labels(
    X_small: Array, L_c: sp.csr_array, Omega_c: Array, k: int, *, n_init: int = 10, random_state: RandomState = None
) -> Array:
    """Algorithm 3: a cluster for each of n samples from the compressed low-rank matrix (rho_r, rho_c)."""
    labels = KMeans(k, n_init=n_init, random_state=random_state).fit(X_small.T).labels_  # 1
    C_small = np.eye(k)[labels]
    C = upsample(L_c, Omega_c, C_small)  # 2 (23)
    return C.argmax(axis=1)  # 3: maximum pooling


def compress(
    Y: Array, L_r: sp.csr_array, L_c: sp.csr_array, Omega_r: Array, Omega_c: Array, gamma_r: float, gamma_c: float,
    **options: Any,
) -> Array:  # fmt: skip
    """Sample Y, reduce both Laplacians and solve FRPCAG (steps 3 to 5 of Table I); X_small (rho_r, rho_c)."""
    Y_small = Y[np.ix_(Omega_r, Omega_c)]  # M_r Y M_c
    return frpcag(Y_small, kron(L_r, Omega_r), kron(L_c, Omega_c), gamma_r, gamma_c, **options)


def prepare(
    Y: Array, a: float, b: float, *, K: int = 10, normalized: bool = False, random_state: RandomState = None
) -> tuple[sp.csr_array, sp.csr_array, Array, Array]:
    """Build both graphs and draw for CPCA (a, b) (steps 1 and 2 of Table I); L_r, L_c, Omega_r, Omega_c."""
    rng = check_random_state(random_state)
    p, n = Y.shape
    L_c = laplacian(weights(Y.T, min(K, n - 1)), normalized=normalized)
    L_r = laplacian(weights(Y, min(K, p - 1)), normalized=normalized)
    Omega_c, Omega_r = sample(n, round(n / a), rng), sample(p, round(p / b), rng)
    return L_r, L_c, Omega_r, Omega_c


def recover(
    Y: Array, gamma_r: float, gamma_c: float, a: float, b: float, *, delta: float = 0.0, epsilon: float = 1e-6,
    **options: Any,
) -> Array:  # fmt: skip
    """CPCA (a, b) for low-rank recovery: keep n / a samples and p / b features; ``options`` of :func:`prepare`.

    Examples
    --------
    >>> Y = np.outer(np.linspace(1, 2, 30), np.sin(np.arange(40) / 6))
    >>> X = recover(Y, gamma_r=0.1, gamma_c=0.1, a=2, b=2, random_state=0)
    >>> X.shape, int(np.linalg.matrix_rank(X))
    ((30, 40), 1)
    """
    L_r, L_c, Omega_r, Omega_c = prepare(Y, a, b, **options)
    X_small = compress(Y, L_r, L_c, Omega_r, Omega_c, gamma_r, gamma_c, epsilon=epsilon)
    return decode(X_small, L_r, L_c, Omega_r, Omega_c, delta=delta)


def cluster(
    Y: Array, k: int, gamma_r: float, gamma_c: float, a: float, b: float, *, epsilon: float = 1e-6, n_init: int = 10,
    random_state: RandomState = None, **options: Any,
) -> Array:  # fmt: skip
    """CPCA (a, b) for clustering: labels (n,) of the columns of Y; ``options`` of :func:`prepare`.

    Examples
    --------
    >>> Y = np.repeat([[0.0, 5.0], [5.0, 0.0]], 20, axis=1) + np.random.default_rng(0).standard_normal((2, 40))
    >>> labels = cluster(Y, 2, gamma_r=0, gamma_c=1, a=2, b=1, random_state=0)
    >>> np.unique(labels[:20]).size, np.unique(labels[20:]).size
    (1, 1)
    """
    rng = check_random_state(random_state)
    L_r, L_c, Omega_r, Omega_c = prepare(Y, a, b, random_state=rng, **options)
    X_small = compress(Y, L_r, L_c, Omega_r, Omega_c, gamma_r, gamma_c, epsilon=epsilon)
    return decode_labels(X_small, L_c, Omega_c, k, n_init=n_init, random_state=rng)
