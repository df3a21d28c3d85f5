"""From the compressed matrix back to all samples and features.

.. autosummary::
    decode_ideal         least squares on known eigenvectors: no error of its own, at the price of the eigenvectors
    decode_alternate     one convex problem on both graphs
    decode_approximate   regularised singular vectors, side by side
    decode_orthonormal   the same under orthonormality
    decode_subspace      the smoothest singular vectors through the compressed ones (Algorithm 2): the default
    decode_approximate2  feature vectors upsampled, the data projected on them
    decode_approximate3  sample vectors upsampled, the data projected on them
    decode_robust        the data fitted on the compressed factors, gross errors ignored: no graph needed
    upsample             values on kept nodes -> the smoothest signal through them (Lemma 1)
    Side                 graph, kept nodes and importance weights of the samples or the features
    LowRankMatrix        the factors of a large matrix, decoded only where asked
"""

from collections.abc import Callable

from ..sampling.nodes import Side
from .alternate import alternate_matrix, decode_alternate
from .factors import Decoded
from .ideal import decode_ideal, fit_bandlimited
from .low_rank_matrix import LowRankMatrix
from .orthonormal import decode_orthonormal, fit_orthonormal
from .penalty import fit_smooth
from .projections import decode_approximate2, decode_approximate3
from .robust import decode_robust
from .subspace import decode_approximate, decode_subspace
from .upsample import upsample

DECODERS: dict[str, Callable[..., Decoded]] = {
    "subspace": decode_subspace,
    "ideal": decode_ideal,
    "alternate": decode_alternate,
    "approximate": decode_approximate,
    "orthonormal": decode_orthonormal,
    "approximate2": decode_approximate2,
    "approximate3": decode_approximate3,
    "robust": decode_robust,
}

__all__ = [
    "DECODERS",
    "Decoded",
    "LowRankMatrix",
    "Side",
    "alternate_matrix",
    "decode_alternate",
    "decode_approximate",
    "decode_approximate2",
    "decode_approximate3",
    "decode_ideal",
    "decode_orthonormal",
    "decode_robust",
    "decode_subspace",
    "fit_bandlimited",
    "fit_orthonormal",
    "fit_smooth",
    "upsample",
]
