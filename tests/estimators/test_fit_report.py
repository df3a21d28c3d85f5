"""Reports of fitted models."""

import json

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError

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
from graphlowrank.auto.choice import Choice
from graphlowrank.estimators.fit_report import FitReport, graph_summary
from graphlowrank.graphs import Graph

EVERY = [
    CompressiveClustering(3), CompressivePCA(3), FastRobustPCAOnGraphs(), GraphLaplacianPCA(2), GraphNMF(2),
    ManifoldMF(2), RobustPCA(), RobustPCAOnGraphs(),
]  # fmt: skip


@pytest.mark.parametrize("model", EVERY, ids=lambda model: type(model).__name__)
def test_every_estimator_reports(model):
    with pytest.raises(NotFittedError):
        _ = model.report_
    model.fit(np.random.default_rng(0).random((60, 12)))
    report = model.report_
    assert report.model == type(model).__name__
    assert report.data == "60 samples x 12 features"
    assert all(choice.reason for choice in report.choices)
    text, page = repr(report), report._repr_html_()
    for choice in report.choices:
        assert choice.name in text
        assert choice.name in page
    assert json.loads(json.dumps(report.as_dict()))["converged"] is True


def test_a_report_shows_problems_and_escapes_markup():
    graph = graph_summary("samples", Graph(sp.csr_array(np.array([[0, 1, 0.0], [1, 0, 0], [0, 0, 0]]))))
    assert (graph.n_components, graph.smallest_component) == (2, 1)
    choices = (Choice("gamma", 0.123456, "<b>because</b>"),)
    report = FitReport("Model", "data", choices, (graph,), 7, converged=False, seconds={"solve": 1.0})
    assert "2 connected components, the smallest with 1 nodes" in repr(report)
    assert "NOT converged" in repr(report)
    assert "0.1235" in repr(report)
    assert "<b>because" not in report._repr_html_()


def test_given_values_and_chosen_ones_have_different_reasons():
    X = make_blobs(200, 8, centers=4, random_state=0)[0]
    asked = CompressiveClustering(4, gamma_samples=2.0, scaling="none", scores="scaled", random_state=0).fit(X).report_
    chosen = CompressiveClustering(4, random_state=0).fit(X).report_
    for name in ("gamma_samples", "scaling", "scores"):
        assert next(choice.reason for choice in asked.choices if choice.name == name) == "as given"
        assert next(choice.reason for choice in chosen.choices if choice.name == name) != "as given"
