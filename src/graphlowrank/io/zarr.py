"""Zarr folders of versions 2 and 3, by zarr. Reading happens in the worker process; see :mod:`.worker`."""

import math
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._files import ZARR_FILES, check_replaceable, invalid_file, is_folder_with, placing
from .contents import choose, entries_of, read_matrix

if TYPE_CHECKING:
    from .table import Rows

MAX_CHUNKS = 2**20  # each is a file to look for
_CODECS = {  # that decode bytes; others could execute code of the file
    *("zlib", "gzip", "zstd", "lz4", "blosc", "bz2", "lzma", "shuffle", "delta"),
    *("bytes", "transpose", "crc32c", "sharding_indexed"),
    *("numcodecs.zlib", "numcodecs.bz2", "numcodecs.lzma", "numcodecs.lz4", "numcodecs.shuffle", "numcodecs.delta"),
}


def is_zarr(folder: Path) -> bool:
    """Whether a folder is a zarr array or group."""
    return is_folder_with(folder, ZARR_FILES)


def read_zarr(path: Path, key: str | None = None, *, max_chunks: int = MAX_CHUNKS) -> dict[str, Any]:
    """Read an array, or an array or sparse matrix of a group."""
    import zarr

    if not path.is_dir():
        raise invalid_file(path, "is not a folder, as zarr arrays are.")
    if not is_zarr(path):
        raise invalid_file(path, f"is not a zarr folder: it has none of {', '.join(ZARR_FILES)}.")

    def as_array(array: Any, _: Path) -> Any:
        return checked_array(array, path / array.path, path, max_chunks)

    root: Any = zarr.open(store=str(path), mode="r")
    if isinstance(root, zarr.Array):
        if key is not None:
            raise invalid_file(path, f"is a single array, so it holds no {key!r}.")
        return {"values": as_array(root, path)}
    items = dict(sorted(root.members(max_depth=1)))
    key = choose(entries_of(items), key.strip("/") if key else key, path)
    found = {name: root.attrs.get(name) for name in ("sample_names", "feature_names")}
    names = {name: list(map(str, each)) for name, each in found.items() if isinstance(each, list)}
    return {"values": read_matrix(items, key, path, as_array)[0], **names}


def checked_array(array: Any, folder: Path, path: Path, max_chunks: int) -> Any:
    """Return an array if its type, its codecs and the number of its chunks can be read."""
    if array.dtype.kind not in "buif":
        raise invalid_file(path, "holds something other than real numbers, which is not read.")
    metadata = array.metadata.to_dict()
    codecs = set(_codec_names([metadata.get(name) for name in ("compressor", "filters", "codecs")]))
    if codecs - _CODECS:
        raise invalid_file(path, f"is packed by the codec {min(codecs - _CODECS)!r}, which is not read.")
    n_chunks = math.prod(-(-length // chunk) for length, chunk in zip(array.shape, array.chunks, strict=True))
    if n_chunks > max_chunks:
        raise invalid_file(path, f"has {n_chunks} chunks, more than the {max_chunks} allowed; write it in larger ones.")
    if "blosc" in codecs:
        if "sharding_indexed" in codecs:
            raise invalid_file(path, "is packed by Blosc inside of shards, which is not read; use another codec.")
        _check_blosc(folder, math.prod(array.chunks) * array.dtype.itemsize)
    return array


def _codec_names(found: Any) -> Iterator[str]:
    """Yield the names of codecs, including those inside of shards."""
    if isinstance(found, list | tuple):
        for each in found:
            yield from _codec_names(each)
    elif found is not None:
        yield str(found["id"] if "id" in found else found["name"])
        inside = found.get("configuration", {})
        yield from _codec_names([inside.get("codecs"), inside.get("index_codecs")])


def _check_blosc(folder: Path, n_bytes: int) -> None:
    """Raise ValueError unless chunks have the lengths they claim: Blosc would read past the end of a shorter one."""
    for chunk in folder.rglob("*"):
        if chunk.is_file() and not chunk.name.startswith(".z") and chunk.name != "zarr.json":
            with chunk.open("rb") as file:
                head = file.read(16)
            if len(head) < 16 or struct.unpack("<4xI4xI", head) != (n_bytes, chunk.stat().st_size):
                raise ValueError(f"its chunk {chunk.name} does not have the length that it claims")


def write_zarr(path: Path, rows: "Rows") -> None:
    """Write a matrix as "X" of a group; its names are attributes."""
    import zarr

    check_replaceable(path, ZARR_FILES)
    with placing(path) as place:
        attributes: Any = {name: list(names) for name, names in rows.names.items()}
        group = zarr.open_group(store=str(place), mode="w", attributes=attributes)
        _, first = next(rows.blocks())
        rows.fill(group.create_array("X", shape=rows.shape, dtype=rows.dtype, chunks=first.shape))
