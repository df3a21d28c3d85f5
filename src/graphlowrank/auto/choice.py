"""The record of an automatic decision."""

from dataclasses import dataclass
from typing import Any

import numpy as np

AS_GIVEN = "as given"


@dataclass(frozen=True)
class Choice:
    """The value of a parameter that was used, and why."""

    name: str
    value: Any
    reason: str  # a sentence

    @property
    def text(self) -> str:
        """The value, numbers with four digits."""
        return f"{self.value:.4g}" if isinstance(self.value, (float, np.floating)) else str(self.value)

    def check(self) -> None:
        """Raise ValueError unless name and reason are text."""
        if not isinstance(self.name, str) or not isinstance(self.reason, str):
            raise ValueError("a choice must have a name and a reason.")
