"""Recovery by the model that predicts held-out entries best: ``solver="auto"``.

All samples, or some of many, are solved by several models of :mod:`graphlowrank.pipeline`. Each predicts entries that
it does not see; the matrix is denoised from the solution of the best one. :mod:`graphlowrank.auto.recovery_model`
decides which of the two is the answer. Samples that were left out are denoised by :mod:`.models.denoise_rows`.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from . import auto
from ._progress import Progress
from ._threads import map_tasks
from ._typing import Array
from .auto import Choice
from .decoders import Decoded, LowRankMatrix
from .linalg.optimal_shrinkage import Spectrum
from .linalg.products import product
from .linalg.svd import orthonormal_product
from .models.denoise import Denoised, denoise, significant
from .models.denoise_rows import RowDenoiser
from .options import is_auto
from .pipeline import check_outliers, filter_ends, recover, replace_ends, solve_whole
from .preprocessing import Data, OutlierFilter, Scaling
from .preprocessing.sparse import power_of_two
from .records import LossWeights, Recovery, Run
from .sampling import SampledNodes

BLOCK = 8192  # samples that are denoised at a time


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
    """Recover a dense matrix by the model that predicts held-out entries best, or by denoising."""
    problem, run = prepare(X, run)
    n, n_solved = len(problem.given), auto.n_solved(X.shape)
    kept = np.arange(n) if n_solved == n else np.sort(run.rng.choice(n, n_solved, replace=False))
    answer = solve_samples(problem, kept, run)
    low_rank = answer.low_rank
    if n_solved < n:
        with run.progress.stage("decoding"):
            low_rank = extend(problem, kept, answer)
    samples = answer.found.compressed.samples if n_solved == n else SampledNodes(None, kept)
    return recovery_of(problem, answer, low_rank, samples)


def prepare(X: Data, run: Run) -> tuple["Problem", Run]:
    """Scale the data and filter values at the ends; return that, and the run of the models that are compared."""
    with run.progress.stage("scaling"):
        scaling, scaling_choice = auto.choose_recovery_scaling(X, run.options.scaling)
        scaled = scaling.apply(X)
    outliers = check_outliers(scaled, run)
    filtered, ends = filter_ends(scaled, outliers, run)
    unit = power_of_two(np.nanmax(np.abs(np.asarray(filtered))))  # squares must neither overflow nor underflow
    steps = Steps(scaling, ends, filtered.dtype.type(unit), (scaling_choice, outliers))
    problem = Problem(np.asarray(scaled), np.asarray(filtered), steps)
    run = run.changed(solver="frpcag", scaling="none", downsampling=(1, 1), robust_graphs=outliers.value is True)
    return problem, run


def recovery_of(problem: "Problem", answer: "Answer", low_rank: LowRankMatrix, samples: SampledNodes) -> Recovery:
    """Answer in the units of the data, with all choices; ``samples`` are those that were solved."""
    steps, found, n = problem.steps, answer.found, low_rank.shape[0]
    n_solved, unit = len(samples.indices), float(steps.unit)
    block = found.compressed.block
    block = replace(block, scale=block.scale * unit, shift=block.shift * steps.unit)
    compressed = replace(found.compressed, block=block, samples=samples)
    choices = [
        Choice("n_components", low_rank.rank, "factors of the answer that are not negligible"),
        *answer.choices,
        *(replace(one, reason="chosen for the fitted model") for one in found.choices if one.name.startswith("gamma")),
        Choice("downsampling", f"{n_solved} of {n} samples", "all" if n_solved == n else "all are denoised"),
        *steps.choices,
    ]
    decoded = Decoded(steps.in_units_of_data(low_rank), 0, converged=True)
    return Recovery(compressed, found.solution, [decoded], found.gammas, choices)


@dataclass(frozen=True, eq=False)
class Steps:
    """What is done to samples before they are denoised: scaling, a filter of values at the ends, and a unit."""

    scaling: Scaling
    ends: OutlierFilter | None
    unit: Any  # that filtered data are divided by
    choices: tuple[Choice, Choice]

    def of(self, X: Array) -> "Problem":
        """Return samples of the data as a problem."""
        scaled = np.asarray(self.scaling.apply(X))
        return Problem(scaled, scaled if self.ends is None else replace_ends(scaled, self.ends), self)

    def in_units_of_data(self, low_rank: LowRankMatrix) -> LowRankMatrix:
        """Undo unit and scaling."""
        low_rank = low_rank.rescaled(float(self.unit), 0.0)
        if self.scaling.shift is None or self.scaling.scale is None:
            return low_rank
        return low_rank.measured_in(self.scaling.scale, self.scaling.shift)


@dataclass(frozen=True, eq=False)
class Problem:
    """Scaled data (n, p) before and after the filter of values at the ends."""

    given: Array
    filtered: Array
    steps: Steps

    def all_of(self, rows: Array | slice) -> Array:
        """Return the filtered samples."""
        return self.filtered[rows] / self.steps.unit

    def data(self, rows: Array | slice) -> tuple[Array, Array | None]:
        """Return the samples without entries that the filter has replaced, and which entries may still be outliers."""
        if self.steps.ends is None:
            return self.all_of(rows), None
        given = self.given[rows]
        known = np.where(given == self.filtered[rows], self.all_of(rows), given.dtype.type(np.nan))
        return known, ~self.steps.ends.keeps(given)


@dataclass(frozen=True, eq=False)
class Answer:
    """The better of a model's solution and the denoised matrix, on the samples that were solved."""

    low_rank: LowRankMatrix
    denoised: Denoised
    found: Recovery
    choices: tuple[Choice, Choice]

    @property
    def is_denoised(self) -> bool:
        """Whether it is the denoised matrix."""
        return bool(self.choices[1].value == "denoised")


