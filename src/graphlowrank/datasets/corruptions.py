"""Errors put into clean data on purpose, so that their removal can be measured.

None changes its input, and each repeats with the same ``random_state``. The paper adds Gaussian and Laplacian noise of
5 to 20 % of the data's standard deviation, and sparse noise on 5 to 20 % of each sample.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_array, check_random_state

from .._backend import Array


def gaussian_noise(X: Any, level: float, *, random_state: Any = None) -> Array:
    """Add normal noise to every entry.

    Parameters
    ----------
    X
        (n_samples, n_features); not changed.
    level
        Standard deviation of the noise over that of all entries of ``X``, such as 0.05 to 0.2.
    random_state
        Seed or generator.

    Returns
    -------
    corrupted
        (n_samples, n_features); float32 stays float32, whole numbers become float64.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.tile([-1.0, 1.0], (9000, 1))  # deviation 1
    >>> round(float(np.std(gaussian_noise(X, 0.2, random_state=0) - X)), 2)
    0.2
    """
    X, deviation = _checked(X, level)
    noise = check_random_state(random_state).normal(scale=deviation, size=X.shape)
    return X + noise.astype(X.dtype)


def laplacian_noise(X: Any, level: float, *, random_state: Any = None) -> Array:
    """Add Laplacian noise to every entry: of the same deviation as normal noise, it has more large errors.

    Parameters
    ----------
    X
        (n_samples, n_features); not changed.
    level
        Standard deviation of the noise over that of all entries of ``X``, such as 0.05 to 0.2.
    random_state
        Seed or generator.

    Returns
    -------
    corrupted
        (n_samples, n_features); float32 stays float32, whole numbers become float64.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.tile([-1.0, 1.0], (9000, 1))  # deviation 1
    >>> round(float(np.std(laplacian_noise(X, 0.2, random_state=0) - X)), 2)
    0.2
    """
    X, deviation = _checked(X, level)
    # The deviation of the Laplacian distribution is sqrt(2) times its scale.
    noise = check_random_state(random_state).laplace(scale=deviation / np.sqrt(2), size=X.shape)
    return X + noise.astype(X.dtype)


def sparse_noise(X: Any, share: float, *, random_state: Any = None) -> Array:
    """Salt and pepper: set a share of the entries of each sample to the least or greatest value of ``X``.

    The entries are drawn anew for each sample, and each becomes the least or the greatest value with equal
    chance; one that already had that value stays as it was.

    Parameters
    ----------
    X
        (n_samples, n_features); not changed.
    share
        Between 0 and 1; exactly ``round(share * n_features)`` entries of each sample are drawn.
    random_state
        Seed or generator.

    Returns
    -------
    corrupted
        (n_samples, n_features) copy of ``X``, of the same dtype.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.linspace(0, 1, 8).reshape(2, 4)
    >>> sparse_noise(X, 0.5, random_state=0).round(2)
    array([[0.  , 0.14, 0.29, 0.  ],
           [0.  , 0.71, 1.  , 1.  ]])
    """
    corrupted = check_array(X, copy=True)
    extremes = np.array([corrupted.min(), corrupted.max()])
    rng = check_random_state(random_state)
    columns = _drawn_columns(corrupted.shape, share, rng)
    values = extremes[rng.randint(2, size=columns.shape)]
    np.put_along_axis(corrupted, columns, values, axis=1)
    return corrupted


def missing_entries(X: Any, share: float, *, random_state: Any = None) -> Array:
    """Choose a share of the entries of each sample to be missing, and return which ones are observed.

    The mask, not ``X`` with NaN in it: it multiplies a loss as its weights, and keeps the true values for a score.

    Parameters
    ----------
    X
        (n_samples, n_features); only its shape matters.
    share
        Between 0 and 1; exactly ``round(share * n_features)`` entries of each sample are missing.
    random_state
        Seed or generator.

    Returns
    -------
    observed
        (n_samples, n_features) booleans, True where an entry is known.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(8.0).reshape(2, 4)
    >>> observed = missing_entries(X, 0.5, random_state=0)
    >>> np.where(observed, X, np.nan)
    array([[nan,  1.,  2., nan],
           [nan,  5., nan,  7.]])
    """
    # NaN may be there already: entries can go missing twice.
    observed = np.ones(check_array(X, ensure_all_finite=False).shape, dtype=bool)
    columns = _drawn_columns(observed.shape, share, check_random_state(random_state))
    np.put_along_axis(observed, columns, False, axis=1)  # noqa: FBT003
    return observed


def occluding_blocks(
    X: Any, image_shape: tuple[int, int], share: float, *, value: float | None = None, random_state: Any = None
) -> Array:
    """Cover a block of each image, at a place of its own.

    Parameters
    ----------
    X
        (n_samples, height * width) images, row by row; not changed.
    image_shape
        (height, width).
    share
        Part of the image's area to cover, between 0 and 1. The block has the image's proportions, so that each
        side is ``sqrt(share)`` of the image's, in whole pixels.
    value
        Of the pixels that are covered; None for the greatest value of ``X``.
    random_state
        Seed or generator.

    Returns
    -------
    corrupted
        (n_samples, height * width) copy of ``X``, of the same dtype.

    Examples
    --------
    >>> import numpy as np
    >>> occluding_blocks(np.zeros((1, 16)), (4, 4), 0.25, value=1, random_state=0).reshape(4, 4)
    array([[0., 1., 1., 0.],
           [0., 1., 1., 0.],
           [0., 0., 0., 0.],
           [0., 0., 0., 0.]])
    """
    _check_share(share)
    corrupted = check_array(X, copy=True)
    height, width = (int(side) for side in image_shape)
    if height < 1 or width < 1 or height * width != corrupted.shape[1]:
        raise ValueError(f"image_shape {tuple(image_shape)} does not hold the {corrupted.shape[1]} pixels of a sample.")
    rng = check_random_state(random_state)
    in_rows, in_columns = (_random_stretches(len(corrupted), side, np.sqrt(share), rng) for side in (height, width))
    covered = in_rows[:, :, None] & in_columns[:, None, :]
    corrupted[covered.reshape(corrupted.shape)] = corrupted.max() if value is None else value
    return corrupted


def _checked(X: Any, level: float) -> tuple[Array, float]:
    """Return data as floats, and the deviation that noise of this level has."""
    X = check_array(X, dtype=[np.float64, np.float32])
    if not 0 <= level < np.inf:
        raise ValueError(f"level must be a number >= 0; got {level!r}.")
    return X, level * float(X.std(dtype=np.float64))


def _drawn_columns(shape: tuple[int, int], share: float, rng: np.random.RandomState) -> Array:
    """Columns (n_samples, drawn) of a share of the entries of each sample, each drawn once."""
    _check_share(share)
    return np.argsort(rng.random_sample(shape), axis=1)[:, : round(share * shape[1])]


def _random_stretches(n: int, side: int, share: float, rng: np.random.RandomState) -> Array:
    """Booleans (n, side): in each row, a share of the places, next to each other, are True."""
    length = round(share * side)
    starts = rng.randint(side - length + 1, size=(n, 1))
    places = np.arange(side)
    return (places >= starts) & (places < starts + length)


def _check_share(share: float) -> None:
    if not 0 <= share <= 1:
        raise ValueError(f"share must be between 0 and 1; got {share!r}.")
