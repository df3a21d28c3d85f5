"""Progress of a fit: a status line on a terminal, log lines elsewhere, nothing unless ``verbose``."""

import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

logger = logging.getLogger("graphlowrank")

Update = Callable[[int, float], None]


class Progress:
    """Measures the time of the stages of a run and, if ``verbose``, reports them.

    ``seconds`` maps the name of each finished stage to its duration.
    """

    def __init__(self, verbose: int = 0) -> None:
        self.seconds: dict[str, float] = {}
        self._verbose = bool(verbose)
        self._live = self._verbose and sys.stderr.isatty()

    @contextmanager
    def stage(self, name: str) -> Iterator[Update]:
        """Time a stage; yield a callback(iteration, residual) for iterative solvers."""
        begin = time.perf_counter()
        with self._reporting(name) as update:
            yield update
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - begin
        self._log(f"{name}: {self.seconds[name]:.2f} s")

    @contextmanager
    def _reporting(self, name: str) -> Iterator[Update]:
        if not self._live:
            yield self._log_iterations(name)
            return
        from rich.console import Console

        with Console(stderr=True).status(name) as status:
            yield lambda n, residual: status.update(f"{name}: iteration {n}, change {residual:.1e}")

    def _log_iterations(self, name: str) -> Update:
        def update(n: int, residual: float) -> None:
            if n % 50 == 0:
                self._log(f"{name}: iteration {n}, change {residual:.1e}")

        return update

    def _log(self, message: str) -> None:
        if not self._verbose:
            return
        if logger.hasHandlers() and logger.isEnabledFor(logging.INFO):
            logger.info(message)
        else:  # verbose, but logging is not configured
            sys.stderr.write(f"graphlowrank: {message}\n")
