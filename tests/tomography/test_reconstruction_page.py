"""The page of a reconstruction, from Python and in notebooks."""

import re
import sys
from html import unescape

import numpy as np
import pytest

from graphlowrank.datasets import shepp_logan_phantom
from graphlowrank.tomography import fourier_sampling, projection_matrix, reconstruct

SHAPE = (16, 16)
A = projection_matrix(SHAPE, np.arange(0, 180, 15))
B = A @ shepp_logan_phantom(16).ravel()


@pytest.fixture(scope="module")
def found():
    return reconstruct(A, B, SHAPE, gamma_features=0.1, gamma_samples=0.1, max_iter=20, nonnegative=True)


def test_a_page_is_written_from_python(found, tmp_path):
    found.save(tmp_path / "new" / "page.html", A, B, readings_shape=(12, 16))
    page = (tmp_path / "new" / "page.html").read_text(encoding="utf-8")
    assert page.count('<img src="data:image/png') == 3
    assert "Image of 16 x 16 pixels" in page
    assert "found = reconstruct(A, b, (16, 16))" in unescape(page)
    assert "default-src 'none'" in page
    residual = np.linalg.norm(B - A @ found.image.ravel()) / np.linalg.norm(B)
    assert f"<dd>{residual:.3g}</dd>" in page


def test_the_page_does_without_readings_and_with_frequencies(found):
    assert found.to_html().count("<img") == 1
    assert found.to_html(A, B).count("<img") == 1  # a row of readings is no image
    mask = np.random.default_rng(0).random(SHAPE) < 0.5
    F = fourier_sampling(SHAPE, mask)
    page = found.to_html(F, F @ shepp_logan_phantom(16).ravel())
    assert "residual over readings" in page
    assert not re.search(r">nan<", page)
    with pytest.raises(ValueError, match="does not hold the 192 readings"):
        found.to_html(A, B, readings_shape=(3, 3))


def test_notebooks_show_the_image(found, monkeypatch):
    assert found._repr_html_().count("data:image/png") == 1
    monkeypatch.setitem(sys.modules, "PIL", None)
    assert "Reconstruction of 16 x 16 pixels" in found._repr_html_()
