"""Data with a known answer, ways to corrupt data, and loaders of real sets.

.. autosummary::
    make_low_rank_on_graphs   synthetic matrix in the span of the smoothest signals of two graphs
    make_block_matrix         constant on blocks, graphs with a chosen spectral gap
    make_noisy_circle         circle in space, the paper's first figure
    make_moving_square        video with known background and masks
    shepp_logan_phantom       head in ten ellipses
    gaussian_noise, laplacian_noise   dense errors, in deviations of the data
    sparse_noise              gross errors on a share of each sample's entries
    missing_entries           which entries are observed
    occluding_blocks          a block of each image covered
    load_mnist, load_usps     digits
    load_orl, load_yale, load_pie   faces
    load_video                fixed cameras, with masks of what moves
    load_worm_neurons, load_pbmc    single cells
"""

from .blocks import BlockMatrix, make_block_matrix
from .cells import load_pbmc, load_worm_neurons, pbmc_names
from .circle import NoisyCircle, make_noisy_circle
from .corruptions import gaussian_noise, laplacian_noise, missing_entries, occluding_blocks, sparse_noise
from .download import DownloadError
from .images import IMAGE_SHAPES, load_mnist, load_orl, load_pie, load_usps, load_yale
from .moving_square import MovingSquare, make_moving_square
from .phantom import shepp_logan_phantom
from .synthetic import LowRankOnGraphs, make_low_rank_on_graphs
from .videos import Video, load_video

__all__ = [
    "IMAGE_SHAPES",
    "BlockMatrix",
    "DownloadError",
    "LowRankOnGraphs",
    "MovingSquare",
    "NoisyCircle",
    "Video",
    "gaussian_noise",
    "laplacian_noise",
    "load_mnist",
    "load_orl",
    "load_pbmc",
    "load_pie",
    "load_usps",
    "load_video",
    "load_worm_neurons",
    "load_yale",
    "make_block_matrix",
    "make_low_rank_on_graphs",
    "make_moving_square",
    "make_noisy_circle",
    "missing_entries",
    "occluding_blocks",
    "pbmc_names",
    "shepp_logan_phantom",
    "sparse_noise",
]
