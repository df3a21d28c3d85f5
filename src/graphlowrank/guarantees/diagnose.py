"""Diagnosis of whether data are low-rank on their graphs and enough nodes were drawn, with advice in words."""

from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any

import numpy as np
from sklearn.utils import check_array, check_random_state
from sklearn.utils.extmath import row_norms

from .._checks import without_mask
from .._progress import Progress
from .._threads import limit_threads, single_threaded_libraries
from .._typing import Array
from ..auto import DEFAULT_RANK, check_sizes, n_kept
from ..graphs import lowest_eigenpairs
from ..graphs.spectrum import smooth_signals
from ..metrics.recovery import energy_share
from ..options import Options, check_count
from ..pipeline import build_graphs, sample_axes
from ..records import Run
from ..sampling import isometry, joint_isometry, required_samples
from ..sampling.isometry import Isometry
from ..sampling.nodes import UNIFORM_SHARE, SampledNodes
from .bounds import Bound, amplification, subspace_bound, subspace_matrix_bound

HIGH_ENERGY, LOW_ENERGY = 0.9, 0.5  # share of the energy of the data in the first k eigenvectors
NO_GAP = 0.8  # lambda_k / lambda_k+1
HIGH_COHERENCE = 3.0  # times sqrt(k), the smallest possible
TARGET_DELTA, BLIND_DELTA = 0.5, 0.95  # distortion
FAILURE_PROBABILITY = 0.1  # that a draw of the required size has a larger distortion than TARGET_DELTA


@dataclass(frozen=True, eq=False)
class SideDiagnosis:
    """Assumptions of the theory, measured on the samples or on the features.

    Attributes
    ----------
    name : {"samples", "features"}
    n_nodes, n_pieces, k : int
        Numbers of nodes and connected components of the graph, and of smooth signals.
    eigenvalue, next_eigenvalue : float
        lambda_k and lambda_k+1 of the combinatorial Laplacian, divided by its mean diagonal.
    coherence : ndarray of shape (n_nodes,)
        Local coherence: the largest share of its energy that a k-smooth signal can have on a node.
    n_drawn, optimal : int, bool
        Number of nodes drawn, and whether by the optimal distribution.
    n_required, n_required_joint : int
        Sample sizes that guarantee distortion 1/2 of labels and signals (one-graph bound), and of matrices sampled on
        both sides (Theorem 1).
    isometry : Isometry
        Range of norm ratios of this draw, over all k-smooth signals.
    energy : float or None
        Share of the energy of the centered data in the first k eigenvectors; None without data.
    """

    name: str
    n_nodes: int
    n_pieces: int
    k: int
    eigenvalue: float
    next_eigenvalue: float
    coherence: Array
    n_drawn: int
    optimal: bool
    n_required: int
    n_required_joint: int
    isometry: Isometry
    energy: float | None

    @property
    def gap(self) -> float:
        """Spectral gap ``lambda_k / lambda_k+1``: 0 is a clear gap, 1 is none."""
        return self.eigenvalue / self.next_eigenvalue if self.next_eigenvalue > 0 else 1.0

    @property
    def nu(self) -> float:
        """Cumulative coherence, between sqrt(k) and sqrt(n_nodes)."""
        return float(np.sqrt(self.n_nodes * self.coherence.max()))

    @property
    def complete(self) -> bool:
        """Whether every node was kept."""
        return self.n_drawn == self.n_nodes


@dataclass(frozen=True, eq=False, repr=False)
class Diagnosis:
    """Result of :func:`diagnose`; print it.

    Attributes
    ----------
    samples, features : SideDiagnosis or None
        The two sides; None for a side without a graph.
    isometry : Isometry
        Range of norm ratios of this draw over all matrices that are low-rank on the two graphs.
    amplification : float
        Factor by which the ideal decoder may amplify the error of the compressed matrix (Theorem 2 without its factor
        2, which is not needed). Other decoders smooth errors, or amplify them more.
    bound : float
        Bound on the relative error that subspace upsampling adds to a matrix that is exactly low-rank on the graphs.
    advice : list of str
    """

    samples: SideDiagnosis | None
    features: SideDiagnosis | None
    isometry: Isometry
    amplification: float
    bound: float
    advice: list[str]

    def __repr__(self) -> str:
        columns = [_measured(side) for side in (self.samples, self.features) if side is not None]
        rows = [(heading, *(column[heading] for column in columns)) for heading in columns[0]]
        widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
        lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
        growth = f"The ideal decoder amplifies errors of the compressed matrix by at most {self.amplification:.1f}."
        bound = "The bound on the decoding error exceeds the norm of the matrix: the theory guarantees nothing here."
        if self.bound < 1:
            bound = f"Decoding adds an error of at most {self.bound:.1%} of the norm of the matrix."
        lines += ["", f"{growth} {bound}", *(f"- {sentence}" for sentence in self.advice)]
        return "\n".join(lines)


