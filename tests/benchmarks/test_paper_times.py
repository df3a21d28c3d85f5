"""The paper's table of times and its table of complexities."""

import json
import time

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from graphlowrank import CompressiveClustering, FastRobustPCAOnGraphs, RobustPCA, RobustPCAOnGraphs
from graphlowrank.graphs import knn_graph
from graphlowrank_benchmarks import data
from graphlowrank_benchmarks.cells import Record
from graphlowrank_benchmarks.data import feature_graph, parts, prepare, sample_graph
from graphlowrank_benchmarks.paper import growth, timing
from graphlowrank_benchmarks.paper.spec import parse_experiment, read_experiment
from graphlowrank_benchmarks.systems import ALGORITHM_3, METHODS, Fitted, recovery

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

# Seconds and iterations as printed, row by row: G_r, G_c, FRPCAG, CPCA, RPCAG, RPCA; None for infinity.
PRINTED = {
    "mnist-5000": ([10.8, 4.3, 13.7, 5, 1345, 1090], [27, 30, 325, 378], [5, 1]),
    "mnist-15000": ([32.5, 13.3, 35.4, 13, 3801, 3400], [23, 25, 412, 323], [5, 1]),
    "mnist-25000": ([40.7, 22.2, 58.6, 20, None, None], [24, 37, None, None], [10, 1]),
    "orl-original": ([1.8, 56.4, 24.7, 14, 360, 240], [12, 15, 301, 320], [2, 1]),
    "usps-small": ([5.8, 10.8, 21.7, 12, 900, 790], [16, 31, 410, 350], [10, 1]),
}


@pytest.fixture
def tiny(monkeypatch):
    """Sixty standardized samples in three clusters, under a name of their own."""
    X = parts(60, 12, 3, seed=0)
    monkeypatch.setitem(data.DATA, "tiny", data.DataSet(60, 12, 3, lambda: (X, np.zeros(60))))
    return prepare(X, ("standardize",))


def content_of(part, **changes):
    return {
        "kind": "times", "data": "tiny", "part": part, "preparation": ["standardize"], "precision": "float64",
        "threads": 1, "seed": 0, "downsampling": [2, 1], "limit_seconds": 60, **changes,
    }  # fmt: skip


def measured(part, **changes):
    record = timing.run(content_of(part, **changes))
    assert not record.pictures
    return json.loads(json.dumps(record.values))


# --- times ---------------------------------------------------------------------------------------------------------


def test_every_number_of_the_papers_table_of_times_is_there():
    cells = list(timing.expand(read_experiment("times")))
    assert len(cells) == 5 * 6 + 4  # and the row of Table V, without the robust ones
    assert len({(cell.row, cell.column) for cell in cells}) == len(cells)
    by_data = {}
    for cell in cells:
        by_data.setdefault(cell.content["data"], []).append(cell)
    assert [cell.paper.get("seconds") for cell in by_data.pop("mnist-70000")] == [None, None, 350, 58]
    assert list(by_data) == list(PRINTED)
    for name, (seconds, iterations, downsampling) in PRINTED.items():
        assert [cell.paper.get("seconds") for cell in by_data[name]] == seconds
        assert [cell.paper.get("iterations") for cell in by_data[name]] == [None, None, *iterations]
        assert by_data[name][3].content["downsampling"] == downsampling


def test_what_the_paper_did_not_finish_is_said():
    experiment = read_experiment("times")
    assert any("did not converge in 4 hours" in note for note in experiment.notes)


def test_the_quick_table_of_times_leaves_out_the_large_sets_and_waits_less():
    quick, full = (list(timing.expand(read_experiment("times", quick=quick))) for quick in (True, False))
    assert {cell.content["data"] for cell in quick} == {"mnist-5000", "orl-original", "usps-small"}
    capped = [next(c for c in cells if c.column == "RPCA").content["limit_seconds"] for cells in (quick, full)]
    assert capped == [20, 60]


@pytest.mark.parametrize("name", ["times", "complexity"])
def test_contents_are_plain_timed_alone_and_differ(name):
    cells = list({"times": timing, "complexity": growth}[name].expand(read_experiment(name)))
    assert all(json.loads(json.dumps(cell.content)) == cell.content for cell in cells)
    assert all(cell.alone for cell in cells)
    assert len({cell.key for cell in cells}) == len(cells)


