"""Cases that once failed in ``make fuzz``, and the campaign itself on its first numbers."""

import json
import subprocess
import sys
from types import SimpleNamespace

import fuzz_estimators
import fuzz_graphs
import fuzz_outcomes
import numpy as np
import pytest
import run
import scipy.sparse as sp
from fuzz_driver import Worker
from fuzz_dying import dying
from sklearn.exceptions import ConvergenceWarning

from graphlowrank import (
    CompressiveClustering,
    CompressivePCA,
    GraphLaplacianPCA,
    GraphNMF,
    ManifoldMF,
    RobustPCA,
    RobustPCAOnGraphs,
)
from graphlowrank.auto.gamma_search import _Search
from graphlowrank.decoders import DECODERS
from graphlowrank.decoders.robust import ridge_penalty
from graphlowrank.graphs import grid_graph, knn_graph, lowest_eigenpairs, path_graph
from graphlowrank.models.losses import make_loss
from graphlowrank.reduction import sparsify
from graphlowrank.sampling import draw

X = np.random.default_rng(0).standard_normal((40, 4))


# --- answers ---


def test_eigenpairs_of_tiny_weights_converge():
    outcome, text = fuzz_graphs.fuzz(742515, None)
    assert outcome == "works", text


@pytest.mark.parametrize("delta", [1e-300, 0.0])
def test_a_corner_that_underflows_is_refused(delta):
    with pytest.raises(ValueError, match="huber_delta must be a number above 1e-30"):
        CompressivePCA(2, loss="huber", huber_delta=delta).fit(X)


@pytest.mark.filterwarnings("error")
def test_a_factor_without_variance_has_a_finite_penalty():
    values = np.column_stack([np.ones(5), np.full(5, 1e-170)])
    np.testing.assert_allclose(ridge_penalty(values, 0.1), [0.01, 1e30])


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_a_model_predicts_for_its_training_data_what_it_does_for_a_copy(form):
    data = form(np.random.default_rng(0).standard_normal((60, 3)))
    options = {"scaling": "none", "robust_graphs": False, "partition": "k-means", "n_neighbors": 2}
    model = CompressiveClustering(8, **options, random_state=0).fit(data)
    np.testing.assert_array_equal(model.predict(data), model.predict(data.copy()))


def test_weights_of_the_loss_may_be_huge():
    weights = np.where(np.arange(40) < 20, 1.0, 0.5)
    one, other = (
        CompressivePCA(2, random_state=0, robust_graphs=False, gamma_samples=1.0, gamma_features=1.0)
        .fit(X, sample_loss_weight=weights * unit)
        .components_
        for unit in (1.0, 2.0**1023)
    )
    np.testing.assert_array_equal(one, other)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("bandwidth", "weight"), [(1e-300, 1e-4), (1e300, 1)])
def test_an_extreme_bandwidth_gives_equal_weights(dtype, bandwidth, weight):
    np.testing.assert_allclose(knn_graph(X.astype(dtype), 3, bandwidth=bandwidth).weights.data, weight)


def test_distances_beyond_the_squares_of_single_precision():
    data = X.astype(np.float32)
    options = {"scaling": "none", "robust_graphs": False, "random_state": 0, "partition": "k-means"}
    one, other = (
        CompressiveClustering(2, **options).fit(data * np.float32(unit)).predict(data[:20] * np.float32(unit))
        for unit in (1, 2.0**110)
    )
    np.testing.assert_array_equal(one, other)


def test_a_huge_huber_delta_is_the_square_loss():
    model = RobustPCA(2).fit(X * 1e100)
    model.loss, model.huber_delta, model.scale_ = "huber", 1e300, 1e100
    assert np.isfinite(model.transform(X * 1e100)).all()


@pytest.mark.filterwarnings("error")
def test_pairs_of_gammas_without_errors_are_compared():
    """Their differences may all be equal: the standard error is then 0, and the excess large."""
    losses = {"one": np.full(5, 9.0), "other": np.ones(5)}
    search = SimpleNamespace(losses=losses, loss=lambda pair: float(losses[pair].mean()))
    assert 1e10 < _Search.standard_errors_above(search, "one", "other") < np.inf


@pytest.mark.filterwarnings("ignore:RobustPCAOnGraphs did not converge")
def test_data_that_are_constant_but_for_rounding():
    data = 1 + 1e-16 * np.random.default_rng(0).standard_normal((7, 1))
    model = RobustPCAOnGraphs(n_neighbors=1, max_iter=300, random_state=0).fit(data)
    assert np.abs(model.low_rank_).max() < 2
    assert np.abs(model.sparse_).max() < 2


