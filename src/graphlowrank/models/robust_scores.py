"""Scores of new samples on known components, under the loss of the model."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._backend import Array
from ..solvers.irls import irls
from .losses import L2, Loss, make_loss

MEAN_DAMPING = 1e-12  # share of the mean diagonal entry of the normal matrix: components are orthonormal


def robust_scores(
    X: Array, components: Array, *, loss: str, huber_delta: float = 1.0, tol: float = 1e-6, max_iter: int = 100
) -> Array:
    """``argmin_S loss(X - S components)`` for orthonormal rows of ``components``, row by row of X, without its NaN.

    "l2" is the orthogonal projection; other losses are minimized by IRLS from there. The scores of a sample do not
    depend on the other samples.
    """
    rule, missing = make_loss(loss, huber_delta), bool(np.isnan(X).any())

    def fit(one: Loss, start: Array | None) -> Array:
        options: dict[str, Any] = {"damping": 0.0, "mean_damping": MEAN_DAMPING, "tol": tol}
        return irls(X, components, one, start=start, max_iter=max_iter, compiled=False, **options).X

    start = fit(L2(), None) if missing else X @ components.T
    return start if rule.quadratic or len(components) == 0 else fit(rule, start)
