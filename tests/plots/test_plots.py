"""Displays: what is drawn, on which axes, and from which numbers."""

import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from matplotlib import pyplot as plt
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_blobs

from graphlowrank import CompressiveClustering, CompressiveEmbedding, CompressivePCA
from graphlowrank.clustering import conductance
from graphlowrank.graphs import as_graph
from graphlowrank.guarantees import decoding_errors
from graphlowrank.plots import (
    ClusterSizesDisplay,
    DecoderErrorDisplay,
    GammaPathDisplay,
    GraphSpectrumDisplay,
    MapDisplay,
    MissingValuesDisplay,
    PicturesDisplay,
    SingularValuesDisplay,
)
from graphlowrank.plots.maps import MAX_POINTS
from graphlowrank.plots.recovery import missing_shares

X, Y = make_blobs(150, 6, centers=3, cluster_std=0.5, random_state=0)


@pytest.fixture(autouse=True)
def closed():
    with mpl.rc_context({"backend": "agg"}):
        yield
        plt.close("all")


@pytest.fixture(scope="module")
def clustered():
    return CompressiveClustering(3, random_state=0).fit(pd.DataFrame(X, columns=list("abcdef")))


@pytest.fixture(scope="module")
def recovered():
    return CompressivePCA(2, random_state=0).fit(X)


def displays(clustered, recovered):
    frame = pd.DataFrame(X, columns=list("abcdef"))
    return {
        MapDisplay: (clustered, {"layout": X[:, :2]}), ClusterSizesDisplay: (clustered, {}),
        GammaPathDisplay: (clustered, {"X": frame, "gammas": (0.5, 5.0)}), GraphSpectrumDisplay: (clustered, {}),
        SingularValuesDisplay: (recovered, {"X": X}), PicturesDisplay: (recovered, {"X": X, "image_shape": (2, 3)}),
        MissingValuesDisplay: (clustered, {"X": frame}), DecoderErrorDisplay: (recovered, {"n_draws": 2}),
    }  # fmt: skip


@pytest.mark.parametrize("number", range(8))
def test_every_display_draws_on_its_own_axes_or_on_given_ones(clustered, recovered, number, tmp_path):
    display, (model, options) = list(displays(clustered, recovered).items())[number]
    made = display.from_estimator(model, **options)
    assert made.figure_ is made.ax_.figure
    made.figure_.savefig(tmp_path / "own.png")
    ax = plt.subplots()[1]
    assert made.plot(ax) is made
    assert made.ax_ is ax
    assert made.figure_ is ax.figure
    assert display.from_estimator(model, ax=ax, **options).ax_ is ax
    assert (tmp_path / "own.png").stat().st_size > 1000


def colors_of(display):
    (points,) = [one for one in display.ax_.collections if len(one.get_offsets()) > 1]
    return np.asarray(points.get_offsets()), points.get_facecolors()[:, :3]


def test_a_map_has_the_colors_of_the_clusters(clustered):
    shown = MapDisplay.from_estimator(clustered, layout=X[:, :2])
    places, colors = colors_of(shown)
    for cluster in range(3):
        own = {tuple(place) for place in X[clustered.labels_ == cluster, :2]}
        found = np.array([tuple(place) in own for place in places])
        assert len(np.unique(colors[found], axis=0)) == 1
    assert [text.get_text() for text in shown.ax_.texts] == ["0", "1", "2"]
    assert len(np.unique(colors, axis=0)) == 3


@pytest.mark.parametrize("color", ["confidence", "c", 2, X[:, 2]])
def test_a_map_is_colored_by_values(clustered, color):
    shown = MapDisplay.from_estimator(clustered, color=color, layout=X[:, :2])
    if not isinstance(color, str) or color == "c":
        assert_allclose(shown.values, X[:, 2])
        assert shown.name == ("" if isinstance(color, np.ndarray) else "c")
        lightness = colors_of(shown)[1].mean(axis=1)
        places = colors_of(shown)[0]
        order = {tuple(place): value for place, value in zip(X[:, :2], X[:, 2], strict=True)}
        assert np.corrcoef(lightness, [order[tuple(place)] for place in places])[0, 1] > 0.8
    assert len(shown.figure_.axes) == 2  # with a color bar


def test_maps_of_embeddings_sparse_data_and_the_default_layout(clustered):
    sparse = sp.csr_array(np.abs(X))
    model = CompressiveEmbedding(random_state=0, n_epochs=5).fit(sparse)
    assert_array_equal(MapDisplay.from_estimator(model).positions, model.embedding_)
    assert_allclose(MapDisplay.from_estimator(model, sparse, color=1).values, np.abs(X[:, 1]))
    assert_allclose(MapDisplay.from_estimator(model, color=1).values, np.asarray(model.points_.to_array())[:, 1])
    assert MapDisplay.from_estimator(clustered).positions.shape == (150, 2)
    with pytest.raises(ValueError, match="there is no feature 'z'"):
        MapDisplay.from_estimator(clustered, color="z")
    with pytest.raises(ValueError, match="positions must have two columns"):
        MapDisplay(X)


