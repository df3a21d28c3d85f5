import pandas as pd
import pytest


@pytest.fixture
def here(tmp_path, monkeypatch, blobs):
    monkeypatch.chdir(tmp_path)
    X, _ = blobs
    names = [f"wine {row}, old" for row in range(len(X))]
    pd.DataFrame(X, index=names, columns=[f"f{i}" for i in range(X.shape[1])]).to_csv("in.csv")
    return tmp_path
