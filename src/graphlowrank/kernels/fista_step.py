"""One FISTA iteration of FRPCAG in a single pass over the rows."""

from __future__ import annotations

from .._backend import Array
from .compiling import compiled

LOSS_CODES = {"l1": 0, "l2": 1, "huber": 2}


@compiled(fastmath=True)
def fused_step(
    start: int,
    stop: int,
    indptr: Array,
    indices: Array,
    data: Array,
    pull: Array,
    Y: Array,
    S: Array,
    Z: Array,
    Z_next: Array,
    row_weights: Array,
    column_weights: Array,
    step: float,
    momentum: float,
    loss: int,
    delta: float,
    change: Array,
) -> None:
    """Gradient step, prox, extrapolation and the sums of the stopping rule, for rows start <= i < stop.

    The gradient is ``A Z + pull`` with A the scaled sample Laplacian in CSR form and ``pull`` (n, p) the feature
    term's share; entry (i, j) of the loss counts row_weights[i] column_weights[j] times. Writes S (in place, own rows
    only), Z_next, and per row ||Z_next - Z||^2 and ||Z||^2 to ``change``.
    """
    one = Y[0, 0] * 0 + 1  # keeps float32 arithmetic in float32
    step_ = step * one
    momentum_ = momentum * one
    delta_ = delta * one
    for i in range(start, stop):
        z, z_next, s, y, gradient = Z[i], Z_next[i], S[i], Y[i], pull[i]
        z_next[:] = gradient
        for entry in range(indptr[i], indptr[i + 1]):
            weight = data[entry]
            row = Z[indices[entry]]
            for j in range(row.shape[0]):
                z_next[j] += weight * row[j]
        moved, size = 0.0 * one, 0.0 * one
        row_step = step_ * row_weights[i]
        for j in range(z.shape[0]):
            residual = z[j] - step_ * z_next[j] - y[j]
            threshold = row_step * column_weights[j]
            soft = residual - min(max(residual, -threshold), threshold)
            if loss == 0:
                residual = soft
            elif loss == 1:
                residual = residual / (one + 2 * threshold)
            else:
                inside = residual * (delta_ / (delta_ + threshold))
                residual = inside if abs(inside) <= delta_ else soft
            s_next = y[j] + residual
            extrapolated = s_next + momentum_ * (s_next - s[j])
            moved += (extrapolated - z[j]) ** 2
            size += z[j] ** 2
            s[j] = s_next
            z_next[j] = extrapolated
        change[i, 0] = moved
        change[i, 1] = size
