"""The record of an automatic decision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

AS_GIVEN = "as given"


@dataclass(frozen=True)
class Choice:
    """A value that was used, and why.

    Attributes
    ----------
    name : str
        Parameter.
    value : object
        Its value.
    reason : str
        Why, in a sentence.
    """

    name: str
    value: Any
    reason: str
