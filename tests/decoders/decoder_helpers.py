"""Compressed matrices whose answer is known, and a dense twin of interpolation."""

import numpy as np

from graphlowrank.graphs import lowest_eigenpairs
from graphlowrank.preprocessing.block import ScaledData
from graphlowrank.sampling import SampledNodes, draw
from helpers import disjoint, random_graph


class Problem:
    """A matrix that is exactly low-rank on two graphs, and its compressed version."""

    def __init__(self, n=40, p=30, k=3, m_rows=20, m_columns=15, seed=0, noise=0.0, *, weighted=False):
        rng = np.random.default_rng(seed)
        self.graphs = random_graph(n, 0.2, seed, spread=0.5), random_graph(p, 0.2, seed + 1, spread=0.5)
        self.Q, self.P = (lowest_eigenpairs(graph, k)[1] for graph in self.graphs)
        self.X = self.Q @ rng.standard_normal((k, k)) @ self.P.T
        rows, columns = (
            draw(graph, m, random_state=seed) for graph, m in zip(self.graphs, (m_rows, m_columns), strict=True)
        )
        weights = [rng.uniform(0.3, 3, len(i)) if weighted else None for i in (rows, columns)]
        self.samples, self.features = (
            SampledNodes(self.graphs[0], rows, weights[0]),
            SampledNodes(self.graphs[1], columns, weights[1]),
        )
        self.block = np.ix_(rows, columns)
        self.noise = noise * rng.standard_normal((len(rows), len(columns)))
        self.X_small = self.X[self.block] + self.noise
        self.k = k

    @property
    def sides(self):
        return self.samples, self.features


def as_data(X):
    """The full data as decoders get it, in units of one."""
    return ScaledData(X, np.zeros(X.shape[1], dtype=X.dtype), 1.0)


def dense_interpolation(side, values, G):
    n = len(G)
    dropped = np.setdiff1d(np.arange(n), side.indices)
    out = np.empty((n, values.shape[1]))
    out[side.indices] = values
    out[dropped] = np.linalg.solve(G[np.ix_(dropped, dropped)], -G[np.ix_(dropped, side.indices)] @ values)
    return out


def weakly_joined(n, k, tie, seed):
    """k groups of n / k nodes, joined in a ring by single edges of weight ``tie``."""
    groups = disjoint(*(random_graph(n // k, 0.5, seed + i, spread=0.2) for i in range(k)))
    W = groups.weights.tolil()
    starts = np.arange(k) * (n // k)
    for a, b in zip(starts, np.roll(starts, 1), strict=True):
        W[a, b] = W[b, a] = tie
    return type(groups)(W.tocsr())
