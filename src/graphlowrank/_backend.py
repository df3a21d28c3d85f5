"""The interface to array libraries.

Dense arithmetic below the estimators goes through the array-API namespace of its arrays; every sparse operation is a
product with a symmetric matrix on the left, :func:`graphlowrank.linalg.products.spmm`. A library that offers both can
run the solvers.
"""

from typing import Any

from array_api_compat import array_namespace

from ._typing import Array


def namespace(*arrays: Any) -> Any:
    """Array-API namespace shared by the dense ``arrays``."""
    return array_namespace(*arrays)


def norm(X: Array) -> float:
    """Frobenius norm of ``X``, accumulated by its own library."""
    return float(namespace(X).linalg.vector_norm(X))
