"""What fitted models say about themselves, and how many clusters are found."""

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
from graphlowrank.auto.n_clusters import count_clusters
from graphlowrank.estimators.fit_report import FitReport, health
from graphlowrank.graphs import Graph
from graphlowrank.options import AFFORDABLE_ENTRIES, AUTO_SAMPLES, Settings

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


def test_a_report_hides_no_trouble_and_lets_no_markup_through():
    graph = health("samples", Graph(sp.csr_array(np.array([[0, 1, 0.0], [1, 0, 0], [0, 0, 0]]))))
    assert (graph.n_components, graph.smallest_component) == (2, 1)
    choices = (Choice("gamma", 0.123456, "<b>because</b>"),)
    report = FitReport("Model", "data", choices, (graph,), 7, converged=False, seconds={"solve": 1.0})
    assert "in 2 pieces, the smallest of 1" in repr(report)
    assert "NOT converged" in repr(report)
    assert "0.1235" in repr(report)
    assert "<b>because" not in report._repr_html_()


def test_values_that_were_asked_for_are_told_from_those_chosen():
    X = make_blobs(200, 8, centers=4, random_state=0)[0]
    asked = CompressiveClustering(4, gamma_samples=2.0, scaling="none", scores="scaled", random_state=0).fit(X).report_
    chosen = CompressiveClustering(4, random_state=0).fit(X).report_
    for name in ("gamma_samples", "scaling", "scores"):
        assert next(choice.reason for choice in asked.choices if choice.name == name) == "as asked"
        assert next(choice.reason for choice in chosen.choices if choice.name == name) != "as asked"


@pytest.mark.parametrize("k", [2, 3, 5, 9])
@pytest.mark.parametrize("factor", [1.0, 1000.0])
def test_clusters_that_stand_apart_are_counted(k, factor):
    X = factor * make_blobs(600, 10, centers=k, cluster_std=1.5, random_state=k)[0]
    assert count_clusters(X, 10, np.random.RandomState(0)).n_clusters == k
    model = CompressiveClustering("auto", random_state=0).fit(X)
    assert model.n_clusters_ == k
    assert model.soft_labels_.shape == (600, k)


def test_few_samples_are_no_error(rng):
    X = rng.standard_normal((40, 5))
    assert CompressiveClustering("auto", random_state=0).fit(X[:6]).n_clusters_ == 1
    assert CompressiveClustering("auto", n_neighbors=1, random_state=0).fit(X[:3]).n_clusters_ == 1
    kept = CompressiveClustering("auto", sampling=([0, 1, 2], None), random_state=0).fit(X)
    assert kept.n_clusters_ <= 3


def test_a_given_graph_is_counted_on(rng):
    clique = np.ones((50, 50)) - np.eye(50)
    graph = sp.csr_array(sp.block_diag([clique, clique, clique]))
    model = CompressiveClustering("auto", sample_graph=graph, random_state=0).fit(rng.standard_normal((150, 8)))
    assert model.n_clusters_ == 3
    assert model.conductance_ == 0


def test_the_small_problem_stays_affordable_whatever_the_number_of_features():
    assert Settings().kept(5000, 16_000) == (1000, 4000)
    for n, p in ((5000, 1_000_000), (300, 1_000_000), (10**6, 10**6)):
        rows, columns = Settings().kept(n, p)
        assert rows * columns <= 100 * AFFORDABLE_ENTRIES  # a tenth of the samples at least
        assert min(rows, AUTO_SAMPLES) * columns == pytest.approx(AFFORDABLE_ENTRIES, rel=0.01)
    assert Settings(feature_graph=None).kept(5000, 1_000_000)[1] == 1_000_000  # nothing to decode them with


def test_many_small_components():
    """What is drawn to choose gammas, or to count clusters, has some of each."""
    rng = np.random.default_rng(0)
    X = np.repeat(100 * rng.standard_normal((200, 20)), 15, axis=0) + rng.standard_normal((3000, 20))
    assert np.isfinite(CompressivePCA(random_state=0).fit(X).low_rank_[:5]).all()
    apart = sp.csr_array(sp.block_diag([np.ones((3, 3)) - np.eye(3)] * 100))
    model = CompressiveClustering("auto", sample_graph=apart, random_state=0)
    assert model.fit(rng.standard_normal((300, 5))).n_clusters_ >= 1
