"""Initial factors of a non-negative factorization."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import randomized_svd

from .._backend import Array
from ..linalg.svd import leading_svd

ROUNDING = 1e-6  # of the largest entry of a singular vector; smaller ones count as 0


def starting_factors(
    X: Any, k: int, init: str | tuple[Array, Array], rng: np.random.RandomState, unit: float
) -> tuple[Array, Array]:
    """Return initial scores, and components of norm 1; see :func:`solve_gnmf` for ``init``.

    Zeros are replaced by the root of the mean of X, so that both factors scale with the root of the data. The mean
    itself, as in the paper, would only fit data of mean 1.
    """
    n, p = X.shape
    fallback = np.full((k, p), 1 / np.sqrt(p), dtype=X.dtype)
    if not isinstance(init, str):
        S, C = (np.array(part, dtype=X.dtype) for part in init)
        return unit_components(S / X.dtype.type(unit), C, fallback)
    typical = np.sqrt(float(X.sum(dtype=np.float64)) / (n * p))
    if init == "random":
        S, C = (typical / np.sqrt(k) * np.abs(rng.standard_normal(shape)) for shape in ((n, k), (k, p)))
    else:
        S, C = _nndsvd(X, k, rng)
        for part in (S, C.T):
            # Equal columns would stay equal, so empty ones get random entries.
            empty = ~part.any(axis=0)
            part[:, empty] = typical * rng.uniform(size=(len(part), empty.sum()))
            part[part <= ROUNDING * part.max(axis=0)] = typical
    return unit_components(S.astype(X.dtype), C.astype(X.dtype), fallback)


def _nndsvd(X: Any, k: int, rng: np.random.RandomState) -> tuple[Array, Array]:
    """Positive or negative part of each leading singular pair, whichever is larger."""
    if sp.issparse(X):
        left, values, right_t = randomized_svd(X, k, random_state=rng)
        right = right_t.T
    else:
        left, values, right = leading_svd(X, k)
    S, C = np.zeros((X.shape[0], k)), np.zeros((k, X.shape[1]))
    for j in range(k):
        pairs = [(np.maximum(sign * left[:, j], 0), np.maximum(sign * right[:, j], 0)) for sign in (1, -1)]
        u, v = max(pairs, key=lambda pair: np.linalg.norm(pair[0]) * np.linalg.norm(pair[1]))
        u_length, v_length = np.linalg.norm(u), np.linalg.norm(v)
        if values[j] * u_length * v_length > np.finfo(X.dtype).eps * values[0]:
            size = np.sqrt(values[j] * u_length * v_length)
            S[:, j], C[j] = size * u / u_length, size * v / v_length
    return S, C


def unit_components(S: Array, C: Array, C_last: Array) -> tuple[Array, Array]:
    """Scale rows of C to norm 1. A row that vanished keeps its last value, with scores of 0, and may return later."""
    lengths = np.sqrt(np.einsum("ij,ij->i", C, C, dtype=np.float64)).astype(C.dtype)
    alive = lengths > 0
    C = np.where(alive[:, None], C / np.where(alive, lengths, 1)[:, None], C_last)
    return S * lengths, C
