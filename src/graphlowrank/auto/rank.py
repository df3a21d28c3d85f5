"""Choose the rank of a noisy matrix."""

import numpy as np

from .._typing import Array
from ..options import Options
from .choice import AS_GIVEN, Choice


def choose_rank(singular_values: Array, shape: tuple[int, int]) -> int:
    """Count the singular values above the optimal hard threshold of Gavish and Donoho (2014, eq. 5), at least one.

    The threshold is for noise of unknown level: a multiple of the median singular value, which belongs to the noise.
    ``singular_values`` are all of them, in decreasing order, and ``shape`` is that of the matrix.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = np.outer(rng.standard_normal(100), rng.standard_normal(50)) + 0.5 * rng.standard_normal((100, 50))
    >>> choose_rank(np.linalg.svd(X, compute_uv=False), X.shape)
    1
    """
    beta = min(shape) / max(shape)
    multiple = 0.56 * beta**3 - 0.95 * beta**2 + 1.82 * beta + 1.43
    return max(1, int(np.sum(singular_values > multiple * np.median(singular_values))))


def rank_choice(rank: int, options: Options, *, validated: bool) -> Choice:
    """Report the rank of the answer; ``validated``: it was estimated with the gammas."""
    estimated = "singular values above the noise" if validated else "singular values of at least a tenth of the first"
    return Choice("n_components", rank, estimated if options.n_components is None else AS_GIVEN)
