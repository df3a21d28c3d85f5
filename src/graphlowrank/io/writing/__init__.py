"""Tables to files and folders."""

from .labels import write_labels
from .matrix import write_matrix

__all__ = ["write_labels", "write_matrix"]
