"""A large low-rank matrix held by its factors."""

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from .._checks import check_floats
from .._files import ZARR_FILES, check_replaceable, placing
from .._threads import single_threaded_libraries
from .._typing import Array
from ..linalg.blocks import row_blocks
from ..linalg.optimal_shrinkage import Spectrum
from ..linalg.products import product

CHUNK_ENTRIES = 2**22  # of a dask array


@dataclass(frozen=True, eq=False, repr=False)
class LowRankMatrix:
    """``left diag(singular_values) right^T diag(units) + 1 offset^T``, decoded only where it is asked for.

    Supports numpy indexing (``M[3]``, ``M[:100, [5, 7]]``, ``M[rows, columns]``, ``M[np.ix_(rows, columns)]``),
    products ``M @ B`` and ``A @ M``, and conversion by :meth:`to_array` or ``np.asarray``.

    Attributes
    ----------
    left, right
        (n_samples, k) and (n_features, k) orthonormal factors of samples and features. ``left`` is a dask array if the
        matrix was recovered from data that are not in memory: its rows are computed when they are asked for.
    singular_values
        (k,) decreasing.
    offset
        (n_features,) center subtracted before the factorization.
    units
        (n_features,) that the features were measured in; None for 1.

    Examples
    --------
    >>> import numpy as np
    >>> M = LowRankMatrix(np.ones((3, 1)) / 3**0.5, np.array([6.0]), np.ones((2, 1)) / 2**0.5, np.array([0.0, 1.0]))
    >>> M
    LowRankMatrix(shape=(3, 2), rank=1)
    >>> M[0].round(3)
    array([2.449, 3.449])
    """

    left: Any  # array, or dask array
    singular_values: Array
    right: Array
    offset: Array
    units: Array | None = None

    ndim = 2
    __array_ufunc__ = None  # numpy must hand `array @ M` to us instead of asking for the decoded matrix

    @classmethod
    def of(cls, spectrum: Spectrum) -> Self:
        """Return the matrix with these singular triplets."""
        return cls(spectrum.left, spectrum.values, spectrum.right, spectrum.mean)

    def check(self) -> None:
        """Raise ValueError unless the factors fit together and are finite."""
        n, p, k = (len(np.atleast_1d(part)) for part in (self.left, self.right, self.singular_values))
        for name, shape in {"left": (n, k), "singular_values": (k,), "right": (p, k), "offset": (p,)}.items():
            check_floats(getattr(self, name), name, shape)
        check_floats(self.offset if self.units is None else self.units, "units", (p,))

    @property
    def shape(self) -> tuple[int, int]:
        """(n_samples, n_features)."""
        return len(self.left), len(self.right)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Dtype of the decoded entries."""
        return self.left.dtype

    @property
    def rank(self) -> int:
        """Number of factors."""
        return len(self.singular_values)

    @property
    def scores(self) -> Array:
        """(n_samples, k) coordinates of the samples along the factors, ``left * singular_values``."""
        return self.left * self.singular_values

    def rescaled(self, scale: float, shift: Array | float) -> Self:
        """``scale * M + shift`` for a positive number and a number or (n_features,) vector."""
        one = self.dtype.type
        offset = self.offset * one(scale) + np.asarray(shift, dtype=self.dtype)
        return replace(self, singular_values=self.singular_values * one(scale), offset=offset)

    def measured_in(self, units: Array, shift: Array) -> Self:
        """``M diag(units) + shift`` for (n_features,) vectors: the factors stay those of ``M``."""
        units, shift = units.astype(self.dtype), shift.astype(self.dtype)
        offset = self.offset * units + shift
        return replace(self, offset=offset, units=units if self.units is None else self.units * units)

    @property
    def _directions(self) -> Array:
        """``diag(units) right``."""
        return self.right if self.units is None else self.right * self.units[:, None]

    @single_threaded_libraries()
    def to_array(self) -> Array:
        """Decode every entry into an (n_samples, n_features) array."""
        return product(np.asarray(self.scores), self._directions.T) + self.offset

    def to_dask(self) -> Any:
        """Return the matrix as a dask array, whose chunks are decoded when they are computed."""
        import dask.array as da

        rows = row_blocks(*self.shape, entries=CHUNK_ENTRIES)
        chunks = (tuple(block.stop - block.start for block in rows), self.rank)
        scores = da.from_array(self.scores, chunks=chunks) if isinstance(self.left, np.ndarray) else self.scores
        return scores @ self._directions.T + self.offset

    def to_zarr(self, path: str | os.PathLike[str]) -> None:
        """Write the matrix to a folder of zarr, chunk by chunk; an interrupted write leaves none.

        Parameters
        ----------
        path
            Folder to write; an older zarr array of that name is replaced.
        """
        check_replaceable(Path(path), ZARR_FILES)
        with placing(path) as place:
            self.to_dask().to_zarr(str(place))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:  # noqa: FBT001
        """Decode for ``np.asarray``."""
        return self.to_array().astype(dtype or self.dtype, copy=False)

    def __len__(self) -> int:
        return len(self.left)

    @single_threaded_libraries()
    def __getitem__(self, index: Any) -> Array:
        """Decode the entries that numpy's indexing rules name."""
        rows, columns = _two_indices(index)
        left = np.asarray(self.left[rows]) * self.singular_values
        right, offset = self.right[columns], self.offset[columns]
        if self.units is not None:
            right = right * self.units[columns][..., None]
        if not any(isinstance(along, (slice, int, np.integer)) for along in (rows, columns)):  # two lists
            if np.ndim(rows) == 2:  # np.ix_
                return left[:, 0] @ right[0].T + offset
            return np.sum(left * right, axis=-1) + offset
        return left @ right.T + offset

    def __sub__(self, other: Any) -> Array:
        """``M - other``, decoded."""
        return self.to_array() - np.asarray(other)

    def __rsub__(self, other: Any) -> Array:
        """``other - M``, decoded: the residual of the data."""
        return np.asarray(other) - self.to_array()

    @single_threaded_libraries()
    def __matmul__(self, other: Array) -> Array:
        """``M @ other`` without decoding M."""
        if np.ndim(other) not in (1, 2):
            raise ValueError(f"M @ B takes a vector or a matrix, got {np.ndim(other)} dimensions.")
        return self.scores @ (self._directions.T @ other) + self.offset @ other

    @single_threaded_libraries()
    def __rmatmul__(self, other: Array) -> Array:
        """``other @ M`` without decoding M."""
        other = np.asarray(other)
        return np.asarray(other @ self.scores) @ self._directions.T + other.sum(axis=-1, keepdims=True) * self.offset

    def __repr__(self) -> str:
        return f"LowRankMatrix(shape={self.shape}, rank={self.rank})"


def _two_indices(index: Any) -> tuple[Any, Any]:
    """Row and column index, or a clear error for what is not supported."""
    rows, columns = (*index, slice(None), slice(None))[:2] if isinstance(index, tuple) else (index, slice(None))
    outer = np.shape(rows)[1:] == (1,) and np.shape(columns)[:1] == (1,) and np.ndim(columns) == 2
    simple = all(index_ is not None and index_ is not Ellipsis and np.ndim(index_) <= 1 for index_ in (rows, columns))
    if (isinstance(index, tuple) and len(index) > 2) or not (simple or outer):
        raise IndexError("index a LowRankMatrix by whole numbers, slices, lists or masks of one dimension, or np.ix_.")
    return rows, columns
