"""Non-negative scores of new samples on known components."""

import numpy as np
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.datasets import load_digits

from graphlowrank.models.gnmf import nonnegative_scores


@settings(max_examples=60, deadline=None)
@given(n=st.integers(1, 6), p=st.integers(1, 10), k=st.integers(1, 8), twins=st.booleans(), seed=st.integers(0, 99))
def test_scores_satisfy_the_conditions_of_least_squares(n, p, k, twins, seed):
    rng = np.random.default_rng(seed)
    X, C = rng.standard_normal((n, p)), rng.random((k, p))
    if twins:
        C[-1] = C[0]
    S = nonnegative_scores(X, C)
    grad = (S @ C - X) @ C.T
    assert S.min() >= 0
    assert grad.min() >= -1e-8
    assert_allclose(S * grad, 0, atol=1e-8)
    assert_allclose(nonnegative_scores(sp.csr_array(X), C) @ C, S @ C, atol=1e-8)


def test_scores_do_not_depend_on_the_company():
    X, C = load_digits().data[:50], np.random.default_rng(0).random((10, 64))
    C /= np.linalg.norm(C, axis=1, keepdims=True)
    together = nonnegative_scores(X, C)
    assert_allclose(np.vstack([nonnegative_scores(x[None], C) for x in X]), together, rtol=1e-10, atol=1e-10)
    single = nonnegative_scores(X.astype(np.float32), C.astype(np.float32))
    assert single.dtype == np.float32
    assert_allclose(single @ C, together @ C, atol=1e-3)
