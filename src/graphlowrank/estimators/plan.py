"""Predict the time and memory of a fit."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from .._typing import Array
from ..auto import n_kept
from ..clustering.selection import n_interpolated
from ..graphs import knn_graph
from ..graphs.search import compares_all_pairs
from ..options import Options, check_choice, check_count
from ..pipeline import FEATURE_GRAPH_SAMPLES
from ..preprocessing.imputer import FIT_ROWS, MAX_ROUNDS
from ..preprocessing.missing import has_missing
from . import CompressiveClustering, CompressivePCA

Task = Literal["cluster", "recover"]

PILOT_SAMPLES = (1500, 6000)  # of the two pilot fits; their difference gives the growth of each stage
SEARCH_PILOT_SAMPLES = (6000, 18_000)  # of the approximate neighbor search
SEARCH_EXPONENT = 1.15  # growth of that search: 1.8 s for 1e5 samples of 50 numbers, 24 s for 1e6

# Stages that are not extrapolated linearly in the number of samples.
CONSTANT_STAGES = ("outliers", "number of clusters")  # look at a fixed number of samples
SAMPLED_STAGES = ("frpcag", "rpca", "rpcag", "partitions")  # linear in the number of kept samples
CAPPED_STAGES = ("gammas",)  # use no more kept samples than the pilot has
IMPUTATION = "imputation"  # stage that imputes missing values or filters outliers

# Synthetic rows: log counts of clusters along a few latent directions.
N_LATENT = 20
WITHIN_STD = 0.4  # standard deviation within clusters; 1 between them
LOG_RATE_MEAN, LOG_RATE_STD = -1.0, 1.5

PROCESS_BYTES = 0.3e9  # Python with its libraries
MIN_LOADING_SECONDS = 0.1  # not reported below
MIN_SPEEDUP = 1.2  # of the whole fit, for compression to be worthwhile


@dataclass(frozen=True)
class Stage:
    """Predicted seconds of a stage, and gigabytes in use at its end."""

    name: str
    seconds: float
    gigabytes: float


@dataclass(frozen=True, repr=False)
class Plan:
    """Predicted time and memory of a fit; prints as a table.

    Attributes
    ----------
    task, n_samples, n_features
        "cluster" or "recover", and the shape of the data.
    kept
        Samples and features of the compressed matrix.
    stages, advice
        Stages in order; sentences.
    loading_seconds
        Additional time of the first fit in a process, which loads or compiles code; 0 if that had been done before.
    speedup
        Ratio of the solver's time on all samples and features to that on the compressed matrix.
    """

    task: Task
    n_samples: int
    n_features: int
    kept: tuple[int, int]
    stages: tuple[Stage, ...]
    loading_seconds: float
    speedup: float
    advice: tuple[str, ...]

    @property
    def seconds(self) -> float:
        """Total time, without loading."""
        return sum(stage.seconds for stage in self.stages)

    @property
    def gigabytes(self) -> float:
        """Peak memory, including the data."""
        return max(stage.gigabytes for stage in self.stages)

    def __repr__(self) -> str:
        width = max(len(stage.name) for stage in self.stages)
        a, b = self.n_samples / self.kept[0], self.n_features / self.kept[1]
        lines = [
            f"{self.task} {self.n_samples} samples x {self.n_features} features: CPCA({a:.3g}, {b:.3g}), "
            f"{self.kept[0]} x {self.kept[1]} kept",
            "",
            f"  {'stage':<{width}}  {'seconds':>8}  {'GB':>6}",
            *(f"  {stage.name:<{width}}  {stage.seconds:8.2f}  {stage.gigabytes:6.2f}" for stage in self.stages),
            f"  {'total':<{width}}  {self.seconds:8.2f}  {self.gigabytes:6.2f}",
            "",
            *(f"  {sentence}" for sentence in self.advice),
        ]
        if self.loading_seconds > MIN_LOADING_SECONDS:
            lines.append(f"  The first fit of a process takes {self.loading_seconds:.1f} s longer, to load code.")
        return "\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        stages = [vars(stage) for stage in self.stages]
        return {**vars(self), "stages": stages, "seconds": self.seconds, "gigabytes": self.gigabytes}


def plan(
    n_samples: int,
    n_features: int,
    *,
    task: Task = "cluster",
    n_clusters: int = 10,
    data: Array | None = None,
    itemsize: int = 4,
    random_state: int = 0,
    **options: Any,
) -> Plan:
    """Predict the time and memory of :class:`CompressiveClustering` or :class:`CompressivePCA` on this machine.

    Two small fits are timed in a few seconds, and the time of each stage is extrapolated to ``n_samples``. Expect the
    actual time within a factor of 2. The number of iterations of the solver depends on the data, so recovery of a large
    matrix may take longer than predicted without ``data``.

    Parameters
    ----------
    n_samples, n_features
        Shape of the data to fit.
    task
        "cluster", or "recover" a low-rank matrix.
    n_clusters
        Number of clusters, or rank.
    data
        Some rows of the data, (any, n_features), NaN where values are missing; None for synthetic ones.
    itemsize, random_state
        Bytes of a number, 4 or 8; random seed.
    **options
        Parameters of the estimator.

    Examples
    --------
    >>> plan(400, 30, n_clusters=3).kept
    (400, 30)
    """
    if n_samples < 20 or n_features < 1:
        raise ValueError(f"a plan needs at least 20 samples and a feature, got {n_samples} and {n_features}.")
    check_choice(task, "task", ("cluster", "recover"))
    check_count(n_clusters, "n_clusters")
    n_clusters = min(n_clusters, n_features if task == "recover" else n_samples // 2)
    options = {name: value for name, value in options.items() if (name, value) != ("n_neighbors", "auto")}
    settings = Options.of(options)
    kept = n_kept(settings, (n_samples, n_features), n_clusters)
    pilot = _Pilot(task, n_clusters, n_samples, n_features, kept, options, itemsize, random_state, data)
    seconds, loading = pilot.stage_seconds()
    copy = n_samples * n_features * itemsize if IMPUTATION in seconds else 0  # complete data, for distances
    stages = tuple(Stage(name, value, (pilot.stage_bytes(name) + copy) / 1e9) for name, value in seconds.items())
    speedup = (n_samples * n_features) / (kept[0] * kept[1])
    advice = tuple(_advice(seconds, speedup, settings))
    return Plan(task, n_samples, n_features, kept, stages, loading, speedup, advice)


@dataclass(frozen=True)
class _Pilot:
    """Pilot fits, and the extrapolation of their stages to all samples."""

    task: Task
    n_clusters: int
    n_samples: int
    n_features: int
    kept: tuple[int, int]
    options: dict[str, Any]
    itemsize: int
    seed: int
    data: Array | None

    def stage_seconds(self) -> tuple[dict[str, float], float]:
        """Return the seconds of each stage on all samples, and those of loading compiled code."""
        sizes = (min(PILOT_SAMPLES[0], self.n_samples), min(PILOT_SAMPLES[1], self.n_samples))
        downsampling = self.n_samples / self.kept[0]
        first, small = (self.fit(sizes[0], downsampling) for _ in range(2))
        large = self.fit(sizes[1], downsampling) if sizes[1] > sizes[0] else small
        loading = max(sum(first.values()) - sum(small.values()), 0.0)
        found = {name: self.extrapolate(name, small.get(name, 0.0), large[name], sizes) for name in large}
        if self.n_samples <= sizes[1]:
            return found, loading
        if not compares_all_pairs(self.n_samples, self.n_features):
            found["sample graph"] = self.search_seconds()
        # Stages on the kept samples alone are timed without downsampling.
        rows = min(self.kept[0], PILOT_SAMPLES[1])
        whole = self.fit(rows, 1.0)
        found |= {name: whole[name] * self.kept[0] / rows for name in SAMPLED_STAGES if name in whole}
        return found | {name: whole[name] for name in CAPPED_STAGES if name in whole}, loading

    def extrapolate(self, name: str, small: float, large: float, sizes: tuple[int, int]) -> float:
        """Return the seconds of a stage on all samples; sublinear growth is extrapolated linearly."""
        if self.n_samples <= sizes[1] or name in CONSTANT_STAGES:
            return large
        if name == "sample graph":
            return large * (self.n_samples / sizes[1]) ** 2
        if name == "decoding" and self.task == "cluster":  # fewer candidates are interpolated over more samples
            work = [n * n_interpolated(n * self.n_clusters) for n in (sizes[1], self.n_samples)]
            return large * work[1] / work[0]
        # The imputer is fitted to a limited number of samples, in several iterations, and applied to all once. Without
        # missing values this stage filters outliers, in several iterations for each sample.
        imputes = name == IMPUTATION and self.data is not None and has_missing(self.data)
        limits = {"feature graph": FEATURE_GRAPH_SAMPLES} | ({IMPUTATION: FIT_ROWS} if imputes else {})
        slope = max(large - small, 0.0) / (sizes[1] - sizes[0])
        found = large + slope * max(min(self.n_samples, limits.get(name, self.n_samples)) - sizes[1], 0)
        return found + (large / MAX_ROUNDS * self.n_samples / sizes[1] if imputes else 0.0)

    def search_seconds(self) -> float:
        """Return the seconds of the approximate neighbor search, from two sizes."""
        n_neighbors = self.options.get("n_neighbors", 10)
        times, sizes = [], [min(size, self.n_samples) for size in SEARCH_PILOT_SAMPLES]
        for size in sizes:
            X = self.rows(size)
            begin = time.perf_counter()
            knn_graph(X, n_neighbors, neighbors="approximate", random_state=self.seed)
            times.append(time.perf_counter() - begin)
        slope = max(times[1] - times[0], times[1] / 10) / (sizes[1] - sizes[0])
        growth = float((self.n_samples / sizes[1]) ** (SEARCH_EXPONENT - 1))
        return times[1] + slope * (self.n_samples - sizes[1]) * growth

    def fit(self, size: int, downsampling: float) -> Mapping[str, float]:
        """Return the stage times of a fit to ``size`` rows, of which one in ``downsampling`` is kept."""
        most = size / max(2 * self.n_clusters, 20)
        pair = (max(min(downsampling, most), 1.0), self.n_features / self.kept[1])
        given = {**self.options, "downsampling": pair, "random_state": self.seed}
        model = CompressiveClustering if self.task == "cluster" else CompressivePCA
        return model(self.n_clusters, **given).fit(self.rows(size)).stage_seconds_

    def rows(self, size: int) -> Array:
        """Return rows of the data, repeated if there are too few, or synthetic ones."""
        rng = np.random.RandomState(self.seed)
        dtype = np.float32 if self.itemsize == 4 else np.float64
        if self.data is not None and len(self.data) > 0:
            rows = np.asarray(self.data)[rng.permutation(max(size, len(self.data)))[:size] % len(self.data)]
            rows = np.array(rows, dtype=dtype, order="C")
            missing = np.isnan(rows)  # each row and each column needs a value, also in this part of the data
            rows[missing.all(axis=1), 0] = 0
            rows[0, missing.all(axis=0)] = 0
            return rows
        # Of the distributions tried, the solver and the search take as long for clusters of small counts along a few
        # directions as for images, cells and digits. Gaussian clusters need a tenth of the iterations.
        latent = rng.standard_normal((self.n_clusters, N_LATENT))[rng.randint(self.n_clusters, size=size)]
        latent = (latent + WITHIN_STD * rng.standard_normal((size, N_LATENT))) / np.sqrt(np.arange(1, N_LATENT + 1))
        log_rates = latent.astype(dtype) @ rng.standard_normal((N_LATENT, self.n_features)).astype(dtype)
        log_rates *= LOG_RATE_STD / (float(log_rates.std()) or 1.0)
        return np.asarray(np.log1p(rng.poisson(np.exp(log_rates + dtype(LOG_RATE_MEAN)))), dtype=dtype)

    def stage_bytes(self, stage: str) -> float:
        """Return the memory in use: the process, the data, a scaled copy, graphs, and arrays of the stage."""
        data = self.n_samples * self.n_features * self.itemsize
        copies = 2 if self.task == "cluster" else 1
        graph = self.n_samples * 10 * 1.5 * (self.itemsize + 4)
        search = self.n_samples * (96 * 4 + 30 * 12)  # projected points and candidates
        block = self.kept[0] * self.kept[1] * self.itemsize
        memberships = self.n_samples * self.n_clusters * self.itemsize
        working = {
            "sample graph": graph + search,
            "feature graph": graph + min(self.n_samples, FEATURE_GRAPH_SAMPLES) * self.n_features * self.itemsize,
            "reduction": 5 * graph,
            "frpcag": 2 * graph + 6 * block,
            "partitions": 2 * graph + 3 * block,
            "decoding": 2 * graph + 2 * block + 6 * memberships,
        }
        return PROCESS_BYTES + copies * data + working.get(stage, graph)


def _advice(seconds: dict[str, float], speedup: float, options: Options) -> list[str]:
    total = sum(seconds.values())
    solver = seconds.get(options.solver, 0.0)
    full = total + solver * (speedup - 1)
    if speedup <= 1 or full < MIN_SPEEDUP * total:
        return ["Compression is not worthwhile here: the solver takes little of the time."]
    advice = [f"Without compression it would take about {full:.0f} s, {full / total:.1f} times as long."]
    search = seconds.get("sample graph", 0.0) / total
    if search > 0.5:
        advice.append(
            f"The neighbor search takes {search:.0%} of it: reuse the graph (sample_graph=model.sample_graph_)."
        )
    return advice
