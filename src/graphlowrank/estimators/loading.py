"""Load models that :mod:`.persistence` has saved; nothing in the file is run or imported."""

from __future__ import annotations

import inspect
import json
import math
import os
import struct
import zipfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

import numpy as np
from numpy.lib import format as npy_format

from .. import estimators
from .._backend import Array
from .._file_errors import invalid_file, reading
from .._version import __version__
from .persistence import FORMAT, HEADER, RECORDS, RENAMED_ATTRIBUTES, SCHEMA, SPARSE, is_numeric

ESTIMATORS: dict[str, type] = {name: getattr(estimators, name) for name in estimators.__all__}
MT19937_WORDS = 624  # of its state


def load(path: str | os.PathLike[str]) -> Any:
    """Load a model that was saved: every array, parameter and prediction is the same, bit for bit.

    Nothing in the file is run or imported, so files from untrusted sources are safe to load.

    Parameters
    ----------
    path
        File of ``model.save(path)``.

    Raises
    ------
    ValueError
        If the file is not a model file, damaged, truncated, or of a newer version; the message names it.
    OSError
        If there is no such file, or it cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> X = np.outer(np.arange(6.0), np.arange(6.0))
    >>> model = estimators.RobustPCA().fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/robust.model")
    ...     again = load(f"{folder}/robust.model")
    >>> np.array_equal(again.transform(X), model.transform(X))
    True
    """
    path = Path(path)
    with reading(path), path.open("rb") as file:
        if file.read(4) != b"PK\x03\x04":
            raise invalid_file(path, "is not a model file of graphlowrank.")
        with _open_archive(file, path) as archive:
            if HEADER not in archive.NameToInfo:
                raise invalid_file(path, "is not a model file of graphlowrank.")
            content = _parse_header(archive.read(HEADER), path)
            entries = [info for info in archive.infolist() if info.filename != HEADER]
            arrays = {info.filename.removesuffix(".npy"): _read_array(archive, info, path) for info in entries}
        return _build_model(content, arrays, path)


def _open_archive(file: BinaryIO, path: Path) -> zipfile.ZipFile:
    """Open the zip file; the sizes that its entries claim are checked against its own before memory is allocated."""
    try:
        archive = zipfile.ZipFile(file)
    except (zipfile.BadZipFile, NotImplementedError) as error:
        raise invalid_file(path, "is damaged or truncated: its directory cannot be read.") from error
    entries, size = archive.infolist(), os.fstat(file.fileno()).st_size
    if any(info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size for info in entries):
        raise invalid_file(path, "holds compressed entries, which model files do not have.")
    if sum(info.file_size for info in entries) > size or len(entries) > len(archive.NameToInfo):
        raise invalid_file(path, "is damaged: its entries overlap.")
    return archive


def _parse_header(raw: bytes, path: Path) -> dict[str, Any]:
    """Return the JSON of the file, if its format and version are known."""
    content = json.loads(raw, parse_constant=_refuse_constant)
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise invalid_file(path, "is not a model file of graphlowrank.")
    schema, writer = content["schema"], content["library"]
    if type(schema) is not int or schema < 1:
        raise ValueError(f"its schema is {schema!r}")
    if schema > SCHEMA:
        raise invalid_file(path, f"was written by graphlowrank {writer}; update graphlowrank, this is {__version__}.")
    return content


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"it holds {name} in place of a number")


def _read_array(archive: zipfile.ZipFile, info: zipfile.ZipInfo, path: Path) -> Array:
    """Read the array of an entry, whose header must claim exactly the bytes that the entry holds."""
    with archive.open(info) as entry:
        if npy_format.read_magic(entry) != (1, 0):
            raise ValueError(f"{info.filename} is in another version of the .npy format")
        shape, _, dtype = npy_format.read_array_header_1_0(entry)
        held = info.file_size - entry.tell()
    if dtype.hasobject:
        raise invalid_file(path, "holds Python objects, which are not read.")
    if not is_numeric(dtype) or min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != held:
        raise ValueError(f"{info.filename} does not hold the array that it claims")
    with archive.open(info) as entry:  # opened again: zipfile verifies no checksum after a seek
        return np.asarray(npy_format.read_array(entry, allow_pickle=False))


