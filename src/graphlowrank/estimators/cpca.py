"""Compressive PCA."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from .._typing import Array, MatrixLike, RandomState
from ..auto import check_sizes
from ..graphs import Graph
from ..options import check_choice
from ..pipeline import recover
from ._base import LowRankTransformer


class CompressivePCA(LowRankTransformer):
    """Robust low-rank recovery of large matrices whose samples and features lie on graphs.

    Graphs between samples and between features are built from the data; some of the samples and features are drawn;
    Fast Robust PCA on Graphs, or another ``solver``, runs on that small matrix with Kron-reduced graphs; its singular
    vectors are interpolated over the full graphs.

    Parameters
    ----------
    n_components : int or None, default=None
        Rank of the answer. None counts the singular values of the compressed matrix above those of the noise, whose
        level is estimated on held-out entries.
    downsampling : "auto" or (float, float), default="auto"
        ``(a, b)`` keeps 1/a of the samples and 1/b of the features. "auto" keeps a tenth of the samples, at least 1000
        and as many as the paper's restricted isometry asks for at this rank, and all features up to 500.
    scaling : {"auto", "none", "features"}, default="auto"
        "features" centers each feature by its median and divides it by its interdecile range while it is worked on.
        "auto" does so for tables in different units, in which one or two features would dominate all others. The answer
        is in the units of the data.
    gamma_samples, gamma_features : float or "auto", default="auto"
        Weights of the smoothness terms of the sample graph and the feature graph. They do not depend on the units of
        the data, which are divided by their mean absolute deviation; each Laplacian is divided by its mean diagonal.
        "auto" chooses by validation on held-out entries of the compressed matrix (FRPCAG; 0.5 or 1.5 for RPCAG).
    loss : {"l1", "l2", "huber"}, default="l1"
        "l1" ignores outliers, "l2" suits small dense noise, "huber" lies between.
    huber_delta : float, default=1.0
        Corner of the Huber loss, in mean absolute deviations of the data.
    n_neighbors : int, default=10
        Neighbors in "knn" graphs; a graph between few features has fewer.
    sample_graph, feature_graph : "knn", Graph, matrix or None, default="knn"
        "knn" builds the graph from the data; a :class:`~graphlowrank.graphs.Graph` or a symmetric non-negative weight
        matrix is used as given; None leaves the term out, and keeps all of that axis.
    neighbors : {"auto", "exact", "approximate"}, default="auto"
        Neighbor search. "approximate" has a recall of about 0.98; "auto" is exact if that takes about a second.
    robust_graphs : bool or "auto", default="auto"
        Whether cellwise outliers are imputed before distances are computed. "auto" checks whether that improves
        held-out prediction. Small groups of samples that differ from all others in a few features count as outliers
        too: use False to look for such groups.
    laplacian : {"auto", "combinatorial", "normalized"}, default="auto"
        Laplacian of the model. "auto" is combinatorial, which does not penalize constant signals.
    sampling : {"uniform", "optimal"} or (array-like, array-like), default="uniform"
        "optimal" draws by the coherence of the graphs, for graphs with rare or weakly connected parts that uniform
        draws miss, with importance weights in the model and the decoder. A pair (sample_indices, feature_indices) is
        used as given; None in it draws that axis uniformly.
    reduction : {"auto", "exact", "random_walk", "rebuild"}, default="auto"
        Graphs of the compressed matrix: "exact" or "random_walk" Kron reduction, "rebuild" (nearest neighbors among the
        kept), or "auto" (exact up to 500 nodes, else random walks).
    n_draws : int, default=1
        Draws of samples and features, on the same graphs. The answer is that of the first; :meth:`error_bars` measures
        how the others differ.
    solver : {"frpcag", "rpca", "rpcag"}, default="frpcag"
        Model of the compressed matrix: "frpcag" on both graphs; "rpca", robust PCA without graphs; "rpcag", robust PCA
        on the sample graph, with weight ``gamma_samples``.
    decoder : str, default="subspace"
        How the small matrix is extended: "subspace" interpolates its singular vectors (Algorithm 2); "approximate" also
        smooths them; "orthonormal" keeps them orthonormal; "alternate" solves one problem on both graphs, holding
        matrices of the size of the data; "ideal" computes eigenvectors of both graphs; "approximate2" and
        "approximate3" project the data on the interpolated features or samples; "robust" fits the left-out features and
        samples to the data by robust regression, and needs no graph. See :mod:`graphlowrank.decoders`. Graphs that
        neither solver nor decoder needs are not built.
    decoder_options : dict or None, default=None
        Further parameters of the decoder by name, such as ``{"filter": 2}``.
    tol : float, default=1e-3
        FISTA stops when its iterate changes by less than ``tol``, relative to the standard size of the matrix. Answers
        at 1e-3 and 1e-5 differ by far less than the method's own error.
    max_iter : int, default=1000
        Iterations allowed; a ConvergenceWarning is issued if they do not suffice.
    n_jobs : int or None, default=None
        Number of threads; None for every core. The answer does not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of sampling and approximate search.
    verbose : int, default=0
        1 reports the stages on standard error.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, n_features)
        Orthonormal directions, of features in units of ``feature_scale_``.
    singular_values_ : ndarray of shape (n_components_,)
        Of the recovered matrix around ``offset_``, in the same units.
    low_rank_ : LowRankMatrix
        The recovered matrix: factors, shape, slicing that decodes only what is asked for, ``@``, ``to_array()``.
    draws_ : tuple of LowRankMatrix
        The same for every draw, the first included.
    offset_ : ndarray of shape (n_features,)
        Center of each feature.
    scale_ : float
        Unit of the data: mean absolute deviation.
    feature_scale_ : ndarray of shape (n_features,) or None
        Unit of each feature; None unless features were scaled.
    n_components_, gamma_samples_, gamma_features_ : int, float, float
        Values used.
    n_iter_, converged_, decoder_n_iter_, decoder_converged_ : int, bool, int, bool
        Iterations and convergence of solver and decoder.
    report_ : FitReport
        What was chosen and why, graphs, convergence, seconds; prints as a table.
    sample_graph_, feature_graph_ : Graph or None
        Graphs used.
    stage_seconds_ : dict
        Seconds of each stage.
    sample_indices_, feature_indices_ : ndarray of int
        What was kept.
    sample_weights_, feature_weights_ : ndarray or None
        Importance weights of what was kept; None for a uniform draw.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from graphlowrank import CompressivePCA
    >>> X = load_digits().data
    >>> model = CompressivePCA(n_components=10, random_state=0).fit(X)
    >>> model.low_rank_
    LowRankMatrix(shape=(1797, 64), rank=10)
    >>> model.transform(X[:5]).shape
    (5, 10)
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        downsampling: tuple[float, float] | Literal["auto"] = "auto",
        scaling: str = "auto",
        gamma_samples: float | Literal["auto"] = "auto",
        gamma_features: float | Literal["auto"] = "auto",
        loss: str = "l1",
        huber_delta: float = 1.0,
        n_neighbors: int = 10,
        sample_graph: Graph | MatrixLike | Literal["knn"] | None = "knn",
        feature_graph: Graph | MatrixLike | Literal["knn"] | None = "knn",
        neighbors: str = "auto",
        robust_graphs: bool | Literal["auto"] = "auto",
        laplacian: str = "auto",
        sampling: str | tuple[ArrayLike | None, ArrayLike | None] = "uniform",
        reduction: str = "auto",
        n_draws: int = 1,
        solver: str = "frpcag",
        decoder: str = "subspace",
        decoder_options: Mapping[str, Any] | None = None,
        tol: float = 1e-3,
        max_iter: int = 1000,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.downsampling = downsampling
        self.scaling = scaling
        self.gamma_samples = gamma_samples
        self.gamma_features = gamma_features
        self.loss = loss
        self.huber_delta = huber_delta
        self.n_neighbors = n_neighbors
        self.sample_graph = sample_graph
        self.feature_graph = feature_graph
        self.neighbors = neighbors
        self.robust_graphs = robust_graphs
        self.laplacian = laplacian
        self.sampling = sampling
        self.reduction = reduction
        self.n_draws = n_draws
        self.solver = solver
        self.decoder = decoder
        self.decoder_options = decoder_options
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    _accepts_missing = True
    _accepts_sparse = True

    def fit(
        self,
        X: MatrixLike,
        y: object = None,
        sample_weight: ArrayLike | None = None,
        feature_weight: ArrayLike | None = None,
        mask: ArrayLike | None = None,
    ) -> Self:
        """Recover a low-rank matrix.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data. A sparse matrix is never made dense as a whole. NaN marks a missing value of dense data: it has no
            weight in the loss, and is imputed for the graphs.
        y : ignored
            For scikit-learn.
        sample_weight : array-like of shape (n_samples,) or None
            Weights in the loss, >= 0; only ratios matter. A sample of weight 0 is still a node of the graph. For
            ``solver="frpcag"``.
        feature_weight : array-like of shape (n_features,) or None
            The same for features.
        mask : array-like of bool of shape (n_samples, n_features) or None
            True where an entry is observed; the others are treated like NaN.

        Returns
        -------
        CompressivePCA
            The fitted estimator.
        """
        check_choice(self.scaling, "scaling", ("auto", "none", "features"))
        options = self._options()
        X = self._check_training_data(X, options, mask)
        weights = self._check_weights(options, X, sample_weight, feature_weight)
        check_sizes(options, X.shape, clustering=False)
        found = self._run(options, lambda run: recover(X, weights, run))
        self._store_compressed(found.compressed, n_iter=found.solution.n_iter, converged=found.solution.converged)
        self.draws_ = tuple(draw.low_rank for draw in found.draws)
        self.low_rank_ = low_rank = self.draws_[0]
        self.decoder_n_iter_, self.decoder_converged_ = found.draws[0].n_iter, found.draws[0].converged
        self.components_, self.singular_values_ = low_rank.right.T, low_rank.singular_values
        self.n_components_ = low_rank.rank
        self.offset_, self.feature_scale_ = low_rank.offset, low_rank.units
        self.gamma_samples_, self.gamma_features_ = found.gammas
        self._summarize(X, found.choices)
        return self

    def error_bars(self, rows: slice | ArrayLike = slice(None)) -> Array:
        """Return the standard deviation of the recovered entries over the draws of samples and features.

        Parameters
        ----------
        rows : slice or array-like
            Samples wanted, as in ``low_rank_[rows]``.

        Returns
        -------
        ndarray of shape (n_rows, n_features)
            Standard deviations.
        """
        check_is_fitted(self)
        if len(self.draws_) < 2:
            raise ValueError("error bars need n_draws >= 2; fit again with more draws.")
        return np.std([draw[rows] for draw in self.draws_], axis=0, ddof=1)
