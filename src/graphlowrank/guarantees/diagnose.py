"""Is this data low-rank on these graphs, and were enough samples drawn? Measured, and said in plain words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_array, check_random_state

from .._backend import Array
from ..decoders import Side
from ..graphs import Graph, lowest_eigenpairs
from ..sampling import choose, isometry, joint_isometry, required_samples
from ..sampling.isometry import Isometry
from ..settings import AUTO_RANK, Settings
from ..two_graphs import feature_side, sample_side
from .advice import ASKED_FOR, advise
from .bounds import amplification, subspace_bound, subspace_matrix_bound

FAILING = 0.1  # chance that a draw of the required size is worse than asked for


@dataclass(frozen=True, eq=False)
class SideDiagnosis:
    """What the theory says of the samples, or of the features.

    Attributes
    ----------
    name
        "samples" or "features".
    n_nodes, n_pieces
        Nodes and connected components of the graph.
    k
        Smooth signals looked at.
    eigenvalue, next_eigenvalue
        lambda_k and lambda_k+1 of the combinatorial Laplacian over its mean diagonal.
    coherence
        (n_nodes,) local coherence: the largest share of its energy that a k-smooth signal can have on a node.
    n_drawn
        Nodes drawn.
    n_required
        Draws that guarantee decoding of one-sided signals and labels at distortion 1/2 (one-graph bound).
    n_required_joint
        The same for matrices sampled on both sides (Theorem 1).
    isometry
        Range of distortion of this very draw, over all k-smooth signals.
    energy
        Share of the data's energy, around the mean sample, in the first k eigenvectors; None without data.
    """

    name: str
    n_nodes: int
    n_pieces: int
    k: int
    eigenvalue: float
    next_eigenvalue: float
    coherence: Array
    n_drawn: int
    n_required: int
    n_required_joint: int
    isometry: Isometry
    energy: float | None

    @property
    def gap(self) -> float:
        """``lambda_k / lambda_k+1``: 0 is a clear gap, 1 none."""
        return self.eigenvalue / self.next_eigenvalue if self.next_eigenvalue > 0 else 1.0

    @property
    def nu(self) -> float:
        """Cumulative coherence, between sqrt(k) and sqrt(n_nodes)."""
        return float(np.sqrt(self.n_nodes * self.coherence.max()))

    @property
    def complete(self) -> bool:
        """Whether every node was kept."""
        return self.n_drawn == self.n_nodes


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """Answer of :func:`diagnose`; print it.

    Attributes
    ----------
    samples, features
        The two sides; None for a side without a graph.
    isometry
        Range of distortion of this draw over all matrices that are low-rank on the two graphs.
    amplification
        How many times the error of the compressed matrix may weigh in the full one (Theorem 2, without its factor 2).
    bound
        Relative error that subspace upsampling may add by itself to a matrix that is exactly low-rank on the graphs.
    advice
        Sentences.
    """

    samples: SideDiagnosis | None
    features: SideDiagnosis | None
    isometry: Isometry
    amplification: float
    bound: float
    advice: list[str]

    def __str__(self) -> str:
        sides = [side for side in (self.samples, self.features) if side is not None]
        rows = [
            ("", *(side.name for side in sides)),
            ("nodes (connected pieces)", *(f"{side.n_nodes} ({side.n_pieces})" for side in sides)),
            ("smooth signals k", *(str(side.k) for side in sides)),
            ("spectral gap lambda_k / lambda_k+1", *(f"{side.gap:.3f}" for side in sides)),
            ("data energy in the first k", *(_share(side.energy) for side in sides)),
            ("coherence nu_k (best, worst)", *(_coherence(side) for side in sides)),
            ("nodes drawn", *(str(side.n_drawn) for side in sides)),
            ("required for labels, for matrices", *(_required(side) for side in sides)),
            ("distortion of this draw", *(f"{side.isometry.delta:.2f}" for side in sides)),
        ]
        widths = [max(len(row[column]) for row in rows) for column in range(len(sides) + 1)]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        lines += [
            "",
            f"Errors of the compressed matrix may grow {self.amplification:.1f} times. {_bound(self.bound)}",
            *(f"- {sentence}" for sentence in self.advice),
        ]
        return "\n".join(lines)


def diagnose(
    model_or_data: Any, data: Any = None, *, k: int | None = None, random_state: Any = None, **options: Any
) -> Diagnosis:
    """Measure what the theory asks for: gaps, coherence, draws, energy on the graphs; bound the error; advise.

    Parameters
    ----------
    model_or_data
        A fitted estimator of this package, whose graphs and draw are looked at, or data (n_samples, n_features), for
        which graphs are built and a draw is made as :class:`graphlowrank.CompressivePCA` would.
    data
        The data that the model was fitted on, to learn how much of their energy is on the graphs.
    k
        Smooth signals on each side; None takes the model's rank or clusters, or 10.
    random_state
        Seed of the draw where data are given.
    **options
        Options of :class:`graphlowrank.CompressivePCA` where data are given, such as ``downsampling=(10, 2)``.

    Examples
    --------
    >>> from graphlowrank.datasets import make_low_rank_on_graphs
    >>> problem = make_low_rank_on_graphs(400, 100, rank=4, random_state=0)
    >>> found = diagnose(problem.X, k=4, downsampling=(4, 2), random_state=0)
    >>> print(f"{found.samples.gap:.3f} {found.samples.energy:.3f}")
    0.000 1.000
    """
    samples, features, data = _sides(model_or_data, data, k, random_state, options)
    k = k or _rank(model_or_data)
    around_mean = None if data is None else data - data.mean(axis=0)
    found = (
        _diagnose_side("samples", samples, k, around_mean),
        _diagnose_side("features", features, k, None if around_mean is None else around_mean.T),
    )
    whole = Isometry(1.0, 1.0)
    joint = joint_isometry(*(whole if side is None else side.isometry for side in found))
    n_all = np.prod([1 if side is None else side.n_nodes for side in found])
    n_kept = np.prod([1 if side is None else side.n_drawn for side in found])
    bounds = [_side_bound(side, given) for side, given in zip(found, (samples, features), strict=True)]
    return Diagnosis(
        *found,
        isometry=joint,
        amplification=amplification(int(n_all), int(n_kept), joint.delta_below),
        bound=subspace_matrix_bound(*bounds),
        advice=advise(*found),
    )


def _sides(
    model_or_data: Any, data: Any, k: int | None, random_state: Any, options: dict[str, Any]
) -> tuple[Side, Side, Array | None]:
    """Graphs and draws of both sides, and the data where they are known."""
    if hasattr(model_or_data, "sample_indices_"):
        if options:
            raise ValueError(f"a fitted model has its own options; got {', '.join(options)}.")
        model = model_or_data
        data = None if data is None else check_array(data, dtype=[np.float64, np.float32])
        if data is not None and data.shape[1] != model.n_features_in_:
            raise ValueError(f"data has {data.shape[1]} features, but the model was fitted on {model.n_features_in_}.")
        return (
            Side(model.sample_graph_, model.sample_indices_, model.sample_weights_),
            Side(model.feature_graph_, model.feature_indices_, model.feature_weights_),
            data,
        )
    if hasattr(model_or_data, "fit"):
        raise ValueError("the model is not fitted; call its fit first.")
    X = check_array(model_or_data, dtype=[np.float64, np.float32], ensure_min_samples=2)
    settings = Settings(**options)
    rng = check_random_state(random_state)
    sizes = settings.kept(*X.shape)
    given = settings.given_indices()
    sides = []
    for build, size, indices in zip((sample_side, feature_side), sizes, given, strict=True):
        side = build(X, settings, rng)
        kept = choose(indices, size, side.graph_or_size, optimal_for=settings.optimal_for(k), random_state=rng)
        sides.append(Side(side.graph, kept.indices, kept.weights))
    return sides[0], sides[1], X


def _rank(model: Any) -> int:
    """Smooth signals that a fitted model stands for."""
    return int(getattr(model, "n_components_", None) or getattr(model, "n_clusters", None) or AUTO_RANK)


def _diagnose_side(name: str, side: Side, k: int, points: Array | None) -> SideDiagnosis | None:
    """Look at one side; ``points`` (n_nodes, anything) are the data along it."""
    graph = side.graph
    if graph is None:
        return None
    k = min(k, graph.n_nodes - 1)
    values, basis = lowest_eigenpairs(_unit_graph(graph), k + 1)
    basis = basis[:, :k]
    coherence = np.einsum("ij,ij->i", basis, basis)
    nu = float(np.sqrt(graph.n_nodes * coherence.max()))
    if side.weights is not None:
        nu = k**0.5  # by the optimal distribution, every node is as good as any other
    return SideDiagnosis(
        name=name,
        n_nodes=graph.n_nodes,
        n_pieces=graph.n_components,
        k=k,
        eigenvalue=float(values[k - 1]),
        next_eigenvalue=float(values[k]),
        coherence=coherence,
        n_drawn=len(side.indices),
        n_required=required_samples(nu, k, ASKED_FOR, FAILING, joint=False),
        n_required_joint=required_samples(nu, k, ASKED_FOR, FAILING),
        isometry=isometry(basis, side.indices, side.weights),
        energy=None if points is None else energy_share(basis, points),
    )


def _unit_graph(graph: Graph) -> Graph:
    """Scale a graph to mean degree 1, in double precision: the scale in which gammas are given."""
    weights = graph.weights.astype(np.float64)
    mean = float(graph.degrees.mean(dtype=np.float64))
    return Graph(weights / mean if mean > 0 else weights)


def energy_share(basis: Array, points: Array) -> float:
    """``||Q^T X||^2 / ||X||^2`` for an orthonormal basis Q (n, k) and data X (n, anything); 1 where X is 0."""
    energy = float(np.einsum("ij,ij->", points, points, dtype=np.float64))
    return float(np.sum((basis.T @ points) ** 2)) / energy if energy > 0 else 1.0


def _side_bound(found: SideDiagnosis | None, side: Side) -> Any:
    """Bound of Theorem 5 for a signal of unit norm; zero where nothing is decoded."""
    if found is None or found.complete:
        return subspace_bound(0.0, 1.0, gap=0.0)
    max_weight = 1.0 if side.weights is None else float(side.weights.max())
    amplify = amplification(found.n_nodes, found.n_drawn, found.isometry.delta_below)
    return subspace_bound(1.0, amplify, gap=found.gap, max_weight=max_weight)


def _share(value: float | None) -> str:
    return "not known" if value is None else f"{value:.1%}"


def _coherence(side: SideDiagnosis) -> str:
    return f"{side.nu:.1f} ({side.k**0.5:.1f}, {side.n_nodes**0.5:.1f})"


def _required(side: SideDiagnosis) -> str:
    return "all kept" if side.complete else f"{side.n_required}, {side.n_required_joint}"


def _bound(value: float) -> str:
    if value < 1:
        return f"Decoding adds at most {value:.1%} of the matrix's norm."
    return "The bound on what decoding adds is larger than the matrix itself: the theory promises nothing here."
