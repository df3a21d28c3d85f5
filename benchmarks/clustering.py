"""Clustering error and seconds, ours beside the peers, one table.

    python benchmarks/clustering.py            # digits; real sets too if GRAPHLOWRANK_DATA names their folder

Every method is given the number of clusters and the data in [0, 1], nothing else; defaults throughout. Seconds are wall
time from data to labels, graphs included. The paper's column is its best over a parameter grid, chosen with the labels.
"""

import time
import warnings

import numpy as np
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.datasets import load_digits

from graphlowrank import CompressiveClustering
from graphlowrank.datasets import load_mnist, load_orl, load_usps
from graphlowrank.metrics import clustering_error


def digits():
    X, y = load_digits(return_X_y=True)
    return (X / 16).astype(np.float32), y


# name: loader, clusters, downsampling, seeds, the paper's error for CPCA at this compression
JOBS = {
    "digits 1797 x 64": (digits, 10, "auto", 5, None),
    "USPS 9298 x 256": (load_usps, 10, (10, 1), 5, "0.15 / 0.21"),
    "ORL 400 x 10304": (load_orl, 40, (2, 2), 5, "0.21"),
    "MNIST 70000 x 784": (load_mnist, 10, (10, 2), 3, "0.24"),
}
SPECTRAL_UP_TO = 10_000  # samples; scikit-learn's takes minutes beyond


def ours(k, downsampling, seed):
    return CompressiveClustering(k, downsampling=downsampling, random_state=seed)


def k_means(k, downsampling, seed):
    return KMeans(k, n_init=10, random_state=seed)


def spectral(k, downsampling, seed):
    return SpectralClustering(k, affinity="nearest_neighbors", random_state=seed)


def score(make, X, y, k, downsampling, seeds):
    errors, seconds = [], []
    for seed in range(seeds):
        begin = time.perf_counter()
        labels = make(k, downsampling, seed).fit_predict(X)
        seconds.append(time.perf_counter() - begin)
        errors.append(clustering_error(y, labels))
    return f"{np.mean(errors):.3f} ± {np.std(errors):.3f} in {np.median(seconds):.1f} s"


def main():
    warnings.filterwarnings("ignore", category=UserWarning)  # spectral clustering on graphs of several components
    ours(3, (2, 1), 0).fit(np.random.default_rng(0).random((2000, 50), dtype=np.float32))  # compile
    print("| data | CompressiveClustering | k-means | spectral clustering | paper's CPCA |")
    print("|---|---|---|---|---|")
    for name, (load, k, downsampling, seeds, paper) in JOBS.items():
        try:
            X, y = load()
        except FileNotFoundError:
            print(f"| {name} | data set not found | | | |")
            continue
        cells = [score(ours, X, y, k, downsampling, seeds), score(k_means, X, y, k, downsampling, 2)]
        cells.append(score(spectral, X, y, k, downsampling, 1) if len(X) <= SPECTRAL_UP_TO else "–")
        kept = "auto" if downsampling == "auto" else f"CPCA{downsampling}"
        print(f"| {name}, {kept} | {' | '.join(cells)} | {paper or '–'} |", flush=True)


if __name__ == "__main__":
    main()
