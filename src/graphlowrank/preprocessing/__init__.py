"""What happens to the data before graphs are built.

.. autosummary::
    scaling             standardize samples or features
    missing             missing values (NaN): tests, column means and medians
    imputer             impute missing values by a low-rank model, for distances
    outlier_filter      flag and impute cellwise outliers, for distances
    robust_statistics   median, MAD, interdecile range
    sparse              sparse data with shifts; functions for dense and sparse data alike
    rows                rows on disk, in blocks
    block               the sampled block in units of its own
    counts              counts: normalization, logarithms, variable features
    principal           principal scores of dense, sparse and incomplete data
"""

from .block import Block, ScaledData, sampled_block
from .imputer import LowRankImputer, fit_imputer, impute
from .missing import has_missing, observed_mask
from .outlier_filter import OutlierFilter, fit_outlier_filter
from .rows import BlockRows
from .scaling import Scaling
from .sparse import Data, ShiftedSparse, as_shifted_sparse, dense_rows, is_sparse

__all__ = [
    "Block", "BlockRows", "Data", "LowRankImputer", "OutlierFilter", "ScaledData", "Scaling", "ShiftedSparse",
    "as_shifted_sparse", "dense_rows", "fit_imputer", "fit_outlier_filter", "has_missing", "impute", "is_sparse",
    "observed_mask", "sampled_block",
]  # fmt: skip
