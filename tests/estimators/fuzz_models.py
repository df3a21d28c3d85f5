"""Forges model files and uses what is loaded from them: each is refused in one sentence, or works.

Target "models" of ``tests/fuzz/run.py``, which loads and uses models in a process of its own, with bounds checks in
compiled loops. The files are whole: archive, checksums and JSON are valid. What they say is wrong: indices, shapes,
dtypes, signs, numbers, fields. Every file depends on the seed, the kind and its number only.
"""

import io
import json
import linecache
import random
import traceback
import warnings
import zipfile
from pathlib import Path

import numpy as np
import scipy.sparse as sp

FOLDER = Path(__file__).parents[1] / "data" / "model_files_0_1_dev"
N, P = 40, 6  # of the training data
LARGE = 110_000  # nodes of the large graph: more than RENUMBERED_ABOVE, with more entries than COMPILED_ABOVE


def training_data():
    rng = np.random.default_rng(0)
    return np.abs(rng.standard_normal((N, 3)) @ rng.standard_normal((3, P))) + 0.1 * rng.random((N, P))


def fitted(name, change=lambda X: X, **parameters):
    from graphlowrank import estimators

    if name != "RobustPCA":
        parameters = {"random_state": 0, "n_neighbors": 5} | parameters
    return getattr(estimators, name)(3, **parameters).fit(change(training_data()))


def on_large_graph():
    """A model with a graph of so many nodes that compiled loops run, in the order that the graph stores."""
    from graphlowrank.decoders import LowRankMatrix
    from graphlowrank.graphs import Graph, path_graph

    model, rng = fitted("CompressivePCA"), np.random.default_rng(0)
    left, small = rng.standard_normal((LARGE, 3)), model.low_rank_
    model.low_rank_ = LowRankMatrix(left, small.singular_values, small.right, small.offset)
    model.draws_, model.sample_indices_ = (model.low_rank_,), np.arange(0, LARGE, 100)
    model.sample_graph_ = Graph(path_graph(LARGE, reach=3).weights, rng.permutation(LARGE))
    return model


def with_order(model):
    from graphlowrank.graphs import Graph

    model.sample_graph_ = Graph(model.sample_graph_.weights, np.random.default_rng(0).permutation(N))
    return model


def as_frame(X):
    import pandas as pd

    return pd.DataFrame(X, columns=list("abcdef"))


def old(file):
    return lambda path: path.write_bytes(file.read_bytes())


def new(make, *args, **parameters):
    return lambda path: make(*args, **parameters).save(path)


MODELS = {
    "clustering": lambda path: with_order(fitted("CompressiveClustering")).save(path),
    "clustering sparse": new(fitted, "CompressiveClustering", lambda X: sp.csr_array(X * (X > 1)), scaling="features"),
    "clustering missing": new(fitted, "CompressiveClustering", lambda X: np.where(X > 2, np.nan, X)),
    "clustering robust": new(fitted, "CompressiveClustering", robust_graphs=True, scaling="features"),
    "clustering drawn": new(fitted, "CompressiveClustering", sampling="optimal", downsampling=(2, 1)),
    "cpca": lambda path: with_order(fitted("CompressivePCA", n_draws=2, downsampling=(2, 1))).save(path),
    "cpca scaled": new(fitted, "CompressivePCA", np.float32, scaling="features", loss="huber"),
    "cpca frame": lambda path: fitted("CompressivePCA", as_frame).set_output(transform="pandas").save(path),
    "cpca large": new(on_large_graph),
    "embedding": lambda path: with_order(fitted("CompressiveEmbedding", n_epochs=5)).save(path),
    "embedding missing": new(fitted, "CompressiveEmbedding", lambda X: np.where(X > 2, np.nan, X), n_epochs=5),
    "frpcag": new(fitted, "FastRobustPCAOnGraphs", n_jobs=1),
    "rpca": new(fitted, "RobustPCA"),
    "rpcag": new(fitted, "RobustPCAOnGraphs"),
    "glpca": new(fitted, "GraphLaplacianPCA"),
    "mmf": new(fitted, "ManifoldMF"),
    "gnmf": new(fitted, "GraphNMF"),
    **{f"old {path.stem}": old(path) for path in sorted(FOLDER.glob("*.model")) if "unfitted" not in path.stem},
}


