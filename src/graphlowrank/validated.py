"""Recovery by the model that predicts held-out entries best: ``solver="auto"``.

Small matrices are solved whole by several models of :mod:`graphlowrank.pipeline`. Each predicts entries that it does
not see; the matrix is denoised from the solution of the best one, and :mod:`graphlowrank.auto.recovery_model` decides
which of the two is the answer.
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
from .models.denoise import denoise
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
    """Recover a small dense matrix by the model that predicts held-out entries best, or by denoising."""
    with run.progress.stage("scaling"):
        scaling, scaling_choice = auto.choose_recovery_scaling(X, run.options.scaling)
        scaled = scaling.apply(X)
    outliers = check_outliers(scaled, run)
    filtered, ends = filter_ends(scaled, outliers, run)
    unit = power_of_two(np.nanmax(np.abs(np.asarray(filtered))))  # squares must neither overflow nor underflow
    Y = np.asarray(filtered) / filtered.dtype.type(unit)
    run = run.changed(solver="frpcag", scaling="none", downsampling=(1, 1), robust_graphs=outliers.value is True)
    seed, held_out = run.rng.randint(2**31 - 1), auto.choose_held_out(Y, run.rng)
    folds = np.random.RandomState(run.rng.randint(2**31 - 1))
    with run.progress.stage("model"):
        part = np.where(held_out, Y.dtype.type(np.nan), Y)
        (found, low_rank), (_, trial) = map_tasks(lambda task: fit(*task, seed, run), [(Y, "frpcag"), (part, "rpca")])
        known = {"gamma_samples": found.gammas[0], "gamma_features": found.gammas[1], "n_components": low_rank.rank}
        trials = {"frpcag": fit(part, "frpcag", seed, run, **known)[1].to_array(), "rpca": trial.to_array()}
        model = auto.choose_candidate(Y, held_out, trials)
        if model.value != "frpcag":
            found, low_rank = fit(Y, model.value, seed, run)
    with run.progress.stage("denoising"):
        fitted = low_rank.to_array()
        data, suspects = Y, None
        if ends is not None:  # replaced entries are no data; of the others, only those at the ends may be wrong
            given = np.asarray(scaled)
            data = np.where(given == filtered, Y, Y.dtype.type(np.nan))
            suspects = ~ends.keeps(given)
        denoised = denoise(data, fitted, folds, suspects=suspects)
        estimate = auto.choose_estimate(Y, held_out, trials[model.value], fitted, denoised)
        if estimate.value == "denoised":
            low_rank = LowRankMatrix.of(denoised.spectrum)
        low_rank = low_rank.rescaled(float(unit), 0.0)
        if scaling.shift is not None and scaling.scale is not None:
            low_rank = low_rank.measured_in(scaling.scale, scaling.shift)
    rank_choice = Choice("n_components", low_rank.rank, "factors that are left of the estimate")
    gammas = [replace(one, reason="of the model") for one in found.choices if one.name.startswith("gamma")]
    choices = [rank_choice, model, estimate, *gammas, scaling_choice, outliers]
    block = found.compressed.block
    block = replace(block, scale=block.scale * float(unit), shift=block.shift * Y.dtype.type(unit))
    compressed = replace(found.compressed, block=block)
    return Recovery(compressed, found.solution, [Decoded(low_rank, 0, converged=True)], found.gammas, choices)


def fit(X: Array, name: str, seed: int, run: Run, **known: Any) -> tuple[Recovery, LowRankMatrix]:
    """Fit a candidate to the observed entries; return what the pipeline found, and the matrix."""
    one = run.changed(**auto.CANDIDATES[name] | known)
    one = replace(one, rng=np.random.RandomState(seed), progress=Progress())
    if name == "frpcag":
        found = recover(X, LossWeights(), one)
        return found, found.draws[0].low_rank
    found = solve_whole(X, LossWeights(), one)
    spectrum = Spectrum.of(found.compressed.block.restore(found.solution.X))
    return found, LowRankMatrix.of(spectrum.shrunk(0.0))
