"""Right-hand sides of the error bounds of the paper (Theorems 2 to 6).

All of them assume that the draw preserves norms within ``delta`` (Theorem 1); :func:`graphlowrank.sampling.isometry`
computes delta for a given draw. Eigenvalues and gammas refer to the same Laplacian; ratios do not depend on its scale.
"""

from dataclasses import dataclass
from math import hypot, inf, sqrt


@dataclass(frozen=True)
class Bound:
    """Bound on the error of a decoder, in two orthogonal parts.

    Attributes
    ----------
    inside, outside : float
        Error in the span of the first k eigenvectors, and in the orthogonal complement (E* in the paper).
    """

    inside: float
    outside: float

    @property
    def total(self) -> float:
        """Bound on the whole error."""
        return hypot(self.inside, self.outside)


def amplification(n: int, n_kept: int, delta: float) -> float:
    """Amplification ``sqrt(n / (n_kept (1 - delta)))`` of an error on the kept nodes; infinite (no bound) from delta 1.

    Parameters
    ----------
    n, n_kept : int
        Numbers of nodes and of kept nodes. For a matrix, the products of both sides.
    delta : float
        Distortion of the draw.

    Examples
    --------
    >>> amplification(100, 25, 0.75)
    4.0
    """
    _check_positive(n=n, n_kept=n_kept)
    return sqrt(n / (n_kept * (1 - delta))) if delta < 1 else inf


def _check_positive(**numbers: float) -> None:
    for name, value in numbers.items():
        if not value > 0:
            raise ValueError(f"{name} must be positive, got {value}.")


def ideal_bound(noise: float, amplify: float) -> float:
    """Bound ``2 amplify ||E||`` on the error ``||X* - X||`` of the ideal decoder (Theorem 2).

    Least squares projects E, so half of the bound holds too.

    Parameters
    ----------
    noise : float
        ``||E||``, error of the compressed matrix.
    amplify : float
        :func:`amplification` of the draw; infinite if there is no bound.

    Examples
    --------
    >>> ideal_bound(0.5, 4.0)
    4.0
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
    """Bound on the error of the alternate decoder (Theorem 3), with ``gamma_c = gamma / lambda_c,k+1``, gamma_r alike.

    ``inside = amplify [(2 + 1 / sqrt(2 gamma)) ||E|| + (1 / sqrt(2) + sqrt(gamma)) sqrt(gap_c + gap_r) ||X||]``,
    ``outside = ||E|| / sqrt(2 gamma) + sqrt((gap_c + gap_r) / 2) ||X||``.

    Parameters
    ----------
    noise, signal, gamma : float
        ``||E||``, error of the compressed matrix; ``||X||`` of the true matrix; gamma of the formulas.
    amplify : float
        :func:`amplification` of the draw.
    gap_samples, gap_features : float
        ``lambda_k / lambda_k+1`` of each graph.
    max_weight : float, default=1.0
        Largest importance weight of an entry (norms of the kept part are then weighted).

    Examples
    --------
    >>> round(alternate_bound(0.1, 1.0, 2.0, gamma=1.0, gap_samples=0.01, gap_features=0.01).total, 3)
    1.038

    Notes
    -----
    The printed proof assumes ``||X* Qbar|| = ||Pbar^T X*|| = ||E*||``, which need not hold. The constants do: X* is the
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
    """Bound on the error of one side of the approximate decoder (Theorem 4), for k vectors together.

    ``inside = sqrt(2) amplify [(2 + 1 / sqrt(gamma lambda_k+1)) ||E|| + (sqrt(lambda_k / lambda_k+1) + sqrt(gamma
    lambda_k)) ||U||]``, ``outside = sqrt(2 / (gamma lambda_k+1)) ||E|| + sqrt(2 lambda_k / lambda_k+1) ||U||``.

    Parameters
    ----------
    noise, signal, amplify, max_weight : float
        As in :func:`alternate_bound`, of the compressed vectors, the true ones U, and the draw of this side.
    gamma : float
        Weight of the penalty.
    eigenvalue, next_eigenvalue : float
        lambda_k and lambda_k+1 of the Laplacian of this side.

    Examples
    --------
    >>> round(approximate_bound(0.1, 1.0, 2.0, gamma=1.0, eigenvalue=0.01, next_eigenvalue=1.0).total, 3)
    1.442
    """
    _check_positive(gamma=gamma, next_eigenvalue=next_eigenvalue)
    outside = noise / sqrt(gamma * next_eigenvalue) + sqrt(eigenvalue / next_eigenvalue) * signal
    inside = amplify * (2 * noise + sqrt(gamma * eigenvalue) * signal + sqrt(max_weight) * outside)
    return Bound(sqrt(2) * inside if amplify < inf else inf, sqrt(2) * outside)


def subspace_bound(signal: float, amplify: float, *, gap: float, max_weight: float = 1.0) -> Bound:
    """Bound on the error of one side of noiseless subspace upsampling (Theorem 5).

    ``inside = sqrt(2) amplify sqrt(gap) ||U||``, and ``outside = sqrt(gap) ||U||`` from the same proof.

    Parameters
    ----------
    signal, amplify, max_weight : float
        As in :func:`alternate_bound`, of the true vectors U, and the draw of this side.
    gap : float
        ``lambda_k / lambda_k+1`` of the graph of this side.

    Examples
    --------
    >>> subspace_bound(1.0, 2.0, gap=0.02).inside
    0.4
    """
    return Bound(sqrt(2 * gap * max_weight) * amplify * signal if amplify < inf else inf, sqrt(gap) * signal)


def label_bound(signal: float, amplify: float, *, gap: float, max_weight: float = 1.0) -> Bound:
    """Bound on the error of a noiselessly decoded cluster indicator (Theorem 6): Theorem 5 for a single vector.

    ``inside = amplify sqrt(gap) ||c||``; parameters and result as in :func:`subspace_bound`.

    Examples
    --------
    >>> label_bound(1.0, 2.0, gap=0.01).inside
    0.2
    """
    return Bound(sqrt(gap * max_weight) * amplify * signal if amplify < inf else inf, sqrt(gap) * signal)


def subspace_matrix_bound(samples: Bound, features: Bound) -> float:
    """Relative error of a matrix decoded by subspace upsampling, from the bounds of its sides for unit signals.

    With b the total of a side, ``||X* - X|| <= (b_c + b_r + b_c b_r) ||X||``: decoding the features of X leaves its
    samples smooth, so the bound of the other side applies to the result. (The paper states the product of the two
    errors; their sum is what can be shown.)

    Examples
    --------
    >>> subspace_matrix_bound(Bound(0.0, 0.5), Bound(0.0, 0.5))
    1.25
    """
    return samples.total + features.total + samples.total * features.total
