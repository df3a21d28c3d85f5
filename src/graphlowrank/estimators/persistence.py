"""Save and load models: one zip file of arrays and JSON. Nothing in it is run or imported when it is read."""

import inspect
import json
import math
import os
import re
import struct
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import partial
from pathlib import Path
from types import NoneType
from typing import Any, BinaryIO, NoReturn

import numpy as np
import scipy.sparse as sp
from numpy.lib import format as npy_format

from .. import estimators
from .._checks import check_compressed
from .._files import invalid_file, reading, writing
from .._typing import Array
from .._version import __version__
from ..decoders import LowRankMatrix
from ..graphs import Graph
from ..outofcore.sources import is_lazy
from .records import ATTRIBUTES, RECORDS, RENAMED_ATTRIBUTES, check_fitted, rename

FORMAT = "graphlowrank model"
SCHEMA = 1  # raise it when older versions of the library could not read what is written
HEADER = "model.json"
SPARSE: tuple[type, ...] = (sp.csr_array, sp.csr_matrix, sp.csc_array, sp.csc_matrix)
NUMBERS = tuple(
    np.dtype(code) for code in ("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16")
)
MAX_DEPTH = 50  # of nested lists; also ends a list that contains itself
MAX_NAME = 100  # characters
MT19937_WORDS = 624  # of the state of this generator


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a model as a zip file of .npy entries and one JSON entry; see :meth:`GraphEstimator.save`."""
    cls = type(model)
    if cls.__module__.rpartition(".")[0] != __package__:
        raise TypeError(f"only estimators of graphlowrank can be saved; got {cls.__name__}.")
    parameters = model.get_params(deep=False)
    attributes = {name: value for name, value in vars(model).items() if name not in parameters}
    lazy = [name for name, value in attributes.items() if has_lazy_part(value)]
    if lazy:
        attributes = {name: value for name, value in attributes.items() if name not in lazy} | {"_not_saved": lazy}
    packer = Packer()
    content = {
        "format": FORMAT,
        "schema": SCHEMA,
        "library": __version__,
        "class": cls.__name__,
        "parameters": packer.items(parameters),
        "attributes": packer.items(attributes),
    }
    header = json.dumps(content, allow_nan=False).encode()
    # Stored, not deflated: a reader then knows that no entry is larger than the file.
    with writing(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        # The date of ZipInfo is fixed, so that a model always gives the same bytes.
        archive.writestr(zipfile.ZipInfo(HEADER), header)
        for name, array in packer.arrays.items():
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as entry:
                npy_format.write_array(entry, array, version=(1, 0), allow_pickle=False)


def has_lazy_part(value: Any) -> bool:
    """Whether an attribute is, or holds, a dask array."""
    if isinstance(value, tuple):
        return any(map(has_lazy_part, value))
    return is_lazy(value.left if isinstance(value, LowRankMatrix) else value) and not isinstance(value, str)


def load(path: str | os.PathLike[str]) -> Any:
    """Load a model that was saved: every array, parameter and prediction is the same, bit for bit.

    Nothing in the file is run or imported, and its content is checked: files from untrusted sources are safe to load.

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
            content = _parse_header(archive.read(HEADER) if HEADER in archive.NameToInfo else b"{}", path)
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
    parts = {"schema", "library", "class", "parameters", "attributes"}
    if not isinstance(content, dict) or content.get("format") != FORMAT or not parts <= content.keys():
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
    # An array without entries can have any length, and results of this length would fill the memory.
    long = not all(0 <= length <= path.stat().st_size for length in shape)
    if not is_numeric(dtype) or long or math.prod(shape) * dtype.itemsize != held:
        raise ValueError(f"{info.filename} does not hold the array that it claims")
    with archive.open(info) as entry:  # opened again: zipfile verifies no checksum after a seek
        array = np.asarray(npy_format.read_array(entry, allow_pickle=False))
    return array.astype(dtype.newbyteorder("="), copy=False)


def _build_model(content: dict[str, Any], arrays: dict[str, Array], path: Path) -> Any:
    name, origin = content["class"], f"it was written by graphlowrank {content['library']}, this is {__version__}"
    if name not in estimators.__all__:
        raise invalid_file(path, f"holds an unknown estimator, {name!r}; {origin}.")
    parameters, attributes = (unpack_items(content[part], arrays) for part in ("parameters", "attributes"))
    cls = getattr(estimators, name)
    known = inspect.signature(cls).parameters
    unknown = [one for one in parameters if one not in known]
    if unknown:
        raise invalid_file(path, f"has parameters that {name} does not know, {', '.join(unknown)}; {origin}.")
    model = cls(**parameters)  # constructors only store their arguments
    attributes = rename(attributes, RENAMED_ATTRIBUTES)
    for one in attributes:
        # Attribute names come from the file: they must not shadow methods and settings of the class.
        if not one.isidentifier() or one.startswith("__") or (hasattr(cls, one) and one not in ATTRIBUTES):
            raise ValueError(f"{name} cannot have an attribute {one!r}")
    check_fitted(cls, attributes)
    vars(model).update(attributes)
    return model


