"""Containers and codecs of the video files that can be written.

H.264 is encoded by x264, which is under the GPL; the encoders of the other codecs are under the LGPL or BSD.
"""

from dataclasses import dataclass, field

from .readers import need

_MATRIX = {"colorspace": "smpte170m", "color_range": "tv"}  # named, because players assume another one for large frames
_FAST_START = {"movflags": "+faststart"}  # index first: browsers can play the file before it is complete
_REPRODUCIBLE = {"fflags": "+bitexact"}  # no random identifier in the file
_NEARLY_BEST = {"flags": "+qscale", "global_quality": "236"}  # 2 of 1 to 31


@dataclass(frozen=True)
class Encoding:
    """An encoder of FFmpeg, with its options."""

    codec: str
    encoder: str
    pixels: str
    options: dict[str, str]
    even: bool = False  # whether the codec needs even sizes
    max_ticks: int = 2**31 - 1  # a second


@dataclass(frozen=True)
class Container:
    """A kind of video file, with FFmpeg's options; the first of its encodings is the default."""

    format: str
    encodings: tuple[Encoding, ...]
    options: dict[str, str] = field(default_factory=dict)


_H264 = Encoding("h264", "libx264", "yuv420p", {"crf": "18", "preset": "veryfast", **_MATRIX}, even=True)
_VP9 = Encoding(
    "vp9", "libvpx-vp9", "yuv420p",
    {"crf": "24", "b": "0", "deadline": "realtime", "cpu-used": "6", "row-mt": "1", **_MATRIX},
)  # fmt: skip
_MPEG4 = Encoding("mpeg4", "mpeg4", "yuv420p", _NEARLY_BEST, max_ticks=65_535)
_MP4 = Container("mp4", (_H264, _VP9, _MPEG4), _FAST_START)
CONTAINERS = {
    ".mp4": _MP4,
    ".m4v": _MP4,
    ".mov": Container("mov", (_H264, _MPEG4), _FAST_START),
    ".mkv": Container("matroska", (_H264, _VP9, _MPEG4), _REPRODUCIBLE),
    ".webm": Container("webm", (_VP9,), _REPRODUCIBLE),
    ".avi": Container("avi", (Encoding("mjpeg", "mjpeg", "yuvj420p", _NEARLY_BEST), _MPEG4)),
    ".gif": Container("gif", (Encoding("gif", "gif", "pal8", {}),)),
}


def find_encoding(extension: str, codec: str | None = None) -> Encoding:
    """Find the encoding of a kind of file; ValueError if PyAV lacks it, ModuleNotFoundError if a package is missing."""
    encodings = {one.codec: one for one in CONTAINERS[extension].encodings}
    if codec is not None and codec not in encodings:
        raise ValueError(f"{extension} files are not written with the codec {codec!r}, but {' or '.join(encodings)}.")
    found = encodings[codec or next(iter(encodings))]
    av = need("av", f"writing {extension} files")
    try:
        av.codec.Codec(found.encoder, "w")
    except ValueError as error:
        raise ValueError(
            f"this build of PyAV has no encoder {found.encoder}, which {extension} files with {found.codec} need; "
            "choose another codec or extension, a file that ends in .npz, or a folder."
        ) from error
    if extension == ".gif":
        need("PIL.Image", "writing .gif files")
    return found
