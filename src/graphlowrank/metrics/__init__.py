"""Metrics of clusters, matrices, images and masks.

.. autosummary::
    clustering_error                share of misclassified samples under the best matching
    normalized_mutual_information   mutual information of clusters and classes, 0 to 1
    adjusted_rand_index             agreement on pairs of samples, adjusted for chance
    modularity                      agreement of clusters with a graph; needs no labels
    conductance                     share of the edge weights that leave their cluster; needs no labels
    recovery_error                  relative error of a matrix
    approximate_rank                number of singular values of at least a tenth of the first
    graph_alignment                 share of the energy of a matrix in the smoothest signals of a graph
    psnr, ssim                      similarity of two images
    mask_scores                     precision, recall and F1 of a mask
    best_f1                         highest F1 over all thresholds of a residual
"""

from .clustering import adjusted_rand_index, clustering_error, conductance, modularity, normalized_mutual_information
from .images import BestF1, MaskScores, best_f1, mask_scores, psnr, ssim
from .recovery import approximate_rank, graph_alignment, recovery_error

__all__ = [
    "BestF1", "MaskScores", "adjusted_rand_index", "approximate_rank", "best_f1", "clustering_error", "conductance",
    "graph_alignment", "mask_scores", "modularity", "normalized_mutual_information", "psnr", "recovery_error", "ssim",
]  # fmt: skip
