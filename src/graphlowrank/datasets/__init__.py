"""Synthetic data with known ground truth, and corruptions; the data of the paper are in the benchmark harness.

.. autosummary::
    make_low_rank_on_graphs         matrix in the span of the smoothest signals of two graphs
    make_moving_square              video with known background and masks
    shepp_logan_phantom             test image of tomography
    gaussian_noise, laplacian_noise dense noise
    sparse_noise                    cellwise outliers
    missing_entries                 mask of observed entries
    occluding_blocks                a covered block in each image
"""

import warnings
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from .corruptions import gaussian_noise, laplacian_noise, missing_entries, occluding_blocks, sparse_noise
from .synthetic import LowRankOnGraphs, MovingSquare, make_low_rank_on_graphs, make_moving_square, shepp_logan_phantom

__all__ = [
    "LowRankOnGraphs", "MovingSquare", "gaussian_noise", "laplacian_noise", "make_low_rank_on_graphs",
    "make_moving_square", "missing_entries", "occluding_blocks", "shepp_logan_phantom", "sparse_noise",
]  # fmt: skip

_HARNESS = "graphlowrank_benchmarks"
_MOVED = {  # to the harness; removed from here in 0.3.0
    *("load_mnist", "load_usps", "load_orl", "load_yale", "load_pie", "load_video", "load_worm_neurons", "load_pbmc"),
    *("pbmc_names", "IMAGE_SHAPES", "Video", "DownloadError"),
    *("make_block_matrix", "make_noisy_circle", "BlockMatrix", "NoisyCircle"),
}


def __getattr__(name: str) -> Any:
    """Forward the names of what moved to the harness, which is not part of the wheel."""
    if name not in _MOVED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    moved = f"graphlowrank.datasets.{name} is now {_HARNESS}.datasets.{name}"
    if find_spec(_HARNESS) is None:
        raise ImportError(
            f"{moved}, in the benchmark harness, which is not part of the installed package: clone the graphlowrank "
            "repository and run `pip install -e '.[io]'` in it."
        )
    warnings.warn(f"{moved}; the old name is removed in 0.3.0.", DeprecationWarning, stacklevel=2)
    return getattr(import_module(f"{_HARNESS}.datasets"), name)
