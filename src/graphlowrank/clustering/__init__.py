"""Clusters from the compressed low-rank matrix and the sample graph.

.. autosummary::
    k_means             on the scores of the compressed matrix
    decode_labels       k-means, then labels interpolated over the sample graph (Algorithm 3)
    candidates          partitions of the kept samples: k-means, and finer clusters merged
    communities         partition of a graph by Louvain's method, of a given number of clusters
    partition_cost      conductance and lack of modularity: the criterion of selection
    select              interpolate the best, refine them, return the most central one
    refine              move single nodes while the conductance falls
    merge               merge clusters by modularity
    consensus           one partition from several
    weaknesses          reasons not to rely on a partition
    conductance         mean conductance of a partition
"""

from ..metrics import conductance
from .communities import cheapest, communities, locally_scaled, partition_cost
from .kmeans import Scores, k_means, leading_directions, spectral_directions
from .labels import (
    Labels,
    block_means,
    cluster_means,
    consensus,
    decode_labels,
    memberships_of_new,
    numbers_like,
)
from .novelty import center_distances, typical_distances
from .refinement import merge, modularity_path, refine
from .selection import Alternative, Candidate, Partition, Source, candidates, community_candidates, score_source, select
from .weaknesses import weaknesses

__all__ = [
    "Alternative", "Candidate", "Labels", "Partition", "Scores", "Source", "block_means", "candidates",
    "center_distances", "cheapest", "cluster_means", "communities", "community_candidates", "conductance", "consensus",
    "decode_labels", "k_means", "leading_directions", "locally_scaled",
    "memberships_of_new", "merge", "modularity_path", "numbers_like", "partition_cost", "refine", "score_source",
    "select", "spectral_directions", "typical_distances", "weaknesses",
]  # fmt: skip