@single_threaded_libraries()
def diagnose(
    model_or_data: Any, data: Any = None, *, k: int | None = None, random_state: Any = None, **options: Any
) -> Diagnosis:
    """Check the assumptions of the theory (gaps, coherence, sample sizes, energy), bound the error, and give advice.

    Parameters
    ----------
    model_or_data : estimator or array-like of shape (n_samples, n_features)
        A fitted estimator of this package, whose graphs and draw are diagnosed; or data, for which graphs and draw are
        made as :class:`graphlowrank.CompressivePCA` would.
    data : array-like of shape (n_samples, n_features), default=None
        Data that the model was fitted on, to measure their energy on the graphs.
    k : int or None, default=None
        Number of smooth signals on each side, at least one per connected component; None for the rank or number of
        clusters of the model, else 10.
    random_state, **options
        Of :class:`graphlowrank.CompressivePCA`, where data are given, such as ``downsampling=(10, 2)``.

    Examples
    --------
    >>> from graphlowrank.datasets import make_low_rank_on_graphs
    >>> problem = make_low_rank_on_graphs(400, 100, rank=4, random_state=0)
    >>> found = diagnose(problem.X, k=4, downsampling=(4, 2), random_state=0)
    >>> print(f"{found.samples.gap:.3f} {found.samples.energy:.3f}")
    0.000 1.000
    """
    if k is not None:
        check_count(k, "k")
    ranks = (getattr(model_or_data, name, None) for name in ("n_components_", "n_clusters"))
    k = int(k or options.pop("n_components", None) or next(filter(None, ranks), DEFAULT_RANK))
    samples, features, data = _sides(model_or_data, data, k, random_state, options)
    if samples.graph is None and features.graph is None:
        raise ValueError("neither side has a graph: there is nothing to diagnose.")
    centered = None if data is None else data - data.mean(axis=0)
    found = (
        _diagnose_side("samples", samples, k, centered),
        _diagnose_side("features", features, k, None if centered is None else centered.T),
    )
    joint = joint_isometry(*(Isometry(1.0, 1.0) if side is None else side.isometry for side in found))
    present = [side for side in found if side is not None]
    n, n_kept_nodes = prod(side.n_nodes for side in present), prod(side.n_drawn for side in present)
    growth = amplification(n, n_kept_nodes, joint.delta_below)
    matrix = not hasattr(model_or_data, "labels_")  # else it decodes labels
    advice = [sentence for side in present for sentence in _on_data(side) + _on_draw(side, matrix=matrix)]
    return Diagnosis(
        *found,
        isometry=joint,
        amplification=growth * prod(_max_weight(side) ** 0.5 for side in (samples, features)),
        bound=subspace_matrix_bound(_side_bound(found[0], samples), _side_bound(found[1], features)),
        advice=advice or ["Nothing stands out: the data are low-rank on the graphs and the draw is good."],
    )


def _sides(
    model_or_data: Any, data: Any, k: int, random_state: Any, options: dict[str, Any]
) -> tuple[SampledNodes, SampledNodes, Array | None]:
    """Graphs and draws of both sides, and the data if known."""
    if hasattr(model_or_data, "sample_indices_"):
        if options:
            raise ValueError(f"a fitted model has its own options; got {', '.join(options)}.")
        return _sides_of_model(model_or_data, data)
    if hasattr(model_or_data, "fit"):
        raise ValueError("diagnose takes data, or a fitted estimator of graphlowrank; fit the model first.")
    X = check_array(without_mask(model_or_data), dtype=[np.float64, np.float32], ensure_min_samples=2)
    settings = Options(**options)
    check_sizes(settings, X.shape, clustering=False)
    run = Run(settings, check_random_state(random_state), Progress())
    with limit_threads(settings.n_jobs):
        samples, features = sample_axes(build_graphs(X, run), X.shape, n_kept(settings, X.shape), k, run)
    return samples, features, X


def _sides_of_model(model: Any, data: Any) -> tuple[SampledNodes, SampledNodes, Array | None]:
    """Graphs and draws of a fitted model, and the data, validated against it."""
    samples = SampledNodes(model.sample_graph_, model.sample_indices_, model.sample_weights_)
    features = SampledNodes(model.feature_graph_, model.feature_indices_, model.feature_weights_)
    if data is None:
        return samples, features, None
    data = check_array(without_mask(data), dtype=[np.float64, np.float32])
    if data.shape[1] != model.n_features_in_:
        raise ValueError(f"data has {data.shape[1]} features, but the model was fitted on {model.n_features_in_}.")
    if samples.graph is not None and len(data) != samples.graph.n_nodes:
        raise ValueError(f"data has {len(data)} samples, but the model was fitted on {samples.graph.n_nodes}.")
    return samples, features, data


