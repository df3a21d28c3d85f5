"""The decoder that fits factors to the data by regression, with a graph prior around the interpolated ones."""

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from .._typing import Array
from ..linalg.blocks import row_blocks
from ..models.losses import Loss, make_loss
from ..preprocessing.robust_statistics import MAD_TO_STD
from ..sampling.nodes import SampledNodes
from ..solvers.graph_irls import GaussianPrior, Rows, graph_irls
from ..solvers.solution import Solution
from .factors import Decoded, factorize, multiply
from .penalty import fit_smooth
from .robust import CORNER, noise_corner

# Weight of the deviations on kept nodes, in mean degrees: their values were fitted to the same entries before. Chosen
# on digits, breast cancer, rings and clusters without compression; 1 to 20 differ by a hundredth.
KEPT_WEIGHT = 5.0
MAX_PRECISION = 1e12  # in entries of the data: factors that are constant on components stay as interpolated
# Tried by validation, in this order. None above the likelihood's: a graph built from the data knows the held-out
# entries and makes larger ones look good (digits with outliers: 10 instead of 1, error 0.549 instead of 0.510).
GAMMAS = (1.0, 0.3, 0.1, 0.03, 0.01)
LOSS_TIE = 1.02  # clipped outliers are most of the loss, so small differences say little
HELD_OUT_SHARE, MIN_HELD_OUT, MAX_HELD_OUT = 0.1, 20, 100_000
MIN_UNSEEN = 0.1  # share of the entries outside the compressed matrix: if there are fewer, all may be held out
VALIDATION_TOL, VALIDATION_ITER = 1e-2, 10
BLOCK_ENTRIES = 8_000_000  # entries of the data that are copied at a time


def decode_graph_regression(
    X_small: Array,
    samples: SampledNodes,
    features: SampledNodes,
    *,
    data: Any,
    n_components: int | None = None,
    gamma: float | Literal["auto"] = "auto",
    loss: str = "huber",
    corner: float | None = None,
    tol: float = 1e-3,
    max_iter: int = 100,
) -> Decoded:
    """Regression of the data with Gaussian graph priors around the interpolated factors (not in the paper).

    ``S0``, ``V0`` and ``c0`` are scores, directions and center of :func:`~graphlowrank.decoders.decode_subspace`. The
    scores minimize

        ``sum_ij loss(data_ij - (S V^T + 1 c^T)_ij) + gamma / 2 sum_a prec_a (S - S0)_a^T (L + 5 M) (S - S0)_a``

    with V0 and c0 on the kept features; then directions and center the same on the feature graph, given the scores of
    all samples; then again the scores, given these. L is the unit Laplacian, M the diagonal indicator of the kept
    nodes. ``prec_a = sigma^2 m / S0_a^T L S0_a`` for m kept nodes is the most likely precision of a Gaussian Markov
    random field with these values, for noise of standard deviation sigma: smooth factors are held more firmly than
    rough ones. Without M, deviations that are constant on a component of the graph would be free.

    The limits are exact: for gamma to infinity it is ``subspace``. For gamma = 0 every sample and every feature is
    fitted by itself as ``robust`` does, without its ridge penalty, the features on all samples instead of the kept
    ones.

    Parameters
    ----------
    X_small, samples, features, n_components
        See :func:`~graphlowrank.decoders.decode_subspace`. A side without a graph has the identity instead of L + 5 M,
        and the mean square of its factors as prior variance.
    data
        The full data in the units of ``X_small``, see :class:`~graphlowrank.preprocessing.block.ScaledData`.
    gamma
        Weight of the priors, >= 0, or infinite; 1 is the likelihood's. "auto" is the largest of 1, 0.3, 0.1, 0.03
        and 0.01 whose squared error, clipped at the corner, on held-out entries is within 2 % of the smallest: about
        a tenth, none of the compressed matrix if there are enough others. Less than 1 is better where samples have what
        neighbors do not share.
    loss, corner
        Name of the loss and, in the units of ``X_small``, its scale; None for three times the median distance between
        the compressed matrix and the data.
    tol, max_iter
        Stop a regression when its coefficients change by less than ``tol``; reweighted least-squares steps allowed.
    """
    if (isinstance(gamma, str) and gamma != "auto") or (not isinstance(gamma, str) and not gamma >= 0):
        raise ValueError(f'gamma must be "auto" or a number >= 0, got {gamma!r}.')
    factors = factorize(X_small, samples, features, n_components)
    noise = noise_corner(factors, data, samples, features)
    sigma = noise * MAD_TO_STD / CORNER
    fit = _Fit(
        _prior(samples, fit_smooth(samples, factors.samples, gamma=0.0).X, sigma),
        _prior(features, fit_smooth(features, factors.features_and_center, gamma=0.0).X, sigma),
        features.indices,
        make_loss(loss, noise if corner is None else corner),
        sigma,
    )
    if isinstance(gamma, str):
        weight, reason = choose_gamma(fit, data, samples, features, clip=noise)
    else:
        weight, reason = float(gamma), "as given"
    found = fit.solve(Entries(data), weight, fit.interpolated, tol=tol, max_iter=max_iter)
    for side, part in zip(("samples", "features"), found, strict=True):
        part.warn_unless_converged(f"the graph regression on the {side}", "raise max_iter in decoder_options")
    return replace(multiply(*found), chosen=(("decoder gamma", weight, reason),))


