"""Gammas of the sample graph and the feature graph: defaults, and where a search begins.

    given by the user                     used as given
    recovery by FRPCAG                    validation on held-out entries (:mod:`.gamma_search`)
    clustering, partition="graph"         gamma_samples of the selected partition (clustering.select); 0.3 for features
    RPCAG, "k-means", FRPCAG uncompressed fixed gammas of the Laplacian

Fixed gammas are the middle of the range that worked on digits, USPS, MNIST, faces and synthetic data. The endpoints of
the clustering path are the best values on faces (0.5) and on digits (40).
"""

from ..graphs import LaplacianKind
from ..options import Options, is_auto

FIXED: dict[LaplacianKind, tuple[float, float]] = {"normalized": (1.5, 0.3), "combinatorial": (0.5, 0.3)}
CLUSTERING_PATH = (0.5, 1.5, 5.0, 15.0, 40.0)  # gamma_samples
GRID = tuple(10.0 ** (half / 2) for half in range(-3, 5))  # gammas from 0.03, where the l1 loss hardly moves, to 100
START = (3, 2)  # indices into the grid, at which validation begins: gammas 1 and 0.3


def fixed_gammas(options: Options, laplacian: LaplacianKind) -> tuple[float, float]:
    """Given gammas, or the defaults of the Laplacian."""
    gamma_samples, gamma_features = FIXED[laplacian]
    return (
        gamma_samples if is_auto(options.gamma_samples) else float(options.gamma_samples),
        gamma_features if is_auto(options.gamma_features) else float(options.gamma_features),
    )


def gamma_path(options: Options, laplacian: LaplacianKind) -> list[tuple[float, float]]:
    """Gammas at which clusters are searched, in increasing order; one pair if gamma_samples is given."""
    of_samples, of_features = fixed_gammas(options, laplacian)
    path = CLUSTERING_PATH if is_auto(options.gamma_samples) else (of_samples,)
    return [(gamma, of_features) for gamma in path]
