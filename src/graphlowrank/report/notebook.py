"""Small versions of pages for notebooks, without Jinja: a few tags around escaped text, and one picture."""

from collections.abc import Mapping
from html import escape

import numpy as np

from .._typing import Array
from . import drawing

LEFT = "style='text-align:left'"
TEXT = "fill:currentColor;font-size:14px"


def clusters_svg(places: Array, labels: Array) -> str:
    """Return a picture of some samples (n, 2) in a plane, colored by cluster."""
    box = drawing.scatter(places, labels)
    paths = "".join(
        f"<path d='{group['path']}' style='fill:none;stroke:{group['color']};stroke-width:{box['dot']};"
        "stroke-linecap:round;stroke-opacity:.75'/>"
        for group in box["groups"]
    )
    numbers = "".join(
        f"<text x='{group['at'][0]}' y='{group['at'][1]}' style='fill:currentColor;"
        f"font:bold {drawing.NUMBER:g}px sans-serif;text-anchor:middle'>{group['label']}</text>"
        for group in box["groups"]
        if group["at"] and len(box["groups"]) > 1
    )
    return f"<svg viewBox='0 0 640 480' width='340' role='img' aria-label='clusters'>{paths}{numbers}</svg>"


def spectrum_svg(spectra: Mapping[str, Array], rank: int | None) -> str:
    """Return a picture of singular values; nothing if there are none."""
    box = drawing.spectrum(spectra, rank)
    if box is None:
        return ""
    points = "".join(
        f"<circle cx='{x}' cy='{y}' r='{box['radius']}' style='fill:#0072b2'/>"
        for _, _, points in box["series"]
        for x, y, _ in points
    )
    ticks = "".join(
        f"<text x='44' y='{y + 4}' style='{TEXT};text-anchor:end'>{text}</text>" for y, text in box["heights"]
    ) + "".join(
        f"<text x='{x}' y='196' style='{TEXT};text-anchor:middle'>{index}</text>" for x, index in box["indices"]
    )
    return f"<svg viewBox='0 0 420 220' width='340' role='img' aria-label='singular values'>{points}{ticks}</svg>"


def report_html(title: str, picture: str, choices: list[tuple[str, str, str]], notes: list[str]) -> str:
    """Return the title (HTML), a picture (SVG), a table of choices, and sentences."""
    rows = "".join(
        f"<tr><th {LEFT}>{escape(name)}</th><td {LEFT}>{escape(value)}</td><td {LEFT}>{escape(reason)}</td></tr>"
        for name, value, reason in choices
    )
    items = "".join(f"<li>{escape(note)}</li>" for note in notes)
    state = "" if picture else " open"
    table = f"<details{state}><summary>choices</summary><table>{rows}</table><ul>{items}</ul></details>"
    return f"<div>{title}<div>{picture}</div>{table}</div>"


def image_html(image: Array, title: str, about: str) -> str:
    """Return a gray image as a picture, if Pillow is there, with a title and a sentence."""
    from .pictures import picture

    try:
        uri = picture(image, float(np.min(image)), float(np.max(image)), max_side=400)
    except ImportError:
        return f"<div><b>{escape(title)}</b><br>{escape(about)}</div>"
    shown = f"<img src='{uri}' style='image-rendering:pixelated;width:300px' alt='{escape(title)}'>"
    return f"<div><b>{escape(title)}</b><br>{shown}<br>{escape(about)}</div>"
