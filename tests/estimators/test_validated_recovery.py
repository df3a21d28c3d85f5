"""CompressivePCA with ``solver="auto"``: models compared on held-out entries, and denoising."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from graphlowrank import CompressivePCA, load


@pytest.fixture(scope="module")
def digits():
    C = load_digits().data[:400] / 16
    rng = np.random.default_rng(0)
    return C, C + 0.3 * C.std() * rng.standard_normal(C.shape)


@pytest.fixture(scope="module")
def model(digits):
    return CompressivePCA(random_state=0).fit(digits[1])


def error(found, C):
    return np.linalg.norm(np.asarray(found) - C) / np.linalg.norm(C - C.mean(axis=0))


def choices(model):
    return {choice.name: choice for choice in model.report_.choices}


def test_it_recovers_digits_better_than_one_model(digits, model):
    C, X = digits
    one = CompressivePCA(solver="frpcag", random_state=0).fit(X)
    assert error(model.low_rank_, C) < 0.85 * error(one.low_rank_, C)
    assert error(model.low_rank_, C) < 0.85 * error(X, C)


def test_the_report_has_losses_and_risks(model):
    found = choices(model)
    assert "rpca 0." in found["solver"].reason
    assert "noise 0." in found["estimate"].reason
    assert found["gamma_samples"].value == model.gamma_samples_
    assert found["n_components"].value == model.n_components_ == model.low_rank_.rank
    assert "held-out" in str(model.report_)


def test_answers_are_equal_for_any_number_of_threads(digits, model):
    again = CompressivePCA(random_state=0, n_jobs=3).fit(digits[1])
    np.testing.assert_array_equal(again.low_rank_.to_array(), model.low_rank_.to_array())


def test_exact_data_with_outliers_are_recovered():
    rng = np.random.default_rng(0)
    C = rng.standard_normal((200, 3)) @ rng.standard_normal((3, 30))
    X = np.where(rng.random(C.shape) < 0.05, 10.0, C)
    found = CompressivePCA(random_state=0).fit(X)
    assert error(found.low_rank_, C) < 0.02


def test_missing_values_are_imputed(digits):
    C, X = digits
    X = np.where(np.random.default_rng(1).random(X.shape) < 0.3, np.nan, X)
    found = CompressivePCA(random_state=0).fit(X)
    assert np.isfinite(found.low_rank_.to_array()).all()
    assert error(found.low_rank_, C) < 0.55


def test_single_precision_and_units(digits):
    X = digits[1].astype(np.float32)
    found = CompressivePCA(random_state=0).fit(X)
    assert found.low_rank_.dtype == np.float32
    scaled = CompressivePCA(random_state=0).fit(1e3 * X)
    assert scaled.scale_ == pytest.approx(1e3 * found.scale_)
    assert found.scale_ == pytest.approx(CompressivePCA(solver="frpcag", random_state=0).fit(X).scale_)
    np.testing.assert_allclose(scaled.low_rank_.to_array() / 1e3, found.low_rank_.to_array(), atol=0.02)


@pytest.mark.parametrize("unit", [1e-150, 1e-20, 1e20, 1e150])
def test_extreme_units(unit):
    X = np.random.default_rng(0).standard_normal((60, 12))
    found, wanted = (CompressivePCA(random_state=0).fit(one).low_rank_ for one in (unit * X, X))
    np.testing.assert_allclose(found.to_array() / unit, wanted.to_array(), atol=1e-6)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize(
    "kind", ["constant features", "copies", "mostly zero", "mostly missing", "one entry", "integers"]
)
def test_awkward_data(kind):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 12))
    if kind == "constant features":
        X[:, :6] = 3
    elif kind == "copies":
        X = np.repeat(X[:5], 10, axis=0)
    elif kind == "mostly zero":
        X *= rng.random(X.shape) < 0.1
    elif kind == "mostly missing":
        X[rng.random(X.shape) < 0.6] = np.nan
    elif kind == "one entry":
        X[3, 1:] = np.nan
    else:
        X = rng.integers(0, 3, X.shape)
    found = CompressivePCA(random_state=0).fit(X)
    assert np.isfinite(found.low_rank_.to_array()).all()
    assert found.transform(X[:4]).shape == (4, found.n_components_)


def test_a_given_rank_is_kept(digits):
    found = CompressivePCA(5, random_state=0).fit(digits[1])
    default = CompressivePCA(5, solver="frpcag", random_state=0).fit(digits[1])
    np.testing.assert_array_equal(found.low_rank_.to_array(), default.low_rank_.to_array())
    assert choices(found)["solver"].reason == "the rank is given"


def test_transform_and_storage(digits, model, tmp_path):
    X = digits[1]
    assert model.transform(X[:5]).shape == (5, model.n_components_)
    model.save(tmp_path / "model.npz")
    again = load(tmp_path / "model.npz")
    np.testing.assert_array_equal(again.low_rank_.to_array(), model.low_rank_.to_array())


def test_features_in_different_units():
    rng = np.random.default_rng(0)
    C = rng.standard_normal((200, 3)) @ rng.standard_normal((3, 20))
    units = np.r_[np.full(10, 1.0), np.full(10, 1e4)]
    X = (C + 0.3 * rng.standard_normal(C.shape)) * units
    found = CompressivePCA(scaling="features", random_state=0).fit(X)
    assert error(found.low_rank_.to_array() / units, C) < 0.12


@pytest.mark.parametrize("kind", ["noise", "outliers and missing", "salt and pepper"])
def test_many_samples_are_denoised_by_some(kind, monkeypatch):
    monkeypatch.setattr("graphlowrank.auto.recovery_model.ALL_UP_TO", 300)
    monkeypatch.setattr("graphlowrank.auto.recovery_model.KEPT", 200)
    rng = np.random.default_rng(0)
    C = rng.standard_normal((700, 3)) @ rng.standard_normal((3, 30))
    X = C + 0.3 * rng.standard_normal(C.shape)
    wrong = rng.random(C.shape) < 0.05
    if kind == "outliers and missing":
        X[wrong] = rng.uniform(-15, 15, np.count_nonzero(wrong))
        X[rng.random(C.shape) < 0.1] = np.nan
    elif kind == "salt and pepper":
        X[wrong] = np.where(rng.random(np.count_nonzero(wrong)) < 0.5, X.min(), X.max())
    found = CompressivePCA(random_state=0).fit(X)
    assert found.low_rank_.shape == C.shape
    assert len(found.sample_indices_) == 200
    assert choices(found)["downsampling"].value == "200 of 700 samples"
    left_out = np.setdiff1d(np.arange(700), found.sample_indices_)
    recovered = found.low_rank_.to_array()
    assert error(recovered[left_out], C[left_out]) < 1.3 * error(
        recovered[found.sample_indices_], C[found.sample_indices_]
    )
    np.testing.assert_array_equal(CompressivePCA(random_state=0, n_jobs=3).fit(X).low_rank_.to_array(), recovered)
