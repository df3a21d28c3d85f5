"""The optional packages of this folder, imported when they are first needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_TITLES = {"av": "PyAV", "PIL.Image": "Pillow"}


def need(module: str, purpose: str) -> Any:
    """Return a module, "av" or "PIL.Image"; ModuleNotFoundError with what to install if it is missing."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        message = f"{purpose} needs {_TITLES[module]}: pip install graphlowrank[video]"
        raise ModuleNotFoundError(message, name=module.split(".", maxsplit=1)[0]) from error
