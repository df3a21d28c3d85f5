"""A model on disk is the model, bit by bit; a file that is not one is refused in a sentence."""

import io
import json
import pickle
import random
import struct
import tempfile
import zipfile
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from graphlowrank import RobustPCA, estimators
from graphlowrank.auto.choice import Choice
from graphlowrank.estimators import persistence
from graphlowrank.estimators.persistence import NUMBERS, SPARSE, load, save
from graphlowrank.estimators.records import StoredRecord
from graphlowrank.preprocessing.scaling import Scaling
from helpers import random_graph

RNG = np.random.default_rng(0)
X = np.abs(RNG.standard_normal((50, 3)) @ RNG.standard_normal((3, 8))) + 0.1 * RNG.random((50, 8))
NEW = np.abs(RNG.standard_normal((20, 3)) @ RNG.standard_normal((3, 8)))


def assert_alike(a, b):
    """Same types and same bits, all the way down."""
    assert type(a) is type(b)
    if isinstance(a, np.ndarray) and a.dtype != object:
        assert (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())
        if b.flags.c_contiguous or b.flags.f_contiguous:  # else it was stored in the order that is closest
            assert (a.flags.c_contiguous, a.flags.f_contiguous) == (b.flags.c_contiguous, b.flags.f_contiguous)
    elif sp.issparse(a) or is_dataclass(a):
        parts = ["shape", "data", "indices", "indptr"] if sp.issparse(a) else [one.name for one in fields(a)]
        assert_alike([getattr(a, part) for part in parts], [getattr(b, part) for part in parts])
    elif isinstance(a, list | tuple | np.ndarray):
        assert len(a) == len(b)
        for one, other in zip(a, b, strict=True):
            assert_alike(one, other)
    elif isinstance(a, dict):
        assert_alike(list(a.items()), list(b.items()))
    elif isinstance(a, np.random.RandomState):
        assert_alike(a.get_state(), b.get_state())
    elif isinstance(a, float | np.number):
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes()
    else:
        assert a == b


def stored(model):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "any.name")
        save(model, path)
        assert list(Path(folder).iterdir()) == [path]
        return load(str(path))


@cache
def fitted(name, data="dense"):
    model = getattr(estimators, name)(3).set_params(**({} if name == "RobustPCA" else {"random_state": 0}))
    return model.fit({"dense": X, "sparse": sp.csr_array(X * (X > 1)), "gaps": np.where(X > 2, np.nan, X)}[data])


def answer(model):
    return model.predict(NEW) if hasattr(model, "predict") else model.transform(NEW)


@st.composite
def arrays(draw):
    dtype = draw(st.sampled_from(NUMBERS))
    array = draw(hnp.arrays(dtype, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)))
    way = draw(st.sampled_from(["as it is", "transposed", "every second"]))
    return array if way == "as it is" or array.ndim == 0 else array.T if way == "transposed" else array[::2]


TEXT = st.text(st.characters(), max_size=5)  # lone surrogates, too
LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.sampled_from([-0.0, struct.unpack(">d", b"\xff" * 8)[0]]),
    TEXT, TEXT.map(lambda text: np.str_(text.rstrip("\0"))), st.sampled_from(NUMBERS).flatmap(hnp.from_dtype), arrays(),
    st.sampled_from(SPARSE).map(lambda kind: kind(random_graph(4).weights)),
    st.lists(TEXT, max_size=3).map(lambda names: np.array(names, dtype=object)),
    st.integers(0, 9).map(lambda seed: (used := np.random.RandomState(seed), used.standard_normal())[0]),
    st.integers(1, 4).map(random_graph),
    st.sampled_from([Scaling("none"), Scaling("samples"), Scaling("features", np.zeros(2), np.ones(2))]),
)  # fmt: skip
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.lists(inner, max_size=3).map(tuple), st.dictionaries(TEXT, inner, max_size=3),
        st.builds(Choice, TEXT, inner, TEXT),
    ),
    max_leaves=8,
)  # fmt: skip


@settings(max_examples=100, deadline=None)
@given(VALUES, VALUES)
@example({"a b": np.ones(2), "a/b": np.zeros(3)}, {"../a": np.ones(2, np.int8), "x" * 70_000: np.ones(4)})
def test_any_value_comes_back_as_it_was(parameter, attribute):
    model = RobustPCA(weight=parameter)
    model.found_ = attribute
    assert_alike(vars(stored(model)), vars(model))


def test_arrays_get_the_byte_order_of_this_machine():
    model = RobustPCA(weight=np.arange(3, dtype=">f8"))
    model.found_ = np.arange(4, dtype=">i2").reshape(2, 2).T
    assert_alike(stored(model).weight, np.arange(3.0))
    assert_alike(stored(model).found_, np.arange(4, dtype=np.int16).reshape(2, 2).T)


