"""The paper's tables as data, and the runner that fills them."""

import gc
import json
import multiprocessing
import os
import signal
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphlowrank.experiments import KINDS, Cell, Outcome, experiment_names, read_experiment
from graphlowrank.experiments import clustering as clustering_kind
from graphlowrank.experiments.cells import FORMAT
from graphlowrank.experiments.data import DATA, corrupt
from graphlowrank.experiments.kinds import Kind, Measure
from graphlowrank.experiments.remaining import Remaining, duration
from graphlowrank.experiments.runner import measure, run_cells
from graphlowrank.experiments.spec import narrowed, parse_experiment
from graphlowrank.experiments.store import Store
from graphlowrank.methods import METHODS, Fitted, cluster
from graphlowrank.metrics import clustering_error

CLUSTERINGS = [name for name in experiment_names() if read_experiment(name).kind == "clustering"]
DIGITS = {
    "kind": "clustering", "data": "digits", "noise": ["none", 0], "method": "pca", "with": {},
    "swept": {"n_components": [4, 16]}, "preparation": [], "runs": 3, "starts": 1, "seed": 0,
}  # fmt: skip


# --- the files -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("name", experiment_names())
def test_every_file_can_be_expanded(name, quick):
    experiment = read_experiment(name, quick=quick)
    cells = list(KINDS[experiment.kind].expand(experiment))
    assert cells or experiment.kind == "pointer"
    names = {(cell.row, cell.column, cell.protocol, cell.seed) for cell in cells}
    assert len(names) == len(cells), "two cells of one place"
    for cell in cells:
        assert cell.experiment == name
        assert cell.content["kind"] in KINDS
        assert json.loads(json.dumps(cell.content)) == cell.content  # plain values: what is stored is what was run


@pytest.mark.parametrize("name", [name for name in experiment_names() if name != "decoders"])  # of another scene
def test_a_quick_run_is_a_part_of_the_whole(name):
    full, quick = (
        {(cell.row, cell.column): dict(cell.paper) for cell in KINDS[e.kind].expand(e) if cell.protocol != "default"}
        for e in (read_experiment(name), read_experiment(name, quick=True))
    )
    assert quick.keys() <= full.keys()
    assert all(paper.items() <= full[place].items() for place, paper in quick.items())


@pytest.mark.parametrize(
    ("name", "row", "column", "number"),
    [  # read off the paper, one of each table and of each corner where a column may slip
        ("usps-small", "LLE", "Gaussian 20 %", 0.24),
        ("usps-small", "CPCA (2,1)", "sparse 20 %", 0.28),
        ("usps-large", "FRPCAG", "Laplacian 20 %", 0.17),
        ("mnist-small", "PCAG-(1,0)", "sparse 20 %", 0.44),
        ("mnist-small", "CPCA (5,1)", "no noise", 0.39),
        ("orl-small", "CPCA (1,2)", "Gaussian 15 %", 0.14),
        ("orl-large", "GLPCA", "Gaussian 20 %", 0.19),
        ("pie", "NMF", "Gaussian 20 %", 0.27),
        ("yale", "FRPCAG", "Gaussian 5 %", 0.37),
        ("mnist-large", "CPCA (10,2)", "no noise", 0.24),
        ("sampling", "CPCA (10,1)", "Gaussian 15 %", 0.16),
        ("downsampling", "features / 4", "samples / 5", 0.30),
        ("rank", "ORL large, CPCA (2,1), 40 classes", "Laplacian 15 %", 42),
    ],
)
def test_numbers_of_the_paper_stand_where_they_stand_there(name, row, column, number):
    experiment = read_experiment(name)
    found = [cell for cell in KINDS[experiment.kind].expand(experiment) if (cell.row, cell.column) == (row, column)]
    assert {value for cell in found for value in cell.paper.values()} == {number}


def test_the_paper_has_so_many_errors():
    """Squares of tables II to V: 10, 8 and 7 rows of 13 columns, 13 + 10 + 13 + 12 rows of 5, and 2."""
    squares = [
        (name, cell.row, cell.column)
        for name in CLUSTERINGS
        if name != "sampling"
        for cell in clustering_kind.expand(read_experiment(name))
        if cell.paper
    ]
    assert len(squares) == (10 + 8 + 7) * 13 + (13 + 10 + 13 + 12) * 5 + 2


@pytest.mark.parametrize(
    ("text", "message"),
    [("place = 'Table I'\nkind = 'circle'", "must say its title"), ("title = 1", "must say its title")],
)
def test_a_file_that_says_too_little_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        parse_experiment("x", text)


