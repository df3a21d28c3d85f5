"""Compressive PCA."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.random import RandomState
from sklearn.utils.validation import check_is_fitted

from .._backend import Array
from .._progress import Progress
from ..auto.choice import Choice
from ..auto.gammas import GammaChoice
from ..decoders import Decoded
from ..pipeline import Compressed, choose_weights, recover, reduce, solve
from ..preprocessing.scaling import Scaling, recovery_scaling
from ..two_graphs import graphs_of
from ._base import LowRankTransformer, check_count


class CompressivePCA(LowRankTransformer):
    """Robust low-rank recovery of large matrices whose samples and features lie on graphs.

    Graphs between samples and between features are built from the data; a part of the samples and features is drawn;
    Fast Robust PCA on Graphs, or another ``solver``, works on that small matrix with Kron-reduced graphs; its singular
    vectors are spread over the full graphs.

    Parameters
    ----------
    n_components
        Rank of the answer. None counts the singular values of the compressed matrix above those of the noise, whose
        size the errors on hidden entries tell.
    downsampling
        ``(a, b)`` keeps 1/a of the samples and 1/b of the features. "auto" keeps a tenth of the samples, at least a
        thousand and as many as the paper's isometry asks for at this rank; it leaves up to 500 features alone.
    scaling
        "features" takes the median off each feature and measures it in its own spread while it is worked on, "none"
        leaves the data as they are, and "auto" is "features" for tables in different units, where a feature or two
        would drown all others. The answer is in the units of the data.
    gamma_samples, gamma_features
        How strongly neighbouring samples and features are made alike. Free of the data's units: the data are
        measured in their mean absolute deviation and each Laplacian is divided by its mean diagonal. "auto" hides
        some entries of the compressed matrix and takes what predicts them best (FRPCAG; 0.5 for RPCAG).
    loss
        "l1" ignores gross errors, "l2" suits small dense noise, "huber" lies between.
    huber_delta
        Corner of the Huber loss, in mean absolute deviations.
    n_neighbors
        Neighbours in "knn" graphs. A graph between few features uses fewer.
    sample_graph, feature_graph
        "knn", None (no such term; that side is not compressed), a :class:`~graphlowrank.graphs.Graph`, or a symmetric
        non-negative weight matrix.
    neighbors
        Search engine: "exact", "approximate" (recall about 0.98), or "auto" (exact where that takes about a second).
    robust_graphs
        Whether graphs are built from a copy of the data in which entries that the others of the same sample contradict
        are replaced by what those let expect. "auto" asks whether neighbours then predict hidden entries better.
        Groups of a few samples that differ from all others in a few features are taken for errors, too: where such
        are looked for, False is safer.
    laplacian
        "combinatorial", "normalized", or "auto": combinatorial, whose smoothest signals are constants.
    sampling
        "uniform"; "optimal", by the coherence of the graphs (for graphs with rare or loose parts, which uniform draws
        miss), with importance weights carried through the model and the decoder; or a pair (sample_indices,
        feature_indices) of your own, in which None draws that side uniformly.
    reduction
        Graphs of the compressed matrix: "exact" or "random_walk" Kron reduction, "rebuild" (neighbours within the
        sample), or "auto" (exact up to 500 nodes, else walks).
    n_draws
        Draws of samples and features, on the same graphs. The answer is that of the first; what the others differ by
        is in :meth:`error_bars`.
    solver
        Model of the compressed matrix: "frpcag", on both graphs; "rpca", robust PCA without graphs; "rpcag", robust PCA
        on the sample graph, weighted by ``gamma_samples``.
    decoder
        How the small matrix is spread: "subspace" upsamples its singular vectors (Algorithm 2); "approximate" smooths
        them too; "orthonormal" keeps them so; "alternate" solves one problem on both graphs, holding matrices of the
        size of the data; "ideal" computes eigenvectors of both graphs; "approximate2" and "approximate3" project the
        data on the upsampled features or samples; "robust" fits the left-out features and samples to the data itself,
        ignoring gross errors, and needs no graph. See :mod:`graphlowrank.decoders`. Graphs that neither solver nor
        decoder needs are not built.
    decoder_options
        Further parameters of the decoder by name, such as ``{"filter": 2}``; None for its defaults.
    tol, max_iter
        FISTA stops when its iterate changes by less than ``tol``, relative; it warns at ``max_iter``. Answers at 1e-3
        and 1e-5 differ by far less than the method's own error.
    n_jobs
        Threads; None for every core.
    random_state
        Seed of sampling and approximate search. The answer does not depend on the number of threads.
    verbose
        1 reports the stages on standard error.

    Attributes
    ----------
    components_ : (n_components_, n_features)
        Orthonormal directions, of features measured in ``feature_scale_``.
    singular_values_ : (n_components_,)
        Of the recovered matrix around ``offset_``, in the same units.
    low_rank_ : LowRankMatrix
        The recovered matrix: factors, shape, slicing that decodes only what is asked, ``@``, ``to_array()``.
    draws_
        The same for every draw, the first included.
    offset_, scale_, feature_scale_
        Centre of each feature, unit of the data, and unit of each feature (None unless features were scaled).
    n_components_, gamma_samples_, gamma_features_, n_iter_, converged_, decoder_n_iter_, decoder_converged_
        What was chosen and done.
    report_ : FitReport
        What was chosen and why, health of the graphs, convergence, seconds; prints as a table.
    sample_graph_, feature_graph_, stage_seconds_
        What was used.
    sample_indices_, feature_indices_, sample_weights_, feature_weights_
        What was kept, and its importance weights (None for a uniform draw).

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
        downsampling: Any = "auto",
        scaling: str = "auto",
        gamma_samples: Any = "auto",
        gamma_features: Any = "auto",
        loss: str = "l1",
        huber_delta: float = 1.0,
        n_neighbors: int = 10,
        sample_graph: Any = "knn",
        feature_graph: Any = "knn",
        neighbors: str = "auto",
        robust_graphs: Any = "auto",
        laplacian: str = "auto",
        sampling: Any = "uniform",
        reduction: str = "auto",
        n_draws: int = 1,
        solver: str = "frpcag",
        decoder: str = "subspace",
        decoder_options: Any = None,
        tol: float = 1e-3,
        max_iter: int = 1000,
        n_jobs: int | None = None,
        random_state: Any = None,
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

    _takes_gaps = True
    _takes_sparse = True

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, feature_weight: Any = None, mask: Any = None
    ) -> Self:
        """Recover a low-rank matrix.

        Parameters
        ----------
        X
            (n_samples, n_features), dense, or sparse, which is never made dense whole. NaN marks a missing entry of
            dense data: it has no say in the loss, and the graphs are built with guesses in its place.
        y
            Ignored.
        sample_weight, feature_weight
            (n_samples,) and (n_features,) how much each counts in the loss, >= 0; only ratios matter. They are nodes of
            the graphs whatever their weight. For ``solver="frpcag"``.
        mask
            (n_samples, n_features) booleans, True where an entry is observed; the others are as good as NaN.
        """
        settings = self._settings()
        X = self._check_training_data(X, settings, mask)
        weights = self._check_weights(settings, X, sample_weight, feature_weight)
        if self.n_components is not None:
            kept = min(settings.kept(*X.shape))
            check_count(self.n_components, "n_components", at_most=kept, what="kept samples or features")
            settings = replace(settings, rank=int(self.n_components))
        settings.check_decodable(*X.shape, features=True)

        check_count(self.n_draws, "n_draws", at_most=1000, what="draws that may be asked for")

        def work(
            rng: RandomState, progress: Progress
        ) -> tuple[Scaling, Choice, GammaChoice | None, Compressed, list[Decoded]]:
            kind = settings.laplacian_kind("combinatorial")
            with progress.stage("scaling"):
                scaling = recovery_scaling(X, self.scaling)
                scaled = scaling.apply(X)
            graphs, robust = graphs_of(scaled, settings, rng, progress)
            options: dict[str, Any] = {"laplacian": kind, "rank": self.n_components, "rng": rng, "progress": progress}
            problem = reduce(scaled, graphs, settings, weights=weights, **options)
            choice = choose_weights(problem, settings, self.n_components, rng, progress)
            gammas = settings.gammas(kind) if choice is None else (choice.gamma_samples, choice.gamma_features)
            small = solve(problem, settings, gammas, progress, short_steps=True)
            rank = self.n_components if choice is None else choice.rank
            found = [recover(scaled, small, settings, n_components=rank, progress=progress)]
            for _ in range(1, self.n_draws):  # the same graphs, gammas and rank; other samples and features
                again = reduce(scaled, graphs, settings, weights=weights, **options)
                other = solve(again, settings, gammas, progress, short_steps=True)
                found.append(recover(scaled, other, settings, n_components=found[0].low_rank.rank, progress=progress))
            return scaling, robust, choice, small, found

        (scaling, robust, choice, small, (decoded, *others)), progress = self._run(settings, work)
        self.draws_ = tuple(scaling.undo(one.low_rank) for one in (decoded, *others))
        self._store(small.problem, progress, n_iter=small.solution.n_iter, converged=small.solution.converged)
        low_rank = self.draws_[0]
        self.low_rank_ = low_rank
        self.decoder_n_iter_ = decoded.n_iter
        self.decoder_converged_ = decoded.converged
        self.components_ = low_rank.right.T
        self.singular_values_ = low_rank.singular_values
        self.n_components_ = low_rank.rank
        self.offset_ = low_rank.offset
        self.feature_scale_ = low_rank.units
        unit = Choice("scaling", scaling.kind, scaling.reason)
        self._say(X, [*self._choices(X, settings, choice), unit, robust])
        return self

    def error_bars(self, rows: Any = slice(None)) -> Array:
        """Deviation of the recovered entries over draws: how much the choice of samples and features matters.

        Parameters
        ----------
        rows
            Samples wanted, as in ``low_rank_[rows]``.

        Returns
        -------
        deviations
            (n_rows, n_features).
        """
        check_is_fitted(self)
        if len(self.draws_) < 2:
            raise ValueError("error bars need n_draws of at least 2; fit again with more.")
        return np.std([draw[rows] for draw in self.draws_], axis=0, ddof=1)
