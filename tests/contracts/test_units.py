"""Answers follow the unit of the data, from far below to far above the squares that a float can hold."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_wine

from graphlowrank import (
    CompressiveClustering,
    CompressivePCA,
    FastRobustPCAOnGraphs,
    GraphLaplacianPCA,
    GraphNMF,
    ManifoldMF,
    RobustPCA,
    RobustPCAOnGraphs,
)

ESTIMATORS = {
    CompressivePCA: {"robust_graphs": False},
    FastRobustPCAOnGraphs: {"robust_graphs": False},
    RobustPCA: {},
    RobustPCAOnGraphs: {},
    GraphLaplacianPCA: {},
    ManifoldMF: {},
    GraphNMF: {"max_iter": 1000},
}
RNG = np.random.default_rng(0)
X = np.abs(RNG.normal(size=(60, 3)) @ RNG.normal(size=(3, 8)) + 0.1 * RNG.normal(size=(60, 8)))


def answer(Estimator, data):
    """The low-rank matrix or the embedding, over its largest entry; in double precision, since the unit may be tiny."""
    seed = {} if Estimator is RobustPCA else {"random_state": 0}
    model = Estimator(2, **seed, **ESTIMATORS[Estimator]).fit(data)
    found = np.asarray(model.low_rank_ if hasattr(model, "low_rank_") else model.embedding_)
    assert found.dtype == data.dtype
    assert np.isfinite(model.transform(data)).all()
    found = found.astype(np.float64)
    return found / np.abs(found).max()


@pytest.mark.parametrize("Estimator", ESTIMATORS)
@pytest.mark.parametrize("unit", [1e-200, 1e-160, 1e-20, 1e20, 1e150])
def test_double_precision(Estimator, unit):
    assert_allclose(answer(Estimator, unit * X), answer(Estimator, X), atol=1e-10)


@pytest.mark.parametrize("Estimator", ESTIMATORS)
@pytest.mark.parametrize("unit", [1e-35, 1e-25, 1e18, 1e35])
def test_single_precision(Estimator, unit):
    single = (X.astype(np.float32) * np.float32(unit)).astype(np.float32)
    assert_allclose(answer(Estimator, single), answer(Estimator, X), atol=1e-3)


POWERS = [2.0**-660, 2.0**-500, 2.0**-150, 2.0**150, 2.0**490]  # 1e-199 to 1e147; multiplied by them, no bit changes


@pytest.mark.parametrize("unit", POWERS)
@pytest.mark.parametrize("scaling", ["auto", "none", "features", "samples"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_clusters(form, scaling, unit):
    """Of features in different units, whose squares vanish or overflow at different powers."""
    data = load_wine().data[::2]
    one, other = (CompressiveClustering(3, scaling=scaling, random_state=0).fit(form(X)) for X in (data, unit * data))
    assert_array_equal(other.labels_, one.labels_)
    assert_array_equal(other.predict(form(unit * data)), one.predict(form(data)))
    reasons = [[choice.reason for choice in model.report_.choices] for model in (one, other)]
    assert reasons[0] == reasons[1]


@pytest.mark.parametrize("unit", POWERS)
@pytest.mark.parametrize("solver", ["frpcag", "rpca", "rpcag"])
def test_recovery_of_features_in_different_units(solver, unit):
    data = load_wine().data[::2]
    one, other = (CompressivePCA(2, solver=solver, random_state=0).fit(X) for X in (data, unit * data))
    assert_allclose(np.asarray(other.low_rank_) / unit, np.asarray(one.low_rank_), rtol=1e-9)
