"""Recovery of many samples: what does it cost that models are fitted to a part of them?

    python benchmarks/studies/recovery_compressed.py run [--sets USPS,MNIST]

Above 3000 samples, the default call fits its models to some of them, and denoises the others by what these teach.
Here it is compared with the same call that fits all samples, and with RobustPCA, on the data and corruptions of
recovery.py, in single precision, seed 0, all cores. USPS, and MNIST with all samples fitted, ran beside other jobs
(load), the other runs of MNIST did not: seconds are rough. How the others are denoised was chosen on these sets. "run"
adds to results/recovery_compressed.json what is missing there; "python benchmarks/studies/recovery.py table" writes
the table into RECOVERY.md.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import recovery as study

from graphlowrank import CompressivePCA, RobustPCA
from graphlowrank.auto import recovery_model
from graphlowrank_benchmarks import datasets
from graphlowrank_benchmarks.internals import Array, write_atomically
from graphlowrank_benchmarks.machine import describe_machine, machine_line
from graphlowrank_benchmarks.tables import markdown_rows

RESULTS = Path(__file__).parents[1] / "results" / "recovery_compressed.json"
SETS = {"USPS": lambda: datasets.load_usps()[0], "MNIST": lambda: datasets.load_mnist()[0]}
SYSTEMS = ("default", "all samples fitted", "RobustPCA")
CORRUPTIONS = {"USPS": study.CORRUPTIONS, "MNIST": (study.CORRUPTIONS[0], study.CORRUPTIONS[2])}


def fitted(X: Array, system: str) -> Array:
    if system == "RobustPCA":
        return RobustPCA().fit(X).low_rank_
    if system == "all samples fitted":
        recovery_model.ALL_UP_TO, recovery_model.MAX_ENTRIES = 10**9, 10**12
    return CompressivePCA(random_state=0).fit(X).low_rank_.to_array()


def child(name: str, kind: str, system: str) -> None:
    """Measure one cell in this process; print it as a line of JSON."""
    warnings.simplefilter("ignore")
    C = np.ascontiguousarray(SETS[name](), dtype=np.float32)
    X = study.corrupt(C, kind, 0).astype(np.float32)
    fitted(X[:400], system)  # compiles
    begin = time.perf_counter()
    found = fitted(X, system)
    seconds = time.perf_counter() - begin
    error = study.error(found.astype(np.float64), C.astype(np.float64))
    cell = {"set": name, "shape": C.shape, "corruption": kind, "system": system, "error": error, "seconds": seconds}
    print(json.dumps(cell))


def run(names: list[str]) -> None:
    stored: dict[str, Any] = {"machine": describe_machine(None), "cells": []}
    stored = json.loads(RESULTS.read_text()) if RESULTS.exists() else stored
    for name in names:
        for kind in CORRUPTIONS[name]:
            for system in SYSTEMS:
                cells = stored["cells"]
                if any((one["set"], one["corruption"], one["system"]) == (name, kind, system) for one in cells):
                    continue
                load = describe_machine(None)["load_average"]
                command = [sys.executable, __file__, "child", name, kind, system]
                line = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()[-1]
                stored["cells"].append(json.loads(line) | {"load": load})
                write_atomically(RESULTS, study.as_text(stored))
                print(line, flush=True)


def section() -> list[str]:
    """Lines of RECOVERY.md."""
    if not RESULTS.exists():
        return []
    stored, rows = json.loads(RESULTS.read_text()), []
    cells = {(one["set"], one["corruption"], one["system"]): one for one in stored["cells"]}
    for name, kind in dict.fromkeys(key[:2] for key in cells):
        found = [cells.get((name, kind, system)) for system in SYSTEMS]
        if not all(found):
            continue
        shown = [f"{one['error']:.3f}, {one['seconds']:.0f} s" for one in found if one]
        n, p = found[0]["shape"] if found[0] else (0, 0)
        ratio = found[0]["error"] / found[1]["error"] if found[0] and found[1] else np.nan
        rows.append([f"{name}, {n} x {p}", kind, *shown, f"{ratio:.2f}", f"{found[0]['load'] if found[0] else 0:.1f}"])
    notes = (__doc__ or "").split("\n\n")[2].partition(' "run"')[0]
    heads = ["data", "corruption", *SYSTEMS, "error, default / all", "load"]
    return ["", "## Many samples", "", *notes.splitlines(), "", machine_line(stored["machine"]), "",
            *markdown_rows(heads, rows).splitlines()]  # fmt: skip


def main() -> None:
    if sys.argv[1:2] == ["child"]:
        child(*sys.argv[2:])
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=("run",))
    parser.add_argument("--sets", default=",".join(SETS))
    run(parser.parse_args().sets.split(","))


if __name__ == "__main__":
    main()