def test_a_strong_graph_of_repeated_samples_converges():
    rng = np.random.default_rng(0)
    data = rng.standard_normal((28, 1))[rng.integers(0, 28, 112)]
    assert RobustPCAOnGraphs(gamma=1e300, max_iter=100, random_state=4).fit(data).converged_


def test_a_strong_graph_in_single_precision_of_data_in_double():
    """Its Laplacian, in single precision, is not singular: conjugate gradients diverged for minutes."""
    outcome, text = fuzz_estimators.fuzz(7000605, None)
    assert outcome == "works", text


@pytest.mark.filterwarnings("error:overflow")
def test_a_strong_graph_of_factors_in_single_precision():
    data = np.abs(np.random.default_rng(0).standard_normal((23, 41))).astype(np.float32)
    model = GraphNMF(gamma=1e30, random_state=3).fit(data)
    assert np.isfinite(model.embedding_).all()


@pytest.mark.parametrize("decoder", list(DECODERS))
def test_a_constant_matrix_has_one_factor(decoder):
    n = 35
    model = CompressivePCA(n_draws=2, decoder=decoder, solver="rpcag", max_iter=10, robust_graphs=False, random_state=3)
    with pytest.warns(ConvergenceWarning):
        model.fit(np.eye(n)[:, np.arange(52) % n])
    assert np.ptp(model.low_rank_[:], axis=0).max() < 1e-3
    assert model.n_components_ == 1
    assert model.inverse_transform(model.transform(np.eye(n, 52))).shape == (n, 52)


INTERRUPTED = """
import signal
import typer
from graphlowrank.cli.console import brief_errors

def convert():
    try:
        signal.raise_signal(signal.{sent})
    except KeyboardInterrupt:
        raise ValueError("not a valid PEP 3118 buffer format string") from None

try:
    with brief_errors(debug=False):
        {work}
except typer.Exit as end:
    raise SystemExit(end.exit_code)
"""


@pytest.mark.parametrize("sent", ["SIGINT", "SIGTERM"])
@pytest.mark.parametrize(
    "work",
    [
        'exec("raise KeyboardInterrupt")',  # as while a dataclass is made
        "convert()",  # as compiled code of numpy and scikit-learn does while it is imported
    ],
)
def test_an_interrupt_gives_the_documented_exit_code_wherever_it_comes(tmp_path, work, sent):
    (tmp_path / "interrupted.py").write_text(INTERRUPTED.format(work=work, sent=sent))
    command = [sys.executable, "-m", "interrupted"]  # as python -m graphlowrank
    assert subprocess.run(command, cwd=tmp_path, check=False, capture_output=True).returncode == 130


# --- refusals ---


@pytest.mark.parametrize("model", [RobustPCA(2), GraphLaplacianPCA(2), CompressivePCA(2), CompressiveClustering(2)])
@pytest.mark.parametrize("unit", [1e-310, 1e160, 1e300])
def test_data_whose_squares_are_out_of_range_are_refused(model, unit):
    with pytest.raises(ValueError, match=r"largest absolute value of X is .* in float64: divide X by it"):
        model.fit(X * unit)


def test_the_limits_follow_the_type_and_ignore_what_is_missing():
    with pytest.raises(ValueError, match="in float32: divide X by it"):
        RobustPCA(2).fit(np.float32(1e37) * X.astype(np.float32))
    with pytest.raises(ValueError, match="in float64: divide X by it"):
        GraphNMF(2).fit(sp.csr_array(np.abs(X) * 1e200))
    fitted = RobustPCA(2).fit(np.where(X > 2, np.nan, X))
    assert np.isfinite(fitted.transform(np.full((1, 4), 1e-250))).all()  # new samples may be small
    with pytest.raises(ValueError, match="divide X by it"):
        fitted.transform(np.full((1, 4), 1e250))
    hidden = np.where(X > 2, 1e300, X)
    RobustPCA(2).fit(hidden, mask=X <= 2)


@pytest.mark.filterwarnings("error")
def test_sums_of_the_largest_numbers_give_no_warning():
    data = np.full((200, 28), np.finfo(np.float32).max) * np.where(np.arange(200) < 100, 1, -1)[:, None]
    with pytest.raises(ValueError, match="in float32: divide X by it"):
        CompressivePCA(2).fit(data.astype(np.float32))


