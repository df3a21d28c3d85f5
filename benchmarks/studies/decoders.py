"""Recovery error, seconds and iterations of every decoder, on the same compressed matrices.

    python benchmarks/studies/decoders.py              # synthetic; ORL faces too if GRAPHLOWRANK_DATA has them
    python benchmarks/studies/decoders.py --quick      # small sizes, to check that it runs

Graphs, draw and FRPCAG are computed once for each matrix and rate, so that only the decoders differ. Each seed is a new
matrix, new outliers and a new draw. Decoders have their default options unless the row names others.
"""

import argparse
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from graphlowrank import FastRobustPCAOnGraphs
from graphlowrank._progress import Progress
from graphlowrank.auto import fixed_gammas
from graphlowrank.datasets import make_low_rank_on_graphs, sparse_noise
from graphlowrank.metrics import recovery_error
from graphlowrank.options import Options
from graphlowrank.pipeline import build_graphs, compress, decode, solve
from graphlowrank.preprocessing import Scaling
from graphlowrank.records import LossWeights, Run
from graphlowrank_benchmarks.datasets import load_orl
from graphlowrank_benchmarks.internals import leading_svd, limit_threads

RANK = object()  # in options: the rank of the job
ROWS = {
    "subspace": ("subspace", {}),
    "subspace, normalized": ("subspace", {"normalize": True}),
    "subspace, filter 2": ("subspace", {"filter": 2}),
    "approximate": ("approximate", {}),
    "approximate, filter 2, gammas 100": (
        "approximate",
        {"filter": 2, "gamma_samples": 100, "gamma_features": 100},
    ),
    "orthonormal": ("orthonormal", {}),
    "alternate": ("alternate", {}),
    "ideal": ("ideal", {}),
    "ideal, k = rank": ("ideal", {"k_samples": RANK, "k_features": RANK}),
    "approximate2": ("approximate2", {}),
    "approximate3": ("approximate3", {}),
    "robust": ("robust", {}),
    "graph_regression": ("graph_regression", {}),
}
COMPRESSED = "(compressed matrix, kept block only)"
SVD, FRPCAG, FRPCAG_TRUNCATED = "truncated SVD", "FRPCAG", "FRPCAG, truncated to the rank"


@dataclass(frozen=True)
class Job:
    """A family of matrices and how they are compressed; ``make(seed)`` gives (X, X_true, graph options)."""

    name: str
    make: Callable
    rank: int
    rates: tuple
    options: dict = field(default_factory=dict)


@dataclass
class Cell:
    """Results of one row at one rate, a number for each seed."""

    errors: list = field(default_factory=list)
    seconds: list = field(default_factory=list)
    n_iter: list = field(default_factory=list)
    converged: bool = True

    def texts(self):
        iterations = f"{np.mean(self.n_iter):.0f}" if self.n_iter else "–"
        seconds = f"{np.median(self.seconds):.2f}" if self.seconds else "–"
        return f"{np.mean(self.errors):.4f}", seconds, iterations + ("" if self.converged else "!")


def synthetic(n_samples, n_features, rank, shape, outliers):
    def make(seed):
        made = make_low_rank_on_graphs(n_samples, n_features, rank, shape=shape, outliers=outliers, random_state=seed)
        return made.X, made.X_true, {"sample_graph": made.sample_graph, "feature_graph": made.feature_graph}

    return make


