"""The record of an automatic decision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Choice:
    """A value that was used.

    Attributes
    ----------
    name, value
        Parameter and value.
    reason
        Why, in a sentence.
    """

    name: str
    value: Any
    reason: str
