import numpy as np
import pandas as pd
import pytest


@pytest.fixture(scope="session")
def blobs():
    """Three clear groups of 15: too few samples for the check for outliers, which would be most of the work."""
    rng = np.random.default_rng(1)
    labels = np.repeat(np.arange(3), 15)
    centers = 4 * rng.standard_normal((3, 10))
    return centers[labels] + 0.5 * rng.standard_normal((45, 10)), labels


@pytest.fixture
def here(tmp_path, monkeypatch, blobs):
    monkeypatch.chdir(tmp_path)
    X, _ = blobs
    names = [f"wine {row}, old" for row in range(len(X))]
    pd.DataFrame(X, index=names, columns=[f"f{i}" for i in range(X.shape[1])]).to_csv("in.csv")
    return tmp_path
