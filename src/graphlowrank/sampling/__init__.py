"""Sampling of nodes, sample sizes, and the restricted isometry of a draw.

.. autosummary::
    draw                   draw nodes, uniformly or by a distribution
    local_coherence        largest share of its energy that a smooth signal can have on each node
    cumulative_coherence   its maximum, nu_k: how hard a graph is to sample
    optimal_distribution   probabilities proportional to the local coherence
    required_samples       sample size of Theorem 1
    promised_delta         distortion guaranteed for a sample size
    Reservoir              random rows of a stream
    isometry               exact distortion of one draw
    empirical_rip          distortion of one draw, measured on random low-rank matrices
"""

from .coherence import cumulative_coherence, local_coherence, optimal_distribution
from .isometry import Isometry, empirical_rip, isometry, joint_isometry, promised_delta, required_samples
from .nodes import (
    SampledNodes,
    check_indices,
    check_reach,
    draw,
    importance_weights,
    inclusion_probabilities,
    sample_nodes,
)
from .reservoir import Reservoir

__all__ = [
    "Isometry", "Reservoir", "SampledNodes", "check_indices", "check_reach", "cumulative_coherence", "draw",
    "empirical_rip", "importance_weights", "inclusion_probabilities", "isometry", "joint_isometry", "local_coherence",
    "optimal_distribution", "promised_delta", "required_samples", "sample_nodes",
]  # fmt: skip
