"""Choose the model of recovery by validation on held-out entries.

Three models compete. FRPCAG (gammas and rank validated, truncated) and robust PCA predict a fifth of the entries from
the others, graphs included. :func:`graphlowrank.models.denoise.denoise` starts from the better one's solution, and
predicts every entry without itself.

The solution of FRPCAG or robust PCA is the answer if it predicts the held-out entries as well: then the data follow its
model, which has fewer degrees of freedom. A model that predicts well may still lose what is not predictable, or copy
the noise of the entries that it sees, so its estimated risk must not be clearly higher, either (Stein: squared residual
plus twice the noise that an entry keeps of its own). Otherwise the denoised matrix is the answer.

Noise is assumed to have the same standard deviation in all entries. The constants, and those of
:mod:`graphlowrank.models.denoise`, were chosen on digits, breast cancer, synthetic clusters, rings and circles, and a
video, with five kinds of corruption; benchmarks/RECOVERY.md has these sets and others.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from .._typing import Array
from ..models.denoise import LOSS_CLIP, Denoised
from ..options import Options, is_auto
from ..preprocessing import Data, is_sparse
from .choice import Choice

CANDIDATES: dict[str, dict[str, Any]] = {  # options of each
    "frpcag": {},
    "rpca": {"solver": "rpca", "sample_graph": None, "feature_graph": None},
}
HELD_OUT_SHARE = 0.2
MIN_SAMPLES, MIN_FEATURES = 20, 5
ALL_UP_TO, KEPT = 3000, 2000  # samples: of more than the first, models are fitted to so many
MAX_ENTRIES = 5_000_000  # that are solved
LOSS_TIE = 1.03  # the predictions of denoising have seen all other entries, those of the models four fifths
DECISIVE = (
    0.5  # a model whose clipped loss is so much smaller is right, whatever the risk: without noise, all risks are 0
)
RISK_TIE, RISK_TIE_VARIANCE = 1.7, 1e-5  # of the squared error; plus a share of the variance of the data
RISK_LOWER = 0.8  # a model of so much lower risk is the answer, even if it predicts worse without the held-out entries


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
        f"{X.shape[1]} features of {n_solved(X.shape)} samples are more than {MAX_ENTRIES} entries": n_solved(X.shape)
        * X.shape[1]
        > MAX_ENTRIES,
    }
    return next((reason for reason, applies in reasons.items() if applies), None)


def n_solved(shape: tuple[int, int]) -> int:
    """Return how many samples models are fitted to: all, or at least as many as there are features."""
    n_samples, n_features = shape
    return n_samples if n_samples <= ALL_UP_TO else min(max(KEPT, n_features), n_samples)


def choose_held_out(X: Array, rng: np.random.RandomState) -> Array:
    """Booleans (n, p), True for a fifth of the entries of every sample."""
    order = np.argsort(rng.random_sample(X.shape), axis=1)
    return order < max(round(HELD_OUT_SHARE * X.shape[1]), 1)


def choose_candidate(X: Array, held_out: Array, predictions: Mapping[str, Array]) -> Choice:
    """Return the candidate with the least loss on the held-out entries (a mask): squares, clipped for outliers."""
    losses = {name: _clipped_loss(X, held_out, found) for name, found in predictions.items()}
    best = min(losses, key=lambda name: losses[name])
    listed = ", ".join(f"{name} {loss:.4f}" for name, loss in losses.items())
    return Choice("solver", best, f"validation on held-out entries: {listed}")


def _clipped_loss(X: Array, held_out: Array, predicted: Array) -> float:
    """Mean squared error on the held-out entries, over the variance; outliers cost every prediction the same."""
    seen = held_out & ~np.isnan(X)
    clip = LOSS_CLIP * float(np.nanmean(np.abs(X - np.nanmedian(X, axis=0))))
    errors = np.minimum(np.abs(X[seen] - predicted[seen]), clip)
    return float(np.mean(np.square(errors, dtype=np.float64))) / (float(np.nanvar(X)) or 1.0)


def choose_estimate(X: Array, held_out: Array, trial: Array, fitted: Array, denoised: Denoised) -> Choice:
    """Decide whether the solution of a model or the denoised matrix is the answer.

    Parameters
    ----------
    X
        (n, p) data; NaN where missing.
    held_out
        (n, p) mask of the entries that the trial has not seen.
    trial, fitted
        (n, p) solutions of the model without and with these entries.
    denoised
        What was denoised from ``fitted``.
    """
    inlier = ~np.isnan(X) & (denoised.probability < 0.5)
    judged = inlier & held_out
    unit = float(np.nanvar(X)) or 1.0
    name, reason = "denoised", "too few entries are near their prediction"
    if judged.any():
        loss = float(np.mean(np.square((X - trial)[judged], dtype=np.float64))) / unit
        # Share of its own noise that an entry keeps: noise by the denoiser's predictions, since where the trial is
        # wrong for want of the held-out entries, the fit moves towards them without keeping their noise.
        missed, moved = (one[judged].astype(np.float64) for one in (X - denoised.predicted, fitted - trial))
        squares = float(missed @ missed)
        other_loss = squares / len(missed) / unit
        own_weight = float(np.clip(missed @ moved / squares, 0.0, 1.0)) if squares > 0 else 0.0
        residual = float(np.mean(np.square((X - fitted)[inlier], dtype=np.float64)))
        risk = max(residual - denoised.noise**2 * (1 - 2 * own_weight), 0.0) / unit
        other_risk = denoised.error**2 / unit
        tied = loss <= LOSS_TIE * other_loss and risk <= RISK_TIE * other_risk + RISK_TIE_VARIANCE
        tied = tied or risk + RISK_TIE_VARIANCE < RISK_LOWER * other_risk
        clipped, other_clipped = (_clipped_loss(X, judged, one) for one in (trial, denoised.predicted))
        decisive = clipped < DECISIVE * other_clipped and not denoised.only_signal  # large entries are clipped
        name = "fit" if tied or decisive else "denoised"
        outliers = "large entries are signal" if denoised.only_signal else f"{denoised.share:.1%} outliers"
        reason = (
            f"held-out loss: fit {loss:.4f}, denoised {other_loss:.4f}; estimated error: fit {risk**0.5:.3f}, denoised "
            f"{other_risk**0.5:.3f}; noise {denoised.noise / unit**0.5:.3f}, {outliers}"
        )
    return Choice("estimate", name, reason)
