"""Choice of gammas and rank without a ground truth: criteria compared with the best of a grid.

    python benchmarks/studies/gammas.py                      # 1000 x 100, compressed (10, 2) and not
    python benchmarks/studies/gammas.py --size 3000 300 --rates 10,2
    python benchmarks/studies/gammas.py --quick              # few cases, to check that it runs

Graphs are built from the noisy data. The error is ||X* - X|| / ||X|| of the decoded matrix (decoder "subspace")
truncated to the true rank; "untruncated" is that of the solution itself on the kept block, as FastRobustPCAOnGraphs
returns it. Criteria other than the library's use the whole grid and one fold of held-out entries.

The work of a choice is its iterations times the entries of the block, relative to the solve that follows it.

    held-out         graphlowrank.auto.gamma_search, with the rank it finds
    held-out, untruncated  mean error of the whole solution on the held-out entries
    discrepancy      residual of the truncated solution closest to the noise
    GCV              generalized cross-validation of the l2 model
    stability        smallest difference of truncated solutions for two sets of held-out entries
"""

import argparse
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.datasets import load_digits

from graphlowrank._progress import Progress
from graphlowrank.auto import choose_outlier_filter
from graphlowrank.auto.gamma_search import choose_gammas, hold_out
from graphlowrank.auto.gammas import FIXED, GRID
from graphlowrank.datasets import gaussian_noise, make_low_rank_on_graphs
from graphlowrank.decoders.subspace import decode_subspace
from graphlowrank.linalg.svd import leading_svd, rank_of
from graphlowrank.metrics import recovery_error
from graphlowrank.models import CompressedProblem, solve_frpcag
from graphlowrank.options import Options
from graphlowrank.pipeline import build_graphs, compress, points_for_distances
from graphlowrank.preprocessing import Block
from graphlowrank.records import LossWeights, Run
from graphlowrank.sampling import SampledNodes
from graphlowrank_benchmarks.datasets import make_block_matrix
from graphlowrank_benchmarks.internals import limit_threads

NOISES = ((0.05, 0.0), (0.2, 0.0), (0.5, 0.0), (1.0, 0.0), (0.0, 0.05), (0.0, 0.2), (0.2, 0.1), (0.5, 0.1))
OUTLIER_SIZE = 10.0  # standard deviations of the clean matrix
PAIRS = [(a, b) for a in GRID for b in GRID]
CRITERIA = ("held-out", "held-out, untruncated", "discrepancy", "GCV", "stability")
RANK_RULES = ("a tenth of the first", "largest ratio", "held-out entries", "above noise (ours)")


@dataclass(frozen=True, eq=False)
class Case:
    """A noisy matrix, its compressed block with graphs, and the truth."""

    X_true: np.ndarray
    rank: int
    problem: CompressedProblem
    block: Block
    samples: SampledNodes
    features: SampledNodes

    @property
    def laplacians(self):
        return self.problem.L_samples, self.problem.L_features

    def solve(self, gammas, X=None, start=None, **options):
        X = self.block.X if X is None else X
        gammas = dict(zip(("gamma_samples", "gamma_features"), gammas, strict=True))
        start = self.block.start() if start is None else start
        return solve_frpcag(X, *self.laplacians, **gammas, X0=start, size=X.size**0.5, tighten_tol=True, **options)

    def error(self, U, rank):
        decoded = decode_subspace(U, self.samples, self.features, n_components=rank).low_rank
        return recovery_error(self.X_true, decoded.rescaled(self.block.scale, self.block.shift))

    def untruncated_error(self, U):
        kept = np.ix_(self.samples.indices, self.features.indices)
        whole = U * self.block.scale + self.block.shift[self.features.indices]
        return recovery_error(self.X_true[kept], whole)

    def true_rank(self):
        """Rank of the clean block around its mean sample."""
        clean = self.X_true[np.ix_(self.samples.indices, self.features.indices)]
        values = np.linalg.svd(clean - clean.mean(axis=0), compute_uv=False)
        return int(np.sum(values > 1e-6 * values[0]))


def on_circle(n, p, rng):
    angles = 2 * np.pi * rng.random_sample(n)
    return np.column_stack([np.cos(angles), np.sin(angles)]) @ rng.standard_normal((2, p))


