"""Fast Robust PCA on Graphs, without compression."""

from dataclasses import KW_ONLY, dataclass, replace

from ..auto import Choice, rank_choice
from ..options import Options
from ..pipeline import solve_whole
from ..preprocessing import Data
from ..records import LossWeights
from ._base import LowRankTransformer, PipelineEstimator


@dataclass(eq=False, repr=False)
class FastRobustPCAOnGraphs(PipelineEstimator, LowRankTransformer):
    """``min loss(U - X) + gamma_samples tr(U^T L_s U) + gamma_features tr(U L_f U^T)`` (FRPCAG, Shahid et al. 2016).

    Robust low-rank approximation that is smooth on two graphs, solved on the full matrix. :class:`CompressivePCA`
    solves this model on a small part of the data; use this class if the matrix is small or every entry matters.

    Parameters
    ----------
    n_components : int or None, default=None
        Components for ``transform``; None counts the singular values of at least a tenth of the first.
    gamma_samples, gamma_features : float or "auto", default="auto"
        Weights of the smoothness terms of the two graphs, for data divided by their mean absolute deviation and
        Laplacians divided by their mean diagonal. "auto" is 0.5 and 0.3 with the combinatorial Laplacian, 1.5 and 0.3
        with the normalized one: validation chooses well only for answers that are truncated to a rank.
    loss : {"l1", "l2", "huber"}, default="l1"
        "l1" ignores outliers, "l2" suits small dense noise, "huber" lies between.
    huber_delta : float, default=1.0
        Corner of the Huber loss, in mean absolute deviations of the data.
    n_neighbors : int, default=10
        Neighbors in "knn" graphs; a graph between few features has fewer.
    sample_graph, feature_graph : "knn", Graph, matrix or None, default="knn"
        "knn" builds the graph from the data; a Graph or its weight matrix is used as given; None leaves the term out.
    neighbors : {"auto", "exact", "approximate"}, default="auto"
        Neighbor search. "approximate" has a recall of about 0.98; "auto" is exact if that takes about a second.
    robust_graphs : bool, "ends" or "auto", default="auto"
        Whether cellwise outliers are imputed for distances; "ends" only those at the ends of their feature's range
        (salt and pepper), for the loss, too; "auto" if either improves held-out prediction.
    laplacian : {"auto", "combinatorial", "normalized"}, default="auto"
        Laplacian of the model. "auto" is combinatorial, which does not penalize constant signals.
    tol : float, default=1e-3
        FISTA stops when its iterate changes by less than ``tol``, relative to its norm or that of the standardized
        data, whichever is smaller.
    max_iter : int, default=1000
        Iterations allowed; a ConvergenceWarning is issued if they do not suffice.
    n_jobs : int or None, default=None
        Number of threads; None for every core. The answer does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of the approximate search.
    verbose : int, default=0
        1 reports the stages on standard error.

    Attributes
    ----------
    low_rank_ : ndarray of shape (n_samples, n_features)
        The solution. It is smooth on both graphs and close to low-rank; it is not truncated to ``n_components_``.
    components_, singular_values_, offset_ : arrays (n_components_, n_features), (n_components_,), (n_features,)
        Leading right singular vectors of ``low_rank_`` around its mean, their singular values, and that mean.
    scale_ : float
        Unit of the data: mean absolute deviation.
    n_components_, gamma_samples_, gamma_features_, n_iter_, converged_ : int, float, float, int, bool
        Values used, iterations, convergence.
    sample_graph_, feature_graph_ : Graph or None
        Graphs used.
    report_, stage_seconds_ : FitReport, dict
        What was chosen and why, graphs, convergence; seconds of each stage.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from graphlowrank import FastRobustPCAOnGraphs
    >>> X = load_digits().data[:200]
    >>> FastRobustPCAOnGraphs().fit(X).low_rank_.shape
    (200, 64)
    """

    n_components: int | None = None
    _: KW_ONLY
    n_neighbors: int = 10
    tol: float = 1e-3

    def _options(self) -> Options:
        return replace(super()._options(), downsampling=(1, 1))  # everything is kept

    def _fit(self, X: Data, weights: LossWeights, options: Options) -> list[Choice]:
        self._check_n_components(min(X.shape))
        found = self._run(options, lambda run: solve_whole(X, weights, run))
        self._store_compressed(found.compressed, n_iter=found.solution.n_iter, converged=found.solution.converged)
        self._store_low_rank(found.compressed.block.restore(found.solution.X))
        self.gamma_samples_, self.gamma_features_ = found.gammas
        return [rank_choice(self.n_components_, options, validated=False), *found.choices]
