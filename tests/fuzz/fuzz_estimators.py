"""Fits estimators with random options to random data, and checks what does not depend on the answer."""

import inspect
import re

import numpy as np
import scipy.sparse as sp
from fuzz_data import BAD_WEIGHTS, DATA, WEIGHTS, copied, is_same, shape
from fuzz_outcomes import WrongError, check, judged

ESTIMATORS = (
    *["CompressivePCA"] * 3, *["CompressiveClustering"] * 4, *["CompressiveEmbedding"] * 2, "FastRobustPCAOnGraphs",
    "RobustPCA", "RobustPCAOnGraphs", "GraphLaplacianPCA", "ManifoldMF", "GraphNMF",
)  # fmt: skip
# Valid values, and values that are wrong or nearly so.
OPTIONS = {
    "n_clusters": ([2, 3, 4, "auto", 1], [0, -1, 10**6, 2.5, "three", None, True]),
    "n_components": ([1, 2, 3, None], [0, -1, 10**6, 2.5, "x"]),
    "n_epochs": (["auto", 1, 3], [0, -1, 1.5, "x", None]),
    "n_draws": ([1, 2, 3], [0, 1.5, "x"]),
    "partition": (["graph", "k-means"], ["x", None]),
    "scores": (["auto", "whitened", "scaled"], ["x", 1]),
    "gamma_labels": ([0.0, 0.1, 10.0, 1e10, 1e-10], [-1, np.nan, "x"]),
    "scaling": (["auto", "none", "features"], ["x", None, ["none"]]),
    "downsampling": (
        ["auto", (1, 1), (2, 1), (1.5, 1.5), (3, 1), (1, 2)],
        [(10, 10), (1e9, 1), (1e300, 1e300), (0.5, 1), (0, 1), (-1, 2), (np.nan, 1), (np.inf, 1), 2, (1, 2, 3), "x"],
    ),
    "n_neighbors": ([1, 2, 3, 5, 10, 1000], [0, -1, 2.5, "x", None]),
    "gamma_samples": (["auto", 0, 1e-10, 0.5, 30.0, 1e6, 1e30], [-1, np.nan, np.inf, "x", 1j, 1e300]),
    "gamma_features": (["auto", 0, 1e-10, 0.5, 30.0, 1e6, 1e30], [-1, np.nan, np.inf, "x", 1e300]),
    "gamma": ([0, 1e-10, 0.5, 30.0, 1e6, 1e30, 1e300], [-1, np.nan, np.inf, "x"]),
    "loss": (["l1", "l2", "huber"], ["x", None]),
    "huber_delta": ([1.0, 1e-10, 1e10, 1e-300, 1e300], [0, -1, np.nan, "x"]),
    "laplacian": (["auto", "combinatorial", "normalized"], ["x", 3]),
    "sampling": (["uniform", "optimal", (None, None)], ["x", ("a", "b"), ([0, 0], None), ([10**6], None), ([], None)]),
    "reduction": (["auto", "exact", "random_walk", "rebuild"], ["x", None]),
    "robust_graphs": (["auto", True, False], [2, "x"]),
    "solver": (["frpcag", "rpca", "rpcag", "auto"], ["x", None]),
    "decoder": (
        [
            "subspace",
            "approximate",
            "orthonormal",
            "alternate",
            "ideal",
            "approximate2",
            "approximate3",
            "robust",
            "graph_regression",
        ],
        ["x", None],
    ),
    "max_iter": ([1, 2, 10, 1000], [0, 1.5, "x"]),
    "tol": ([1e-300, 1e-12, 1e-3, 1.0, 1e10], [-1, np.nan, "x"]),
    "beta": ([0, 0.3, 0.5, 1, 1e-300], [-1, 2, np.nan, "x"]),
    "weight": ([None, 1e-3, 0.1, 1.0, 1e-300, 1e30], [0, -1, np.nan, "x", 1e300]),
    "growth": ([None, 1.1, 1.5, 10.0], [1.0, 0, np.nan, "x"]),
    "init": (["nndsvda", "nndsvd", "random"], ["x", None]),
    "n_jobs": ([None, 1, 2], [0, 1.5, "x"]),
    "neighbors": (["auto", "exact"], ["x", None]),
}
WEIGHT_VECTORS = {
    "random": lambda rng, m: rng.random(m) + 0.01,
    "some zero": lambda rng, m: (rng.random(m) < 0.5).astype(float),
    "only one": lambda rng, m: np.eye(m)[0],
    "huge": lambda rng, m: np.full(m, 1e308),
    "tiny": lambda rng, m: np.full(m, 1e-308),
    "zeros": lambda rng, m: np.zeros(m),
    "negative": lambda rng, m: -np.ones(m),
    "NaN": lambda rng, m: np.full(m, np.nan),
    "wrong length": lambda rng, m: np.ones(m + 1),
}
MASKS = {
    "most": lambda rng, n, p: rng.random((n, p)) < 0.8,
    "all": lambda rng, n, p: np.ones((n, p), dtype=bool),
    "none": lambda rng, n, p: np.zeros((n, p), dtype=bool),
    "wrong shape": lambda rng, n, p: np.ones((p, n + 1), dtype=bool),
    "integers": lambda rng, n, p: np.ones((n, p), dtype=int),
}


