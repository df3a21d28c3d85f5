"""Tables of numbers as people have them, in and out by the extension of the file.

.. autosummary::
    read           any of the formats, as a :class:`Table`
    Table          values, and the names of samples and features
    write_matrix   a matrix, block by block
    write_labels   a label, and scores, for each sample
"""

from .reading import Table, read
from .writing import write_labels, write_matrix

__all__ = ["Table", "read", "write_labels", "write_matrix"]
