"""Tables of zarr folders, of versions 2 and 3.

What an array says of itself is checked before zarr opens it: only numbers, and only codecs that unpack bytes; one of
zarr's version 2 would unpickle.
"""

from __future__ import annotations

import json
import math
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..._backend import Array
from ..._reading import refusal, refusing
from ..memory import check_room
from ..packages import need
from .table import Entry, Table, check_layout, choose, compressed

MARKS = ("zarr.json", ".zarray", ".zgroup")
MAX_CHUNKS = 2**20  # each is a file to look for
_MAX_JSON = 2**28
_BLOCK_BYTES = 2**24
_LEVELS = 2
_CODECS = {
    *("zlib", "gzip", "zstd", "lz4", "blosc", "bz2", "lzma", "shuffle", "delta"),
    *("bytes", "transpose", "crc32c", "sharding_indexed"),
    *("numcodecs.zlib", "numcodecs.bz2", "numcodecs.lzma", "numcodecs.lz4", "numcodecs.shuffle", "numcodecs.delta"),
}
_OF_METADATA = {*MARKS, ".zattrs", ".zmetadata"}
_PARTS = ("data", "indices", "indptr")


@dataclass(frozen=True)
class _Meta:
    """What the metadata of an array says; no dtype if it does not hold numbers."""

    shape: tuple[int, ...]
    chunks: tuple[int, ...]
    dtype: np.dtype | None
    codecs: frozenset[str]


def is_zarr(folder: Path) -> bool:
    """Whether a folder is a zarr array or group."""
    return any((folder / mark).is_file() for mark in MARKS)


def read_zarr(path: Path, key: str | None) -> Table:
    """Table of a zarr array, or of a group: an array, or the parts of a sparse matrix; loaded block by block."""
    need("zarr", "Reading zarr folders")
    if not path.is_dir():
        raise refusal(path, "is not a folder, as zarr arrays are.")
    with refusing(path):
        if not is_zarr(path):
            raise refusal(path, f"is not a zarr folder: it has none of {', '.join(MARKS)}.")
        whole = _meta(path)
        if whole is not None:
            if key is not None:
                raise refusal(path, f"is a single array, so it holds no {key!r}.")
            return Table(_read_array(path, whole, path))
        metas = _arrays(path, "", _LEVELS)
        entries = _entries(metas, path)
        key = choose(entries, key.strip("/") if key else key, path)
        samples, features = (_names(path, name) for name in ("sample_names", "feature_names"))
        if key in metas:
            check_layout(metas[key].shape, metas[key].dtype, path)
            return Table(_read_array(path / key, metas[key], path), samples, features)
        data, indices, indptr = (_read_array(path / key / part, metas[f"{key}/{part}"], path) for part in _PARTS)
        kind = str(_attributes(path / key).get("encoding-type", "csr"))
        return Table(compressed(data, indices, indptr, entries[key].shape, kind[:3], path), samples, features)


# --- metadata ----------------------------------------------------------------------------------------------------


def _json(path: Path) -> dict[str, Any]:
    if path.stat().st_size > _MAX_JSON:
        raise ValueError(f"{path.name} is absurdly long")
    found = json.loads(path.read_bytes())
    if not isinstance(found, dict):
        raise ValueError(f"{path.name} is not what it should be")
    return found


def _meta(folder: Path) -> _Meta | None:
    """Metadata of the array in a folder; None if there is no array."""
    if (folder / ".zarray").is_file():
        return _meta_2(_json(folder / ".zarray"))
    if (folder / "zarr.json").is_file():
        found = _json(folder / "zarr.json")
        return _meta_3(found) if found.get("node_type") == "array" else None
    return None


def _meta_2(found: dict[str, Any]) -> _Meta:
    codecs = [found.get("compressor"), *(found.get("filters") or [])]
    return _Meta(
        _lengths(found["shape"]),
        _lengths(found["chunks"]),
        _number_type(found["dtype"]),
        frozenset(str(codec["id"]) for codec in codecs if codec is not None),
    )


def _meta_3(found: dict[str, Any]) -> _Meta:
    if found["chunk_grid"]["name"] != "regular" or found.get("storage_transformers"):
        raise ValueError("its chunks are not regular")
    return _Meta(
        _lengths(found["shape"]),
        _lengths(found["chunk_grid"]["configuration"]["chunk_shape"]),
        _number_type(found["data_type"]),
        frozenset(_codec_names(found["codecs"])),
    )


