"""Compilation of kernels."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Compile a kernel on first use, without the GIL, and cache it on disk if possible."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        try:
            return njit(nogil=True, cache=True, **options)(function)
        except RuntimeError:  # neither the package's folder nor the user's cache is writable
            return njit(nogil=True, **options)(function)

    return decorate


@compiled()
def in_precision_of(array, value):  # type: ignore[no-untyped-def]
    """Return ``value`` in the dtype of ``array``: a float64 scalar would turn float32 arithmetic into float64."""
    number = np.empty(1, array.dtype)
    number[0] = value
    return number[0]
