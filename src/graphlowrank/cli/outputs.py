"""Outputs of a command: checked before the work, and written all or none."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from itertools import combinations, product
from pathlib import Path

from .._files import check_writable, naming, replace, sync, target_of, temporary_beside
from ..io.zarr import is_zarr
from .console import uninterrupted


def check_distinct(
    inputs: Mapping[str, Path], outputs: Mapping[str, Path], *, may_be_source: Iterable[str] = ()
) -> None:  # fmt: skip
    """Raise if an output is an input, inside one or around one, or the same as another output.

    ``inputs`` are by what messages call them, ``outputs`` by option name. Those named in ``may_be_source`` may be an
    input.
    """
    targets = {name: path.resolve() for name, path in outputs.items()}
    for (what, source), (name, target) in product(inputs.items(), targets.items()):
        origin = source.resolve()
        if _is_same(target, origin) and name not in may_be_source:
            raise ValueError(f"--{name} is {what} itself: choose another place.")
        if origin in target.parents:
            raise ValueError(f"--{name} is inside {what}: choose another place.")
        if target in origin.parents:
            raise ValueError(f"--{name} is a folder that contains {what}: choose another place.")
    for (one, path), (other, other_path) in combinations(targets.items(), 2):
        if _is_same(path, other_path) or path in other_path.parents or other_path in path.parents:
            raise ValueError(f"--{one} and --{other} are the same place, or one is inside the other: choose another.")


def _is_same(one: Path, other: Path) -> bool:
    """Whether two resolved paths are one file, also by hard links or where names ignore case."""
    return one == other or (one.exists() and other.exists() and one.samefile(other))


@contextmanager
def all_or_none(outputs: Mapping[str, Path]) -> Iterator[dict[str, Path]]:
    """Yield a temporary path of the same name for each output; on exit all are moved into place, on failure removed."""
    temporary: dict[str, Path] = {}
    with ExitStack() as stack:
        for name, path in outputs.items():
            check_output(path)
            # The extension is that of the output, not that of the file it may link to.
            temporary[name] = stack.enter_context(temporary_beside(target_of(path))).with_name(path.name)
        with _final_names_in_errors({str(place): str(outputs[name]) for name, place in temporary.items()}):
            yield temporary
            for place in temporary.values():
                sync(place)
            with uninterrupted():
                for name, place in temporary.items():
                    with naming(outputs[name]):  # a device may be full, a pipe or socket may have no reader
                        replace(place, target_of(outputs[name]))


def check_output(path: Path) -> None:
    """Raise OSError if a path cannot be written, or is a folder of other files."""
    if path.is_dir() and not _may_be_replaced(path):
        raise FileExistsError(f"{path} is a folder with other files, which is not replaced.")
    check_writable(path)


def _may_be_replaced(folder: Path) -> bool:
    """Whether a folder is empty, and its name is one of a folder, or holds zarr data, and has the name of such."""
    extension = folder.suffix.lower()
    return (extension == ".zarr" and is_zarr(folder)) or (extension in ("", ".zarr") and not any(folder.iterdir()))


@contextmanager
def _final_names_in_errors(names: dict[str, str]) -> Iterator[None]:
    """Replace temporary paths in errors by those of the outputs."""
    try:
        yield
    except (OSError, ValueError) as error:
        message = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        renamed = message
        for temporary, final in names.items():
            renamed = renamed.replace(temporary, final)
        if renamed == message:
            raise
        raise (OSError(error.errno, renamed) if isinstance(error, OSError) else ValueError(renamed)) from error
