"""The robust decoder: Huber regression of the data on the compressed factors."""

import numpy as np
import pytest
from decoder_helpers import Problem, as_data
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from graphlowrank import (
    CompressivePCA,
)
from graphlowrank.decoders import decode_robust, decode_subspace
from graphlowrank.decoders.robust import ridge_penalty
from graphlowrank.metrics import recovery_error
from graphlowrank.sampling import SampledNodes
from helpers import with_missing


@given(seed=st.integers(0, 999), weighted=st.booleans())
@settings(max_examples=20, deadline=None)
def test_a_low_rank_matrix_is_recovered_from_outliers_without_graphs(seed, weighted):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((120, 3)) @ rng.standard_normal((3, 90)) + rng.standard_normal(90)
    rows, columns = np.sort(rng.choice(120, 40, replace=False)), np.sort(rng.choice(90, 30, replace=False))
    sides = [SampledNodes(None, kept, rng.uniform(0.5, 2, len(kept)) if weighted else None) for kept in (rows, columns)]
    wrong = rng.random(X.shape) < 0.1
    assume(
        max(wrong[rows].mean(axis=0).max(), wrong[:, columns].mean(axis=1).max()) < 0.25
    )  # no regression survives more
    data = as_data(np.where(wrong, X + 30, X))
    found = decode_robust(X[np.ix_(rows, columns)], *sides, data=data, n_components=3, max_iter=300)
    assert found.converged
    assert recovery_error(X, found.low_rank.to_array()) < 0.02


def test_it_fits_what_neighbors_do_not_share():
    """Each sample has a brightness of its own: the graph cannot interpolate it, but the data determine it."""
    case = Problem(n=60, p=40, seed=3)
    brightness = np.random.default_rng(0).standard_normal(60)
    X = 10 * (case.X + np.outer(brightness, case.P[:, 0]))
    X_small = X[case.block]
    robust = decode_robust(X_small, *case.sides, data=as_data(X), n_components=3).low_rank.to_array()
    interpolated = decode_subspace(X_small, *case.sides, n_components=3).low_rank.to_array()
    assert recovery_error(X, robust) < 0.02
    assert recovery_error(X, interpolated) > 0.3


def test_a_factor_below_the_noise_is_not_fitted_to_it():
    """Rank 1 and small noise, but four factors are asked for: the three others are left at zero."""
    rng = np.random.default_rng(0)
    X = np.outer(rng.standard_normal(200), rng.standard_normal(80)) + 5
    dirty = X + 0.05 * rng.standard_normal(X.shape)
    rows, columns = np.arange(0, 200, 4), np.arange(0, 80, 2)
    sides = SampledNodes(None, rows), SampledNodes(None, columns)
    small = X[np.ix_(rows, columns)] + 1e-6 * rng.standard_normal((50, 40))  # as clean as a solver makes it
    one, four = (decode_robust(small, *sides, data=as_data(dirty), n_components=k).low_rank.to_array() for k in (1, 4))
    assert recovery_error(X, four) < 0.003  # 0.0041 if the factors are fitted to the noise
    assert recovery_error(one, four) < 1e-5
    assert ridge_penalty(np.full((3, 1), 1e-6), 0.15) > 1e6 * ridge_penalty(np.ones((3, 1)), 0.15)


def test_it_warns_unless_it_converges():
    case = Problem(noise=0.3)
    with pytest.warns(UserWarning, match="the robust decoder on the .* did not converge in 1 iterations"):
        decode_robust(case.X_small, *case.sides, data=as_data(1e3 * case.X), n_components=2, corner=1e-3, max_iter=1)


def test_the_robust_decoder_of_rarely_observed_features():
    rng = np.random.default_rng(0)
    X = with_missing(rng.standard_normal((600, 3)) @ rng.standard_normal((3, 30)), 0.9)
    X[0], X[:, 0] = 1.0, rng.standard_normal(600)
    decoder_options = {"max_iter": 2000, "block_entries": 1000}
    options = {"decoder": "robust", "decoder_options": decoder_options, "downsampling": (1.2, 1.5)}
    model = CompressivePCA(2, random_state=0, gamma_samples=1.0, gamma_features=0.1, **options).fit(X)
    assert np.isfinite(model.low_rank_.to_array()).all()
