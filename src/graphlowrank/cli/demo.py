"""The command ``graphlowrank demo``: corrupted digits, recovered and clustered by five systems."""

import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from threadpoolctl import threadpool_limits

from .._typing import Array
from ..datasets.corruptions import sparse_noise
from ..estimators import CompressiveClustering, CompressivePCA, FastRobustPCAOnGraphs
from ..metrics import clustering_error, recovery_error
from ..reduction import kron_reduce
from ..report.demo_page import render_demo
from ..report.page import library_versions
from .console import Show

Result = TypeVar("Result")

N_CLASSES = 10
ALGORITHM_3: dict[str, Any] = {"partition": "k-means", "scaling": "none", "robust_graphs": False}
# The rank rule keeps all 64 directions of corrupted digits, so a rank is given: about the best of 5 to 30 for PCA at
# noise 0.15, which favors PCA in the comparison.
RANK = 15
DOWNSAMPLING = (1.8, 1)  # so few images would not be compressed by default
N_INIT = 10
STEPS = 6


class Outcome(NamedTuple):
    """Result of one system."""

    recovered: Array
    recovery_seconds: float | None
    clusters: Array
    clustering_seconds: float


def run_demo(noise: float, seed: int, show: Show) -> tuple[dict[str, Any], str, str]:
    """Run every system on digits with a fraction ``noise`` of their pixels replaced; return record, table and page."""
    images, classes = load_digits(return_X_y=True)
    clean = (images / 16).astype(np.float32)
    corrupted = sparse_noise(clean, noise, random_state=seed)
    count = iter(range(1, STEPS + 1))

    def step(message: str) -> None:
        show(f"{next(count)}/{STEPS} {message}")

    step("compiling (long on the first run only)")
    # One thread for every system: with so few images, threads only add noise to the times.
    with threadpool_limits(1):
        _fit_models(corrupted[:200], seed, lambda message: None, downsampling=(2, 1), reduction="random_walk")
        outcomes, models = _run_systems(corrupted, seed, step)

    matrices = {"clean": clean, **{name: outcome.recovered for name, outcome in outcomes.items()}}
    spectra = {name: np.linalg.svd(X - X.mean(axis=0), compute_uv=False) for name, X in matrices.items()}
    one_of_each = [int(np.flatnonzero(classes == label)[0]) for label in range(N_CLASSES)]
    record: dict[str, Any] = {
        "scores": [
            {
                "system": "k-means" if name == "corrupted" else name,
                "recovery_error": recovery_error(clean, outcome.recovered),
                "recovery_seconds": outcome.recovery_seconds,
                "clustering_error": clustering_error(classes, outcome.clusters),
                "clustering_seconds": outcome.clustering_seconds,
            }
            for name, outcome in outcomes.items()
        ],
        "graphs": _graph_sizes(models["CPCA"]),
        "stage_seconds": {name: dict(model.stage_seconds_) for name, model in models.items()},
        "parameters": _parameters(models["CPCA"], models["clustering"], noise=noise, seed=seed),
        "versions": library_versions(),
        "command": f"graphlowrank demo --seed {seed} --noise {noise:g}",
    }
    page = render_demo(
        record,
        summary=_summary(clean.shape, noise),
        images={name: X[one_of_each].reshape(-1, 8, 8) for name, X in matrices.items()},
        spectra=spectra,
    )
    return record, _table(record["scores"]), page


def _fit_models(X: Array, seed: int, step: Show, **options: Any) -> tuple[dict[str, Any], dict[str, float]]:
    """Fit our three models; return them and the seconds of each, by name."""
    common: dict[str, Any] = {"n_jobs": 1, "random_state": seed}
    options = {"downsampling": DOWNSAMPLING} | options | common
    models, seconds = {}, {}
    for name, title, model in (
        ("FRPCAG", "FRPCAG on the whole matrix", FastRobustPCAOnGraphs(**common)),
        ("CPCA", "CompressivePCA", CompressivePCA(RANK, **options)),
        ("clustering", "CompressiveClustering", CompressiveClustering(N_CLASSES, **ALGORITHM_3, **options)),
    ):
        step(title)
        models[name], seconds[name] = _timed(model.fit, X)
    return models, seconds


