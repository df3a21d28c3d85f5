"""Single steps of the pipeline: our version beside a plain version and other packages."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from ..cells import Outcome, Record
from ..data import clouds, load_digits
from ..internals import Array, limit_threads
from ..systems import SYSTEMS
from ..systems.steps import COPY, ITERATION, MARK, StepData
from ..tables import Table, gigabytes, ratio, seconds
from .base import Job, Options

QUICK_SAMPLES = 600
COLUMNS = ("step", "version", "seconds", "time / ours", "peak GB", "what came of it")


class StepsJob(Job):
    """The graph, its reduction, an iteration of FRPCAG and the decoder's linear system, on USPS."""

    name = "steps"
    title = "Steps"

    def systems(self, options: Options) -> tuple[str, ...]:
        """Step and version, joined."""
        return tuple(SYSTEMS["step"])

    def skip(self, system: str, options: Options) -> str | None:
        """PyNNDescent compiles for longer than a quick run should take."""
        slow = options.quick and system.endswith("pynndescent")
        return "compiles for half a minute, too long for --quick" if slow else None

    def prepare(self, folder: Path, options: Options, record: Record) -> None:
        """Store points, their graph and a tenth of its nodes."""
        import scipy.sparse as sp

        from graphlowrank.graphs import knn_graph
        from graphlowrank.sampling import draw

        with record.timing("load"):
            X, source = _points(options)
        graph = knn_graph(X, 10, random_state=0)
        keep = draw(graph, round(graph.n_nodes / 10), random_state=0)
        np.save(folder / "X.npy", X)
        np.save(folder / "keep.npy", keep)
        sp.save_npz(folder / "graph.npz", graph.weights, compressed=False)
        record.values.update(source=source, shape=list(X.shape), edges=graph.n_edges, kept=len(keep))

    def run(self, system: str, folder: Path, options: Options, record: Record) -> None:
        """Time one version of a step."""
        import scipy.sparse as sp

        with record.timing("load"):
            X, keep = np.load(folder / "X.npy"), np.load(folder / "keep.npy")
            weights = sp.csr_array(sp.load_npz(folder / "graph.npz"))
        with limit_threads(options.threads):
            SYSTEMS["step"][system](StepData(X, weights, keep, options.threads), record)

    def tabulate(self, data: Outcome, outcomes: Mapping[str, Outcome], options: Options) -> tuple[Table, ...]:
        """Rows step by step, each compared with our version of the step."""
        first: dict[str, float | None] = {}
        rows = []
        for system, outcome in outcomes.items():
            step, version = system.split(MARK)
            taken = outcome.values.get("step_seconds")
            first.setdefault(step, taken)
            if not outcome.done:
                rows.append([step, version, outcome.why_not_done])
                continue
            ratio_to_ours = ratio(taken, first[step])
            rows.append(
                [step, version, seconds(taken), ratio_to_ours, gigabytes(outcome.peak), outcome.values["outcome"]]
            )
        n, p = data.values["shape"]
        notes = [
            f"{data.values['source']}, {n} x {p} float32; graph of 10 neighbors, {data.values['edges']} edges, "
            f"{data.values['kept']} nodes kept; every row a fresh process, its start, imports and compiling not "
            "counted",
            *_bandwidth(outcomes),
        ]
        return (Table(self.title, COLUMNS, rows, notes),)


def _points(options: Options) -> tuple[Array, str]:
    """USPS; digits in a quick run, clouds of the same size where USPS is missing."""
    if options.quick:
        return load_digits()[0][:QUICK_SAMPLES], "digits"
    from ..datasets import load_usps

    try:
        return load_usps()[0], "USPS"
    except FileNotFoundError:
        return clouds(9298, n_features=256, noise=0.0)[0], "ten normal clouds in place of USPS"


def _bandwidth(outcomes: Mapping[str, Outcome]) -> list[str]:
    """Compare the memory traffic of an iteration with that of a copy."""
    done = {name: outcome.values for name, outcome in outcomes.items() if outcome.done}
    if COPY not in done:
        return []
    copy = done[COPY]["bytes"] / done[COPY]["step_seconds"]
    lines = [f"memory copied at {copy / 1e9:.1f} GB/s (read and written bytes both counted, all threads)"]
    for name, values in done.items():
        if name.startswith(ITERATION):
            speed = values["bytes"] / values["step_seconds"]
            lines.append(
                f"{name.replace(MARK, ', ')}: {values['bytes'] / 1e6:.0f} MB must move in an iteration (read Z, S, "
                f"X and the Laplacian, write S and Z): {speed / 1e9:.1f} GB/s, {speed / copy:.0%} of the copy's speed"
            )
    return lines