def is_numeric(dtype: np.dtype[Any]) -> bool:
    """Whether arrays of this type can be stored: numbers of a size that every machine has, in any byte order."""
    return dtype.kind in "biufc" and dtype.newbyteorder("=") in NUMBERS


class Packer:
    """Converts values to JSON, and collects their arrays by name.

    A value that JSON lacks becomes an object with one key, its kind. An array that occurs twice, as it is or
    transposed, is stored once: the factors of a low-rank matrix are also the components of its model.
    """

    def __init__(self) -> None:
        self.arrays: dict[str, Array] = {}
        # By address; `arrays` keeps these addresses from being reused.
        self._references: dict[tuple[Any, ...], dict[str, str]] = {}
        self._depth = 0

    def pack(self, value: Any, where: str) -> Any:
        """Return ``value`` for JSON; ``where`` is its name, in the file and in the TypeError if it cannot be stored."""
        pack: Pack = _PACK.get(type(value), _pack_scalar if isinstance(value, np.generic) else _refuse)
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise TypeError(f"{where[:MAX_NAME]}... is nested more than {MAX_DEPTH} levels deep, or contains itself.")
        packed = pack(self, value, where)
        self._depth -= 1
        return packed

    def items(self, values: Mapping[str, Any], where: str = "") -> dict[str, Any]:
        """Pack named values."""
        return {name: self.pack(value, f"{where}.{name}" if where else name) for name, value in values.items()}

    def add(self, array: Array, where: str) -> dict[str, str]:
        """Collect an array, unless it is there already, and return the reference to it."""
        if not (array.flags.c_contiguous or array.flags.f_contiguous):
            array = array.copy(order="K")
        memory = (array.__array_interface__["data"][0], array.dtype.str)
        if (*memory, array.shape, array.strides) not in self._references:
            name = re.sub(r"[^\w.]", "_", where, flags=re.ASCII)[:MAX_NAME]
            while name in self.arrays:
                name += "_"
            self.arrays[name] = array
            self._references[*memory, array.shape[::-1], array.strides[::-1]] = {"transposed": name}
            self._references[*memory, array.shape, array.strides] = {"array": name}
        return self._references[*memory, array.shape, array.strides]


def _refuse(packer: Packer, value: Any, where: str) -> Any:
    """Raise the TypeError that names what cannot be stored, and the remedy."""
    what, remedy = f"is of type {type(value).__name__}", "use numbers, strings, arrays, lists or dictionaries instead"
    if isinstance(value, np.random.Generator):
        remedy = "use an integer instead"
    elif sp.issparse(value):
        remedy = "convert it with .tocsr()"
    elif isinstance(value, np.ndarray):
        what, remedy = f"{what} with dtype {value.dtype}", "convert it to a plain array of numbers"
    elif callable(value):
        what, remedy = "is code", "use a number or a name if it takes one, or change it with set_params before saving"
    raise TypeError(f"{where} {what}, which a model file cannot hold; {remedy}.")


def unpack(value: Any, arrays: Mapping[str, Array]) -> Any:
    """Inverse of :meth:`Packer.pack`; ValueError if ``value`` was not packed there."""
    if isinstance(value, list):
        return [unpack(item, arrays) for item in value]
    if not isinstance(value, dict):
        return value
    kind, content = next(iter(value.items()), ("", {}))
    if len(value) != 1 or (kind not in RECORDS and kind not in _UNPACK):
        raise ValueError(f"it holds a value of the unknown kind {kind!r}")
    try:
        if kind not in RECORDS:
            return _UNPACK[kind](content, arrays)
        record = RECORDS[kind]
        unpacked = record.cls(**record.added, **rename(unpack_items(content, arrays), record.renamed))
        if not isinstance(unpacked, Graph):  # which is checked whenever one is made
            unpacked.check()
        return unpacked
    except (ArithmeticError, AttributeError, LookupError, TypeError, struct.error) as error:
        raise ValueError(f"it holds a {kind} that is none") from error


def unpack_items(content: dict[str, Any], arrays: Mapping[str, Array]) -> dict[str, Any]:
    """Unpack named values."""
    if not isinstance(content, dict):
        raise ValueError(f"it holds a {type(content).__name__} in place of named values")
    return {name: unpack(item, arrays) for name, item in content.items()}


