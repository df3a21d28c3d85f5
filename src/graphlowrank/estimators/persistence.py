"""Save models: one zip file of arrays and JSON, which runs no code when it is read.

:mod:`.loading` reads it. ``RECORDS`` is the table to edit when a dataclass that models hold is renamed.
"""

from __future__ import annotations

import json
import math
import re
import struct
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from os import PathLike
from types import NoneType
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.lib import format as npy_format

from .._backend import Array
from .._files import writing
from .._version import __version__
from ..auto.choice import Choice
from ..decoders import LowRankMatrix
from ..graphs import Graph
from ..preprocessing.imputer import LowRankImputer
from ..preprocessing.outlier_filter import OutlierFilter
from ..preprocessing.scaling import Scaling
from ..preprocessing.sparse import ShiftedSparse

FORMAT = "graphlowrank model"
SCHEMA = 1  # raise it when older versions of the library could not read what is written
HEADER = "model.json"


@dataclass(frozen=True)
class StoredRecord:
    """How a dataclass is stored."""

    cls: type
    renamed: Mapping[str, str | None] = field(default_factory=dict)  # file -> class; None if the class dropped it
    added: Mapping[str, Any] = field(default_factory=dict)  # values of fields that the file lacks, without a default


# Dataclasses that models hold, by their names in files. The first name of a class is the one written. When a class is
# renamed, keep its old name, with the fields that changed: "Old": StoredRecord(New, renamed={"old_field": "field"}).
RECORDS: dict[str, StoredRecord] = {
    "Choice": StoredRecord(Choice),
    "Graph": StoredRecord(Graph),
    "LowRankMatrix": StoredRecord(LowRankMatrix),
    "LowRankImputer": StoredRecord(LowRankImputer),
    "OutlierFilter": StoredRecord(OutlierFilter),
    "Scaling": StoredRecord(Scaling, renamed={"reason": None, "tried": None}),
    "ShiftedSparse": StoredRecord(ShiftedSparse),
    # Names of 0.1.0.
    "ClusterCount": StoredRecord(Choice, renamed={"n_clusters": "value"}, added={"name": "n_clusters"}),
    "Filling": StoredRecord(LowRankImputer, renamed={"centre": "center", "doubt": "ridge"}),
    "Sieve": StoredRecord(OutlierFilter, renamed={"filling": "imputer", "middle": "median", "reach": "initial_limits"}),
}
# Attributes of estimators that were renamed: name in the file -> current name; None if they are no longer used.
RENAMED_ATTRIBUTES: dict[str, str | None] = {
    "_count": None,
    "_filling": "_distance_model",
    "_fit_X": "points_",
    "_said": "_fit_summary",
    "_way": None,
}

SPARSE: tuple[type, ...] = (sp.csr_array, sp.csr_matrix, sp.csc_array, sp.csc_matrix)
NUMBERS = tuple(
    np.dtype(code) for code in ("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16")
)
MAX_DEPTH = 50  # of nested lists; also ends a list that contains itself
MAX_NAME = 100  # characters


def save(model: Any, path: str | PathLike[str]) -> None:
    """Write a model as a zip file of .npy entries and one JSON entry; see :meth:`GraphEstimator.save`."""
    cls = type(model)
    if cls.__module__.rpartition(".")[0] != __package__:
        raise TypeError(f"only estimators of graphlowrank can be saved; got {cls.__name__}.")
    parameters = model.get_params(deep=False)
    attributes = {name: value for name, value in vars(model).items() if name not in parameters}
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
        self._names: dict[tuple[Any, ...], str] = {}  # by address; `arrays` keeps these addresses from being reused
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
        address, layout = array.__array_interface__["data"][0], (array.shape, array.strides)
        for kind, (shape, strides) in (("array", layout), ("transposed", (layout[0][::-1], layout[1][::-1]))):
            known = self._names.get((address, array.dtype.str, shape, strides))
            if known is not None:
                return {kind: known}
        name = re.sub(r"[^\w.]", "_", where, flags=re.ASCII)[:MAX_NAME]
        while name in self.arrays:
            name += "_"
        self.arrays[name] = array
        self._names[(address, array.dtype.str, *layout)] = name
        return {"array": name}


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


def _pack_array(packer: Packer, value: Array, where: str) -> Any:
    if is_numeric(value.dtype):
        return packer.add(value, where)
    if value.dtype == object and value.ndim == 1 and all(isinstance(name, str) for name in value):
        return {"names": [str(name) for name in value]}
    return _refuse(packer, value, where)


def _pack_sparse(packer: Packer, value: Any, where: str) -> Any:
    if value.ndim != 2 or not is_numeric(value.dtype):
        return _refuse(packer, value, where)
    parts = {name: getattr(value, name) for name in ("data", "indices", "indptr")}
    return {type(value).__name__: {"shape": [int(n) for n in value.shape], **packer.items(parts, where)}}


def _pack_random_state(packer: Packer, value: np.random.RandomState, where: str) -> Any:
    if value.get_state(legacy=False)["bit_generator"] != "MT19937":
        raise TypeError(f"{where} uses another bit generator than MT19937; use an integer instead.")
    return {"RandomState": packer.pack(tuple(value.get_state())[1:], where)}


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
