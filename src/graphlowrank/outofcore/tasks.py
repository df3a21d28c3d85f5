"""Tasks on the threads of this process, or on the workers of a dask client."""

import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from .._progress import report_blocks
from .._threads import current_threads, limit_threads
from .._version import __version__

PARTS = 8  # of the memory of a process, of which a task uses one: data, copies and results of others need the rest
PATIENCE = 60  # seconds that a worker has to answer
TASKS_PER_THREAD = 4  # that are under way, in two batches: the next ones are ready when some end


def active_client() -> Any:
    """Return the dask client that computations of this process go to; None if there is none."""
    if "distributed" not in sys.modules:
        return None
    import dask
    from distributed import default_client

    if dask.config.get("scheduler", None) in ("threads", "threading", "sync", "synchronous", "single-threaded"):
        return None
    try:
        return default_client()
    except ValueError:
        return None


def compute_in_order(tasks: Sequence[Any], names: Sequence[str]) -> Iterator[Any]:
    """Yield the results of dask's delayed tasks in order; few of them are in memory at a time.

    An error of a task becomes a ValueError that begins with its name, such as "rows 0 to 999 of x.zarr".
    """
    client = active_client()
    found = _on_threads(tasks, names) if client is None else _on_workers(client, tasks, names)
    for done, one in enumerate(found, start=1):
        report_blocks(done, len(tasks))
        yield one


def _on_threads(tasks: Sequence[Any], names: Sequence[str]) -> Iterator[Any]:
    import dask

    waiting, n_threads = iter(zip(tasks, names, strict=True)), current_threads()
    while batch := list(islice(waiting, n_threads)):
        try:
            found = dask.compute(*(task for task, _ in batch), scheduler="threads", num_workers=n_threads)
        except Exception as error:
            for task, name in batch:  # which one was it?
                try:
                    dask.compute(task, scheduler="sync")
                except Exception as own:
                    raise _named(own, name) from own
            raise _named(error, names[0]) from error
        yield from found


def _on_workers(client: Any, tasks: Sequence[Any], names: Sequence[str]) -> Iterator[Any]:
    waiting, running = iter(zip(tasks, names, strict=True)), deque[tuple[Any, str]]()
    at_once = TASKS_PER_THREAD * max(sum(client.nthreads().values()), 1)
    try:
        while True:
            if len(running) <= at_once // 2:  # what tasks share is sent with every batch
                batch = list(islice(waiting, at_once - len(running)))
                futures = client.compute([task for task, _ in batch])
                running.extend((future, name) for future, (_, name) in zip(futures, batch, strict=True))
            if not running:
                return
            future, name = running[0]
            try:
                found = future.result()
            except Exception as error:
                raise _named(error, name) from error
            running.popleft()
            yield found
    finally:
        if running:
            client.cancel([future for future, _ in running])


def _named(error: Exception, name: str) -> Exception:
    """Return the error with the name of what it came from; of operating system and memory in their own type."""
    kind = type(error).__name__
    if kind == "KilledWorker":
        return RuntimeError(
            f"{name}: workers died again and again while they computed this, perhaps out of memory; "
            "give them more memory or the data smaller chunks."
        )
    if isinstance(error, OSError) and error.errno is not None:
        return OSError(error.errno, f"{name}: {error.strerror}")
    text = str(error) if isinstance(error, ValueError) else f"{kind}: {error}"
    return ValueError(text if text.startswith(name) else f"{name}: {text}")


def map_on(client: Any) -> Callable[[Callable[[Any], Any], Sequence[Any]], Iterator[Any]]:
    """Return a map: one call after the other in this process, whose loops use its threads, or on the workers."""

    def on_workers(function: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Any]:
        from dask import delayed

        call = delayed(in_worker, pure=False)
        return compute_in_order([call(function, item) for item in items], [_name_of(function)] * len(items))

    return map if client is None else on_workers


def _answer(client: Any, address: str, future: Any) -> Any:
    """Return the result of a task for one worker; None if the worker has died."""
    for _ in range(PATIENCE):
        try:
            return future.result(timeout=1)
        except TimeoutError:
            if address not in client.scheduler_info(n_workers=-1)["workers"]:
                return None
    raise RuntimeError(f"worker {address} did not answer for {PATIENCE} s.")


def task_memory(client: Any, memory: int) -> int:
    """Bytes that a task may use: a part of the memory of this process, or of the smallest share of a worker's."""
    if client is None:
        return memory // PARTS
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    shares = [one["memory_limit"] // one["nthreads"] for one in workers if one["memory_limit"]]
    return min([*shares, memory]) // PARTS


def shared(value: Any) -> Any:
    """Return a delayed value that many tasks use: workers keep it, where it would be sent with each batch."""
    from dask import delayed

    client = active_client()
    found = delayed(_same, pure=False)(value)
    return found if client is None else client.persist(found)


def _same(value: Any) -> Any:
    return value


def _name_of(function: Callable[[Any], Any]) -> str:
    return str(getattr(getattr(function, "func", function), "__name__", "task")).strip("_").replace("_", " ")


def in_worker(function: Callable[[Any], Any], item: Any) -> Any:
    """Call a function with one thread: a worker runs as many tasks at a time as it has threads."""
    with limit_threads(1):
        return function(item)


def check_workers(client: Any, folder: Path) -> None:
    """Raise RuntimeError unless all workers have this version of the package, and see the folder."""
    if client is None:
        return
    with NamedTemporaryFile(dir=folder) as token:
        for address in check_versions(client, Path(token.name)):
            raise RuntimeError(
                f"worker {address} does not see the folder {folder}; give one that all workers share: "
                "large_data(folder=...)."
            )


def check_versions(client: Any, path: Path) -> list[str]:
    """Raise RuntimeError unless all workers have this version of the package; return those that lack a path."""

    def about(name: str) -> tuple[str | None, bool]:  # a local function is sent as code, not by its name
        from importlib.metadata import PackageNotFoundError, version
        from pathlib import Path

        try:
            return version("graphlowrank"), Path(name).exists()
        except PackageNotFoundError:
            return None, Path(name).exists()

    asked = {
        address: client.submit(about, str(path), workers=[address], pure=False)
        for address in client.scheduler_info(n_workers=-1)["workers"]
    }
    found = {address: answer for address, one in asked.items() if (answer := _answer(client, address, one))}
    if not found:
        raise RuntimeError("the dask cluster has no workers; add some with client.cluster.scale(n).")
    for address, (version, _) in found.items():
        if version is None:
            raise RuntimeError(f"worker {address} has no graphlowrank; install version {__version__} there.")
        if version != __version__:
            raise RuntimeError(f"worker {address} has graphlowrank {version}, this process {__version__}.")
    return [address for address, (_, sees) in found.items() if not sees]
