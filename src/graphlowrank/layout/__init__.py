"""Layout of a graph in few dimensions, so that neighbors stay neighbors.

.. autosummary::
    membership_graph   weights of edges: how sure it is that the ends are neighbors, whatever the density around them
    first_positions    from the smoothest eigenvectors, connected components side by side
    lay_out            epochs of attraction along edges and repulsion from random nodes
    place_new          positions of new samples among those of their neighbors
    oriented           centered, along the principal axes
"""

from .forces import lay_out, oriented
from .memberships import evened, membership_graph
from .new_samples import place_new
from .start import first_positions

__all__ = ["evened", "first_positions", "lay_out", "membership_graph", "oriented", "place_new"]