@pytest.mark.parametrize("fit", [*estimators.__all__, "CompressiveClustering sparse", "CompressiveClustering gaps"])
def test_a_fitted_model_comes_back_as_it_was(fit):
    model = fitted(*fit.split())
    again = stored(model)
    assert_alike(vars(again), vars(model))
    assert_alike(answer(again), answer(model))
    assert repr(again.report_) == repr(model.report_)
    assert_alike(vars(stored(type(model)())), vars(type(model)()))  # one that is not fitted, too
    assert_alike(answer(pickle.loads(pickle.dumps(model))), answer(model))


def test_options_of_every_kind_and_names_of_features_are_kept():
    frame, new = (pd.DataFrame(data, columns=list("äbcdefgh"), dtype=np.float32) for data in (X, NEW))
    graph = sp.csr_matrix(random_graph(50, seed=3).weights)
    graph.indices, graph.indptr = graph.indices.astype(np.int64), graph.indptr.astype(np.int64)
    model = estimators.CompressivePCA(
        2, sample_graph=graph, feature_graph=random_graph(8), sampling=(np.arange(30), None), n_draws=2,
        decoder_options={"filter": 2}, random_state=np.random.RandomState(4),
    ).fit(frame).set_output(transform="pandas")  # fmt: skip
    again = stored(model)
    assert_alike(vars(again), vars(model))
    assert again.transform(new).equals(model.transform(new))
    with pytest.raises(ValueError, match="feature names"):
        again.transform(new.iloc[:, ::-1])
    assert_alike(again.fit(X).low_rank_, model.fit(X).low_rank_)  # the random state goes on where it was


def test_arrays_are_written_once_and_numpy_reads_them(tmp_path):
    path, model = tmp_path / "a.model", fitted("CompressivePCA")
    save(model, path)
    again = load(path)
    assert np.shares_memory(again.components_, again.low_rank_.right)
    assert_alike(np.load(path)["sample_graph_.weights.data"], model.sample_graph_.weights.data)
    save(model, tmp_path / "b.model")
    assert path.read_bytes() == (tmp_path / "b.model").read_bytes()


loop = []
loop.append(loop)
REFUSED = {
    "code, .*set_params": lambda: 2,
    "keys that are not strings": {1: 2},
    "integer": np.random.default_rng(0),
    "integer instead": np.random.RandomState(np.random.PCG64(0)),
    "tocsr": sp.coo_array(np.eye(2)),
    "dtype object": np.array([1, "a"], dtype=object),
    "MaskedArray": np.ma.masked_array([1.0], [True]),
    "contains itself": loop,
    "type datetime64": np.datetime64(0, "s"),
    "type set": {1},
}


@pytest.fixture
def old(tmp_path):
    path = tmp_path / "old.model"
    path.write_text("old")
    yield path
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_stored_is_named_and_nothing_is_written(old, what):
    with pytest.raises(TypeError, match=rf"^decoder_options\.a(\.0)*\W.*{what}"):
        save(estimators.CompressivePCA(decoder_options={"a": REFUSED[what]}), old)
    with pytest.raises(TypeError, match="only estimators of graphlowrank can be saved; got Mine"):
        save(type("Mine", (RobustPCA,), {})(), old)


def test_a_stopped_write_leaves_the_old_file(old, monkeypatch):
    def stop(entry, array, **options):
        entry.write(b"half of it")
        raise KeyboardInterrupt

    monkeypatch.setattr(np.lib.format, "write_array", stop)
    with pytest.raises(KeyboardInterrupt):
        save(fitted("RobustPCA"), old)


@pytest.fixture
def whole(tmp_path):
    path = tmp_path / "small.model"
    save(RobustPCA().fit(X[:8, :3]), path)
    return path


