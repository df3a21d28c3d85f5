"""Seconds and peak memory of what the theory needs of a graph of a million nodes, each stage in a process of its own.

    python benchmarks/million.py [--nodes 1000000] [--neighbors 10] [--keep 0.01]

Points of 10 normal clouds in 10 dimensions (centres: normal, twice as wide), float32, seed 0, all cores; k = 10 smooth
signals. Peak memory is the most that a fresh process ever held (ru_maxrss), libraries and loaded graph included; the
row in brackets is what loading alone takes. Compiling is not counted. No stage should pass 4 GB.
"""

import argparse
import json
import platform
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from graphlowrank.graphs import Graph, estimate_spectrum, knn_graph, lowest_eigenpairs, path_graph
from graphlowrank.reduction import kron_reduce
from graphlowrank.sampling import draw, local_coherence

K = 10
LIMIT = 4e9  # bytes
BYTES = 1 if platform.system() == "Darwin" else 1024  # unit of ru_maxrss


def load(folder):
    return Graph(sp.csr_array(sp.load_npz(folder / "graph.npz")))


def clouds(n_nodes):
    rng = np.random.default_rng(0)
    centres = 2 * rng.standard_normal((10, 10), dtype=np.float32)
    return centres[rng.integers(10, size=n_nodes)] + rng.standard_normal((n_nodes, 10), dtype=np.float32)


def build(folder, options):
    graph = knn_graph(clouds(options.nodes), options.neighbors, random_state=0)
    sp.save_npz(folder / "graph.npz", graph.weights, compressed=False)
    return {"edges": graph.n_edges, "pieces": graph.n_components, "bytes": int(size_of(graph.weights))}


def size_of(weights):
    return weights.data.nbytes + weights.indices.nbytes + weights.indptr.nbytes


def only_load(folder, options):
    load(folder)
    return {}


def spectrum(folder, options):
    found = estimate_spectrum(load(folder), K, random_state=0)
    return {"eigenvalue": found.eigenvalue(K), "products": (found.order + 1) // 2}


def coherence(folder, options):
    found = local_coherence(load(folder), K, method="estimate", random_state=0)
    np.save(folder / "coherence.npy", found)
    return {}


def eigenvectors(folder, options):
    values, vectors = lowest_eigenpairs(load(folder), K + 1)
    np.save(folder / "exact.npy", np.einsum("ij,ij->i", vectors[:, :K], vectors[:, :K]))
    return {"values": values.tolist()}


def reduction(folder, options):
    graph = load(folder)
    keep = draw(graph, max(1, round(options.keep * graph.n_nodes)), random_state=0)
    return {"kept": len(keep), "edges": kron_reduce(graph, keep, "random_walk", random_state=0).n_edges}


STAGES = {
    "knn_graph": build,
    "(load the graph)": only_load,
    "estimate_spectrum": spectrum,
    "local_coherence, estimate": coherence,
    "lowest_eigenpairs, exact": eigenvectors,
    "kron_reduce, random walk": reduction,
}


def compile_all(folder):
    """Run everything once on a small graph, so that compiled code is in its cache."""
    weights = path_graph(30_000, reach=10).weights.astype(np.float32)
    sp.save_npz(folder / "graph.npz", sp.csr_array(weights), compressed=False)
    small = argparse.Namespace(nodes=30_000, neighbors=10, keep=0.1)
    for work in (build, spectrum, coherence, reduction):
        work(folder, small)


def child(options):
    """Run one stage; print its answer, seconds and peak memory as one line of JSON."""
    warnings.simplefilter("always")
    folder = Path(options.folder)
    if options.stage == "compile":
        compile_all(folder)
        return
    begin = time.perf_counter()
    answer = STAGES[options.stage](folder, options)
    answer["seconds"] = time.perf_counter() - begin
    answer["memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * BYTES
    print(json.dumps(answer))


def run(stage, folder, options):
    command = [sys.executable, __file__, "--stage", stage, "--folder", str(folder)]
    for name in ("nodes", "neighbors", "keep"):
        command += [f"--{name}", str(getattr(options, name))]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout) if done.stdout else {}


def notes(name, answer, folder):
    """What is worth saying of a stage beside its cost."""
    if name == "knn_graph":
        return f"{answer['edges']} edges, {answer['pieces']} connected piece(s), {answer['bytes'] / 1e9:.2f} GB"
    if name == "estimate_spectrum":
        return f"lambda_{K} = {answer['eigenvalue']:.3e} by {answer['products']} products with L"
    if name == "local_coherence, estimate":
        return f"nu_{K} = {nu(folder / 'coherence.npy'):.1f}"
    if name == "lowest_eigenpairs, exact":
        return (
            f"lambda_{K} = {answer['values'][K - 1]:.3e}, lambda_{K + 1} = {answer['values'][K]:.3e}, "
            f"nu_{K} = {nu(folder / 'exact.npy'):.1f}"
        )
    if name == "kron_reduce, random walk":
        return f"{answer['kept']} nodes kept, {answer['edges']} edges"
    return ""


def nu(path):
    coherence = np.load(path)
    return float(np.sqrt(len(coherence) * coherence.max()))


def compare(answers, folder):
    """Say how far the estimates are from the eigenvectors."""
    estimated, exact = answers["estimate_spectrum"]["eigenvalue"], answers["lowest_eigenpairs, exact"]["values"][K - 1]
    if exact > 0:
        print(f"estimated lambda_{K} / exact: {estimated / exact:.3f}")
    print(f"estimated nu_{K} / exact: {nu(folder / 'coherence.npy') / nu(folder / 'exact.npy'):.3f}")
    found, true = np.load(folder / "coherence.npy"), np.load(folder / "exact.npy")
    ratios = np.quantile(found / true, (0.05, 0.5, 0.95))
    print("estimated coherence / exact, 5%, 50% and 95% of nodes: " + ", ".join(f"{ratio:.2f}" for ratio in ratios))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=1_000_000)
    parser.add_argument("--neighbors", type=int, default=10)
    parser.add_argument("--keep", type=float, default=0.01, help="share of the nodes that the reduced graph keeps")
    parser.add_argument("--stage", help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.stage:
        child(options)
        return
    print(f"{options.nodes} nodes, {options.neighbors} neighbours, k = {K}; limit {LIMIT / 1e9:g} GB a stage")
    width = max(map(len, STAGES))
    print(f"{'stage'.ljust(width)}  {'seconds':>8}  {'peak GB':>8}  notes")
    answers = {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        run("compile", folder, options)
        for name in STAGES:
            answers[name] = run(name, folder, options)
            seconds, memory = answers[name]["seconds"], answers[name]["memory"]
            over = " over the limit!" if memory > LIMIT else ""
            line = (
                f"{name.ljust(width)}  {seconds:8.1f}  {memory / 1e9:8.2f}  {notes(name, answers[name], folder)}{over}"
            )
            print(line.rstrip(), flush=True)
        compare(answers, folder)


if __name__ == "__main__":
    main()
