"""What the script of a map reads."""

import json
from base64 import b64decode
from io import BytesIO
from itertools import pairwise

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from PIL import Image

from graphlowrank.report import drawing
from graphlowrank.report.drawing import MAX_NUMBERS, number_place
from graphlowrank.report.sample_map import MAX_SHOWN, SampleMap, draw_map, shown_samples


def unpacked(text, dtype):
    return np.frombuffer(b64decode(text), dtype)


def make_map(n=500, **changed):
    rng = np.random.default_rng(0)
    shown = rng.permutation(n)[: n // 2]
    labels = rng.integers(0, 3, len(shown))
    given = {"places": rng.standard_normal((n, 2)) * [1, 3] + 5, "shown": shown, "labels": labels,
             "confidence": rng.random(len(shown)), "n_clusters": 3}  # fmt: skip
    return SampleMap(**{**given, **changed})


def test_few_samples_are_all_shown():
    assert_array_equal(np.sort(shown_samples(np.zeros(50, int))), np.arange(50))


def test_of_many_samples_each_cluster_has_some_and_the_seed_is_fixed():
    labels = np.zeros(100_000, int)
    labels[:50] = 1
    labels[50:60] = 2
    shown = shown_samples(labels)
    assert len(shown) == len(np.unique(shown)) == MAX_SHOWN
    counts = np.bincount(labels[shown])
    assert counts[1] >= 20
    assert counts[2] == 10
    assert_array_equal(shown, shown_samples(labels))
    at = np.flatnonzero(labels[shown] == 2)
    assert at.min() < MAX_SHOWN / 2 < at.max()  # in random order, so that no cluster covers another
    many = shown_samples(np.arange(30_000) % 3000, at_most=1000)
    assert len(many) == 1000


def test_the_script_reads_the_places():
    given = make_map()
    found = draw_map(given)
    json.dumps(found, allow_nan=False)
    places = unpacked(found["places"], "<u2").reshape(-1, 2) / 65535
    wanted = given.places[given.shown]
    for axis, sign in ((0, 1), (1, -1)):  # y points downwards
        slope = np.polyfit(wanted[:, axis], places[:, axis], 1)[0]
        assert_allclose(sign * slope, 1 / np.ptp(given.places[:, 1]), rtol=1e-3)  # one unit for both axes
    assert_array_equal(unpacked(found["rows"], "<u4"), given.shown)
    assert_array_equal(unpacked(found["labels"], "<u2"), given.labels)
    assert_allclose(unpacked(found["confidence"], "u1") / 255, given.confidence, atol=0.002)
    left, top, right, bottom = found["view"]
    assert 0 <= left < right <= 1
    assert 0 <= top < bottom <= 1
    for number in found["numbers"]:
        mine = places[given.labels == int(number["label"])]
        distance = np.linalg.norm(mine - np.median(mine, axis=0), axis=1)
        assert_allclose((number["x"], number["y"]), mine[distance.argmin()], atol=1e-4)


def test_features_have_steps_and_missing_values():
    values = np.r_[np.linspace(2, 4, 249), np.nan]
    (feature,) = draw_map(make_map(features={"a": values}))["features"]
    steps = unpacked(feature["values"], "u1")
    assert (feature["name"], steps[0], steps[248], steps[249]) == ("a", 0, 254, 255)
    assert (feature["low"], feature["high"]) == ("2.02", "3.98")
    (constant,) = draw_map(make_map(features={"a": np.ones(250)}))["features"]
    assert set(unpacked(constant["values"], "u1")) == {0}


def test_all_samples_are_in_the_shade():
    found = draw_map(make_map())
    image = np.asarray(Image.open(BytesIO(b64decode(found["density"]["uri"].split(",")[1]))))
    assert image.shape == (320, 320, 2)
    assert 200 < np.count_nonzero(image[..., 1]) <= 500
    everything = make_map()
    whole = make_map(shown=np.arange(500), labels=np.zeros(500, int), confidence=np.ones(500))
    assert draw_map(whole)["density"] is None
    assert everything.n_shown == 250


def test_pictures_are_in_one_sheet():
    images = np.zeros((250, 4, 6))
    images[17] = 1
    sprite = draw_map(make_map(images=images))["sprite"]
    sheet = np.asarray(Image.open(BytesIO(b64decode(sprite["uri"].split(",")[1]))))
    row, column = divmod(17, sprite["columns"])
    height, width = sprite["height"], sprite["width"]
    assert (height, width) == (4, 6)
    assert (sheet[row * 4 : row * 4 + 4, column * 6 : column * 6 + 6] == 255).all()
    assert (sheet == 255).sum() == 24


def test_a_single_place_does_no_harm():
    found = draw_map(make_map(places=np.ones((500, 2))))
    assert_array_equal(unpacked(found["places"], "<u2"), 0)
    json.dumps(found, allow_nan=False)


def test_the_largest_of_many_clusters_have_numbers():
    labels = np.arange(250) % 200
    found = draw_map(make_map(labels=labels, n_clusters=200, alternatives=[labels % 2]))
    assert len(set(found["colors"])) == 200
    assert [number["label"] for number in found["numbers"]] == [str(label) for label in range(50)] + [
        str(label) for label in range(50, MAX_NUMBERS)
    ]
    assert len(found["alternativeColors"][0]) == 2


def test_numbers_are_in_the_largest_piece_of_a_cluster():
    rng = np.random.default_rng(0)
    sizes, centers = (40, 300, 60, 1), np.array([[0, 0], [10, 1], [5, 0], [4.9, 0.3]])
    places = np.repeat(centers, sizes, axis=0) + 0.1 * rng.standard_normal((sum(sizes), 2))
    x, y, radius = number_place(places)
    assert np.hypot(x - 10, y - 1) < 0.1
    assert 0.1 < radius < 0.4
    square = rng.random((1000, 2))
    x, y, radius = number_place(square)  # one piece: in the middle
    assert np.hypot(x - 0.5, y - 0.5) < 0.1
    assert number_place(np.ones((1, 2))) == (1, 1, 0)


def test_colors_of_many_clusters_differ_in_lightness():
    """Hue alone is lost on the color-blind."""
    colors = [drawing.color(label, 24) for label in range(24)]
    assert len(set(colors)) == 24
    lightness = [int(text.split()[2].strip("%)")) for text in colors]
    assert all(abs(one - other) >= 15 for one, other in pairwise(lightness))