def test_a_row_with_too_few_numbers_is_refused():
    text = (
        "title='T'\nplace='P'\nkind='clustering'\ndata='digits'\nnoise={none=[0]}\n[[rows]]\ntitle='a'\nmethod='pca'\n"
    )
    with pytest.raises(ValueError, match="2 numbers for 1 columns"):
        list(clustering_kind.expand(parse_experiment("x", text + "paper=[1, 2]")))


def test_a_grid_narrows_the_papers_ranges():
    ranges = {"n_components": [2, 4, 8, 16, 32, 64, 128], "other": [1, 2]}
    assert narrowed("full", "le", ranges) == {"n_components": [2, 4, 8, 16, 32, 64], "other": [1, 2]}
    assert narrowed("quick", "lle", ranges)["n_components"] == [8, 16]
    assert narrowed("full", "no such method", ranges) == ranges
    with pytest.raises(ValueError, match="no grid 'finest'"):
        narrowed("finest", "lle", ranges)


def test_what_a_row_fixes_is_not_swept():
    rows = [cell for cell in clustering_kind.expand(read_experiment("mnist-small")) if cell.row == "PCAG-(1,0)"]
    assert rows
    for cell in rows:
        assert cell.content["with"] == {"gamma_features": 0}
        assert "gamma_features" not in cell.content["swept"]


# --- a cell and its name ---------------------------------------------------------------------------------------------


plain = st.dictionaries(
    st.text(max_size=3), st.integers() | st.floats(allow_nan=False) | st.text(max_size=3), max_size=4
)


@given(plain, plain)
def test_content_decides_the_key_and_nothing_else_does(one, other):
    a, b = Cell("t", "r", "c", one), Cell("u", "s", "d", dict(reversed(one.items())), {"error": 1.0}, seed=3)
    assert a.key == b.key
    same = json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    assert (Cell("t", "r", "c", other).key == a.key) == same


def test_a_new_version_or_format_runs_everything_again(monkeypatch):
    cell = Cell("t", "r", "c", {"kind": "x"})
    before = cell.key
    monkeypatch.setattr("graphlowrank.experiments.cells.FORMAT", FORMAT + 1)
    after = cell.key
    monkeypatch.setattr("graphlowrank.experiments.cells.__version__", "99")
    assert len({before, after, cell.key}) == 3


# --- clustering ------------------------------------------------------------------------------------------------------


def test_the_best_of_a_grid_is_the_least_error_of_all_partitions():
    values, pictures = clustering_kind.run(DIGITS)
    X, y = DATA["digits"].load()
    errors = {}
    for n_components in (4, 16):
        rng = np.random.RandomState(0)
        runs = [cluster("pca", X, 10, preparation=(), n_components=n_components, n_init=1, random_state=rng)]
        runs += [
            cluster("pca", X, 10, preparation=(), n_components=n_components, n_init=1, random_state=rng) for _ in "23"
        ]
        errors[n_components] = [clustering_error(y, one.labels) for one in runs]
    assert values["error"] == min(map(min, errors.values()))
    assert values["combinations"] == 2
    assert values["least_median"] == min(map(np.median, errors.values())) >= values["error"]
    assert values["error"] in errors[values["parameters"]["n_components"]]
    assert pictures == {}


def test_default_parameters_see_no_label():
    content = DIGITS | {"method": "cpca", "swept": {}, "runs": 1, "starts": 10}
    X, y = DATA["digits"].load()
    expected = clustering_error(y, cluster("cpca", X, 10, preparation=(), random_state=0).labels)
    assert clustering_kind.run(content)[0]["error"] == pytest.approx(expected, abs=0.02)
    experiment = read_experiment("usps-small")
    for cell in clustering_kind.expand(experiment):
        if cell.protocol == "default":
            assert cell.content["swept"] == {}
            assert cell.content["runs"] == 1
            assert not cell.paper


def test_noise_is_the_same_for_every_method_and_draw(monkeypatch):
    seen = []
    monkeypatch.setattr(clustering_kind, "fit", lambda name, X, k, **options: seen.append(X) or fitted_at_random(X))
    for method, seed in (("pca", 0), ("rpca", 1)):
        content = {"method": method, "seed": seed, "noise": ["gaussian", 20], "swept": {}}
        clustering_kind.run(DIGITS | content)
    X, _ = DATA["digits"].load()
    np.testing.assert_array_equal(seen[0], seen[1])
    np.testing.assert_array_equal(seen[0], corrupt(X, "gaussian", 20, 0))


def fitted_at_random(X):
    return Fitted(lambda n_init, rng: rng.randint(10, size=len(X)), {}, {}, {})


def test_a_combination_that_fails_is_left_out_and_told():
    """256 components of 64 features cannot be; a cell fails if all of its combinations do."""
    values, _ = clustering_kind.run(DIGITS | {"swept": {"n_components": [4, 256]}})
    assert (values["combinations"], values["note"]) == (1, "combinations that failed: 1")
    assert measure(DIGITS | {"swept": {"n_components": [256]}}).reason.startswith("ValueError: n_components must be")


