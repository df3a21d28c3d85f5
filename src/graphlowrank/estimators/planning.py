"""How long a fit will take and how much memory, before it is begun."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from .._backend import Array
from ..clustering.selection import n_spread
from ..graphs import knn_graph
from ..graphs.search import compares_all_pairs
from ..options import Settings
from ..preprocessing.imputer import LEARNT_FROM, ROUNDS
from ..preprocessing.missing import has_gaps
from ..two_graphs import FEATURE_GRAPH_SAMPLES
from . import CompressiveClustering, CompressivePCA

Task = Literal["cluster", "recover"]

PILOTS = (1500, 6000)  # samples of two small fits; what they differ by grows
SEARCH_PILOTS = (6000, 18_000)  # of the approximate search
LATENT = 20  # directions of made-up data
WITHIN = 0.4  # deviation within their clusters, over that between
LEVEL, STRENGTH = -1.0, 1.5  # mean and deviation of the logarithm of their expected counts
SEARCH_GROWTH = 1.15  # exponent of the approximate search: 1.8 s for 1e5 samples of 50 numbers, 24 s for 1e6
FIXED = ("gross errors", "number of clusters")  # at a thousand samples whatever there are
ON_KEPT = ("frpcag", "rpca", "rpcag", "partitions")
ON_SOME_KEPT = ("gammas",)  # of no more than the pilot has
PROCESS_BYTES = 0.3e9  # of Python with its libraries
NOTEWORTHY = 0.1  # seconds of loading
PAYS_FROM = 1.2  # times faster than without compression


@dataclass(frozen=True)
class Stage:
    """Predicted seconds of a stage, and gigabytes in use at its end."""

    name: str
    seconds: float
    gigabytes: float


@dataclass(frozen=True, repr=False)
class Plan:
    """Prediction for a fit; prints as a table.

    Attributes
    ----------
    task
        "cluster" or "recover".
    n_samples, n_features
        Of the data.
    kept
        Samples and features of the compressed matrix.
    stages
        One after the other.
    loading_seconds
        What the first fit in a process took longer: compiled code is loaded, or compiled. 0 if that was done before.
    speedup
        How many times faster the solver is than it would be on all samples and features.
    advice
        Sentences.
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
        """Of the whole fit, in a process that has made one before."""
        return sum(stage.seconds for stage in self.stages)

    @property
    def gigabytes(self) -> float:
        """At most, the data included."""
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
            f"  {'in all':<{width}}  {self.seconds:8.2f}  {self.gigabytes:6.2f}",
            "",
            *(f"  {sentence}" for sentence in self.advice),
        ]
        if self.loading_seconds > NOTEWORTHY:
            lines.append(
                f"  The first fit of a process takes {self.loading_seconds:.1f} s more: it loads compiled code."
            )
        return "\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
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
    """Predict seconds and memory of :class:`CompressiveClustering` or :class:`CompressivePCA` on this machine.

    Two small fits are timed, on rows of ``data`` or on made-up ones, and what they take is carried on to ``n_samples``
    by the growth of each stage. That takes a few seconds. Expect the truth within a factor of 2; how many iterations
    the solver needs depends on the data, so without rows of them recovery of a large matrix may take longer.

    Parameters
    ----------
    n_samples, n_features
        Of the data to come.
    task
        "cluster", or "recover" a low-rank matrix.
    n_clusters
        Clusters, or rank.
    data
        Some rows of the data, (any, n_features), NaN where values are missing; None makes them up.
    itemsize
        Bytes of a number: 4 or 8.
    random_state
        Seed.
    **options
        Of the estimator.

    Examples
    --------
    >>> plan(400, 30, n_clusters=3).kept
    (400, 30)
    """
    if n_samples < 20 or n_features < 1:
        raise ValueError(f"a plan needs at least 20 samples and a feature, got {n_samples} and {n_features}.")
    if task not in ("cluster", "recover"):
        raise ValueError(f"task must be 'cluster' or 'recover', got {task!r}.")
    if isinstance(n_clusters, bool) or not isinstance(n_clusters, int) or n_clusters < 1:
        raise ValueError(f"n_clusters must be a positive whole number, got {n_clusters!r}.")
    n_clusters = min(n_clusters, n_features if task == "recover" else n_samples // 2)
    options = {name: value for name, value in options.items() if (name, value) != ("n_neighbors", "auto")}
    known = {name: value for name, value in options.items() if name in Settings.__dataclass_fields__}
    settings = Settings(**known, rank=n_clusters)
    kept = settings.kept(n_samples, n_features)
    pilot = _Pilot(task, n_clusters, n_samples, n_features, kept, options, itemsize, random_state, data)
    seconds, loading = pilot.carried_on()
    stages = []
    for name, value in seconds.items():
        memory = PROCESS_BYTES + _bytes(name, task, n_samples, n_features, kept, n_clusters, itemsize)
        memory += n_samples * n_features * itemsize if "filling" in seconds else 0.0  # a copy to compare samples by
        stages.append(Stage(name, value, memory / 1e9))
    speedup = (n_samples * n_features) / (kept[0] * kept[1])
    advice = tuple(_advice(seconds, speedup, settings))
    return Plan(task, n_samples, n_features, kept, tuple(stages), loading, speedup, advice)


@dataclass(frozen=True)
class _Pilot:
    task: Task
    n_clusters: int
    n_samples: int
    n_features: int
    kept: tuple[int, int]
    options: dict[str, Any]
    itemsize: int
    seed: int
    data: Array | None

    def carried_on(self) -> tuple[dict[str, float], float]:
        """Seconds of each stage at full size, and those to load what is compiled."""
        sizes = (min(PILOTS[0], self.n_samples), min(PILOTS[1], self.n_samples))
        share = self.n_samples / self.kept[0]
        first, small, large = (self.fit(size, share) for size in (sizes[0], *sizes))
        loading = max(sum(first.values()) - sum(small.values()), 0.0)
        found = {name: self.grown(name, small.get(name, 0.0), large[name], sizes) for name in large}
        if self.n_samples <= sizes[1]:
            return found, loading
        if not compares_all_pairs(self.n_samples, self.n_features):
            found["sample graph"] = self.searched()
        # What works on the kept samples alone is timed on as many, or as many as is quick.
        rows = min(self.kept[0], PILOTS[1])
        whole = self.fit(rows, 1.0)
        found |= {name: whole[name] * self.kept[0] / rows for name in ON_KEPT if name in whole}
        return found | {name: whole[name] for name in ON_SOME_KEPT if name in whole}, loading

    def grown(self, name: str, small: float, large: float, sizes: tuple[int, int]) -> float:
        """Carry a stage on to full size; what grows by less than a line is taken for a line."""
        if self.n_samples <= sizes[1] or name in FIXED:
            return large
        if name == "sample graph":
            return large * (self.n_samples / sizes[1]) ** 2
        if name == "decoding" and self.task == "cluster":  # of more samples fewer candidates are spread
            spread = [n * n_spread(n * self.n_clusters) for n in (sizes[1], self.n_samples)]
            return large * spread[1] / spread[0]
        # Gaps are filled by a model that is learnt in rounds from so many samples and applied to all once; where there
        # are none, the stage puts gross errors aside, in several rounds for each sample.
        gaps = self.data is not None and has_gaps(self.data)
        most = {"feature graph": FEATURE_GRAPH_SAMPLES} | ({"filling": LEARNT_FROM} if gaps else {})
        slope = max(large - small, 0.0) / (sizes[1] - sizes[0])
        found = large + slope * max(min(self.n_samples, most.get(name, self.n_samples)) - sizes[1], 0)
        return found + (large / ROUNDS * self.n_samples / sizes[1] if gaps and name == "filling" else 0.0)

    def searched(self) -> float:
        """Seconds of the approximate search: two sizes give what does not grow and what does."""
        n_neighbors = self.options.get("n_neighbors", 10)
        times, sizes = [], [min(size, self.n_samples) for size in SEARCH_PILOTS]
        for size in sizes:
            X = self.rows(size)
            begin = time.perf_counter()
            knn_graph(X, 10 if n_neighbors == "auto" else n_neighbors, neighbors="approximate", random_state=self.seed)
            times.append(time.perf_counter() - begin)
        slope = max(times[1] - times[0], times[1] / 10) / (sizes[1] - sizes[0])
        return times[1] + slope * (self.n_samples - sizes[1]) * (self.n_samples / sizes[1]) ** (SEARCH_GROWTH - 1)

    def fit(self, size: int, share: float) -> Mapping[str, float]:
        """Seconds of the stages of a small fit that keeps one of ``share`` samples."""
        fewest = size / max(2 * self.n_clusters, 20)
        downsampling = (max(min(share, fewest), 1.0), self.n_features / self.kept[1])
        given = {**self.options, "downsampling": downsampling, "random_state": self.seed}
        model = CompressiveClustering if self.task == "cluster" else CompressivePCA
        return model(self.n_clusters, **given).fit(self.rows(size)).stage_seconds_

    def rows(self, size: int) -> Array:
        """Rows of the data, again and again if they are few, or made-up ones."""
        rng = np.random.RandomState(self.seed)
        dtype = np.float32 if self.itemsize == 4 else np.float64
        if self.data is not None and len(self.data) > 0:
            rows = np.asarray(self.data)[rng.permutation(max(size, len(self.data)))[:size] % len(self.data)]
            return _observed_somewhere(np.array(rows, dtype=dtype, order="C"))
        # Clusters of counts, most of them small, along few directions: of what was tried, the solver and the search
        # take to them as to images, cells and digits. Normal clouds are done in a tenth of the iterations.
        latent = rng.standard_normal((self.n_clusters, LATENT))[rng.randint(self.n_clusters, size=size)]
        latent = (latent + WITHIN * rng.standard_normal((size, LATENT))) / np.sqrt(np.arange(1, LATENT + 1))
        logarithms = latent.astype(dtype) @ rng.standard_normal((LATENT, self.n_features)).astype(dtype)
        logarithms *= STRENGTH / (float(logarithms.std()) or 1.0)
        return np.log1p(rng.poisson(np.exp(logarithms + dtype(LEVEL)))).astype(dtype)


def _observed_somewhere(rows: Array) -> Array:
    """Give rows and features that are missing altogether, in this part of the data, a value; in place."""
    missing = np.isnan(rows)
    rows[missing.all(axis=1), 0] = 0
    rows[0, missing.all(axis=0)] = 0
    return rows


def _bytes(
    stage: str, task: Task, n_samples: int, n_features: int, kept: tuple[int, int], n_clusters: int, itemsize: int
) -> float:
    """Memory in use, beyond that of the process: data, a scaled copy, graphs, and what a stage works on."""
    data = n_samples * n_features * itemsize
    copies = 2 if task == "cluster" else 1
    graph = n_samples * 10 * 1.5 * (itemsize + 4)
    search = n_samples * (96 * 4 + 30 * 12)  # projected points and candidates
    block = kept[0] * kept[1] * itemsize
    memberships = n_samples * n_clusters * itemsize
    working = {
        "sample graph": graph + search,
        "feature graph": graph + min(n_samples, FEATURE_GRAPH_SAMPLES) * n_features * itemsize,
        "reduction": 5 * graph,
        "frpcag": 2 * graph + 6 * block,
        "partitions": 2 * graph + 3 * block,
        "decoding": 2 * graph + 2 * block + 6 * memberships,
    }
    return copies * data + working.get(stage, graph)


def _advice(seconds: dict[str, float], speedup: float, settings: Settings) -> list[str]:
    """Say what to do."""
    total = sum(seconds.values())
    solver = seconds.get(settings.solver, 0.0)
    without = total + solver * (speedup - 1)
    if speedup <= 1 or without < PAYS_FROM * total:
        return ["Compression will not pay here: the solver is not what takes the time."]
    said = [f"Without compression it would take about {without:.0f} s, {without / total:.1f} times as long."]
    graphs = seconds.get("sample graph", 0.0) / total
    if graphs > 0.5:
        said.append(f"Finding neighbours is {graphs:.0%} of it: keep the graph (sample_graph=model.sample_graph_).")
    return said
