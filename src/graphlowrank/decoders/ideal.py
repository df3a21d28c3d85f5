"""The ideal decoder: least squares on known eigenvectors."""

import warnings

import numpy as np

from .._typing import Array
from ..graphs import lowest_eigenpairs
from ..graphs.spectrum import smooth_signals
from ..sampling import check_reach
from ..sampling.nodes import SampledNodes
from ..solvers.solution import Solution
from .factors import Decoded, factorize, multiply

MIN_SINGULAR_RATIO = 1e-6
MIN_ENERGY = 0.1  # of an eigenvector on the kept nodes, relative to its expectation


def decode_ideal(
    X_small: Array,
    samples: SampledNodes,
    features: SampledNodes,
    *,
    n_components: int | None = None,
    k_samples: int | None = None,
    k_features: int | None = None,
    sample_basis: Array | None = None,
    feature_basis: Array | None = None,
) -> Decoded:
    """``argmin_X ||M X M - X_small||^2  s.t.  columns of X in span(Q_k), rows in span(P_k)`` (ideal decoder).

    It adds no error of its own (Theorem 2), and costs eigenvectors of both graphs. The problem separates: the left
    factors are fitted on Q_k, the right ones on P_k.

    Parameters
    ----------
    X_small, samples, features, n_components
        See :func:`~graphlowrank.decoders.decode_subspace`.
    k_samples, k_features
        Eigenvectors on each side. None takes the number of factors and one for their center, at least one for each
        connected component, without those that are nearly dependent on the smoother ones on the kept nodes.
    sample_basis, feature_basis
        Q_k (n_samples, k) and P_k (n_features, k) where they are known; None computes them.
    """
    factors = factorize(X_small, samples, features, n_components)
    rank = factors.samples.shape[1] + 1
    return multiply(
        _fit(samples, factors.samples, sample_basis, k_samples, rank),
        _fit(features, factors.features_and_center, feature_basis, k_features, rank),
    )


def _fit(side: SampledNodes, values: Array, basis: Array | None, k: int | None, rank: int) -> Solution:
    """Fit on the given eigenvectors, on the first k, or on about ``rank`` that are independent on the kept nodes."""
    if side.graph is not None:
        check_reach(side.graph, side.indices)
        if basis is None and k is not None:
            basis = lowest_eigenpairs(side.graph, k)[1]
        elif basis is None:
            basis = lowest_eigenpairs(side.graph, min(smooth_signals(side.graph, rank), len(side.indices)))[1]
            basis = basis[:, independent_vectors(side, basis)]
    return fit_bandlimited(side, values, basis=basis)


def independent_vectors(side: SampledNodes, basis: Array) -> Array:
    """Mask (k,) of the eigenvectors that keep a tenth of their energy on the kept nodes, orthogonal to previous ones.

    One concentrated on a node that was not drawn nearly depends on those before it, and would be fitted to their noise.
    """
    fair = side.root_weights()[:, None] * np.sqrt(len(basis) / len(side.indices))
    seen = np.zeros(basis.shape[1], dtype=bool)
    directions = np.zeros((len(side.indices), 0))
    for number, vector in enumerate((fair * basis[side.indices]).T):
        new = vector - directions @ (directions.T @ vector)
        energy = float(new @ new)
        if energy >= MIN_ENERGY:
            seen[number] = True
            directions = np.column_stack([directions, new / np.sqrt(energy)])
    return seen


def fit_bandlimited(side: SampledNodes, values: Array, *, basis: Array | None) -> Solution:
    """``Q_k argmin_C sum_i w_i ||(Q_k C)_i - values_i||^2``: signals in the first k eigenvectors closest to the values.

    Parameters
    ----------
    side, values
        Graph, kept nodes and their importance weights w; (m, c) signals on the kept nodes.
    basis
        (n_nodes, k) the eigenvectors; None where everything was kept and there is nothing to fit.
    """
    if basis is None:
        return Solution.exact(values)
    basis = np.asarray(basis)
    if side.graph is not None and len(basis) != side.graph.n_nodes:
        raise ValueError(f"the basis has {len(basis)} rows, but the graph {side.graph.n_nodes} nodes.")
    if basis.shape[1] > len(side.indices):
        raise ValueError(f"{len(side.indices)} kept nodes cannot determine {basis.shape[1]} coefficients.")
    root = side.root_weights()[:, None]
    coefficients, _, _, singular = np.linalg.lstsq(
        root * basis[side.indices], root * values.astype(np.float64), rcond=None
    )
    if singular[-1] <= MIN_SINGULAR_RATIO * singular[0]:
        warnings.warn(
            f"the {len(side.indices)} kept nodes hardly determine {basis.shape[1]} smooth signals; keep more nodes or "
            "lower k.",
            RuntimeWarning,
            stacklevel=3,
        )
    return Solution.exact((basis @ coefficients).astype(values.dtype))
