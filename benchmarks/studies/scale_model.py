"""Write docs/scaling.md: what fits of large data cost on more workers, from the measurements of scale.py.

seconds = core-seconds / workers + bytes / (workers x bandwidth) + tasks x latency + seconds of the calling process
"""

import json
import math

ROWS = (10**7, 10**8, 10**9)
WORKERS = (1, 2, 8, 64)
BANDWIDTH = 0.5e9  # bytes per second that a worker reads and writes of the shared folder
LATENCY = 1e-3  # seconds of the scheduler for a task
GRAPH_BYTES = 1450  # per sample, of the calling process: measured for 10 neighbors, 20 clusters, float32
BLOCK_ROWS = 2**17  # of 20 float32 numbers
SEARCH_STAGES = ("rows on disk", "sample graph")


def write_model(results, target):
    found = json.loads(results.read_text())
    cost = next(one["search"] for one in found if one["set"] == "cost")
    searched = {one["set"]: cores_of(one) for one in found if one.get("workers") == 2 and "stages" in one}
    growth = math.log10(searched["ten_million"] / searched["million"])  # exponent of the work for a row
    fit = next(one for one in found if one["set"] == "million" and one["how"] == "out_of_core" and not one["workers"])
    two = next(one for one in found if one["set"] == "hundred_million")
    n, cores = 10**6, 2
    search = {
        "core": searched["million"],
        "bytes": sum(one["read"] + one["written"] for one in cost.values()) / n + 2 * 50 * 4,
        "tasks": sum(one["n_tasks"] for one in cost.values()) / n,
    }
    serial = sum(seconds for stage, seconds in fit["stages"].items() if stage not in SEARCH_STAGES) / n
    passes = {
        "draw": two["stages"]["draw of samples"],
        "rare groups": two["stages"]["rare groups"],
        "labels": two["labels"],
    }
    own = two["fit"] - passes["draw"] - passes["rare groups"]
    core = {name: two.get("threads", cores) * seconds / 10**8 for name, seconds in passes.items()}

    def out_of_core(rows, workers):
        core_seconds = rows * search["core"] * (rows / n) ** growth
        return (core_seconds / workers + rows * search["bytes"] / workers / BANDWIDTH
                + rows * search["tasks"] * LATENCY + rows * serial)  # fmt: skip

    def two_level(rows, workers):
        n_passes, n_bytes = len(core), 4.0 * 20
        return (rows * sum(core.values()) / workers + n_passes * rows * n_bytes / workers / BANDWIDTH
                + n_passes * rows / BLOCK_ROWS * LATENCY + own)  # fmt: skip

    def line(title, seconds, memory):
        return f"| {title} | " + " | ".join(minutes(seconds(workers)) for workers in WORKERS) + f" | {memory} |"

    table = [
        "| rows, method | " + " | ".join(f"{w} worker{'s' * (w > 1)}" for w in WORKERS) + " | calling process |",
        "|---|" + "---:|" * len(WORKERS) + "---|",
    ]
    for rows in ROWS:
        memory = f"{rows * GRAPH_BYTES / 1e9:.0f} GB"
        exact = f"10^{len(str(rows)) - 1}"
        table.append(line(f"{exact} x 50, out of core", lambda w, rows=rows: out_of_core(rows, w), memory))
        table.append(line(f"{exact} x 20, two-level", lambda w, rows=rows: two_level(rows, w), "under 2 GB"))
    target.write_text(
        TEXT.format(
            core=1e6 * search["core"], grown=10**growth, growth=growth, bytes=search["bytes"],
            serial=1e6 * serial, own=own,
            draw=1e6 * core["draw"], rare=1e6 * core["rare groups"], labels=1e6 * core["labels"],
            bandwidth=BANDWIDTH / 1e9,
            latency=1e3 * LATENCY, graph=GRAPH_BYTES, table="\n".join(table),
        )
    )  # fmt: skip


def cores_of(one):
    """Core-seconds of the search for a row."""
    n = {"million": 10**6, "ten_million": 10**7}[one["set"]]
    return one["workers"] * one["stages"]["sample graph"] / n


def minutes(seconds):
    if seconds < 600:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


TEXT = """# What large data cost on more machines

Written by `python benchmarks/studies/scale.py table` from the measurements of
[SCALE.md](../benchmarks/SCALE.md), on 2 cores. Nothing here was run on more than 2 workers: it is a model.

    seconds = core-seconds / workers + bytes / (workers x bandwidth) + tasks x latency + seconds of the calling process

Measured, per row:

| | |
|---|---:|
| search for neighbors among 10^6 rows, 50 features: core time | {core:.1f} us |
| the same: bytes read and written, the copy of the rows included | {bytes:.0f} |
| graph stages, in the calling process on 2 threads (out of core) | {serial:.1f} us |
| two-level, 20 features: draw, with generating the rows | {draw:.2f} us |
| two-level: search for rare groups | {rare:.2f} us |
| two-level: labels | {labels:.2f} us |
| two-level: fit of 200,000 rows | {own:.0f} s in all |

Assumed: a worker has one core like ours, and reads and writes {bandwidth:.1f} GB/s of the shared folder; the
scheduler takes {latency:.0f} ms for a task; the calling process has 2 cores, and {graph} bytes for each row out of
core. The work of the search for a row grew {grown:.1f} times from 10^6 to 10^7 rows: noise fills all 50 features of
these data, so that their neighbors are spread over more and more cells. It is assumed to go on like that, with the
exponent {growth:.2f}; rows near surfaces of few dimensions need less.

{table}

Out of core, the graph stages are not distributed, and their memory decides. Two-level, nothing but the
fit of 200,000 rows is serial.
"""
