"""Compilation of kernels."""

import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
from numba import njit
from numba.core.caching import FunctionCache


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Compile a kernel on first use, without the GIL, and cache it on disk if possible."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        kernel = njit(nogil=True, **options)(function)
        with suppress(RuntimeError):  # neither the package's folder nor the user's cache is writable
            setattr(kernel, "_cache", ForgivingCache(function))  # noqa: B010  njit(cache=True) sets numba's own
        return kernel

    return decorate


class ForgivingCache(FunctionCache):
    """Cache of compiled code on disk. A damaged file or a full disk costs the time to compile, not the answer."""

    warned = False

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled code for these types; None if there is none, or if it cannot be read."""
        try:
            return super().load_overload(sig, target_context)
        except Exception as error:  # unpickling damaged bytes raises anything
            self._give_up(error)
            with suppress(OSError):
                self.flush()  # a damaged index would fail every time
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Store the compiled code for these types if possible."""
        try:
            super().save_overload(sig, data)
        except Exception as error:
            self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        if not ForgivingCache.warned:
            ForgivingCache.warned = True
            reason = str(error) or type(error).__name__
            warnings.warn(
                f"the cache of compiled code in {self.cache_path} cannot be used ({reason}), so code is compiled "
                "again, which takes seconds. Set NUMBA_CACHE_DIR to a folder with free space.",
                stacklevel=2,
            )


@compiled()
def in_precision_of(array, value):  # type: ignore[no-untyped-def]
    """Return ``value`` in the dtype of ``array``: a float64 scalar would turn float32 arithmetic into float64."""
    number = np.empty(1, array.dtype)
    number[0] = value
    return number[0]
