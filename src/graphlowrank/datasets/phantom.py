"""The Shepp-Logan phantom: a head in ten ellipses."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._backend import Array


class Ellipse(NamedTuple):
    """Part of the phantom, in a picture that reaches from -1 to 1; y points up."""

    tenths: int  # added brightness
    half_width: float
    half_height: float
    x: float
    y: float
    degrees: float = 0.0  # turned against the clock


# Shepp, Logan 1974, with the brightness of Toft 1996, whose contrast can be seen.
HEAD = (
    Ellipse(10, 0.69, 0.92, 0.0, 0.0),  # skull
    Ellipse(-8, 0.6624, 0.874, 0.0, -0.0184),  # brain
    Ellipse(-2, 0.11, 0.31, 0.22, 0.0, -18.0),  # ventricles
    Ellipse(-2, 0.16, 0.41, -0.22, 0.0, 18.0),
    Ellipse(1, 0.21, 0.25, 0.0, 0.35),  # tumours
    Ellipse(1, 0.046, 0.046, 0.0, 0.1),
    Ellipse(1, 0.046, 0.046, 0.0, -0.1),
    Ellipse(1, 0.046, 0.023, -0.08, -0.605),
    Ellipse(1, 0.023, 0.023, 0.0, -0.606),
    Ellipse(1, 0.023, 0.046, 0.06, -0.605),
)


def shepp_logan_phantom(size: int = 256) -> Array:
    """Draw the modified Shepp-Logan phantom, (size, size), between 0 (air) and 1 (skull).

    As elsewhere, the centres of the outermost pixels are at -1 and 1.

    Examples
    --------
    >>> shepp_logan_phantom(9)[4]
    array([0. , 0. , 0.2, 0. , 0.2, 0. , 0.2, 0. , 0. ])
    """
    if size < 1:
        raise ValueError(f"size must be positive, got {size}.")
    centres = np.linspace(-1, 1, size)
    x, y = centres[None, :], -centres[:, None]  # the first row of a picture is its top
    tenths = sum(ellipse.tenths * _inside(ellipse, x, y) for ellipse in HEAD)
    return np.asarray(tenths / 10)  # sums of whole numbers: the brain's holes are 0, not nearly


def _inside(ellipse: Ellipse, x: Array, y: Array) -> Array:
    angle = np.deg2rad(ellipse.degrees)
    right, up = x - ellipse.x, y - ellipse.y
    along_width = right * np.cos(angle) + up * np.sin(angle)
    along_height = up * np.cos(angle) - right * np.sin(angle)
    return np.asarray((along_width / ellipse.half_width) ** 2 + (along_height / ellipse.half_height) ** 2 <= 1)
