"""The paper's tables as data, and the runner that fills them."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphlowrank.metrics import clustering_error
from graphlowrank_benchmarks.cells import FORMAT, Cell, content_key
from graphlowrank_benchmarks.data import DATA, corrupt
from graphlowrank_benchmarks.paper import clustering as clustering_kind
from graphlowrank_benchmarks.paper.kinds import KINDS
from graphlowrank_benchmarks.paper.spec import experiment_names, narrowed, parse_experiment, read_experiment
from graphlowrank_benchmarks.runner import measure
from graphlowrank_benchmarks.systems import METHODS, Fitted, cluster

from .helpers import DIGITS

CLUSTERINGS = [name for name in experiment_names() if read_experiment(name).kind == "clustering"]


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


def test_a_new_version_or_format_runs_everything_again():
    content = {"kind": "x"}
    changed = [content_key(content, format_number=FORMAT + 1), content_key(content, version="99")]
    assert len({Cell("t", "r", "c", content).key, *changed}) == 3


# --- clustering ------------------------------------------------------------------------------------------------------


def test_the_best_of_a_grid_is_the_least_error_of_all_partitions():
    record = clustering_kind.run(DIGITS)
    values, pictures = record.values, record.pictures
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
    assert clustering_kind.run(content).values["error"] == pytest.approx(expected, abs=0.02)
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
    values = clustering_kind.run(DIGITS | {"swept": {"n_components": [4, 256]}}).values
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
    assert "standardize" not in steps
    assert (steps == []) == (method == "kmeans" or (protocol == "default" and method in ("frpcag", "cpca")))
    assert ("clip" in steps) == (method in ("nmf", "gnmf"))
