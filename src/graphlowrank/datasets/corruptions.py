"""Errors put into clean data on purpose, so that their removal can be measured."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_array, check_random_state

from .._backend import Array


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
    if not 0 <= share <= 1:
        raise ValueError(f"share must be between 0 and 1; got {share!r}.")
    corrupted = check_array(X, copy=True)
    n_samples, n_features = corrupted.shape
    drawn = round(share * n_features)
    extremes = np.array([corrupted.min(), corrupted.max()])

    rng = check_random_state(random_state)
    columns = np.argsort(rng.random_sample((n_samples, n_features)), axis=1)[:, :drawn]
    values = extremes[rng.randint(2, size=(n_samples, drawn))]
    np.put_along_axis(corrupted, columns, values, axis=1)
    return corrupted