def on_sheet(n, p, rng):
    """Smooth functions of a point in a square; features have no graph worth the name."""
    u, v = np.pi * rng.random_sample((2, n))
    waves = [np.cos(i * u) * np.cos(j * v) for i, j in ((1, 0), (0, 1), (1, 1), (2, 0), (0, 2))]
    return np.column_stack(waves) @ (rng.standard_normal((5, p)) * np.array([[1], [1], [0.8], [0.6], [0.6]]))


SETS: dict[str, tuple[Callable, int]] = {
    "clusters": (lambda n, p, rng: make_low_rank_on_graphs(n, p, 5, random_state=rng).X_true, 5),
    "rings": (lambda n, p, rng: make_low_rank_on_graphs(n, p, 5, shape="rings", random_state=rng).X_true, 5),
    "blocks": (lambda n, p, rng: make_block_matrix(n, p, 4, noise=0, random_state=rng).X_true, 4),
    "circle": (on_circle, 2),
    "sheet": (on_sheet, 5),
    "digits": (lambda *_: load_digits().data, 20),
}


def make_case(name, shape, noise, rate, seed):
    rng = np.random.RandomState(seed)
    make, rank = SETS[name]
    X_true = make(*shape, rng)
    X = gaussian_noise(X_true, noise[0], random_state=rng)
    hit = rng.random_sample(X.shape) < noise[1]
    X = np.where(hit, OUTLIER_SIZE * X_true.std() * rng.standard_normal(X.shape), X)
    run = Run(Options(downsampling=rate, robust_graphs="auto"), rng, Progress())
    points = points_for_distances(X, choose_outlier_filter(X, run.options), run)
    small = compress(X, build_graphs(points.X, run), "combinatorial", LossWeights(), rank, run)
    return Case(X_true, rank, small.problem, small.block, small.samples, small.features)


def truncate(U, rank):
    mean = U.mean(axis=0)
    left, values, right = leading_svd(U - mean, rank)
    return left * values @ right.T + mean


def gcv(case):
    """Score of every pair for the l2 model, in the eigenvectors of both graphs."""
    (values_s, vectors_s), (values_f, vectors_f) = (np.linalg.eigh(L.toarray()) for L in case.laplacians)
    spectrum = vectors_s.T @ case.block.X @ vectors_f
    scores = {}
    for a, b in PAIRS:
        kept = 1 / (1 + a * values_s[:, None] + b * values_f)
        scores[a, b] = np.sum(((1 - kept) * spectrum) ** 2) / (1 - kept.mean()) ** 2
    return scores


def criteria(case, choice):
    """Pair that each criterion chooses."""
    folds = [hold_out(case.block.X, np.random.RandomState(seed)) for seed in (1, 2)]
    untruncated, gap, change = {}, {}, {}
    starts = [None, None]
    for pair in PAIRS:
        starts = [
            case.solve(
                pair, fold.X, np.where(np.isnan(fold.X), np.nan, case.block.start()) if U is None else U, tol=3e-3
            ).X
            for fold, U in zip(folds, starts, strict=True)
        ]
        truncated = [truncate(U, choice.rank) for U in starts]
        fold = folds[0]
        untruncated[pair] = np.mean(np.abs(starts[0][fold.rows, fold.columns] - fold.values))
        gap[pair] = abs(np.median(np.abs(case.block.X - truncated[0])) / 0.6745 - choice.noise)
        change[pair] = np.linalg.norm(truncated[0] - truncated[1])
    scores = {"held-out, untruncated": untruncated, "discrepancy": gap, "GCV": gcv(case), "stability": change}
    return {name: min(of, key=of.get) for name, of in scores.items()}


def ranks(case, choice, U):
    """Rank by each rule; ``U`` is the solution at the fixed gammas."""
    values = leading_svd(U - U.mean(axis=0), min(40, *U.shape))[1]
    fold = hold_out(case.block.X, np.random.RandomState(1))
    V = case.solve((1.0, 0.3), fold.X, np.where(np.isnan(fold.X), np.nan, case.block.start())).X
    mean = V.mean(axis=0)
    left, s, right = leading_svd(V - mean, min(40, *V.shape))
    predictions = np.cumsum((left * s)[fold.rows] * right[fold.columns], axis=1) + mean[fold.columns, None]
    held = 1 + int(np.argmin(np.mean(np.abs(predictions - fold.values[:, None]), axis=0)))
    return (
        rank_of(values),
        1 + int(np.argmax(values[:-1] / np.maximum(values[1:], 1e-9 * values[0]))),
        held,
        choice.rank,
    )


