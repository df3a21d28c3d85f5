"""Everything that is compared: one function for each system, in one registry.

>>> from sklearn.datasets import load_digits
>>> X = load_digits().data[:300]
>>> sorted(METHODS)
['cpca', 'frpcag', 'glpca', 'gnmf', 'kmeans', 'le', 'lle', 'mmf', 'nmf', 'pca', 'rpca', 'rpcag']
>>> cluster("pca", X, 10, n_components=8, random_state=0).labels.shape
(300,)
"""

from . import recovery, steps  # noqa: F401 - they register their systems
from .clustering import ALGORITHM_3, Fitted, cluster, fit, method_graph
from .methods import METHODS, ClusterTask, Method, parameter_grid
from .registry import SYSTEMS, fit_estimator, system

__all__ = [
    "ALGORITHM_3",
    "METHODS",
    "SYSTEMS",
    "ClusterTask",
    "Fitted",
    "Method",
    "cluster",
    "fit",
    "fit_estimator",
    "method_graph",
    "parameter_grid",
    "system",
]
