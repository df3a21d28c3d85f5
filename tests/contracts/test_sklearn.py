"""scikit-learn's checks, pipelines, data frames."""

import numpy as np
import pandas as pd
import polars
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from graphlowrank import CompressiveClustering, CompressiveEmbedding, CompressivePCA, FastRobustPCAOnGraphs

ESTIMATORS = [CompressivePCA, CompressiveClustering, CompressiveEmbedding, FastRobustPCAOnGraphs]

RECOVERY = [CompressivePCA, FastRobustPCAOnGraphs]


@pytest.mark.filterwarnings("ignore:n_neighbors=1[05] is lowered")
@parametrize_with_checks([Estimator() for Estimator in ESTIMATORS])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_works_in_a_pipeline_and_a_grid_search():
    X, y = load_digits(n_class=3, return_X_y=True)
    search = GridSearchCV(
        make_pipeline(
            StandardScaler(with_std=False),
            CompressivePCA(5, gamma_features=0.3, robust_graphs=False, random_state=0),
            LogisticRegression(max_iter=500),
        ),
        {"compressivepca__gamma_samples": [0.1, 0.5], "compressivepca__n_components": [3, 6]},
        cv=2,
    ).fit(X, y)
    assert search.best_score_ > 0.9


FRAMES = {"pandas": pd.DataFrame, "polars": polars.DataFrame}


@pytest.mark.parametrize("Estimator", RECOVERY)
@pytest.mark.parametrize("kind", FRAMES)
def test_frames_in_and_out(Estimator, kind):
    X = load_digits().data[:100]
    names = [f"pixel{i}" for i in range(64)]
    frame = FRAMES[kind](dict(zip(names, X.T, strict=True)))
    unfitted = Estimator(3, robust_graphs=False, random_state=0)
    model = clone(unfitted).set_output(transform=kind).fit(frame)
    out = model.transform(frame)
    assert isinstance(out, FRAMES[kind])
    assert list(out.columns) == [f"{Estimator.__name__.lower()}{i}" for i in range(3)]
    assert list(model.feature_names_in_) == names
    assert_array_equal(np.asarray(out), unfitted.fit(X).transform(X))
    with pytest.raises(ValueError, match="feature names should match"):
        model.transform(FRAMES[kind](dict(zip(names[::-1], X.T, strict=True))))


def test_a_frame_keeps_its_index_where_entries_are_masked():
    frame = pd.DataFrame(load_digits().data[:100], index=[f"s{i}" for i in range(100)])
    frame.columns = [f"pixel{i}" for i in range(64)]
    model = CompressivePCA(2, robust_graphs=False, random_state=0).set_output(transform="pandas")
    assert list(model.fit_transform(frame, mask=frame.to_numpy() < 16).index) == list(frame.index)


@pytest.mark.parametrize("kind", FRAMES)
def test_clusters_of_frames(kind):
    X = np.array(load_digits().data[:150])
    X[3, 5] = np.nan
    frame = FRAMES[kind](dict(zip([f"pixel{i}" for i in range(64)], X.T, strict=True)))
    model, plain = (CompressiveClustering(10, robust_graphs=False, random_state=0).fit(data) for data in (frame, X))
    assert_array_equal(model.labels_, plain.labels_)
    assert_array_equal(model.predict(frame), plain.predict(X))
