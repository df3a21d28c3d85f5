"""Tables of numbers from files and to files, by extension.

.. autosummary::
    read           read any of the formats as a :class:`Table`
    Table          values, and the names of samples and features
    write_matrix   write a matrix, block by block
    write_labels   write a label, and scores, for each sample
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .formats import read, write_matrix
    from .labels import write_labels
    from .table import Table

__all__ = ["Table", "read", "write_labels", "write_matrix"]
_HOMES = {"read": "formats", "write_matrix": "formats", "write_labels": "labels", "Table": "table"}


def __getattr__(name: str) -> Any:
    """Import on first use: the worker process needs only the module of one format."""
    if name in _HOMES:
        return getattr(import_module(f".{_HOMES[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
