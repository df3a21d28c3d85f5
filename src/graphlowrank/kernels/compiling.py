"""Compilation of kernels."""

import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from numba import njit
from numba.core.caching import FunctionCache

KERNELS: list[Any] = []  # all that are loaded


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Compile a kernel on first use, without the GIL, and cache it on disk if possible.

    Compiling takes 0.1 to 0.5 s. What takes long in numba is not the loops but what is generated around them: calls of
    ``np.empty``, ``np.full``, ``sort`` and ``sum``, an assignment to a slice (2 s, for the message of its error), a
    second type of an argument. So scratch arrays are allocated by the callers of most kernels, outside compiled code.
    """
    options = {"nogil": True, "no_cfunc_wrapper": True, **options}

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        kernel = njit(**options)(function)
        with suppress(RuntimeError):  # neither the package's folder nor the user's cache is writable
            setattr(kernel, "_cache", ForgivingCache(function))  # noqa: B010  njit(cache=True) sets numba's own
        KERNELS.append(kernel)
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
