"""Optional packages, imported when they are first needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_TITLES = {"PIL": "Pillow"}


def need(module: str, purpose: str) -> Any:
    """Import a module; ImportError that names what to install if it is missing.

    Examples
    --------
    >>> need("no_such_package.part", "Reading magic files")
    Traceback (most recent call last):
    ImportError: Reading magic files needs no_such_package: pip install graphlowrank[io]
    """
    try:
        return import_module(module)
    except ImportError as error:
        package = module.split(".", maxsplit=1)[0]
        raise ImportError(f"{purpose} needs {_TITLES.get(package, package)}: pip install graphlowrank[io]") from error
