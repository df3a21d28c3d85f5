"""What every command does in the same way: failing in two lines, and telling what it is at."""

from __future__ import annotations

import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import typer

from .options import in_options

VIDEO_EXTRAS = ("av", "PIL", "jinja2")
INTERRUPTED = 130  # what shells report for a program ended by Ctrl-C


class RemedyError(ValueError):
    """A failure that knows its own remedy."""

    def __init__(self, cause: str, remedy: str) -> None:
        super().__init__(cause)
        self.remedy = remedy


@contextmanager
def failing_briefly(*, debug: bool, remedy: Callable[[Exception], str] | None = None) -> Iterator[None]:
    """Turn an exception into one line of cause, one of remedy and an exit code."""
    try:
        yield
    except typer.Exit:
        raise
    except KeyboardInterrupt:
        typer.echo("interrupted; no half-written file is left", err=True)
        raise typer.Exit(INTERRUPTED) from None
    except Exception as error:
        if debug:
            raise
        cause = str(error) or type(error).__name__
        if isinstance(error, OSError) and error.strerror:
            cause = error.strerror if error.filename is None else f"{error.filename}: {error.strerror}"
        typer.echo(f"error: {' '.join(cause.split())}", err=True)
        typer.echo(error.remedy if isinstance(error, RemedyError) else (remedy or _remedy)(error), err=True)
        raise typer.Exit(1) from None


def _remedy(error: Exception) -> str:
    from ..report.page import EXTRAS

    if isinstance(error, ModuleNotFoundError) and error.name in EXTRAS:
        return "pip install graphlowrank[plots]"
    if isinstance(error, OSError):
        return "choose another place for the output"
    return "run it again with --debug to see where it failed"


def video_remedy(error: Exception) -> str:
    """Remedy for ``video``."""
    return _input_remedy(error, "video", "--max-memory or --scale")


def reconstruct_remedy(error: Exception) -> str:
    """Remedy for ``reconstruct``."""
    return _input_remedy(error, "reconstruct", "--size")


def cluster_remedy(error: Exception) -> str:
    """Remedy for ``cluster``."""
    return _table_remedy(error, "cluster")


def recover_remedy(error: Exception) -> str:
    """Remedy for ``recover``."""
    return _table_remedy(error, "recover")


def plan_remedy(error: Exception) -> str:
    """Remedy for ``plan``."""
    return _table_remedy(error, "plan")


def _table_remedy(error: Exception, command: str) -> str:
    """Remedy where the input is a table of any kind."""
    if isinstance(error, ImportError):  # one that knows what to install says so itself
        _, _, install = str(error).partition("pip install ")
        return f"pip install {install}" if install else "pip install graphlowrank[io,plots]"
    return _input_remedy(error, command, "--top-features")


def _input_remedy(error: Exception, command: str, smaller: str) -> str:
    """Remedy where there is an input, too, and where most failures are of what was asked for."""
    if isinstance(error, ModuleNotFoundError) and error.name in VIDEO_EXTRAS:
        return "pip install graphlowrank[video]"
    if isinstance(error, OSError) and not isinstance(error, FileExistsError) and "cannot write" not in str(error):
        return "check the name of the input, and that it may be read"
    if isinstance(error, MemoryError):
        return f"give a smaller {smaller}"
    if isinstance(error, ValueError):
        return f"see graphlowrank {command} --help, or run it again with --debug to see where it failed"
    return _remedy(error)


@contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """Yield a function that shows what is being done: a spinner on a terminal, lines elsewhere."""
    if not sys.stderr.isatty():
        yield lambda message: typer.echo(message, err=True)
        return
    from rich.console import Console

    with Console(stderr=True).status("starting") as status:
        yield status.update


@contextmanager
def ending_in_order() -> Iterator[Callable[[], None]]:
    """Clear away what is not complete when told to end, or when the terminal goes, as after Ctrl-C.

    Yields what makes us deaf to that until we are through.
    """
    signals = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    ours = [number for number in signals if signal.getsignal(number) == signal.SIG_DFL]  # nohup ignores one of them
    before = {number: signal.signal(number, _as_interrupt) for number in ours}
    before[signal.SIGINT] = signal.getsignal(signal.SIGINT)

    def hold_on() -> None:
        for number in before:
            signal.signal(number, signal.SIG_IGN)

    try:
        yield hold_on
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _as_interrupt(signum: int, frame: object) -> None:
    raise KeyboardInterrupt


@contextmanager
def hearing_warnings(words: Callable[[str], str] = str) -> Iterator[list[str]]:
    """Say a warning in one line, without the place in our code, put in other ``words``; yield what has been said."""
    heard: list[str] = []

    def say(message: Warning | str, *_: Any, **__: Any) -> None:
        heard.append(words(str(message)))
        typer.echo(f"warning: {heard[-1]}", err=True)

    with warnings.catch_warnings():
        warnings.showwarning = say
        yield heard


@contextmanager
def naming_options(others: Mapping[str, str] | None = None) -> Iterator[None]:
    """Say in errors of the library which option is meant, not which parameter; see :func:`.options.in_options`."""
    try:
        yield
    except ValueError as error:
        said = in_options(str(error), others)
        if said == str(error):
            raise
        raise ValueError(said) from error
