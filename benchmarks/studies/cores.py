"""Seconds of each stage on 1 to 16 threads, beside what the machine can do.

    python benchmarks/studies/cores.py run [--jobs mnist,usps] [--threads 1,2,4] [--output results.json]
    python benchmarks/studies/cores.py run --jobs million --threads 1,16   # adds to the same file
    python benchmarks/studies/cores.py table results.json [...] > benchmarks/CORES.md

Each job and number of threads runs in a process of its own. The second of two fits counts: the first loads or compiles
code ("cold" starts with an empty cache of compiled code and reports the first). The answer of every fit is hashed, and
the hashes of all numbers of threads must be equal.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import graphlowrank
from graphlowrank_benchmarks.data import clouds
from graphlowrank_benchmarks.datasets import load_mnist, load_usps
from graphlowrank_benchmarks.machine import describe_machine, machine_line
from graphlowrank_benchmarks.memory import peak_memory

# Algorithm 3 of the paper, as in the benchmark jobs.
ALGORITHM_3 = {"partition": "k-means", "scaling": "none", "robust_graphs": False, "downsampling": (10, 2)}


def mnist():
    return load_mnist()[0]


def million():
    return clouds(1_000_000)[0]


def clustering(**options):
    return lambda threads: graphlowrank.CompressiveClustering(10, random_state=0, n_jobs=threads, **options)


def recovery(threads):
    return graphlowrank.CompressivePCA(random_state=0, n_jobs=threads)


JOBS = {  # data, estimator, title
    "usps": (lambda: load_usps()[0], clustering(), "USPS 9298 x 256, cluster, default call"),
    "mnist": (mnist, clustering(), "MNIST 70000 x 784, cluster, default call"),
    "mnist-algorithm-3": (mnist, clustering(**ALGORITHM_3), "MNIST 70000 x 784, cluster, Algorithm 3"),
    "mnist-recover": (mnist, recovery, "MNIST 70000 x 784, recover, default call"),
    "million": (million, clustering(), "1000000 x 50 (10 normal clouds), cluster, default call"),
}
LIMITS = {"copy": "GB/s read and written", "product": "GFLOP/s, float32", "gather": "million random rows of 64 bytes/s"}


def fit(name, threads, repeats):
    """Fit in this process; print seconds of the last fit, its stages, CPU seconds, peak memory and hash."""
    data, estimator, _ = JOBS[name]
    X = data()
    for _ in range(repeats):
        model = estimator(threads)
        cpu, begin = time.process_time(), time.perf_counter()
        model.fit(X)
        seconds, cpu = time.perf_counter() - begin, time.process_time() - cpu
    found = model.labels_ if hasattr(model, "labels_") else model.low_rank_.left
    digest = hashlib.sha256(np.ascontiguousarray(found)).hexdigest()[:16]
    stages = {stage: round(spent, 3) for stage, spent in model.stage_seconds_.items()}
    return {
        "seconds": round(seconds, 3),
        "cpu": round(cpu, 2),
        "stages": stages,
        "bytes": peak_memory(),
        "hash": digest,
    }


def measure_limits(threads):
    """Bandwidth, arithmetic and latency of the machine with so many threads, by our own thread pool."""
    from graphlowrank._threads import limit_threads, map_ranges

    size = 2**27  # 0.5 GB
    source, target = np.ones(size, np.float32), np.empty(size, np.float32)
    left, right = np.ones((8192, 1024), np.float32), np.ones((1024, 1024), np.float32)
    rows, table = np.random.RandomState(0).randint(2**22, size=2**24), np.ones((2**22, 16), np.float32)

    def copy(start, stop):
        np.copyto(target[start * 2**20 : stop * 2**20], source[start * 2**20 : stop * 2**20])

    def product(start, stop):
        for block in range(start, stop):
            left[block * 64 : block * 64 + 64] @ right

    def gather(start, stop):
        np.take(table, rows[start * 2**14 : stop * 2**14], axis=0, mode="clip")

    def fastest(kernel, n_items):
        best = np.inf
        for _ in range(5):
            begin = time.perf_counter()
            map_ranges(kernel, n_items)
            best = min(best, time.perf_counter() - begin)
        return best

    with limit_threads(threads):
        return {
            "copy": 8 * size / 1e9 / fastest(copy, 128),
            "product": 2 * 8192 * 1024**2 / 1e9 / fastest(product, 128),
            "gather": len(rows) / 1e6 / fastest(gather, 1024),
        }


def child(*arguments, cache=None):
    """Run this script in another process and return the JSON it prints."""
    environment = {**os.environ, **({"NUMBA_CACHE_DIR": str(cache)} if cache else {})}
    command = [sys.executable, __file__, "child", *map(str, arguments)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment)
    if done.returncode:
        return {"failed": done.stderr.strip().splitlines()[-1]}
    return json.loads(done.stdout.splitlines()[-1])


def run(options):
    found = {"machine": describe_machine(None), "limits": {}, "jobs": {}, "cold": {}}
    if options.output.exists():  # more jobs of the same machine
        found |= json.loads(options.output.read_text())
    for threads in options.threads if options.limits else []:
        found["limits"][str(threads)] = child("limits", threads, 1)
    for name in filter(None, options.jobs):
        child(name, max(options.threads), 1)  # compiles what is missing
        for threads in options.threads:
            cell = child(name, threads, options.repeats)
            found["jobs"].setdefault(name, {})[str(threads)] = cell
            print(name, threads, json.dumps(cell), file=sys.stderr, flush=True)
            options.output.write_text(json.dumps(found, indent=1) + "\n")
    for name in options.cold:
        with tempfile.TemporaryDirectory() as cache:
            cases = {case: child(name, max(options.threads), 1, cache=cache) for case in ("empty", "full")}
        found["cold"][name] = cases
        print("cold", name, {case: cell.get("seconds") for case, cell in cases.items()}, file=sys.stderr)
    options.output.write_text(json.dumps(found, indent=1) + "\n")


def table(options):
    """Markdown of stored runs."""
    print("# Cores\n\nWritten by `python benchmarks/studies/cores.py table`; its docstring has the protocol.\n")
    for path in options.results:
        found = json.loads(path.read_text())
        print(f"## {found['machine']['cores_allowed']} cores\n\n{machine_line(found['machine'])}\n")
        if found["limits"]:
            threads = list(found["limits"])
            print(f"| what the machine can do | {' | '.join(threads)} |\n|---|{'---|' * len(threads)}")
            for name, unit in LIMITS.items():
                print(f"| {name}, {unit} | {' | '.join(f'{cell[name]:.0f}' for cell in found['limits'].values())} |")
            print()
        for name, cells in found["jobs"].items():
            print_job(JOBS[name][2], cells)
        for name, cell in found["cold"].items():
            more = cell["empty"]["seconds"] - cell["full"]["seconds"]
            print(f"First fit of a process, {JOBS[name][2]}: {cell['empty']['seconds']:.1f} s with an empty cache of "
                  f"compiled code, {cell['full']['seconds']:.1f} s with a full one ({more:.1f} s more).\n")  # fmt: skip


def print_job(title, cells):
    threads = list(cells)
    done = {n: cell for n, cell in cells.items() if "failed" not in cell}
    print(f"### {title}\n\n| threads | {' | '.join(threads)} | ratio |\n|---|{'---|' * (len(threads) + 1)}")
    stages = {stage: None for cell in done.values() for stage in cell["stages"]}
    rows = {stage: [cell["stages"].get(stage, 0) for cell in done.values()] for stage in stages}
    rows["**all**"] = [cell["seconds"] for cell in done.values()]
    rows["CPU"] = [cell["cpu"] for cell in done.values()]
    for stage, values in rows.items():
        ratio = f"{values[0] / values[-1]:.1f}" if values[-1] else ""
        print(f"| {stage} | {' | '.join(f'{value:.2f}' for value in values)} | {ratio} |")
    peaks = [cell["bytes"] / 1e9 for cell in done.values()]
    print(f"| peak GB | {' | '.join(f'{peak:.2f}' for peak in peaks)} | |")
    equal = len({cell["hash"] for cell in done.values()}) == 1
    print(f"\n{'The same answer to the bit' if equal else 'DIFFERENT answers'} for all numbers of threads.\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    of_run = commands.add_parser("run")
    of_run.add_argument("--jobs", type=lambda text: text.split(","), default=list(JOBS))
    of_run.add_argument("--threads", type=lambda text: [int(n) for n in text.split(",")], default=[1, 2, 4, 8, 16])
    of_run.add_argument("--repeats", type=int, default=2)
    of_run.add_argument("--cold", type=lambda text: text.split(",") if text else [], default=[])
    of_run.add_argument("--no-limits", dest="limits", action="store_false")
    of_run.add_argument("--output", type=Path, default=Path("benchmarks/results/cores.json"))
    of_table = commands.add_parser("table")
    of_table.add_argument("results", type=Path, nargs="+")
    of_child = commands.add_parser("child")
    of_child.add_argument("job")
    of_child.add_argument("threads", type=int)
    of_child.add_argument("repeats", type=int)
    options = parser.parse_args()
    if options.command == "child":
        found = (
            measure_limits(options.threads)
            if options.job == "limits"
            else fit(options.job, options.threads, options.repeats)
        )
        print(json.dumps(found))
    else:
        {"run": run, "table": table}[options.command](options)


if __name__ == "__main__":
    main()
