"""Automatic decisions, one file each, with the constants they were tuned to and the data sets that chose them.

.. autosummary::
    choose_units             scaling that needs no trial: counts, or different units
    choose_scaling           scaling for clustering, by the clusters it leads to
    choose_recovery_scaling  scaling for recovery: different units or not
    choose_outlier_filter    whether to filter cellwise outliers before distances are computed
    choose_n_neighbors       neighbors of each sample
    choose_n_clusters        number of clusters, and whether there are any
    choose_laplacian         Laplacian of the model
    choose_bandwidth         width of the kernel of neighbor graphs
    label_options            how labels are interpolated
    n_kept                   samples and features that are kept
    n_laid_out, choose_n_epochs, n_negative   samples of the first layout of a map, its epochs and repulsions
    fixed_gammas, gamma_path, validate_gammas   gammas: defaults, the clustering path, validation on held-out entries
    partition_reasons        why a partition was selected
    rank_choice              rank of the answer: singular values above the noise
    compare_rows             whether new rows of a stream differ from those of the fit
    choose_candidate, choose_estimate   model of recovery, and whether its solution or the denoised matrix is the answer
"""

from .choice import AS_GIVEN, Choice
from .downsampling import DEFAULT_RANK, check_sizes, n_kept
from .drift import Drift, RowScores, beyond, compare_rows, held_out
from .gamma_search import gamma_choices, model_choices, needs_validation, validate_gammas
from .gammas import fixed_gammas, gamma_path
from .graphs import (
    PUBLISHED_TOL,
    choose_bandwidth,
    choose_laplacian,
    choose_n_neighbors,
    compression_choices,
    label_options,
)
from .layout import FIRST_EPOCHS, FIRST_REPULSION, choose_n_epochs, n_laid_out, n_negative
from .n_clusters import choose_n_clusters
from .outliers import choose_outlier_filter
from .partition import partition_reasons
from .rank import rank_choice
from .recovery_model import (
    CANDIDATES,
    choose_candidate,
    choose_estimate,
    choose_held_out,
    n_solved,
    why_not_validated,
)
from .scaling import choose_recovery_scaling, choose_scaling, choose_units

__all__ = [
    "AS_GIVEN", "CANDIDATES", "DEFAULT_RANK", "FIRST_EPOCHS", "FIRST_REPULSION", "PUBLISHED_TOL", "Choice", "Drift",
    "RowScores", "beyond", "check_sizes", "choose_bandwidth", "choose_candidate", "choose_estimate", "choose_held_out",
    "choose_laplacian", "choose_n_clusters", "choose_n_epochs", "choose_n_neighbors", "choose_outlier_filter",
    "choose_recovery_scaling", "choose_scaling", "choose_units", "compare_rows", "compression_choices", "fixed_gammas",
    "gamma_choices", "gamma_path", "held_out", "label_options", "model_choices", "n_kept", "n_laid_out", "n_negative",
    "n_solved", "needs_validation", "partition_reasons", "rank_choice", "validate_gammas", "why_not_validated",
]  # fmt: skip
