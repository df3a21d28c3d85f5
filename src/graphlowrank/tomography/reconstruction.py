"""The record of a reconstructed image; its page is rendered by ``graphlowrank.report``."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._files import write_atomically
from .._typing import Array
from ..report.notebook import image_html
from ..report.page import library_versions
from ..report.reconstruction_page import render_reconstruction
from ..solvers.solution import Iterated
from .operators import as_operator

Choice = tuple[float, float, float]  # gamma_features, gamma_samples, chain
PYTHON = """from graphlowrank.tomography import projection_matrix, reconstruct

found = reconstruct(A, b, {shape})
found.save("page.html", A, b)"""


@dataclass(frozen=True, eq=False)
class Reconstruction(Iterated):
    """Result of :func:`reconstruct`.

    Attributes
    ----------
    image : array (height, width)
        The image.
    gamma_features, gamma_samples, chain : float
        Parameters used.
    tried : mapping of (gamma_features, gamma_samples, chain) to float
        Where "auto" chose: the validation error of each choice, or its residual if ``noise`` was given.
    objective : list of list of float
        Objective after each step, one nonincreasing list for each pair of graphs. For a loss other than "l2" it is that
        of its quadratic majorizer.
    n_graphs, n_iter : int
        Number of pairs of graphs that were built, and of iterations.
    converged, residual : bool and float
        Whether the problem for the last graphs was solved; norm of its projected gradient relative to that at zero.
    """

    image: Array
    gamma_features: float
    gamma_samples: float
    chain: float
    tried: Mapping[Choice, float]
    objective: list[list[float]]
    n_graphs: int
    n_iter: int
    converged: bool
    residual: float

    def to_html(
        self, A: Any = None, b: Any = None, *, readings_shape: tuple[int, int] | None = None, **base: Any
    ) -> str:  # fmt: skip
        """Render the page as one self-contained HTML file; see :meth:`save`. ``base``: title, summary and the like."""
        readings = residual = None
        if b is not None:
            readings = np.asarray(b, dtype=np.float64)
            shape = readings_shape or (1, readings.size)
            if readings.size != shape[0] * shape[1]:
                raise ValueError(f"readings_shape {readings_shape} does not hold the {readings.size} readings.")
            readings = readings.reshape(shape)
            if A is not None:
                predicted = as_operator(A, self.image.shape).matvec(self.image.ravel())
                residual = readings - predicted.reshape(shape)
        height, width = map(int, self.image.shape)
        own = {
            "title": f"Image of {height} x {width} pixels", "over": "Reconstruction", "versions": library_versions(),
            "python_about": ", where A has the directions and b the readings",
            "python": PYTHON.format(shape=(height, width)), "choices": self._choices(),
        }  # fmt: skip
        return render_reconstruction(self, readings, residual, **{**own, **base})

    def save(
        self,
        path: str | os.PathLike[str],
        A: Any = None,
        b: Any = None,
        *,
        readings_shape: tuple[int, int] | None = None,
    ) -> None:
        """Write a page about the image: one HTML file that fetches nothing; needs Jinja and Pillow.

        Parameters
        ----------
        path
            File to write; an existing one is replaced once the new one is complete.
        A, b : operator and array, default=None
            Those of :func:`reconstruct`; the page then shows the readings and their residual.
        readings_shape : (int, int) or None, default=None
            Numbers of angles and of detectors, for readings that are an image.
        """
        write_atomically(path, self.to_html(A, b, readings_shape=readings_shape))

    def _repr_html_(self) -> str:
        """Show the image in a notebook."""
        about = f"gamma {self.gamma_features:.3g}, chain {self.chain:g}, {self.n_iter} iterations"
        return image_html(self.image, f"Reconstruction of {self.image.shape[0]} x {self.image.shape[1]} pixels", about)

    def _choices(self) -> list[tuple[str, str, str]]:
        """Parameter, value and reason."""
        reason = f"lowest error of {len(self.tried)} tried" if self.tried else "as given"
        gammas = {"gamma_features": self.gamma_features, "gamma_samples": self.gamma_samples, "chain": self.chain}
        return [(name, f"{value:.4g}", reason) for name, value in gammas.items()]
