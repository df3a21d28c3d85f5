"""Streams: the model does not depend on how rows are divided, drift is found, labels keep their numbers."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from graphlowrank import CompressiveClustering, CompressivePCA, load
from graphlowrank.exceptions import DriftWarning

N_CLUSTERS, SIZE = 3, 150
CENTERS = 6 * np.random.default_rng(1).standard_normal((5, 8))
QUICK = {"reservoir_size": SIZE, "robust_graphs": False, "random_state": 0}


def rows(n, seed=0, kinds=N_CLUSTERS, noise=0.7):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, kinds, n) if np.ndim(kinds) == 0 else rng.choice(kinds, n)
    return CENTERS[labels] + noise * rng.standard_normal((n, 8)), labels


def make(Estimator, **options):
    own = {"scaling": "none"} | ({"gamma_samples": 1.0, "gamma_features": 0.3} if Estimator is CompressivePCA else {})
    return Estimator(N_CLUSTERS, **QUICK | own | options)


ESTIMATORS = [CompressiveClustering, CompressivePCA]
X, TRUTH = rows(600, seed=3)  # no batch of it is reported by chance


def answer(model):
    return model.batch_labels_ if isinstance(model, CompressiveClustering) else model.batch_scores_


def stream(model, ends, data=X):
    for start, stop in zip([0, *ends], [*ends, data.shape[0]], strict=True):
        if stop > start:
            model.partial_fit(data[start:stop])
    return model


def state(model):
    """Everything that must not depend on the batches."""
    own = [model.row_numbers_, model.n_samples_seen_, model._stream.reservoir.sample()[0]]
    if isinstance(model, CompressiveClustering):
        return [*own, model.labels_, model.soft_labels_, model.points_, model._stream.reference.values]
    return [*own, model.components_, model.singular_values_, model.low_rank_.to_array(), model._stream.reference.values]


WHOLE = {}


@pytest.mark.parametrize("Estimator", ESTIMATORS)
@settings(max_examples=5, deadline=None)
@given(ends=st.lists(st.integers(0, len(X)), max_size=8), n_jobs=st.sampled_from([1, 2]))
def test_the_model_does_not_depend_on_the_batches_or_threads(Estimator, ends, n_jobs):
    if Estimator not in WHOLE:
        WHOLE[Estimator] = state(stream(make(Estimator), []))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DriftWarning)  # a batch may be reported by chance
        found = stream(make(Estimator, n_jobs=n_jobs), sorted(ends))
    for one, other in zip(state(found), WHOLE[Estimator], strict=True):
        assert_array_equal(one, other)


@pytest.mark.parametrize("Estimator", ESTIMATORS)
def test_the_model_is_that_of_the_kept_rows(Estimator):
    model = stream(make(Estimator), [100, 149, 150, 400])
    assert len(model.row_numbers_) == 0.8 * SIZE
    assert model.row_numbers_.max() < SIZE
    fitted = make(Estimator).fit(X[model.row_numbers_])
    if Estimator is CompressiveClustering:
        assert_array_equal(model.labels_, fitted.labels_)
        assert_array_equal(model.batch_labels_, fitted.predict(X[400:]))
    else:
        assert_array_equal(model.low_rank_.to_array(), fitted.low_rank_.to_array())
        assert_array_equal(model.batch_scores_, fitted.transform(X[400:]))
    assert model.n_samples_seen_ == 600
    model.refit()
    assert model.row_numbers_.max() >= SIZE
    fitted = make(Estimator).fit(X[model.row_numbers_])
    if Estimator is CompressivePCA:
        assert_array_equal(model.low_rank_.to_array(), fitted.low_rank_.to_array())


@pytest.mark.parametrize("Estimator", ESTIMATORS)
def test_without_a_model_the_error_says_how_many_rows_are_missing(Estimator):
    model = make(Estimator).partial_fit(X[:40])
    assert answer(model) is None
    assert not model.refit_due_
    uses = [model.transform, getattr(model, "predict", model.transform), lambda _: model.report_]
    for use in uses:
        with pytest.raises(NotFittedError, match=r"40 of the first 150 rows .*refit\(\)"):
            use(X[:5])
    assert "CompressivePCA" in repr(CompressivePCA().partial_fit(X[:5]))
    assert len(model.refit().row_numbers_) == 32
    model.partial_fit(X[40:60])
    assert len(answer(model)) == 20
    assert model.drift_.n_rows == 20


def test_refit_needs_rows():
    with pytest.raises(NotFittedError, match="given to partial_fit"):
        CompressivePCA().refit()
    with pytest.raises(ValueError, match="refit needs 20 rows, and there are 19"):
        CompressivePCA().partial_fit(X[:19]).refit()


@pytest.mark.parametrize("Estimator", ESTIMATORS)
def test_no_drift_is_reported_without_one(Estimator):
    model = make(Estimator).partial_fit(X[:SIZE])
    reported = 0
    for seed in range(100):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DriftWarning)
            reported += model.partial_fit(rows(60, seed + 1)[0]).refit_due_
    assert reported <= 4  # one is expected at most
    assert model.drift_.n_rows == 60
    assert f"{reported} of 100 batches" in repr(model.report_)


def test_a_new_cluster_is_reported_and_a_refit_keeps_the_numbers():
    model = make(CompressiveClustering, half_life=100.0, random_state=1).partial_fit(X)
    with pytest.warns(DriftWarning, match=r"distance to .*Call refit\(\)"):
        model.partial_fit(rows(100, 1, [0, 1, 2, 3])[0])
    assert model.refit_due_
    assert "True" in repr(model.report_)
    before = model.predict(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DriftWarning)
        for seed in range(3):
            model.partial_fit(rows(100, seed + 2, [0, 1, 2, 3])[0])
    assert model.refit_due_  # as long as the rows differ
    model.set_params(n_clusters=4).refit()
    assert not model.refit_due_
    assert model.drift_ is None
    assert_array_equal(model.predict(X), before)
    new, labels = rows(200, 9, [0, 1, 2, 3])
    model.partial_fit(new)
    assert not model.refit_due_
    assert set(model.batch_labels_[labels == 3]) == {3}
    assert_allclose(model.cluster_centers_[3], CENTERS[3], atol=0.7)
    assert_array_equal(model.labels_, model.soft_labels_.argmax(axis=1))


def test_a_cluster_that_moves_and_shares_that_change_are_reported():
    for kinds, factor in (([0, 1, 2], 1.3), ([0, 0, 0, 1], 1.0)):
        model = make(CompressiveClustering).partial_fit(X)
        new, labels = rows(200, 3, kinds)
        with pytest.warns(DriftWarning):
            model.partial_fit(np.where(labels[:, None] == 0, factor * new, new))


def low_rank(n, seed, degrees=0.0, broken=0):
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(np.random.default_rng(5).standard_normal((30, 6)))[0]
    angle = np.deg2rad(degrees)
    turned = np.cos(angle) * basis[:, :3] + np.sin(angle) * basis[:, 3:]
    made = rng.standard_normal((n, 3)) @ turned.T + 0.02 * rng.standard_normal((n, 30))
    made = np.where(rng.random(made.shape) < 0.05, 1.0, made)  # outliers
    made[:, :broken] = 0.5
    return made


def test_a_cluster_that_moves_is_found_whatever_the_scaling():
    """With scaling="samples" rows have the same length."""
    for scaling in ("samples", "features"):
        model = make(CompressiveClustering, scaling=scaling).partial_fit(X)
        new, labels = rows(100, 3)
        model.partial_fit(new)
        assert not model.refit_due_
        with pytest.warns(DriftWarning, match="distance to"):
            model.partial_fit(np.where(labels[:, None] == 0, 1.8 * new, new))


@pytest.mark.parametrize("change", [{"degrees": 10.0}, {"broken": 2}])
def test_another_subspace_and_a_broken_feature_are_reported(change):
    model = make(CompressivePCA).partial_fit(low_rank(400, 0))
    model.partial_fit(low_rank(100, 1))
    assert not model.refit_due_
    with pytest.warns(DriftWarning, match="absolute residual"):
        model.partial_fit(low_rank(100, 2, **change))


def test_drift_that_a_small_batch_cannot_show_is_found_over_several():
    model = make(CompressiveClustering).partial_fit(X)
    new, _ = rows(300, 3, noise=1.4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DriftWarning)
        found = [model.partial_fit(row[None]).refit_due_ for row in new]
    assert not any(found[:3])
    assert found[-1]


@pytest.mark.parametrize("Estimator", ESTIMATORS)
@pytest.mark.parametrize("n_before", [60, 300])
def test_a_saved_stream_goes_on(tmp_path, Estimator, n_before):
    model = make(Estimator, half_life=200.0).partial_fit(X[:n_before])
    model.save(tmp_path / "stream.model")
    again = load(tmp_path / "stream.model")
    assert again.get_params() == model.get_params()
    for one in (model, again):
        one.partial_fit(X[n_before:450]).partial_fit(X[450:])
    assert again.drift_ == model.drift_
    assert_array_equal(answer(again), answer(model))
    for one, other in zip(state(again.refit()), state(model.refit()), strict=True):
        assert_array_equal(one, other)


@pytest.mark.parametrize("Estimator", ESTIMATORS)
def test_after_fit_a_stream_begins_with_the_fitted_model(Estimator):
    model = make(Estimator).fit(X)
    expected = model.transform(X[:5])
    model.partial_fit(X[:100])
    assert len(answer(model)) == 100
    assert model.drift_ is None
    assert_array_equal(model.transform(X[:5]), expected)
    model.partial_fit(X[100:])
    assert model.drift_.n_rows == 600 - SIZE
    assert_array_equal(model.transform(X[:5]), expected)
    with pytest.warns(DriftWarning):
        model.partial_fit(2 * X[:100])
    model.fit(X)
    assert not hasattr(model, "n_samples_seen_")
    assert not hasattr(clone(model).partial_fit(X[:5]), "labels_")


@pytest.mark.parametrize("Estimator", ESTIMATORS)
def test_a_call_that_fails_changes_nothing(Estimator):
    model = make(Estimator).partial_fit(X[:200])
    before = dict(vars(model))
    infinite = np.where(np.arange(8) == 3, np.inf, X[:9])
    for bad, message in (
        (X[:9, :7], "7 features"), (infinite, "infinity"), (np.full((2, 8), np.nan), "no observed|missing|NaN"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            model.partial_fit(bad)
        assert vars(model) == before
    first = "n_clusters" if Estimator is CompressiveClustering else "n_components"
    model = make(Estimator).set_params(**{first: 1000}).partial_fit(X[:100])
    before = dict(vars(model))
    with pytest.raises(ValueError, match=first):
        model.partial_fit(X[100:])
    assert vars(model) == before
    assert model.set_params(**{first: 3}).partial_fit(X[100:]).n_samples_seen_ == 600


@pytest.mark.parametrize("Estimator", ESTIMATORS)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"reservoir_size": 19}, "at least 20"), ({"reservoir_size": 2.5}, "positive integer"),
        ({"half_life": 0}, "half_life must be"), ({"sample_graph": sp.eye_array(600)}, "draws the samples"),
        ({"sampling": ([1, 2], None)}, "draws the samples"),
    ],
)  # fmt: skip
def test_parameters_that_do_not_suit_a_stream(Estimator, options, message):
    with pytest.raises(ValueError, match=message):
        make(Estimator, **options).partial_fit(X)


def test_weights_are_refused():
    for name in ("sample_loss_weight", "mask"):
        with pytest.raises(TypeError, match=f"partial_fit takes no {name}"):
            CompressivePCA().partial_fit(X, **{name: np.ones(len(X))})


def test_sparse_rows_give_the_clusters_of_dense_ones():
    counts = np.random.default_rng(0).poisson(np.exp(0.6 * CENTERS[TRUTH] / 6 + 0.5)).astype(np.float64)
    models = [stream(make(CompressiveClustering), [70, 320], data) for data in (counts, sp.csr_array(counts))]
    assert_array_equal(models[0].labels_, models[1].labels_)
    assert_array_equal(models[0].batch_labels_, models[1].batch_labels_)
    assert_allclose(models[0].drift_.p_value, models[1].drift_.p_value)
    mixed = make(CompressiveClustering).partial_fit(sp.csr_array(counts[:100])).partial_fit(counts[100:])
    assert_array_equal(mixed.labels_, models[1].labels_)
    recovered = stream(make(CompressivePCA), [100], sp.csr_array(counts))
    assert recovered.batch_scores_.shape == (500, 3)


@pytest.mark.parametrize("Estimator", ESTIMATORS)
def test_missing_values_frames_and_precision(Estimator):
    data = np.where(np.random.default_rng(0).random(X.shape) < 0.05, np.nan, X).astype(np.float32)
    frame = pd.DataFrame(data, columns=[f"f{i}" for i in range(8)])
    model = make(Estimator).partial_fit(frame[:200])
    model.partial_fit(frame[200:])
    assert list(model.feature_names_in_) == list(frame.columns)
    assert not model.refit_due_
    assert model._stream.reservoir.sample()[0].dtype == np.float32
    if Estimator is CompressivePCA:
        assert model.batch_scores_.dtype == np.float32
    with pytest.raises(ValueError, match="feature names"):
        model.partial_fit(frame[frame.columns[::-1]])
    model.refit()
    assert list(model.feature_names_in_) == list(frame.columns)


def test_copies_of_one_row_do_not_divide_by_zero():
    data = np.repeat(CENTERS[:3], 60, axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make(CompressiveClustering).partial_fit(data[np.random.default_rng(0).permutation(180)])
        assert np.isfinite(model.partial_fit(data[:50]).drift_.p_value)


def forged(model, **reservoir):
    return replace(model._stream, reservoir=replace(model._stream.reservoir, **reservoir))


FORGED = {
    "keys must be finite": lambda model: forged(model, keys=np.full(SIZE, np.nan)),
    "a number for each row": lambda model: forged(model, blocks=(X[:3],)),
    "_stream must have shape": lambda model: forged(model, blocks=(np.zeros((SIZE, 2)),)),
    "a reference if it has others": lambda model: replace(model._stream, reference=None),
    "numbers of tests": lambda model: replace(model._stream, n_tests="many"),
    "must be indices": lambda model: replace(
        model._stream, reference=replace(model._stream.reference, labels=np.full(30, -1))
    ),
}


@pytest.mark.parametrize("message", FORGED)
def test_forged_streams_are_refused(tmp_path, message):
    model = make(CompressiveClustering).partial_fit(X[:SIZE]).partial_fit(X[SIZE : SIZE + 3])
    kept = model._stream.reservoir.compacted()
    model._stream = replace(model._stream, reservoir=kept)
    model._stream = FORGED[message](model)
    model.save(tmp_path / "stream.model")
    with pytest.raises(ValueError, match=message):
        load(tmp_path / "stream.model")
