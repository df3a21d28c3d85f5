import json

import numpy as np
import pytest

from graphlowrank_benchmarks.datasets import make_noisy_circle
from graphlowrank_benchmarks.paper import circle
from graphlowrank_benchmarks.paper.spec import parse_experiment, read_experiment


@pytest.fixture(scope="module")
def found():
    """Values and pictures of each system, each by a content that went through JSON."""
    cells = circle.expand(read_experiment("circle"))
    return {cell.column: measured(json.loads(json.dumps(cell.content))) for cell in cells}


def measured(content):
    record = circle.run(content)
    return record.values, record.pictures


def test_graphs_take_most_of_the_noise_away(found):
    error = {title: values["error"] for title, (values, _) in found.items()}
    noise_along_the_circle = error["noisy points"] / np.sqrt(3)  # nobody can see it
    assert noise_along_the_circle == pytest.approx(0.1, rel=0.05)
    for title in ("FRPCAG", "CPCA (5,1)"):
        assert 0.9 * noise_along_the_circle < error[title] < 1.25 * noise_along_the_circle
        assert found[title][0]["radius"] == pytest.approx(1, abs=0.05)


def test_robust_pca_shrinks_the_circle_or_leaves_the_noise(found):
    noisy = found["noisy points"][0]["error"]
    assert found["RPCA"][0]["error"] > 2 * noisy
    assert found["RPCA"][0]["radius"] < 0.7
    assert 0.9 * noisy < found["RPCA, best weight"][0]["error"] < noisy


def test_robust_pca_with_half_the_weight_makes_it_a_point(found):
    # Zero is optimal where weight * sign(X) has no singular value above 1.
    X = make_noisy_circle(1000, noise=0.1, random_state=0).X
    assert 0.0158 * np.linalg.norm(np.sign(X), 2) < 1
    values, pictures = found["RPCA, half the weight"]
    assert not pictures["points"].any()
    assert values["error"] == 1


def test_pictures_are_points_in_space(found):
    for values, pictures in found.values():
        assert {name: (picture.shape, picture.dtype) for name, picture in pictures.items()} == {
            name: ((1000, 3), np.dtype(np.float32)) for name in ("points", "truth")
        }
        json.dumps(values)
    assert found["CPCA (5,1)"][0]["rank"] == 2  # the plane of the circle


def test_the_content_decides_everything(found):
    for cell in circle.expand(read_experiment("circle")):
        values, pictures = measured(cell.content)
        assert values == found[cell.column][0]
        np.testing.assert_array_equal(pictures["points"], found[cell.column][1]["points"])


def test_a_method_that_is_not_there_is_said():
    text = (
        "title = 't'\nplace = 'p'\nkind = 'circle'\npoints = 9\nnoise = 0\n[[systems]]\ntitle = 'a'\nmethod = 'magic'"
    )
    with pytest.raises(ValueError, match="no method 'magic'"):
        list(circle.expand(parse_experiment("t", text)))
