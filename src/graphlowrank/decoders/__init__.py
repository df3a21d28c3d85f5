"""From the compressed matrix back to all samples and features.

.. autosummary::
    decode_ideal         least squares on known eigenvectors: no error of its own, at the cost of the eigenvectors
    decode_alternate     one convex problem on both graphs
    decode_approximate   regularized singular vectors, one axis at a time
    decode_orthonormal   the same with orthonormality constraints
    decode_subspace      the smoothest singular vectors through the compressed ones (Algorithm 2): the default
    decode_approximate2  feature vectors interpolated, the data projected on them
    decode_approximate3  sample vectors interpolated, the data projected on them
    decode_robust        robust regression of the data on the compressed factors; needs no graph
    decode_graph_regression  regression of the data with a graph prior around the interpolated factors
    upsample             values on kept nodes -> the smoothest signal through them (Lemma 1)
    LowRankMatrix        the factors of a large matrix, decoded only where asked
    Decoder, DECODERS    what a decoder needs, and the registry
"""

from .alternate import alternate_matrix, decode_alternate
from .factors import Decoded
from .graph_regression import decode_graph_regression
from .ideal import decode_ideal, fit_bandlimited
from .low_rank_matrix import LowRankMatrix
from .orthonormal import decode_orthonormal, fit_orthonormal
from .penalty import fit_smooth, upsample
from .projections import decode_approximate2, decode_approximate3
from .registry import Decoder
from .robust import decode_robust
from .subspace import decode_approximate, decode_subspace

DECODERS: dict[str, Decoder] = {}


def register_decoder(decoder: Decoder) -> Decoder:
    """Make ``decoder`` available as the option ``decoder=decoder.name``."""
    DECODERS[decoder.name] = decoder
    return decoder


register_decoder(Decoder("subspace", decode_subspace))
register_decoder(Decoder("ideal", decode_ideal))
register_decoder(Decoder("alternate", decode_alternate))
register_decoder(Decoder("approximate", decode_approximate))
register_decoder(Decoder("orthonormal", decode_orthonormal))
register_decoder(Decoder("approximate2", decode_approximate2, fits=("sample",), needs_complete=True))
register_decoder(Decoder("approximate3", decode_approximate3, fits=("feature",), needs_complete=True))
register_decoder(Decoder("robust", decode_robust, fits=("sample", "feature")))
register_decoder(Decoder("graph_regression", decode_graph_regression, reads_data=True))

__all__ = [
    "DECODERS", "Decoded", "Decoder", "LowRankMatrix", "alternate_matrix", "decode_alternate", "decode_approximate",
    "decode_approximate2", "decode_approximate3", "decode_graph_regression", "decode_ideal", "decode_orthonormal",
    "decode_robust", "decode_subspace", "fit_bandlimited", "fit_orthonormal", "fit_smooth", "register_decoder",
    "upsample",
]  # fmt: skip
