"""What graph NMF does to its input, and refuses."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from test_gnmf import UPDATES, laplacian_of, random_data, start

import graphlowrank.models.gnmf as module
from graphlowrank.models import solve_gnmf


def test_data_are_left_alone_and_whole_numbers_are_welcome():
    X = (10 * random_data(20, 8)).astype(int)
    L, init = laplacian_of(X.astype(float)), start(20, 8, 2)
    kept = [X.copy(), L.copy(), *(part.copy() for part in init)]
    for array in (X, L.data, *init):
        array.setflags(write=False)
    for updates in UPDATES:
        found = solve_gnmf(X, L, 2, gamma=1, init=init, updates=updates, max_iter=5)
        real = solve_gnmf(X.astype(float), L, 2, gamma=1, init=init, updates=updates, max_iter=5)
        assert_array_equal(found.scores, real.scores)
    assert_array_equal(X, kept[0])
    assert abs(L - kept[1]).nnz == 0


@pytest.mark.parametrize(
    ("X", "options", "match"),
    [
        (np.full((3, 3), np.nan), {}, "NaN"),
        (np.array([[1.0, np.inf]]), {"n_components": 1}, "infinity"),
        (np.array([[1.0, -0.5]]), {"n_components": 1}, "negative"),
        (sp.csr_array([[1.0, -0.5]]), {"n_components": 1}, "negative"),
        (np.ones(3), {}, "shape"),
        (np.ones((0, 3)), {}, "shape"),
        (np.ones((2, 2), dtype=complex), {}, "real"),
        (np.ones((3, 3)), {"n_components": 0}, "n_components"),
        (np.ones((3, 3)), {"n_components": 4}, "n_components"),
        (np.ones((3, 3)), {"gamma": -1}, "gamma"),
        (np.ones((3, 3)), {"gamma": np.nan}, "gamma"),
        (np.ones((3, 3)), {"tol": -1}, "tol"),
        (np.ones((3, 3)), {"max_iter": 0}, "max_iter"),
        (np.ones((3, 3)), {"init": "svd"}, "init"),
        (np.ones((3, 3)), {"init": (np.ones((3, 2)), -np.ones((2, 3)))}, "init"),
        (np.ones((3, 3)), {"init": (np.ones((2, 2)), np.ones((2, 3)))}, "init"),
        (np.ones((3, 3)), {"updates": "hals"}, "updates"),
        (np.ones((3, 3)), {"L_samples": sp.eye_array(4)}, "L_samples"),
    ],
)
def test_bad_input_is_refused_before_work(X, options, match, monkeypatch):
    monkeypatch.setattr(module, "_Problem", None)
    with pytest.raises(ValueError, match=match):
        solve_gnmf(X, **{"L_samples": None, "n_components": 2, "gamma": 0, **options})
