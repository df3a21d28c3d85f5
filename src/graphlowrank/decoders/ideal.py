"""The ideal decoder: least squares on known eigenvectors."""

from __future__ import annotations

import warnings

import numpy as np

from .._backend import Array
from ..graphs import lowest_eigenpairs
from ..graphs.spectrum import smooth_signals
from ..sampling import check_reach
from ..solution import Solution
from .factors import Decoded, factorise, multiply
from .side import Side

NEARLY_SINGULAR = 1e-6
HARDLY_SEEN = 0.1  # share of its fair energy that a smooth signal must have on the kept nodes


def decode_ideal(
    X_small: Array,
    samples: Side,
    features: Side,
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
    X_small
        (m_samples, m_features) compressed matrix.
    samples, features
        Graph, kept nodes and importance weights of each side.
    n_components
        Factors of X_small to keep; None asks the rank rule.
    k_samples, k_features
        Eigenvectors on each side. None takes the number of factors and one for their centre, at least one for each
        connected component, and leaves out what the kept nodes hardly see of them: it would be fitted to noise.
    sample_basis, feature_basis
        Q_k (n_samples, k) and P_k (n_features, k) where they are known; None computes them.
    """
    factors = factorise(X_small, samples, features, n_components)
    rank = factors.samples.shape[1] + 1
    return multiply(
        _fit(samples, factors.samples, sample_basis, k_samples, rank),
        _fit(features, factors.features_and_centre, feature_basis, k_features, rank),
    )


def _fit(side: Side, values: Array, basis: Array | None, k: int | None, rank: int) -> Solution:
    """Fit on the given eigenvectors, on the first k, or on about ``rank`` as far as the kept nodes see them."""
    if side.graph is None:
        return fit_bandlimited(side, values, basis=basis)
    check_reach(side.graph, side.indices)
    least_seen = 0.0
    if basis is None:
        if k is None:
            k, least_seen = min(smooth_signals(side.graph, rank), len(side.indices)), HARDLY_SEEN
        basis = lowest_eigenpairs(side.graph, k)[1]
    return fit_bandlimited(side, values, basis=basis, least_seen=least_seen)


def fit_bandlimited(side: Side, values: Array, *, basis: Array | None, least_seen: float = 0.0) -> Solution:
    """``Q_k argmin_C sum_i w_i ||(Q_k C)_i - values_i||^2``: signals in the first k eigenvectors closest to the values.

    Parameters
    ----------
    side
        Graph, kept nodes and their importance weights w.
    values
        (m, c) signals on the kept nodes.
    basis
        (n_nodes, k) the eigenvectors; None where everything was kept and there is nothing to fit.
    least_seen
        Signals in the span that have less than this share of their fair energy on the kept nodes are left out.
    """
    if basis is None:
        return side.unchanged(values)
    basis = np.asarray(basis)
    n_nodes, n_kept = len(basis), len(side.indices)
    if side.graph is not None and n_nodes != side.graph.n_nodes:
        raise ValueError(f"the basis has {n_nodes} rows, but the graph {side.graph.n_nodes} nodes.")
    if basis.shape[1] > n_kept:
        raise ValueError(f"{n_kept} kept nodes cannot determine {basis.shape[1]} coefficients.")
    root = side.root_weights()[:, None] * np.sqrt(n_nodes / n_kept)
    # The squares of these singular values are the shares of energy that signals keep: the isometry of the draw.
    left, shares, right = np.linalg.svd(root * basis[side.indices], full_matrices=False)
    if least_seen == 0 and shares[-1] <= NEARLY_SINGULAR * shares[0]:
        warnings.warn(
            f"the {n_kept} kept nodes hardly determine {basis.shape[1]} smooth signals; keep more nodes or lower k.",
            RuntimeWarning,
            stacklevel=3,
        )
    seen = (shares**2 >= least_seen) & (shares > NEARLY_SINGULAR * shares[0])
    coefficients = (left[:, seen].T @ (root * values.astype(np.float64))) / shares[seen, None]
    return Solution((basis @ (right[seen].T @ coefficients)).astype(values.dtype), 0, converged=True, residual=0.0)
