"""Compressive PCA."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from .._typing import Array
from ..auto import PUBLISHED_TOL, Choice, check_sizes, why_not_validated
from ..auto.drift import RowScores
from ..decoders.scores import residual_sizes
from ..model_selection import recover_by_solver
from ..options import PUBLISHED, Options, check_choice, is_auto
from ..outofcore.clustering import prepared_size
from ..outofcore.method import Task
from ..outofcore.recovery import recover_blocks
from ..outofcore.sources import Source
from ..outofcore.two_level import draw_part
from ..preprocessing import Data
from ..records import LossWeights, Recovery, Run
from ._base import LowRankTransformer
from ._large import Fit
from .streaming import StreamingEstimator


@dataclass(eq=False, repr=False)
class CompressivePCA(StreamingEstimator, LowRankTransformer):
    """Robust low-rank recovery of large matrices whose samples and features lie on graphs.

    By default models are compared on held-out entries, and the matrix is denoised from the solution of the best one.
    With a given ``solver``, rank, or ``downsampling``: graphs between samples and between features are built from the
    data; some of the samples and features are drawn; Fast Robust PCA on Graphs, or another solver, runs on that small
    matrix with Kron-reduced graphs; its singular vectors are interpolated over the full graphs.

    Parameters
    ----------
    n_components : int or None, default=None
        Rank of the answer. None: what ``solver="auto"`` returns, or the singular values of the compressed matrix above
        the noise, whose level is estimated on held-out entries.
    downsampling : "auto" or (float, float), default="auto"
        ``(a, b)`` keeps 1/a of the samples and 1/b of the features. "auto" keeps a tenth of the samples, at least 3000
        (fewer if they have very many features) and as many as the paper's restricted isometry asks for at this rank,
        and all features up to 500.
    scaling : {"auto", "none", "features"}, default="auto"
        "features" works on features minus their medians, divided by a standard deviation that is estimated from the
        interdecile range; the answer is in the units of the data. "auto" does so if one or two features dominate.
    gamma_samples, gamma_features : float or "auto", default="auto"
        Weights of the smoothness terms of the two graphs, for data divided by their mean absolute deviation and
        Laplacians divided by their mean diagonal. "auto" validates on held-out entries (fixed for "rpcag": 0.5 or 1.5).
    loss : {"l1", "l2", "huber"}, default="l1"
        "l1" ignores outliers, "l2" suits small dense noise, "huber" lies between. "rpca" and "rpcag" have "l1" only.
    huber_delta : float, default=1.0
        Corner of the Huber loss, in mean absolute deviations of the data.
    n_neighbors : int, default=10
        Neighbors in "knn" graphs; a graph between few features has fewer.
    sample_graph, feature_graph : "knn", Graph, matrix or None, default="knn"
        "knn" builds the graph from the data; a Graph or its weight matrix is used as given; None leaves the term out,
        and keeps all of that axis.
    neighbors : {"auto", "exact", "approximate"}, default="auto"
        Neighbor search. "approximate" has a recall of about 0.98; "auto" is exact if that takes about a second.
    robust_graphs : bool, "ends" or "auto", default="auto"
        Whether cellwise outliers are imputed for distances; "ends" only those at the ends of their feature's range
        (salt and pepper), for the loss, too; "auto" if either improves held-out prediction. Small groups
        that differ in a few features count as outliers too: use False to find them.
    laplacian : {"auto", "combinatorial", "normalized"}, default="auto"
        Laplacian of the model. "auto" is combinatorial, which does not penalize constant signals.
    sampling : {"uniform", "optimal"} or (array-like, array-like), default="uniform"
        "optimal" draws by the coherence of the graphs, with importance weights: for parts that uniform draws miss. A
        pair (sample_indices, feature_indices) is used as given; None in it draws that axis uniformly.
    reduction : {"auto", "exact", "random_walk", "rebuild"}, default="auto"
        Graphs of the compressed matrix: "exact" or "random_walk" Kron reduction, "rebuild" (nearest neighbors among the
        kept), or "auto" (exact up to 500 nodes, else random walks).
    n_draws : int, default=1
        Draws of samples and features, on the same graphs. The first is the answer, see :meth:`error_bars`.
    solver : {"auto", "frpcag", "rpca", "rpcag"}, default="auto"
        "frpcag" on both graphs; "rpca", robust PCA without graphs; "rpcag", robust PCA on the sample graph, with weight
        ``gamma_samples``; all on the compressed matrix. "auto" compares "frpcag" and "rpca" on held-out entries, and
        the better one with denoising: each entry is predicted from the others, outliers are replaced, and singular
        values are shrunk. Of more than 3000 samples, 2000 are solved and the others denoised by what they teach. It has
        the smallest errors, takes 1.5 to 8 times as long, and returns as many factors as rise above the noise. It is
        "frpcag" for sparse data, more than 2236 features of many samples, and where rank, gammas, loss, decoder,
        downsampling or weights are given.
    decoder : str, default="subspace"
        How the small matrix is extended: "subspace" interpolates its singular vectors (Algorithm 2), "robust" fits the
        left-out samples and features to the data, "graph_regression" fits all to the data and to the interpolated ones.
        "alternate", "approximate", "approximate2", "approximate3", "ideal" and "orthonormal": see
        :mod:`graphlowrank.decoders`. Graphs that neither solver nor decoder needs are not built.
    decoder_options : dict or None, default=None
        Further parameters of the decoder by name, such as ``{"filter": 2}``.
    tol : float, default=1e-3
        FISTA stops when its iterate changes by less than ``tol``, relative to its norm or that of the standardized
        data, whichever is smaller. Answers at 1e-3 and 1e-5 differ by far less than the method's own error.
    max_iter : int, default=1000
        Iterations allowed; a ConvergenceWarning is issued if they do not suffice.
    variant : {"default", "published"}, default="default"
        "published" runs the algorithms as the paper prints them; use :meth:`as_published`.
    reservoir_size : int, default=10000
        Rows that ``partial_fit`` keeps of a stream. The model is fitted when so many were seen.
    half_life : float or None, default=None
        Rows of the stream after which a row is half as likely to be kept. None: all rows are equally likely.
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
    offset_, feature_scale_ : ndarray of shape (n_features,), the second None unless features were scaled
        Center and unit of each feature.
    scale_ : float
        Unit of the data: mean absolute deviation.
    n_components_, gamma_samples_, gamma_features_ : int, float, float
        Rank of the answer; gammas of the fitted model, which robust PCA does not use.
    n_iter_, converged_, decoder_n_iter_, decoder_converged_ : int, bool, int, bool
        Iterations and convergence of solver and decoder.
    sample_graph_, feature_graph_ : Graph or None
        Graphs used.
    sample_indices_, feature_indices_, sample_weights_, feature_weights_ : ndarray
        What was kept, and its importance weights (None for a uniform draw).
    batch_scores_, n_samples_seen_, row_numbers_ : ndarray or None, int, ndarray
        After :meth:`partial_fit`: scores of the rows of the last batch (None before there is a model), rows seen, and
        numbers in the stream of the rows that the model was fitted to, whose low-rank matrix is ``low_rank_``.
    drift_, refit_due_ : Drift or None, bool
        Comparison of the last batch with the rows of the fit (``p_value``, ``reason``), and whether it differs.
    report_, stage_seconds_ : FitReport, dict
        What was chosen and why, graphs, convergence; seconds of each stage.

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

    n_components: int | None = None
    _: KW_ONLY
    downsampling: tuple[float, float] | Literal["auto"] = "auto"
    scaling: str = "auto"
    n_neighbors: int = 10
    sampling: str | tuple[ArrayLike | None, ArrayLike | None] = "uniform"
    reduction: str = "auto"
    n_draws: int = 1
    solver: str = "auto"
    decoder: str = "subspace"
    decoder_options: Mapping[str, Any] | None = None
    tol: float = 1e-3
    variant: str = "default"

    _accepts_sparse = True
    _task: ClassVar[Task] = "recover"
    _score_names = ("median absolute residual", "mean absolute residual", "largest absolute residual")

    @classmethod
    def as_published(
        cls,
        *,
        gamma_samples: float,
        gamma_features: float,
        downsampling: tuple[float, float],
        delta: float = 0.0,
        laplacian: Literal["combinatorial", "normalized"] = "combinatorial",
        **parameters: Any,
    ) -> Self:
        """Return the paper's method (its Algorithms 1 and 2): the same answer as ``graphlowrank.paper.recover``.

        Parameters
        ----------
        gamma_samples, gamma_features : float
            gamma_c and gamma_r in the paper's units, for the data and Laplacians as they are. The gammas of the default
            that weigh the two graphs alike are these times ``scale_`` times the mean diagonal of the reduced Laplacian.
        downsampling : (float, float)
            (a, b) of CPCA (a, b).
        delta : float
            Isometry constant in the scale of the singular values; the paper gives no value.
        laplacian : {"combinatorial", "normalized"}
            The paper's "Laplacian" is ``D - W``; it defines the normalized one, too.
        **parameters
            Others of this class, such as ``random_state``, ``sample_graph``, ``sampling`` (indices), and ``tol`` (the
            square root of the paper's epsilon).
        """
        decoder = {"normalize": True, "delta": delta, "center": False, "laplacian": laplacian, "tol": PUBLISHED_TOL}
        own = {"gamma_samples": gamma_samples, "gamma_features": gamma_features, "downsampling": downsampling}
        own |= {"solver": "frpcag"}
        return cls(**PUBLISHED | own | {"laplacian": laplacian, "decoder_options": decoder} | parameters)

    def _options(self) -> Options:
        check_choice(self.scaling, "scaling", ("auto", "none", "features"))
        return super()._options()

    def _fit(self, X: Data, weights: LossWeights, options: Options) -> list[Choice]:
        check_sizes(options, X.shape, clustering=False)
        found = self._run(options, lambda run: recover_by_solver(X, weights, run))
        self._store_fit(found)
        return found.choices

    def _store_fit(self, found: Recovery) -> None:
        self._store_compressed(found.compressed, n_iter=found.solution.n_iter, converged=found.solution.converged)
        self.draws_ = tuple(draw.low_rank for draw in found.draws)
        self.low_rank_ = low_rank = self.draws_[0]
        self.decoder_n_iter_, self.decoder_converged_ = found.draws[0].n_iter, found.draws[0].converged
        self.components_, self.singular_values_ = low_rank.right.T, low_rank.singular_values
        self.n_components_ = low_rank.rank
        self.offset_, self.feature_scale_ = low_rank.offset, low_rank.units
        self.gamma_samples_, self.gamma_features_ = found.gammas

    def _why_not_out_of_core(self, source: Source, options: Options, weights: LossWeights) -> str | None:
        if not is_auto(options.solver):
            return f"recovery out of core compares models, and solver={options.solver!r} is given"
        return why_not_validated(options, source.array, weighted=weights.any())

    def _fit_out_of_core(self, source: Source, fit: Fit, size: int, weights: LossWeights) -> None:
        options = self._options()
        self.n_features_in_ = source.shape[1]
        check_sizes(options, source.shape, clustering=False)

        def work(run: Run) -> Recovery:
            with run.progress.stage("draw of samples"):
                part = draw_part(source, prepared_size(source.shape), run.rng)
            return recover_blocks(source, part, run)

        found = self._run(options, work)
        self._store_fit(found)
        self._summarize(found.compressed.block.X, found.choices)

    def _extend_attributes(self, source: Source) -> None:
        super()._extend_attributes(source)
        self.draws_ = (self.low_rank_,)

    def _chunk_attributes(self, source: Source) -> None:
        super()._chunk_attributes(source)
        self.draws_ = (self.low_rank_, *self.draws_[1:])

    def error_bars(self, rows: slice | ArrayLike = slice(None)) -> Array:
        """Return the standard deviation (n_rows, n_features) of the recovered entries over the draws.

        Parameters
        ----------
        rows : slice or array-like
            Samples wanted, as in ``low_rank_[rows]``.
        """
        check_is_fitted(self)
        if len(self.draws_) < 2:
            raise ValueError("error bars need n_draws >= 2; fit again with more draws.")
        return np.std([draw[rows] for draw in self.draws_], axis=0, ddof=1)

    def _answer(self, X: Data) -> tuple[Array, RowScores]:
        scores = self._scores(X)
        return scores, RowScores(residual_sizes(X, scores, self.components_, self.offset_, self.feature_scale_))

    def _store_answer(self, answer: Array | None) -> None:
        self.batch_scores_ = answer
