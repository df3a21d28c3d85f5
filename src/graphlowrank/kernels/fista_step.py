"""One FISTA iteration of FRPCAG in a single pass over the rows."""

from .._typing import Array
from .compiling import compiled
from .products import add_weighted_rows

L1, L2, HUBER = LOSS_CODES = 0, 1, 2  # the losses that have a loop, by Loss.kernel


@compiled(fastmath=True, error_model="numpy")
def fused_step(
    start: int,
    stop: int,
    indptr: Array,
    indices: Array,
    data: Array,  # the scaled sample Laplacian A in CSR form
    Y: Array,
    S: Array,  # in place, own rows only
    Z: Array,
    Z_next: Array,  # holds the gradient of the feature term, or zero; output
    row_weights: Array,  # (n,); an entry has the weight row_weights[i] column_weights[i, j] in the loss
    column_weights: Array,  # (n, p), zero where an entry is missing; (1, p) if none is
    row_curvature: Array,  # (n,) > 0
    column_curvature: Array,  # (p,) >= 0; an entry has the step 1 / (row_curvature[i] + column_curvature[j])
    momentum: float,
    loss: int,
    delta: float,
    sums: Array,  # (n, 3) output for each row: ||Z_next - Z||^2, ||Z||^2 and <(Z - S_next) / step, S_next - S>
) -> None:
    """Gradient ``A Z + Z_next``, prox, extrapolation and the sums of the stopping rule, for rows start <= i < stop."""
    number = Y.dtype.type  # a float64 would turn float32 arithmetic into float64
    zero, one, momentum_, delta_ = number(0), number(1), number(momentum), number(delta)
    last = column_weights.shape[0] - 1
    for i in range(start, stop):
        z, z_next, s, y = Z[i], Z_next[i], S[i], Y[i]
        add_weighted_rows(indptr[i], indptr[i + 1], indices, data, Z, z_next)
        weights, curvature = column_weights[min(i, last)], row_curvature[i]
        _shrink(z, z_next, y, row_weights[i], weights, curvature, column_curvature, loss, delta_, one)
        moved, size, uphill = zero, zero, zero
        for j in range(z.shape[0]):
            s_next = z_next[j]
            forward = s_next - s[j]
            extrapolated = s_next + momentum_ * forward
            moved += (extrapolated - z[j]) * (extrapolated - z[j])
            size += z[j] * z[j]
            uphill += (curvature + column_curvature[j]) * (z[j] - s_next) * forward
            s[j] = s_next
            z_next[j] = extrapolated
        sums[i, 0] = moved
        sums[i, 1] = size
        sums[i, 2] = uphill


@compiled(fastmath=True, error_model="numpy", inline="always")
def _shrink(z, gradient, y, weight, weights, curvature, curvatures, loss, delta, one):  # type: ignore[no-untyped-def]
    """Replace the ``gradient`` of a row by the prox of ``z - step gradient``; a loop for each loss vectorizes."""
    if loss == L1:
        for j in range(z.shape[0]):
            step = one / (curvature + curvatures[j])
            residual = z[j] - step * gradient[j] - y[j]
            threshold = step * weight * weights[j]
            gradient[j] = y[j] + residual - min(max(residual, -threshold), threshold)
    elif loss == L2:
        for j in range(z.shape[0]):
            step = one / (curvature + curvatures[j])
            residual = z[j] - step * gradient[j] - y[j]
            gradient[j] = y[j] + residual / (one + (step + step) * weight * weights[j])
    else:  # HUBER; callers admit no other code
        for j in range(z.shape[0]):
            step = one / (curvature + curvatures[j])
            residual = z[j] - step * gradient[j] - y[j]
            threshold = step * weight * weights[j]
            inside = residual * (delta / (delta + threshold))
            soft = residual - min(max(residual, -threshold), threshold)
            gradient[j] = y[j] + (inside if abs(inside) <= delta else soft)
