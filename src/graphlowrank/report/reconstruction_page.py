"""The page of a reconstructed image: the image, the readings and their residual, what was tried."""

from typing import TYPE_CHECKING, Any

import numpy as np

from .._typing import Array
from . import drawing
from .page import render
from .pictures import picture, signed

if TYPE_CHECKING:
    from ..tomography import Reconstruction

MAX_SIDE = 800  # pixels of the image
MAX_TRIED = 40  # rows of the table


def render_reconstruction(
    found: "Reconstruction", readings: Array | None, residual: Array | None, **base: Any
) -> str:  # fmt: skip
    """Render the page as HTML.

    ``readings`` and their ``residual`` (n_angles, n_detectors) are shown as images, or as numbers if they are one row;
    ``base`` has the variables of :func:`.page.render`.
    """
    image = found.image
    low, high = float(image.min()), float(image.max())
    known = None if readings is None else readings[np.isfinite(readings)]
    facts = [
        ("height × width", f"{image.shape[0]} × {image.shape[1]}"),
        ("gamma", drawing.number(found.gamma_features)),
        ("share of the path graphs", f"{found.chain:g}"),
        ("iterations", str(found.n_iter)),
    ]
    views: list[dict[str, str]] = []
    size = None
    if readings is not None and known is not None and known.size:
        size = None if residual is None else float(np.linalg.norm(residual[np.isfinite(residual)]) / _norm(known))
        facts.insert(1, ("readings", str(known.size)))
        if len(readings) > 1:
            least, most = float(known.min()), float(known.max())
            shown = np.where(np.isfinite(readings), readings, least)
            views.append({"title": "Readings", "uri": picture(shown, least, most, max_side=MAX_SIDE), "limit": ""})
        if len(readings) > 1 and residual is not None:
            limit = float(np.percentile(np.abs(residual[np.isfinite(residual)]), 99)) or 1.0
            views.append(
                {"title": "Residual of the readings", "uri": signed(residual, limit), "limit": drawing.number(limit)}
            )
    if size is not None:
        facts.append(("residual over readings", f"{size:.3g}"))
    ends = {"low": drawing.number(low), "high": drawing.number(high)}
    return render(
        "reconstruction.html", facts=facts, image={"uri": picture(image, low, high, max_side=MAX_SIDE), **ends},
        views=views, tried=_tried(found), n_missing=0 if readings is None else int((~np.isfinite(readings)).sum()),
        found=found, **base,
    )  # fmt: skip


def _norm(values: Array) -> float:
    return float(np.linalg.norm(values)) or 1.0


def _tried(found: "Reconstruction") -> list[dict[str, Any]]:
    used = (found.gamma_features, found.gamma_samples, found.chain)
    largest = max((judged for judged in found.tried.values() if np.isfinite(judged)), default=0.0)
    return [
        {
            "gamma": drawing.number(gamma), "chain": f"{chain:g}", "judged": drawing.number(judged),
            "width": round(100 * judged / largest, 1) if largest and np.isfinite(judged) else 0,
            "used": (gamma, samples, chain) == used,
        }
        for (gamma, samples, chain), judged in list(found.tried.items())[:MAX_TRIED]
    ]  # fmt: skip
