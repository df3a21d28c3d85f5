"""The twelve methods that the paper compares, by name, prepared and swept as there.

>>> from sklearn.datasets import load_digits
>>> X = load_digits().data[:300]
>>> sorted(METHODS)
['cpca', 'frpcag', 'glpca', 'gnmf', 'kmeans', 'le', 'lle', 'mmf', 'nmf', 'pca', 'rpca', 'rpcag']
>>> cluster("pca", X, 10, n_components=8, random_state=0).labels.shape
(300,)
"""

from .clustering import Clustering, Fitted, cluster, fit, sample_graph
from .registry import METHODS, Method, parameter_grid

__all__ = ["METHODS", "Clustering", "Fitted", "Method", "cluster", "fit", "parameter_grid", "sample_graph"]
