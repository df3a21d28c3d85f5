"""The command ``graphlowrank demo``: corrupted digits, recovered and clustered by five systems."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from threadpoolctl import threadpool_limits

from .._backend import Array
from ..datasets.corruptions import sparse_noise
from ..estimators import CompressiveClustering, CompressivePCA, FastRobustPCAOnGraphs
from ..linalg.svd import RANK_THRESHOLD, rank_of
from ..metrics import clustering_error, recovery_error
from ..reduction import kron_reduce
from ..report import GraphSize, Report, Score, library_versions

Result = TypeVar("Result")
Say = Callable[[str], None]

N_CLASSES = 10
ALGORITHM_3: dict[str, Any] = {"partition": "k-means", "scaling": "none", "robust_graphs": False}
# The rank rule keeps all 64 directions of corrupted digits, so a rank is given: about the best of 5 to 30 for PCA at
# noise 0.15, which favors PCA in the comparison.
RANK = 15
N_INIT = 10
STEPS = 6


@dataclass(frozen=True, eq=False)
class Digits:
    """Images (1797, 64) in [0, 1] before and after corruption; classes are used for scores only."""

    clean: Array
    corrupted: Array
    classes: Array


@dataclass(frozen=True, eq=False)
class Outcome:
    """Result of one system."""

    recovered: Array
    recovery_seconds: float | None
    clusters: Array
    clustering_seconds: float


@dataclass(frozen=True, eq=False)
class Models:
    """Our fitted models."""

    frpcag: FastRobustPCAOnGraphs
    cpca: CompressivePCA
    clustering: CompressiveClustering


def corrupted_digits(noise: float, seed: int) -> Digits:
    """Load the digits and replace a fraction ``noise`` of the pixels of each image by black or white."""
    images, classes = load_digits(return_X_y=True)
    clean = (images / 16).astype(np.float32)
    return Digits(clean, sparse_noise(clean, noise, random_state=seed), classes)


def run_demo(noise: float, seed: int, say: Say = lambda message: None) -> Report:
    """Run every system on corrupted digits and collect the report.

    Parameters
    ----------
    noise : float
        Fraction of the pixels of each image to replace.
    seed : int
        Of the corruption and of every system.
    say : callable
        Called with the name of each step as it begins.
    """
    digits = corrupted_digits(noise, seed)
    step = _numbered(say)
    step("compiling (long on the first run only)")
    # One thread for every system: with so few images, threads only add noise to the times.
    with threadpool_limits(1):
        _fit_models(digits.corrupted[:200], seed, lambda message: None, downsampling=(2, 1), reduction="random_walk")
        outcomes, models = _run_systems(digits.corrupted, seed, step)
    return _report(digits, outcomes, models, noise=noise, seed=seed)


def _numbered(say: Say) -> Say:
    """Put "3/6" in front of each message."""
    count = iter(range(1, STEPS + 1))
    return lambda message: say(f"{next(count)}/{STEPS} {message}")


def _fit_models(X: Array, seed: int, step: Say, **options: Any) -> tuple[Models, dict[str, float]]:
    """Fit our three models; return them and the seconds of each."""
    common: dict[str, Any] = {"n_jobs": 1, "random_state": seed}
    seconds: dict[str, float] = {}
    step("FRPCAG on the whole matrix")
    frpcag, seconds["frpcag"] = _timed(lambda: FastRobustPCAOnGraphs(**common).fit(X))
    step("CompressivePCA")
    cpca, seconds["cpca"] = _timed(lambda: CompressivePCA(RANK, **common, **options).fit(X))
    step("CompressiveClustering")
    model = CompressiveClustering(N_CLASSES, **ALGORITHM_3, **common, **options)
    clustering, seconds["clustering"] = _timed(lambda: model.fit(X))
    return Models(frpcag, cpca, clustering), seconds


def _run_systems(X: Array, seed: int, step: Say) -> tuple[dict[str, Outcome], Models]:
    """Outcome of each system by name; every time starts at ``X``."""
    step("k-means on the corrupted images")
    clusters, clusters_s = _timed(lambda: _kmeans(X, seed))
    step("PCA")
    pca, pca_s = _timed(lambda: PCA(RANK, random_state=seed).fit(X))
    projected, projected_s = _timed(lambda: pca.inverse_transform(pca.transform(X)))
    pca_clusters, pca_clusters_s = _timed(lambda: _kmeans(pca.transform(X), seed))

    models, fit_s = _fit_models(X, seed, step)
    frpcag_clusters, frpcag_clusters_s = _timed(lambda: _kmeans(models.frpcag.low_rank_, seed))
    decoded, decoded_s = _timed(models.cpca.low_rank_.to_array)
    scores, scores_s = _timed(lambda: models.cpca.transform(X))
    regressed, regressed_s = _timed(lambda: models.cpca.inverse_transform(scores))
    scores_clusters, scores_clusters_s = _timed(lambda: _kmeans(scores, seed))
    return {
        "corrupted": Outcome(X, None, clusters, clusters_s),
        "PCA": Outcome(projected, pca_s + projected_s, pca_clusters, pca_s + pca_clusters_s),
        "FRPCAG": Outcome(
            models.frpcag.low_rank_, fit_s["frpcag"], frpcag_clusters, fit_s["frpcag"] + frpcag_clusters_s
        ),
        "CPCA, decoded": Outcome(
            decoded, fit_s["cpca"] + decoded_s, models.clustering.labels_, fit_s["clustering"]
        ),
        "CPCA, regressed": Outcome(
            regressed, fit_s["cpca"] + scores_s + regressed_s,
            scores_clusters, fit_s["cpca"] + scores_s + scores_clusters_s,
        ),
    }, models  # fmt: skip


def _timed(work: Callable[[], Result]) -> tuple[Result, float]:
    begin = time.perf_counter()
    return work(), time.perf_counter() - begin


def _kmeans(X: Array, seed: int) -> Array:
    return np.asarray(KMeans(N_CLASSES, n_init=N_INIT, random_state=seed).fit_predict(X))


def _report(digits: Digits, outcomes: dict[str, Outcome], models: Models, *, noise: float, seed: int) -> Report:
    matrices = {"clean": digits.clean, **{name: outcome.recovered for name, outcome in outcomes.items()}}
    n_samples, n_pixels = digits.clean.shape
    replaced = round(noise * n_pixels)
    one_of_each = [int(np.flatnonzero(digits.classes == label)[0]) for label in range(N_CLASSES)]
    spectra = {name: np.linalg.svd(X - X.mean(axis=0), compute_uv=False) for name, X in matrices.items()}
    return Report(
        summary=f"{n_samples} images of handwritten digits (8 × 8 pixels, scikit-learn's digits) had "
        f"{replaced} of their {n_pixels} pixels, drawn anew for each image, replaced by black or white. Each "
        "system was given the corrupted images only and asked for the clean images and for ten clusters.",
        scores=[
            Score(
                "k-means" if name == "corrupted" else name,
                recovery_error(digits.clean, outcome.recovered), outcome.recovery_seconds,
                clustering_error(digits.classes, outcome.clusters), outcome.clustering_seconds,
            )
            for name, outcome in outcomes.items()
        ],
        notes=_notes({name: rank_of(spectra[name]) for name in ("clean", "corrupted")}),
        images={name: X[one_of_each].reshape(-1, 8, 8) for name, X in matrices.items()},
        spectra=spectra,
        rank_threshold=RANK_THRESHOLD,
        graphs=_graph_sizes(models.cpca),
        stages={
            "FRPCAG": models.frpcag.stage_seconds_,
            "CPCA": models.cpca.stage_seconds_,
            "clustering": models.clustering.stage_seconds_,
        },
        parameters=_parameters(models, noise=noise, seed=seed),
        versions=library_versions(),
        command=f"graphlowrank demo --seed {seed} --noise {noise:g}",
    )  # fmt: skip


def _notes(ranks: dict[str, int]) -> list[str]:
    return [
        "Recovery error: relative distance to the clean images (Frobenius norm). Clustering error: fraction of images "
        "in the wrong cluster under the best matching of clusters to classes. Lower is better. Other seeds change "
        "recovery errors by hundredths and clustering errors by up to a tenth.",
        "Seconds: wall time from the corrupted images to the result on one thread, graphs included, after a warm-up "
        "of compiled code on 200 images.",
        "k-means: on the corrupted pixels, nothing recovered. PCA: k-means on its scores. FRPCAG: the whole "
        "matrix without compression, its solution not truncated to a rank; k-means on it.",
        "CPCA, decoded: low_rank_ of CompressivePCA, interpolated over the graphs; clusters by "
        "CompressiveClustering(partition='k-means', scaling='none'), the paper's Algorithm 3: with this many outliers "
        "the conductance on the sample graph, the default criterion, is unreliable. CPCA, regressed: robust regression "
        "of each image on the components (transform); k-means on those scores.",
        f"PCA and CPCA are given rank {RANK}, about the best for PCA at noise 0.15: the rank rule keeps "
        f"{ranks['corrupted']} directions of these corrupted images and {ranks['clean']} of the clean ones. Everything "
        "else is a default. Classes were used for the scores only.",
    ]


def _graph_sizes(model: CompressivePCA) -> list[GraphSize]:
    sizes = []
    for side, full, kept in (
        ("samples", model.sample_graph_, model.sample_indices_),
        ("features", model.feature_graph_, model.feature_indices_),
    ):
        if full is None:
            continue
        if len(kept) == full.n_nodes:
            graphs = {"full": full, "all kept": full}
        else:  # not stored by the model: reduce again
            graphs = {"full": full, "compressed": kron_reduce(full, kept, random_state=model.random_state)}
        sizes += [GraphSize(f"{side}, {k}", g.n_nodes, g.n_edges, g.n_components) for k, g in graphs.items()]
    return sizes


def _parameters(models: Models, *, noise: float, seed: int) -> dict[str, Any]:
    model, clustering = models.cpca, models.clustering
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