def unzipped(path):
    with zipfile.ZipFile(path) as archive:
        raw = {name.removesuffix(".npy"): archive.read(name) for name in archive.namelist()}
    header = json.loads(raw.pop("model.json"))
    return header, {name: np.load(io.BytesIO(one)) for name, one in raw.items()}


def zipped(path, header, arrays):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("model.json", json.dumps(header))
        for name, array in arrays.items():
            entry = io.BytesIO()
            np.lib.format.write_array(entry, np.asanyarray(array), version=(1, 0))
            archive.writestr(f"{name}.npy", entry.getvalue())


WHOLE = [-1, 0, 1, 5, 6, 7, N - 1, N, N + 1, -(2**31), 2**31 - 1, 2**31, 2**40, -(2**63), 2**63 - 1]
REAL = [0.0, -1.0, 1.0, 1e-310, -1e-310, 1e-160, 1e160, 1e300, -1e300, 1.5, np.nan, np.inf, -np.inf]
DTYPES = [
    "b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16", ">i4", ">i8", ">f4", ">f8",
]  # fmt: skip


def wrong_number(array, draw):
    value = np.array(draw.choice(WHOLE if array.dtype.kind in "iu" else REAL))
    return value.astype(array.dtype)


def with_wrong_entries(array, draw):
    flat = array.ravel().copy()
    for _ in range(draw.choice([1, 1, 1, 3, 20])):
        flat[draw.randrange(flat.size)] = wrong_number(array, draw)
    return flat.reshape(array.shape)


def with_duplicate(array, draw):
    array = array.copy()
    array[draw.randrange(len(array))] = array[draw.randrange(len(array))]
    return array


def shuffled(array, draw):
    order = list(range(len(array)))
    draw.shuffle(order)
    return array[order]


