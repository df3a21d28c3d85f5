"""Predict the time and memory of a fit."""

import math
import warnings
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from .._checks import without_mask
from .._threads import resolve_n_jobs
from .._typing import Array
from ..auto import choose_n_neighbors, n_kept
from ..auto.scaling import trial_sizes
from ..clustering.selection import n_community_runs, n_interpolated, n_k_means
from ..exceptions import WeakClustersWarning
from ..graphs.search import compares_all_pairs
from ..options import Options, check_choice, check_count, is_auto
from ..outofcore.sizes import FitSize
from ..pipeline import FEATURE_GRAPH_SAMPLES
from ..preprocessing import imputer, outlier_filter
from ..preprocessing.counts import float_type
from ..preprocessing.sparse import as_shifted_sparse
from . import CompressiveClustering, CompressivePCA

Task = Literal["cluster", "recover"]

# Rows of the timed fit: up to as many as keep 800, on which gammas are chosen, at the usual downsampling.
MIN_ROWS, MAX_ROWS, MAX_ENTRIES = 1000, 8000, 5_000_000
MIN_KEPT = 400  # of them, fewer only if the data have fewer
SEARCH_ROWS = 500  # that show how many entries sparse samples share
SPARSE_COST = 20  # of a stored entry, in entries of dense rows
MAX_SOLVER_ENTRIES = 600_000  # of its compressed matrix, for recovery, which may take a thousand iterations
PARTITION_SAMPLES, PARTITION_ENTRIES = 1250, 2_000_000  # of what is clustered at all gammas
CENTER_SAMPLES = 2500  # k-means fits its centers on no more

ONE_GAMMA = 1.5  # at which the timed fit clusters; the partitions of all gammas are timed without downsampling
WITHOUT_CHOICES = {
    "gamma_samples": 1.5, "gamma_features": 0.3, "scaling": "none", "robust_graphs": False, "max_iter": 10,
}  # of the first fit, which loads compiled code  # fmt: skip

# Growth of the solver, and of stages on the sample graph, approximate search included: neighbors leave the cache. The
# search of sparse samples spends its time on comparing pairs of them.
GRAPH_EXPONENT, SPARSE_GRAPH_EXPONENT = 1.15, 1.05
FEW_EXPONENT = 0.7  # growth of clustering a few hundred to a few thousand samples, of which a part is fixed costs
LINEAR_FEATURES = 400  # at which half of the time of partitions grows with the samples: singular vectors, not k-means

# Synthetic rows: log counts of clusters along a few latent directions.
N_LATENT = 20
WITHIN_STD = 0.4  # standard deviation within clusters; 1 between them
LOG_RATE_MEAN, LOG_RATE_STD = -1.0, 1.5