def study(case, *, others):
    """Errors at the fixed gammas, by each criterion and at best; the choices; iterations of the choice and after it."""
    U_fixed = case.solve(FIXED["combinatorial"]).X
    choice = choose_gammas(case.problem, random_state=0)
    found = {pair: case.solve(pair) for pair in PAIRS}
    solved = {pair: solution.X for pair, solution in found.items()}
    errors = {pair: case.error(U, case.rank) for pair, U in solved.items()}
    whole = {pair: case.untruncated_error(U) for pair, U in solved.items()}
    chosen = {"held-out": (choice.gamma_samples, choice.gamma_features)}
    chosen |= criteria(case, choice) if others else {}
    best, best_whole = min(errors.values()), min(whole.values())
    row = [case.error(U_fixed, case.rank), *(errors[chosen[name]] if name in chosen else np.nan for name in CRITERIA)]
    row += [best, errors[chosen["held-out"]] / best, case.error(solved[chosen["held-out"]], choice.rank) / best]
    row += [whole[chosen["held-out"]] / best_whole, case.untruncated_error(U_fixed) / best_whole]
    work = choice.n_iter, found[chosen["held-out"]].n_iter
    return row, ranks(case, choice, U_fixed), chosen["held-out"], work


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, nargs=2, default=(1000, 100), help="samples and features")
    parser.add_argument("--rates", nargs="+", default=["10,2", "1,1"], help="downsampling, as a,b")
    parser.add_argument("--sets", nargs="+", default=[name for name in SETS if name != "digits"], choices=SETS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--ours", action="store_true", help="leave the other criteria out")
    parser.add_argument("--quick", action="store_true", help="two sets, two noises")
    chosen = parser.parse_args()
    warnings.filterwarnings("ignore")  # the strongest gammas of the grid do not converge
    names = ["fixed", *CRITERIA, "best", "ratio", "own rank", "untruncated", "(fixed)"]
    rows, right, kinds = [], [], []
    print(f"{'data, noise (normal, outliers), downsampling':44s}" + "".join(f"{name[-11:]:>12s}" for name in names))
    with limit_threads(1):
        for rate in chosen.rates:
            for name in chosen.sets[: 2 if chosen.quick else None]:
                for noise in NOISES[1:8:5] if chosen.quick else NOISES:
                    pair = tuple(float(part) for part in rate.split(","))
                    case = make_case(name, chosen.size, noise, pair, chosen.seed)
                    row, found, gammas, work = study(case, others=not chosen.ours)
                    rows.append([*row, *work])
                    truth = case.true_rank()
                    right.append([rank == truth for rank in found])
                    kinds.append("not compressed" if pair == (1.0, 1.0) else "compressed")
                    label = f"{name} {noise[0]:.0%} {noise[1]:.0%} ({rate})"
                    note = (
                        f"  gammas {gammas[0]:.2g}, {gammas[1]:.2g}; ranks {found} of {truth}; work {work[0]}/{work[1]}"
                    )
                    print(f"{label:44s}" + "".join(f"{value:12.4f}" for value in row) + note, flush=True)
    summarize(np.array(rows), np.array(right), np.array(kinds))


def summarize(rows, right, kinds):
    best = rows[:, 1 + len(CRITERIA)]
    print("\nerror over the best of the grid: mean, largest, share within 20 %")
    for name, errors in zip(("fixed gammas", *CRITERIA), rows.T, strict=False):
        ratio = errors / best
        if np.isnan(ratio).any():  # left out
            continue
        report(name, ratio)
        for kind in sorted(set(kinds)) if name == "held-out" else ():
            report(f"  {kind}", ratio[kinds == kind])
    for name, ratio in zip(
        ("held-out, own rank", "untruncated, ours", "untruncated, fixed"), rows[:, -5:-2].T, strict=True
    ):
        report(name, ratio)
    print("how often the rank is right")
    for name, share in zip(RANK_RULES, right.mean(axis=0), strict=True):
        print(f"  {name:22s}{share:8.0%}")
    spent, after = rows[:, -2:].T
    print(
        f"work of the choice over that of the solve after it: all cases together {spent.sum() / after.sum():.1f}, "
        f"median {np.median(spent / after):.1f}"
    )


def report(name, ratio):
    print(f"  {name:22s}{ratio.mean():8.2f}{ratio.max():8.2f}{np.mean(ratio < 1.2):8.0%}")


if __name__ == "__main__":
    main()