def test_a_damaged_file_is_refused_or_read_right(whole):
    raw, model, refused, draw = whole.read_bytes(), load(whole), [], random.Random(0)
    cut = [raw[: len(raw) * part // 20] for part in range(20)]
    starts = (0, raw.index(b"PK\x01\x02"))  # half of the faults go into the directory, which no sum protects
    bits = [draw.randrange(8 * start, 8 * len(raw)) for start in starts for _ in range(150)]
    flipped = [raw[: bit // 8] + bytes([raw[bit // 8] ^ 1 << bit % 8]) + raw[bit // 8 + 1 :] for bit in bits]
    for damaged in (*cut, *flipped):
        whole.write_bytes(damaged)
        try:
            again = load(whole)
        except ValueError as error:
            refused.append(str(error))
        else:
            assert_alike(vars(again), vars(model))
    assert all(message.startswith(f"{whole} ") for message in refused)
    assert len(refused) > len(cut) + len(flipped) / 2


def npy(array, **options):
    file = io.BytesIO()
    np.save(file, array, **options)
    return file.getvalue()


def put(**changes):
    return lambda header, entries: header.update(changes)


def attribute(value, name="found_"):
    return lambda header, entries: header["attributes"].update({name: value})


def entry(raw, name="low_rank_"):
    return lambda header, entries: entries.update({f"{name}.npy": raw})


TRAP = type("Trap", (), {"__reduce__": lambda self: (pytest.fail, ("the file was run",))})()
PARTS = {"data": np.ones(1), "indices": np.array([7]), "indptr": np.array([0, 1]), "key": np.zeros(624, np.uint32)}
SPREAD = {name: {"array": name} for name in ("data", "indices", "indptr")}
FORGED = {
    "is not a model file": put(format="other"),
    "is not a model file of graphlowrank": lambda header, entries: header.pop("library"),
    "written by graphlowrank 9.1; update": put(schema=2, library="9.1"),
    "unknown estimator, 'Popen'": put(**{"class": "Popen"}),
    "does not know, shell; it was written by": put(parameters={"shell": True}),
    "damaged: its schema": put(schema=True),
    "damaged: it lacks the array low_rank_": lambda header, entries: entries.pop("low_rank_.npy"),
    "unknown kind 'os.system'": attribute({"os.system": "true"}),
    "cannot have an attribute 'transform'": attribute(1, "transform"),
    "cannot have an attribute '__class__'": attribute(1, "__class__"),
    "damaged: it holds NaN": attribute(float("nan")),
    "invalid state": attribute({"RandomState": {"tuple": [{"array": "key"}, 700, 0, 0.0]}}),
    "number of type object": attribute({"scalar": ["O", "00" * 8]}),
    "damaged: .*indices": attribute({"csr_array": {"shape": [1, 2], **SPREAD}}),
    "damaged: .*index pointer": attribute({"csr_array": {"shape": [10**12, 9], **SPREAD}}),
    "Python objects": entry(npy(np.array([TRAP]), allow_pickle=True), "unused"),
    "low_rank_.npy does not hold": entry(npy(np.ones((8, 3))).replace(b"(8, 3), }      ", b"(8, 3000000), }")),
    "low_rank_.npy does not hold the": entry(npy(np.array(["text"]))),
    "damaged: .*magic": entry(b"not an array"),
}


def rewrite(path, *changes):
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(entries.pop("model.json"))
    for change in changes:
        change(header, entries)
    with zipfile.ZipFile(path, "w") as archive:
        for name, raw in {"model.json": json.dumps(header), **entries}.items():
            archive.writestr(name, raw)


@pytest.mark.parametrize("what", FORGED)
def test_a_forged_file_is_refused(whole, what):
    rewrite(whole, *(entry(npy(array), name) for name, array in PARTS.items()), FORGED[what])
    with pytest.raises(ValueError, match=rf"small\.model .*({what}).*\.$"):
        load(whole)


def test_other_files_are_refused(whole):
    none, deep, other, packed, twice = (io.BytesIO() for _ in range(5))
    np.savez(other, X)
    np.savez_compressed(packed, X)
    for file, times in ((deep, 1), (twice, 2)):
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("model.json", "[" * 100_000)
            archive.filelist *= times
    cases = {"is not a model": none, "a model": other, "damaged": deep, "compressed": packed, "overlap": twice}
    for what, file in cases.items():
        whole.write_bytes(file.getvalue())
        with pytest.raises(ValueError, match=rf"small\.model .*{what}"):
            load(whole)
    with pytest.raises(FileNotFoundError):
        load(whole.parent / "none")


def test_parameters_that_came_later_take_their_defaults(whole):
    rewrite(whole, put(parameters={"tol": 0.5}))
    assert load(whole).get_params() == RobustPCA(tol=0.5).get_params()


def test_renamed_classes_fields_and_attributes_are_understood(whole, monkeypatch):
    old = {"Verdict": {"called": "loss", "value": "l1", "weight": 3}}  # an older Choice
    rewrite(whole, attribute({"tuple": [old]}, "_chosen"), attribute(1, "_unused"))
    with pytest.raises(ValueError, match="unknown kind 'Verdict'"):
        load(whole)
    record = StoredRecord(Choice, renamed={"called": "name", "weight": None}, added={"reason": "as asked"})
    monkeypatch.setitem(persistence.RECORDS, "Verdict", record)
    monkeypatch.setattr(persistence, "RENAMED_ATTRIBUTES", {"_chosen": "choices_", "_unused": None})
    model = load(whole)
    assert model.choices_ == (Choice("loss", "l1", "as asked"),)
    assert not hasattr(model, "_unused")
    save(model, whole)  # under the first name of the class
    assert b'{"Choice": {"name": "loss"' in whole.read_bytes()
    assert load(whole).choices_ == model.choices_
