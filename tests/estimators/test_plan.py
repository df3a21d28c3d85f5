"""Predictions of time and memory: growth, not clocks."""

import json

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_digits

from graphlowrank import CompressiveClustering, CompressivePCA
from graphlowrank.estimators import plan as plan_module
from graphlowrank.estimators.plan import Plan, Stage, plan

LINEAR = {"scaling": 0.1, "sample graph": 1.0, "reduction": 0.2, "frpcag": 0.5, "partitions": 0.3, "decoding": 0.4}


@pytest.fixture
def clockwork(monkeypatch):
    """Fits whose stages take a second, or a part of it, for every thousand samples."""
    fits = []

    class Clock:
        def __init__(self, n_clusters, **options):
            self.options = options

        def fit(self, X):
            fits.append((X.shape, self.options["downsampling"]))
            kept = X.shape[0] / self.options["downsampling"][0]
            self.stage_seconds_ = {name: rate * X.shape[0] / 1000 for name, rate in LINEAR.items()}
            if np.isnan(X).any():
                self.stage_seconds_["imputation"] = 0.11 * X.shape[0] / 1000
            self.stage_seconds_ |= {
                "number of clusters": 0.1,
                "frpcag": 0.5 * kept / 1000,
                "partitions": 0.3 * kept / 1000,
            }
            return self

    monkeypatch.setattr(plan_module, "CompressiveClustering", Clock)
    monkeypatch.setattr(plan_module, "CompressivePCA", Clock)
    monkeypatch.setattr(plan_module._Pilot, "search_seconds", lambda self: 7.0)
    return fits


def test_stages_are_extrapolated_by_their_growth(clockwork):
    found = {stage.name: stage.seconds for stage in plan(100_000, 50).stages}
    assert found["number of clusters"] == pytest.approx(0.1)  # looks at a thousand samples
    assert found["scaling"] == pytest.approx(0.1 * 100)
    assert found["sample graph"] == 7.0  # approximate: measured by itself
    assert found["reduction"] == pytest.approx(0.2 * 100)
    assert found["frpcag"] == pytest.approx(0.5 * 10)  # ten thousand are kept
    exact = {stage.name: stage.seconds for stage in plan(20_000, 20).stages}
    assert exact["sample graph"] == pytest.approx(6.0 * (20 / 6) ** 2)
    assert max(shape[0] for shape, _ in clockwork) <= 6000


def test_the_imputer_is_fitted_to_some_samples_and_applied_to_all(clockwork):
    rows = np.ones((6000, 50))
    rows[::2, 3] = rows[7] = np.nan
    rows[:, 9] = np.nan  # nothing is known of this feature, nor of a row, here
    found = {stage.name: stage.seconds for stage in plan(108_000, 50, data=rows).stages}
    assert found["imputation"] == pytest.approx(0.11 * 8 + 0.66 / 10 * 108 / 6)
    assert "imputation" not in {stage.name for stage in plan(108_000, 50).stages}


def test_loading_is_reported_separately(clockwork, monkeypatch):
    assert plan(2000, 50).loading_seconds == 0.0
    assert "to load code" not in repr(plan(2000, 50))
    fit, times = plan_module._Pilot.fit, []

    def first_is_slow(self, *given):
        times.append(1)
        return {**fit(self, *given), "reduction": 3.0 if len(times) == 1 else 0.4}

    monkeypatch.setattr(plan_module._Pilot, "fit", first_is_slow)
    found = plan(2000, 50)
    assert found.loading_seconds == pytest.approx(2.6)
    assert "takes 2.6 s longer" in repr(found)
    assert found.as_dict()["loading_seconds"] == found.loading_seconds


def test_synthetic_rows_are_counts_in_clusters():
    pilot = plan_module._Pilot("cluster", 3, 1000, 400, (1000, 400), {}, 4, 0, None)
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


def test_advice_says_when_compression_is_not_worthwhile(clockwork):
    assert "not worthwhile" in plan(500, 30).advice[0]
    assert "Without compression" in plan(100_000, 2000).advice[0]


@pytest.mark.parametrize("task", ["cluster", "recover"])
def test_small_data_are_fitted_as_they_are(task):
    X = load_digits().data[:400]
    found = plan(*X.shape, task=task, n_clusters=5, data=X, itemsize=8)
    Estimator = CompressiveClustering if task == "cluster" else CompressivePCA
    assert [stage.name for stage in found.stages] == list(Estimator(5).fit(X).stage_seconds_)
    assert json.loads(json.dumps(found.as_dict()))["kept"] == [400, 64]
    assert "total" in repr(found)


def test_impossible_ranks_are_reduced(clockwork):
    assert plan(400, 5, task="recover", n_neighbors="auto").kept == (400, 5)


def test_memory_covers_the_data(clockwork):
    found = plan(100_000, 2000, task="recover", itemsize=8)
    assert found.gigabytes > 100_000 * 2000 * 8 / 1e9


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
    pilot = plan_module._Pilot("cluster", 3, 1000, 4, (1000, 4), {}, 4, 0, np.arange(40.0).reshape(10, 4))
    rows = pilot.rows(100)
    assert rows.shape == (100, 4)
    assert rows.dtype == np.float32
    assert Plan("cluster", 1, 1, (1, 1), (Stage("a", 1.0, 2.0),), 0.0, 1.0, ()).gigabytes == 2.0
