"""The options of the pipeline, checked before work starts."""

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike

from ._checks import is_count, is_number
from ._literals import ClusterScaling
from ._threads import resolve_n_jobs
from ._typing import AXES, AxisName, MatrixLike
from .decoders import DECODERS, Decoder
from .graphs import Graph, search_names
from .models import SOLVERS, SmallSolver
from .models.losses import LOSSES

if TYPE_CHECKING:
    from typing_extensions import TypeIs

RENAMED_DECODER_OPTIONS = {"normalise": "normalize"}  # deprecated in 0.2
MAX_GAMMA = 1e30  # of the smoothness terms; larger ones overflow in single precision
MIN_HUBER_DELTA = 1e-30  # below, the Huber loss is the l1 loss, and its corner would underflow in small units


# The paper's method in the parameters of the estimators, besides gammas, downsampling and Laplacian.
PUBLISHED: dict[str, Any] = {
    "variant": "published", "scaling": "none", "robust_graphs": False, "n_neighbors": 10, "neighbors": "exact",
    "reduction": "exact", "tol": 1e-3,
}  # fmt: skip


def choices() -> dict[str, tuple[str, ...]]:
    """Values of each option that is a name; registered extensions included."""
    return {
        "scaling": get_args(ClusterScaling),
        "partition": ("graph", "k-means"),
        "scores": ("auto", "whitened", "scaled", "matrix"),
        "variant": ("default", "published"),
        "loss": tuple(LOSSES),
        "neighbors": tuple(search_names()),
        "laplacian": ("auto", "combinatorial", "normalized"),
        "reduction": ("auto", "exact", "random_walk", "rebuild"),
        "solver": ("auto", *SOLVERS),
        "decoder": tuple(DECODERS),
    }


