"""Reads an HDF5 file for another process: the HDF5 library can crash or loop for ever on a damaged file.

Run as a script by :mod:`.hdf5`, with the path, a limit of memory and where to import from; it uses nothing of the
package. Each line of its input asks for something in JSON; each answer is a line of JSON, after rows also their bytes:

- ``["list"]``: every array and group down to the third level;
- ``["rows", name]``: an array of numbers, in C order, as blocks that are announced by their lengths; 0 ends them;
- ``["text", name, limit]``: an array of strings of at most so many.
"""

import json
import signal
import sys

LEVELS = 3
MAX_NODES = 20_000
MAX_ATTRIBUTES = 64
BLOCK_BYTES = 2**22
PATIENCE = 600  # seconds that one answer may take; who asked has given up before, or is no longer there


def main() -> None:
    """Answer until the input ends."""
    path, limit, where = json.loads(sys.argv[1])
    sys.path[:] = where
    _limit_memory(limit)
    _end_after(PATIENCE)
    import h5py

    with h5py.File(path, "r") as file:
        _answer({"ok": True})
        for line in sys.stdin:
            _end_after(PATIENCE)
            command, *arguments = json.loads(line)
            if command == "list":
                _answer(_nodes(h5py, file))
            elif command == "rows":
                _send_rows(file[arguments[0]])
            else:
                _answer(_strings(h5py, file[arguments[0]], arguments[1]))
            _end_after(0)  # waiting is not working


def _end_after(seconds: int) -> None:
    """Let the system end this process, even in the midst of a library's loop."""
    if hasattr(signal, "alarm"):  # not on Windows
        signal.alarm(seconds)


def _limit_memory(limit: int) -> None:
    try:
        import resource
    except ImportError:  # Windows
        return
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = limit + 2**31  # the libraries themselves
    if hard == resource.RLIM_INFINITY or wanted < hard:
        resource.setrlimit(resource.RLIMIT_AS, (wanted, hard))


def _answer(content: object) -> None:
    sys.stdout.buffer.write(json.dumps(content).encode() + b"\n")
    sys.stdout.buffer.flush()


def _nodes(h5py, file) -> dict:  # type: ignore[no-untyped-def]
    """Return what the file holds by name; links to other files are not followed."""
    found = {"": {"attributes": _attributes(file)}}
    waiting = [("", file)]
    while waiting:
        prefix, group = waiting.pop()
        for name in group:
            if len(found) >= MAX_NODES:
                return found
            kind = group.get(name, getlink=True)
            if not isinstance(kind, h5py.HardLink):
                continue
            item, full = group[name], f"{prefix}/{name}" if prefix else name
            if isinstance(item, h5py.Dataset):
                found[full] = {"attributes": _attributes(item), **_dataset(h5py, item)}
            elif isinstance(item, h5py.Group):
                found[full] = {"attributes": _attributes(item)}
                if full.count("/") < LEVELS - 1:
                    waiting.append((full, item))
    return found


def _dataset(h5py, item) -> dict:  # type: ignore[no-untyped-def]
    dtype = item.dtype
    text = h5py.check_string_dtype(dtype) is not None
    numeric = dtype.kind in "buif" and not text
    whole = item.chunks is None and not item.external and not item.is_virtual and numeric
    place = item.id.get_offset() if whole else None
    return {
        "shape": list(item.shape) if item.shape is not None else [0],
        "dtype": dtype.str if numeric or dtype.kind == "c" else None,
        "text": text,
        "place": place,
        "elsewhere": bool(item.external or item.is_virtual),
    }


def _attributes(item) -> dict:  # type: ignore[no-untyped-def]
    """Attributes that are a word, a number or a few of them."""
    found = {}
    for name in list(item.attrs)[:MAX_ATTRIBUTES]:
        try:
            value = item.attrs[name]
        except (OSError, TypeError, RuntimeError, ValueError):  # of a type that h5py does not know
            continue
        value = value.tolist() if hasattr(value, "tolist") and getattr(value, "size", 9) <= 8 else value
        value = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
        if isinstance(value, str | int | float | list):
            try:
                json.dumps(value)
            except (TypeError, ValueError):
                continue
            found[name] = value
    return found


def _send_rows(item) -> None:  # type: ignore[no-untyped-def]
    if item.ndim == 0:
        raise ValueError(f"{item.name} is a single number")
    width = item.size // max(1, item.shape[0]) * item.dtype.itemsize
    step = max(1, BLOCK_BYTES // max(1, width))
    if item.chunks:
        step = max(1, step // item.chunks[0]) * item.chunks[0]  # each is unpacked once
    out = sys.stdout.buffer
    for start in range(0, item.shape[0], step):
        _end_after(PATIENCE)
        raw = item[start : start + step].tobytes()
        _answer(len(raw))
        out.write(raw)
    _answer(0)


def _strings(h5py, item, limit) -> object:  # type: ignore[no-untyped-def]
    if h5py.check_string_dtype(item.dtype) is None or item.ndim != 1 or item.size > limit:
        return None
    return [value if isinstance(value, str) else value.decode("utf-8", "replace") for value in item[:].tolist()]


if __name__ == "__main__":
    try:
        main()
    except Exception as error:
        _answer({"error": f"{error}" or type(error).__name__})
