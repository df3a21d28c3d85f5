"""The page of a demo run."""

from collections.abc import Mapping
from typing import Any

from .._typing import Array
from ..linalg.svd import RANK_THRESHOLD, rank_of
from . import drawing
from .page import render
from .pictures import picture

FLOOR = 0.02  # of the first singular value; the rank rule is decided above it


def render_demo(
    record: Mapping[str, Any], *, summary: str, images: Mapping[str, Array], spectra: Mapping[str, Array]
) -> str:
    """Render the page of a demo run as HTML.

    ``record`` has scores and graphs (a dictionary each), stage_seconds of each model, parameters, versions and command.
    ``images`` are (n_images, height, width) in [0, 1], ``spectra`` decreasing singular values, both by system.
    """
    relative = {name: values / values[0] for name, values in spectra.items()}
    return render(
        "demo.html", title="Corrupted digits, recovered and clustered", summary=[summary], record=record,
        ranks={name: rank_of(values) for name, values in spectra.items()},
        command=record["command"], versions={**record["parameters"], **record["versions"]},
        stage_names=list(dict.fromkeys(name for seconds in record["stage_seconds"].values() for name in seconds)),
        digits={name: [picture(image, 0, 1) for image in row] for name, row in images.items()},
        spectrum=drawing.spectrum(
            relative, None, max_values=max(map(len, spectra.values())), floor=FLOOR, threshold=RANK_THRESHOLD
        ),
    )  # fmt: skip
