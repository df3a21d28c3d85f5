"""Recovery by the model that predicts held-out entries best: ``solver="auto"``.

Small matrices are solved whole by several models of :mod:`graphlowrank.pipeline`. Each predicts entries that it does
not see, the best one is fitted, and :mod:`graphlowrank.auto.recovery_model` decides how much each entry is trusted.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from . import auto
from ._progress import Progress
from ._threads import map_tasks
from ._typing import Array
from .auto import Choice
from .decoders import Decoded, LowRankMatrix
from .linalg.optimal_shrinkage import Spectrum
from .options import is_auto
from .pipeline import check_outliers, filter_ends, recover, solve_whole
from .preprocessing import Data
from .preprocessing.sparse import power_of_two
from .records import LossWeights, Recovery, Run


def recover_by_solver(X: Data, weights: LossWeights, run: Run) -> Recovery:
    """Recover a low-rank matrix by the solver of the options; "auto" compares models where that is possible."""
    if not is_auto(run.options.solver):
        return recover(X, weights, run)
    obstacle = auto.why_not_validated(run.options, X, weighted=weights.any())
    if obstacle is None:
        return recover_validated(X, run)
    found = recover(X, weights, run.changed(solver="frpcag"))
    return replace(found, choices=[*found.choices, Choice("solver", "frpcag", obstacle)])


def recover_validated(X: Data, run: Run) -> Recovery:
    """Recover a small dense matrix by the model that predicts held-out entries best, or by shrinkage."""
    with run.progress.stage("scaling"):
        scaling, scaling_choice = auto.choose_recovery_scaling(X, run.options.scaling)
        scaled = scaling.apply(X)
    outliers = check_outliers(scaled, run)
    filtered, ends = filter_ends(scaled, outliers, run)
    unit = power_of_two(np.nanmax(np.abs(np.asarray(filtered))))  # squares must neither overflow nor underflow
    Y = np.asarray(filtered) / filtered.dtype.type(unit)
    robust = outliers.value is True
    run = run.changed(solver="frpcag", scaling="none", downsampling=(1, 1), robust_graphs=robust)
    seed, folds = run.rng.randint(2**31 - 1), auto.assign_folds(Y.shape, run.rng)

    def without(fold: int) -> Array:
        return np.where(folds == fold, Y.dtype.type(np.nan), Y)

    with run.progress.stage("model"):
        first = without(0)
        found_by_name = map_tasks(lambda name: fit(first, name, seed, run), auto.CANDIDATES)
        trials = dict(zip(auto.CANDIDATES, found_by_name, strict=True))
        predictions = {name: low_rank.to_array() for name, (_, low_rank) in trials.items()}
        model = auto.choose_candidate(Y, folds == 0, predictions)
        known: dict[str, Any] = {}
        if model.value == auto.TRUNCATED:  # gammas and rank were chosen without the first fold, and stay
            (gamma_samples, gamma_features), rank = trials[model.value][0].gammas, trials[model.value][1].rank
            known = {"gamma_samples": gamma_samples, "gamma_features": gamma_features, "n_components": rank}
        # All entries for the fit, and all but one fold for its predictions; the trial has predicted the first.
        parts = [Y, *(without(fold) for fold in range(1, auto.N_FOLDS))]
        (found, low_rank), *others = map_tasks(lambda part: fit(part, model.value, seed, run, **known), parts)
        fitted = low_rank.to_array()
        predicted = np.where(folds == 0, predictions[model.value], fitted)
        for fold, (_, other) in enumerate(others, 1):
            predicted = np.where(folds == fold, other.to_array(), predicted)
    with run.progress.stage("shrinkage"):
        # The fit never sees a missing entry, and sees more of the others than any fold.
        predicted = np.where(np.isnan(Y), fitted, predicted)
        estimate = auto.best_estimate(Y, predicted, fitted, filtered=ends is not None)
        low_rank = low_rank if estimate.spectrum is None else LowRankMatrix.of(estimate.spectrum)
        low_rank = low_rank.rescaled(float(unit), 0.0)
        if scaling.shift is not None and scaling.scale is not None:
            low_rank = low_rank.measured_in(scaling.scale, scaling.shift)
    rank_choice = Choice("n_components", low_rank.rank, "factors that are left of the estimate")
    gammas = [replace(one, reason="of the model") for one in found.choices if one.name.startswith("gamma")]
    choices = [rank_choice, model, estimate.choice, *gammas, scaling_choice, outliers]
    block = found.compressed.block
    block = replace(block, scale=block.scale * float(unit), shift=block.shift * Y.dtype.type(unit))
    compressed = replace(found.compressed, block=block)
    return Recovery(compressed, found.solution, [Decoded(low_rank, 0, converged=True)], found.gammas, choices)


def fit(X: Array, name: str, seed: int, run: Run, **known: Any) -> tuple[Recovery, LowRankMatrix]:
    """Fit a candidate to the observed entries; return what the pipeline found, and the matrix."""
    one = run.changed(**auto.CANDIDATES[name] | known)
    one = replace(one, rng=np.random.RandomState(seed), progress=Progress())
    if name == auto.TRUNCATED:
        found = recover(X, LossWeights(), one)
        return found, found.draws[0].low_rank
    found = solve_whole(X, LossWeights(), one)
    spectrum = Spectrum.of(found.compressed.block.restore(found.solution.X))
    return found, LowRankMatrix.of(spectrum.shrunk(0.0))
