"""Measurement operators: entries, Gaussian projections and frequencies of an image, and their validation.

An operator maps an image, flattened in row-major order, to real measurements. It is an array, a sparse matrix or a
:class:`scipy.sparse.linalg.LinearOperator`.
"""

from numbers import Integral
from typing import Any

import numpy as np
import scipy.fft
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, aslinearoperator
from sklearn.utils import check_random_state

from .._typing import Array
from ..options import check_count
from ..sampling import check_indices

MAX_DENSE_ENTRIES = 100_000_000  # 800 MB
ADJOINT_RTOL = 1e-4  # well above rounding errors of float32, well below what misleads a solver


def entry_sampling(mask: Any) -> sp.csr_array:
    """Measure single pixels: the rows of the identity where ``mask`` is True (matrix completion).

    Parameters
    ----------
    mask : bool array (height, width)
        True for the measured pixels.

    Returns
    -------
    A : csr_array (number of True, height * width)

    Examples
    --------
    >>> import numpy as np
    >>> entry_sampling([[True, False], [False, True]]) @ np.array([1.0, 2.0, 3.0, 4.0])
    array([1., 4.])
    """
    mask = _check_mask(mask, check_image_shape(np.shape(mask)))
    pixels = np.flatnonzero(mask)
    return sp.csr_array((np.ones(len(pixels)), pixels, np.arange(len(pixels) + 1)), shape=(len(pixels), mask.size))


def gaussian_projections(shape: tuple[int, int], n_measurements: int, *, random_state: Any = None) -> Array:
    """Draw independent Gaussian entries of variance 1 / n_measurements, which preserves norms in expectation.

    Parameters
    ----------
    shape : (int, int)
        Height and width of the image.
    n_measurements : int
        Number of rows.
    random_state : int, RandomState or None, default=None
        Seed, or generator as in scikit-learn.

    Returns
    -------
    A : array (n_measurements, height * width)
        At most 100 million entries.
    """
    height, width = check_image_shape(shape)
    check_count(n_measurements, "n_measurements")
    n_entries = int(n_measurements) * height * width
    if n_entries > MAX_DENSE_ENTRIES:
        raise ValueError(
            f"{n_measurements} dense projections of {height} x {width} pixels have {n_entries:,} entries, more than "
            f"{MAX_DENSE_ENTRIES:,}; use fewer, or fourier_sampling, which stores none."
        )
    std = 1 / np.sqrt(n_measurements)
    return np.asarray(check_random_state(random_state).normal(scale=std, size=(n_measurements, height * width)))


def fourier_sampling(shape: tuple[int, int], mask: Any) -> LinearOperator:
    """Measure some frequencies of a real image, as in MRI: the orthonormal 2-D Fourier transform, undersampled.

    The measurements are the real parts at the kept frequencies, in row-major order, then the imaginary parts. Mirrored
    frequencies of a real image are conjugate: rows are orthogonal if only one of the two is kept, and keeping both adds
    no information. The norm of the operator is at most 1.

    Parameters
    ----------
    shape : (int, int)
        Height and width of the image.
    mask : bool array (height, width)
        True for the kept frequencies, in the order of ``numpy.fft.fft2``: mean first.

    Returns
    -------
    A : LinearOperator (2 * number of True, height * width)

    Examples
    --------
    >>> import numpy as np
    >>> A = fourier_sampling((2, 2), [[True, False], [False, False]])
    >>> float((A @ np.array([1.0, 2.0, 3.0, 4.0]))[0])  # sum of the pixels / sqrt(number of pixels)
    5.0
    """
    shape = check_image_shape(shape)
    mask = _check_mask(mask, shape)
    n_kept = int(mask.sum())

    def transform(image: Array) -> Array:
        kept = scipy.fft.fft2(np.reshape(image, shape), norm="ortho")[mask]
        return np.concatenate([kept.real, kept.imag])

    def adjoint(values: Array) -> Array:
        values = np.ravel(values)
        spectrum = np.zeros(shape, dtype=np.result_type(values, np.complex64))
        spectrum[mask] = values[:n_kept] + 1j * values[n_kept:]
        return np.asarray(scipy.fft.ifft2(spectrum, norm="ortho").real.ravel())

    return LinearOperator((2 * n_kept, mask.size), matvec=transform, rmatvec=adjoint, dtype=np.float64)