def _pack_plain(packer: Packer, value: Any, where: str) -> Any:
    if isinstance(value, float) and not math.isfinite(value):  # JSON has finite numbers only, which it writes exactly
        return {"float": struct.pack(">d", value).hex()}
    return value


def _pack_list(packer: Packer, value: list[Any] | tuple[Any, ...], where: str) -> Any:
    packed = [packer.pack(item, f"{where}.{index}") for index, item in enumerate(value)]
    return packed if isinstance(value, list) else {"tuple": packed}


def _pack_dict(packer: Packer, value: dict[Any, Any], where: str) -> Any:
    if not all(type(key) is str for key in value):
        raise TypeError(f"{where} has keys that are not strings, which a model file cannot hold; use strings.")
    return {"dict": packer.items(value, where)}


def _pack_scalar(packer: Packer, value: np.generic, where: str) -> Any:
    if not is_numeric(value.dtype):
        return _refuse(packer, value, where)
    return {"scalar": [value.dtype.str, value.tobytes().hex()]}


def _unpack_scalar(content: list[str], arrays: Mapping[str, Array]) -> Any:
    dtype = np.dtype(content[0])
    if not is_numeric(dtype):
        raise ValueError(f"it holds a number of type {dtype}")
    (scalar,) = np.frombuffer(bytes.fromhex(content[1]), dtype)
    return scalar


def _pack_array(packer: Packer, value: Array, where: str) -> Any:
    if is_numeric(value.dtype):
        return packer.add(value, where)
    if value.dtype == object and value.ndim == 1 and all(isinstance(name, str) for name in value):
        return {"names": [str(name) for name in value]}
    return _refuse(packer, value, where)


def _unpack_array(content: str, arrays: Mapping[str, Array]) -> Array:
    if content not in arrays:
        raise ValueError(f"it lacks the array {content}")
    return arrays[content]


def _unpack_names(content: list[str], arrays: Mapping[str, Array]) -> Array:
    if not all(isinstance(name, str) for name in content):
        raise ValueError("it holds names that are not strings")
    return np.array(content, dtype=object)


def _pack_sparse(packer: Packer, value: Any, where: str) -> Any:
    if value.ndim != 2 or not is_numeric(value.dtype):
        return _refuse(packer, value, where)
    parts = {name: getattr(value, name) for name in ("data", "indices", "indptr")}
    return {type(value).__name__: {"shape": [int(n) for n in value.shape], **packer.items(parts, where)}}


def _unpack_sparse(cls: type, content: dict[str, Any], arrays: Mapping[str, Array]) -> Any:
    parts = tuple(unpack(content[name], arrays) for name in ("data", "indices", "indptr"))
    matrix = cls(parts, shape=tuple(content["shape"]))
    matrix.data, matrix.indices, matrix.indptr = parts  # scipy may have narrowed the indices
    check_compressed(matrix, "a sparse matrix")
    return matrix


def _pack_random_state(packer: Packer, value: np.random.RandomState, where: str) -> Any:
    if value.get_state(legacy=False)["bit_generator"] != "MT19937":
        raise TypeError(f"{where} uses another bit generator than MT19937; use an integer instead.")
    return {"RandomState": packer.pack(tuple(value.get_state())[1:], where)}


def _unpack_random_state(content: Any, arrays: Mapping[str, Array]) -> np.random.RandomState:
    key, position, *gauss = unpack(content, arrays) or (np.empty(0), 0)
    if key.shape != (MT19937_WORDS,) or not 0 <= position <= MT19937_WORDS:  # numpy would read out of bounds
        raise ValueError("it holds an invalid state of the random number generator")
    random_state = np.random.RandomState(0)
    random_state.set_state(("MT19937", key, position, *gauss))
    return random_state


def _pack_record(packer: Packer, value: Any, where: str) -> Any:
    name = next(name for name, record in RECORDS.items() if record.cls is type(value))
    return {name: packer.items({one.name: getattr(value, one.name) for one in fields(value)}, where)}


Pack = Callable[[Packer, Any, str], Any]
_PACK: dict[type, Pack] = {
    **dict.fromkeys((NoneType, bool, int, float, str), _pack_plain),
    **dict.fromkeys((list, tuple), _pack_list),
    **dict.fromkeys((np.ndarray, np.memmap), _pack_array),
    **dict.fromkeys(SPARSE, _pack_sparse),
    **dict.fromkeys((record.cls for record in RECORDS.values()), _pack_record),
    dict: _pack_dict,
    np.str_: lambda packer, value, where: {"string": str(value)},
    np.random.RandomState: _pack_random_state,
}
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
