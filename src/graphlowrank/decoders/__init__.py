"""From the compressed matrix back to all samples and features.

.. autosummary::
    upsample          values on kept nodes -> the smoothest signal through them (Lemma 1)
    decode_subspace   compressed low-rank matrix -> low-rank matrix (Algorithm 2)
    decode_labels     compressed low-rank matrix -> cluster labels (Algorithm 3)
    LowRankMatrix     the factors of a large matrix, decoded only where asked
"""

from .labels import Labels, decode_labels
from .low_rank_matrix import LowRankMatrix
from .subspace import decode_subspace
from .upsample import upsample

__all__ = ["Labels", "LowRankMatrix", "decode_labels", "decode_subspace", "upsample"]
