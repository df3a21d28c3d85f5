"""The page of a separated video: a viewer of some frames, what was found, and how it was done, in one file of HTML."""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from io import BytesIO
from math import ceil, isfinite, log10
from typing import Any

import numpy as np

from .._backend import Array
from .._files import write_atomically

VIEWS = ("Input", "Background", "Foreground", "Mask")
SIZES = ((480, 85), (480, 75), (400, 70), (320, 65), (240, 60))  # width and JPEG quality, tried in turn
PICTURE_BYTES = 2_800_000  # of all pictures; as text they take a third more, so that a page stays below 4 MB
MAX_COLUMNS = 1200  # of the timeline
MAX_POINTS = 60  # singular values shown
FLOOR = 1e-6  # below it, relative to the first, singular values are rounding
CEILINGS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0)  # heights of the timeline
NONE = "–"


@dataclass(frozen=True, eq=False)
class Gallery:
    """Some frames, evenly chosen, each shown four ways.

    Attributes
    ----------
    numbers
        Number of each frame in the video, from 0, increasing.
    seconds
        Time of each; None where the frame rate is not known.
    input, background, foreground
        (n_pictured, height, width) bytes; (n_pictured, height, width, 3) in colour.
    mask
        (n_pictured, height, width) booleans, True on the foreground.
    """

    numbers: Sequence[int]
    seconds: Sequence[float] | None
    input: Array
    background: Array
    foreground: Array
    mask: Array

    def __post_init__(self) -> None:
        shape = self.mask.shape
        if len(shape) != 3 or not self.mask.size:
            raise ValueError(f"mask must be (n_pictured, height, width) and not empty; got shape {shape}.")
        for name in ("input", "background", "foreground"):
            found = getattr(self, name)
            if found.shape not in (shape, (*shape, 3)) or found.dtype != np.uint8:
                raise ValueError(
                    f"{name} must be bytes of shape {shape} or {(*shape, 3)}; got {found.dtype} {found.shape}."
                )
        for name, given in (("numbers", self.numbers), ("seconds", self.seconds)):
            if given is not None and len(given) != shape[0]:
                raise ValueError(
                    f"{name} must have one entry for each of {shape[0]} pictured frames; got {len(given)}."
                )