VALUES = [
    with_wrong_entries, with_wrong_entries, with_wrong_entries, with_duplicate, shuffled,
    lambda array, draw: np.full_like(array, wrong_number(array, draw)),
    lambda array, draw: -array if array.dtype != bool else ~array,
    lambda array, draw: array + np.array(draw.choice([-1, 1])).astype(array.dtype),
    lambda array, draw: array[::-1],
    lambda array, draw: array * array.dtype.type(draw.choice([0, 2])),
]  # fmt: skip
SHAPES = [
    lambda array, draw: array[:-1],
    lambda array, draw: array[: len(array) // 2],
    lambda array, draw: array[:0],
    lambda array, draw: np.concatenate([array, array[-1:]]),
    lambda array, draw: np.concatenate([array, array]),
    lambda array, draw: array.T,
    lambda array, draw: array.ravel(),
    lambda array, draw: array[..., None],
    lambda array, draw: array[None],
    lambda array, draw: array[..., :-1],
    lambda array, draw: np.concatenate([array, array[..., -1:]], axis=-1),
    lambda array, draw: array[(0,) * array.ndim],
    lambda array, draw: np.empty((*draw.choice([(0,), (10**9, 0), (0, 10**9), (10**6, 0, 10**6)]),), array.dtype),
]


def forge_array(header, arrays, draw):
    name = draw.choice(sorted(arrays))
    array, way = arrays[name], draw.random()
    if way < 0.1:
        arrays[name] = arrays[draw.choice(sorted(arrays))]
    elif way < 0.25:
        arrays[name] = array.astype(draw.choice(DTYPES))
    elif array.ndim and array.size:
        arrays[name] = draw.choice(VALUES if way < 0.65 else SHAPES)(array, draw)


def places(value, found=()):
    """Containers of the JSON, with a key of each."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, inner in items for place in [(value, key), *places(inner)]]


ATTRIBUTES = [
    "_checks", "_accepts_missing", "_fit_summary", "loss", "huber_delta", "random_state", "found_", "_said",
    "feature_scale_", "_sklearn_output_config", "_metadata_request", "feature_names_in_", "n_iter_",
]  # fmt: skip


def junk(header, arrays, draw):
    name = draw.choice(sorted(arrays))
    return draw.choice([
        None, True, False, -1, 0, 1, 2, 7, 1.5, -0.5, 1e300, 2**31, 2**63, 10**400,
        "", "x", "auto", "none", "features", "l2", "huber",
        [], {}, [1, 2], [[]], {"tuple": []}, {"dict": {}}, {"array": name}, {"transposed": name}, {"array": "none"},
        {"float": "7ff8000000000000"}, {"float": "7ff0000000000000"}, {"float": "00"}, {"names": ["a", "b"]},
        {"names": 3}, {"string": "l1"}, {"scalar": ["<f8", "00" * 8]}, {"scalar": ["<i8", "ff" * 8]},
        {"scalar": ["<c16", "00" * 16]}, {"Scaling": {"kind": "features"}},
        {"Choice": {"name": 1, "value": 2, "reason": 3}},
        {"Graph": {"weights": {"array": name}}}, {"LowRankImputer": {}}, {"RandomState": {"tuple": []}},
    ])  # fmt: skip


def forge_header(header, arrays, draw):
    every, way = places({"": header["attributes"], " ": header["parameters"]}), draw.random()
    held, key = draw.choice(every if draw.random() < 0.6 else places(header["attributes"]))
    if way < 0.2:
        del held[key]
    elif way < 0.6:
        held[key] = junk(header, arrays, draw)
    elif way < 0.85:
        other, from_key = draw.choice(every)
        held[key] = json.loads(json.dumps(other[from_key]))
    elif way < 0.92:
        from graphlowrank import estimators

        header["class"] = draw.choice(estimators.__all__)
        header["parameters"] = {}
    else:
        header["attributes"][draw.choice(ATTRIBUTES)] = junk(header, arrays, draw)


def forged(kind, seed, number, folder):
    """Path of the forged file of this number."""
    whole, path = folder / f"{kind}.whole", folder / "forged.model"
    if not whole.exists():
        MODELS[kind](whole)
    header, arrays = unzipped(whole)
    draw = random.Random(f"{seed} {kind} {number}")
    for _ in range(draw.choice([1, 1, 1, 2, 3])):
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            draw.choice([forge_array, forge_array, forge_header])(header, arrays, draw)
    zipped(path, header, arrays)
    return path


def use(model, folder):
    """Call everything that reads the attributes of a model."""
    from graphlowrank.decoders import LowRankMatrix
    from graphlowrank.graphs import Graph
    from graphlowrank.reduction import kron_reduce

    repr(model)
    model.save(folder / "again.model")
    report = model.report_
    repr(report), report._repr_html_(), json.dumps(report.as_dict(), default=str), report.to_html()
    X = np.random.default_rng(1).random((5, model.n_features_in_))
    if hasattr(model, "feature_names_in_"):
        import pandas as pd

        X = pd.DataFrame(X, columns=model.feature_names_in_)
    if hasattr(model, "predict"):
        model.predict(X)
        model.predict(np.where(X > 0.5, np.nan, X)) if isinstance(model.points_, np.ndarray) else None
    else:
        scores = np.asarray(model.transform(X))
        model.inverse_transform(scores) if hasattr(model, "inverse_transform") else None
        model.get_feature_names_out()
    for value in list(vars(model).values()):
        if isinstance(value, LowRankMatrix):
            value[:2], value[:, :2], value[0], value.scores
        if isinstance(value, Graph):
            kept = np.unique(np.r_[np.unique(value.components, return_index=True)[1], : value.n_nodes : 2])
            kron_reduce(value, kept, "random_walk", max_steps=100)
            value.unit_laplacian("normalized")
    if hasattr(model, "error_bars") and len(model.draws_) > 1:
        model.error_bars(slice(2))


def is_plain(error):
    """Whether an error was raised on purpose, by a line that says so, in one sentence."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    ours = "raise" in linecache.getline(frame.filename, frame.lineno)
    return isinstance(error, ValueError | FloatingPointError) and ours and str(error).strip() != ""


def outcome_of(path):
    """What loading and using a file gives, and what it said."""
    import graphlowrank

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            model = graphlowrank.load(path)
        except (ValueError, OSError) as error:
            text = str(error)
            fine = "\n" not in text and path.name in text and "MemoryError" not in repr(error.__cause__)
            return ("refused" if fine else "wrong"), text
        except BaseException:
            return "wrong", traceback.format_exc()
        try:
            use(model, path.parent)
        except Exception as error:
            return ("refused" if is_plain(error) else "wrong"), "".join(traceback.format_exception(error))
    return "works", repr(model)


def fuzz(kind, seed, number, folder):
    """Outcome of the forged file of this number; compiled loops run on graphs of any size."""
    from graphlowrank.graphs import graph, locality

    graph.COMPILED_ABOVE = graph.RENUMBERED_ABOVE = locality.RENUMBERED_ABOVE = 0
    return outcome_of(forged(kind, seed, number, folder))