def test_noises_are_named():
    X = np.random.RandomState(0).rand(20, 30).astype(np.float32)
    assert all((corrupt(X, noise, 20, 0) != X).any() for noise in ("gaussian", "laplacian", "sparse"))
    assert corrupt(X, "none", 0, 0) is X
    with pytest.raises(ValueError, match="no noise 'pink'"):
        corrupt(X, "pink", 5, 0)


def test_shapes_of_the_table_are_those_of_the_data():
    X, y = DATA["digits"].load()
    assert (*X.shape, len(np.unique(y))) == (DATA["digits"].n_samples, DATA["digits"].n_features, 10)


@pytest.mark.parametrize("protocol", ["paper", "default"])
@pytest.mark.parametrize("method", METHODS)
def test_preparation_of_each_protocol(method, protocol):
    steps = clustering_kind.preparation(method, protocol, "samples")
    assert "standardise" not in steps
    assert (steps == []) == (method == "kmeans" or (protocol == "default" and method in ("frpcag", "cpca")))
    assert ("clip" in steps) == (method in ("nmf", "gnmf"))


# --- the store -------------------------------------------------------------------------------------------------------


def test_what_is_stored_comes_back(tmp_path):
    cell = Cell("t", "r", "c", {"kind": "x", "n": 1})
    picture = np.arange(12, dtype=np.uint8).reshape(3, 4)
    Store(tmp_path).put(cell, Outcome("done", "", {"error": 0.25, "list": [1, 2]}, {"frame": picture}, 1.5))
    found = Store(tmp_path).get(Cell("other", "table", "", {"n": 1, "kind": "x"}))
    assert found.values == {"error": 0.25, "list": [1, 2]}
    assert found.seconds == 1.5
    np.testing.assert_array_equal(found.pictures["frame"], picture)
    assert Store(tmp_path).get(Cell("t", "r", "c", {"kind": "x", "n": 2})) is None


@pytest.mark.parametrize("ending", [".json", ".npz"])
@pytest.mark.parametrize("damage", [lambda b: b"", lambda b: b[: len(b) // 2], lambda b: b"\x80" + b, None])
def test_a_damaged_file_is_as_good_as_none(tmp_path, ending, damage):
    cell = Cell("t", "r", "c", {"kind": "x"})
    store = Store(tmp_path)
    store.put(cell, Outcome("done", "", {"error": 0.25}, {"frame": np.zeros((4, 4))}))
    path = tmp_path / f"{cell.key}{ending}"
    if damage is None:
        path.unlink()
    else:
        path.write_bytes(damage(path.read_bytes()))
    assert store.get(cell) is None


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 10_000), st.integers(0, 7))
def test_a_flipped_bit_never_stops_a_run(position, bit):
    """Whatever is read is what was stored, or nothing."""
    cell, picture = Cell("t", "r", "c", {"kind": "x"}), np.arange(200.0).reshape(20, 10)
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder))
        store.put(cell, Outcome("done", "", {}, {"frame": picture}))
        path = Path(folder) / f"{cell.key}.npz"
        content = bytearray(path.read_bytes())
        content[position % len(content)] ^= 1 << bit
        path.write_bytes(content)
        found = store.get(cell)
        assert found is None or np.array_equal(found.pictures["frame"], picture)


def test_objects_in_a_stored_file_are_not_unpickled(tmp_path):
    cell = Cell("t", "r", "c", {"kind": "x"})
    store = Store(tmp_path)
    store.put(cell, Outcome("done", "", {}, {"frame": np.zeros(2)}))
    np.savez(tmp_path / f"{cell.key}.npz", frame=np.array([{"an": "object"}], dtype=object))
    assert store.get(cell) is None


# --- the runner ------------------------------------------------------------------------------------------------------


@pytest.fixture
def toy(monkeypatch):
    """A kind that counts its runs."""
    ran = []

    def run(content):
        ran.append(content["n"])
        if content["n"] == 13:
            raise RuntimeError("unlucky, see /home/ann/thirteen.txt")
        if content["n"] == 14:
            raise FileNotFoundError("no such set")
        if content["n"] == 15:
            raise KeyboardInterrupt
        return {"value": content["n"] ** 2}, {}

    monkeypatch.setitem(KINDS, "toy", Kind(lambda e: (), run, (Measure("value", "value"),)))
    return ran


def toy_cell(n, **more):
    return Cell("toy", f"row {n}", "", {"kind": "toy", "n": n}, **more)