def test_labels_may_be_text_or_negative():
    names = np.repeat(["$b$", "a", "c"], 30)
    places = np.repeat([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]], 30, axis=0) + np.random.default_rng(0).random((90, 2))
    shown = MapDisplay(places, names, categorical=True).plot()
    assert {text.get_text() for text in shown.ax_.texts} == {r"\$b\$", "a", "c"}
    assert len(np.unique(colors_of(shown)[1], axis=0)) == 3
    shown = MapDisplay(places, np.repeat([-1, 0, 10**12], 30), categorical=True).plot()
    assert {text.get_text() for text in shown.ax_.texts} == {"-1", "0", "1000000000000"}


def test_numbers_of_clusters_do_not_cover_each_other_or_small_clusters():
    places = np.array([[0.0, 0.0], [0.1, 0.0], [10.0, 10.0], [10.0, 0.0]])
    shown = MapDisplay(places, np.arange(4), categorical=True).plot()
    assert [text.get_text() for text in shown.ax_.texts] == ["0", "2", "3"]
    assert all(text.xyann[1] > 0 for text in shown.ax_.texts)


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda clusters, _: MapDisplay.from_estimator(clusters, color=99), "color must be a feature from 0 to"),
        (lambda clusters, _: MapDisplay.from_estimator(clusters, color=-1), "color must be a feature"),
        (lambda clusters, _: MapDisplay.from_estimator(clusters, layout=np.full((150, 2), np.nan)), "must be finite"),
        (lambda _, low: MapDisplay.from_estimator(low), "CompressivePCA has no points_, which this plot needs"),
        (lambda _, low: MapDisplay.from_estimator(low, layout=X[:, :2], color="confidence"), "has no confidence_"),
        (lambda _, low: ClusterSizesDisplay.from_estimator(low), "has no labels_"),
        (lambda _, low: GammaPathDisplay.from_estimator(low, X), "has no n_clusters_"),
        (lambda clusters, _: SingularValuesDisplay.from_estimator(clusters, X), "has no low_rank_"),
        (lambda _, low: SingularValuesDisplay.from_estimator(low, X[:5]), r"X must be the data of the fit, of shape"),
        (lambda _, low: PicturesDisplay.from_estimator(low, X, image_shape=(3, 3)), "image_shape must be a height"),
        (lambda _, low: PicturesDisplay.from_estimator(low, X[:, :2], image_shape=(1, 2)), "X must be the data of"),
        (
            lambda _, low: PicturesDisplay.from_estimator(low, X, image_shape=(2, 2), clean=X[:5]),
            "clean must have the shape",
        ),
    ],
)
def test_what_a_display_cannot_draw_is_refused(clustered, recovered, draw, message):
    with pytest.raises(ValueError, match=message):
        draw(clustered, recovered)


@pytest.mark.parametrize("categorical", [True, False])
def test_many_points_are_shaded_by_density(categorical):
    rng = np.random.default_rng(0)
    n = MAX_POINTS + 1
    labels = rng.integers(0, 2, n)
    places = rng.random((n, 2)) + [[2.0, 0.0]] * labels[:, None]
    shown = MapDisplay(places, labels if categorical else labels * 1.0, categorical=categorical).plot()
    (image,) = shown.ax_.images
    pixels = np.asarray(image.get_array())
    assert pixels.shape[2] == 4
    assert max(pixels.shape) <= 701
    full = pixels[..., 3] > 0
    middle = pixels.shape[1] // 2
    left, right = (part[part[..., 3] > 0][:, :3] for part in (pixels[:, :middle], pixels[:, middle:]))
    assert np.linalg.norm(left.mean(axis=0) - right.mean(axis=0)) > 0.3
    assert not full[:, middle].any()


def test_sizes_are_sorted_and_many_are_an_area():
    bars = ClusterSizesDisplay([5, 20, 10]).plot().ax_
    assert [bar.get_height() for bar in bars.patches] == [20, 10, 5]
    assert [label.get_text() for label in bars.get_xticklabels()] == ["1", "2", "0"]
    assert [label.get_text() for label in bars.texts] == ["20", "10", "5"]
    many = ClusterSizesDisplay(np.arange(1, 1001)).plot().ax_
    assert (len(many.patches), len(many.collections)) == (0, 1)


