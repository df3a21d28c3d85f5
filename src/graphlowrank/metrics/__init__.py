"""Scores of clusters, matrices, images and masks against the truth.

.. autosummary::
    clustering_error                share of samples in the wrong cluster, under the best matching
    normalized_mutual_information   information that clusters and classes share, 0 to 1
    adjusted_rand_index             pairs of samples kept together or apart alike, 0 for chance
    modularity                      agreement of clusters with a graph; needs no truth
    conductance                     share of a graph's weight that leads out of clusters; needs no truth
    recovery_error                  relative error of a matrix
    approximate_rank                singular values of at least a tenth of the first
    graph_alignment                 share of a matrix's energy in the smoothest signals of a graph
    psnr, ssim                      likeness of two images
    mask_scores                     precision, recall and F1 of a mask
    best_f1                         highest F1 that a threshold on a residual can have
"""

from .clustering import (
    adjusted_rand_index,
    clustering_error,
    conductance,
    modularity,
    normalized_mutual_information,
)
from .images import psnr, ssim
from .masks import BestF1, MaskScores, best_f1, mask_scores
from .recovery import approximate_rank, graph_alignment, recovery_error

__all__ = [
    "BestF1",
    "MaskScores",
    "adjusted_rand_index",
    "approximate_rank",
    "best_f1",
    "clustering_error",
    "conductance",
    "graph_alignment",
    "mask_scores",
    "modularity",
    "normalized_mutual_information",
    "psnr",
    "recovery_error",
    "ssim",
]
