"""Which nodes to keep, how many, and what that promises.

.. autosummary::
    draw                   nodes, uniformly or by a distribution
    local_coherence        share of smooth energy that one node can hold
    cumulative_coherence   its maximum, nu_k: how hard a graph is to sample
    optimal_distribution   probabilities in proportion to the local coherence
    required_samples       draws that Theorem 1 asks for
    promised_delta         distortion that a number of draws promises
    empirical_rip          distortion measured on random low-rank matrices
    isometry               distortion of one draw, exactly
"""

from .coherence import cumulative_coherence, local_coherence, optimal_distribution
from .draw import check_indices, check_reach, draw, importance_weights, inclusion_probabilities
from .isometry import Isometry, empirical_rip, isometry, joint_isometry
from .nodes import SampledNodes, sample_nodes
from .sizes import promised_delta, required_samples

__all__ = [
    "Isometry",
    "SampledNodes",
    "check_indices",
    "check_reach",
    "cumulative_coherence",
    "draw",
    "empirical_rip",
    "importance_weights",
    "inclusion_probabilities",
    "isometry",
    "joint_isometry",
    "local_coherence",
    "optimal_distribution",
    "promised_delta",
    "required_samples",
    "sample_nodes",
]
