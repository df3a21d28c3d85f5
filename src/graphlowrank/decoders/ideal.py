"""The ideal decoder: least squares on known eigenvectors."""

from __future__ import annotations

import warnings

import numpy as np

from .._backend import Array
from ..graphs import lowest_eigenpairs
from ..sampling import isometry
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
        Eigenvectors on each side; None takes the number of factors and one for their centre, less where the draw hardly
        sees the last of them.
    sample_basis, feature_basis
        Q_k (n_samples, k) and P_k (n_features, k) where they are known; None computes them.
    """
    factors = factorise(X_small, samples, features, n_components)
    rank = factors.samples.shape[1] + 1
    return multiply(
        fit_bandlimited(samples, factors.samples, basis=_basis(samples, sample_basis, k_samples, rank)),
        fit_bandlimited(features, factors.features_and_centre, basis=_basis(features, feature_basis, k_features, rank)),
    )


def _basis(side: Side, given: Array | None, k: int | None, rank: int) -> Array | None:
    """Eigenvectors to fit on: the given ones, the first k, or up to ``rank`` as far as the kept nodes see them."""
    if given is not None or side.graph is None:
        return given
    n_kept = len(side.indices)
    if k is not None:
        return lowest_eigenpairs(side.graph, k)[1]
    basis = lowest_eigenpairs(side.graph, min(rank, n_kept))[1]
    # A vector that sits on a few nodes which were not drawn would be fitted to the noise of the others.
    while basis.shape[1] > 1 and isometry(basis, side.indices, side.weights).lower < HARDLY_SEEN:
        basis = basis[:, :-1]
    return basis


def fit_bandlimited(side: Side, values: Array, *, basis: Array | None) -> Solution:
    """``Q_k argmin_C sum_i w_i ||(Q_k C)_i - values_i||^2``: signals in the first k eigenvectors closest to the values.

    Parameters
    ----------
    side
        Graph, kept nodes and their importance weights w.
    values
        (m, c) signals on the kept nodes.
    basis
        (n_nodes, k) the eigenvectors; None where everything was kept and there is nothing to fit.
    """
    if basis is None:
        return side.unchanged(values)
    if side.graph is not None and len(basis) != side.graph.n_nodes:
        raise ValueError(f"the basis has {len(basis)} rows, but the graph {side.graph.n_nodes} nodes.")
    if basis.shape[1] > len(side.indices):
        raise ValueError(f"{len(side.indices)} kept nodes cannot determine {basis.shape[1]} coefficients.")
    root = side.root_weights()[:, None]
    coefficients, _, _, singular = np.linalg.lstsq(root * basis[side.indices], root * values.astype(np.float64))
    if singular[-1] <= NEARLY_SINGULAR * singular[0]:
        warnings.warn(
            f"the {len(side.indices)} kept nodes hardly determine {basis.shape[1]} smooth signals; keep more nodes or "
            "lower k.",
            RuntimeWarning,
            stacklevel=3,
        )
    return Solution((basis @ coefficients).astype(values.dtype), 0, converged=True, residual=0.0)