WITH_RANK = (
    "This is for a given rank, with solver='frpcag'. Without a rank models are compared, which takes 1.5 to 8 times as "
    "long."
)
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
    data: Array | sp.sparray | None = None,
    itemsize: int | None = None,
    random_state: int = 0,
    **options: Any,
) -> Plan:
    """Predict the time and memory of :class:`CompressiveClustering` or :class:`CompressivePCA` on this machine.

    A fit to at most 8000 samples is timed, and the time of each stage is extrapolated to ``n_samples``; memory is
    computed from the sizes of the arrays. Expect the actual time within a factor of 2, and the memory within 1.3, if
    rows are given. The number of iterations of the solver depends on the data, so recovery of a large matrix may take
    longer than predicted, above all without ``data``.

    Parameters
    ----------
    n_samples, n_features
        Shape of the data to fit.
    task
        "cluster", or "recover" a low-rank matrix.
    n_clusters
        Number of clusters, or rank: recovery without a given rank, which compares models, takes 1.5 to 8 times as long.
    data
        Some rows of the data, (any, n_features), 8000 if there are as many: dense with NaN where values are missing, or
        a scipy sparse matrix if the data will be one; None for synthetic ones.
    itemsize, random_state
        Bytes of a number, 4 or 8, None for those of ``data``, or 4; random seed.
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
    if is_auto(options.get("solver", Options.solver)):
        raise ValueError("a plan needs a solver: 'auto' fits several, and takes 1.5 to 8 times as long as 'frpcag'.")
    check_count(n_clusters, "n_clusters")
    n_clusters = min(n_clusters, n_features if task == "recover" else n_samples // 2)
    if is_auto(options.get("n_neighbors", "auto")):
        auto = Options.of({**options, "n_neighbors": "auto", "n_clusters": n_clusters if task == "cluster" else 1})
        options["n_neighbors"] = choose_n_neighbors(auto, n_samples).value
    settings = Options.of(options)
    kept = n_kept(settings, (n_samples, n_features), n_clusters)
    rows: Any = data if data is None or sp.issparse(data) else np.asarray(without_mask(data))
    stored = rows.nnz / max(rows.shape[0], 1) if sp.issparse(data) else None
    if itemsize is None:
        itemsize = 4 if rows is None else float_type(rows.dtype).itemsize
    neighbors = int(options["n_neighbors"]), settings.neighbors
    n_threads = resolve_n_jobs(settings.n_jobs)
    size = FitSize(task, n_samples, n_features, n_clusters, kept, itemsize, stored, *neighbors, n_threads)
    pilot = _Pilot(size, options, rows, random_state).with_search()
    seconds, loading, scaling = pilot.extrapolate()
    copies = {"scaled": scaling != "none", "imputed": "imputation" in seconds}
    stages = tuple(Stage(name, value, pilot.size.stage_bytes(name, **copies) / 1e9) for name, value in seconds.items())
    speedup = (n_samples * n_features) / (kept[0] * kept[1])
    advice = tuple(_advice(seconds, speedup, settings))
    if task == "recover" and "solver" not in options:
        advice = (*advice, WITH_RANK)
    return Plan(task, n_samples, n_features, kept, stages, loading, speedup, advice)


@dataclass(frozen=True, eq=False)
class _Pilot:
    """Fits to some rows, and the extrapolation of their stages to all samples."""

    size: FitSize
    options: dict[str, Any]
    data: Any
    seed: int

    def with_search(self) -> "_Pilot":
        """Return the pilot with the neighbor search among all samples."""
        X, size = self.rows(SEARCH_ROWS), self.size
        exact = compares_all_pairs(as_shifted_sparse(X) if sp.issparse(X) else X, size.n_samples)
        name = ("exact" if exact else "approximate") if is_auto(size.search) else size.search
        return replace(self, size=replace(size, search=name), options={**self.options, "neighbors": name})

    def rows(self, n: int) -> Any:
        """Return so many rows of the data, repeated if there are too few, or synthetic ones."""
        rng, dtype = np.random.RandomState(self.seed), np.float32 if self.size.itemsize == 4 else np.float64
        n_given = 0 if self.data is None else self.data.shape[0]
        chosen = rng.permutation(max(n, n_given))[:n] % max(n_given, 1)
        if n_given and sp.issparse(self.data):
            return sp.csr_array(sp.csr_array(self.data)[chosen], dtype=dtype)
        if n_given:
            rows = np.array(self.data[chosen], dtype=dtype, order="C")
            missing = np.isnan(rows)  # each row and each column needs a value, also in this part of the data
            rows[missing.all(axis=1), 0] = 0
            rows[0, missing.all(axis=0)] = 0
            return rows
        # Of the distributions tried, the solver and the search take as long for clusters of small counts along a few
        # directions as for images, cells and digits. Gaussian clusters need a tenth of the iterations.
        k = self.size.n_clusters
        latent = rng.standard_normal((k, N_LATENT))[rng.randint(k, size=n)]
        latent = (latent + WITHIN_STD * rng.standard_normal((n, N_LATENT))) / np.sqrt(np.arange(1, N_LATENT + 1))
        log_rates = latent.astype(dtype) @ rng.standard_normal((N_LATENT, self.size.n_features)).astype(dtype)
        log_rates *= LOG_RATE_STD / (float(log_rates.std()) or 1.0)
        return np.asarray(np.log1p(rng.poisson(np.exp(log_rates + dtype(LOG_RATE_MEAN)))), dtype=dtype)

    def pilot_sizes(self) -> tuple[int, tuple[int, int]]:
        """Rows of the timed fit, and samples and features that it keeps; those of the data if they are small."""
        size, width = self.size, self.size.n_features
        if size.stored is not None:
            width = max(min(width, round(SPARSE_COST * size.stored)), 1)
        rows = min(max(MAX_ENTRIES // width, MIN_ROWS), MAX_ROWS)
        if size.n_samples <= rows:
            return size.n_samples, size.kept
        (samples, features), k = size.kept, size.n_clusters
        samples = min(max(rows * samples // size.n_samples, MIN_KEPT, 2 * k), samples)
        if size.task == "recover":
            features = min(features, max(MAX_SOLVER_ENTRIES // samples, k))
        return rows, (samples, features)

    def extrapolate(self) -> tuple[dict[str, float], float, str]:
        """Return the seconds of each stage on all samples, those of loading compiled code, and the scaling."""
        rows, kept = self.pilot_sizes()
        X, by_gammas = self.rows(rows), rows < self.size.n_samples and self.tries_gammas()
        with warnings.catch_warnings():  # the fit that is timed gives them
            warnings.simplefilter("ignore")
            complete = X if sp.issparse(X) else np.nan_to_num(X)  # imputation takes long, and loads nothing
            first = self.fit(complete, kept, **WITHOUT_CHOICES).stage_seconds_
        given: dict[str, Any] = {"gamma_samples": ONE_GAMMA} if by_gammas else {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", WeakClustersWarning)  # clusters of some rows are of no interest
            model = self.fit(X, kept, **given)
        seconds = model.stage_seconds_
        loading = sum(max(first.get(name, 0.0) - value, 0.0) for name, value in seconds.items())
        growth = self.growth(rows, kept, missing=not sp.issparse(X) and bool(np.isnan(X).any()))
        found = {name: value * growth.get(name, 1.0) for name, value in seconds.items()}
        if by_gammas:
            found |= self.partition_seconds(scaling=_scaling(model), feature_graph=model.feature_graph_)
        return found, loading, _scaling(model)

    def tries_gammas(self) -> bool:
        """Whether partitions are proposed at several gammas."""
        gammas, partition = (self.options.get(name) for name in ("gamma_samples", "partition"))
        return self.size.task == "cluster" and gammas in (None, "auto") and partition in (None, "graph")

    def growth(self, rows: int, kept: tuple[int, int], *, missing: bool) -> dict[str, float]:
        """Return the time of each stage on all samples in units of that on some rows; 1 for those not named."""
        size, n, k = self.size, self.size.n_samples, self.size.n_clusters
        ratio, candidates = n / rows, 1.0
        on_graph = ratio ** (GRAPH_EXPONENT if size.stored is None else SPARSE_GRAPH_EXPONENT)
        if ratio > 1 and self.tries_gammas():
            candidates = n_interpolated(n, size.kept[0], k) / n_interpolated(rows, kept[0], k, one_gamma=True)
        return {
            "scaling": math.prod(trial_sizes(n)) / math.prod(trial_sizes(rows)),
            "imputation": _imputation_work(n, missing=missing) / _imputation_work(rows, missing=missing),
            "sample graph": ratio**2 if size.search == "exact" else on_graph,
            "feature graph": min(n, FEATURE_GRAPH_SAMPLES) / min(rows, FEATURE_GRAPH_SAMPLES),
            "sampling": ratio,
            "reduction": on_graph,
            self.solver: (size.kept[0] * size.kept[1] / (kept[0] * kept[1])) ** GRAPH_EXPONENT,
            "communities": ratio * n_community_runs(n) / n_community_runs(rows),
            "decoding": on_graph * candidates,
        }

    def partition_seconds(self, **given: Any) -> dict[str, float]:
        """Return the seconds of the solver and of the partitions at all gammas, from a fit that keeps all its rows."""
        (m, q), k = self.size.kept, self.size.n_clusters
        rows = min(m, PARTITION_SAMPLES, max(PARTITION_ENTRIES // q, MIN_KEPT, 2 * k))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            seconds = self.fit(self.rows(rows), (rows, q), robust_graphs=False, **given).stage_seconds_
        linear = q / (q + LINEAR_FEATURES)
        centers = (min(m, CENTER_SAMPLES) / min(rows, CENTER_SAMPLES)) ** FEW_EXPONENT
        growth = ((1 - linear) * centers + linear * m / rows) * n_k_means(m, k) / n_k_means(rows, k)
        solver = (m / rows) ** GRAPH_EXPONENT
        return {self.solver: seconds[self.solver] * solver, "partitions": seconds["partitions"] * growth}

    @property
    def solver(self) -> str:
        """Name of the solver, which is that of its stage."""
        return str(self.options.get("solver", Options.solver))

    def fit(self, X: Any, kept: tuple[int, int], **given: Any) -> Any:
        """Fit to rows, of which so many samples and features are kept."""
        pair = (max(X.shape[0] / kept[0], 1.0), max(X.shape[1] / kept[1], 1.0))
        options = {**self.options, **given, "downsampling": pair, "random_state": self.seed}
        model = CompressiveClustering if self.size.task == "cluster" else CompressivePCA
        return model(self.size.n_clusters, **options).fit(X)


def _scaling(model: Any) -> str:
    return str(next(choice.value for choice in model.report_.choices if choice.name == "scaling"))


def _imputation_work(n: int, *, missing: bool) -> int:
    """Rows that pass through the low-rank model: it is fitted to some in several rounds, and applied to all."""
    if missing:
        return imputer.MAX_ROUNDS * min(n, imputer.FIT_ROWS) + n
    return len(outlier_filter.DIRECTIONS) * min(n, outlier_filter.FIT_ROWS) + len(outlier_filter.ROUNDS) * n


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
