"""Errors of subspace upsampling for draws of several sizes, beside their bounds."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.utils import check_random_state

from .._threads import single_threaded_libraries
from .._typing import Array, RandomState
from ..decoders import decode_subspace
from ..graphs import Graph, lowest_eigenpairs
from ..metrics import recovery_error
from ..sampling import SampledNodes, draw, isometry
from .bounds import Bound, amplification, subspace_bound, subspace_matrix_bound


@dataclass(frozen=True, eq=False)
class DecodingErrors:
    """Relative errors of a matrix that is exactly low-rank on the sample graph.

    Attributes
    ----------
    sizes : ndarray of shape (n_sizes,)
        Numbers of samples that were kept.
    errors, bounds : ndarray of shape (n_sizes, n_draws)
        Error of each draw, and its bound; infinite where there is none.
    k, gap : int, float
        Number of smooth signals, and ``lambda_k / lambda_k+1``.
    """

    sizes: Array
    errors: Array
    bounds: Array
    k: int
    gap: float


@single_threaded_libraries()
def decoding_errors(
    graph: Graph, k: int, *, sizes: Sequence[int] | None = None, n_draws: int = 4, random_state: RandomState = None
) -> DecodingErrors:
    """Draw samples, decode a random k-smooth matrix by subspace upsampling, and compute the bound of each draw.

    The matrix has k features, all of which are kept: the error is that of the sample graph alone.

    Parameters
    ----------
    graph : Graph
        Sample graph.
    k : int
        Number of smooth signals, at least one per connected component.
    sizes : sequence of int or None, default=None
        Numbers of samples to keep; None for ten between 3 k and nine tenths of all.
    n_draws : int, default=4
        Draws of each size.
    random_state : int, RandomState or None, default=None
        Seed.
    """
    rng, n = check_random_state(random_state), graph.n_nodes
    k = min(max(k, graph.n_components), n - 2)
    values, vectors = lowest_eigenpairs(graph, k + 1)
    basis, gap = vectors[:, :k], float(values[k - 1] / values[k]) if values[k] > 0 else 1.0
    if sizes is None:
        sizes = np.unique(np.geomspace(min(3 * k, n // 2), max(0.9 * n, 2), 10).round().astype(int)).tolist()
    X = basis @ np.linalg.qr(rng.standard_normal((k, k)))[0]
    features = SampledNodes(None, np.arange(k))
    found = [[_measure(X, basis, gap, graph, features, size, rng) for _ in range(n_draws)] for size in sizes]
    errors, bounds = np.moveaxis(np.array(found, dtype=np.float64), -1, 0)
    return DecodingErrors(np.asarray(sizes), errors, bounds, k, gap)


def _measure(
    X: Array, basis: Array, gap: float, graph: Graph, features: SampledNodes, size: int, rng: np.random.RandomState
) -> tuple[float, float]:
    """Error and bound of one draw."""
    kept = draw(graph, size, random_state=rng)
    decoded = decode_subspace(X[kept], SampledNodes(graph, kept), features, n_components=X.shape[1])
    amplify = amplification(len(X), size, isometry(basis, kept).delta_below)
    bound = subspace_matrix_bound(subspace_bound(1.0, amplify, gap=gap), Bound(0.0, 0.0))
    return recovery_error(X, decoded.low_rank), bound
