"""Error bounds of the paper, and a diagnosis of how well data and draw meet their assumptions.

.. autosummary::
    diagnose           spectral gaps, coherence, sample sizes, energy on the graphs, bound, advice
    decoding_errors    errors of subspace upsampling for draws of several sizes, beside their bounds
    ideal_bound        Theorem 2
    alternate_bound    Theorem 3
    approximate_bound  Theorem 4
    subspace_bound     Theorem 5
    label_bound        Theorem 6
"""

from .bounds import (
    Bound,
    alternate_bound,
    amplification,
    approximate_bound,
    ideal_bound,
    label_bound,
    subspace_bound,
    subspace_matrix_bound,
)
from .decoding import DecodingErrors, decoding_errors
from .diagnose import Diagnosis, SideDiagnosis, diagnose

__all__ = [
    "Bound", "DecodingErrors", "Diagnosis", "SideDiagnosis", "alternate_bound", "amplification", "approximate_bound",
    "decoding_errors", "diagnose", "ideal_bound", "label_bound", "subspace_bound", "subspace_matrix_bound",
]  # fmt: skip