@dataclass(frozen=True, eq=False)
class VideoReport:
    """Everything the page of a video shows.

    Attributes
    ----------
    title
        Name of the video.
    summary
        What was done, a sentence each.
    warnings
        What the reader must know, a sentence each; often none.
    gallery
        Pictured frames.
    singular_values
        Of the compressed background matrix, decreasing; ``rank`` of them are kept.
    rank
        Rank of the background.
    foreground_share
        (n_frames,) share of each frame that is foreground, in [0, 1].
    stages
        Stage to seconds.
    n_frames
        Length of the video.
    frames_per_second
        Frames separated per second of work, which is not the frame rate of the video.
    choices
        What, the chosen value, and why.
    command
        Command line that repeats the run, if there is one.
    versions
        Library to version.
    """

    title: str
    summary: Sequence[str]
    warnings: Sequence[str]
    gallery: Gallery
    singular_values: Array
    rank: int
    foreground_share: Array
    stages: Mapping[str, float]
    n_frames: int
    frames_per_second: float
    choices: Sequence[tuple[str, str, str]]
    command: str | None
    versions: Mapping[str, str]

    def __post_init__(self) -> None:
        if np.shape(self.foreground_share) != (self.n_frames,):
            shape = np.shape(self.foreground_share)
            raise ValueError(f"foreground_share must have one entry for each of {self.n_frames} frames; got {shape}.")
        if not 0 <= min(self.gallery.numbers) <= max(self.gallery.numbers) < self.n_frames:
            raise ValueError(f"numbers of pictured frames must be from 0 to {self.n_frames - 1}.")

    def to_html(self) -> str:
        """Return the page: pictures are data URIs, style and script are inline, nothing is fetched.

        Raises
        ------
        ImportError
            Without Jinja or Pillow.
        """
        try:
            from jinja2 import Environment, StrictUndefined
        except ImportError as error:
            raise ImportError("Pages need Jinja: pip install graphlowrank[video]") from error

        source = files(__package__).joinpath("page.html.j2").read_text(encoding="utf-8")
        environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
        page = environment.from_string(source).render(
            report=self, views=VIEWS, facts=_facts(self), frames=_frames(self), size=_shrunk(self.gallery, SIZES[0][0]),
            timeline=_timeline(np.asarray(self.foreground_share, dtype=float)),
            spectrum=_spectrum(np.asarray(self.singular_values, dtype=float), self.rank),
            stages=_stages(self.stages),
        )  # fmt: skip
        return page.encode(errors="replace").decode()  # a file name may hold bytes that are no text

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file, whole or not at all."""
        write_atomically(path, self.to_html())

    def __repr__(self) -> str:
        facts = ", ".join(f"{name} {value}" for name, value in _facts(self))
        stages = ", ".join(f"{stage} {_seconds(spent)}" for stage, spent in self.stages.items())
        lines = [f"VideoReport of {self.title!r}", facts, f"stages: {stages}" if stages else ""]
        return "\n  ".join([*filter(None, lines), *(f"warning: {line}" for line in self.warnings)])

    def _repr_html_(self) -> str:
        """Small table for notebooks."""
        rows = [*_facts(self), *((stage, _seconds(spent)) for stage, spent in self.stages.items())]
        rows += [("warning", line) for line in self.warnings]
        cells = "".join(f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in rows)
        return f"<table><caption>{escape(self.title)}</caption><tbody>{cells}</tbody></table>"


def _facts(report: VideoReport) -> list[tuple[str, str]]:
    """Name the few numbers that say how it went."""
    shares = np.asarray(report.foreground_share, dtype=float)
    shares = shares[np.isfinite(shares)]
    speed = report.frames_per_second
    return [
        ("frames", str(report.n_frames)),
        ("rank of the background", str(report.rank)),
        ("foreground on average", _percent(shares.mean() if shares.size else np.nan)),
        ("frames processed a second", f"{speed:.3g}" if isfinite(speed) and speed < 1000 else _whole(speed)),
    ]


def _frames(report: VideoReport) -> list[dict[str, Any]]:
    """Pictured frames as the script of the page reads them."""
    gallery = report.gallery
    shown = []
    for row, pictures in enumerate(_encoded(gallery)):
        number = int(gallery.numbers[row])
        second = np.nan if gallery.seconds is None else float(gallery.seconds[row])
        shown.append({
            "number": number,
            "label": f"frame {number}, {second:.1f} s" if isfinite(second) else f"frame {number}",
            "share": f"{_percent(float(report.foreground_share[number]))} foreground",
            "x": round(1000 * (number + 0.5) / report.n_frames, 1),
            "pictures": [_uri(picture) for picture in pictures],
        })  # fmt: skip
    return shown


def _encoded(gallery: Gallery) -> list[list[bytes]]:
    """Four pictures of each frame, in the order of VIEWS, as large as the page can bear."""
    rows = list(zip(gallery.input, gallery.background, gallery.foreground, gallery.mask, strict=True))
    encoded: list[list[bytes]] = []
    for width, quality in SIZES:
        size = _shrunk(gallery, width)
        encoded = [[*(_jpeg(view, size, quality) for view in views), _png(mask, size)] for *views, mask in rows]
        if sum(len(picture) for row in encoded for picture in row) <= PICTURE_BYTES:
            break
    return encoded


def _shrunk(gallery: Gallery, width: int) -> tuple[int, int]:
    """Width and height of pictures that are at most so wide."""
    rows, columns = gallery.mask.shape[1:]
    scale = min(1.0, width / columns)
    return max(1, round(scale * columns)), max(1, round(scale * rows))


def _jpeg(pixels: Array, size: tuple[int, int], quality: int) -> bytes:
    picture = _picture(pixels)
    if picture.size != size:
        picture = picture.resize(size)
    return _bytes(picture, "JPEG", quality=quality)


def _png(mask: Array, size: tuple[int, int]) -> bytes:
    """One bit a pixel; where the mask is shrunk, the majority decides."""
    if mask.shape[::-1] != size:
        grey = _picture(np.where(mask, np.uint8(255), np.uint8(0)))
        mask = np.asarray(grey.resize(size, resample=4)) >= 128  # 4: box, the mean of the pixels
    return _bytes(_picture(mask.astype(bool)), "PNG", optimize=True)


def _picture(pixels: Array) -> Any:
    try:
        from PIL import Image
    except ImportError as error:
        raise ImportError("Pages of videos need Pillow: pip install graphlowrank[video]") from error
    return Image.fromarray(np.ascontiguousarray(pixels))


def _bytes(picture: Any, kind: str, **options: Any) -> bytes:
    buffer = BytesIO()
    picture.save(buffer, kind, **options)
    return buffer.getvalue()


def _uri(picture: bytes) -> str:
    kind = "png" if picture.startswith(b"\x89PNG") else "jpeg"
    return f"data:image/{kind};base64,{b64encode(picture).decode()}"


def _timeline(shares: Array) -> dict[str, Any]:
    """Outline of the shares in a box of 1000 x 100, and the share at its top."""
    per_column = ceil(shares.size / MAX_COLUMNS)
    known = np.where(np.isfinite(shares), np.clip(shares, 0, 1), -1)
    highest = np.maximum.reduceat(known, np.arange(0, shares.size, per_column))
    top = next(ceiling for ceiling in CEILINGS if ceiling >= highest.max())
    edges = np.minimum(1000.0, np.arange(highest.size + 1) * per_column * 1000 / shares.size)
    outline, open_run = [], False
    for left, right, share in zip(edges[:-1], edges[1:], highest, strict=True):
        if share < 0:  # not known: a gap
            outline.append("V100Z" if open_run else "")
        else:
            height = f"V{100 - 100 * share / top:.4g}H{right:.5g}"
            outline.append(height if open_run else f"M{left:.5g},100{height}")
        open_run = share >= 0
    path = "".join(outline) + ("V100Z" if open_run else "")
    return {"path": path, "top": f"{100 * top:g} %", "per_column": per_column, "highest": _percent(highest.max())}


def _spectrum(values: Array, rank: int) -> dict[str, Any] | None:
    """Points and ticks of the singular values over their first, log scale, in a box of 420 x 220; None without any."""
    shown = values[: max(MAX_POINTS, 2 * rank)]
    if not shown.size or not isfinite(shown[0]) or shown[0] <= 0:
        return None
    relative = shown / shown[0]
    seen = np.flatnonzero(np.isfinite(relative) & (relative >= FLOOR))
    decades = max(1, ceil(-log10(relative[seen].min()) - 1e-9))
    left, right, upper, lower = 50.0, 412.0, 12.0, 178.0
    apart = (right - left - 20) / max(shown.size - 1, 1)

    def across(index: float) -> float:
        return round(left + 10 + apart * (index - 1), 1)

    def down(value: float) -> float:
        return round(upper - log10(value) / decades * (lower - upper), 1)

    step = next(s for s in (1, 2, 5, 10, 20, 50, 100, 200, 500, shown.size) if shown.size / s <= 8)
    return {
        "points": [(across(index + 1), down(relative[index]), index < rank) for index in seen.tolist()],
        "radius": round(min(3.5, max(1.5, apart / 2.5)), 1),
        "heights": [(down(10.0**-k), f"{10.0**-k:g}".replace("e-0", "e−")) for k in range(decades + 1)],
        "indices": [(across(i), i) for i in range(1, shown.size + 1) if i == 1 or (i % step == 0 and i > step / 2)],
        "cut": across(rank + 0.5) if 0 < rank < shown.size else None,
        "of": values.size if shown.size < values.size else None,
        "n_shown": shown.size,
    }  # fmt: skip


def _stages(stages: Mapping[str, float]) -> list[tuple[str, str, float, str]]:
    """Name, seconds, width of the bar and share of the whole in percent, for each stage."""
    known = {stage: max(0.0, spent) if isfinite(spent) else 0.0 for stage, spent in stages.items()}
    total, longest = sum(known.values()), max(known.values(), default=0.0)
    rows = []
    for stage, spent in stages.items():
        width = round(100 * known[stage] / longest, 1) if longest else 0.0
        share = _percent(known[stage] / total, digits=0) if total and isfinite(spent) else NONE
        rows.append((stage, _seconds(spent), width, share))
    return [*rows, ("total", _seconds(total), 0.0, "")] if len(rows) > 1 else rows


def _percent(share: float, digits: int = 1) -> str:
    return f"{100 * share:.{digits}f} %" if isfinite(share) and share >= 0 else NONE


def _whole(value: float) -> str:
    return f"{value:.0f}" if isfinite(value) else NONE


def _seconds(value: float) -> str:
    if not isfinite(value):
        return NONE
    return f"{value:.0f} s" if value >= 100 else f"{value:.1f} s" if value >= 10 else f"{value:.2f} s"