def solve_samples(problem: Problem, rows: Array, run: Run) -> Answer:
    """Compare models on held-out entries, denoise from the best one's solution, and choose between the two."""
    Y = problem.all_of(rows)
    seed, held_out = run.rng.randint(2**31 - 1), auto.choose_held_out(Y, run.rng)
    with run.progress.stage("model"):
        part = np.where(held_out, Y.dtype.type(np.nan), Y)
        (found, low_rank), (_, other) = map_tasks(lambda task: fit(*task, seed, run), [(Y, "frpcag"), (part, "rpca")])
        known = {"gamma_samples": found.gammas[0], "gamma_features": found.gammas[1], "n_components": low_rank.rank}
        trials = {"frpcag": fit(part, "frpcag", seed, run, **known)[1].to_array(), "rpca": other.to_array()}
        model = auto.choose_candidate(Y, held_out, trials)
        if model.value != "frpcag":
            found, low_rank = fit(Y, model.value, seed, run)
    with run.progress.stage("denoising"):
        fitted = low_rank.to_array()
        data, suspects = problem.data(rows)
        trial = trials[model.value]
        denoised = denoise(data, fitted, run.rng, suspects=suspects, held_out=held_out, trial=trial)
        estimate = auto.choose_estimate(Y, held_out, trial, fitted, denoised)
        if estimate.value == "denoised":
            low_rank = LowRankMatrix.of(denoised.spectrum)
    return Answer(low_rank, denoised, found, (model, estimate))


def extend(problem: Problem, kept: Array, answer: Answer) -> LowRankMatrix:
    """Return the answer for all samples: outliers and missing values of those left out are replaced first."""
    solved, first = answer.low_rank, answer.denoised
    Y = problem.all_of(kept)
    denoiser = RowDenoiser(first, float(np.nanmax(Y) - np.nanmin(Y)))
    filled = np.empty(problem.given.shape, dtype=Y.dtype)
    filled[kept] = first.filled
    left_out = np.setdiff1d(np.arange(len(filled)), kept)
    blocks = np.array_split(left_out, -(-len(left_out) // BLOCK))
    for rows in blocks:
        data, suspects = problem.data(rows)
        filled[rows], base = denoiser.complete(data, denoiser.guess(data, suspects), suspects)
        denoiser.add(filled[rows], base)
    denoiser.learn()
    for rows, known_base in [(kept, first.base), *((rows, None) for rows in blocks)]:
        data, suspects = problem.data(rows)
        completed, base = denoiser.complete(data, filled[rows], suspects, known_base)
        filled[rows] = denoiser.shrink(completed, base) if answer.is_denoised else completed
    if answer.is_denoised:
        return LowRankMatrix.of(significant(Spectrum.of(filled), first.error**2))
    scores = product(filled - solved.offset, solved.right)
    scores[kept] = solved.scores
    return LowRankMatrix(*orthonormal_product(scores, solved.right), solved.offset)


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
