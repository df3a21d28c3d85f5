"""Clusters that the sample graph speaks for: many partitions of the kept samples, one taken by its conductance.

.. autosummary::
    candidates   partitions of the kept samples: k-means, and finer clusters merged
    choose       spread the best over all samples, improve them, take the one of least conductance
    improve      move single nodes for as long as the conductance falls
    consensus    one partition from several
    merge        join clusters by their modularity
    modularity_along   modularity while clusters are joined
"""

from .agreement import consensus
from .merging import merge, modularity_along
from .moves import improve
from .proposals import Candidate, candidates
from .selection import Chosen, choose

__all__ = ["Candidate", "Chosen", "candidates", "choose", "consensus", "improve", "merge", "modularity_along"]
