"""Synthetic corruptions of clean data, which is not modified.

The paper adds dense noise of 5 to 20 % of the standard deviation, and sparse noise on 5 to 20 % of each sample.
"""

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array, check_random_state

from .._typing import Array, RandomState


def gaussian_noise(X: ArrayLike, level: float, *, random_state: RandomState = None) -> Array:
    """Add normal noise to every entry of a copy; float32 stays float32, integers become float64.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Data.
    level : float
        Standard deviation of the noise, in standard deviations of all entries of ``X``; 0.05 to 0.2 in the paper.
    random_state : int, RandomState or None, default=None
        Random seed.
    """
    data, std = _checked(X, level)
    noise = check_random_state(random_state).normal(scale=std, size=data.shape)
    return data + noise.astype(data.dtype)


def laplacian_noise(X: ArrayLike, level: float, *, random_state: RandomState = None) -> Array:
    """Add Laplace noise to every entry, which has heavier tails than normal noise of the same standard deviation.

    Parameters and result are those of :func:`gaussian_noise`.
    """
    data, std = _checked(X, level)
    # The standard deviation of the Laplace distribution is sqrt(2) times its scale.
    noise = check_random_state(random_state).laplace(scale=std / np.sqrt(2), size=data.shape)
    return data + noise.astype(data.dtype)


def sparse_noise(X: ArrayLike, share: float, *, random_state: RandomState = None) -> Array:
    """Add salt-and-pepper noise to a copy: a share of the entries of each sample is the minimum or maximum of ``X``.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Data.
    share : float
        Between 0 and 1; ``round(share * n_features)`` entries of each sample are set, to either with equal probability.
    random_state : int, RandomState or None, default=None
        Random seed.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.linspace(0, 1, 8).reshape(2, 4)
    >>> sparse_noise(X, 0.5, random_state=0).round(2)
    array([[0.  , 0.14, 0.29, 0.  ],
           [0.  , 0.71, 1.  , 1.  ]])
    """
    corrupted: Array = check_array(X, copy=True)
    extremes = np.array([corrupted.min(), corrupted.max()])
    rng = check_random_state(random_state)
    columns = _drawn_columns(corrupted.shape, share, rng)
    values = extremes[rng.randint(2, size=columns.shape)]
    np.put_along_axis(corrupted, columns, values, axis=1)
    return corrupted


def missing_entries(X: ArrayLike, share: float, *, random_state: RandomState = None) -> Array:
    """Draw the mask of the observed entries, with a share of the entries of each sample missing.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Data; only the shape matters.
    share : float
        Between 0 and 1; ``round(share * n_features)`` entries of each sample are missing.
    random_state : int, RandomState or None, default=None
        Random seed.

    Returns
    -------
    bool ndarray of shape (n_samples, n_features)
        True where an entry is observed.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(8.0).reshape(2, 4)
    >>> np.where(missing_entries(X, 0.5, random_state=0), X, np.nan)
    array([[nan,  1.,  2., nan],
           [nan,  5., nan,  7.]])
    """
    # X may have missing values already.
    observed = np.ones(check_array(X, ensure_all_finite=False).shape, dtype=bool)
    columns = _drawn_columns(observed.shape, share, check_random_state(random_state))
    np.put_along_axis(observed, columns, False, axis=1)  # noqa: FBT003
    return observed


def occluding_blocks(
    X: ArrayLike,
    image_shape: tuple[int, int],
    share: float,
    *,
    value: float | None = None,
    random_state: RandomState = None,
) -> Array:
    """Cover a block of each image, at a random position, in a copy of the same dtype.

    Parameters
    ----------
    X : array-like of shape (n_samples, height * width)
        Images, pixels in row-major order.
    image_shape : tuple of int
        (height, width).
    share : float
        Share of the area to cover, between 0 and 1: each side is ``sqrt(share)`` times that of the image, rounded.
    value : float or None, default=None
        Value of the covered pixels; None for the maximum of ``X``.
    random_state : int, RandomState or None, default=None
        Random seed.
    """
    _check_share(share)
    corrupted: Array = check_array(X, copy=True)
    height, width = (int(side) for side in image_shape)
    if height < 1 or width < 1 or height * width != corrupted.shape[1]:
        raise ValueError(f"image_shape {tuple(image_shape)} does not hold the {corrupted.shape[1]} pixels of a sample.")
    rng = check_random_state(random_state)
    in_rows, in_columns = (_random_intervals(len(corrupted), side, np.sqrt(share), rng) for side in (height, width))
    covered = in_rows[:, :, None] & in_columns[:, None, :]
    corrupted[covered.reshape(corrupted.shape)] = corrupted.max() if value is None else value
    return corrupted


def _checked(X: ArrayLike, level: float) -> tuple[Array, float]:
    """Return the data as floats, and the standard deviation of noise of this level."""
    data: Array = check_array(X, dtype=[np.float64, np.float32])
    if not 0 <= level < np.inf:
        raise ValueError(f"level must be a number >= 0; got {level!r}.")
    return data, level * float(data.std(dtype=np.float64))


def _drawn_columns(shape: tuple[int, int], share: float, rng: np.random.RandomState) -> Array:
    """Draw the columns (n_samples, n_drawn) of a share of the entries of each sample, without replacement."""
    _check_share(share)
    return np.argsort(rng.random_sample(shape), axis=1)[:, : round(share * shape[1])]


def _random_intervals(n: int, side: int, share: float, rng: np.random.RandomState) -> Array:
    """Booleans (n, side): a random interval of each row is True."""
    length = round(share * side)
    starts = rng.randint(side - length + 1, size=(n, 1))
    places = np.arange(side)
    return (places >= starts) & (places < starts + length)


def _check_share(share: float) -> None:
    if not 0 <= share <= 1:
        raise ValueError(f"share must be between 0 and 1; got {share!r}.")
