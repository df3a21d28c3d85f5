"""Predictions of time and memory: growth, not clocks."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits

from graphlowrank import CompressiveClustering, CompressivePCA
from graphlowrank.clustering import selection
from graphlowrank.estimators import plan as plan_module
from graphlowrank.estimators.plan import Plan, Stage, plan
from graphlowrank.outofcore.sizes import FitSize

RATES = {"scaling": 0.1, "sample graph": 1.0, "feature graph": 0.2, "reduction": 0.2, "decoding": 0.4}


@pytest.fixture
def clockwork(monkeypatch):
    """Fits whose stages take a second, or a part of it, for every thousand samples."""
    fits = []

    class Clock:
        def __init__(self, n_clusters, **options):
            self.options = options

        def fit(self, X):
            fits.append((X.shape, self.options))
            kept = [n / rate for n, rate in zip(X.shape, self.options["downsampling"], strict=True)]
            self.stage_seconds_ = {name: rate * X.shape[0] / 1000 for name, rate in RATES.items()}
            if not sp.issparse(X) and np.isnan(X).any():
                self.stage_seconds_["imputation"] = 0.11 * X.shape[0] / 1000
            self.stage_seconds_ |= {"frpcag": 1e-6 * kept[0] * kept[1], "partitions": 0.3}
            self.report_ = SimpleNamespace(choices=[SimpleNamespace(name="scaling", value="features")])
            self.feature_graph_ = None
            return self

    monkeypatch.setattr(plan_module, "CompressiveClustering", Clock)
    monkeypatch.setattr(plan_module, "CompressivePCA", Clock)
    return fits


def size(**given):
    sizes = {"n_samples": 1000, "n_features": 400, "n_clusters": 3, "n_neighbors": 10, "kept": (1000, 400)} | given
    return FitSize(**{"task": "cluster", "itemsize": 4, "stored": None, "search": "approximate"} | sizes)


def seconds(found):
    return {stage.name: stage.seconds for stage in found.stages}


def test_stages_are_extrapolated_by_their_growth(clockwork):
    found = seconds(plan(100_000, 50, task="recover"))
    assert found["scaling"] == pytest.approx(0.8)  # chosen on a thousand samples
    assert found["sample graph"] == pytest.approx(8 * 12.5**plan_module.GRAPH_EXPONENT)  # approximate
    assert found["feature graph"] == pytest.approx(0.2 * 10)  # features are compared on ten thousand samples
    assert found["reduction"] == pytest.approx(1.6 * 12.5**plan_module.GRAPH_EXPONENT)
    assert found["frpcag"] == pytest.approx(1e-6 * 800 * 50 * 12.5**plan_module.GRAPH_EXPONENT)  # 10,000 are kept
    assert seconds(plan(20_000, 20, task="recover"))["sample graph"] == pytest.approx(8 * 2.5**2)  # exact
    assert max(shape[0] for shape, _ in clockwork) <= plan_module.MAX_ROWS


def test_a_plan_is_made_from_few_fits_to_few_entries(clockwork):
    plan(100_000, 50, task="recover")
    assert len(clockwork) == 2
    assert clockwork[0][1]["max_iter"] == 10  # loads code
    plan(100_000, 50)
    assert len(clockwork) == 5
    assert clockwork[4][1]["scaling"] == "features"  # which was chosen before
    assert clockwork[-1][0] == (plan_module.PARTITION_SAMPLES, 50)
    assert "gamma_samples" not in clockwork[-1][1]
    plan(10_000, 20_000, task="recover")
    assert clockwork[-1][0] == (plan_module.MIN_ROWS, 20_000)
    plan(100_000, 50, gamma_samples=5.0)
    assert len(clockwork) == 9  # no fit at all gammas
    assert clockwork[-1][1]["gamma_samples"] == 5.0


def test_clusters_are_decoded_once_for_every_candidate(clockwork):
    found, more = (seconds(plan(n, 50, n_clusters=2)) for n in (16_000, 16_001_000))
    ratio = selection.n_interpolated(16_000, 1600, 2) / selection.n_interpolated(8000, 800, 2, one_gamma=True)
    assert found["decoding"] == pytest.approx(3.2 * 2**plan_module.GRAPH_EXPONENT * ratio)
    assert more["decoding"] < 1001**plan_module.GRAPH_EXPONENT * found["decoding"]  # fewer candidates, compiled


@pytest.mark.parametrize("one_gamma", [False, True])
@pytest.mark.parametrize("n_kept", [30, 100, 1000])
def test_candidates_are_counted_as_they_are_selected(n_kept, one_gamma):
    n_clusters, n_sources = 2, 3 if one_gamma else 8
    finer = sum(n_kept >= selection.MIN_FINE_SIZE * factor * n_clusters for factor in selection.FINE_FACTORS)
    methods = ["k-means"] * 2 * n_sources + ["merged"] * finer * n_sources
    found = [selection.Candidate(np.zeros(1), 1.0, "whitened", method, 0.1, 1) for method in methods]
    shortlist = selection._shortlist(found, 100_000 * n_clusters)
    assert selection.n_interpolated(100_000, n_kept, n_clusters, one_gamma=one_gamma) == len(shortlist)


def test_scalings_are_tried_on_as_many_samples(clockwork):
    assert seconds(plan(100_000, 50))["scaling"] == pytest.approx(8 * RATES["scaling"])


def test_code_is_loaded_by_a_fit_without_missing_values(clockwork, monkeypatch):
    missing, fit = [], plan_module.CompressivePCA.fit
    monkeypatch.setattr(
        plan_module.CompressivePCA, "fit", lambda model, X: (missing.append(bool(np.isnan(X).any())), fit(model, X))[1]
    )
    rows = np.where(np.random.default_rng(0).random((1000, 20)) < 0.2, np.nan, 1.0)
    plan(100_000, 20, task="recover", data=rows)
    assert missing == [False, True]


def test_the_imputer_is_fitted_to_some_samples_and_applied_to_all(clockwork):
    rows = np.ones((8000, 50))
    rows[::2, 3] = rows[7] = np.nan
    rows[:, 9] = np.nan  # nothing is known of this feature, nor of a row, here
    found = seconds(plan(108_000, 50, data=rows))
    assert found["imputation"] == pytest.approx(0.88 * (10 * 8000 + 108_000) / (10 * 8000 + 8000))
    assert "imputation" not in seconds(plan(108_000, 50))


def test_loading_is_reported_separately(clockwork, monkeypatch):
    assert plan(2000, 50).loading_seconds == 0.0
    assert "to load code" not in repr(plan(2000, 50))
    fit, times = plan_module._Pilot.fit, []

    def first_is_slow(self, *given, **options):
        times.append(1)
        model = fit(self, *given, **options)
        model.stage_seconds_["reduction"] = 3.0 if len(times) == 1 else 0.4
        return model

    monkeypatch.setattr(plan_module._Pilot, "fit", first_is_slow)
    found = plan(2000, 50)
    assert found.loading_seconds == pytest.approx(2.6)
    assert "takes 2.6 s longer" in repr(found)
    assert found.as_dict()["loading_seconds"] == found.loading_seconds


def test_synthetic_rows_are_counts_in_clusters():
    pilot = plan_module._Pilot(size(), {}, None, 0)
    X = pilot.rows(300)
    assert X.shape == (300, 400)
    assert X.dtype == np.float32
    assert (X >= 0).all()
    assert 0.3 < (X == 0).mean() < 0.9
    assert_array_equal(X, pilot.rows(300))


def test_more_samples_take_longer_and_more_memory(clockwork):
    plans = [plan(n, 50) for n in (10_000, 100_000, 1_000_000)]
    assert plans[0].seconds < plans[1].seconds < plans[2].seconds
    assert plans[0].gigabytes < plans[1].gigabytes < plans[2].gigabytes < 8
    assert plans[2].kept == (100_000, 50)


def test_a_plan_of_recovery_says_that_a_rank_is_given(clockwork):
    assert "Without a rank models are compared" in plan(500, 30, task="recover").advice[-1]
    assert not any("rank" in one for one in plan(500, 30, task="recover", solver="frpcag").advice)
    assert not any("rank" in one for one in plan(500, 30).advice)


def test_advice_says_when_compression_is_not_worthwhile(clockwork):
    assert "not worthwhile" in plan(500, 30).advice[0]
    assert "Without compression" in plan(100_000, 2000).advice[0]


@pytest.mark.parametrize("task", ["cluster", "recover"])
def test_small_data_are_fitted_as_they_are(task):
    X = load_digits().data[:400]
    found = plan(*X.shape, task=task, n_clusters=10, data=X)
    Estimator = CompressiveClustering if task == "cluster" else CompressivePCA
    assert [stage.name for stage in found.stages] == list(Estimator(10).fit(X).stage_seconds_)
    assert json.loads(json.dumps(found.as_dict()))["kept"] == [400, 64]
    assert "total" in repr(found)


def test_impossible_ranks_are_reduced(clockwork):
    assert plan(400, 5, task="recover", n_neighbors="auto").kept == (400, 5)


# --- memory ---


def test_memory_covers_the_data(clockwork):
    found = plan(100_000, 2000, task="recover", itemsize=8)
    assert found.gigabytes > 2 * 100_000 * 2000 * 8 / 1e9  # with the scaled copy
    rows = np.ones((20, 2000))
    assert plan(100_000, 2000, task="recover", data=rows).gigabytes == found.gigabytes  # itemsize of the rows


@pytest.mark.parametrize("task", ["cluster", "recover"])
def test_sparse_data_take_the_memory_of_their_stored_entries(clockwork, task):
    rows = sp.random_array((1000, 5000), density=0.02, format="csr", dtype=np.float32, random_state=0)
    sparse, twice = (plan(n, 5000, task=task, data=rows) for n in (500_000, 1_000_000))
    dense = plan(500_000, 5000, task=task, data=rows.toarray())
    assert sparse.gigabytes < 0.3 * dense.gigabytes
    stored = 2 * 0.02 * 500_000 * 5000 * 8  # with the scaled copy, and indices
    assert stored / 1e9 < twice.gigabytes - sparse.gigabytes < 0.3 * dense.gigabytes
    assert all(sp.issparse(plan_module._Pilot(size(), {}, rows, 0).rows(n)) for n in (10, 2000))


def test_sparse_data_can_be_planned():
    X = sp.csr_array(load_digits().data[:300])
    assert plan(*X.shape, n_clusters=5, data=X).seconds > 0


def test_rows_may_be_a_list_or_none_at_all(clockwork):
    assert plan(500, 2, n_clusters=2, data=[[1.0, 2.0]] * 30).gigabytes > 0
    assert plan(500, 2, n_clusters=2, data=np.empty((0, 2))).gigabytes > 0
    assert plan(500, 2, n_clusters=2, data=sp.csr_array((0, 2))).gigabytes > 0


def test_copies_add_to_the_memory():
    dense, sparse = size(n_samples=100_000), size(n_samples=100_000, stored=10.0)
    data, peak = 100_000 * 400 * 4, dense.stage_bytes("decoding")
    assert dense.data == data
    assert dense.stage_bytes("decoding", scaled=True) - peak == data
    assert dense.stage_bytes("decoding", imputed=True) - peak == data
    assert peak - sparse.stage_bytes("decoding") == data - 100_000 * 10 * 8


@pytest.mark.parametrize(("stage", "n_tasks"), [("scaling", 9), ("partitions", 5)])
def test_each_thread_adds_to_the_memory(stage, n_tasks):
    one, two, many, all_busy = (size(n_samples=5000, n_threads=n).stage_bytes(stage) for n in (1, 2, n_tasks, 1000))
    assert_allclose(many - one, (n_tasks - 1) * (two - one))
    assert two > one
    assert many == all_busy


@pytest.mark.parametrize("shape", [(2000, 300), (200_000, 50), (5000, 5000)])
def test_no_stage_takes_less_than_its_data(shape):
    n, p = shape
    found = size(n_samples=n, n_features=p, kept=(1000, p))
    stages = ["scaling", "imputation", "sample graph", "feature graph", "reduction", "frpcag", "decoding"]
    assert all(found.stage_bytes(stage) >= found.data for stage in stages)
    assert found.search_bytes(2 * n, p) > found.search_bytes(n, p) > 0


def test_bad_shapes_are_refused():
    with pytest.raises(ValueError, match="at least 20 samples"):
        plan(5, 10)
    with pytest.raises(ValueError, match="task must be"):
        plan(500, 10, task="sort")
    with pytest.raises(ValueError, match="n_clusters must be"):
        plan(500, 10, n_clusters="auto")
    with pytest.raises(ValueError, match="gamma_samples must be"):
        plan(500, 10, gamma_samples=-1)


def test_rows_of_few_data_are_repeated():
    rows = plan_module._Pilot(size(), {}, np.arange(40.0).reshape(10, 4), 0).rows(100)
    assert rows.shape == (100, 4)
    assert rows.dtype == np.float32
    assert Plan("cluster", 1, 1, (1, 1), (Stage("a", 1.0, 2.0),), 0.0, 1.0, ()).gigabytes == 2.0


def test_several_models_cannot_be_planned():
    with pytest.raises(ValueError, match="a plan needs a solver"):
        plan(400, 30, task="recover", solver="auto")
