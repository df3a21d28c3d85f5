"""Solvers and decoders as options of CompressivePCA."""

import numpy as np
import pytest

from graphlowrank import CompressivePCA, FastRobustPCAOnGraphs, RobustPCA
from graphlowrank.datasets import make_low_rank_on_graphs
from graphlowrank.decoders import DECODERS
from graphlowrank.metrics import recovery_error

ROBUST = [name for name in DECODERS if name not in ("approximate2", "approximate3")]


@pytest.fixture(scope="module")
def corrupted():
    return make_low_rank_on_graphs(600, 120, rank=4, outliers=0.1, random_state=0)


def fit(data, **options):
    options = {"downsampling": (5, 2), "gamma_samples": 2.0, "gamma_features": 2.0, "random_state": 0, **options}
    return CompressivePCA(4, sample_graph=data.sample_graph, feature_graph=data.feature_graph, **options).fit(data.X)


@pytest.mark.parametrize("decoder", ROBUST)
@pytest.mark.parametrize("sampling", ["uniform", "optimal"])
def test_every_robust_decoder_recovers_from_outliers(corrupted, decoder, sampling):
    model = fit(corrupted, decoder=decoder, sampling=sampling)
    limit = 0.25 if decoder == "orthonormal" else 0.05  # its scale rests on the isometry of the draw
    assert recovery_error(corrupted.X_true, model.low_rank_.to_array()) < limit
    assert model.n_components_ == 4
    assert (model.sample_weights_ is None) == (sampling == "uniform")


def test_projections_of_clean_data_recover_it():
    data = make_low_rank_on_graphs(600, 120, rank=4, random_state=0)
    for decoder in ("approximate2", "approximate3"):
        assert recovery_error(data.X_true, fit(data, decoder=decoder).low_rank_.to_array()) < 0.02


def test_projections_do_without_the_other_graph():
    data = make_low_rank_on_graphs(600, 120, rank=4, random_state=0)
    options = {"downsampling": (5, 2), "random_state": 0}
    for decoder, given in (
        ("approximate2", {"feature_graph": data.feature_graph, "sample_graph": None}),
        ("approximate3", {"sample_graph": data.sample_graph, "feature_graph": None}),
    ):
        model = CompressivePCA(4, decoder=decoder, **given, **options).fit(data.X)
        assert recovery_error(data.X_true, model.low_rank_.to_array()) < 0.1
    with pytest.raises(ValueError, match="leaves no way to decode the features"):
        CompressivePCA(4, decoder="approximate2", feature_graph=None, downsampling=(5, 2)).fit(data.X)


def test_decoder_options_arrive(corrupted):
    plain, steep = fit(corrupted), fit(corrupted, decoder_options={"filter": 2})
    assert steep.decoder_n_iter_ > plain.decoder_n_iter_
    assert np.abs(steep.low_rank_.to_array() - plain.low_rank_.to_array()).max() > 1e-6


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (
            {"decoder_options": {"gamma": 1}},
            "decoder 'subspace' has no option 'gamma'; it takes filter, normalize, delta",
        ),
        ({"decoder_options": {"n_components": 1}}, "has no option 'n_components'"),
        ({"decoder": "approximate2", "decoder_options": {"data": 1}}, "has no option 'data'"),
        ({"decoder_options": 3}, "must be None or a dictionary"),
        ({"decoder": "robust?"}, "decoder must be one of 'subspace'"),
    ],
)
def test_bad_decoder_options_are_named_before_work(corrupted, options, text):
    with pytest.raises(ValueError, match=text):
        fit(corrupted, **options)


@pytest.fixture(scope="module")
def small_corrupted():
    return make_low_rank_on_graphs(300, 100, rank=4, outliers=0.1, random_state=0)


@pytest.mark.parametrize("solver", ["rpca", "rpcag", "frpcag"])
def test_every_solver_recovers(small_corrupted, solver):
    model = CompressivePCA(
        4, solver=solver, decoder="robust", downsampling=(3, 2), sample_graph=small_corrupted.sample_graph,
        feature_graph=small_corrupted.feature_graph, gamma_samples=2.0, gamma_features=2.0, random_state=0,
    ).fit(small_corrupted.X)  # fmt: skip
    assert recovery_error(small_corrupted.X_true, model.low_rank_.to_array()) < 0.05
    assert model.converged_
    assert solver in model.stage_seconds_


def test_rpca_without_compression_is_robust_pca(small_corrupted):
    ours = CompressivePCA(4, solver="rpca", decoder="robust", downsampling=(1, 1), tol=1e-5).fit(small_corrupted.X)
    theirs = RobustPCA(4).fit(small_corrupted.X)
    assert recovery_error(theirs.low_rank_, ours.low_rank_.to_array()) < 0.02


def test_graphs_that_are_not_used_are_not_built(small_corrupted):
    def graphs(**options):
        model = CompressivePCA(2, downsampling=(3, 2), random_state=0, **options).fit(small_corrupted.X)
        return model.sample_graph_ is not None, model.feature_graph_ is not None

    assert graphs(solver="rpca", decoder="robust") == (False, False)
    assert graphs(solver="rpcag", decoder="robust") == (True, False)
    assert graphs(solver="frpcag", decoder="robust") == (True, True)
    assert graphs(solver="rpca", decoder="subspace") == (True, True)
    assert graphs(solver="rpca", decoder="approximate2") == (False, True)


def test_the_robust_decoder_needs_no_graph():
    X = make_low_rank_on_graphs(4000, 900, rank=3, random_state=0).X
    model = CompressivePCA(3, sample_graph=None, feature_graph=None, solver="rpca", decoder="robust").fit(X)
    assert (len(model.sample_indices_), len(model.feature_indices_)) == (3000, 500)
    assert recovery_error(X, model.low_rank_.to_array()) < 0.02


def test_a_loss_that_the_solver_does_not_use_is_refused_and_not_reported(small_corrupted):
    X = small_corrupted.X[:30]
    for solver, used in (("rpca", set()), ("rpcag", {"gamma_samples"})):
        with pytest.raises(ValueError, match=f"loss='l2' needs solver='frpcag': '{solver}' has a loss of its own"):
            CompressivePCA(2, solver=solver, loss="l2").fit(X)
        choices = CompressivePCA(2, solver=solver, decoder="robust", n_neighbors=5).fit(X).report_.choices
        assert {choice.name for choice in choices} & {"loss", "gamma_samples", "gamma_features"} == used
    whole = FastRobustPCAOnGraphs(2, loss="l2", n_neighbors=5).fit(X)
    assert {"loss", "gamma_samples", "gamma_features"} <= {choice.name for choice in whole.report_.choices}


def test_a_solver_without_weights_refuses_optimal_sampling(small_corrupted):
    with pytest.raises(ValueError, match="solver='rpca' has no importance weights"):
        CompressivePCA(2, solver="rpca", sampling="optimal").fit(small_corrupted.X)
    with pytest.raises(ValueError, match="solver must be one of 'auto', 'frpcag', 'rpca', 'rpcag'"):
        CompressivePCA(2, solver="pca").fit(small_corrupted.X)
