"""The record of an automatic decision."""

from dataclasses import dataclass
from typing import Any

AS_GIVEN = "as given"


@dataclass(frozen=True)
class Choice:
    """The value of a parameter that was used, and why."""

    name: str
    value: Any
    reason: str  # a sentence