def faces(side):
    """ORL, averaged over blocks of ``side`` x ``side`` pixels, a tenth of each image's pixels black or white."""
    clean, _ = load_orl(shape=(112 // side, 92 // side))

    def make(seed):
        return sparse_noise(clean, 0.1, random_state=seed), clean, {}

    return make


def jobs(*, quick):
    n_samples, n_features = (600, 100) if quick else (3000, 300)
    rates = ((5, 2), (10, 2)) if quick else ((5, 2), (10, 2), (20, 4))
    for shape in ("rings", "clusters"):
        for outliers in (0.1, 0.0):
            yield Job(
                f"synthetic {shape} {n_samples} x {n_features}, {outliers:.0%} outliers, given graphs",
                synthetic(n_samples, n_features, 5, shape, outliers),
                rank=5,
                rates=rates,
                options={"gamma_samples": 2.0, "gamma_features": 2.0},
            )
    try:
        make = faces(4)
    except FileNotFoundError as error:
        print(f"ORL faces skipped: {error}\n")
        return
    yield Job(
        "ORL 400 x 644 (28 x 23 pixels), sparse noise on 10% of each image, graphs of the noisy data",
        make,
        rank=30,
        rates=((2, 2),) if quick else ((1, 2), (2, 2), (2, 4)),
        options={"gamma_samples": 0.5, "gamma_features": 0.3},
    )


def timed(work):
    begin = time.perf_counter()
    result = work()
    return result, time.perf_counter() - begin


def truncated(X, rank):
    mean = X.mean(axis=0)
    left, values, right = leading_svd(X - mean, rank)
    return left * values @ right.T + mean


def run_decoders(job, rate, cells, X, X_true, options, seed):
    """Compress once, decode by every row; return the seconds of the compression."""
    run = Run(Options(downsampling=rate, **job.options, **options), np.random.RandomState(seed), Progress())

    def compress_and_solve():
        small = compress(X, build_graphs(X, run), "combinatorial", LossWeights(), job.rank, run)
        return small, solve(small, fixed_gammas(run.options, "combinatorial"), run)

    (small, solution), compression = timed(compress_and_solve)
    block = solution.X * small.block.scale + small.block.shift[small.features.indices]
    kept = np.ix_(small.samples.indices, small.features.indices)
    cells[COMPRESSED, rate].errors.append(recovery_error(X_true[kept], block))
    for row, (decoder, given) in ROWS.items():
        filled = {name: job.rank if value is RANK else value for name, value in given.items()}
        chosen = replace(run, options=replace(run.options, decoder=decoder, decoder_options=filled))
        decoded, seconds = timed(lambda chosen=chosen: decode(X, small, solution, job.rank, Scaling("none"), chosen))
        cell = cells[row, rate]
        cell.errors.append(recovery_error(X_true, decoded.low_rank))
        cell.seconds.append(seconds)
        cell.n_iter.append(decoded.n_iter)
        cell.converged &= decoded.converged
    return compression


def run_references(job, cells, X, X_true, options):
    low_rank, seconds = timed(lambda: truncated(X, job.rank))
    cells[SVD].errors.append(recovery_error(X_true, low_rank))
    cells[SVD].seconds.append(seconds)
    model, seconds = timed(lambda: FastRobustPCAOnGraphs(job.rank, n_jobs=1, **job.options, **options).fit(X))
    for name, answer in ((FRPCAG, model.low_rank_), (FRPCAG_TRUNCATED, truncated(model.low_rank_, job.rank))):
        cells[name].errors.append(recovery_error(X_true, answer))
        cells[name].seconds.append(seconds)
        cells[name].n_iter.append(model.n_iter_)


def run(job, seeds):
    cells = {(row, rate): Cell() for row in (*ROWS, COMPRESSED) for rate in job.rates}
    references = {name: Cell() for name in (SVD, FRPCAG, FRPCAG_TRUNCATED)}
    compression = {rate: [] for rate in job.rates}
    best = []
    for seed in range(seeds):
        X, X_true, options = job.make(seed)
        best.append(recovery_error(X_true, truncated(X_true, job.rank)))
        run_references(job, references, X, X_true, options)
        for rate in job.rates:
            compression[rate].append(run_decoders(job, rate, cells, X, X_true, options, seed))
    show(job, seeds, cells, references, {rate: np.median(s) for rate, s in compression.items()}, np.mean(best))


def show(job, seeds, cells, references, compression, best):
    gammas = "gammas {gamma_samples:g} and {gamma_features:g}".format(**job.options)
    print(
        f"{job.name}; rank {job.rank} (best possible error {best:.4f}); {gammas}; "
        f"{'seed 0' if seeds == 1 else f'seeds 0-{seeds - 1}'}"
    )
    print("error: ||X* - X|| / ||X||, mean over seeds; it: mean iterations, ! where a run did not converge")
    print("s: median seconds of decoding alone on one thread, from compressed matrix to factors, eigenvectors included")
    name_width, widths = max(map(len, [*ROWS, COMPRESSED])), (6, 6, 5)
    gap, width = "   ", sum(widths) + 2 * (len(widths) - 1)

    def line(name, *groups):
        texts = ("  ".join(text.rjust(w) for text, w in zip(group, widths, strict=True)) for group in groups)
        print(gap.join([name.ljust(name_width), *texts]).rstrip())

    print(gap.join([" " * name_width, *(f"downsampling {rate}".rjust(width) for rate in job.rates)]))
    line("", *[("error", "s", "it")] * len(job.rates))
    for row in (*ROWS, COMPRESSED):
        line(row, *(cells[row, rate].texts() for rate in job.rates))
    line("(seconds of compressing)", *(("", f"{compression[rate]:.2f}", "") for rate in job.rates))
    print("without compression; s: from data to answer")
    for name, cell in references.items():
        line(name, cell.texts())
    print(flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes, one seed unless --seeds is given")
    parser.add_argument("--seeds", type=int, help="matrices and draws to average over (default 3)")
    chosen = parser.parse_args()
    seeds = chosen.seeds or (1 if chosen.quick else 3)
    warnings.filterwarnings("ignore")  # what did not converge is marked in the table
    # One thread for every row: on matrices this small, threads that wait for one another only blur the times.
    with limit_threads(1):
        run_decoders(  # compile
            Job("", None, 3, ()), (2, 1), {(row, (2, 1)): Cell() for row in (*ROWS, COMPRESSED)},
            *synthetic(2000, 50, 3, "rings", 0.1)(0), 0,
        )  # fmt: skip
        for job in jobs(quick=chosen.quick):
            run(job, seeds)


if __name__ == "__main__":
    main()