def pick(rng, values):
    """One of the values, as it is."""
    values = list(values)
    return values[rng.integers(len(values))]


def chosen_options(rng, estimator, n, p):
    """Options of an estimator, in some cases with a wrong one."""
    names = [name for name in inspect.signature(estimator).parameters if name in OPTIONS]
    wrong = pick(rng, names) if rng.random() < 0.12 else None
    options = {}
    for name in names:
        if name == wrong:
            options[name] = pick(rng, OPTIONS[name][1])
        elif rng.random() < 0.3 or name == "n_clusters":
            options[name] = pick(rng, OPTIONS[name][0])
    for name, nodes in (("sample_graph", n), ("feature_graph", p)):
        if name in inspect.signature(estimator).parameters and rng.random() < 0.2:
            kind = pick(rng, BAD_WEIGHTS if rng.random() < 0.1 else WEIGHTS)
            options[name] = (WEIGHTS | BAD_WEIGHTS)[kind](rng, nodes) if rng.random() < 0.95 else None
    if "random_state" in inspect.signature(estimator).parameters:
        options["random_state"] = int(rng.integers(5))
    return options


def chosen_arguments(rng, estimator, n, p):
    """Arguments of ``fit`` beside the data."""
    names, arguments = inspect.signature(estimator.fit).parameters, {}
    for name, length in (("sample_loss_weight", n), ("feature_loss_weight", p)):
        if name in names and rng.random() < 0.12:
            arguments[name] = WEIGHT_VECTORS[pick(rng, WEIGHT_VECTORS)](rng, length)
    if "mask" in names and rng.random() < 0.08:
        arguments["mask"] = MASKS[pick(rng, MASKS)](rng, n, p)
    return arguments


def made(seed):
    """Estimator, its options, kind of data, data, and arguments of ``fit``, all from one seed."""
    import graphlowrank

    rng = np.random.default_rng([1, seed])
    estimator = getattr(graphlowrank, pick(rng, ESTIMATORS))
    kind, (n, p) = pick(rng, DATA), map(int, shape(rng))
    X = DATA[kind](rng, n, p)
    if estimator.__name__ == "GraphNMF" and rng.random() < 0.8 and X.__class__ is not list and kind != "strings":
        X = abs(X)
    return estimator, chosen_options(rng, estimator, n, p), kind, X, chosen_arguments(rng, estimator, n, p)


def answers(model):
    """The arrays that a fit gives."""
    names = ("labels_", "soft_labels_", "confidence_", "embedding_", "components_", "low_rank_", "sparse_", "offset_")
    found = {name: getattr(model, name) for name in names if hasattr(model, name)}
    return {name: np.asarray(value[:] if name == "low_rank_" else value) for name, value in found.items()}


