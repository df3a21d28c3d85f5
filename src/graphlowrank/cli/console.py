"""Console behavior that all commands share: errors in two lines, progress, warnings, signals, JSON."""

import errno
import json
import os
import shlex
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NoReturn

import typer
from typer.core import TyperCommand
from typer.main import get_command

from .options import to_option_names

Show = Callable[[str], None]  # shows what a command is doing

VIDEO_EXTRAS = ("av", "PIL", "jinja2")
PLOT_EXTRAS = ("jinja2", "PIL")
NO_HARNESS = (
    "this command needs the benchmark harness, which is not part of the installed package: clone the graphlowrank "
    "repository and run `pip install -e '.[bench]'` in it"
)
INTERRUPTED = 130  # exit code of shells for a program ended by Ctrl-C
# Commands that read an input, and the options that reduce their memory.
MEMORY_OPTIONS = {
    "cluster": "--top-features", "recover": "--top-features", "plan": "--top-features", "reconstruct": "--size",
    "video": "--max-memory or --scale",
}  # fmt: skip
MIN_ADDRESS_SPACE = 1_300_000 * 1024  # bytes; a small table needs as much on two cores, and more on more cores
TABLE_COMMANDS = ("cluster", "recover", "plan")


class RemedyError(ValueError):
    """An error with its remedy."""

    def __init__(self, cause: str, remedy: str) -> None:
        super().__init__(cause)
        self.remedy = remedy


@contextmanager
def brief_errors(*, debug: bool, command: str = "") -> Iterator[None]:
    """Turn an exception, or SIGTERM, into one line for the cause, one for the remedy, and an exit code."""
    interrupts: list[int] = []

    def interrupt(signum: int, frame: object) -> None:
        interrupts.append(signum)
        raise KeyboardInterrupt  # on all signals: incomplete outputs are removed

    try:
        with handle_interrupts(interrupt, only_default=True):
            _check_address_space()
            yield
    except (typer.Exit, typer.BadParameter):
        raise
    except (KeyboardInterrupt, Exception) as error:
        # Compiled code may turn the KeyboardInterrupt into another exception.
        if not interrupts and not isinstance(error, KeyboardInterrupt):
            if debug:
                raise
            _exit_with_error(error, command)
        kept = getattr(error, "__notes__", ["no half-written file is left"])
        typer.echo(f"interrupted; {kept[0]}", err=True)
        # After an interrupt within exec of a string, as in dataclasses, Python would end itself by SIGINT, not by 130.
        exec("")  # resets that
        raise typer.Exit(INTERRUPTED) from None


def _exit_with_error(error: Exception, command: str) -> NoReturn:
    cause = str(error) or type(error).__name__
    if isinstance(error, OSError) and error.strerror:
        cause = error.strerror if error.filename is None else f"{error.filename}: {error.strerror}"
    if command in TABLE_COMMANDS:
        cause = to_option_names(cause, command)
    for note in getattr(error, "__notes__", ()):
        typer.echo(note, err=True)
    typer.echo(f"error: {' '.join(cause.split())}", err=True)
    typer.echo(getattr(error, "remedy", None) or _remedy(error, command), err=True)
    raise typer.Exit(1) from None


def spare_address_space() -> None:
    """If the address space is limited, make Arrow allocate as the rest of the process does; call it before any import.

    Its own allocator first reserves 1 GiB of the address space if it can, and may leave too little for OpenBLAS and
    LLVM.
    """
    if _address_space() is not None:
        os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")


def _address_space() -> int | None:
    """Return the limit of the address space in bytes; None if there is none."""
    if find_spec("resource") is None:  # Windows
        return None
    resource = import_module("resource")
    limit: int = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if limit == resource.RLIM_INFINITY else limit


def _check_address_space() -> None:
    """Refuse a limit under which OpenBLAS, of which numpy and scipy load one each, crashes or waits forever."""
    limit = _address_space()
    if limit is not None and limit < MIN_ADDRESS_SPACE:
        cause = f"the address space is limited to {limit / 1e9:.2g} GB; compiled libraries crash with so little"
        raise RemedyError(
            cause, f"allow at least {MIN_ADDRESS_SPACE / 1e9:.2g} GB (ulimit -v {MIN_ADDRESS_SPACE // 1024})"
        )


def _remedy(error: Exception, command: str) -> str:
    if remedy := _special_remedy(error, command):
        return remedy
    if command in MEMORY_OPTIONS:
        if isinstance(error, OSError) and not isinstance(error, FileExistsError) and "cannot write" not in str(error):
            return "check the name of the input, and that it may be read"
        if isinstance(error, MemoryError):
            return f"give a smaller {MEMORY_OPTIONS[command]}"
        if isinstance(error, ValueError):
            return f"see graphlowrank {command} --help, or run it again with --debug to see where it failed"
    if isinstance(error, OSError):
        return "choose another place for the output"
    return "run it again with --debug to see where it failed"


