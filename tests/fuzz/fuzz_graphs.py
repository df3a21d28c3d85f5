"""Calls the functions of graphs with random edge weights and options."""

import numpy as np
import scipy.sparse as sp
from fuzz_data import BAD_WEIGHTS, DATA, WEIGHTS, copied, is_same, shape
from fuzz_estimators import pick
from fuzz_outcomes import check, judged


def check_graph(graph, n):
    """The invariants of every graph."""
    W = graph.weights
    check(W.shape == (n, n) and graph.n_nodes == n, f"a graph of {n} nodes has weights {W.shape}")
    check(np.isfinite(W.data).all() and (W.data > 0).all(), "weights are not positive and finite")
    check(abs(W - W.T).max() <= 1e-12 * abs(W).max() if W.nnz else True, "weights are not symmetric")
    check(not W.diagonal().any(), "a graph has self-loops")
    for kind in ("combinatorial", "normalized"):
        L = graph.unit_laplacian(kind)
        check(np.isfinite(L.data).all(), f"{kind} Laplacian is not finite")
        check(L.shape == (n, n), f"{kind} Laplacian has shape {L.shape}")


def n_parts(W):
    return sp.csgraph.connected_components(W)[0]


def use_knn(rng, folder):
    from graphlowrank.graphs import knn_graph

    kind, (n, p) = pick(rng, DATA), map(int, shape(rng))
    X = DATA[kind](rng, n, p)
    before, options = copied(X), {}
    if rng.random() < 0.3:
        options["bandwidth"] = pick(rng, [1.0, 0.1, 10.0, 1e-3, 1e3, 1e-300, 1e300, 0, -1, np.nan, "x"])
    k = pick(rng, [1, 2, 3, 5, 10, 10, n - 1, n, 1000, 0, -1, 2.5, "x", None])
    options["neighbors"] = pick(rng, ["auto", "exact", "cells", "x"])

    def use():
        try:
            check_graph(knn_graph(X, k, random_state=0, **options), len(X) if isinstance(X, list) else X.shape[0])
        finally:
            check(is_same(X, before), "knn_graph modified X")

    return use, f"knn_graph({kind} {np.shape(X)}, {k}, {options})"


def weights(rng):
    n = int(rng.choice([1, 2, 3, rng.integers(4, 20), rng.integers(20, 120)]))
    kind = pick(rng, BAD_WEIGHTS if rng.random() < 0.3 else WEIGHTS)
    W = (WEIGHTS | BAD_WEIGHTS)[kind](rng, n)
    return kind, W.shape[0] if hasattr(W, "shape") else n, W


