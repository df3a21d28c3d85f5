"""Tables from files and folders."""

from .source import read
from .table import Table

__all__ = ["Table", "read"]