def check_answers(model, n, p):
    for name, value in answers(model).items():
        check(np.isfinite(value).all(), f"{name} is not finite")
        rows = p if name == "offset_" else value.shape[0] if name == "components_" else n
        check(value.shape[0] == rows, f"{name} has shape {value.shape}")
    if hasattr(model, "low_rank_"):
        check(np.shape(model.low_rank_) == (n, p), f"low_rank_ has shape {np.shape(model.low_rank_)}")
    if hasattr(model, "labels_"):
        labels, soft = model.labels_, model.soft_labels_
        check(labels.dtype.kind == "i", f"labels_ are {labels.dtype}")
        check(labels.min() >= 0 and labels.max() < model.n_clusters_, f"labels_ reach {labels.min()}..{labels.max()}")
        check(np.abs(soft.sum(axis=1) - 1).max() < 1e-4, "soft_labels_ do not sum to 1")
        check((soft >= 0).all(), "soft_labels_ are negative")
        check(((model.confidence_ >= 0) & (model.confidence_ <= 1 + 1e-6)).all(), "confidence_ is not in 0..1")


def applied(model, X):
    """What the model gives for new samples, which must not be refused where ``fit`` did not refuse the same."""
    try:
        return np.asarray(model.predict(X) if hasattr(model, "predict") else model.transform(X))
    except Exception as error:
        raise WrongError(
            f"fit accepts X, but {'predict' if hasattr(model, 'predict') else 'transform'} fails"
        ) from error


def head(X, count):
    if isinstance(X, list):
        return X[:count]
    return X.iloc[:count] if hasattr(X, "iloc") else sp.csr_array(X)[:count] if sp.issparse(X) else X[:count]


def check_applied(model, X, n):
    new = applied(model, X)
    check(new.shape[0] == n, f"predictions have shape {new.shape}")
    check(np.isfinite(new).all(), "predictions are not finite")
    if hasattr(model, "predict"):
        check(new.min() >= 0 and new.max() < model.n_clusters_, "predicted labels are out of range")
    else:
        scale = np.abs(new).max(initial=0)
        first = applied(model, head(X, 3))
        check(np.abs(first - new[:3]).max(initial=0) <= 1e-3 * scale, "transform of some rows is not that of all")
        back = np.asarray(model.inverse_transform(new)) if hasattr(model, "inverse_transform") else new
        check(np.isfinite(back).all(), "inverse_transform is not finite")


def check_stored(model, X, folder):
    """A model is the same after it is saved and loaded."""
    import graphlowrank

    model.save(folder / "stored.model")
    loaded = graphlowrank.load(folder / "stored.model")
    check(is_same(applied(model, X), applied(loaded, X)), "a stored model predicts otherwise")


def fuzz(seed, folder):
    """Outcome of the case with this seed."""
    estimator, options, kind, X, arguments = made(seed)
    before, graphs = copied(X), {name: copied(value) for name, value in options.items() if name.endswith("_graph")}

    def use():
        model = estimator(**options).fit(X, **arguments)
        n, p = np.shape(X)
        check_answers(model, n, p)
        new = X if "mask" not in arguments else np.where(arguments["mask"], np.asarray(X, float), np.nan)
        check_applied(model, new, n)
        repr(model.report_), model.report_._repr_html_()
        if seed % 4 == 2:
            page = model.report_.to_html(new if seed % 8 == 2 else None)
            check(page.rstrip().endswith("</html>"), "the page is cut off")
            check(re.search(r">\s*[-+]?(nan|inf)\s*<", page) is None, "the page shows NaN")
        if seed % 4 == 0:
            again = answers(estimator(**options).fit(X, **arguments))
            for name, value in answers(model).items():
                check(is_same(value, again[name]), f"{name} is not the same in a second fit")
        if seed % 8 == 1:
            check_stored(model, new, folder)
        return "fitted"

    def use_and_compare():
        try:
            return use()
        finally:
            check(is_same(X, before), "fit or transform modified X")
            for name, graph in graphs.items():
                check(is_same(options[name], graph), f"fit modified {name}")

    outcome, text = judged(use_and_compare)
    shown = {name: value if name not in graphs else "..." for name, value in options.items()}
    return outcome, f"{estimator.__name__}({shown}) on {kind} {np.shape(X)}, {sorted(arguments)}: {text}"
