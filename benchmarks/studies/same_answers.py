"""Does graphlowrank give the same answers as before? Record them with one version, then with another, and compare.

    python same_answers.py record --output OLD    in the environment of the old version
    python same_answers.py record --output NEW    in that of the new version, on the same machine
    python same_answers.py compare OLD NEW        exit code 1 if an answer is different, or a case failed

``record --threads N`` and ``record --at-once N`` show that answers depend neither on the number of threads nor on fits
that run at the same time.

A case uses public names of the library, and data of scikit-learn or seeded generators. Answers are equal to the bit, or
up to rounding: no entry is off by more than a tolerance times the largest entry of its array. What is no floating-point
number must be equal, types and shapes, too. Of a case named "error" the type of the error is the answer.
"""

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from scipy.io import loadmat, mmwrite
from sklearn import datasets as real

TOLERANCES = {"float64": 1e-9, "float32": 1e-4}
LIBRARIES = ("graphlowrank", "numpy", "scipy", "scikit-learn", "numba", "faiss-cpu", "anndata")
CASES: dict[str, Callable[[], Any]] = {}


def lib(name: str) -> Any:
    """Return a public object of the library by its name, such as "graphs.knn_graph"."""
    module, _, attribute = f"graphlowrank.{name}".rpartition(".")
    return getattr(import_module(module), attribute)


def parts(value: Any, names: str) -> dict[str, Any]:
    """Attributes of an object, those of ``names`` that it has."""
    return {name: getattr(value, name) for name in names.split() if hasattr(value, name)}


def flat(value: Any, name: str = "answer") -> dict[str, np.ndarray]:
    """Arrays by name that a value is made of, which may be nested; graphs and low-rank matrices are taken apart."""
    value = parts(value, DIAGNOSED) if hasattr(value, "n_drawn") else value
    value = value.to_array() if hasattr(value, "to_array") else getattr(value, "weights", value)
    if sp.issparse(value):  # neither the order of entries in a row nor the width of indices is part of the answer
        value = sp.csr_array(value, copy=True)
        value.sum_duplicates()
        where = {"starts": value.indptr.astype(np.int64), "columns": value.indices.astype(np.int64)}
        value = {"data": value.data, "shape": value.shape, **where}
    if isinstance(value, (list, tuple)) and not all(isinstance(one, (int, float, str, np.generic)) for one in value):
        value = {str(number): one for number, one in enumerate(value)}
    if isinstance(value, Mapping | pd.DataFrame):
        return {key: array for part in value for key, array in flat(value[part], f"{name}.{part}").items()}
    array = np.asarray("None" if value is None else value)
    return {name: array.astype(str) if array.dtype == object else array}


def random(seed: int, *shape: int) -> np.ndarray:
    """Draw uniform numbers between 0 and 1."""
    return np.random.default_rng(seed).random(shape)


@cache
def planted(n: int = 300, p: int = 20, k: int = 4, outliers: float = 0.0) -> np.ndarray:
    """Draw samples around ``k`` centers in as many dimensions, and make a share of the entries outlying."""
    rng = np.random.default_rng(0)
    latent = 3 * rng.standard_normal((k, k))[rng.integers(k, size=n)] + 0.7 * rng.standard_normal((n, k))
    X = latent @ rng.standard_normal((k, p)) + 0.3 * rng.standard_normal((n, p))
    return np.where(rng.random((n, p)) < outliers, 40 * rng.standard_normal((n, p)), X)


def frames(n: int = 45, height: int = 24, width: int = 32) -> np.ndarray:
    """Make a video of bytes: a bright square crosses a scene in changing light."""
    scene = 60 + 30 * np.add.outer(np.sin(np.arange(height) / 5), np.cos(np.arange(width) / 7))
    video = scene * (1 + 0.1 * np.sin(np.arange(n) / 7))[:, None, None] + 3 * random(4, n, height, width)
    for moment, frame in enumerate(video):
        frame[2 * moment % (height - 8) :, 3 * moment % (width - 8) :][:7, :7] = 230
    return np.rint(video).astype(np.uint8)


