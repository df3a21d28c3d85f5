"""Images from few linear measurements: projections, random ones, entries, frequencies.

.. autosummary::
    reconstruct           measurements -> image, smooth on graphs between its rows and columns
    projection_matrix     parallel-beam projections, as a sparse matrix
    covering_detectors    how many detectors see the whole image
    entry_sampling        some entries: matrix completion
    gaussian_projections  random measurements
    fourier_sampling      some frequencies (MRI); radial_mask chooses the usual ones
    row_subset            some of the measurements
"""

from .operators import entry_sampling, fourier_sampling, gaussian_projections, radial_mask, row_subset
from .projection import covering_detectors, projection_matrix
from .reconstruct import Reconstruction, reconstruct

__all__ = [
    "Reconstruction",
    "covering_detectors",
    "entry_sampling",
    "fourier_sampling",
    "gaussian_projections",
    "projection_matrix",
    "radial_mask",
    "reconstruct",
    "row_subset",
]