def test_data_are_prepared_as_the_methods_say():
    (steps,) = {tuple(cell.content["preparation"]) for cell in timing.expand(read_experiment("times"))}
    assert {METHODS[name].preparation for name in ("frpcag", "cpca", "rpcag", "rpca")} == {steps}


def test_a_number_for_an_unknown_part_is_refused():
    text = "title='T'\nplace='P'\nkind='times'\n[[rows]]\ntitle='R'\nseconds={pca=1}\niterations={}"
    with pytest.raises(ValueError, match="R has seconds of parts other than"):
        list(timing.expand(parse_experiment("t", text)))


def test_graphs_have_seconds_only(tiny):
    for part in ("feature_graph", "sample_graph"):
        assert measured(part).keys() == {"seconds"}
    assert feature_graph(tiny, 0).n_nodes == 12
    assert sample_graph(tiny, 0).n_nodes == 60


def test_models_take_the_iterations_of_the_estimators(tiny):
    """What is timed is what a user would run, as in the paper."""
    graphs = {"sample_graph": sample_graph(tiny, 0), "feature_graph": feature_graph(tiny, 0)}
    models = {
        "frpcag": FastRobustPCAOnGraphs(laplacian="normalized", **graphs),
        "cpca": CompressiveClustering(3, downsampling=(2, 1), random_state=0, **ALGORITHM_3, **graphs),
        "rpcag": RobustPCAOnGraphs(sample_graph=graphs["sample_graph"]),
        "rpca": RobustPCA(),
    }
    for part, model in models.items():
        values = measured(part)
        assert values["iterations"] == model.fit(tiny).n_iter_ > timing.WARM_UP_ITERATIONS
        assert "note" not in values


def test_the_clock_leaves_the_graphs_out(tiny):
    """FRPCAG: the solver alone; CPCA: everything after the graphs."""
    solver, everything = measured("frpcag"), measured("cpca")
    assert solver["seconds"] == solver["stages"]["frpcag"] < sum(solver["stages"].values())
    assert everything["seconds"] == sum(everything["stages"].values())
    assert everything["stages"].keys() >= {"sampling", "reduction", "frpcag", "decoding"}
    assert not {"sample graph", "feature graph"} & everything["stages"].keys()


@pytest.mark.parametrize("part", ["rpca", "rpcag"])
def test_what_takes_too_long_is_stopped_and_has_no_seconds_and_no_iterations(part, tiny):
    assert measured(part, limit_seconds=0) == {"seconds": None, "note": "did not finish in 0 s (1 iterations)"}


@pytest.mark.parametrize("with_graph", [False, True])
def test_the_limit_is_felt_at_the_iteration_that_passes_it(with_graph, tiny, monkeypatch):
    """The clock moves ten seconds whenever it is looked at: at the start, and after each iteration."""
    ticks = iter(range(0, 10_000, 10))
    monkeypatch.setattr(recovery.time, "perf_counter", lambda: next(ticks))
    graph = knn_graph(tiny, 3) if with_graph else None
    with pytest.raises(recovery.OutOfTimeError, match=r"did not finish in 35 s \(4 iterations\)"):
        recovery.solve_robust(tiny, graph, 35)


@pytest.mark.parametrize("Estimator", [RobustPCA, RobustPCAOnGraphs])
def test_robust_pca_is_what_its_estimator_finds(Estimator, tiny):
    graph = knn_graph(tiny, 3) if Estimator is RobustPCAOnGraphs else None
    model = Estimator(1, **({} if graph is None else {"sample_graph": graph})).fit(tiny)
    scale = np.abs(tiny).max()
    np.testing.assert_allclose(recovery.solve_robust(tiny, graph, 60).low_rank, model.low_rank_, atol=1e-3 * scale)


def test_a_solver_at_its_last_iteration_is_said_not_to_have_converged(tiny):
    found = recovery.solve_robust(tiny, None, 60, max_iter=3)
    record = Record()
    record.iterations(found.n_iter, converged=found.converged)
    assert (record.values["iterations"], record.values["note"]) == (3, "not converged after 3 iterations")


# --- complexity ----------------------------------------------------------------------------------------------------


def test_every_method_of_the_papers_table_of_complexities_has_its_exponent():
    found = {cell.content["method"]: cell.paper["slope"] for cell in growth.expand(read_experiment("complexity"))}
    cubic_or_square = {"le": 3, "glpca": 3, "lle": 2}
    assert found == {name: cubic_or_square.get(name, 1) for name in METHODS if name != "kmeans"}


