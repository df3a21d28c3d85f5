"""Fixtures, and the threads of a test process."""

import logging
import os

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

if "PYTEST_XDIST_WORKER" in os.environ:
    # Several processes share the cores, and BLAS threads of one spin while they wait for those of another. Tests with
    # n_jobs=2 still run two threads.
    for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ.setdefault(name, "1")  # for libraries that are loaded later, and for processes that tests start
    threadpool_limits(1)

logging.getLogger("graphlowrank").addHandler(logging.NullHandler())


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def blobs():
    """Three clear groups in ten dimensions, and their labels."""
    rng = np.random.default_rng(1)
    labels = np.repeat(np.arange(3), 40)
    centers = 4 * rng.standard_normal((3, 10))  # every feature separates the groups
    return centers[labels] + 0.5 * rng.standard_normal((120, 10)), labels