@dataclass(frozen=True, eq=False)
class Entries:
    """The data with some entries held out (NaN); ``held_out`` is a sparse mask and its transpose."""

    data: Any
    held_out: tuple[sp.csr_array, sp.csr_array] | None = None

    def samples(self, part: slice) -> Array:
        """Rows of the data."""
        return self._without(self.data.block(part, slice(None)), 0, part)

    def features(self, part: slice) -> Array:
        """Rows of its transpose."""
        return self._without(np.ascontiguousarray(self.data.block(slice(None), part).T), 1, part)

    def _without(self, block: Array, axis: int, part: slice) -> Array:
        if self.held_out is not None:
            block[self.held_out[axis][part].nonzero()] = np.nan
        return block


@dataclass(frozen=True, eq=False)
class _Fit:
    """The alternating regressions, for any gamma and any part of the data."""

    samples: GaussianPrior
    features: GaussianPrior  # of the directions and the center
    kept_features: Array
    loss: Loss
    noise: float  # standard deviation

    @property
    def interpolated(self) -> tuple[Solution, Solution]:
        return Solution.exact(self.samples.mean), Solution.exact(self.features.mean)

    def solve(
        self, entries: Entries, gamma: float, start: tuple[Solution, Solution], **options: Any
    ) -> tuple[Solution, Solution]:
        """Scores, and directions with the center."""
        if np.isinf(gamma):
            return self.interpolated
        first = self._scores(entries, gamma, self.features.mean, start[0].X, self.kept_features, options)
        C = np.column_stack([first.X, np.ones(len(first.X), dtype=first.X.dtype)]).T
        rows = Rows(entries.features, np.ascontiguousarray(C))
        directions = graph_irls(
            rows, self.loss, self.features.scaled(gamma), noise=self.noise, start=start[1].X, **options
        )
        directions = replace(directions, X=self._rescaled(directions.X))
        return self._scores(entries, gamma, directions.X, first.X, slice(None), options), directions

    def _rescaled(self, directions: Array) -> Array:
        """Directions of the lengths that they had on the kept features: the prior of the scores is in these units.

        Otherwise a factor with nothing but outliers of one feature grows from step to step.
        """
        kept = self.kept_features
        wanted, found = (np.linalg.norm(one[kept, :-1], axis=0) for one in (self.features.mean, directions))
        scale = np.divide(wanted, found, out=np.ones_like(found), where=found > 0)
        return directions * np.append(scale, 1.0).astype(directions.dtype)

    def _scores(
        self,
        entries: Entries,
        gamma: float,
        directions: Array,
        start: Array,
        columns: Array | slice,
        options: dict[str, Any],
    ) -> Solution:
        used = np.ascontiguousarray(directions[columns])

        def read(part: slice) -> Array:
            return np.asarray(entries.samples(part)[:, columns] - used[:, -1])

        rows = Rows(read, np.ascontiguousarray(used[:, :-1].T))
        return graph_irls(rows, self.loss, self.samples.scaled(gamma), noise=self.noise, start=start, **options)


