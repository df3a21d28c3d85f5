"""Write benchmarks/SCALE.md from results/scale.json; see scale.py."""

import json

import numpy as np

NAMES = {"in_memory": "in memory", "out_of_core": "out of core", "two_level": "two-level", "whole": "whole"}
SIZES = {
    "hundred_thousand": "100,000 x 50", "million": "1,000,000 x 50", "ten_million": "10,000,000 x 50",
    "hundred_million": "100,000,000 x 20",
}  # fmt: skip


def write_table(results, target):
    found = json.loads(results.read_text())
    order = list(SIZES)
    fits = [one for one in found if "stages" in one]
    fits.sort(key=lambda one: (order.index(one["set"]), one["how"], one["workers"]))
    lines = [HEAD, *table(FITS, [fit_row(one) for one in fits]), "", "Stages in seconds:", ""]
    stages = list(dict.fromkeys(name for one in fits for name, seconds in one["stages"].items() if seconds >= 1))
    titles = [f"{SIZES[one['set']]} {NAMES[one['how']]}, {one['workers'] or 'no'} workers" for one in fits]
    rows = [[name, *(f"{one['stages'].get(name, 0):.1f}" for one in fits)] for name in stages]
    lines += table(["stage", *titles], rows)
    images = [one for one in found if one["set"] == "mnist"]
    lines += ["", MNIST, "", *table(["method", "seeds", "mean error", "worst", "seconds"], mnist_rows(images))]
    for one in found:
        if one["set"] in SAME:
            text = SAME[one["set"]].format(killed=one["killed"])
            lines += [
                "",
                f"{text}: {one['same']} of {one['runs']} runs have the labels of the first with their method.",
            ]
        if one["set"] == "cost":
            rows = [
                [stage, cost["n_tasks"], f"{cost['seconds']:.1f}", f"{cost['read'] / 1e6:.0f} MB",
                 f"{cost['written'] / 1e6:.0f} MB"]
                for stage, cost in one["search"].items()
            ]  # fmt: skip
            lines += ["", COST, "", *table(["stage", "tasks", "seconds", "read", "written"], rows)]
    target.write_text("\n".join(lines) + "\n")


def table(titles, rows):
    cells = [titles, ["---", *["---:"] * (len(titles) - 1)], *rows]
    return ["| " + " | ".join(map(str, row)) + " |" for row in cells]


def fit_row(one):
    limit = one["memory"] + (f", workers {one['worker_limit']}" if one["workers"] else "")
    same = one["ari_with_memory"]
    return [
        SIZES[one["set"]],
        NAMES[one["how"]],
        f"{one['workers']} workers" if one["workers"] else f"{one.get('threads', 2)} threads",
        "" if one["how"] == "in_memory" else limit,
        f"{one['fit']:.0f} s",
        f"{one['labels']:.1f} s",
        ", ".join(f"{name} {value:.2f} GB" for name, value in one["peak"].items()),
        f"{one['ari']:.4f}",
        "" if same is None else f"{same:.4f}",
    ]


def mnist_rows(images):
    for how, name in NAMES.items():
        runs = [one for one in images if one["how"] == how]
        if runs:
            errors = [one["error"] for one in runs]
            seconds = np.mean([one["seconds"] for one in runs])
            yield [name, len(runs), f"{np.mean(errors):.4f}", f"{max(errors):.4f}", f"{seconds:.0f}"]


FITS = [
    "data",
    "method",
    "who computes",
    "limit",
    "fit",
    "labels of all",
    "peak memory",
    "ARI, truth",
    "ARI, in memory",
]
SAME = {
    "chunks": "Random chunks, 49,152 x 50, two methods",
    "killed": "A worker killed at a random moment ({killed} died during their fit)",
}
HEAD = """# Data that do not fit in memory

2 cores and 24 GB; with 16 threads, 16 cores and 128 GB. Written by `benchmarks/studies/scale.py table` from
`results/scale.json`; docs/large-data.md describes the methods. Data: 20 clusters along 10 latent directions, float32,
from zarr (100,000,000: generated when read); default `CompressiveClustering(20, random_state=0)`. Memory is anonymous
memory, without the pages of mapped files; with 16 threads, most of it are chunks that are generated. Without workers,
1,000,000 rows are searched in memory.
"""
MNIST = """MNIST, 70,000 x 784, in 14 chunks of 5000 images, `CompressiveClustering(10)`. Out of core with 700 MB for
the whole process, of which Python and its libraries take 380 MB: room for about 10,000 images at a time, and the graph.
Two-level fits 10,000 images."""
COST = "The neighbor search of 1,000,000 x 50 by tasks on blocks of rows, one after the other on 2 threads:"