@pytest.mark.parametrize("quick", [True, False])
def test_sizes_end_where_a_method_gets_too_slow(quick):
    experiment = read_experiment("complexity", quick=quick)
    for row, cell in zip(experiment.options["rows"], growth.expand(experiment), strict=True):
        assert cell.content["sizes"] == [n for n in experiment.options["sizes"] if n <= row.get("up_to", np.inf)]
        assert cell.content["warm_up"] <= cell.content["sizes"][-1]


def test_a_slope_needs_two_sizes():
    text = "title='T'\nplace='P'\nkind='complexity'\nsizes=[10, 20]\n[[rows]]\ntitle='R'\nup_to=10"
    with pytest.raises(ValueError, match="R has 1 sizes; a slope needs two"):
        list(growth.expand(parse_experiment("t", text)))


def growth_content(method, **changes):
    return {
        "kind": "complexity", "method": method, "with": {}, "sizes": [40, 80, 160], "warm_up": 40, "seed": 0,
        "n_features": 12, "n_clusters": 3, "threads": 1, "repeats": 3, "repeat_below": 1.0, **changes,
    }  # fmt: skip


def fitted(seconds):
    def partition(n_init, random_state):
        raise AssertionError("k-means is not to be run")

    return Fitted(partition, {}, {"graph": 9.0, "model": seconds}, {})


@pytest.mark.parametrize("exponent", [1.0, 2.5])
def test_the_exponent_of_a_planted_power_law_is_found(exponent, monkeypatch):
    """Two runs of three are disturbed; the graph does not count."""
    calls = []

    def fit(name, X, n_clusters, **options):
        calls.append(len(X))
        return fitted(1e-9 * len(X) ** exponent * (1 if calls.count(len(X)) % 3 == 0 else 3))

    monkeypatch.setattr(growth, "fit", fit)
    values = growth.run(growth_content("pca", warm_up=20)).values
    assert calls == [20, *(n for n in (40, 80, 160) for _ in range(3))]
    assert values["slope"] == pytest.approx(exponent, abs=1e-5)
    assert values["seconds"] == pytest.approx([1e-9 * n**exponent for n in (40, 80, 160)])
    assert values["seconds_at_largest"] == values["seconds"][-1]


def test_long_runs_are_not_repeated(monkeypatch):
    calls = []
    monkeypatch.setattr(growth, "fit", lambda name, X, k, **options: calls.append(len(X)) or fitted(2.0))
    growth.run(growth_content("pca", warm_up=20))
    assert calls == [20, 40, 80, 160]


def test_spreading_labels_is_a_part_of_cpca(monkeypatch):
    """A clock that stands still but for the decoder, which takes seven seconds."""
    now = 0.0

    def partition(n_init, random_state):
        nonlocal now
        now += 7

    monkeypatch.setattr(time, "perf_counter", lambda: now)
    monkeypatch.setattr(growth, "fit", lambda *given, **options: Fitted(partition, {}, {"model": 2.0}, {}))
    values = growth.run(growth_content("cpca")).values
    assert values["seconds"] == [9.0] * 3


@pytest.fixture
def spied(monkeypatch):
    """Options of every fit."""
    calls, fit = [], growth.fit

    def spy(*given, **options):
        calls.append(options)
        return fit(*given, **options)

    monkeypatch.setattr(growth, "fit", spy)
    return calls


COMPLEXITY = list(growth.expand(read_experiment("complexity")))


@pytest.mark.parametrize("cell", COMPLEXITY, ids=lambda cell: cell.content["method"])
def test_every_method_is_run_with_its_graphs_given(cell, spied):
    method = cell.content["method"]
    content = growth_content(method, sizes=[60, 120], repeats=1, **{"with": cell.content["with"]})
    record = growth.run(content)
    values = record.values
    assert not record.pictures
    assert json.loads(json.dumps(values)) == values
    assert len(values["seconds"]) == 2
    assert all(("graph" in options) == METHODS[method].needs_graph for options in spied)
    assert all(("feature_graph" in options) == (method in ("frpcag", "cpca")) for options in spied)


def test_made_samples_are_non_negative_in_parts_and_decided_by_the_seed():
    X = parts(300, 30, 4, seed=1)
    assert X.shape == (300, 30)
    assert X.min() >= 0
    values = np.linalg.svd(X, compute_uv=False)
    assert values[10] < 0.1 * values[0]  # ten parts, and noise
    assert_array_equal(X, parts(300, 30, 4, seed=1))