def radial_mask(shape: tuple[int, int], n_lines: int) -> Array:
    """Select the frequencies on lines through the mean at equal angles, for :func:`fourier_sampling`.

    Parameters
    ----------
    shape : (int, int)
        Height and width of the image.
    n_lines : int
        Lines from border to border; the first is horizontal.

    Returns
    -------
    mask : bool array (height, width)
        In the order of ``numpy.fft.fft2``; ``numpy.fft.fftshift`` shows the lines.

    Examples
    --------
    >>> import numpy as np
    >>> np.fft.fftshift(radial_mask((5, 5), 4)).astype(int)
    array([[1, 0, 1, 0, 1],
           [0, 1, 1, 1, 0],
           [1, 1, 1, 1, 1],
           [0, 1, 1, 1, 0],
           [1, 0, 1, 0, 1]])
    """
    height, width = check_image_shape(shape)
    check_count(n_lines, "n_lines")
    angles = np.pi * np.arange(n_lines) / n_lines
    direction = np.stack([np.sin(angles), np.cos(angles)])
    direction /= np.abs(direction).max(axis=0)  # one pixel a step along the longer axis: lines are connected
    steps = np.arange(-(max(shape) // 2), max(shape) // 2 + 1)
    down, right = np.rint(direction[:, :, None] * steps).astype(np.int64)
    inside = (np.abs(down) <= height // 2) & (np.abs(right) <= width // 2)
    mask = np.zeros((height, width), dtype=bool)
    mask[down[inside] % height, right[inside] % width] = True
    return mask


def row_subset(A: Any, keep: Any) -> Any:
    """Restrict an operator to some of its measurements.

    Parameters
    ----------
    A : array, sparse matrix or LinearOperator
        Operator.
    keep : bool array (n_measurements,) or list of int
        Mask, or indices without repetition, of the kept measurements.

    Returns
    -------
    restricted : like A
        A sparse matrix is returned as CSR.
    """
    operator = _known_kind(A)
    rows = check_indices(keep, operator.shape[0], name="keep")
    if np.asarray(keep).dtype != bool:
        rows = np.asarray(keep)  # in the order given
    if not isinstance(operator, LinearOperator):
        return operator[rows]
    n_all, n_pixels = operator.shape

    def forward(image: Array) -> Array:
        return operator.matvec(image)[rows]

    def adjoint(values: Array) -> Array:
        filled = np.zeros(n_all, dtype=np.asarray(values).dtype)
        filled[rows] = np.ravel(values)
        return np.asarray(operator.rmatvec(filled))

    return LinearOperator((len(rows), n_pixels), forward, adjoint, dtype=operator.dtype)


def as_operator(A: Any, shape: tuple[int, int]) -> LinearOperator:
    """Validate a measurement operator of an image of ``shape``, and convert it to a LinearOperator."""
    height, width = check_image_shape(shape)
    operator = _known_kind(A)
    if operator.shape[1] != height * width:
        raise ValueError(
            f"an image of {height} x {width} pixels needs an operator of {height * width} columns, "
            f"got {operator.shape[1]}."
        )
    if operator.shape[0] == 0:
        raise ValueError("the operator has no rows: nothing is measured.")
    if isinstance(operator, LinearOperator):
        check_adjoint(operator)
        return operator
    if not np.isfinite(operator.data if sp.issparse(operator) else operator).all():
        raise ValueError("the operator must have finite entries.")
    forward, back = operator.__matmul__, operator.T.__matmul__  # aslinearoperator's adjoint copies the matrix
    return LinearOperator(operator.shape, forward, back, matmat=forward, rmatmat=back, dtype=operator.dtype)


def check_adjoint(operator: LinearOperator) -> None:
    """Raise ValueError unless ``<A x, y> = <x, A^T y>`` for a random x and y, up to rounding."""
    rng = np.random.default_rng(0)
    dtype = np.float32 if operator.dtype == np.float32 else np.float64
    y, x = (rng.standard_normal(n).astype(dtype) for n in operator.shape)
    try:
        Ax, Aty = np.asarray(operator.matvec(x)), np.asarray(operator.rmatvec(y))
    except NotImplementedError:
        raise ValueError("the operator has no adjoint: a LinearOperator needs rmatvec besides matvec.") from None
    if np.iscomplexobj(Ax) or np.iscomplexobj(Aty):
        raise ValueError("the operator must be real: stack real and imaginary parts.")
    if not (np.isfinite(Ax).all() and np.isfinite(Aty).all()):
        raise ValueError("the operator must give finite values.")
    left, right = (np.dot(a.astype(np.float64), b.astype(np.float64)) for a, b in ((Ax, y), (x, Aty)))
    # <A x, y> has mean 0 and a standard deviation of the norm of A x, to which the difference is compared.
    if abs(left - right) > ADJOINT_RTOL * max(np.linalg.norm(Ax), np.linalg.norm(Aty)):
        raise ValueError(
            f"rmatvec is not the transpose of matvec: <A x, y> = {left:.6g}, but <x, A^T y> = {right:.6g} for random "
            "x and y."
        )


def check_image_shape(shape: Any) -> tuple[int, int]:
    """Return (height, width), or raise ValueError unless both are positive integers."""
    sides = tuple(np.atleast_1d(np.asarray(shape, dtype=object)))
    if len(sides) != 2 or not all(isinstance(side, Integral) and int(side) > 0 for side in sides):
        raise ValueError(f"an image's shape must be (height, width), both positive whole numbers; got {shape!r}.")
    return int(sides[0]), int(sides[1])


def _check_mask(mask: Any, shape: tuple[int, int]) -> Array:
    mask = np.asarray(mask)
    if mask.shape != shape:
        raise ValueError(f"the mask must have the image's shape {shape}, got {mask.shape}.")
    if mask.dtype != bool and not np.isin(mask, (0, 1)).all():
        raise ValueError("the mask must hold True and False.")
    if not mask.any():
        raise ValueError("the mask is False everywhere: nothing is measured.")
    return mask.astype(bool, copy=False)


def _known_kind(A: Any) -> Any:
    """Return ``A`` as a real array, a real CSR matrix or a LinearOperator."""
    if hasattr(A, "matvec") and hasattr(A, "shape"):
        operator = aslinearoperator(A)
    else:
        operator = A if sp.issparse(A) else np.asarray(A)
        if operator.ndim != 2:
            raise ValueError(f"the operator must be a matrix or a LinearOperator, got {operator.ndim} dimensions.")
    dtype = np.dtype(operator.dtype)
    if dtype.kind == "c":
        raise ValueError("the operator must be real: stack real and imaginary parts.")
    if dtype.kind not in "fiub":
        raise ValueError(f"the operator must hold numbers, got dtype {dtype}.")
    if isinstance(operator, LinearOperator):
        return operator
    operator = operator.tocsr() if sp.issparse(operator) else operator
    return operator if dtype in (np.float32, np.float64) else operator.astype(np.float64)