PATH = path_graph(6)
REFUSED = {
    "n_nodes and reach must be positive integers, got 'x' and 1": lambda: path_graph("x"),
    "n_nodes and reach must be positive integers, got 3 and 1.5": lambda: path_graph(3, reach=1.5),
    "shape must be two positive integers, got": lambda: grid_graph((None, 2)),
    "n_neighbors=None must be a positive integer": lambda: knn_graph(X, None),
    "n_neighbors=2.5 must be a positive integer": lambda: knn_graph(X, 2.5),
    "feature 1 has only missing values; remove it": lambda: knn_graph(np.where(np.arange(4) == 1, np.nan, X), 3),
    "bandwidth must be positive or 'published', got 'x'": lambda: knn_graph(X, 3, bandwidth="x"),
    "k must be between 1 and 6 .*, got 1.5": lambda: lowest_eigenpairs(PATH, 1.5),
    "laplacian must be .*, got 'x'": lambda: lowest_eigenpairs(PATH, 1, kind="x"),
    "edges_per_node must be positive, got 'x'": lambda: sparsify(PATH, "x"),
    "size must be between 1 and 6 .*, got 1.5": lambda: draw(PATH, 1.5),
    "gamma_samples must be .*; got array": lambda: CompressivePCA(2, gamma_samples=np.array([1, 2])).fit(X),
    r"gamma must be a number between 0 and 1e\+30; got 1e\+300": lambda: ManifoldMF(2, gamma=1e300).fit(X),
    r"weight must be a number between 0 and 1e\+30; got 1e\+300": lambda: RobustPCAOnGraphs(2, weight=1e300).fit(X),
    "loss must be one of 'l1', .*; got <.*sparse array": lambda: make_loss(sp.csr_array(X)),
    "growth > 1; got .* and x": lambda: RobustPCA(2, growth="x").fit(X),
    r"gamma_features must be at most 1e\+30; got 1e\+300": lambda: CompressivePCA(2, gamma_features=1e300).fit(X),
}


@pytest.mark.parametrize("message", REFUSED)
def test_wrong_numbers_are_refused_in_plain_words(message):
    with pytest.raises(ValueError, match=message) as raised:
        REFUSED[message]()
    assert fuzz_outcomes.is_plain(raised.value)


# --- the campaign ---


@pytest.mark.parametrize(("target", "numbers"), [(fuzz_graphs, range(60)), (fuzz_estimators, range(4, 15))])
def test_first_cases(tmp_path, target, numbers):
    found = [target.fuzz(number, tmp_path) for number in numbers]
    assert not [text for outcome, text in found if outcome in fuzz_outcomes.FAILURES]
    assert {outcome for outcome, _ in found} == set(fuzz_outcomes.FINE)


def raising(error):
    raise error


@pytest.mark.parametrize(
    ("use", "outcome"),
    [
        (lambda: 1, "works"),
        (lambda: knn_graph(X, 0), "refused"),
        (lambda: np.ones(2) + np.ones(3), "opaque"),
        (lambda: raising(KeyError("x")), "opaque"),
        (lambda: np.ones(2) / 0, "warned"),
        (lambda: fuzz_outcomes.check(False, "no"), "wrong"),
    ],
)
def test_outcomes(use, outcome):
    assert fuzz_outcomes.judged(use)[0] == outcome


class Scripted:
    """A worker whose answers are known."""

    def __init__(self, bad):
        self.bad, self.asked = bad, []

    def outcome(self, number):
        self.asked.append(number)
        return ("wrong", "why") if number in self.bad else ("works", "")


def test_a_campaign_continues_and_repeats_failures(tmp_path, monkeypatch):
    ticks = iter(range(10**6))
    monkeypatch.setattr(run.time, "monotonic", lambda: next(ticks))
    first = Scripted(bad={6})
    run.campaign({"graphs": first}, run.State(tmp_path), 5, 10 / 60)
    assert first.asked == [5, 6, 7]
    with (tmp_path / "cases.jsonl").open("a") as file:
        file.write('{"case": "graphs:8", "outc')  # killed while it wrote
    state, second = run.State(tmp_path), Scripted(bad=set())
    assert state.failed(run.TARGETS) == ["graphs:6"]
    run.campaign({"graphs": second}, state, 5, 10 / 60)
    assert second.asked == [6, 8, 9]  # the failure is repeated, and fixed
    assert run.State(tmp_path).outcomes == {f"graphs:{number}": "works" for number in (5, 6, 7, 8, 9)}
    lines = (tmp_path / "cases.jsonl").read_text().splitlines()
    assert json.loads(lines[1])["text"] == "why"
    assert run.table(state.outcomes).splitlines()[-1].split() == ["all", "5", "5", *["0"] * 6]


def test_a_worker_survives_crashes_and_hangs(tmp_path):
    worker = Worker(dying, tmp_path, 60)
    try:
        assert worker.outcome(0) == ("crashed", "exit code 3")
        assert worker.outcome(2) == ("works", "2")
        worker.seconds = 0.2
        assert worker.outcome(1)[0] == "hung"
    finally:
        worker.stop()