def _diagnose_side(name: str, side: SampledNodes, k: int, points: Array | None) -> SideDiagnosis | None:
    """Diagnose one side; ``points`` (n_nodes, n_columns) are the centered data with the nodes as rows."""
    graph = side.graph
    if graph is None:
        return None
    optimal = side.weights is not None
    k = min(smooth_signals(graph, k), graph.n_nodes - 1)
    values, basis = lowest_eigenpairs(graph, k + 1)
    values, basis = values / (float(graph.degrees.mean(dtype=np.float64)) or 1.0), basis[:, :k]
    coherence = row_norms(basis, squared=True)
    # The optimal distribution replaces nu^2 by k, up to the uniform share mixed in.
    nu_squared = k / (1 - UNIFORM_SHARE) if optimal else graph.n_nodes * coherence.max()
    required = partial(required_samples, nu_squared**0.5, k, TARGET_DELTA, FAILURE_PROBABILITY)
    return SideDiagnosis(
        name=name,
        n_nodes=graph.n_nodes,
        n_pieces=graph.n_components,
        k=k,
        eigenvalue=float(values[k - 1]),
        next_eigenvalue=float(values[k]),
        coherence=coherence,
        n_drawn=len(side.indices),
        optimal=optimal,
        n_required=required(joint=False),
        n_required_joint=required(joint=True),
        isometry=isometry(basis, side.indices, side.weights),
        energy=None if points is None else energy_share(basis, points),
    )


def _max_weight(side: SampledNodes) -> float:
    return 1.0 if side.weights is None else float(side.weights.max())


def _side_bound(found: SideDiagnosis | None, side: SampledNodes) -> Bound:
    """Bound of Theorem 5 for a unit signal; zero where nothing is decoded."""
    if found is None or found.complete:
        return Bound(0.0, 0.0)
    amplify = amplification(found.n_nodes, found.n_drawn, found.isometry.delta_below)
    return subspace_bound(1.0, amplify, gap=found.gap, max_weight=_max_weight(side))


def _measured(side: SideDiagnosis) -> dict[str, str]:
    """Headings and entries of a column of the table."""
    required = (str(n) if n <= side.n_nodes else "more than all" for n in (side.n_required, side.n_required_joint))
    return {
        "": side.name,
        "nodes (connected components)": f"{side.n_nodes} ({side.n_pieces})",
        "smooth signals k": str(side.k),
        "spectral gap lambda_k / lambda_k+1": f"{side.gap:.3f}",
        "energy of the data in the first k": "unknown" if side.energy is None else f"{side.energy:.1%}",
        "coherence nu_k (best, worst)": f"{side.nu:.1f} ({side.k**0.5:.1f}, {side.n_nodes**0.5:.1f})",
        "nodes drawn": str(side.n_drawn),
        "required for labels, for matrices": "all kept" if side.complete else ", ".join(required),
        "distortion of this draw": f"{side.isometry.delta:.2f}",
    }


def _on_data(side: SideDiagnosis) -> list[str]:
    """Advice on how well the graph represents the data."""
    if side.energy is None or side.energy >= HIGH_ENERGY:
        return []
    one = side.name.removesuffix("s")
    share = f"{side.energy:.0%} of the energy of the data is in the first {side.k} eigenvectors of the {one} graph"
    if side.energy >= LOW_ENERGY:
        return [f"{share}; the rest is treated much like noise."]
    remedy = f"give a {one} graph that fits the data better."
    if side.k < side.n_nodes - 1:
        remedy = f"raise k, or {remedy}"
    return [f"Only {share}: the data are not low-rank on it. To fix that, {remedy}"]


def _on_draw(side: SideDiagnosis, *, matrix: bool) -> list[str]:
    """Advice on how well the kept nodes represent the others."""
    if side.complete:
        return []
    advice = []
    more = "draw more (lower downsampling)" + ("" if side.optimal else ", or use sampling='optimal'")
    if side.isometry.delta_below >= BLIND_DELTA:
        advice.append(f"Some smooth signals nearly vanish on the kept {side.name}: {more}.")
    elif side.isometry.delta > TARGET_DELTA:
        advice.append(f"The kept {side.name} distort smooth signals by up to {side.isometry.delta:.0%}: {more}.")
    if side.nu > HIGH_COHERENCE * side.k**0.5 and not side.optimal:
        advice.append(
            f"Some {side.name} matter far more than others (coherence {side.nu:.1f}, at best {side.k**0.5:.1f}), "
            "usually because they are weakly connected: check them; sampling='optimal' always keeps them."
        )
    if side.gap > NO_GAP:
        filters = "; decoder_options={'filter': 2} sharpens it where there is little noise" if matrix else ""
        advice.append(
            f"The {side.name.removesuffix('s')} graph has no gap after eigenvalue {side.k} (ratio {side.gap:.2f}), so "
            f"the bound is weak{filters}."
        )
    return advice
