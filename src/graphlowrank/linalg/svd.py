"""Leading singular triplets, and the numerical rank."""

from typing import Any

import numpy as np
from scipy.linalg import eigh
from sklearn.utils.extmath import randomized_svd

from .._threads import map_ranges, single_threaded_libraries
from .._typing import Array
from .blocks import row_blocks
from .products import gram

RANK_THRESHOLD = 0.1  # Algorithm 2, step 2: a singular value below a tenth of the first is noise
PROJECTED_ENTRIES = 250_000  # of a block of rows that is projected at a time
OVERSAMPLING, POWER_ITERATIONS = 10, 3
GRAM_UP_TO = 1500  # length of the shorter side; the dense eigenproblem takes under a second


def rank_of(singular_values: Array, threshold: float = RANK_THRESHOLD) -> int:
    """Count the singular values of at least ``threshold`` times the first (Algorithm 2, step 2)."""
    if len(singular_values) == 0 or singular_values[0] == 0:
        return 0
    return int(np.sum(singular_values >= threshold * singular_values[0]))


def leading_svd(
    X: Array, n_components: int | None = None, *, at_least: int = 1, gram_up_to: int = GRAM_UP_TO
) -> tuple[Array, Array, Array]:
    """Leading singular triplets ``(left, values, right)`` of X; None for as many as its rank, but ``at_least`` so many.

    From the Gram matrix of the shorter side, or by a randomized SVD (fixed seed) where both sides are long. Values
    under about 1e-7 of the first are not resolved. The largest entry of each right vector is positive.
    """
    if min(X.shape) <= gram_up_to:
        left, values, right = _gram_svd(X, n_components, at_least)
    else:
        left, values, right = _sketched_svd(X, n_components, at_least)
    k = max(rank_of(values), at_least) if n_components is None else n_components
    return _fix_signs(left[:, :k], values[:k], right[:, :k])


def _gram_svd(X: Array, n_components: int | None, at_least: int) -> tuple[Array, Array, Array]:
    """Singular triplets from the eigenvectors of the smaller Gram matrix, in double precision."""
    if X.shape[0] < X.shape[1]:
        right, values, left = _gram_svd(X.T, n_components, at_least)
        return left, values, right
    short = X.shape[1]
    blocks = list(row_blocks(len(X), short, entries=PROJECTED_ENTRIES))

    def project(start: int, stop: int, directions: Array, left: Array) -> None:
        for block in blocks[start:stop]:
            np.matmul(X[block], directions, out=left[block])

    with single_threaded_libraries():
        squares = gram(X, np.float64)
        if n_components is None:  # numpy releases the GIL, scipy does not
            eigenvalues, vectors = np.linalg.eigh(squares)
        else:
            eigenvalues, vectors = eigh(squares, subset_by_index=(short - n_components, short - 1))
        values = np.sqrt(np.maximum(eigenvalues[::-1], 0.0))
        k = max(rank_of(values), at_least) if n_components is None else n_components
        values, right = values[:k], np.ascontiguousarray(vectors[:, ::-1][:, :k])
        inverse = np.divide(1.0, values, out=np.zeros_like(values), where=values > 1e-7 * values[0])
        left = np.empty((len(X), k), dtype=X.dtype)
        map_ranges(project, len(blocks), (right * inverse).astype(X.dtype), left)
    return left, values.astype(X.dtype), right.astype(X.dtype)


def _sketched_svd(X: Array, n_components: int | None, at_least: int) -> tuple[Array, Array, Array]:
    """Randomized singular triplets; for the numerical rank, doubled until it is exceeded."""
    k = n_components or max(64, at_least)
    while True:
        with single_threaded_libraries():
            left, values, right_t = randomized_svd(X, min(k, *X.shape), n_iter=4, random_state=0)
        if n_components is not None or rank_of(values) < len(values) or len(values) == min(X.shape):
            return left, values, np.ascontiguousarray(right_t.T)
        k *= 2


def sketched_directions(X: Any, n_directions: int, rng: np.random.RandomState) -> Array:
    """Approximate leading right singular vectors (p, d) of anything with a shape, ``X @ B`` and ``A @ X``."""
    sketch = rng.standard_normal((X.shape[1], min(n_directions + OVERSAMPLING, *X.shape))).astype(X.dtype)
    with single_threaded_libraries():  # the same rounding for any number of threads
        for _ in range(POWER_ITERATIONS):
            sketch = np.linalg.qr(((X @ sketch).T @ X).T)[0]
        _, _, right = np.linalg.svd(X @ sketch, full_matrices=False)
    return (sketch @ right.T)[:, :n_directions]


def gram_directions(X: Array, n_directions: int, rng: np.random.RandomState) -> Array:
    """Approximate leading right singular vectors (p, d) of a long dense matrix, from its Gram matrix."""
    with single_threaded_libraries():
        squares = gram(X, np.float64)
        sketch = rng.standard_normal((X.shape[1], min(n_directions + OVERSAMPLING, *X.shape)))
        for _ in range(POWER_ITERATIONS):
            sketch = np.linalg.qr(squares @ sketch)[0]
        vectors = np.linalg.eigh(sketch.T @ squares @ sketch)[1]
        return np.asarray((sketch @ vectors[:, ::-1])[:, :n_directions], dtype=X.dtype)


def orthonormal_basis(X: Array) -> Array:
    """Orthonormal basis (n, r) of the columns of ``X`` (n, k), for singular values above 1e-6 of the first."""
    with single_threaded_libraries():
        left, values, _ = np.linalg.svd(X, full_matrices=False)
    return left[:, values > 1e-6 * values[0]]


def orthonormal_product(A: Array, B: Array) -> tuple[Array, Array, Array]:
    """Singular triplets of ``A B^T`` from its factors (n, k) and (p, k), without forming it."""
    with single_threaded_libraries():
        q_a, r_a = np.linalg.qr(A)
        q_b, r_b = np.linalg.qr(B)
        u, values, vt = np.linalg.svd(r_a @ r_b.T, full_matrices=False)
        return _fix_signs(q_a @ u, values, q_b @ vt.T)


def _fix_signs(left: Array, values: Array, right: Array) -> tuple[Array, Array, Array]:
    """Make the largest entry of each right vector positive, the same on every machine."""
    signs = positive_signs(right)
    return left * signs, values, right * signs


def positive_signs(vectors: Array) -> Array:
    """Signs (k,) that make the largest entry of each column positive; the first of several equal up to rounding."""
    if vectors.shape[1] == 0:
        return np.ones(0, dtype=vectors.dtype)
    size = np.abs(vectors)
    top = vectors[np.argmax(size >= (1 - 1e-6) * size.max(axis=0), axis=0), np.arange(vectors.shape[1])]
    return np.where(top < 0, -1, 1).astype(vectors.dtype)