def neighbors(X: np.ndarray) -> sp.csr_array:
    """Make weights of a graph without the library: 1 between nearest neighbors."""
    near = np.argsort([np.square(X - row).sum(axis=1) for row in X], axis=1, kind="stable")[:, 1:9]
    W = sp.csr_array((np.ones(near.size), (np.repeat(np.arange(len(X)), 8), near.ravel())), shape=(len(X), len(X)))
    return W.maximum(W.T)


def graph(kind: str, *arguments: Any, **options: Any) -> Any:
    """Make a graph by the library: "knn", "grid", or "path", which was called chain before."""
    graphs = import_module("graphlowrank.graphs")
    return (getattr(graphs, f"{kind}_graph", None) or graphs.chain_graph)(*arguments, **options)


def cells() -> Any:
    """Make an AnnData object of counts, with layers, coordinates and a graph."""
    adata = import_module("anndata").AnnData(COUNTS)
    adata.layers["log"], adata.layers["sparse"] = np.log1p(COUNTS), sp.csr_matrix(COUNTS)
    adata.obsm["some"], adata.obsp["mine"] = COUNTS[:, :8].astype(float), neighbors(np.log1p(COUNTS))
    return adata


DIGITS, WINE, IRIS = real.load_digits().data[:400], real.load_wine(as_frame=True).data, real.load_iris().data
CURVE = 1 + np.sin(np.linspace(0, 3, 200)[:, None] + 6 * random(0, 30)) * random(1, 30) + 0.1 * random(2, 200, 30)
RATES = np.where(np.arange(150)[:, None] % 3 == np.arange(40) // 5, 12, 1) * (1 + 4 * random(3, 150, 1))  # three kinds
COUNTS, NEAR = np.random.default_rng(3).poisson(RATES).astype(np.float32), neighbors(DIGITS)
SETS: dict[str, Callable[[], Any]] = {
    "digits": lambda: DIGITS, "all digits": lambda: real.load_digits().data, "single": lambda: DIGITS.astype("f"),
    "wine": WINE.to_numpy, "iris": lambda: IRIS, "cancer": lambda: real.load_breast_cancer().data,
    "curve": lambda: CURVE, "outliers": lambda: planted(500, 30, outliers=0.05), "wide": lambda: planted(80, 400, 3),
    "large": lambda: planted(3000, 200, 6, outliers=0.02), "larger": lambda: planted(12_000, 180, 8),
    "sparse": lambda: sp.csr_array(DIGITS * (DIGITS > 6)), "frame": lambda: WINE,
    "large sparse": lambda: sp.csr_array(np.maximum(planted(7000, 300, 6) - 2, 0)),
    "gaps": lambda: np.where(random(2, 400, 64) < 0.1, np.nan, DIGITS),
}  # fmt: skip
FITTED = """labels_ soft_labels_ confidence_ conductance_ n_clusters_ scaling_ scores_ rank_ low_rank_ sparse_ offset_
    components_ singular_values_ scale_ feature_scale_ embedding_ objective_ n_components_ gamma_samples_ n_iter_
    gamma_features_ converged_ decoder_n_iter_ decoder_converged_ sample_indices_ feature_indices_ sample_weights_
    feature_weights_ sample_graph_ feature_graph_ n_features_in_ feature_names_in_"""
PCA, CLUSTERS, FRPCAG, RPCA = "CompressivePCA", "CompressiveClustering", "FastRobustPCAOnGraphs", "RobustPCA"
RPCAG, GLPCA, MMF, GNMF = "RobustPCAOnGraphs", "GraphLaplacianPCA", "ManifoldMF", "GraphNMF"
SEED, PART, GAMMAS = {"random_state": 0}, {"downsampling": (3, 1.5)}, {"gamma_samples": 1.0, "gamma_features": 0.5}


def fit(name: str, data: str = "digits", given: Any = lambda X: {}, *, saved: bool = False, **options: Any) -> Any:
    """Fit to a data set less its last samples, which are new; ``given`` and options may be functions of the data."""
    X, new = SETS[data]()[:-25], SETS[data]()[-25:]
    options = {key: value(X) if callable(value) else value for key, value in options.items()}
    model = lib(name)(**({} if name == RPCA else SEED), **options).fit(X, **given(X))
    if saved:
        with tempfile.TemporaryDirectory() as folder:
            model.save(Path(folder, "model"))
            model = lib("load")(Path(folder, "model"))
    found = {**parts(model, FITTED), "parameters": sorted(model.get_params())}
    if hasattr(model, "predict"):
        return {**found, "predict": model.predict(new)}
    bars = model.error_bars() if "n_draws" in options else None
    return {**found, "error bars": bars, "back": model.inverse_transform(scores := model.transform(new)), "to": scores}


def add(estimator: str, variants: Mapping[str, Mapping[str, Any]], suffix: str = "", **common: Any) -> None:
    """Register a fit with each of some variants of the options."""
    for name, options in variants.items():
        CASES[f"{estimator}: {name}{suffix}"] = partial(fit, estimator, **{**common, **options})


def each(option: str, values: Iterable[Any], **others: Any) -> dict[str, dict[str, Any]]:
    """Name variants that differ by one option."""
    return {f"{option} {value}": {option: value, **others} for value in values}


GRAPHS = {"sample_graph": neighbors, "feature_graph": lambda X: graph("grid", (8, 8), diagonals=True)}
MASK, SAVED = {"mask": {"given": lambda X: {"mask": random(7, *X.shape) > 0.15}}}, {"save and load": {"saved": True}}
WEIGHTS = {"given": lambda X: {"sample_weight": 0.2 + random(5, len(X)), "feature_weight": 0.2 + random(6, X.shape[1])}}
SHARED: dict[str, dict[str, Any]] = {  # by both compressive estimators
    **each("loss", ("l1", "l2", "huber"), huber_delta=0.7), **each("reduction", ("exact", "random_walk", "rebuild")),
    **each("laplacian", ("combinatorial", "normalized")), **each("n_jobs", (1, 2), data="large"),
    **each("robust_graphs", (True, False, "auto"), data="outliers"), "wide": {"data": "wide", "downsampling": (1, 4)},
    **each("data", ("sparse", "large sparse", "gaps", "single", "frame")), "three draws": {"n_draws": 3},
    **MASK, **SAVED, "weights": WEIGHTS, "given graphs": GRAPHS, "optimal sampling": {"sampling": "optimal"},
    "path graph": {"data": "large", "sample_graph": lambda X: graph("path", len(X), reach=2), "downsampling": (150, 1)},
    "no feature graph": {"feature_graph": None, "downsampling": (4, 1)},
    "given indices": {"sampling": lambda X: (np.arange(0, len(X), 3), np.arange(X.shape[1]) % 2 == 0)},
    "approximate": {"data": "large", "neighbors": "approximate", "n_neighbors": 7, "downsampling": "auto"},
}  # fmt: skip
DEFAULTS = each("data", ("all digits", "wine", "iris", "cancer", "curve", "outliers"))
DEFAULTS["larger"] = {"data": "larger", "neighbors": "approximate", "n_neighbors": 20}
DECODERS = ("subspace", "ideal", "alternate", "approximate", "orthonormal", "approximate2", "approximate3", "robust")
NO_GRAPHS = {"data": "larger", "solver": "rpca", "decoder": "robust", "sample_graph": None, "feature_graph": None}
SCORES = each("scores", ("auto", "whitened", "scaled"))
ROBUST = {**each("data", ("digits", "gaps", "single", "outliers", "wide")), **MASK, **SAVED}
SMOOTH = {**each("data", ("all digits", "single", "curve")), **SAVED}
add(PCA, SHARED, n_components=6, **PART, **GAMMAS)
add(PCA, DEFAULTS, ", default")
add(PCA, each("decoder", DECODERS), n_components=5, **PART, **GAMMAS)
add(PCA, each("solver", ("frpcag", "rpca", "rpcag")), n_components=5, **PART)
add(PCA, each("scaling", ("auto", "none", "features")), data="wine", n_components=3)
add(PCA, {"decoder options": {"decoder_options": {"filter": 2, "normalise": True}}, "no graphs": NO_GRAPHS}, **PART)
add(CLUSTERS, SHARED, n_clusters=5, **PART)
add(CLUSTERS, DEFAULTS, ", default")
add(CLUSTERS, DEFAULTS, ", auto", n_clusters="auto")
add(CLUSTERS, each("scaling", ("auto", "none", "features", "samples")), data="wine", n_clusters=3)
add(CLUSTERS, {**SCORES, "gamma_labels": {"gamma_labels": 0.5, **PART}}, n_clusters=10)
add(CLUSTERS, SCORES, ", k-means", n_clusters=10, partition="k-means")
add(FRPCAG, {**ROBUST, **each("loss", ("l2", "huber")), **each("n_jobs", (1, 2), data="large")})
add(FRPCAG, {"given graphs": GRAPHS, "weights": {"laplacian": "normalized", **WEIGHTS}})
add(RPCA, {**ROBUST, "weight": {"data": "curve", "weight": 0.1, "growth": 1.2}})
add(RPCAG, {**ROBUST, "normalized": {"gamma": 2.0, "laplacian": "normalized", "data": "curve"}})
add(GLPCA, {**SMOOTH, "given": {"laplacian": "combinatorial", "sample_graph": neighbors}}, n_components=5, beta=0.4)
add(MMF, {**SMOOTH, "wide": {"data": "wide"}}, n_components=5, gamma=4.0)
add(GNMF, {**SMOOTH, "sparse": {"data": "sparse", "init": "random", "gamma": 10.0}}, n_components=5)


def several(names: str, *arguments: Any, **options: Any) -> dict[str, Any]:
    """Call one or more functions of the library with the same arguments, and return the parts of their answers."""
    found = {name: lib(name)(*arguments, **options) for name in names.split()}
    return {name: one if hasattr(one, "weights") else parts(one, SHOWN) or one for name, one in found.items()}


def problem(name: str, *arguments: Any, **options: Any) -> Any:
    """Solve a model for digits, with Laplacians of a path of samples and of a grid of features."""
    L = graph("path", 200).laplacian(), graph("grid", (8, 8)).laplacian()
    given = {"solve_frpcag": L, "solve_rpca": ()}.get(name, L[:1])
    return several(f"models.{name}", DIGITS[:200], *given, *arguments, **options)


def reconstructed(**options: Any) -> Any:
    """Reconstruct an image from a few noisy projections."""
    A = lib("tomography.projection_matrix")((20, 20), np.arange(12) * 15)
    b = A @ lib("datasets.shepp_logan_phantom")(20).ravel() + 0.1 * random(9, A.shape[0])
    return A, several("tomography.reconstruct", A, b, (20, 20), **options)


DIAGNOSED = "n_nodes n_pieces k eigenvalue next_eigenvalue coherence n_drawn n_required n_required_joint energy nu"
SHOWN = """X X_true labels angles sample_graph feature_graph background foreground mask masks precision recall f1
    threshold moments upper low_rank sparse dual rank scores components values n_iter converged objective image chain
    n_graphs gamma_features gamma_samples samples features amplification bound obs obsm"""
KNN, VIDEO, EIGEN = partial(graph, "knn"), partial(several, "video.separate"), "graphs.lowest_eigenpairs"
CELLS, GROUPS = partial(several, "anndata.cluster", copy=True, **SEED), np.arange(400) // 90
CASES |= {
    "diagnose: data": lambda: several("diagnose", planted(), k=4, **SEED, **PART),
    "diagnose: model": lambda: several("diagnose", lib(CLUSTERS)(4, **SEED, **PART).fit(DIGITS), DIGITS),
    "plan": lambda: [parts(lib("plan")(900, 64, task=task, data=DIGITS), "kept") for task in ("cluster", "recover")],
    "knn_graph": lambda: [KNN(SETS[data](), 7, bandwidth=0.6) for data in ("digits", "sparse", "gaps", "single")],
    "knn_graph: large": lambda: [KNN(SETS["large"](), neighbors=way, **SEED) for way in ("exact", "approximate")],
    "knn_graph: large sparse": lambda: KNN(SETS["large sparse"](), neighbors="approximate", **SEED),
    "110000 points": lambda: lib("reduction.kron_reduce")(  # so many that nodes are renumbered
        one := KNN(random(8, 110_000, 3), 5, **SEED), lib("sampling.draw")(one, 9000, **SEED), **SEED),
    "grid and path": lambda: [graph("grid", (5, 7)), graph("grid", (6, 4), diagonals=True), graph("path", 9, reach=3)],
    **{f"eigenpairs: {kind}": lambda kind=kind: [lib(EIGEN)(one, 6, kind=kind) for one in (
        NEAR, KNN(planted(2000)), KNN(np.r_[IRIS, IRIS + 99], 4))] for kind in ("combinatorial", "normalized")},
    "estimate_spectrum": partial(several, "graphs.estimate_spectrum", NEAR, 99, **SEED),
    "draw": lambda: [lib("sampling.draw")(one, 40, **SEED) for one in (NEAR, graph("path", 90), 100)],
    "coherence": partial(several, "sampling.local_coherence sampling.cumulative_coherence", NEAR, 6),
    "coherence: estimate": partial(several, "sampling.optimal_distribution", NEAR, 9, method="estimate", **SEED),
    "required_samples": lambda: [lib("sampling.required_samples")(3, 6, 0.5, 0.1, joint=one) for one in (True, False)],
    "kron_reduce: exact": partial(several, "reduction.kron_reduce", NEAR, np.arange(99), "exact"),
    "kron_reduce: walks": partial(several, "reduction.kron_reduce", NEAR, np.arange(99), "random_walk", **SEED),
    "sparsify": partial(several, "reduction.sparsify", random(0, 90, 1) @ random(0, 1, 90), 10, **SEED),
    "solve_frpcag: l1": partial(problem, "solve_frpcag", loss="l1", trace=True, **GAMMAS),
    "solve_frpcag: huber": partial(problem, "solve_frpcag", loss="huber", trace=True, **GAMMAS),
    "solve_rpca": partial(problem, "solve_rpca", mask=random(0, 200, 64) > 0.2, weight=0.1),
    "solve_rpcag": partial(problem, "solve_rpcag", gamma=0.1), "solve_mmf": partial(problem, "solve_mmf", 4, gamma=2.0),
    "solve_glpca": partial(problem, "solve_glpca", 4, beta=0.3),
    "solve_gnmf": partial(problem, "solve_gnmf", 5, gamma=1.0, updates="multiplicative", **SEED),
    "metrics: labels": partial(several, "metrics.clustering_error metrics.adjusted_rand_index "
                               "metrics.normalized_mutual_information", GROUPS, np.arange(400) % 320 // 40),
    "metrics: graph": partial(several, "metrics.modularity metrics.conductance", NEAR, GROUPS),
    "metrics: images": partial(several, "metrics.psnr metrics.ssim metrics.recovery_error", *random(0, 2, 32, 40)),
    "metrics: masks": partial(several, "metrics.mask_scores metrics.best_f1", random(0, 99) > 0.5, random(1, 99) - 0.3),
    "metrics: rank": lambda: [lib("metrics.approximate_rank")(DIGITS), lib("metrics.graph_alignment")(DIGITS, NEAR, 8)],
    "datasets": partial(several, "datasets.make_low_rank_on_graphs datasets.make_block_matrix", 150, 60, 3, **SEED),
    "datasets: circle": partial(several, "datasets.make_noisy_circle", 80, **SEED),
    "datasets: square": partial(several, "datasets.make_moving_square", 9, light=0.1),
    **{f"datasets: {name}": partial(several, f"datasets.{name}", DIGITS, 0.2, **SEED)
       for name in ("gaussian_noise", "laplacian_noise", "sparse_noise", "missing_entries")},
    "datasets: blocks": partial(several, "datasets.occluding_blocks", DIGITS, (8, 8), 0.2, **SEED),
    "video: grey": lambda: VIDEO(frames()), "video: rpcag": lambda: VIDEO(frames(), solver="rpcag", scale=0.5),
    "video: colour": lambda: VIDEO(np.stack([frames(), frames() // 2, 255 - frames()], axis=-1), shadows=False),
    "video: floats": lambda: VIDEO(frames() / 255, threshold=0.1, smallest=4, start=3, step=2, rank=2),
    "video: frpcag": lambda: VIDEO(frames(), solver="frpcag", n_sampled=30, n_jobs=1),
    "video: compiled": lambda: VIDEO(frames(80, 250, 260), n_sampled=20),
    "tomography: auto": reconstructed, "tomography: noise": partial(reconstructed, noise=0.05, nonnegative=True),
    "tomography: huber": partial(reconstructed, loss="huber", gamma_features=0.1, gamma_samples=0.2, chain=0.5),
    "anndata: counts": lambda: CELLS(cells(), 3), "anndata: layer": lambda: CELLS(cells(), layer="log"),
    "anndata: sparse": lambda: CELLS(cells(), 3, layer="sparse", n_top_features=15),
    "anndata: graph": lambda: CELLS(cells(), 3, use_rep="some", neighbors_key="mine", normalize_counts=False),
    "error: loss": partial(fit, PCA, loss="l3"), "error: components": partial(fit, PCA, n_components=99),
    "error: downsampling": partial(fit, PCA, downsampling=(0, 1)), "error: jobs": partial(fit, CLUSTERS, n_jobs=0),
    "error: mask": partial(fit, PCA, given=lambda X: {"mask": np.ones(3)}), "error: gaps": partial(fit, MMF, "gaps"),
    "error: clusters": partial(fit, CLUSTERS, n_clusters=0), "error: negative": partial(fit, GNMF, "wide"),
    "error: sparse": partial(fit, FRPCAG, "sparse"), "error: graph": partial(fit, RPCAG, sample_graph="grid"),
    "error: directed": partial(fit, PCA, sample_graph=np.triu(neighbors(DIGITS[:375]).toarray())),
    "error: not fitted": lambda: lib(PCA)().transform(IRIS), "error: model file": lambda: lib("load")("no file"),
    "error: neighbors": lambda: KNN(IRIS[:5], 5), "error: draw": lambda: lib("sampling.draw")(9, 10),
    "error: video": lambda: VIDEO(IRIS), "error: no cells": lambda: lib("anndata.cluster")(IRIS),
    "error: no file": lambda: command("plan none.csv"), "error: option": lambda: command("plan wine.csv -k 0"),
}  # fmt: skip
INPUTS: dict[str, Callable[[Path], Any]] = {
    "wine.csv": WINE.to_csv, "wine.parquet": WINE.to_parquet, "cells.h5ad": lambda file: cells().write_h5ad(file),
    "gaps.csv": pd.DataFrame(SETS["gaps"]()).to_csv, "digits.npy": lambda file: np.save(file, DIGITS),
    "sparse.npz": lambda file: sp.save_npz(file, SETS["sparse"]()), "video.npy": lambda file: np.save(file, frames()),
    "counts.mtx": lambda file: mmwrite(file, sp.coo_array(COUNTS)), "rays.npy": lambda to: np.save(to, CURVE[::8].T),
}  # fmt: skip
OUTPUTS: dict[str, Callable[[Path], Any]] = {
    ".npy": np.load, ".npz": lambda file: dict(np.load(file)), ".mat": lambda file: loadmat(file)["X"],
    ".csv": pd.read_csv, ".parquet": pd.read_parquet,
    ".h5ad": lambda file: parts(import_module("anndata").read_h5ad(file), "X obs obsm"),
}  # fmt: skip


def command(words: str) -> Any:
    """Return the numbers in the files that a command writes, and what a plan keeps."""
    name, source, *_ = words.split()
    with tempfile.TemporaryDirectory() as folder:
        INPUTS.get(source, str)(Path(folder, source))
        call = [sys.executable, "-m", "graphlowrank", *words.split()]
        told = subprocess.run(call, cwd=folder, capture_output=True, text=True, check=True).stdout
        kept = json.loads(told)["kept"] if name == "plan" else None
        return kept, {file.name: OUTPUTS[file.suffix](file) for file in sorted(Path(folder).glob("out*"))}


COMMANDS = """cluster wine.csv -k 3 -o out.csv
    cluster wine.parquet --draws 3 --downsampling 2 1 --scaling features --neighbors 6 --seed 4 -o out.parquet
    cluster sparse.npz -k 10 -o out.npz
    cluster counts.mtx -k 3 --log1p -o out.npy
    cluster cells.h5ad -k 3 --normalize-counts --top-features 20 -o out.h5ad
    cluster cells.h5ad -k 4 --graph mine --layer log -o out.npz
    recover wine.csv --rank 3 -o out.csv -s out.h5ad
    recover wine.parquet --seed 2 -o out.parquet -s out.npy
    recover digits.npy --rank 8 --downsampling 3 2 --loss huber --gamma-samples 2 --threads 1 -o out.npy -s out.mat
    recover digits.npy --no-compression --loss l2 -o out.npz
    recover gaps.csv --scaling none --rank 4 -o out.npz
    reconstruct rays.npy -o out.npy
    video video.npy -b out1.npy -f out2.npz -m out3.npy
    plan digits.npy -k 5 --recover --json"""
CASES |= {f"command: {words.strip()}": partial(command, words) for words in COMMANDS.splitlines()}


def answer(name: str, folder: Path) -> dict[str, Any]:
    """Run a case and write its arrays; return what became of it."""
    begin, error, file = time.perf_counter(), None, re.sub(r"[^\w.-]+", "_", name) + ".npz"
    try:
        arrays = flat(CASES[name]())
    except Exception as failure:
        kind = f"{type(failure).__name__} {getattr(failure, 'returncode', '')}"
        error, arrays = None if name.startswith("error") else f"{kind}: {failure}", {"type": np.array(kind)}
    np.savez(folder / file, **arrays)
    seconds = round(time.perf_counter() - begin, 2)
    print(f"{name}: {error or 'done'}, {seconds} s", flush=True)
    return {"file": file, "seconds": seconds, "error": error}


def installed(library: str) -> str:
    """Return the version of a library, or "none": faiss was needed by older versions only."""
    try:
        return version(library)
    except PackageNotFoundError:
        return "none"


def record(folder: Path, only: str, threads: int | None, at_once: int) -> int:
    """Run cases; write the arrays of each, and a manifest that says what became of it."""
    home = Path(import_module("graphlowrank").__file__).parent
    source = b"".join(str(file.relative_to(home)).encode() + file.read_bytes() for file in sorted(home.rglob("*.py")))
    about: dict[str, Any] = {"source": hashlib.sha256(source).hexdigest()[:12], "cores": os.cpu_count()}
    about |= {"python": sys.version.split()[0], **{library: installed(library) for library in LIBRARIES}}
    about |= {"threads": threads, "at_once": at_once}
    if threads is not None:  # as if the machine had so many cores
        import_module("graphlowrank._threads").available_cores = lambda: threads
    folder.mkdir(parents=True, exist_ok=True)
    names = list(filter(re.compile(only).search, CASES))
    for make in SETS.values():
        make()  # before any fit: while one holds BLAS to one thread, numpy rounds the products of these data otherwise
    with warnings.catch_warnings(action="ignore"), ThreadPoolExecutor(at_once) as pool:
        cases = dict(zip(names, pool.map(partial(answer, folder=folder), names), strict=True))
    (folder / "manifest.json").write_text(json.dumps({"about": about, "cases": cases}, indent=1))
    failed = sum(one["error"] is not None for one in cases.values())
    print(f"{len(cases)} cases, {failed} failed, {sum(one['seconds'] for one in cases.values()):.0f} s")
    return int(failed > 0)


def verdict(old: Mapping[str, np.ndarray], new: Mapping[str, np.ndarray]) -> str:
    """Say whether two answers are equal: which array is not, or how far they are apart."""
    apart, same = 0.0, True
    for name in {**old, **new}:
        a, b = old.get(name, np.array("none")), new.get(name, np.array("none"))
        if a.shape != b.shape or (a.dtype != b.dtype and a.dtype.kind + b.dtype.kind != "UU"):
            return f"DIFFERENT ({name}: {a.dtype}{a.shape}, {b.dtype}{b.shape})"
        size, far = 0.0, 0.0
        if a.dtype.kind == "f":
            finite = np.isfinite(a) & np.isfinite(b)
            size = float(np.abs(a[finite]).max(initial=0))
            far = float(np.abs(a[finite] - b[finite]).max(initial=0)) / (size or 1)
        near = partial(np.allclose, rtol=0, atol=TOLERANCES.get(str(a.dtype), 0) * size, equal_nan=True)
        if not (near(a, b) if a.dtype.kind == "f" else np.array_equal(a, b)):
            return f"DIFFERENT ({name}: {f'{far:.1e}' if far else 'not equal'})"
        same = same and (a.dtype.kind == "U" or a.tobytes() == b.tobytes())
        apart = max(apart, far)
    return "bits" if same else f"rounding ({apart:.1e})"


def compare(folders: list[Path], only: str) -> int:
    """Print what became of each case, and how many of each kind there are; 1 if an answer is different or missing."""
    manifests = [json.loads((folder / "manifest.json").read_text()) for folder in folders]
    totals = dict.fromkeys(("bits", "rounding", "DIFFERENT", "failed"), 0)
    for name in filter(re.compile(only).search, {**manifests[0]["cases"], **manifests[1]["cases"]}):
        ends = [manifest["cases"].get(name, {"error": "not recorded"}) for manifest in manifests]
        found = f"failed ({' / '.join(str(end['error']) for end in ends)})"
        if not any(end["error"] for end in ends):
            found = verdict(*(dict(np.load(folder / end["file"])) for folder, end in zip(folders, ends, strict=True)))
        totals[found.split()[0]] += 1
        print(f"{name:<60} {found}")
    counted = ", ".join(f"{count} {kind}" for kind, count in totals.items())
    print(*(manifest["about"] for manifest in manifests), f"{sum(totals.values())} cases: {counted}", sep="\n")
    return int(totals["DIFFERENT"] + totals["failed"] > 0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    recording, comparing = commands.add_parser("record"), commands.add_parser("compare")
    recording.add_argument("--output", type=Path, required=True, metavar="DIR")
    recording.add_argument("--threads", type=int, metavar="N", help="of the library; commands have their own")
    recording.add_argument(
        "--at-once", type=int, default=1, metavar="N", help="cases that run in threads of one process"
    )
    comparing.add_argument("folders", type=Path, nargs=2, metavar="DIR")
    for one in (recording, comparing):
        one.add_argument("--only", default="", metavar="PATTERN", help="regular expression that names must match")
    asked = parser.parse_args()
    if asked.command == "record":
        sys.exit(record(asked.output, asked.only, asked.threads, asked.at_once))
    sys.exit(compare(asked.folders, asked.only))