def _build_model(content: dict[str, Any], arrays: dict[str, Array], path: Path) -> Any:
    name, origin = content["class"], f"it was written by graphlowrank {content['library']}, this is {__version__}"
    if name not in ESTIMATORS:
        raise invalid_file(path, f"holds an unknown estimator, {name!r}; {origin}.")
    parameters, attributes = (unpack_items(content[part], arrays) for part in ("parameters", "attributes"))
    cls = ESTIMATORS[name]
    known = inspect.signature(cls).parameters
    unknown = [one for one in parameters if one not in known]
    if unknown:
        raise invalid_file(path, f"has parameters that {name} does not know, {', '.join(unknown)}; {origin}.")
    model = cls(**parameters)  # constructors only store their arguments
    attributes = rename(attributes, RENAMED_ATTRIBUTES)
    for one in attributes:
        # Attribute names come from the file: they must not shadow methods.
        value = getattr(cls, one, None)
        is_code = callable(value) or isinstance(value, property)
        if not one.isidentifier() or one.startswith("__") or one in known or is_code:
            raise ValueError(f"{name} cannot have an attribute {one!r}")
    vars(model).update(attributes)
    return model


def rename(values: Mapping[str, Any], renamed: Mapping[str, str | None]) -> dict[str, Any]:
    """Return the values under their current names, without those whose current name is None."""
    named = {renamed.get(name, name): value for name, value in values.items()}
    return {name: value for name, value in named.items() if name is not None}


def unpack(value: Any, arrays: Mapping[str, Array]) -> Any:
    """Inverse of :meth:`.persistence.Packer.pack`; may raise anything if ``value`` was not packed there."""
    if isinstance(value, list):
        return [unpack(item, arrays) for item in value]
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind in RECORDS:
        record = RECORDS[kind]
        return record.cls(**record.added, **rename(unpack_items(content, arrays), record.renamed))
    if kind not in _UNPACK:
        raise ValueError(f"it holds a value of the unknown kind {kind!r}")
    return _UNPACK[kind](content, arrays)


def unpack_items(content: dict[str, Any], arrays: Mapping[str, Array]) -> dict[str, Any]:
    """Unpack named values."""
    return {name: unpack(item, arrays) for name, item in content.items()}


def _unpack_array(content: str, arrays: Mapping[str, Array]) -> Array:
    if content not in arrays:
        raise ValueError(f"it lacks the array {content}")
    return arrays[content]


def _unpack_scalar(content: list[str], arrays: Mapping[str, Array]) -> Any:
    dtype = np.dtype(content[0])
    if not is_numeric(dtype):
        raise ValueError(f"it holds a number of type {dtype}")
    (scalar,) = np.frombuffer(bytes.fromhex(content[1]), dtype)
    return scalar


def _unpack_names(content: list[str], arrays: Mapping[str, Array]) -> Array:
    if not all(isinstance(name, str) for name in content):
        raise ValueError("it holds names that are not strings")
    return np.array(content, dtype=object)


def _unpack_sparse(cls: type, content: dict[str, Any], arrays: Mapping[str, Array]) -> Any:
    shape = tuple(int(n) for n in content["shape"])
    parts = [unpack(content[name], arrays) for name in ("data", "indices", "indptr")]
    data, indices, indptr = (part.astype(part.dtype.newbyteorder("="), copy=False) for part in parts)
    if {indices.dtype, indptr.dtype} - {np.dtype(np.int32), np.dtype(np.int64)}:
        raise ValueError("the parts of a sparse matrix do not match")
    matrix = cls((data, indices, indptr), shape=shape)
    matrix.check_format(full_check=True)  # compiled loops do not check the indices
    matrix.data, matrix.indices, matrix.indptr = data, indices, indptr  # scipy may have narrowed the indices
    return matrix


def _unpack_random_state(content: Any, arrays: Mapping[str, Array]) -> np.random.RandomState:
    key, position, *gauss = unpack(content, arrays)
    if key.shape != (MT19937_WORDS,) or not 0 <= position <= MT19937_WORDS:  # numpy would read out of bounds
        raise ValueError("it holds an invalid state of the random number generator")
    random_state = np.random.RandomState(0)
    random_state.set_state(("MT19937", key, position, *gauss))
    return random_state


_UNPACK: dict[str, Callable[[Any, Mapping[str, Array]], Any]] = {
    "array": _unpack_array,
    "transposed": lambda content, arrays: _unpack_array(content, arrays).T,
    "scalar": _unpack_scalar,
    "names": _unpack_names,
    "string": lambda content, arrays: np.str_(content),
    "float": lambda content, arrays: struct.unpack(">d", bytes.fromhex(content))[0],
    "tuple": lambda content, arrays: tuple(unpack(content, arrays)),
    "dict": unpack_items,
    "RandomState": _unpack_random_state,
    **{cls.__name__: partial(_unpack_sparse, cls) for cls in SPARSE},
}
