"""Images from few linear measurements.

.. autosummary::
    reconstruct           measurements -> image, smooth on graphs of its rows and columns
    projection_matrix     parallel-beam projections, as a sparse matrix
    covering_detectors    number of detectors that cover the whole image
    entry_sampling        some pixels: matrix completion
    gaussian_projections  random measurements
    fourier_sampling      some frequencies (MRI); see radial_mask
    row_subset            some of the measurements
"""

from .operators import entry_sampling, fourier_sampling, gaussian_projections, radial_mask, row_subset
from .projection import covering_detectors, projection_matrix
from .reconstruct import reconstruct
from .reconstruction import Reconstruction

__all__ = [
    "Reconstruction", "covering_detectors", "entry_sampling", "fourier_sampling", "gaussian_projections",
    "projection_matrix", "radial_mask", "reconstruct", "row_subset",
]  # fmt: skip