def _codec_names(codecs: list[dict[str, Any]]) -> set[str]:
    """Names of codecs, those inside of shards too."""
    names = {str(codec["name"]) for codec in codecs}
    for codec in codecs:
        inside = codec.get("configuration", {})
        for more in ("codecs", "index_codecs"):
            names |= _codec_names(inside.get(more, []))
    return names


def _lengths(found: Any) -> tuple[int, ...]:
    if not isinstance(found, list) or not all(type(length) is int and length >= 0 for length in found):
        raise ValueError(f"it claims the shape {found}")
    return tuple(found)


def _number_type(found: Any) -> np.dtype | None:
    if not isinstance(found, str) or found == "string":
        return None
    dtype = np.dtype(found)
    return dtype if dtype.kind in "buifc" else None


def _arrays(folder: Path, prefix: str, levels: int) -> dict[str, _Meta]:
    """Arrays of a group by name, down to some levels below."""
    found = {}
    for child in sorted(folder.iterdir()):
        if child.is_dir() and is_zarr(child):
            meta = _meta(child)
            if meta is not None:
                found[f"{prefix}{child.name}"] = meta
            elif levels > 1:
                found |= _arrays(child, f"{prefix}{child.name}/", levels - 1)
    return found


def _entries(metas: dict[str, _Meta], path: Path) -> dict[str, Entry]:
    """Arrays and sparse matrices by name."""
    groups = {name.rpartition("/")[0] for name in metas} - {""}
    sparse = {group for group in groups if all(f"{group}/{part}" in metas for part in _PARTS)}
    found = {
        name: Entry(meta.shape, meta.dtype) for name, meta in metas.items() if name.rpartition("/")[0] not in sparse
    }
    for group in sparse:
        found[group] = Entry(_lengths(_attributes(path / group).get("shape")), metas[f"{group}/data"].dtype)
    return found


def _attributes(folder: Path) -> dict[str, Any]:
    if (folder / ".zattrs").is_file():
        return _json(folder / ".zattrs")
    return _json(folder / "zarr.json").get("attributes", {}) if (folder / "zarr.json").is_file() else {}


def _names(folder: Path, which: str) -> tuple[str, ...] | None:
    found = _attributes(folder).get(which)
    return tuple(map(str, found)) if isinstance(found, list) else None


def _check_blosc(folder: Path, meta: _Meta, path: Path) -> None:
    """Raise ValueError unless chunks are as long as they say: Blosc would read on behind the end of a shorter one."""
    if "blosc" not in meta.codecs:
        return
    if "sharding_indexed" in meta.codecs:
        raise refusal(path, "is packed by Blosc inside of shards, which is not read; write it with another codec.")
    room = math.prod(meta.chunks) * (meta.dtype.itemsize if meta.dtype else 0)
    for chunk in folder.rglob("*"):
        if chunk.name not in _OF_METADATA and chunk.is_file():
            with chunk.open("rb") as file:
                head = file.read(16)
            if len(head) < 16 or struct.unpack("<4xI4xI", head) != (room, chunk.stat().st_size):
                raise ValueError(f"its chunk {chunk.name} does not have the length that it says")


# --- values ------------------------------------------------------------------------------------------------------


def _read_array(folder: Path, meta: _Meta, path: Path) -> Array:
    import zarr

    if meta.dtype is None or meta.dtype.kind == "c":
        raise refusal(path, "holds something other than real numbers, which is not read.")
    strange = meta.codecs - _CODECS
    if strange:
        raise refusal(path, f"is packed by the codec {min(strange)!r}, which is not read.")
    if len(meta.chunks) != len(meta.shape) or 0 in meta.chunks:
        raise ValueError(f"its chunks are {meta.chunks} for the shape {meta.shape}")
    n_chunks = math.prod(-(-length // chunk) for length, chunk in zip(meta.shape, meta.chunks, strict=True))
    if n_chunks > MAX_CHUNKS:
        raise refusal(path, f"has {n_chunks} chunks, more than the {MAX_CHUNKS} allowed; write it in larger ones.")
    check_room((math.prod(meta.shape) + math.prod(meta.chunks)) * meta.dtype.itemsize, path)
    _check_blosc(folder, meta, path)
    array = zarr.open_array(store=str(folder), mode="r")
    if array.shape != meta.shape or array.dtype != meta.dtype:
        raise ValueError("zarr reads it otherwise than it says")
    out = np.empty(meta.shape, meta.dtype)
    width = max(1, math.prod(meta.shape[1:]) * meta.dtype.itemsize)
    step = max(1, _BLOCK_BYTES // (width * meta.chunks[0])) * meta.chunks[0]  # each chunk is unpacked once
    for start in range(0, meta.shape[0], step):
        out[start : start + step] = array[start : start + step]
    return out