@dataclass(frozen=True, eq=False)
class Options:
    """Options of :func:`~graphlowrank.pipeline.recover` and :func:`~graphlowrank.pipeline.cluster`.

    :class:`graphlowrank.CompressivePCA` and :class:`graphlowrank.CompressiveClustering` describe each of them.
    """

    n_components: int | None = None
    n_clusters: int | Literal["auto"] = "auto"
    scaling: ClusterScaling = "auto"
    partition: Literal["graph", "k-means"] = "graph"
    scores: Literal["auto", "whitened", "scaled", "matrix"] = "auto"
    downsampling: tuple[float, float] | Literal["auto"] = "auto"
    gamma_samples: float | Literal["auto"] = "auto"
    gamma_features: float | Literal["auto"] = "auto"
    gamma_labels: float = 0.0
    loss: str = "l1"
    huber_delta: float = 1.0
    n_neighbors: int | Literal["auto"] = 10
    sample_graph: Graph | MatrixLike | Literal["knn"] | None = "knn"
    feature_graph: Graph | MatrixLike | Literal["knn"] | None = "knn"
    neighbors: str = "auto"
    robust_graphs: bool | Literal["ends", "auto"] = False
    laplacian: Literal["auto", "combinatorial", "normalized"] = "auto"
    sampling: Literal["uniform", "optimal"] | tuple[ArrayLike | None, ArrayLike | None] = "uniform"
    reduction: Literal["auto", "exact", "random_walk", "rebuild"] = "auto"
    n_draws: int = 1
    solver: str = "frpcag"
    decoder: str = "subspace"
    decoder_options: Mapping[str, Any] | None = None
    tol: float = 1e-3
    max_iter: int = 1000
    variant: Literal["default", "published"] = "default"
    n_jobs: int | None = None

    @classmethod
    def of(cls, parameters: Mapping[str, Any]) -> Self:
        """Options among the parameters of an estimator."""
        names = {field.name for field in fields(cls)}
        return cls(**{name: value for name, value in parameters.items() if name in names})

    def __post_init__(self) -> None:
        for name, allowed in choices().items():
            check_choice(getattr(self, name), name, allowed)
        for name in ("gamma_samples", "gamma_features"):
            value = getattr(self, name)
            if not is_auto(value) and not (is_number(value) and value >= 0):
                raise ValueError(f"{name} must be 'auto' or a number >= 0; got {value!r}.")
            if not is_auto(value) and value > MAX_GAMMA:
                raise ValueError(f"{name} must be at most {MAX_GAMMA:g}; got {value!r}.")
        check_number(self.gamma_labels, "gamma_labels")
        if not (isinstance(self.robust_graphs, bool | np.bool_) or self.robust_graphs in ("ends", "auto")):
            raise ValueError(f"robust_graphs must be True, False, 'ends' or 'auto'; got {self.robust_graphs!r}.")
        for name, least in (("tol", 0.0), ("huber_delta", MIN_HUBER_DELTA)):
            value = getattr(self, name)
            if not (is_number(value) and value > least):
                above = f"number above {least:g}" if least else "positive number"
                raise ValueError(f"{name} must be a {above}; got {value!r}.")
        check_count(self.max_iter, "max_iter")
        check_count(self.n_draws, "n_draws", at_most=1000, what="draws allowed")
        for name in ("n_neighbors", "n_clusters"):
            if not is_auto(getattr(self, name)):
                check_count(getattr(self, name), name)
        if self.n_components is not None:
            check_count(self.n_components, "n_components")
        for name in ("sample_graph", "feature_graph"):
            value = getattr(self, name)
            if isinstance(value, str) and value != "knn":
                raise ValueError(f"{name} must be 'knn', None, a Graph or a weight matrix; got {value!r}.")
        self._check_sampling()
        self._check_solver_and_decoder()
        self._check_variant()
        resolve_n_jobs(self.n_jobs)

    def _check_sampling(self) -> None:
        value = self.sampling
        if not (value in ("uniform", "optimal") if isinstance(value, str) else is_pair(value)):
            raise ValueError(
                f"sampling must be 'uniform', 'optimal' or a pair (sample_indices, feature_indices); got {value!r}."
            )
        rates = self.downsampling
        if not is_auto(rates) and not (is_pair(rates) and all(is_number(rate) and rate >= 1 for rate in rates)):
            raise ValueError(
                "downsampling must be 'auto' or a pair (a, b) of numbers >= 1 that keeps 1/a of the samples and 1/b "
                f"of the features; got {rates!r}."
            )

    def _check_solver_and_decoder(self) -> None:
        if self.optimal_sampling and not self.small_solver.takes_weights:
            raise ValueError(f"solver={self.solver!r} has no importance weights; use sampling='uniform' or 'frpcag'.")
        if self.loss != Options.loss and not self.small_solver.takes_loss:
            raise ValueError(f"loss={self.loss!r} needs solver='frpcag': {self.solver!r} has a loss of its own.")
        if self.solver == "rpcag" and self.sample_graph is None:
            raise ValueError("solver='rpcag' needs a sample_graph; without one it is 'rpca'.")
        if not isinstance(self.decoder_options, Mapping | None):
            raise ValueError(f"decoder_options must be None or a dictionary; got {self.decoder_options!r}.")
        allowed = self.decoder_record.options
        for name in self.decoder_keywords():
            if name not in allowed:
                raise ValueError(
                    f"decoder {self.decoder!r} has no option {name!r}; it takes {', '.join(allowed) or 'none'}."
                )

    def _check_variant(self) -> None:
        if self.scores == "matrix" and self.partition != "k-means":
            raise ValueError("scores='matrix' needs partition='k-means'.")
        if not self.published:
            return
        if is_auto(self.gamma_samples) or is_auto(self.gamma_features):
            raise ValueError(
                "variant='published' needs gamma_samples and gamma_features: the paper has no rule for them."
            )
        needed = {"solver": "frpcag", "decoder": "subspace", "reduction": "exact"}
        for name, value in needed.items():
            if getattr(self, name) != value:
                raise ValueError(f"variant='published' needs {name}={value!r}; got {getattr(self, name)!r}.")
        if self.optimal_sampling:
            raise ValueError("variant='published' draws uniformly; use sampling='uniform' or give indices.")

    @property
    def published(self) -> bool:
        """Whether the paper's algorithms run as printed."""
        return self.variant == "published"

    @property
    def small_solver(self) -> SmallSolver:
        """Registered solver of the compressed problem; FRPCAG where models cannot be compared."""
        return SOLVERS["frpcag" if is_auto(self.solver) else self.solver]

    @property
    def decoder_record(self) -> Decoder:
        """Registered decoder."""
        return DECODERS[self.decoder]

    def decoder_keywords(self) -> dict[str, Any]:
        """Options of the decoder, by name."""
        keywords = dict(self.decoder_options or {})
        for old, new in RENAMED_DECODER_OPTIONS.items():
            if old in keywords:
                warnings.warn(f"decoder option {old!r} was renamed {new!r}.", FutureWarning, stacklevel=2)
                keywords[new] = keywords.pop(old)
        return keywords

    @property
    def optimal_sampling(self) -> bool:
        """Whether nodes are drawn by the coherence of the graphs."""
        return isinstance(self.sampling, str) and self.sampling == "optimal"

    def given_indices(self) -> tuple[ArrayLike | None, ArrayLike | None]:
        """(sample_indices, feature_indices) given by the user; None for an axis to draw."""
        return (None, None) if isinstance(self.sampling, str) else (self.sampling[0], self.sampling[1])

    def given_samples(self) -> bool:
        """Whether the user gives a sample graph, or indices of samples, which belong to the order of the samples."""
        return not isinstance(self.sample_graph, str | None) or self.given_indices()[0] is not None

    def graph_of(self, axis: AxisName) -> Graph | MatrixLike | Literal["knn"] | None:
        """Return the option ``sample_graph`` or ``feature_graph``."""
        return self.sample_graph if axis == "sample" else self.feature_graph

    def needs_graph(self, axis: AxisName) -> bool:
        """Whether the model, the sampling or the decoder uses the graph of an axis."""
        solver = self.small_solver
        in_model = solver.uses_sample_graph if axis == "sample" else solver.uses_feature_graph
        return in_model or self.optimal_sampling or self.decoder_record.interpolates(axis)

    def builds_graphs(self) -> bool:
        """Whether a graph is built from the data."""
        return any(isinstance(self.graph_of(axis), str) and self.needs_graph(axis) for axis in AXES)


