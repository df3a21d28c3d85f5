"""Model files of earlier versions load, and predict what they predicted."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import graphlowrank
from graphlowrank import estimators

FOLDER = Path(__file__).parents[1] / "data" / "model_files_0_1_dev"
UNITS = np.array([1e4, 1, 1, 1e-2, 1, 1])
EXPECTED = dict(np.load(FOLDER / "expected.npz"))
CLASSES = {
    "clustering": "CompressiveClustering", "cpca": "CompressivePCA", "frpcag": "FastRobustPCAOnGraphs",
    "rpca": "RobustPCA", "rpcag": "RobustPCAOnGraphs", "glpca": "GraphLaplacianPCA", "mmf": "ManifoldMF",
    "gnmf": "GraphNMF",
}  # fmt: skip
PARAMETERS = {
    "clustering": {"n_clusters": 4, "gamma_samples": 2.5}, "cpca": {"decoder_options": {"filter": 2}},
    "frpcag": {"gamma_samples": 3.0}, "rpca": {"weight": 0.5}, "rpcag": {"gamma": 0.5}, "glpca": {"beta": 0.25},
    "mmf": {"gamma": 4.0}, "gnmf": {"gamma": 4.0},
}  # fmt: skip


def new_samples(name):
    samples = EXPECTED["new"] * UNITS if "units" in name else EXPECTED["new"]
    if "frame" not in name:
        return samples
    return pd.DataFrame(samples.astype(np.float32), columns=[f"feature {i}" for i in range(6)])


def distances(samples, recovered):
    """Sums of absolute differences of each sample, without missing values."""
    return np.nansum(np.abs(np.asarray(samples) - recovered), axis=1)


def test_every_estimator_of_that_version_is_covered():
    assert set(CLASSES.values()) == set(estimators.__all__) - {"CompressiveEmbedding"}
    assert {path.stem.split("_")[0] for path in FOLDER.glob("*.model")} == set(CLASSES)


@pytest.mark.parametrize("name", sorted({key.split(".")[0] for key in EXPECTED} - {"new"}))
def test_a_fitted_model_predicts_the_same(name):
    model = graphlowrank.load(FOLDER / f"{name}.model")
    assert type(model).__name__ == CLASSES[name.split("_")[0]]
    samples = new_samples(name)
    for key in (key for key in EXPECTED if key.startswith(f"{name}.")):
        method = key.split(".")[1]
        found = getattr(model, method)(EXPECTED[f"{name}.transform"] if method == "inverse_transform" else samples)
        assert found.dtype == EXPECTED[key].dtype
        if method == "predict":
            assert_array_equal(found, EXPECTED[key])
        else:  # up to rounding; l1 regression stopped before its minimum, at objectives up to 0.05 % larger
            l1 = method == "transform" and getattr(model, "loss", "") == "l1"
            rtol = 0.02 if l1 else 1000 * np.finfo(found.dtype).eps
            assert_allclose(found, EXPECTED[key], rtol=rtol, atol=rtol * np.abs(EXPECTED[key]).max())
            if l1 and "units" not in name:  # those are measured in other units
                now, before = (distances(samples, model.inverse_transform(one)) for one in (found, EXPECTED[key]))
                assert np.all(now <= before)
    assert repr(model.report_).startswith(f"{type(model).__name__} on 30 samples x 6 features")
    assert f"<h1>{type(model).__name__}" in model.report_.to_html()


@pytest.mark.parametrize("name", PARAMETERS)
def test_a_model_that_was_not_fitted_keeps_its_parameters(name):
    model = graphlowrank.load(FOLDER / f"{name}_unfitted.model")
    assert type(model).__name__ == CLASSES[name]
    assert {key: getattr(model, key) for key in PARAMETERS[name]} == PARAMETERS[name]
    assert model.get_params().keys() == type(model)().get_params().keys()


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.model")), ids=lambda path: path.stem)
def test_an_old_model_can_be_saved_again(tmp_path, path):
    graphlowrank.load(path).save(tmp_path / "again.model")
    assert type(graphlowrank.load(tmp_path / "again.model")) is type(graphlowrank.load(path))
