"""The systems of the clustering jobs. Each imports what it needs and tells the record its graphs and the rest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from .record import Record, stopwatch

if TYPE_CHECKING:
    from .._backend import Array

N_INIT = 10
ALGORITHM_3: dict[str, Any] = {
    "partition": "k-means", "scaling": "none", "robust_graphs": False, "n_neighbors": 10, "tol": 1e-3,
}  # fmt: skip
PCA_COMPONENTS = 50
CPCA, CPCA_COLD, FRPCAG = "cpca", "cpca, first run ever", "frpcag + k-means"
DEFAULT = "default call"
WARM_UP, WARM_UP_SAMPLES = "(warm-up)", 6000  # so many that every loop of FRPCAG is compiled
K_MEANS, SPECTRAL, UMAP = "k-means", "spectral", "umap + k-means"


@dataclass(frozen=True, eq=False)
class Task:
    """Data (n_samples, n_features), clusters to find, seed, our compression, and threads (None for every core)."""

    X: Array
    n_clusters: int
    seed: int
    downsampling: Any
    threads: int | None


def cpca(task: Task, record: Record) -> Array:
    """Ours, as in the paper: one gamma, k-means, labels spread."""
    return _ours(task, record, downsampling=task.downsampling, **ALGORITHM_3)


def default_call(task: Task, record: Record) -> Array:
    """Ours, left to choose everything."""
    return _ours(task, record)


def _ours(task: Task, record: Record, **options: Any) -> Array:
    with record.timing("import"):
        from ..estimators import CompressiveClustering

    model = CompressiveClustering(task.n_clusters, n_jobs=task.threads, random_state=task.seed, **options)
    with stopwatch() as total:
        labels = model.fit_predict(task.X)
    record.fitted(model.stage_seconds_, total[0])
    record.values.update(iterations=model.n_iter_, converged=bool(model.converged_))
    return labels


def warm_up(task: Task, record: Record) -> Array:
    """Ours on all data, and a few iterations of FRPCAG on a part."""
    labels = cpca(task, record)
    frpcag(replace(task, X=task.X[:WARM_UP_SAMPLES]), Record(), max_iter=2)
    return labels


def frpcag(task: Task, record: Record, max_iter: int = 1000) -> Array:
    """Our uncompressed model with the settings of the compressed one, then k-means on its answer."""
    with record.timing("import"):
        from ..estimators import FastRobustPCAOnGraphs
        from ..options import AUTO_GAMMAS

    gamma_samples, gamma_features = AUTO_GAMMAS["normalized"]
    model = FastRobustPCAOnGraphs(
        1,  # component: k-means takes the whole answer, so time is not to be spent on components
        laplacian="normalized",
        gamma_samples=gamma_samples,
        gamma_features=gamma_features,
        robust_graphs=False,
        max_iter=max_iter,
        n_jobs=task.threads,
        random_state=task.seed,
    )
    with stopwatch() as total:
        model.fit(task.X)
    record.fitted(model.stage_seconds_, total[0])
    record.values.update(iterations=model.n_iter_, converged=bool(model.converged_))
    with stopwatch() as clustering:
        labels = _k_means(model.low_rank_, task, record)
    record.stages["k-means"] = clustering[0]
    record.seconds["after"] += clustering[0]
    return labels


def k_means(task: Task, record: Record) -> Array:
    """scikit-learn's k-means of ten restarts."""
    _import_k_means(record)
    with record.timing("after"):
        return _k_means(task.X, task, record)


def spectral(task: Task, record: Record) -> Array:
    """scikit-learn's spectral clustering of nearest neighbours; the graph made apart, as it does itself."""
    with record.timing("import"):
        from sklearn.cluster import SpectralClustering
        from sklearn.neighbors import kneighbors_graph
    with record.timing("graphs"):
        directed = kneighbors_graph(task.X, 10, include_self=True, n_jobs=task.threads or -1)
        affinity = 0.5 * (directed + directed.T)
    with record.timing("after"):
        return SpectralClustering(task.n_clusters, affinity="precomputed", random_state=task.seed).fit_predict(affinity)


def pca_k_means(task: Task, record: Record) -> Array:
    """scikit-learn's PCA, then k-means."""
    with record.timing("import"):
        from sklearn.decomposition import PCA
    _import_k_means(record)
    with record.timing("after"):
        rank = min(PCA_COMPONENTS, *task.X.shape)
        return _k_means(PCA(rank, random_state=task.seed).fit_transform(task.X), task, record)


def nmf_k_means(task: Task, record: Record) -> Array:
    """scikit-learn's NMF with a component for each cluster, then k-means."""
    with record.timing("import"):
        from sklearn.decomposition import NMF
    _import_k_means(record)
    with record.timing("after"):
        model = NMF(task.n_clusters, random_state=task.seed)
        return _k_means(model.fit_transform(task.X), task, record)


def umap_k_means(task: Task, record: Record) -> Array:
    """UMAP's defaults, then k-means; its neighbour search is made apart. No seed: a seed would allow it one thread."""
    with record.timing("import"):
        from sklearn.utils import check_random_state
        from umap import UMAP as Umap  # noqa: N811
        from umap.umap_ import nearest_neighbors
    _import_k_means(record)
    jobs = task.threads or -1
    with record.timing("graphs"):
        found = nearest_neighbors(task.X, 15, "euclidean", None, False, check_random_state(None), n_jobs=jobs)  # noqa: FBT003
    with record.timing("after"):
        embedded = Umap(n_neighbors=15, precomputed_knn=found, n_jobs=jobs).fit_transform(task.X)
        return _k_means(embedded, task, record)


def _import_k_means(record: Record) -> None:
    with record.timing("import"):
        import sklearn.cluster  # noqa: F401


def _k_means(X: Array, task: Task, record: Record) -> Array:
    from sklearn.cluster import KMeans

    model = KMeans(task.n_clusters, n_init=N_INIT, random_state=task.seed).fit(X)
    record.values.setdefault("k_means_iterations", int(model.n_iter_))
    return model.labels_


SYSTEMS: dict[str, Callable[[Task, Record], Array]] = {
    WARM_UP: warm_up,
    CPCA: cpca,
    CPCA_COLD: cpca,
    DEFAULT: default_call,
    FRPCAG: frpcag,
    K_MEANS: k_means,
    SPECTRAL: spectral,
    "pca + k-means": pca_k_means,
    "nmf + k-means": nmf_k_means,
    UMAP: umap_k_means,
}
