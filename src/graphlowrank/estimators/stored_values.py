"""Values as JSON and arrays: the closed set of what a model file can hold."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable, Mapping
from dataclasses import fields
from types import NoneType
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._backend import Array
from ..auto.choice import Choice
from ..auto.n_clusters import ClusterCount
from ..decoders import LowRankMatrix
from ..graphs import Graph
from ..preprocessing.imputer import Filling
from ..preprocessing.outliers import Sieve
from ..preprocessing.scaling import Scaling
from ..preprocessing.sparse import ShiftedSparse

# Dataclasses that models hold. They are known by name in files: add to this, do not rename.
RECORDS: tuple[type, ...] = (Choice, ClusterCount, Filling, Graph, LowRankMatrix, Scaling, ShiftedSparse, Sieve)
SPARSE: tuple[type, ...] = (sp.csr_array, sp.csr_matrix, sp.csc_array, sp.csc_matrix)
NUMBERS = tuple(
    np.dtype(name)
    for name in (
        "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
        "float16", "float32", "float64", "complex64", "complex128",
    )
)  # fmt: skip
DEEPEST = 50  # lists in lists; a list that holds itself ends here, too
LONGEST_NAME = 100
MERSENNE = 624  # words of its state


def is_numbers(dtype: np.dtype[Any]) -> bool:
    """Whether arrays of this type can be stored: numbers of a size that every machine has, in any order of bytes."""
    return dtype.kind in "biufc" and dtype.newbyteorder("=") in NUMBERS


class Packer:
    """Turns values into what JSON can say; arrays are put aside in ``arrays``, by name.

    Anything that JSON lacks becomes an object of one key, its kind. An array that is met twice, as it is or transposed,
    is kept once: factors of a low-rank matrix are also the components of its model.

    Examples
    --------
    >>> import numpy as np
    >>> packer = Packer()
    >>> packer.pack((1, np.zeros(3)), "pair")
    {'tuple': [1, {'array': 'pair.1'}]}
    >>> unpack(_, packer.arrays)
    (1, array([0., 0., 0.]))
    """

    def __init__(self) -> None:
        self.arrays: dict[str, Array] = {}
        self._names: dict[tuple[Any, ...], str] = {}  # by place in memory, which arrays above keep from being reused
        self._depth = 0

    def pack(self, value: Any, where: str) -> Any:
        """Return ``value`` for JSON; ``where`` it is found names it, in a TypeError if it cannot be stored."""
        packing = _PACK.get(type(value), _pack_scalar if isinstance(value, np.generic) else _refuse)
        self._depth += 1
        if self._depth > DEEPEST:
            raise TypeError(f"{where[:LONGEST_NAME]}... is nested more than {DEEPEST} deep, or holds itself.")
        packed = packing(self, value, where)
        self._depth -= 1
        return packed

    def items(self, values: Mapping[str, Any], where: str = "") -> dict[str, Any]:
        """Pack values that have names."""
        return {name: self.pack(value, f"{where}.{name}" if where else name) for name, value in values.items()}

    def keep(self, array: Array, where: str) -> dict[str, str]:
        """Put an array aside, unless it is there already."""
        if not (array.flags.c_contiguous or array.flags.f_contiguous):
            array = array.copy(order="K")
        place, layout = array.__array_interface__["data"][0], (array.shape, array.strides)
        for kind, (shape, strides) in (("array", layout), ("transposed", (layout[0][::-1], layout[1][::-1]))):
            known = self._names.get((place, array.dtype.str, shape, strides))
            if known is not None:
                return {kind: known}
        name = re.sub(r"[^\w.]", "_", where, flags=re.ASCII)[:LONGEST_NAME]
        while name in self.arrays:
            name += "_"
        self.arrays[name] = array
        self._names[(place, array.dtype.str, *layout)] = name
        return {"array": name}


def _refuse(packer: Packer, value: Any, where: str) -> Any:
    """Say what cannot be stored, and what to do."""
    what, remedy = f"is of type {type(value).__name__}", "give numbers, strings, arrays, lists or dictionaries instead"
    if isinstance(value, np.random.Generator):
        remedy = "give a whole number instead"
    elif sp.issparse(value):
        remedy = "convert it by .tocsr()"
    elif isinstance(value, np.ndarray):
        what, remedy = f"{what} with dtype {value.dtype}", "convert it to a plain array of numbers"
    elif callable(value):
        what, remedy = "is code", "give a number or a name if it takes one, or change it by set_params before saving"
    raise TypeError(f"{where} {what}, which a model file cannot hold; {remedy}.")


def _pack_plain(packer: Packer, value: Any, where: str) -> Any:
    return value


def _pack_float(packer: Packer, value: float, where: str) -> Any:
    return value if math.isfinite(value) else {"float": struct.pack(">d", value).hex()}  # JSON writes others exactly


def _pack_list(packer: Packer, value: list[Any] | tuple[Any, ...], where: str) -> Any:
    packed = [packer.pack(item, f"{where}.{place}") for place, item in enumerate(value)]
    return packed if isinstance(value, list) else {"tuple": packed}


def _pack_dict(packer: Packer, value: dict[Any, Any], where: str) -> Any:
    if not all(type(key) is str for key in value):
        raise TypeError(f"{where} has keys that are not strings, which a model file cannot hold; use strings.")
    return {"dict": packer.items(value, where)}


def _pack_scalar(packer: Packer, value: np.generic, where: str) -> Any:
    if not is_numbers(value.dtype):
        return _refuse(packer, value, where)
    return {"scalar": [value.dtype.str, value.tobytes().hex()]}


def _pack_array(packer: Packer, value: Array, where: str) -> Any:
    if is_numbers(value.dtype):
        return packer.keep(value, where)
    if value.dtype == object and value.ndim == 1 and all(isinstance(name, str) for name in value):
        return {"names": [str(name) for name in value]}
    return _refuse(packer, value, where)


def _pack_sparse(packer: Packer, value: Any, where: str) -> Any:
    if value.ndim != 2 or not is_numbers(value.dtype):
        return _refuse(packer, value, where)
    parts = {name: getattr(value, name) for name in ("data", "indices", "indptr")}
    return {type(value).__name__: {"shape": [int(n) for n in value.shape], **packer.items(parts, where)}}


def _pack_random(packer: Packer, value: np.random.RandomState, where: str) -> Any:
    if value.get_state(legacy=False)["bit_generator"] != "MT19937":
        raise TypeError(f"{where} draws by another generator than MT19937; give a whole number instead.")
    return {"RandomState": packer.pack(tuple(value.get_state())[1:], where)}


def _pack_record(packer: Packer, value: Any, where: str) -> Any:
    return {type(value).__name__: packer.items({one.name: getattr(value, one.name) for one in fields(value)}, where)}


_PACK: dict[type, Callable[[Packer, Any, str], Any]] = {
    **dict.fromkeys((NoneType, bool, int, str), _pack_plain),
    **dict.fromkeys((list, tuple), _pack_list),
    **dict.fromkeys((np.ndarray, np.memmap), _pack_array),
    **dict.fromkeys(SPARSE, _pack_sparse),
    **dict.fromkeys(RECORDS, _pack_record),
    float: _pack_float,
    dict: _pack_dict,
    np.str_: lambda packer, value, where: {"string": str(value)},
    np.random.RandomState: _pack_random,
}


def unpack(value: Any, arrays: Mapping[str, Array]) -> Any:
    """Return what :meth:`Packer.pack` was given; anything may be raised if ``value`` does not come from there."""
    if isinstance(value, list):
        return [unpack(item, arrays) for item in value]
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind not in _UNPACK:
        raise ValueError(f"it holds a value of the unknown kind {kind!r}")
    return _UNPACK[kind](content, arrays)


def unpack_items(content: dict[str, Any], arrays: Mapping[str, Array]) -> dict[str, Any]:
    """Return values that have names."""
    return {name: unpack(item, arrays) for name, item in content.items()}


def _unpack_array(content: str, arrays: Mapping[str, Array]) -> Array:
    if content not in arrays:
        raise ValueError(f"it lacks the array {content}")
    return arrays[content]


def _unpack_scalar(content: list[str], arrays: Mapping[str, Array]) -> Any:
    dtype = np.dtype(content[0])
    if not is_numbers(dtype):
        raise ValueError(f"it holds a number of type {dtype}")
    (scalar,) = np.frombuffer(bytes.fromhex(content[1]), dtype)
    return scalar


def _unpack_names(content: list[str], arrays: Mapping[str, Array]) -> Array:
    if not all(isinstance(name, str) for name in content):
        raise ValueError("it holds names that are not strings")
    return np.array(content, dtype=object)


def _unpack_sparse(kind: type, content: dict[str, Any], arrays: Mapping[str, Array]) -> Any:
    shape = tuple(int(n) for n in content["shape"])
    parts = [unpack(content[name], arrays) for name in ("data", "indices", "indptr")]
    data, indices, indptr = (part.astype(part.dtype.newbyteorder("="), copy=False) for part in parts)
    if {indices.dtype, indptr.dtype} - {np.dtype(np.int32), np.dtype(np.int64)}:
        raise ValueError("the parts of a sparse matrix do not fit each other")
    matrix = kind((data, indices, indptr), shape=shape)
    matrix.check_format(full_check=True)  # compiled loops trust the indices
    matrix.data, matrix.indices, matrix.indptr = data, indices, indptr  # as they were: scipy narrows indices
    return matrix


def _unpack_random(content: Any, arrays: Mapping[str, Array]) -> np.random.RandomState:
    key, position, *gauss = unpack(content, arrays)
    if key.shape != (MERSENNE,) or not 0 <= position <= MERSENNE:  # numpy does not look, and would read beyond
        raise ValueError("it holds an impossible state of random numbers")
    random = np.random.RandomState(0)
    random.set_state(("MT19937", key, position, *gauss))
    return random


def _unpack_record(kind: type, content: dict[str, Any], arrays: Mapping[str, Array]) -> Any:
    return kind(**unpack_items(content, arrays))


def _of(kind: type, unpacking: Callable[[type, Any, Mapping[str, Array]], Any]) -> Callable[..., Any]:
    return lambda content, arrays: unpacking(kind, content, arrays)


_UNPACK: dict[str, Callable[..., Any]] = {
    "array": _unpack_array,
    "transposed": lambda content, arrays: _unpack_array(content, arrays).T,
    "scalar": _unpack_scalar,
    "names": _unpack_names,
    "string": lambda content, arrays: np.str_(content),
    "float": lambda content, arrays: struct.unpack(">d", bytes.fromhex(content))[0],
    "tuple": lambda content, arrays: tuple(unpack(content, arrays)),
    "dict": unpack_items,
    "RandomState": _unpack_random,
    **{kind.__name__: _of(kind, _unpack_sparse) for kind in SPARSE},
    **{kind.__name__: _of(kind, _unpack_record) for kind in RECORDS},
}
