"""The options that every estimator shares, checked before work starts, and what "auto" means."""

from __future__ import annotations

import inspect
import math
import warnings
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal, get_args

import numpy as np

from ._literals import LossName, SolverName
from ._threads import resolve_n_jobs
from .auto.choice import Choice
from .decoders import DECODERS
from .graphs.laplacian import LaplacianKind
from .graphs.search import Engine
from .reduction import Reduction
from .reduction.kron import EXACT_UP_TO
from .sampling import required_samples

SideName = Literal["sample", "feature"]

CHOICES = {
    "loss": get_args(LossName),
    "neighbors": ("auto", "exact", "approximate"),
    "laplacian": ("auto", "combinatorial", "normalized"),
    "reduction": ("auto", "exact", "random_walk", "rebuild"),
    "solver": get_args(SolverName),
    "decoder": tuple(DECODERS),
}

# "auto" keeps about this many of a side; a shorter side is left alone, since compressing it costs accuracy and saves
# next to nothing.
AUTO_SAMPLES, AUTO_MAX_DOWNSAMPLING = 1000, 10.0
AUTO_DISTORTION, AUTO_FAILURE = 0.5, 0.1  # of smooth signals, and the chance of more
AFFORDABLE_ENTRIES = 5_000_000  # of the compressed matrix: a solve takes about a second
FEW = 10
AUTO_RANK = 10  # smooth signals that optimal sampling looks after where the user names no rank
AUTO_FEATURES, AUTO_MAX_FEATURE_DOWNSAMPLING = 500, 4.0

# Middle of the range that worked on digits, USPS, MNIST, faces and synthetic data; (samples, features).
AUTO_GAMMAS: dict[LaplacianKind, tuple[float, float]] = {"normalized": (1.5, 0.3), "combinatorial": (0.5, 0.3)}

# Clusters are looked for at each of these weights of the sample graph: faces want the first, digits the last.
GAMMA_PATH = (0.5, 1.5, 5.0, 15.0, 40.0)


