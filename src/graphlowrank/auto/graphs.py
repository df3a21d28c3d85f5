"""Choose the Laplacian, the reduction and the number of neighbors."""

from typing import Any, Literal

from .._typing import AXES
from ..graphs import LaplacianKind
from ..options import Options, is_auto
from ..reduction.kron import EXACT_UP_TO
from .choice import AS_GIVEN, Choice
from .downsampling import downsampling_choice, n_kept

Task = Literal["recovery", "clustering"]

LAPLACIANS: dict[Task, LaplacianKind] = {"recovery": "combinatorial", "clustering": "normalized"}
LAPLACIAN_REASONS: dict[LaplacianKind, str] = {
    "normalized": "gives dense and sparse regions equal weight; features are centered",
    "combinatorial": "constant signals are not penalized, so feature means are preserved",
}
MIN_NEIGHBORS, MAX_NEIGHBORS = 3, 10
PUBLISHED_TOL = 1e-10  # of interpolations; the paper solves them exactly


def choose_laplacian(options: Options, task: Task) -> LaplacianKind:
    """Given Laplacian, or the one that suits the task."""
    return LAPLACIANS[task] if is_auto(options.laplacian) else options.laplacian


def choose_n_neighbors(options: Options, n_samples: int) -> Choice:
    """Choose the number of neighbors: 10, or half the mean cluster size if that is less, at least 3.

    There are never more neighbors than other samples, not even if more are given.
    """
    n_clusters = 1 if is_auto(options.n_clusters) else int(options.n_clusters)
    value = max(MIN_NEIGHBORS, min(MAX_NEIGHBORS, n_samples // (2 * n_clusters)))
    value = value if is_auto(options.n_neighbors) else int(options.n_neighbors)
    if n_samples <= value:
        return Choice("n_neighbors", n_samples - 1, f"there are only {n_samples} samples")
    if not is_auto(options.n_neighbors):
        return Choice("n_neighbors", value, AS_GIVEN)
    return Choice("n_neighbors", value, "half the mean cluster size" if value < MAX_NEIGHBORS else "default")


def choose_bandwidth(options: Options) -> float | Literal["published"]:
    """Width of the kernel of "knn" graphs: the mean neighbor distance, or the paper's."""
    return "published" if options.published else 1.0


def label_options(options: Options, laplacian: LaplacianKind) -> dict[str, Any]:
    """How labels are interpolated: the paper does it with the Laplacian of the model."""
    return {"laplacian": laplacian, "tol": PUBLISHED_TOL} if options.published else {}


def compression_choices(options: Options, shape: tuple[int, int], rank: int | None, task: Task) -> list[Choice]:
    """Report what is kept, the Laplacian and the reduction."""
    kept, kind = n_kept(options, shape, rank), choose_laplacian(options, task)
    return [
        downsampling_choice(options, shape, kept, rank),
        Choice("laplacian", kind, LAPLACIAN_REASONS[kind] if is_auto(options.laplacian) else AS_GIVEN),
        _reduction_choice(options, shape, kept),
    ]


def _reduction_choice(options: Options, shape: tuple[int, int], kept: tuple[int, int]) -> Choice:
    if kept == shape:
        return Choice("reduction", "none", "everything is kept")
    if not is_auto(options.reduction):
        return Choice("reduction", options.reduction, AS_GIVEN)
    methods = {
        axis: "exact" if n <= EXACT_UP_TO else "random_walk"
        for axis, n, m in zip(AXES, shape, kept, strict=True)
        if m < n and options.graph_of(axis) is not None and options.needs_graph(axis)
    }
    if not methods:
        return Choice("reduction", "none", "there is no graph to reduce")
    distinct = set(methods.values())
    value = distinct.pop() if len(distinct) == 1 else ", ".join(f"{one} ({axis}s)" for axis, one in methods.items())
    reason = "cheap up to" if value == "exact" else "exact is dense and slow above"
    return Choice("reduction", value, f"{reason} {EXACT_UP_TO} nodes")
