"""Choose the model of recovery by validation on held-out entries, and how much each entry itself is to be trusted.

A model that predicts an entry well without seeing it may still copy its noise once it sees it, so two decisions are
made. First, every candidate predicts a fifth of the entries from the others, graphs included; the least loss wins.
Second, the winner predicts all entries out of fold. Entries far from their prediction are outliers and are replaced by
it. What remains is a complete matrix with white noise, whose level is estimated, and three estimates of the clean
matrix compete by Stein's unbiased risk (squared residual plus twice the noise that an entry keeps of its own):

    fit         the winner on all entries: best if the data follow its model
    shrinkage   optimal shrinkage of the singular values: best if many weak factors matter
    residual    the predictions, plus the same shrinkage of what they leave

Noise is assumed to have the same standard deviation in all entries. Candidates and constants were chosen on digits,
breast cancer, Yale faces and synthetic clusters, rings and circles, with Gaussian noise, outliers and missing values;
benchmarks/RECOVERY.md has these and others.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._typing import Array
from ..linalg.optimal_shrinkage import Spectrum
from ..options import Options, is_auto
from ..preprocessing import Data, is_sparse
from ..preprocessing.outlier_probability import outlier_probabilities
from .choice import Choice

# Options of each candidate. "frpcag" is validated and truncated to its rank; the others are solved as they are.
WITHOUT_GRAPHS: dict[str, Any] = {"solver": "rpca", "sample_graph": None, "feature_graph": None}
CANDIDATES: dict[str, dict[str, Any]] = {
    "frpcag": {},
    "frpcag (0.5, 0.3)": {"gamma_samples": 0.5, "gamma_features": 0.3},
    "frpcag (0.1, 0.05)": {"gamma_samples": 0.1, "gamma_features": 0.05},
    "rpca": WITHOUT_GRAPHS,
}
TRUNCATED = "frpcag"
N_FOLDS = 5
MIN_SAMPLES, MIN_FEATURES = 20, 5
MAX_ENTRIES = 5_000_000  # of data that are solved whole
LOSS_CLIP = 1.5  # mean absolute deviations of the data: an outlier costs every candidate the same
FLOOR_SHARE = 0.05  # of the features: the noise is no larger than the errors of the best-predicted ones
PREDICTION_PENALTY = 1.3  # on the risk of "residual", whose predictions were fitted to the same data
FIT_TIE, TIE = 1.15, 1e-5  # the fit wins up to this multiple of the least risk, plus a share of the variance


def why_not_validated(options: Options, X: Data, *, weighted: bool) -> str | None:
    """Why models cannot be compared; None if they can."""
    given = not (is_auto(options.gamma_samples) and is_auto(options.gamma_features))
    reasons = {
        "the rank is given": options.n_components is not None,
        "gammas are given": given,
        "a loss is given": options.loss != Options.loss,
        "there are weights": weighted,
        "the data are sparse": is_sparse(X),
        "a decoder is given": options.decoder != Options.decoder or bool(options.decoder_options),
        "several draws are asked for": options.n_draws > 1,
        "nodes are sampled": options.sampling != "uniform" or options.downsampling not in ("auto", (1, 1)),
        "a graph is left out": options.sample_graph is None or options.feature_graph is None,
        f"fewer than {MIN_SAMPLES} samples or {MIN_FEATURES} features": len(X) < MIN_SAMPLES
        or X.shape[1] < MIN_FEATURES,
        f"more than {MAX_ENTRIES} entries": X.shape[0] * X.shape[1] > MAX_ENTRIES,
    }
    return next((reason for reason, applies in reasons.items() if applies), None)


def assign_folds(shape: tuple[int, int], rng: np.random.RandomState) -> Array:
    """Fold (n, p) of each entry; every sample has about as many entries in each."""
    order = np.argsort(rng.random_sample(shape), axis=1).astype(np.int32)
    return (order + rng.randint(N_FOLDS, size=(shape[0], 1))) % N_FOLDS


def choose_candidate(X: Array, held_out: Array, predictions: Mapping[str, Array]) -> Choice:
    """Return the candidate with the least loss on the held-out entries (a mask): squares, clipped for outliers."""
    seen = held_out & ~np.isnan(X)
    clip = LOSS_CLIP * float(np.nanmean(np.abs(X - np.nanmedian(X, axis=0))))
    unit = float(np.nanvar(X)) or 1.0
    losses = {
        name: float(np.mean(np.minimum(np.abs(X[seen] - found[seen]), clip) ** 2)) / unit
        for name, found in predictions.items()
    }
    best = min(losses, key=lambda name: losses[name])
    listed = ", ".join(f"{name} {loss:.4f}" for name, loss in losses.items())
    return Choice("solver", best, f"validation on held-out entries: {listed}")


@dataclass(frozen=True, eq=False)
class Estimate:
    """The estimate of the clean matrix with the least risk; ``spectrum`` is None for the fit itself."""

    spectrum: Spectrum | None
    choice: Choice


def best_estimate(X: Array, predicted: Array, fitted: Array, *, filtered: bool = False) -> Estimate:
    """Compare the fit of a model with shrinkage that starts from its out-of-fold predictions.

    ``X`` (n, p) has NaN where entries are missing; ``predicted`` are the model's predictions without the entry itself
    and ``fitted`` its solution for all entries. Outliers of ``filtered`` data are replaced already.
    """
    seen = ~np.isnan(X)
    width = float(np.ptp(X[seen]))
    probability, share = outlier_probabilities(np.where(seen, X - predicted, np.nan), width, filtered=filtered)
    weight = (1 - probability).astype(X.dtype)  # of the entry itself; its prediction has the rest
    inlier = seen & (probability < 0.5)
    if not inlier.any():
        return Estimate(None, Choice("estimate", "fit", "no entry is near its prediction"))
    left = np.where(seen, weight * np.where(seen, X - predicted, 0), 0).astype(X.dtype)
    whole, residual = Spectrum.of(predicted + left), Spectrum.of(left)
    noise = _noise(X, predicted, inlier, whole, residual)
    variance = noise**2

    def risk(error: Array, own_weight: float) -> float:
        return max(float(np.mean(error[inlier].astype(np.float64) ** 2)) - variance + 2 * variance * own_weight, 0.0)

    shrunk, corrected = whole.shrunk(noise), residual.shrunk(noise)
    errors = X - predicted
    with_residual = predicted + corrected.matrix()
    risks = {
        "fit": risk(X - fitted, _own_weight(errors[inlier], (fitted - predicted)[inlier])),
        "shrinkage": risk(X - shrunk.matrix(), whole.own_weight(noise)),
        "residual": PREDICTION_PENALTY * risk(X - with_residual, residual.own_weight(noise)),
    }
    unit = float(np.nanvar(X)) or 1.0
    best = min(risks, key=lambda name: risks[name])
    if risks["fit"] <= FIT_TIE * risks[best] + TIE * unit:
        best = "fit"
    listed = ", ".join(f"{name} {(value / unit) ** 0.5:.3f}" for name, value in risks.items())
    reason = f"estimated errors: {listed}; noise {noise / unit**0.5:.3f}, {share:.1%} outliers"
    spectrum = shrunk if best == "shrinkage" else None
    if best == "residual":
        spectrum = Spectrum.of(with_residual).shrunk(0.0)
    return Estimate(spectrum, Choice("estimate", best, reason))


def _noise(X: Array, predicted: Array, inlier: Array, whole: Spectrum, residual: Spectrum) -> float:
    """Return the standard deviation of white noise in the entries: the least of three upper estimates.

    Two are the smaller singular values of the data and of the residuals; the third is the error of the predictions on
    the features that are predicted best. Constant features are left out: noise would have moved them.
    """
    varying = np.nanmax(X, axis=0) > np.nanmin(X, axis=0)
    n_constant = int(np.count_nonzero(~varying))
    count = inlier.sum(axis=0)
    squares = np.where(inlier, X - predicted, 0).astype(np.float64) ** 2
    of_features = (squares.sum(axis=0) / np.maximum(count, 1))[varying & (count > 0)]
    floor = float(np.quantile(of_features, FLOOR_SHARE)) ** 0.5 if len(of_features) else 0.0
    observed = float(inlier.mean()) ** 0.5  # the others have no noise of their own
    return min(floor, *(spectrum.noise(n_constant) / observed for spectrum in (whole, residual)))


def _own_weight(errors: Array, moved: Array) -> float:
    """How far a fit moves from its out-of-fold predictions towards the entries, as a share of the errors."""
    errors, moved = errors.astype(np.float64), moved.astype(np.float64)
    squares = float(errors @ errors)
    return float(np.clip(errors @ moved / squares, 0.0, 1.0)) if squares > 0 else 0.0
