"""Progress of a fit: a status line on a terminal, log lines elsewhere, nothing unless ``verbose``."""

import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

logger = logging.getLogger("graphlowrank")

Update = Callable[[int, float], None]


@dataclass(frozen=True)
class Event:
    """What a run is doing."""

    stage: str
    detail: str = ""  # such as "3 of 10 blocks"
    seconds: float | None = None  # that the stage took, once it has ended


Listener = Callable[[Event], None]

_listener: ContextVar[Listener | None] = ContextVar("graphlowrank_listener", default=None)
_stage: ContextVar[str] = ContextVar("graphlowrank_stage", default="")


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Send what runs do inside a ``with`` block to a listener, instead of reporting it."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def report_blocks(done: int, total: int) -> None:
    """Report to a listener how far tasks on blocks of rows have come."""
    if (listener := _listener.get()) is not None and total > 1:
        listener(Event(_stage.get(), f"{done} of {total} blocks"))


class Progress:
    """Measures the time of the stages of a run and, if ``verbose``, reports them.

    ``seconds`` maps the name of each finished stage to its duration.
    """

    def __init__(self, verbose: int = 0) -> None:
        self.seconds: dict[str, float] = {}
        self._listener = _listener.get()
        self._verbose = bool(verbose) and self._listener is None
        self._live = self._verbose and sys.stderr.isatty()

    @contextmanager
    def stage(self, name: str) -> Iterator[Update]:
        """Time a stage; yield a callback(iteration, residual) for iterative solvers."""
        begin, token = time.perf_counter(), _stage.set(name)
        try:
            with self._reporting(name) as update:
                yield update
        finally:
            _stage.reset(token)
        seconds = time.perf_counter() - begin
        self.seconds[name] = self.seconds.get(name, 0.0) + seconds
        self._log(f"{name}: {self.seconds[name]:.2f} s")
        if self._listener is not None:
            self._listener(Event(name, seconds=seconds))

    @contextmanager
    def _reporting(self, name: str) -> Iterator[Update]:
        if (listener := self._listener) is not None:
            listener(Event(name))
            yield lambda n, residual: listener(Event(name, f"iteration {n}, change {residual:.1e}"))
            return
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
