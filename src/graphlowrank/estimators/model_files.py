"""Models on disk: one file of arrays and JSON that never runs code when it is read."""

from __future__ import annotations

import inspect
import json
import math
import os
import zipfile
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.lib import format as npy_format

from .. import estimators
from .._backend import Array
from .._file_errors import invalid_file, reading
from .._files import writing
from .._version import __version__
from .stored_values import Packer, is_numbers, unpack_items

FORMAT = "graphlowrank model"
SCHEMA = 1  # raise it when older versions of the library could not read what is written
HEADER = "model.json"
ESTIMATORS: dict[str, type] = {name: getattr(estimators, name) for name in estimators.__all__}


def save_model(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a model, fitted or not, to one file.

    The file is a zip file of .npy entries and one of JSON. It is whole or not there: an older one of that name stays
    until the new one is complete.

    Parameters
    ----------
    model
        One of the estimators of this library.
    path
        File to write, under exactly this name; missing folders are made.

    Raises
    ------
    TypeError
        If a parameter or attribute cannot be stored, such as a function; nothing is written then.
    OSError
        "cannot write <path>: <reason>".

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from graphlowrank import RobustPCA
    >>> X = np.outer(np.arange(6.0), np.arange(6.0))
    >>> model = RobustPCA().fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(model, f"{folder}/robust.model")
    ...     again = load_model(f"{folder}/robust.model")
    >>> np.array_equal(again.transform(X), model.transform(X))
    True
    """
    if type(model) not in ESTIMATORS.values():
        raise TypeError(f"only {', '.join(ESTIMATORS)} can be saved; got {type(model).__name__}.")
    parameters = model.get_params(deep=False)
    attributes = {name: value for name, value in vars(model).items() if name not in parameters}
    packer = Packer()
    content = {
        "format": FORMAT,
        "schema": SCHEMA,
        "library": __version__,
        "class": type(model).__name__,
        "parameters": packer.items(parameters),
        "attributes": packer.items(attributes),
    }
    header = json.dumps(content, allow_nan=False).encode()
    # Stored, not deflated: a reader then knows that no entry is larger than the file.
    with writing(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        # ZipInfo's date is fixed, so that one model always gives the same bytes.
        archive.writestr(zipfile.ZipInfo(HEADER), header)
        for name, array in packer.arrays.items():
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as entry:
                npy_format.write_array(entry, array, version=(1, 0), allow_pickle=False)


def load_model(path: str | os.PathLike[str]) -> Any:
    """Read a model that was saved: every array, parameter and prediction is the same, bit by bit.

    Nothing in the file is run or imported, so that files of strangers can be looked at.

    Parameters
    ----------
    path
        File of ``model.save(path)``.

    Returns
    -------
    model
        Estimator of the class that was saved.

    Raises
    ------
    ValueError
        A sentence that names the file: it is not of this library, damaged or cut short, or of a newer version.
    OSError
        If there is no such file, or it cannot be read.
    """
    path = Path(path)
    with reading(path), path.open("rb") as file:
        if file.read(4) != b"PK\x03\x04":
            raise invalid_file(path, "is not a model file of graphlowrank.")
        with _directory(file, path) as archive:
            if HEADER not in archive.NameToInfo:
                raise invalid_file(path, "is not a model file of graphlowrank.")
            content = _checked_header(archive.read(HEADER), path)
            entries = [info for info in archive.infolist() if info.filename != HEADER]
            arrays = {info.filename.removesuffix(".npy"): _read_array(archive, info, path) for info in entries}
        return _rebuilt(content, arrays, path)


load = load_model  # its name at the top of the package


def _directory(file: Any, path: Path) -> zipfile.ZipFile:
    """Open the zip file; what its entries claim is bounded by its size before any memory is taken."""
    try:
        archive = zipfile.ZipFile(file)
    except (zipfile.BadZipFile, NotImplementedError) as error:
        raise invalid_file(path, "is damaged or cut short: its directory cannot be read.") from error
    entries, size = archive.infolist(), os.fstat(file.fileno()).st_size
    if any(info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size for info in entries):
        raise invalid_file(path, "holds compressed entries, which model files do not have.")
    if sum(info.file_size for info in entries) > size or len(entries) > len(archive.NameToInfo):
        raise invalid_file(path, "is damaged: its entries overlap.")
    return archive


def _checked_header(raw: bytes, path: Path) -> dict[str, Any]:
    """JSON of the file, if it is of a kind and version that are known."""
    content = json.loads(raw, parse_constant=_no_constant)
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise invalid_file(path, "is not a model file of graphlowrank.")
    schema, writer = content["schema"], content["library"]
    if type(schema) is not int or schema < 1:
        raise ValueError(f"its schema is {schema!r}")
    if schema > SCHEMA:
        raise invalid_file(path, f"was written by graphlowrank {writer}; update graphlowrank, this is {__version__}.")
    return content


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"it holds {name} where a number is due")


def _read_array(archive: zipfile.ZipFile, info: zipfile.ZipInfo, path: Path) -> Array:
    """Array of an entry, whose header may claim neither more nor less than the entry holds."""
    with archive.open(info) as entry:
        if npy_format.read_magic(entry) != (1, 0):
            raise ValueError(f"{info.filename} is in another version of numpy's format")
        shape, _, dtype = npy_format.read_array_header_1_0(entry)
        held = info.file_size - entry.tell()
    if dtype.hasobject:
        raise invalid_file(path, "holds Python objects, which are not read.")
    if not is_numbers(dtype) or min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != held:
        raise ValueError(f"{info.filename} does not hold the array that it claims")
    with archive.open(info) as entry:  # anew: zipfile checks no sum of an entry that was wound back
        return np.asarray(npy_format.read_array(entry, allow_pickle=False))


def _rebuilt(content: dict[str, Any], arrays: dict[str, Array], path: Path) -> Any:
    name, origin = content["class"], f"it was written by graphlowrank {content['library']}, this is {__version__}"
    if name not in ESTIMATORS:
        raise invalid_file(path, f"holds an unknown estimator, {name!r}; {origin}.")
    parameters, attributes = (unpack_items(content[part], arrays) for part in ("parameters", "attributes"))
    kind = ESTIMATORS[name]
    known = inspect.signature(kind).parameters
    unknown = [one for one in parameters if one not in known]
    if unknown:
        raise invalid_file(path, f"has parameters that {name} does not know, {', '.join(unknown)}; {origin}.")
    model = kind(**parameters)  # constructors keep what they are given, and do nothing else
    for one in attributes:
        # Values must not hide methods, and what they are named is the file's word alone.
        if not one.isidentifier() or one.startswith("__") or one in known or _is_code(getattr(kind, one, None)):
            raise ValueError(f"{name} cannot have an attribute {one!r}")
    vars(model).update(attributes)
    return model


def _is_code(value: Any) -> bool:
    return callable(value) or isinstance(value, property)
