"""Small data in many blocks, and a cluster of two workers for the module that asks for it."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from graphlowrank.preprocessing import rows


@pytest.fixture(scope="package")
def blobs():
    """Six clusters that touch, of different sizes."""
    X, y = make_blobs([900, 700, 600, 500, 400, 300], 12, cluster_std=2.5, random_state=1)
    return X.astype(np.float32), y


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Blocks of 256 rows of 12 numbers, as large data have many blocks."""
    monkeypatch.setattr(rows, "BLOCK_ENTRIES", 2**8 * 12)
