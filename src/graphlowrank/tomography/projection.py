"""Parallel-beam projections as a sparse matrix."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import cosdg, sindg

from .._typing import Array
from ..options import check_count
from .operators import check_image_shape


def projection_matrix(
    shape: tuple[int, int], angles_in_degrees: Any, *, n_detectors: int | None = None, dtype: Any = np.float64
) -> sp.csr_array:
    """Parallel-beam projections of an image: a detector measures the sum of a strip one pixel wide.

    An entry is the area of the intersection of a pixel and a strip: the length of a ray in the pixel, averaged over the
    width of the detector. The weights of a pixel sum to 1 at every angle at which the detectors cover it.

    The geometry is that of ``skimage.transform.radon``. The axis is the center of pixel (height // 2, width // 2) and
    projects to the center of detector n_detectors // 2. At 0 degrees rays are parallel to columns, with the first
    detectors on the left; at 90 degrees parallel to rows, with the first detectors at the bottom.

    Parameters
    ----------
    shape : (int, int)
        Height and width of the image.
    angles_in_degrees : array (n_angles,)
        Directions, in any order.
    n_detectors : int or None, default=None
        Detectors at each angle, one pixel apart. None for scikit-image's number: the width of a square image, which
        leaves out its corners (``circle=True``), and the longer side times sqrt(2) for other images (``circle=False``).
        See :func:`covering_detectors`.
    dtype : {float64, float32}, default=float64
        Type of the entries.

    Returns
    -------
    A : csr_array (n_angles * n_detectors, height * width)
        Rows angle by angle, pixels in row-major order: ``(A @ image.ravel()).reshape(n_angles, n_detectors).T`` has the
        layout of scikit-image's sinogram.

    Examples
    --------
    >>> import numpy as np
    >>> image = np.arange(9).reshape(3, 3)
    >>> (projection_matrix(image.shape, [0, 90]) @ image.ravel()).reshape(2, 3)
    array([[ 9., 12., 15.],
           [21., 12.,  3.]])
    """
    height, width = check_image_shape(shape)
    angles = np.asarray(angles_in_degrees, dtype=np.float64)
    if angles.ndim != 1 or angles.size == 0:
        raise ValueError(f"angles_in_degrees must be a list of at least one angle, got shape {angles.shape}.")
    if not np.isfinite(angles).all():
        raise ValueError("angles_in_degrees must be finite.")
    if n_detectors is None:
        n_detectors = width if height == width else int(np.ceil(np.sqrt(2) * max(height, width)))
    check_count(n_detectors, "n_detectors")
    dtype = np.dtype(dtype)
    if dtype not in (np.float64, np.float32):
        raise ValueError(f"dtype must be float64 or float32, got {dtype}.")
    right, down = np.arange(width)[None, :] - width // 2, np.arange(height)[:, None] - height // 2
    blocks = []
    for angle in np.fmod(angles, 360):  # exact, and keeps large angles precise
        cos, sin = cosdg(angle), sindg(angle)  # exact at multiples of 90, where cos(pi / 2) is not
        position = cos * right - sin * down
        blocks.append(_strips(position.ravel(), abs(cos), abs(sin), n_detectors, dtype))
    return sp.vstack(blocks, format="csr")


def covering_detectors(shape: tuple[int, int]) -> int:
    """Return the number of detectors that cover an image at every angle.

    Examples
    --------
    >>> covering_detectors((128, 128))
    183
    """
    height, width = check_image_shape(shape)
    farthest_corner = np.hypot(height // 2 + 0.5, width // 2 + 0.5)
    return 2 * int(np.ceil(farthest_corner - 0.5)) + 1


def _strips(position: Array, cos: float, sin: float, n_detectors: int, dtype: Any) -> sp.csr_array:
    """Areas (detectors, pixels) of intersections of strips and pixels centered at ``position`` on the detector axis."""
    nearest = np.rint(position)
    offset = position - nearest
    # A pixel is at most sqrt(2) wide: it intersects at most one strip on either side of the nearest.
    areas = np.empty((len(position), 3))
    areas[:, 0] = _area_beyond(0.5 + offset, cos, sin)
    areas[:, 2] = _area_beyond(0.5 - offset, cos, sin)
    areas[:, 1] = 1 - areas[:, 0] - areas[:, 2]
    detectors = (nearest.astype(np.int32) + n_detectors // 2)[:, None] + np.arange(-1, 2, dtype=np.int32)
    kept = (areas > 0) & (detectors >= 0) & (detectors < n_detectors)
    starts = np.concatenate([[0], np.cumsum(kept.sum(axis=1))]).astype(np.int32)
    parts = (areas[kept].astype(dtype, copy=False), detectors[kept], starts)
    return sp.csc_array(parts, shape=(n_detectors, len(position))).tocsr()


def _area_beyond(distance: Array, cos: float, sin: float) -> Array:
    """Area of a unit square past a line at ``distance`` >= 0 from its center; the line's normal is (cos, sin).

    The projection of the square is a trapezoid: flat up to (long - short) / 2, then falling to 0 at (long + short) / 2.
    """
    long, short = max(cos, sin), min(cos, sin)
    if short < np.finfo(np.float64).eps:
        return np.maximum(0.5 - distance, 0)
    corner = np.maximum((long + short) / 2 - distance, 0) ** 2 / (2 * long * short)
    area = np.where(distance < (long - short) / 2, 0.5 - distance / long, corner)
    area[area < np.finfo(np.float64).eps] = 0  # rounding errors are no intersection
    return np.asarray(area)
