"""Chebyshev polynomials of a sparse symmetric matrix, applied to blocks of vectors.

``T_j`` are the Chebyshev polynomials of ``2 L / upper - I``, whose eigenvalues lie between -1 and 1.
"""

from collections.abc import Callable, Iterator

import numpy as np
import scipy.sparse as sp

from .._threads import map_ranges
from .._typing import Array
from .products import COMPILED_ABOVE, dot


def step_coefficients(cutoff: float, order: int, upper: float) -> Array:
    """Chebyshev coefficients (order + 1) of the low-pass filter that is 1 below ``cutoff`` and 0 up to ``upper``.

    With Jackson damping, which removes the overshoot: the polynomial stays between 0 and 1 and increases with
    ``cutoff``. In the angle ``arccos(1 - 2 eigenvalue / upper)`` its edge is about ``pi / order`` wide.
    """
    angle = np.arccos(np.clip(2 * cutoff / upper - 1, -1, 1))
    orders = np.arange(1, order + 1)
    step = np.concatenate([[1 - angle / np.pi], -2 / np.pi * np.sin(orders * angle) / orders])
    j, span = np.arange(order + 1), np.pi / (order + 2)
    jackson = ((order + 2 - j) * np.cos(j * span) + np.sin(j * span) / np.tan(span)) / (order + 2)
    return step * jackson


def fit_coefficients(function: Callable[[Array], Array], order: int, upper: float) -> Array:
    """Chebyshev coefficients (order + 1) of a smooth ``function`` of the eigenvalue on [0, upper]."""
    return np.asarray(np.polynomial.Chebyshev.interpolate(function, order, domain=[0, upper]).coef)


def apply_polynomial(L: sp.csr_array, X: Array, coefficients: Array, upper: float) -> Array:
    """``sum_j c_j T_j X`` for X (n, k), by ``len(coefficients) - 1`` products with L."""
    total = X * X.dtype.type(coefficients[0])
    recurrence = Recurrence(L, X, upper)
    for coefficient in coefficients[1:]:
        recurrence.advance(total, coefficient)
    return total


def chebyshev_moments(L: sp.csr_array, X: Array, upper: float) -> Iterator[Array]:
    """Yield ``tr(X^T T_j X)`` for j up to 1, 3, 5, ...: two more for each product with L.

    ``T_2j = 2 T_j^2 - 1`` and ``T_2j+1 = 2 T_j+1 T_j - T_1`` give twice as many moments as products. They are summed in
    double precision, since they cancel where a few of a million eigenvalues are counted.
    """
    square = dot(X, X)
    recurrence = Recurrence(L, X, upper)
    own, first = recurrence.advance()
    moments = [square, first]
    while True:
        yield np.array(moments)
        square = own
        own, cross = recurrence.advance()
        moments += [2 * square - moments[0], 2 * cross - first]


class Recurrence:
    """``T_j X`` for j = 0, 1, 2, ... in two blocks of memory; ``current`` is overwritten by the second next step."""

    def __init__(self, L: sp.csr_array, X: Array, upper: float, *, compiled_above: int = COMPILED_ABOVE) -> None:
        identity = sp.eye_array(L.shape[0], dtype=L.dtype, format="csr")
        self._doubled = ((4 / upper) * L - 2 * identity).astype(X.dtype).tocsr()  # T_j+1 = doubled T_j - T_j-1
        self._step: sp.csr_array = self._doubled * X.dtype.type(0.5)  # T_1 = doubled / 2, T_-1 being 0
        self.current, self._previous = X.copy(), np.zeros_like(X)
        self._compiled = self._step.nnz * X.shape[1] > compiled_above

    def advance(self, total: Array | None = None, coefficient: float = 0.0) -> tuple[float, float]:
        """Advance j; add ``coefficient T_j X`` to ``total``; return the products of T_j X with itself and T_j-1 X."""
        A, current, new = self._step, self.current, self._previous
        if self._compiled:
            from ..kernels.products import csr_recurrence

            rows = np.empty((len(current), 2))
            onto = np.empty((0, 0), dtype=new.dtype) if total is None else total
            map_ranges(csr_recurrence, len(current), A.indptr, A.indices, A.data, current, new, onto, coefficient, rows)
            own, cross = (float(total) for total in rows.sum(axis=0))
        else:
            np.subtract(A @ current, new, out=new)
            if total is not None:
                total += new.dtype.type(coefficient) * new
            own, cross = dot(new, new), dot(new, current)
        self.current, self._previous, self._step = new, current, self._doubled
        return own, cross
