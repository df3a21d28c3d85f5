"""Type aliases of public signatures."""

from typing import Any, Literal, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

Array: TypeAlias = NDArray[Any]
"""Dense. The annotation is numpy's because users pass those; solvers accept any array-API namespace."""
MatrixLike: TypeAlias = ArrayLike | sp.sparray | sp.spmatrix
"""(n_samples, n_features) dense or sparse, or a data frame."""
RandomState: TypeAlias = int | np.random.RandomState | None
"""Seed, generator, or None for a fresh seed."""
AxisName: TypeAlias = Literal["sample", "feature"]
AXES: tuple[AxisName, AxisName] = ("sample", "feature")
