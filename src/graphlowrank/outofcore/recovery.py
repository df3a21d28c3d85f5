"""Low-rank matrix of rows that are read block by block: two passes for covariances, then factors when asked for.

The models of :mod:`graphlowrank.model_selection` are solved on some rows. The others are completed and denoised by what
these teach, as in memory; the factors of the denoised matrix come from its covariance. Nothing is stored: the scores of
a row are computed again from the row.
"""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from .. import auto
from .._typing import Array
from ..decoders import LowRankMatrix
from ..linalg.optimal_shrinkage import n_leading
from ..linalg.products import product
from ..linalg.svd import positive_signs
from ..model_selection import Steps, prepare, recovery_of, solve_samples
from ..models.denoise import negligible
from ..models.denoise_rows import Moments, RowDenoiser
from ..records import Recovery, Run
from ..sampling import SampledNodes
from .extension import extended, reduced_blocks
from .sources import Source
from .two_level import Part

MIN_VALUE = 1e-6  # of the first singular value: smaller ones are rounding errors of the covariance


@dataclass(frozen=True, eq=False)
class BlockDenoiser:
    """What turns rows of the data into rows of the answer."""

    steps: Steps
    first: RowDenoiser  # learned from the rows that were solved
    final: RowDenoiser  # learned from all rows, after the first pass
    directions: Array | None  # (p, k) that completed rows are projected on, if the answer is not the denoised matrix
    offset: Array

    def completed(self, X: Array) -> tuple[Array, Array]:
        """Return rows without outliers and missing values, and the means of their neighbors."""
        data, suspects = self.steps.of(X).data(slice(None))
        return self.first.complete(data, self.first.guess(data, suspects), suspects)

    def count(self, X: Array) -> tuple[Moments, Moments]:
        """Count completed rows, and what differs from the means of their neighbors."""
        filled, base = self.completed(X)
        rows, deviations = (Moments(one.shift) for one in (self.first.rows, self.first.deviations))
        rows.add(filled)
        deviations.add(filled - base)
        return rows, deviations

    def answer(self, X: Array) -> Array:
        """Return the rows of the answer."""
        filled, _ = self.completed(X)
        data, suspects = self.steps.of(X).data(slice(None))
        completed, base = self.final.complete(data, filled, suspects)
        if self.directions is None:
            return self.final.shrink(completed, base)
        return product(product(completed - self.offset, self.directions), self.directions.T) + self.offset

    def count_answer(self, X: Array) -> Moments:
        """Count rows of the answer."""
        found = Moments(self.first.rows.shift)
        found.add(self.answer(X))
        return found


@dataclass(frozen=True, eq=False)
class Factors:
    """Scores of rows of the answer on its factors."""

    denoiser: BlockDenoiser
    mean: Array
    loadings: Array  # (p, k) directions divided by singular values

    def of(self, X: Array) -> Array:
        """Left factors (n, k)."""
        return product(self.denoiser.answer(X) - self.mean, self.loadings)


def recover_blocks(source: Source, part: Part, run: Run) -> Recovery:
    """Recover the matrix of a source whose rows follow those of a ``part``, which are in memory."""
    problem, run = prepare(part.X, run)
    n, n_solved = len(part.X), min(auto.n_solved(source.shape), len(part.X))
    kept = np.sort(run.rng.choice(n, n_solved, replace=False))
    answer = solve_samples(problem, kept, run)
    Y, solved = problem.all_of(kept), answer.low_rank
    first = RowDenoiser(answer.denoised, float(np.nanmax(Y) - np.nanmin(Y)))
    directions = None if answer.is_denoised else np.ascontiguousarray(solved.right)
    denoiser = BlockDenoiser(problem.steps, first, first, directions, solved.offset)
    with run.progress.stage("covariance"):
        rows, deviations = Moments(first.rows.shift), Moments(first.deviations.shift)
        for one, other in reduced_blocks(source, denoiser.count):
            rows.merge(one)
            deviations.merge(other)
        denoiser = replace(denoiser, final=first.learned(rows, deviations))
    with run.progress.stage("factors"):
        moments = Moments(first.rows.shift)
        for found in reduced_blocks(source, denoiser.count_answer):
            moments.merge(found)
        low_rank = factorized(source, denoiser, moments, answer.denoised.error if answer.is_denoised else 0.0)
    return recovery_of(problem, answer, low_rank, SampledNodes(None, part.indices[kept]))


def factorized(source: Source, denoiser: BlockDenoiser, moments: Moments, error: float) -> LowRankMatrix:
    """Return the matrix of all rows of the answer, with factors of the samples that are computed when needed."""
    mean, eigenvalues, vectors = moments.decompose()
    values = np.sqrt(eigenvalues[::-1] * moments.count)
    least = max(negligible(values, error**2, moments.count * len(mean)), (MIN_VALUE * values[0]) ** 2)
    k = n_leading(values, least)
    k = min(k, len(values)) if denoiser.directions is None else min(k, denoiser.directions.shape[1])
    right = np.ascontiguousarray(vectors[:, ::-1][:, :k])
    right *= positive_signs(right)
    values = values[:k].astype(mean.dtype)
    factors = Factors(denoiser, mean, right / values)
    left = extended(source, partial(_factors_of, factors), k, mean.dtype)
    return LowRankMatrix(left, values, right, mean)


def _factors_of(factors: Factors, X: Array) -> Array:
    return factors.of(X)