def test_the_path_has_the_conductance_of_a_fit_at_each_gamma(clustered):
    frame = pd.DataFrame(X, columns=list("abcdef"))
    shown = GammaPathDisplay.from_estimator(clustered, frame, gammas=(1.5, 15.0))
    again = CompressiveClustering(3, gamma_samples=15.0, random_state=0).fit(frame)
    assert shown.conductances[1] == again.conductance_
    assert again.conductance_ == pytest.approx(conductance(again.sample_graph_, again.labels_, 3))
    assert shown.chosen == (clustered.gamma_samples_, clustered.conductance_)


def test_the_largest_gap_is_after_the_number_of_clusters(clustered):
    found = GraphSpectrumDisplay.from_estimator(clustered, n_values=8)
    assert found.gap_ == 3
    assert len(found.eigenvalues) == 8
    with pytest.raises(ValueError, match="has no sample_graph_"):
        GraphSpectrumDisplay.from_estimator(CompressiveClustering(3, sample_graph=None).fit(X))


def test_the_threshold_separates_signal_and_noise():
    rng = np.random.default_rng(0)
    signal = 3 * rng.standard_normal((200, 3)) @ rng.standard_normal((3, 40))
    noisy = signal + 0.5 * rng.standard_normal(signal.shape)
    model = CompressivePCA(3, random_state=0).fit(noisy)
    shown = SingularValuesDisplay.from_estimator(model, noisy)
    assert (shown.given > shown.threshold).sum() == 3
    assert shown.threshold == pytest.approx(0.5 * (200**0.5 + 40**0.5), rel=0.1)
    assert shown.given[3] > 0.8 * shown.threshold
    noisy[3, 4] = np.nan
    assert np.isfinite(SingularValuesDisplay.from_estimator(model, noisy).threshold)


def test_pictures_are_those_of_the_samples(recovered):
    shown = PicturesDisplay.from_estimator(recovered, X, image_shape=(2, 3), clean=X + 1, samples=[4, 9])
    assert list(shown.rows) == ["clean", "given", "recovered"]
    assert_allclose(shown.rows["given"][1], X[9].reshape(2, 3))
    assert_allclose(shown.rows["recovered"][0].ravel(), recovered.low_rank_[4])
    canvas = np.asarray(shown.ax_.images[0].get_array())
    assert_allclose(canvas[:2, :3], X[4].reshape(2, 3) + 1)
    with pytest.raises(ValueError, match="equally many pictures"):
        PicturesDisplay({"a": np.zeros((1, 2, 2)), "b": np.zeros((2, 2, 2))})


def test_missing_values_are_where_they_are():
    missing = np.random.default_rng(0).random((7, 5)) < 0.3
    assert_array_equal(missing_shares(missing), missing)
    tall = np.random.default_rng(0).random((1300, 3)) < 0.3
    shares = missing_shares(tall)
    assert shares.shape == (600, 3)
    edges = np.linspace(0, 1300, 601).astype(int)
    assert_allclose(shares[17], tall[edges[17] : edges[18]].mean(axis=0))
    data = np.where(tall, np.nan, 1.0)
    shown = MissingValuesDisplay.from_data(pd.DataFrame(data, columns=["<b>", "$x_$", "c"]))
    assert f"{tall.sum()} values missing" in shown.ax_.get_title()
    assert [label.get_text() for label in shown.ax_.get_xticklabels()] == ["<b>", r"\$x_\$", "c"]
    shown.figure_.canvas.draw()


def test_errors_stay_below_their_bounds():
    labels = np.arange(90) // 30
    weights = np.where(labels[:, None] == labels, 1.0, 0.001) - np.eye(90)
    weights[np.eye(90, dtype=bool)] = 0
    found = decoding_errors(as_graph(weights), 3, sizes=(30, 89), n_draws=3, random_state=0)
    assert found.errors.shape == found.bounds.shape == (2, 3)
    assert 0 < found.gap < 0.01
    assert (found.errors > 1e-6).all()
    assert (found.errors <= found.bounds).all()
    assert found.errors[1].max() < found.errors[0].min()
    again = decoding_errors(as_graph(weights), 3, sizes=(30, 89), n_draws=3, random_state=0)
    assert_array_equal(found.errors, again.errors)


def test_names_with_dollars_are_no_formulas(clustered):
    frame = pd.DataFrame(X, columns=["$\\frac{$", "b$ {", "\\frac{", "d", "e", "f"])
    model = CompressiveClustering(3, random_state=0).fit(frame)
    for name in frame.columns[:3]:
        MapDisplay.from_estimator(model, color=name, layout=X[:, :2]).figure_.canvas.draw()


def test_importing_plots_does_not_import_matplotlib():
    code = "import sys, graphlowrank; graphlowrank.plots; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install graphlowrank\[plots\]"):
        ClusterSizesDisplay([1, 2]).plot()
