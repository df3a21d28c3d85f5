"""Data that do not fit in memory: time of each stage, memory of each process, and the answer beside that in memory.

    python benchmarks/studies/scale.py data ten_million --folder SCRATCH     # 2 GB of zarr
    python benchmarks/studies/scale.py run ten_million --how out_of_core --workers 2 --folder SCRATCH
    python benchmarks/studies/scale.py table                                 # benchmarks/SCALE.md, docs/scaling.md

Each run is a process of its own. Memory is anonymous memory, sampled every 50 ms: pages of mapped files are not
counted, which the system drops when it needs memory.
"""

import argparse
import json
import os
import random
import sys
import threading
import time
import warnings
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parents[1]
RESULTS = HERE / "results" / "scale.json"
N_CLUSTERS, N_LATENT, NOISE, WITHIN = 20, 10, 1.0, 0.45
SETS = {  # samples, features, rows of a chunk
    "hundred_thousand": (10**5, 50, 2**14),
    "million": (10**6, 50, 2**16),
    "ten_million": (10**7, 50, 2**18),
    "hundred_million": (10**8, 20, 2**20),
}
EVERY = 0.05  # seconds between samples of the memory


def rows_of(start, stop, n_features, chunk):
    """Rows of clusters along a few latent directions, and their clusters; those of a chunk depend on its number."""
    assert start % chunk == 0
    common = np.random.default_rng(0)
    centers = common.standard_normal((N_CLUSTERS, N_LATENT))
    mixing = common.standard_normal((N_LATENT, n_features)) / N_LATENT**0.5 * 3
    rng = np.random.default_rng([1, start // chunk])
    y = rng.integers(0, N_CLUSTERS, stop - start)
    latent = centers[y] + WITHIN * rng.standard_normal((stop - start, N_LATENT))
    X = latent @ mixing + NOISE * rng.standard_normal((stop - start, n_features))
    return X.astype(np.float32), y


def lazy(name):
    """The set as a dask array that generates its chunks, and its clusters."""
    import dask.array as da
    from dask import delayed

    n, p, chunk = SETS[name]
    make = delayed(rows_of, nout=2)
    parts = [(a, min(a + chunk, n)) for a in range(0, n, chunk)]
    both = [(make(a, b, p, chunk), b - a) for a, b in parts]
    X = da.concatenate([da.from_delayed(one[0], (m, p), np.float32) for one, m in both])
    y = da.concatenate([da.from_delayed(one[1], (m,), np.int64) for one, m in both])
    return X, y


def write_data(name, folder):
    X, _ = lazy(name)
    X.to_zarr(str(folder / f"{name}.zarr"), overwrite=True)


class Memory(threading.Thread):
    """Samples the anonymous memory of processes; ``peaks`` by name, in bytes."""

    def __init__(self, pids):
        super().__init__(daemon=True)
        self.pids, self.peaks, self.stopped = pids, dict.fromkeys(pids, 0), threading.Event()

    def run(self):
        while not self.stopped.wait(EVERY):
            for name, pid in self.pids.items():
                try:
                    status = Path(f"/proc/{pid}/status").read_text()
                except OSError:
                    continue
                anonymous = next((line for line in status.splitlines() if line.startswith("RssAnon")), "RssAnon: 0 kB")
                self.peaks[name] = max(self.peaks[name], 1024 * int(anonymous.split()[1]))


def cluster_of(workers, limit):
    from distributed import Client, LocalCluster

    cluster = LocalCluster(n_workers=workers, threads_per_worker=1, memory_limit=limit, dashboard_address=":0")
    return cluster, Client(cluster)


def measure(name, how, workers, memory, limit, folder, seed):
    """One fit, and the labels of all samples."""
    from sklearn.metrics import adjusted_rand_score

    import graphlowrank as gl

    X, y = lazy(name)
    stored = folder / f"{name}.zarr"
    if stored.exists():
        X = stored
    if how == "in_memory":
        X = lazy(name)[0].compute(scheduler="threads")
    pids, client = {"this process": os.getpid()}, None
    if workers:
        _, client = cluster_of(workers, limit)
        pids |= {f"worker {n + 1}": pid for n, pid in enumerate(client.run(os.getpid).values())}
    watch = Memory(pids)
    watch.start()
    model = gl.CompressiveClustering(N_CLUSTERS, random_state=seed)
    begin = time.perf_counter()
    with gl.large_data(memory=memory, folder=folder, method="auto" if how in ("auto", "in_memory") else how):
        model.fit(X)
    fitted = time.perf_counter() - begin
    labels = np.asarray(model.labels_)
    extended = time.perf_counter() - begin - fitted
    watch.stopped.set()
    truth = y.compute(scheduler="threads")
    folder.joinpath("labels").mkdir(exist_ok=True)
    np.save(folder / "labels" / f"{name}-{how}-{workers}-{seed}.npy", labels.astype(np.int16))
    reference = folder / "labels" / f"{name}-in_memory-0-{seed}.npy"
    same = adjusted_rand_score(np.load(reference), labels) if reference.exists() else None
    method = model.report_.choices[-1]
    return {
        "set": name, "how": how, "workers": workers, "memory": memory, "worker_limit": limit if workers else None,
        "seed": seed, "fit": fitted, "labels": extended, "stages": dict(model.stage_seconds_),
        "peak": {key: value / 1e9 for key, value in watch.peaks.items()},
        "ari": adjusted_rand_score(truth, labels), "ari_with_memory": same,
        "method": [str(method.value), method.reason] if method.name == "method" else ["in memory", ""],
    }  # fmt: skip


def measure_mnist(how, memory, seed):
    """Clustering error on MNIST in 14 chunks of 5000 images."""
    import dask.array as da

    import graphlowrank as gl
    from graphlowrank.metrics import clustering_error

    sys.path.insert(0, str(HERE))
    from graphlowrank_benchmarks.datasets import load_mnist

    X, y = load_mnist()[:2]
    X = X.astype(np.float32)
    given = X if how == "in_memory" else da.from_array(X, chunks=(5000, -1))
    begin = time.perf_counter()
    with gl.large_data(memory=memory, method="auto" if how == "in_memory" else how), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if how == "two_level":
            from graphlowrank.outofcore import method

            method.MAX_FITTED = 10_000
        labels = np.asarray(gl.CompressiveClustering(10, random_state=seed).fit(given).labels_)
    return {"set": "mnist", "how": how, "seed": seed, "seconds": time.perf_counter() - begin,
            "error": clustering_error(y, labels)}  # fmt: skip


def measure_same(kind, runs, folder):
    """Runs with random chunks, or with a worker killed at a random moment: how many have the labels of the first."""
    import dask.array as da

    import graphlowrank as gl

    chunk = 2**14
    X = np.concatenate([rows_of(chunk * k, chunk * (k + 1), 50, chunk)[0] for k in range(3)])
    given, same, killed, answers = random.Random(0), 0, 0, {}
    cluster, client = cluster_of(2, "3GB")
    for number in range(runs + 1):
        how = ("out_of_core", "two_level")[number % 2]
        cuts = sorted(given.sample(range(1, len(X)), given.randint(1, 9))) if kind == "chunks" and number > 1 else []
        rows = tuple(np.diff([0, *cuts, len(X)]).tolist()) if cuts else 4096
        timer = None
        if kind == "killed" and number > 1:
            wait = given.uniform(0.1, 1.5)
            pids = list(client.run(os.getpid).values())
            timer = threading.Timer(wait, os.kill, (given.choice(pids), 9))
            timer.start()
        with gl.large_data(memory="1GB", folder=folder, method=how), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = gl.CompressiveClustering(N_CLUSTERS, random_state=0).fit(da.from_array(X, chunks=(rows, -1)))
            labels = np.asarray(model.labels_)
        if timer is not None:
            killed += not timer.is_alive()
            timer.cancel()
            client.wait_for_workers(2)
        expected = answers.setdefault(how, labels)
        same += np.array_equal(labels, expected)
        print(number, how, rows if cuts else "", same, flush=True)
    cluster.close()
    return {"set": kind, "runs": runs + 1, "same": same, "killed": killed}


def measure_cost(folder):
    """Tasks, seconds and bytes of each stage of the search for neighbors in blocks."""
    import shutil

    from graphlowrank.graphs.search_blocks import search_blocks
    from graphlowrank.outofcore.sources import open_source
    from graphlowrank.outofcore.storage import store_rows

    work, search = folder / "cost", {}
    shutil.rmtree(work, ignore_errors=True)
    (work / "search").mkdir(parents=True)
    rows = store_rows(open_source(folder / "million.zarr"), work)

    def report(stage, cost):
        search[stage] = {"n_tasks": cost.n_tasks, "seconds": cost.seconds, "read": cost.bytes_read,
                         "written": cost.bytes_written}  # fmt: skip

    search_blocks(rows, 10, folder=work / "search", random_state=0, report=report)
    shutil.rmtree(work)
    return {"set": "cost", "search": search}


def save(found):
    old = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    keys = ("set", "how", "workers", "memory", "seed")
    old = [one for one in old if any(one.get(key) != found.get(key) for key in keys)]
    RESULTS.write_text(json.dumps([*old, found], indent=1) + "\n")
    print(json.dumps(found, indent=1))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("job", choices=["data", "run", "table"])
    parser.add_argument("name", nargs="?", choices=[*SETS, "mnist", "chunks", "killed", "cost"])
    parser.add_argument("--how", default="auto", choices=["in_memory", "auto", "whole", "out_of_core", "two_level"])
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--memory", default="10GB")
    parser.add_argument("--limit", default="4GB", help="memory limit of a worker")
    parser.add_argument("--folder", type=Path, default=Path("/tmp/scale"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--runs", type=int, default=20)
    given = parser.parse_args()
    given.folder.mkdir(exist_ok=True)
    if given.job == "data":
        write_data(given.name, given.folder)
    elif given.job == "table":
        from scale_model import write_model
        from scale_table import write_table

        write_table(RESULTS, HERE / "SCALE.md")
        write_model(RESULTS, HERE.parent / "docs" / "scaling.md")
    elif given.name == "mnist":
        save(measure_mnist(given.how, given.memory, given.seed))
    elif given.name == "cost":
        save(measure_cost(given.folder))
    elif given.name in ("chunks", "killed"):
        save(measure_same(given.name, given.runs, given.folder))
    else:
        save(measure(given.name, given.how, given.workers, given.memory, given.limit, given.folder, given.seed))


if __name__ == "__main__":
    main()