def _prior(side: SampledNodes, values: Array, sigma: float) -> GaussianPrior:
    """Gaussian Markov random field around interpolated values (n, k), by maximum likelihood."""
    n = len(values)
    exact = values.astype(np.float64)
    if side.graph is None:
        P, variance = sp.eye_array(n, format="csr"), np.mean(exact**2, axis=0)
    else:
        L = side.graph.unit_laplacian().astype(np.float64)
        kept = np.zeros(n)
        kept[side.indices] = KEPT_WEIGHT
        P = (L + sp.diags_array(kept)).tocsr()
        variance = np.sum(exact * (L @ exact), axis=0) / len(side.indices)
    return GaussianPrior(values, P, sigma**2 / np.maximum(variance, sigma**2 / MAX_PRECISION))


def choose_gamma(
    fit: _Fit, data: Any, samples: SampledNodes, features: SampledNodes, *, clip: float
) -> tuple[float, str]:
    """Largest gamma whose clipped squared error on held-out entries ties with the smallest, and why."""
    rows, columns, values = hold_out(data, samples, features)
    if len(values) < MIN_HELD_OUT:
        return GAMMAS[0], f"the likelihood's: {len(values)} entries are too few for validation"
    mask = sp.csr_array((np.ones(len(rows), dtype=bool), (rows, columns)), shape=data.shape)
    entries = Entries(data, (mask, mask.T.tocsr()))
    losses: list[float] = []
    found = fit.interpolated
    for gamma in GAMMAS:
        found = fit.solve(entries, gamma, found, tol=VALIDATION_TOL, max_iter=VALIDATION_ITER)
        scores, directions = found[0].X[rows], found[1].X[columns]
        predicted = np.einsum("ij,ij->i", scores, directions[:, :-1]) + directions[:, -1]
        errors = np.minimum(np.abs(values - predicted), clip).astype(np.float64)
        losses.append(float(np.mean(errors**2)))
        if losses[-1] > min(losses):
            break
    listed = ", ".join(f"{loss:.4g} at {gamma:g}" for loss, gamma in zip(losses, GAMMAS, strict=False))
    best = int(np.argmax(np.array(losses) <= LOSS_TIE * min(losses)))
    return GAMMAS[best], f"validation on held-out entries: clipped squared error {listed}"


def hold_out(data: Any, samples: SampledNodes, features: SampledNodes) -> tuple[Array, Array, Array]:
    """Rows, columns and values of about a tenth of the observed entries, from a fixed seed.

    Those of the compressed matrix were seen by the interpolated factors; they are used where there are few others.
    """
    n, p = data.shape
    rng = np.random.RandomState(0)
    kept_rows, kept_columns = np.zeros(n, dtype=bool), np.zeros(p, dtype=bool)
    kept_rows[samples.indices], kept_columns[features.indices] = True, True
    unseen = 1 - len(samples.indices) * len(features.indices) / (n * p)
    flat = np.unique(rng.randint(0, n * p, min(round(HELD_OUT_SHARE * n * p), MAX_HELD_OUT), dtype=np.int64))
    rows, columns = np.divmod(flat, p)
    if unseen >= MIN_UNSEEN:
        new = ~(kept_rows[rows] & kept_columns[columns])
        rows, columns = rows[new], columns[new]
    values = np.empty(len(rows))
    for part in row_blocks(n, p, entries=BLOCK_ENTRIES):
        inside = slice(*np.searchsorted(rows, [part.start, part.stop]))
        values[inside] = data.block(part, slice(None))[rows[inside] - part.start, columns[inside]]
    observed = ~np.isnan(values)
    return rows[observed], columns[observed], values[observed]