def _run_systems(X: Array, seed: int, step: Show) -> tuple[dict[str, Outcome], dict[str, Any]]:
    """Outcome of each system by name, and our models; every time starts at ``X``."""
    step("k-means on the corrupted images")
    clusters, clusters_s = _timed(_kmeans, X, seed)
    step("PCA")
    pca, pca_s = _timed(PCA(RANK, random_state=seed).fit, X)
    projected = _from_scores(pca, pca_s, X, seed)

    models, fit_s = _fit_models(X, seed, step)
    low_rank, cpca, labels = models["FRPCAG"].low_rank_, models["CPCA"], models["clustering"].labels_
    frpcag_clusters, frpcag_clusters_s = _timed(_kmeans, low_rank, seed)
    decoded, decoded_s = _timed(cpca.low_rank_.to_array)
    return {
        "corrupted": Outcome(X, None, clusters, clusters_s),
        "PCA": projected,
        "FRPCAG": Outcome(low_rank, fit_s["FRPCAG"], frpcag_clusters, fit_s["FRPCAG"] + frpcag_clusters_s),
        "CPCA, decoded": Outcome(decoded, fit_s["CPCA"] + decoded_s, labels, fit_s["clustering"]),
        "CPCA, regressed": _from_scores(cpca, fit_s["CPCA"], X, seed),
    }, models


def _from_scores(model: Any, fit_seconds: float, X: Array, seed: int) -> Outcome:
    """Recover the images from their scores in a fitted model, and cluster the scores."""
    scores, scores_s = _timed(model.transform, X)
    recovered, recovered_s = _timed(model.inverse_transform, scores)
    clusters, clusters_s = _timed(_kmeans, scores, seed)
    scores_s += fit_seconds
    return Outcome(recovered, scores_s + recovered_s, clusters, scores_s + clusters_s)


def _timed(work: Callable[..., Result], *args: Any) -> tuple[Result, float]:
    begin = time.perf_counter()
    return work(*args), time.perf_counter() - begin


def _kmeans(X: Array, seed: int) -> Array:
    return np.asarray(KMeans(N_CLASSES, n_init=N_INIT, random_state=seed).fit_predict(X))


def _summary(shape: tuple[int, int], noise: float) -> str:
    n_samples, n_pixels = shape
    return (
        f"{n_samples} images of handwritten digits (8 × 8 pixels, scikit-learn's digits) had "
        f"{round(noise * n_pixels)} of their {n_pixels} pixels, drawn anew for each image, replaced by black or white. "
        "Each system was given the corrupted images only and asked for the clean images and for ten clusters."
    )


def _graph_sizes(model: CompressivePCA) -> list[dict[str, Any]]:
    sizes = []
    for side, full, kept in (
        ("samples", model.sample_graph_, model.sample_indices_),
        ("features", model.feature_graph_, model.feature_indices_),
    ):
        if full is None:
            continue
        reduced = kron_reduce(full, kept, random_state=model.random_state)  # the model does not store it
        kind = "compressed" if len(kept) < full.n_nodes else "all kept"
        sizes += [
            {"graph": f"{side}, {name}", "nodes": one.n_nodes, "edges": one.n_edges, "components": one.n_components}
            for name, one in (("full", full), (kind, reduced))
        ]
    return sizes


def _parameters(
    model: CompressivePCA, clustering: CompressiveClustering, *, noise: float, seed: int
) -> dict[str, Any]:  # fmt: skip
    return {
        "seed": seed,
        "noise": f"{noise:g} of the pixels of each image, salt and pepper",
        "rank": RANK,
        "clusters": N_CLASSES,
        "gamma_samples": f"{model.gamma_samples_:.2g} to recover (chosen), {clustering.gamma_samples_:.2g} to cluster",
        "gamma_features": f"{model.gamma_features_:.2g} to recover (chosen), {clustering.gamma_features_:g} to cluster",
        "loss": model.loss,
        "neighbors": model.n_neighbors,
        "laplacian": "combinatorial to recover, normalized to cluster (default)",
        "kept samples, features": f"{len(model.sample_indices_)}, {len(model.feature_indices_)}",
        "k-means restarts": N_INIT,
    }


def _table(scores: list[dict[str, Any]]) -> str:
    """Return the scores as text: ruled on a terminal, aligned elsewhere."""
    terminal = sys.stdout.isatty()
    table = Table(box=box.SIMPLE_HEAD if terminal else None, pad_edge=terminal)
    table.add_column("system", no_wrap=True)
    for heading in ("recovery error", "seconds", "clustering error", "seconds"):
        table.add_column(heading, justify="right", no_wrap=True)
    for score in scores:
        system, *values = score.values()
        table.add_row(system, *("-" if value is None else f"{value:.3f}" for value in values))
    console = Console(width=None if terminal else 100, highlight=False)
    with console.capture() as captured:
        console.print(table)
    return captured.get().removesuffix("\n")