def kept_nodes(rng, n):
    kept = [
        rng.permutation(n)[: max(1, n // 2)], np.arange(n), np.array([0]), [n], [-1], [], [0, 0], rng.random(n) < 0.7,
        [0.5], ["x"], np.arange(0, n, 3), None, [[0]],
    ]  # fmt: skip
    return kept[min(rng.integers(2 * len(kept)), len(kept) - 1)] if rng.random() < 0.4 else kept[0]


def use_reduce(rng, folder):
    from graphlowrank.reduction import kron_reduce

    kind, n, W = weights(rng)
    keep, method = kept_nodes(rng, n), pick(rng, ["auto", "exact", "random_walk", "x"])
    before = copied(W)

    def use():
        reduced = kron_reduce(W, keep, method, random_state=0, max_steps=pick(rng, [100_000, 100]))
        m = np.asarray(keep).sum() if np.asarray(keep).dtype == bool else len(keep)
        check_graph(reduced, m)
        check(is_same(W, before), "kron_reduce modified its graph")

    return use, f"kron_reduce({kind} of {n}, {keep!r}, {method!r})"


def use_sparsify(rng, folder):
    from graphlowrank.reduction import sparsify

    kind, n, W = weights(rng)
    edges = pick(rng, [20.0, 1, 2, 0.1, 1e9, 0, -1, np.nan, "x"])

    def use():
        thin = sparsify(W, edges, random_state=0)
        check_graph(thin, n)
        check(is_same(thin.weights, sparsify(W, edges, random_state=0).weights), "the same seed gives other edges")

    return use, f"sparsify({kind} of {n}, {edges!r})"


def use_eigenpairs(rng, folder):
    from graphlowrank.graphs import as_graph, lowest_eigenpairs
    from graphlowrank.graphs.spectrum import NotConvergedError

    kind, n, W = weights(rng)
    k = pick(rng, [1, 2, min(3, n), n, n + 1, 0, -1, 1.5, "x"])
    options = {"kind": pick(rng, ["combinatorial", "normalized", "x"])}
    options |= pick(rng, [{}, {"dense_up_to": 0}, {"dense_up_to": 0, "factorized_up_to": 0}])

    def use():
        try:
            values, vectors = lowest_eigenpairs(W, k, **options)
        except NotConvergedError as error:
            check(options.get("factorized_up_to") == 0, f"did not converge: {error}")
            return "not converged, and not allowed to factorize"
        check((values.shape, vectors.shape) == ((k,), (n, k)), f"{values.shape} values, {vectors.shape} vectors")
        check(np.isfinite(values).all() and np.isfinite(vectors).all(), "eigenpairs are not finite")
        check((np.diff(values) >= -1e-10 * abs(values).max(initial=0)).all(), "values are not in order")
        check(np.abs(vectors.T @ vectors - np.eye(k)).max() < 1e-6, "vectors are not orthonormal")
        L = as_graph(W).laplacian(options["kind"])
        wrong = np.abs(L @ vectors - vectors * values).max()
        check(wrong <= 1e-5 * max(abs(L).max(), 1e-300), f"L v differs from lambda v by {wrong}")
        return "found"

    return use, f"lowest_eigenpairs({kind} of {n}, {k!r}, {options})"


def use_graph(rng, folder):
    from graphlowrank.graphs import as_graph, estimate_spectrum
    from graphlowrank.sampling import cumulative_coherence, draw, optimal_distribution

    kind, n, W = weights(rng)
    k, size = pick(rng, [1, 2, n, n + 1, 0, 1.5]), pick(rng, [1, max(1, n // 2), n, n + 1, 0, -1, 1.5, "x"])
    before, step = copied(W), pick(rng, ["graph", "draw", "coherence", "distribution", "spectrum"])

    def use():
        graph = as_graph(W, pick(rng, [None, n]))
        check_graph(graph, n)
        check(is_same(W, before), "as_graph modified its input")
        parts = len(np.unique(graph.components))
        check(parts == n_parts(graph.weights), f"{parts} components instead of {n_parts(graph.weights)}")
        if step == "draw":
            drawn = draw(graph, size, random_state=0)
            check(len(np.unique(drawn)) == len(drawn) and drawn.min() >= 0 and drawn.max() < n, "a wrong draw")
        if step == "coherence":
            nu = cumulative_coherence(graph, k)
            check(np.sqrt(k) - 1e-6 <= nu <= np.sqrt(n) + 1e-6, f"coherence {nu} out of range")
        if step == "distribution":
            p = optimal_distribution(graph, k)
            check(abs(p.sum() - 1) < 1e-9 and (p >= 0).all(), "no distribution")
        if step == "spectrum":
            estimate_spectrum(graph, k, random_state=0)

    return use, f"{step} of {kind} of {n}, k={k!r}, size={size!r}"


def use_structured(rng, folder):
    from graphlowrank.graphs import grid_graph, path_graph

    a, b = (pick(rng, [1, 2, 3, 7, 0, -1, 1.5, "x", 10**12, None]) for _ in range(2))
    if rng.random() < 0.5:
        return lambda: check_graph(grid_graph((a, b), diagonals=rng.random() < 0.5), a * b), f"grid_graph({a}, {b})"
    return lambda: check_graph(path_graph(a, reach=b), a), f"path_graph({a}, reach={b})"


USES = (use_knn, use_reduce, use_sparsify, use_eigenpairs, use_graph, use_structured)


def fuzz(seed, folder):
    """Outcome of the case with this seed."""
    use, what = USES[seed % len(USES)](np.random.default_rng([2, seed]), folder)
    outcome, text = judged(use)
    return outcome, f"{what}: {text}"
