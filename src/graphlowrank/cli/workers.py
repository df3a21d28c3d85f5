"""Worker processes of dask for a command: started here, or those of a running scheduler."""

import logging
import os
import re
import signal
import threading
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import gettempdir
from typing import Any, Literal

import typer

from .._files import temporary_beside
from ..outofcore.settings import DEFAULT_SHARE, parse_bytes, total_memory
from ..outofcore.tasks import check_versions, check_workers
from .console import RemedyError, Show, uninterrupted

CONNECT, CLOSE = 8, 15  # seconds
ADDRESS = re.compile(r"(tcp|tls|ucx|ws|wss|inproc)://\S+")
NO_WORKER = "check the address, or start a scheduler and workers there: dask scheduler, dask worker ADDRESS"
NO_FIXED_PORT = "127.0.0.1:0"  # of the web server that dask starts
LARGE_GRAPH = "Sending large graph"  # a warning to authors of dask code: models go to the workers with their tasks
LOG_LEVEL = "DASK_LOGGING__DISTRIBUTED"  # in the environment, which workers inherit


@dataclass(frozen=True)
class LargeOptions:
    """What a command was told about data that do not fit in memory."""

    memory: str | None
    method: Literal["auto", "whole", "out_of_core", "two_level"]
    workers: int | None
    cluster: str | None
    scratch: Path | None
    restart: bool

    @property
    def n_bytes(self) -> int:
        """Memory of this process."""
        return int(DEFAULT_SHARE * total_memory()) if self.memory is None else parse_bytes(self.memory)

    @property
    def worker_bytes(self) -> int:
        """Memory of each worker: as much as was given for a process, or their share of what this one leaves."""
        return self.n_bytes if self.memory is not None else self.n_bytes // (self.workers or 1)

    def check(self) -> None:
        """Raise before any work if options contradict each other or the machine."""
        if self.workers is not None and self.cluster is not None:
            raise typer.BadParameter(
                "--workers starts processes here, --cluster uses those of a scheduler: give one", param_hint="--workers"
            )
        if self.cluster is not None and not ADDRESS.fullmatch(self.cluster):
            raise typer.BadParameter(
                f"{self.cluster!r} is no address of a scheduler, such as tcp://10.0.0.1:8786 (--clusters is the number "
                "of clusters)",
                param_hint="--cluster",
            )
        needed = self.n_bytes + (self.workers or 0) * self.worker_bytes
        if needed > total_memory():
            typer.echo(
                f"warning: {1 + (self.workers or 0)} processes of up to {self.n_bytes / 1e9:.3g} GB may need "
                f"{needed / 1e9:.3g} GB, and there are {total_memory() / 1e9:.3g} GB here",
                err=True,
            )


@contextmanager
def computing(options: LargeOptions, n_threads: int | None, source: Path, show: Show) -> Iterator[None]:
    """Let tasks run on workers, if they are asked for; their processes and files are gone at the end."""
    if options.workers is None and options.cluster is None:
        yield
        return
    if find_spec("distributed") is None:
        raise ImportError("--workers and --cluster need distributed: pip install graphlowrank[dask]")
    os.environ.setdefault(LOG_LEVEL, "critical")  # errors of tasks are raised here
    import distributed  # which sets levels of its own when it is imported

    logging.getLogger(distributed.__name__).setLevel(logging.CRITICAL)
    with ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings())
        warnings.filterwarnings("ignore", message=LARGE_GRAPH)
        if options.cluster is not None:
            show(f"connecting to {options.cluster}")
            client = _connect(options.cluster, stack)
            _check_remote(client, source)
        else:
            show(f"starting {options.workers} worker{'s' if options.workers != 1 else ''}")
            client = _start(options, n_threads, stack)
        if options.scratch is not None:
            check_workers(client, options.scratch)
        yield


def _connect(address: str, stack: ExitStack) -> Any:
    from distributed import Client

    try:
        client = Client(address, timeout=CONNECT)
    except (OSError, ValueError) as error:
        raise RemedyError(f"no scheduler of dask answers at {address} within {CONNECT} s.", NO_WORKER) from error
    stack.callback(_close, client)
    return client


def _check_remote(client: Any, source: Path) -> None:
    """Raise unless there are workers, with this version, that see the input."""
    try:
        blind = check_versions(client, source)
    except RuntimeError as error:
        has_none = "no workers" in str(error)
        cause = "the scheduler has no workers." if has_none else str(error)
        raise RemedyError(cause, NO_WORKER if has_none else "install the same version on all workers") from error
    if blind:
        raise RemedyError(
            f"worker {blind[0]} does not see {source}.", "put the input where all workers see it under the same name"
        )


def _start(options: LargeOptions, n_threads: int | None, stack: ExitStack) -> Any:
    from distributed import Client, LocalCluster

    place = options.scratch or Path(gettempdir())
    folder = stack.enter_context(temporary_beside(place / "workers"))
    try:
        with _ctrl_c_ignored():
            cluster = LocalCluster(
                n_workers=options.workers, threads_per_worker=n_threads or 1, memory_limit=options.worker_bytes,
                local_directory=str(folder), dashboard_address=NO_FIXED_PORT, processes=True,
                silence_logs=logging.CRITICAL,
            )  # fmt: skip
    except (RuntimeError, OSError) as error:
        raise RemedyError(f"workers do not start: {error}", "give more --memory, or fewer --workers") from error
    stack.callback(_close, cluster)
    client = Client(cluster, timeout=60)
    stack.callback(_close, client)
    return client


@contextmanager
def _ctrl_c_ignored() -> Iterator[None]:
    """Let processes that are started ignore Ctrl-C, which a terminal sends to all: this one ends them in order."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before or signal.SIG_DFL)


def _close(one: Any) -> None:
    """Close a client or a cluster; a second Ctrl-C must not leave processes behind."""
    with uninterrupted():
        one.close(timeout=CLOSE)
