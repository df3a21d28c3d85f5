"""Peak memory of the stages of a fit, from the sizes of the arrays that each of them holds."""

from dataclasses import dataclass, replace

from ..auto.gammas import CLUSTERING_PATH
from ..auto.scaling import trial_sizes
from ..graphs.candidates import BLOCK_ENTRIES, COMPILED_ABOVE
from ..graphs.locality import RENUMBERED_ABOVE
from ..graphs.projection import PROJECTED_DIMENSIONS, PROJECTION_ROWS
from ..graphs.search import EXACT_PRODUCTS
from ..graphs.search_exact import SPARE_CANDIDATES
from ..linalg.products import MAX_SUMS, MIN_SUMS, SUM_ENTRIES
from ..pipeline import FEATURE_GRAPH_SAMPLES, ORDERED_UP_TO

PROCESS_BYTES = 0.38e9  # Python with its libraries and compiled code
INDEX_BYTES = 4
N_SCALINGS = 3  # that are tried
EDGES_PER_NEIGHBOR = 1.5  # an edge is kept if either end lists the other
COMMUNITY_ARRAYS = 8  # of the length of the samples
PROBES = 16  # cells that the approximate search visits, typically
COPIES_OF_GRAPH = 2.0  # measured 1.9 and 2.0 times the arrays of graph and labels, for 10^6 and 10^7 rows on disk
PREPARED_ROWS = 10_000  # of data on disk, that preprocessing is learned from
SOLVED_ROWS, SOLVED_COPIES, COVARIANCES = 2000, 20, 12  # of recovery out of core
EIGEN_ARRAYS = 8  # of the size of a Gram matrix, which hold its product, a copy, eigenvectors and workspace


@dataclass(frozen=True)
class FitSize:
    """What determines the time and memory of a fit."""

    task: str  # "cluster" or "recover"
    n_samples: int
    n_features: int
    n_clusters: int  # or rank
    kept: tuple[int, int]  # samples and features of the compressed matrix
    itemsize: int
    stored: float | None  # entries that a sparse sample stores, on average; None for dense data
    n_neighbors: int
    search: str  # name of the neighbor search
    n_threads: int = 1

    @property
    def data(self) -> float:
        """Bytes of the data; of sparse ones, also column indices."""
        if self.stored is None:
            return float(self.n_samples * self.n_features * self.itemsize)
        return self.n_samples * self.stored * (self.itemsize + INDEX_BYTES)

    @property
    def graph(self) -> float:
        """Bytes of the sample graph."""
        return self.n_samples * self.n_neighbors * EDGES_PER_NEIGHBOR * (self.itemsize + INDEX_BYTES)

    def stage_bytes(self, stage: str, *, scaled: bool = False, imputed: bool = False) -> float:
        """Peak memory during a stage: the process, data, copies and graphs so far, and arrays of the stage itself."""
        ordered = self.task == "cluster" and self.n_samples <= ORDERED_UP_TO
        before = PROCESS_BYTES + self.data * (1 + ordered + scaled)
        if stage in ("outliers", "scaling", "number of clusters"):
            return before + self.trial_bytes() * (stage == "scaling" and self.task == "cluster")
        before += self.data * imputed
        block = self.kept[0] * self.kept[1] * self.itemsize
        graphs = self.graph * (2 if self.search != "exact" and self.n_samples > RENUMBERED_ABOVE else 1)
        part = min(1.0, FEATURE_GRAPH_SAMPLES / self.n_samples)  # of the samples, on which features are compared
        features = self.data * part * (1 + (part < 1))  # transposed
        double = 8 if self.task == "recover" else self.itemsize  # labels are interpolated in the precision of the data
        working = {
            "imputation": 0.0,
            "sample graph": self.search_bytes(self.n_samples, self.n_features) + 2.5 * self.graph,
            "feature graph": graphs + features + self.search_bytes(self.n_features, round(self.n_samples * part)),
            "sampling": graphs + self.data * self.kept[0] / self.n_samples + 2 * block,
            "reduction": graphs + 2.5 * self.graph + 2 * block,
            "partitions": graphs + (2 + len(CLUSTERING_PATH)) * block + self.directions_bytes(),
            "communities": graphs + self.graph + COMMUNITY_ARRAYS * 8 * self.n_samples,
            "decoding": graphs + self.graph / 2 + 2 * block + 7 * self.n_samples * self.n_clusters * double,
        }
        return before + working.get(stage, graphs + 6 * block)  # of a solver or gammas

    def out_of_core_bytes(self) -> float:
        """Peak memory of clusters of data on disk: graphs, labels, and the samples that are kept."""
        on_disk = replace(self, n_features=0)  # neighbor lists and candidates stay in memory, and no rows
        kept = self.data * (self.kept[0] + PREPARED_ROWS) / self.n_samples
        stages = ("sample graph", "sampling", "reduction", "partitions", "communities", "decoding")
        block = 4 * self.kept[0] * self.kept[1] * self.itemsize
        largest = max(on_disk.stage_bytes(stage) for stage in stages) - PROCESS_BYTES
        return PROCESS_BYTES + COPIES_OF_GRAPH * largest + kept + block

    def covariance_bytes(self) -> float:
        """Peak memory of recovery of rows that are read block by block: covariances, and rows that are solved."""
        solved = min(self.n_samples, max(SOLVED_ROWS, self.n_features))
        return PROCESS_BYTES + 8.0 * (COVARIANCES * self.n_features**2 + SOLVED_COPIES * solved * self.n_features)

    def trial_bytes(self) -> float:
        """Bytes of the trials of scalings, some of which run at a time: draws, scaled copies, neighbor search."""
        n_trials, size = trial_sizes(self.n_samples)
        part = self.data * size / self.n_samples
        at_once = min(self.n_threads, N_SCALINGS * n_trials)
        return n_trials * part * (n_trials > 1) + at_once * (part + self.search_bytes(size, self.n_features))

    def directions_bytes(self) -> float:
        """Bytes of the singular vectors of the low-rank matrices, some of which are computed at a time."""
        n_gram = min(self.kept) ** 2
        n_sums = min(max(SUM_ENTRIES // n_gram, MIN_SUMS), MAX_SUMS)
        return min(self.n_threads, len(CLUSTERING_PATH)) * (n_sums + EIGEN_ARRAYS) * n_gram * 8.0

    def search_bytes(self, n: int, n_dimensions: int) -> float:
        """Bytes of the neighbor search among n points: copies, projections, candidates and their differences."""
        n_candidates = self.n_neighbors + 1 + SPARE_CANDIDATES
        found = n * (4 * n_candidates * INDEX_BYTES + 2 * self.n_neighbors * self.itemsize)
        if self.stored is not None:  # compared in dense blocks
            return found + 2 * BLOCK_ENTRIES * 8 + 2 * n * PROJECTED_DIMENSIONS * 4
        differences = n * n_candidates * n_dimensions
        measured = 3.0 * min(differences, BLOCK_ENTRIES) * self.itemsize * (differences <= COMPILED_ABOVE)
        copied = n * n_dimensions * (self.itemsize + 4)  # centered, then in single precision
        if n**2 * n_dimensions < EXACT_PRODUCTS:
            return max(copied, n * n_dimensions * 4 + measured + found)
        projected = 2 * n * (min(n_dimensions, PROJECTED_DIMENSIONS) + PROBES) * 4
        if n_dimensions > PROJECTED_DIMENSIONS:
            copied = 2 * min(n, PROJECTION_ROWS) * n_dimensions * self.itemsize
        return max(copied, projected + measured + found)
