"""The page of a separated video: a viewer of some frames, the foreground over time, choices and times."""

from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from .._typing import Array
from . import drawing
from .page import data_uri, render

if TYPE_CHECKING:
    from ..video import Gallery, VideoReport

VIEWS = ("Input", "Background", "Foreground", "Mask")
SIZES = ((480, 85), (480, 75), (400, 70), (320, 65), (240, 60))  # width in pixels and JPEG quality, tried in turn
MAX_CHARACTERS = 3_735_000  # of all pictures, so pages stay below 4 MB
FLOOR = 1e-6  # singular values below this fraction of the first are rounding errors
BOX = 4  # Pillow's filter that averages the pixels of an area


def render_video(report: "VideoReport") -> str:
    """Render the page as HTML; style and script are inline, nothing is fetched."""
    return render(
        "video.html", extra="video", over="Background and foreground of a video", title=report.title,
        summary=report.summary, warnings=report.warnings, facts=facts(report), command=report.command,
        versions=report.versions, views=VIEWS, frames=_frames(report), n_frames=report.n_frames,
        size=_size(report.gallery, SIZES[0][0]), choices=report.choices, stages=drawing.stages(report.stages),
        timeline=drawing.timeline(np.asarray(report.foreground_share, dtype=float)),
        spectrum=drawing.spectrum(
            {"background": report.singular_values}, report.rank,
            max_values=max(drawing.MAX_VALUES, 2 * report.rank), floor=FLOOR,
        ),
    )  # fmt: skip


def facts(report: "VideoReport") -> list[tuple[str, str]]:
    """Key numbers: name and value."""
    shares = np.asarray(report.foreground_share, dtype=float)
    shares = shares[np.isfinite(shares)]
    speed = report.frames_per_second
    rate = f"{speed:.3g}" if speed < 1000 else f"{speed:.0f}"
    return [
        ("frames", str(report.n_frames)),
        ("rank of the background", str(report.rank)),
        ("foreground on average", drawing.percent(shares.mean() if shares.size else np.nan)),
        ("frames processed a second", rate if isfinite(speed) else drawing.NONE),
    ]


def _frames(report: "VideoReport") -> list[dict[str, Any]]:
    """Pictured frames as the script of the page reads them."""
    gallery, shown = report.gallery, []
    for row, (number, pictures) in enumerate(zip(map(int, gallery.numbers), _pictures(gallery), strict=True)):
        second = np.nan if gallery.seconds is None else float(gallery.seconds[row])
        shown.append({
            "number": number,
            "label": f"frame {number}, {second:.1f} s" if isfinite(second) else f"frame {number}",
            "share": f"{drawing.percent(float(report.foreground_share[number]))} foreground",
            "x": round(1000 * (number + 0.5) / report.n_frames, 1),
            "pictures": pictures,
        })  # fmt: skip
    return shown


def _pictures(gallery: "Gallery") -> list[list[str]]:
    """Four pictures of each frame as data URIs, in the order of VIEWS, as large as fits into MAX_CHARACTERS."""
    rows = list(zip(gallery.input, gallery.background, gallery.foreground, gallery.mask, strict=True))
    pictures: list[list[str]] = []
    for width, quality in SIZES:
        size = _size(gallery, width)
        pictures = []
        for *views, mask in rows:
            uris = (data_uri(_image(view).resize(size), "JPEG", quality=quality) for view in views)
            pictures.append([*uris, _png(mask, size)])
        if sum(len(uri) for row in pictures for uri in row) <= MAX_CHARACTERS:
            break
    return pictures


def _size(gallery: "Gallery", max_width: int) -> tuple[int, int]:
    """Width and height of the pictures."""
    height, width = gallery.mask.shape[1:]
    scale = min(1.0, max_width / width)
    return max(1, round(scale * width)), max(1, round(scale * height))


def _png(mask: Array, size: tuple[int, int]) -> str:
    """PNG of one bit per pixel; a shrunk pixel takes the value of the majority."""
    gray = _image(np.where(mask, np.uint8(255), np.uint8(0))).resize(size, resample=BOX)
    return data_uri(_image(np.asarray(gray) >= 128), "PNG", optimize=True)


def _image(pixels: Array) -> Any:
    try:
        from PIL import Image
    except ImportError as error:
        raise ImportError("Pages of videos need Pillow: pip install graphlowrank[video]") from error
    return Image.fromarray(np.ascontiguousarray(pixels))