def is_auto(value: object) -> 'TypeIs[Literal["auto"]]':
    """Whether a value is the string "auto"; arrays are not compared."""
    return isinstance(value, str) and value == "auto"


def is_pair(value: Any) -> bool:
    """Whether a value is a tuple or list of two."""
    return isinstance(value, (tuple, list)) and len(value) == 2


def check_choice(value: Any, name: str, allowed: tuple[str, ...]) -> None:
    """Raise unless ``value`` is one of the names ``allowed``."""
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}; got {value!r}.")


def check_count(value: Any, name: str, *, at_most: int | None = None, what: str = "") -> None:
    """Raise unless ``value`` is an integer between 1 and ``at_most``."""
    if not is_count(value):
        raise ValueError(f"{name} must be a positive integer; got {value!r}.")
    if at_most is not None and value > at_most:
        raise ValueError(f"{name}={value} is more than the {at_most} {what}.")


def check_number(value: Any, name: str, *, at_most: float = math.inf) -> None:
    """Raise unless ``value`` is a finite number between 0 and ``at_most``."""
    if not (is_number(value) and 0 <= float(value) <= at_most):
        limits = ">= 0" if at_most == math.inf else f"between 0 and {at_most:g}"
        raise ValueError(f"{name} must be a number {limits}; got {value!r}.")
