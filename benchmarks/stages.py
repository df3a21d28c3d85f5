"""Seconds of each stage as the number of samples grows: is growth linear?

    python benchmarks/stages.py [largest n, default 80000]

Random points of 10 clusters in 50 dimensions, float32, CPCA(10, 1), all cores, seed 0. The last column is the slope of
log(seconds) over log(n) from the second size on: 1 is linear.
"""

import sys

import numpy as np
from sklearn.datasets import make_blobs

from graphlowrank import CompressiveClustering


def main():
    largest = int(sys.argv[1]) if len(sys.argv) > 1 else 80_000
    sizes = [largest // 8, largest // 4, largest // 2, largest]
    CompressiveClustering(10, downsampling=(10, 1), neighbors="approximate").fit(
        make_blobs(20_000, 50, random_state=0)[0].astype(np.float32)
    )  # compile
    rows = {}
    for n in sizes:
        X = make_blobs(n, 50, centers=10, cluster_std=6, random_state=0)[0].astype(np.float32)
        model = CompressiveClustering(10, downsampling=(10, 1), neighbors="approximate", random_state=0).fit(X)
        for stage, seconds in model.stage_seconds_.items():
            rows.setdefault(stage, []).append(seconds)
    rows["all"] = list(np.sum(list(rows.values()), axis=0))
    print("| stage | " + " | ".join(f"n = {n}" for n in sizes) + " | slope |")
    print("|---" * (len(sizes) + 2) + "|")
    for stage, seconds in rows.items():
        slope = np.polyfit(np.log(sizes[1:]), np.log(np.maximum(seconds[1:], 1e-6)), 1)[0]
        print(f"| {stage} | " + " | ".join(f"{s:.2f}" for s in seconds) + f" | {slope:.2f} |")


if __name__ == "__main__":
    main()