def test_equal_cells_run_once_and_failures_are_told_but_not_stored(tmp_path, toy):
    told = {}
    cells = [toy_cell(2), Cell("elsewhere", "r", "c", {"n": 2, "kind": "toy"}), toy_cell(13), toy_cell(14)]
    run_cells(cells, Store(tmp_path), done=lambda cell, outcome: told.update({cell.name: outcome}))
    assert toy == [2, 13, 14]
    assert [told[cell.name].status for cell in cells] == ["done", "done", "failed", "missing"]
    assert told[cells[2].name].reason == "RuntimeError: unlucky, see thirteen.txt"  # no path of a machine in results
    assert [Store(tmp_path).get(cell) is not None for cell in cells] == [True, True, False, False]


def test_what_is_timed_comes_last(tmp_path, toy):
    run_cells([toy_cell(1, alone=True), toy_cell(2), toy_cell(3)], Store(tmp_path))
    assert toy == [2, 3, 1]


def test_an_interrupt_keeps_what_was_done(tmp_path, toy):
    with pytest.raises(KeyboardInterrupt):
        run_cells([toy_cell(1), toy_cell(15), toy_cell(3)], Store(tmp_path))
    assert [Store(tmp_path).get(toy_cell(n)) is not None for n in (1, 15, 3)] == [True, False, False]


def test_processes_give_the_same_values(tmp_path):
    cells = [
        Cell("t", method, "", DIGITS | {"method": method, "swept": {}, "seed": seed})
        for method, seed in (("pca", 0), ("kmeans", 0), ("cpca", 0), ("cpca", 1))
    ]
    stores = Store(tmp_path / "one"), Store(tmp_path / "two")
    for store, jobs in zip(stores, (1, 2), strict=True):
        run_cells(cells, store, jobs=jobs)
    for cell in cells:
        assert stores[0].get(cell).values == stores[1].get(cell).values
    assert not multiprocessing.active_children()


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="Windows has no such signal")
def test_a_killed_process_takes_nobody_along(tmp_path, monkeypatch):
    """The cell that kills its process fails, and only that one: those in flight beside it are run again."""
    told = {}
    cells = [Cell("t", f"row {n}", "", DIGITS | {"method": "kmeans", "swept": {}, "seed": n}) for n in range(4)]
    deadly = Cell("t", "deadly", "", {"kind": "killed.by.the.kernel"})
    monkeypatch.setattr("graphlowrank.experiments.runner.measure", measure_or_die)
    run_cells([cells[0], deadly, *cells[1:]], Store(tmp_path), jobs=2, done=lambda c, o: told.update({c.row: o}))
    assert told.pop("deadly").reason.startswith("its process was killed")
    assert {row: outcome.status for row, outcome in told.items()} == {cell.row: "done" for cell in cells}
    assert not multiprocessing.active_children()


def measure_or_die(content, threads=None):
    if content["kind"] == "killed.by.the.kernel":
        os.kill(os.getpid(), signal.SIGKILL)
    return measure(content, threads)


def test_an_interrupt_stops_the_processes(tmp_path):
    """Ctrl-C while two cells are in flight: what was told before is stored, and no process stays."""
    cells = [Cell("t", f"row {n}", "", DIGITS | {"method": "kmeans", "swept": {}, "seed": n}) for n in range(6)]

    def interrupted(cell, outcome):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_cells(cells, Store(tmp_path), jobs=2, done=interrupted)
    assert sum(Store(tmp_path).get(cell) is not None for cell in cells) == 1
    gc.collect()  # the generator of outcomes ends here at the latest
    assert not multiprocessing.active_children()


def test_measure_reports_an_unknown_data_set():
    assert measure(DIGITS | {"data": "nowhere"}).reason.startswith("ValueError: no data set 'nowhere'")


# --- time left -------------------------------------------------------------------------------------------------------


@given(st.lists(st.floats(0, 1e4), min_size=1, max_size=20), st.integers(1, 4))
def test_time_left_of_equal_cells_is_their_mean_times_their_number(seconds, jobs):
    cells = [Cell("t", "row", str(i), {}) for i in range(2 * len(seconds))]
    rest = Remaining(cells, jobs)
    assert rest.seconds() is None
    assert rest.text() == ""
    for cell, taken in zip(cells, seconds, strict=False):
        rest.done(cell, taken)
    assert rest.seconds() == pytest.approx(sum(seconds) / jobs)
    assert rest.count == len(seconds)


def test_a_cell_is_guessed_from_its_own_row_first():
    slow, fast, other = (Cell("t", row, c, {"method": row}) for row, c in (("a", "1"), ("b", "1"), ("c", "1")))
    rest = Remaining([slow, fast, *(Cell("t", "a", str(i), {"method": "a"}) for i in range(3)), other], 1)
    rest.done(slow, 100)
    rest.done(fast, 1)
    assert rest.seconds() == pytest.approx(300 + 50.5)
    assert duration(3599) == "1 h 0 min"