def _special_remedy(error: Exception, command: str) -> str | None:
    """Return what helps with a missing package, a full disk (h5py raises only its words) or a long name."""
    if isinstance(error, ImportError):
        return _install_remedy(error, command)
    number = error.errno if isinstance(error, OSError) else None
    if number in {errno.ENOSPC, errno.EDQUOT} or "No space left" in str(error):
        return "free some space on the disk, or choose another place for the output"
    return "choose a shorter name" if number == errno.ENAMETOOLONG else None


def _install_remedy(error: ImportError, command: str) -> str | None:
    if command in ("video", "reconstruct") and error.name in VIDEO_EXTRAS:
        return "pip install graphlowrank[video]"
    if error.name in PLOT_EXTRAS:
        return "pip install graphlowrank[plots]"
    if error.name == "matplotlib":  # of the benchmark harness only
        return "pip install matplotlib"
    _, _, install = str(error).partition("pip install ")
    return f"pip install {install or 'graphlowrank[io,plots]'}" if command in TABLE_COMMANDS else None


def require_packages(what: str, *names: str) -> None:
    """Raise before the work, not after it, if a package is missing."""
    if missing := [name for name in names if find_spec(name) is None]:
        raise ModuleNotFoundError(f"{what} needs {' and '.join(missing)}", name=missing[0])


class HarnessCommand(TyperCommand):
    """Command whose options and work are in the module of its name in the benchmark harness, not in the wheel."""

    def make_context(self, info_name: str | None, args: list[str], *more: Any, **extra: Any) -> Any:
        """Hand the words on; without the harness, exit with code 2 and one sentence."""
        if find_spec("graphlowrank_benchmarks") is None:
            typer.echo(f"error: {NO_HARNESS}", err=True)
            raise typer.Exit(2)
        command = get_command(import_module(f"graphlowrank_benchmarks.{self.name}").app)
        return command.make_context(info_name, args, *more, **extra)


@contextmanager
def show_progress() -> Iterator[Show]:
    """Yield a function that shows the current step: in a spinner on a terminal, in lines elsewhere."""
    if not sys.stderr.isatty():
        yield lambda message: typer.echo(message, err=True)
        return
    from rich.console import Console

    with Console(stderr=True).status("starting") as status:
        yield status.update


@contextmanager
def handle_interrupts(handler: Any, *, only_default: bool = False) -> Iterator[None]:
    """Handle Ctrl-C, SIGTERM and SIGHUP; with ``only_default`` those that nobody handles yet (nohup ignores one)."""
    ours = [number for number in signal.Signals if number.name in {"SIGINT", "SIGTERM", "SIGHUP"}]
    if threading.current_thread() is not threading.main_thread():
        ours = []  # other threads must not set handlers
    unhandled = (signal.SIG_DFL, signal.default_int_handler)
    ours = [number for number in ours if not only_default or signal.getsignal(number) in unhandled]
    before = {number: signal.signal(number, handler) for number in ours}
    try:
        yield
    finally:
        for number, older in before.items():
            signal.signal(number, older or signal.SIG_DFL)


def uninterrupted() -> AbstractContextManager[None]:
    """Ignore Ctrl-C, SIGTERM and SIGHUP."""
    return handle_interrupts(signal.SIG_IGN)


@contextmanager
def print_warnings(translate: Callable[[str], str] = str) -> Iterator[list[str]]:
    """Print each warning in one line, translated, without its source line; yield the list of those printed."""
    printed: list[str] = []

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        printed.append(translate(str(message)))
        typer.echo(f"warning: {printed[-1]}", err=True)

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield printed


def print_result(record: dict[str, Any], text: str, written: Iterable[str], *, as_json: bool) -> None:
    """Print the record of a command as JSON, or its text, and on the standard error the files it wrote."""
    typer.echo(to_json(record) if as_json else text)
    typer.echo(f"wrote {', '.join(written)}", err=True)


def command_line() -> str:
    """Return the command that was given, for reports."""
    return "graphlowrank " + shlex.join(sys.argv[1:])


def to_json(record: dict[str, Any]) -> str:
    """Return JSON, with null for numbers that are not finite."""
    finite = json.loads(json.dumps(record), parse_constant=lambda name: None)
    return json.dumps(finite, indent=2, ensure_ascii=False)
