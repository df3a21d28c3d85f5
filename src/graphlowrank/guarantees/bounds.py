"""Right-hand sides of the paper's error bounds (Theorems 2 to 6), to be put beside a measured error.

All of them ask that the draw keeps norms within ``delta`` (Theorem 1); :func:`graphlowrank.sampling.isometry` measures
that for a given draw. Eigenvalues and gammas must be of the same Laplacian; ratios do not depend on its scale.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import hypot, inf, sqrt


@dataclass(frozen=True)
class Bound:
    """Bound on the error of a decoder, in two orthogonal parts.

    Attributes
    ----------
    inside
        Of the part in the span of the first k eigenvectors.
    outside
        Of the rest, E* in the paper.
    """

    inside: float
    outside: float

    @property
    def total(self) -> float:
        """Bound on the whole error."""
        return hypot(self.inside, self.outside)


def amplification(n: int, n_kept: int, delta: float) -> float:
    """``sqrt(n / (n_kept (1 - delta)))``: how much an error on the kept nodes may weigh on all of them.

    For a matrix multiply the numbers of both sides: ``amplification(n * p, rho_c * rho_r, delta)``. Where delta is 1 or
    more there is no bound, and the answer is infinite.
    """
    _check_positive(n=n, n_kept=n_kept)
    return sqrt(n / (n_kept * (1 - delta))) if delta < 1 else inf


def _check_positive(**numbers: float) -> None:
    for name, value in numbers.items():
        if not value > 0:
            raise ValueError(f"{name} must be positive, got {value}.")


def ideal_bound(noise: float, amplify: float) -> float:
    """Bound ``||X* - X||`` of the ideal decoder by ``2 amplify ||E||`` (Theorem 2).

    Parameters
    ----------
    noise
        ``||E||``, error of the compressed matrix.
    amplify
        :func:`amplification` of the draw.

    Notes
    -----
    Least squares projects E, so half of the printed bound holds too.
    """
    return 2 * amplify * noise if amplify < inf else inf


def alternate_bound(
    noise: float,
    signal: float,
    amplify: float,
    *,
    gamma: float,
    gap_samples: float,
    gap_features: float,
    max_weight: float = 1.0,
) -> Bound:
    """Error of the alternate decoder with ``gamma_c = gamma / lambda_c,k+1`` and ``gamma_r`` alike (Theorem 3).

    ``inside = amplify [(2 + 1 / sqrt(2 gamma)) ||E|| + (1 / sqrt(2) + sqrt(gamma)) sqrt(gap_c + gap_r) ||X||]``,
    ``outside = ||E|| / sqrt(2 gamma) + sqrt((gap_c + gap_r) / 2) ||X||``.

    Parameters
    ----------
    noise, signal
        ``||E||``, error of the compressed matrix, and ``||X||`` of the true matrix.
    amplify
        :func:`amplification` of the draw.
    gamma
        See above.
    gap_samples, gap_features
        ``lambda_k / lambda_k+1`` of each graph.
    max_weight
        Largest importance weight of an entry (norms of the kept part are then weighted ones).

    Notes
    -----
    The printed proof takes ``||X* Qbar|| = ||Pbar^T X*|| = ||E*||``, which need not hold. The constants do: X* is the
    minimum of a quadratic F, so ``F(X) = F(X*) + <X* - X, A (X* - X)>``, and the smoothness of E* enters twice.
    """
    _check_positive(gamma=gamma)
    gaps = sqrt(gap_samples + gap_features)
    outside = noise / sqrt(2 * gamma) + gaps * signal / sqrt(2)
    inside = amplify * (2 * noise + sqrt(gamma) * gaps * signal + sqrt(max_weight) * outside)
    return Bound(inside if amplify < inf else inf, outside)


def approximate_bound(
    noise: float,
    signal: float,
    amplify: float,
    *,
    gamma: float,
    eigenvalue: float,
    next_eigenvalue: float,
    max_weight: float = 1.0,
) -> Bound:
    """Error of one side of the approximate decoder (Theorem 4), for k vectors together.

    ``inside = sqrt(2) amplify [(2 + 1 / sqrt(gamma lambda_k+1)) ||E|| + (sqrt(lambda_k / lambda_k+1) + sqrt(gamma
    lambda_k)) ||U||]``, ``outside = sqrt(2 / (gamma lambda_k+1)) ||E|| + sqrt(2 lambda_k / lambda_k+1) ||U||``.

    Parameters
    ----------
    noise, signal
        ``||E||``, error of the compressed vectors, and ``||U||`` of the true ones.
    amplify
        :func:`amplification` of this side's draw.
    gamma
        Weight of the penalty.
    eigenvalue, next_eigenvalue
        lambda_k and lambda_k+1 of this side's Laplacian.
    max_weight
        Largest importance weight.
    """
    _check_positive(gamma=gamma, next_eigenvalue=next_eigenvalue)
    outside = noise / sqrt(gamma * next_eigenvalue) + sqrt(eigenvalue / next_eigenvalue) * signal
    inside = amplify * (2 * noise + sqrt(gamma * eigenvalue) * signal + sqrt(max_weight) * outside)
    return Bound(sqrt(2) * inside if amplify < inf else inf, sqrt(2) * outside)


def subspace_bound(signal: float, amplify: float, *, gap: float, max_weight: float = 1.0) -> Bound:
    """Error of one side of subspace upsampling without noise (Theorem 5).

    ``inside = sqrt(2) amplify sqrt(gap) ||U||``, and ``outside = sqrt(gap) ||U||`` from the same proof.

    Parameters
    ----------
    signal
        ``||U||`` of the true vectors.
    amplify
        :func:`amplification` of this side's draw.
    gap
        ``lambda_k / lambda_k+1`` of this side's graph.
    max_weight
        Largest importance weight.
    """
    return Bound(sqrt(2 * gap * max_weight) * amplify * signal if amplify < inf else inf, sqrt(gap) * signal)


def label_bound(signal: float, amplify: float, *, gap: float, max_weight: float = 1.0) -> Bound:
    """Error of decoding one cluster indicator without noise (Theorem 6): Theorem 5 for a single vector.

    ``inside = amplify sqrt(gap) ||c||``; parameters as in :func:`subspace_bound`.
    """
    return Bound(sqrt(gap * max_weight) * amplify * signal if amplify < inf else inf, sqrt(gap) * signal)


def subspace_matrix_bound(samples: Bound, features: Bound) -> float:
    """Relative error of a matrix decoded by subspace upsampling, from the bounds of its sides for unit signals.

    With b the total of a side, ``||X* - X|| <= (b_c + b_r + b_c b_r) ||X||``: decoding the features of X leaves its
    samples smooth, so that the bound of the other side applies to the result. (The paper speaks of the product of the
    two errors; their sum is what can be shown.)
    """
    return samples.total + features.total + samples.total * features.total
