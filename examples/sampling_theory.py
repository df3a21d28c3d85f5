"""Two figures on the theory: decoding errors below their bounds, and the coherence of the nodes of a graph.

    python examples/sampling_theory.py [--output sampling_theory/]        # pip install graphlowrank matplotlib

error_and_bound.png: a matrix that is exactly low-rank on two graphs of weakly connected clusters is sampled and
decoded; measured errors stay below the bounds of `graphlowrank.guarantees`, computed for the same draws.
coherence.png: the local coherence of a nearest-neighbor graph of points in the plane, exact and estimated, and the
sampling probabilities that follow from it.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from threadpoolctl import threadpool_limits

from graphlowrank._files import write_atomically
from graphlowrank.decoders import decode_ideal, decode_subspace
from graphlowrank.graphs import Graph, as_graph, knn_graph, lowest_eigenpairs
from graphlowrank.guarantees import amplification, ideal_bound, subspace_bound, subspace_matrix_bound
from graphlowrank.metrics import recovery_error
from graphlowrank.sampling import (
    SampledNodes,
    draw,
    isometry,
    joint_isometry,
    local_coherence,
    optimal_distribution,
    required_samples,
)

INK, GREY = "#1c1f24", "#6b7077"
BLUE, ORANGE, GREEN = "#0072b2", "#d55e00", "#009e73"  # color-blind safe (Okabe and Ito)
DPI = 200

K_GROUPS = 4
N_SAMPLES, N_FEATURES, KEPT_FEATURES = 3000, 400, 200
NOISE = 0.01  # of the compressed matrix, relative
DELTA, EPSILON = 0.5, 0.1
N_DRAWS = 8
PAIRS = (("subspace", "subspace bound"), ("ideal, noise", "ideal bound"))  # error and its bound

K_MAP = 10
N_VECTORS = 64


@dataclass(frozen=True, eq=False)
class Spectral:
    """A graph with its first k eigenvectors, its spectral gap ``lambda_k / lambda_k+1`` and nu_k."""

    graph: Graph
    basis: np.ndarray
    gap: float
    nu: float

    @classmethod
    def of(cls, graph: Graph, k: int) -> Spectral:
        """Compute them."""
        values, vectors = lowest_eigenpairs(graph, k + 1)
        basis = vectors[:, :k]
        nu = float(np.sqrt(graph.n_nodes * np.max(np.sum(basis**2, axis=1))))
        return cls(graph, basis, float(values[k - 1] / values[k]), nu)


def connected_clusters(n_nodes: int, n_groups: int, rng: np.random.Generator) -> Graph:
    """Build clusters of equal size, with 8 random edges per node within and weak edges between them."""
    size = n_nodes // n_groups
    first = np.repeat(np.arange(n_nodes), 8)
    inside = size * (first // size) + rng.integers(size, size=len(first))
    strong = sp.coo_array((np.ones(len(first)), (first, inside)), shape=(n_nodes, n_nodes))
    ends = rng.integers(n_nodes, size=(2, n_nodes // 10))
    faint = sp.coo_array((np.full(ends.shape[1], 0.03), tuple(ends)), shape=(n_nodes, n_nodes))
    weights = (strong + faint).tocsr()
    return as_graph(weights + weights.T)


def measure(samples: Spectral, features: Spectral, n_kept: int, rng: np.random.Generator) -> dict[str, float]:
    """Draw, decode with and without noise, and compute the bounds of this draw."""
    core = np.linalg.qr(rng.standard_normal((K_GROUPS, K_GROUPS)))[0]
    X = samples.basis @ core @ features.basis.T
    rows = draw(samples.graph, n_kept, random_state=int(rng.integers(2**31)))
    columns = draw(features.graph, KEPT_FEATURES, random_state=int(rng.integers(2**31)))
    clean = X[np.ix_(rows, columns)]
    noise = rng.standard_normal(clean.shape)
    noise *= NOISE * np.linalg.norm(clean) / np.linalg.norm(noise)
    sides = SampledNodes(samples.graph, rows), SampledNodes(features.graph, columns)
    bases = {"sample_basis": samples.basis, "feature_basis": features.basis}

    isometries = isometry(samples.basis, rows), isometry(features.basis, columns)
    joint = amplification(X.size, clean.size, joint_isometry(*isometries).delta_below)
    bounds = [
        subspace_bound(1.0, amplification(len(side.basis), n, found.delta_below), gap=side.gap)
        for side, n, found in zip((samples, features), clean.shape, isometries, strict=True)
    ]
    return {
        "subspace": recovery_error(X, decode_subspace(clean, *sides, n_components=K_GROUPS).low_rank),
        "subspace, noise": recovery_error(X, decode_subspace(clean + noise, *sides, n_components=K_GROUPS).low_rank),
        "ideal": recovery_error(X, decode_ideal(clean, *sides, n_components=K_GROUPS, **bases).low_rank),
        "ideal, noise": recovery_error(X, decode_ideal(clean + noise, *sides, n_components=K_GROUPS, **bases).low_rank),
        "subspace bound": subspace_matrix_bound(*bounds),
        "ideal bound": ideal_bound(float(np.linalg.norm(noise)), joint) / float(np.linalg.norm(X)),
    }


def sweep(rng: np.random.Generator) -> tuple[Spectral, Spectral, np.ndarray, dict[str, np.ndarray]]:
    """Errors and bounds, (n_sizes, n_draws) each, over numbers of kept samples."""
    samples = Spectral.of(connected_clusters(N_SAMPLES, K_GROUPS, rng), K_GROUPS)
    features = Spectral.of(connected_clusters(N_FEATURES, K_GROUPS, rng), K_GROUPS)
    sizes = np.unique(np.geomspace(20, 0.9 * N_SAMPLES, 10).round().astype(int))
    found = [[measure(samples, features, int(size), rng) for _ in range(N_DRAWS)] for size in sizes]
    names = found[0][0]
    return samples, features, sizes, {name: np.array([[one[name] for one in row] for row in found]) for name in names}


def error_figure(samples: Spectral, features: Spectral, sizes: np.ndarray, found: dict[str, np.ndarray]) -> Figure:
    """Plot measured errors and their bounds."""
    figure = Figure(figsize=(8.0, 6.0), layout="constrained")
    axes = figure.add_subplot()
    percent = f"{NOISE:.0%} noise"
    lines = (
        ("subspace", BLUE, "-", "subspace upsampling, no noise"),
        ("subspace bound", BLUE, "--", "bound of the same (Theorem 5)"),
        ("subspace, noise", GREEN, "-", f"subspace upsampling, {percent}"),
        ("ideal, noise", ORANGE, "-", f"ideal decoder, {percent}"),
        ("ideal bound", ORANGE, "--", "bound of the same (Theorem 2)"),
    )
    for name, color, style, label in lines:
        values = np.minimum(found[name], 1e6)  # an infinite bound leaves the axes
        axes.fill_between(sizes, values.min(axis=1), values.max(axis=1), color=color, alpha=0.18, lw=0)
        marker = "o" if style == "-" else None
        # The two errors of subspace upsampling nearly coincide: the wide line shows behind the other.
        wide, under = (4.0, 1) if color == GREEN else (1.8, 2)
        axes.plot(sizes, np.median(values, axis=1), style, color=color, lw=wide, zorder=under, marker=marker,
                  ms=2.5 * wide**0.5, label=label)  # fmt: skip
    axes.fill_between([], [], [], color=GREY, alpha=0.3, lw=0, label=f"shaded: range over {N_DRAWS} draws")
    for joint, words in ((False, "signals on one graph"), (True, "matrices, Theorem 1")):
        required = required_samples(samples.nu, K_GROUPS, DELTA, EPSILON, joint=joint)
        axes.axvline(required, color=GREY, lw=1.2, ls=":")
        promise = f"($\\delta$ = {DELTA}, $\\epsilon$ = {EPSILON})"
        axes.text(0.96 * required, 12, f"required for {words}\n{promise}: {required}", color=GREY, fontsize=9,
                  ha="right", va="top")  # fmt: skip
    worst = np.max(found["ideal"])
    axes.text(0.015, 0.03, f"ideal decoder, no noise: below {10 ** np.ceil(np.log10(worst)):.0e}, off the axis",
              transform=axes.transAxes, color=GREY, fontsize=9)  # fmt: skip
    axes.set(xscale="log", yscale="log", ylim=(1e-5, 15))
    axes.set_xlabel(f"samples kept, of {N_SAMPLES} (features kept: {KEPT_FEATURES} of {N_FEATURES})")
    axes.set_ylabel("relative error  $\\|X^* - X\\|_F \\,/\\, \\|X\\|_F$")
    gaps = f"{samples.gap:.4f} (samples) and {features.gap:.4f} (features)"
    axes.set_title(f"Rank {K_GROUPS} on two graphs with $\\lambda_{K_GROUPS}/\\lambda_{K_GROUPS + 1}$ = {gaps}")
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=9, labelcolor=INK)
    return figure


def plane_points(rng: np.random.Generator) -> np.ndarray:
    """Draw points of a dense part, a sparse part, a small separate cluster, a pair and a few isolated ones."""
    dense = rng.normal((0.0, 0.0), 0.5, size=(600, 2))
    radius, angle = 1.8 * np.sqrt(rng.random(150)), 2 * np.pi * rng.random(150)
    sparse = np.column_stack([2.7 + radius * np.cos(angle), 2.0 + radius * np.sin(angle)])
    group = rng.normal((-0.6, 3.6), 0.15, size=(8, 2))
    loose = np.array([[-1.8, -1.8], [-1.7, -1.75], [-2.0, 1.6], [5.1, 3.4], [3.0, -1.2]])
    return np.concatenate([dense, sparse, group, loose])


def coherence_figure(points: np.ndarray, graph: Graph, exact: np.ndarray, estimated: np.ndarray) -> Figure:
    """Plot the points colored by coherence, exact against estimated values, and the sorted values."""
    figure = Figure(figsize=(9.5, 5.6), layout="constrained")
    figure.get_layout_engine().set(wspace=0.04, hspace=0.05)
    grid = figure.add_gridspec(2, 2, width_ratios=(1.3, 1))
    plane, scatter, falling = (figure.add_subplot(part) for part in (grid[:, 0], grid[0, 1], grid[1, 1]))
    _draw_plane(figure, plane, points, graph, exact)

    low, high = 0.7 * min(exact.min(), estimated.min()), 1.5
    line, width = np.array([low, high]), 2 * np.sqrt(2 / N_VECTORS)
    scatter.fill_between(line, line * (1 - width), line * (1 + width), color=ORANGE, alpha=0.2, lw=0,
                         label="twice the standard error")  # fmt: skip
    scatter.plot(line, line, color=ORANGE, lw=1.2, label="equal")
    scatter.scatter(exact, estimated, s=9, color=BLUE, alpha=0.5, lw=0, label="nodes")
    scatter.set(xscale="log", yscale="log", xlim=(low, high), ylim=(low, high))
    scatter.set(xlabel="exact coherence", ylabel="estimated coherence", title=f"Estimate by {N_VECTORS} random vectors")
    scatter.legend(frameon=False, fontsize=9, labelcolor=INK, loc="upper left")

    probabilities = optimal_distribution(graph, K_MAP, uniform_share=0.1, method="exact")
    rank = np.arange(1, len(points) + 1)
    falling.plot(rank, np.sort(exact)[::-1], color=BLUE, lw=1.8, label="coherence")
    falling.plot(rank, K_MAP * np.sort(probabilities)[::-1], "--", color=GREEN, lw=1.8,
                 label="k × optimal probability\n(a tenth uniform)")  # fmt: skip
    falling.axhline(K_MAP / len(points), color=ORANGE, lw=1.4, ls=":", label="k × uniform probability, k/n")
    falling.set(
        xscale="log", yscale="log", xlabel="nodes, highest coherence first", ylabel="coherence, k × probability"
    )
    falling.set_yticks([0.01, 0.1, 1], labels=["0.01", "0.1", "1"])
    falling.set(title="Sorted, beside sampling probabilities", ylim=(None, 40))
    falling.legend(frameon=False, fontsize=9, labelcolor=INK)
    return figure


def _draw_plane(figure: Figure, axes: Axes, points: np.ndarray, graph: Graph, coherence: np.ndarray) -> None:
    """Plot the graph in the plane, the most coherent nodes on top."""
    edges = sp.triu(graph.weights, format="coo")
    axes.add_collection(LineCollection(points[np.column_stack([edges.row, edges.col])], colors="#c3c7cc", lw=0.5))
    order = np.argsort(coherence)
    drawn = axes.scatter(*points[order].T, c=coherence[order], cmap="viridis", norm=LogNorm(vmax=1), s=20, lw=0.3,
                         edgecolors=INK, zorder=2)  # fmt: skip
    axes.set(aspect="equal", xlabel="first coordinate (arbitrary unit)", ylabel="second coordinate")
    axes.set_title(f"Local coherence, k = {K_MAP}, n = {len(points)}")
    bar = figure.colorbar(drawn, ax=axes, orientation="horizontal", shrink=0.85, aspect=30)
    bar.set_label("largest share of a smooth signal's energy on the node")
    bar.set_ticks([0.01, 0.1, 1], labels=["0.01", "0.1", "1"])
    bar.outline.set_visible(False)


def png(figure: Figure) -> bytes:
    """Render a figure in the style of the reports."""
    for axes in figure.axes:
        axes.tick_params(colors=INK, labelsize=9)
        for name, spine in axes.spines.items():
            if name in ("top", "right"):
                spine.set_visible(False)
            spine.set_color(INK)
        for text in (axes.xaxis.label, axes.yaxis.label):
            text.set(color=INK, fontsize=10)
        axes.title.set(color=INK, fontsize=10.5)
    FigureCanvasAgg(figure)
    buffer = BytesIO()
    figure.savefig(buffer, format="png", dpi=DPI, facecolor="white", metadata={"Software": None})
    return buffer.getvalue()


def main() -> None:
    """Write both figures and print their paths."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("sampling_theory"), help="folder of the two figures")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)

    with threadpool_limits(1):  # threads do not pay for matrices this small
        samples, features, sizes, found = sweep(rng)
    path = options.output / "error_and_bound.png"
    write_atomically(path, png(error_figure(samples, features, sizes, found)))
    middle = len(sizes) // 2
    error, bound = (float(np.median(found[name][middle])) for name in ("subspace", "subspace bound"))
    print(f"{path}: at {sizes[middle]} of {N_SAMPLES} samples an error of {error:.2%} under a bound of {bound:.0%}")
    closest = max(np.max(found[name] / found[limit]) for name, limit in PAIRS)
    print(f"  over all draws an error was at most {closest:.2f} of its bound")
    print(f"  (spectral gaps {samples.gap:.4f} and {features.gap:.4f}, coherence nu_{K_GROUPS} = {samples.nu:.2f})")

    points = plane_points(rng)
    graph = knn_graph(points, 10, bandwidth=3.0)  # wide: isolated points stay connected
    exact = local_coherence(graph, K_MAP, method="exact")
    estimated = local_coherence(graph, K_MAP, method="estimate", n_vectors=N_VECTORS, random_state=options.seed)
    path = options.output / "coherence.png"
    write_atomically(path, png(coherence_figure(points, graph, exact, estimated)))
    nus = [np.sqrt(len(points) * coherence.max()) for coherence in (exact, estimated)]
    best, worst = np.sqrt(K_MAP), np.sqrt(len(points))
    print(f"{path}: coherence nu_{K_MAP} = {nus[0]:.1f}, estimated {nus[1]:.1f} (best {best:.1f}, worst {worst:.1f})")


if __name__ == "__main__":
    main()