@dataclass(frozen=True)
class Settings:
    """Options of the compressive pipeline; see :class:`graphlowrank.CompressivePCA` for their meaning."""

    downsampling: Any = "auto"
    gamma_samples: float | Literal["auto"] = "auto"
    gamma_features: float | Literal["auto"] = "auto"
    loss: LossName = "l1"
    huber_delta: float = 1.0
    n_neighbors: int = 10
    sample_graph: Any = "knn"
    feature_graph: Any = "knn"
    neighbors: Engine = "auto"
    robust_graphs: bool | Literal["auto"] = False
    laplacian: Any = "auto"
    sampling: Any = "uniform"
    reduction: Reduction = "auto"
    solver: SolverName = "frpcag"
    decoder: str = "subspace"
    decoder_options: Any = None
    tol: float = 1e-3
    max_iter: int = 1000
    n_jobs: int | None = None
    rank: int | None = None  # clusters or directions looked for, where known: more of them need more samples

    def __post_init__(self) -> None:
        for name, allowed in CHOICES.items():
            value = getattr(self, name)
            if not isinstance(value, str) or value not in allowed:
                raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}; got {value!r}.")
        for name in ("gamma_samples", "gamma_features"):
            value = getattr(self, name)
            if value != "auto" and not (_is_number(value) and value >= 0):
                raise ValueError(f"{name} must be 'auto' or a number >= 0; got {value!r}.")
        if not (isinstance(self.robust_graphs, bool | np.bool_) or self.robust_graphs == "auto"):
            raise ValueError(f"robust_graphs must be True, False or 'auto'; got {self.robust_graphs!r}.")
        for name in ("tol", "huber_delta"):
            value = getattr(self, name)
            if not (_is_number(value) and value > 0):
                raise ValueError(f"{name} must be a positive number; got {value!r}.")
        for name in ("n_neighbors", "max_iter"):
            value = getattr(self, name)
            if isinstance(value, bool) or not (isinstance(value, (int, np.integer)) and value >= 1):
                raise ValueError(f"{name} must be a positive whole number; got {value!r}.")
        for name in ("sample_graph", "feature_graph"):
            value = getattr(self, name)
            if isinstance(value, str) and value != "knn":
                raise ValueError(f"{name} must be 'knn', None, a Graph or a weight matrix; got {value!r}.")
        known = self.sampling in ("uniform", "optimal") if isinstance(self.sampling, str) else _is_pair(self.sampling)
        if not known:
            raise ValueError(
                "sampling must be 'uniform', 'optimal' or a pair (sample_indices, feature_indices); "
                f"got {self.sampling!r}."
            )
        self._check_solver()
        self._check_decoder_options()
        self._check_downsampling()
        resolve_n_jobs(self.n_jobs)

    def _check_solver(self) -> None:
        if self.solver != "frpcag" and self.optimal_for(None):
            raise ValueError(f"solver={self.solver!r} has no importance weights; use sampling='uniform' or 'frpcag'.")
        if self.solver == "rpcag" and self.sample_graph is None:
            raise ValueError("solver='rpcag' needs a sample_graph; without one it is 'rpca'.")

    def _check_decoder_options(self) -> None:
        allowed = [name for name in _keywords(self.decoder) if name not in ("n_components", "data")]
        for name in self.decoder_keywords():
            if name not in allowed:
                raise ValueError(
                    f"decoder {self.decoder!r} has no option {name!r}; it takes {', '.join(allowed) or 'none'}."
                )

    def decoder_keywords(self) -> dict[str, Any]:
        """Options of the decoder, by name."""
        if not isinstance(self.decoder_options, dict | None):
            raise ValueError(f"decoder_options must be None or a dictionary; got {self.decoder_options!r}.")
        return dict(self.decoder_options or {})

    def decoder_needs_data(self) -> bool:
        """Whether the decoder projects the full data."""
        return "data" in _keywords(self.decoder)

    def needs_graph(self, side: SideName) -> bool:
        """Whether the model, the draw or the decoder will look at the graph of a side."""
        in_model = self.solver == "frpcag" or (self.solver == "rpcag" and side == "sample")
        return in_model or self.optimal_for(None) is not None or self._spreads(side)

    def check_decodes_gaps(self) -> None:
        """Raise if the decoder cannot do with missing entries."""
        if self.decoder in ("approximate2", "approximate3"):
            raise ValueError(f"decoder={self.decoder!r} projects the data, which must then have no missing entries.")

    def compares(self) -> bool:
        """Whether a graph is to be built from the data."""
        sides: tuple[SideName, ...] = ("sample", "feature")
        return any(isinstance(getattr(self, f"{side}_graph"), str) and self.needs_graph(side) for side in sides)

    def _spreads(self, side: SideName) -> bool:
        """Whether the decoder guesses nodes of a side from their neighbours; the others ask the data."""
        asking = {"sample": ("robust", "approximate2"), "feature": ("robust", "approximate3")}
        return self.decoder not in asking[side]

    def optimal_for(self, rank: int | None) -> int | None:
        """Smooth signals to draw for on each side; None for a uniform draw."""
        return (rank or AUTO_RANK) if isinstance(self.sampling, str) and self.sampling == "optimal" else None

    def _check_downsampling(self) -> None:
        value = self.downsampling
        if isinstance(value, str) and value == "auto":
            return
        if not _is_pair(value) or not all(_is_number(side) and side >= 1 for side in value):
            raise ValueError(
                f"downsampling must be 'auto' or a pair (a, b) of numbers >= 1 that keeps 1/a of the samples and 1/b "
                f"of the features; got {value!r}."
            )

    def kept(self, n_samples: int, n_features: int) -> tuple[int, int]:
        """How many samples and features to keep."""
        a, b = (
            self._auto_downsampling(n_samples, n_features) if isinstance(self.downsampling, str) else self.downsampling
        )
        rows, columns = self.given_indices()
        return (
            max(1, round(n_samples / a)) if rows is None else _count(rows),
            max(1, round(n_features / b)) if columns is None else _count(columns),
        )

    def _auto_downsampling(self, n_samples: int, n_features: int) -> tuple[float, float]:
        # Without a graph there is nothing to decode the left-out part with, unless the decoder asks the data.
        b = 1.0
        if self.feature_graph is not None or not self._spreads("feature"):
            b = min(max(n_features / AUTO_FEATURES, 1.0), AUTO_MAX_FEATURE_DOWNSAMPLING)
            # Sparse data may have a million features: even the fewest samples would not fit.
            b = max(b, n_features * min(n_samples, AUTO_SAMPLES) / AFFORDABLE_ENTRIES)
        a = 1.0
        if self.sample_graph is not None or not self._spreads("sample"):
            a = n_samples / self._enough_samples(round(n_features / b))
        return min(max(a, 1.0), AUTO_MAX_DOWNSAMPLING), b

    def _enough_samples(self, n_columns: int) -> int:
        """Return how many samples the paper's isometry asks for, if the small problem stays affordable."""
        rank = self.rank or AUTO_RANK
        bound = required_samples(rank**0.5, rank, AUTO_DISTORTION, AUTO_FAILURE, joint=False)
        return max(AUTO_SAMPLES, min(bound, AFFORDABLE_ENTRIES // max(n_columns, 1)))

    def check_decodable(self, n_samples: int, n_features: int, *, features: bool) -> None:
        """Raise if a side is to be compressed but has no graph to be decoded on; warn if next to nothing is kept."""
        rows, columns = self.kept(n_samples, n_features)
        guessed: dict[SideName, bool] = {
            "sample": rows < n_samples and (self._spreads("sample") or not features),
            "feature": features and columns < n_features and self._spreads("feature"),
        }
        for side, left_out in guessed.items():
            if left_out and getattr(self, f"{side}_graph") is None:
                raise ValueError(
                    f"{side}_graph=None leaves no way to decode the {side}s that are left out; "
                    "give a graph or keep them all."
                )
        if isinstance(self.sampling, str):
            self._warn_if_few("samples", rows, n_samples)
            self._warn_if_few("features", columns, n_features)

    def _warn_if_few(self, side: str, n_kept: int, n: int) -> None:
        if n_kept < min(FEW, n / 2):
            warnings.warn(
                f"downsampling={self.downsampling} keeps only {n_kept} of {n} {side}; expect a coarse answer.",
                UserWarning,
                stacklevel=4,
            )

    def given_indices(self) -> tuple[Any, Any]:
        """(sample_indices, feature_indices) that the user gave; None for a side to draw."""
        return (None, None) if isinstance(self.sampling, str) else tuple(self.sampling)

    def gammas(self, laplacian: LaplacianKind) -> tuple[float, float]:
        """Weights of the sample and the feature term."""
        auto_samples, auto_features = AUTO_GAMMAS[laplacian]
        return (
            auto_samples if self.gamma_samples == "auto" else float(self.gamma_samples),
            auto_features if self.gamma_features == "auto" else float(self.gamma_features),
        )

    def gammas_given(self) -> bool:
        """Whether the user set both."""
        return self.gamma_samples != "auto" and self.gamma_features != "auto"

    def gamma_path(self, laplacian: LaplacianKind) -> list[tuple[float, float]]:
        """Weights of both terms to look for clusters at, from weak to strong; one pair where the user set the first."""
        _, of_features = self.gammas(laplacian)
        of_samples = GAMMA_PATH if self.gamma_samples == "auto" else (float(self.gamma_samples),)
        return [(gamma, of_features) for gamma in of_samples]

    def choices(self, n_samples: int, n_features: int, laplacian: LaplacianKind) -> list[Choice]:
        """Say what the settings come to for data of this shape, and why."""
        rows, columns = self.kept(n_samples, n_features)
        parts = f"{rows} of {n_samples} samples, {columns} of {n_features} features"
        drawn = "as asked"
        if isinstance(self.downsampling, str) and all(given is None for given in self.given_indices()):
            short = f"sides of up to {AUTO_SAMPLES} samples and {AUTO_FEATURES} features are too short to pay"
            least = self._enough_samples(columns)
            drawn = short if (rows, columns) == (n_samples, n_features) else f"a tenth, at least {least} samples"
        suits = {
            "normalized": "dense and sparse regions have equal say; features are centred",
            "combinatorial": "its smoothest signals are constants: levels of features survive",
        }
        return [
            Choice("downsampling", parts, drawn),
            Choice("laplacian", laplacian, suits[laplacian] if self.laplacian == "auto" else "as asked"),
            self._reduction_choice(n_samples, left_out=(rows, columns) != (n_samples, n_features)),
        ]

    def _reduction_choice(self, n_samples: int, *, left_out: bool) -> Choice:
        if not left_out:
            return Choice("reduction", "none", "nothing is left out")
        if self.reduction != "auto":
            return Choice("reduction", self.reduction, "as asked")
        if n_samples <= EXACT_UP_TO:
            return Choice("reduction", "exact", f"up to {EXACT_UP_TO} nodes it costs nothing")
        return Choice("reduction", "random_walk", f"the exact one of more than {EXACT_UP_TO} nodes is dense and slow")

    def laplacian_kind(self, default: LaplacianKind) -> LaplacianKind:
        """Laplacian to use; "auto" is what suits the task."""
        return default if self.laplacian == "auto" else self.laplacian


def _keywords(decoder: str) -> list[str]:
    """Names of the keyword-only parameters of a decoder."""
    parameters = inspect.signature(DECODERS[decoder]).parameters.values()
    return [parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY]


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)


def _is_pair(value: Any) -> bool:
    return isinstance(value, (tuple, list)) and len(value) == 2


def _count(indices: Any) -> int:
    """Nodes that an array of indices or a mask names."""
    given = np.asarray(indices)
    return int(np.count_nonzero(given)) if given.dtype == bool else given.size
