"""What a decoder is, and what it needs."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass

from .._typing import AxisName
from .factors import Decoded


@dataclass(frozen=True)
class Decoder:
    """A decoder and its requirements.

    Attributes
    ----------
    name
        Value of the option ``decoder``.
    decode
        ``decode(X_small, samples, features, *, n_components, data, **options) -> Decoded``; ``data`` is passed only if
        ``takes_data``.
    fits
        Axes ("sample", "feature") that are fitted to the full data. The others are interpolated over their graph.
    needs_complete
        Whether missing values are not allowed.
    reads_data
        Whether the full data are needed though no axis is fitted without its graph.
    """

    name: str
    decode: Callable[..., Decoded]
    fits: tuple[AxisName, ...] = ()
    needs_complete: bool = False
    reads_data: bool = False

    @property
    def takes_data(self) -> bool:
        """Whether the full data are passed."""
        return self.reads_data or bool(self.fits)

    def interpolates(self, axis: AxisName) -> bool:
        """Whether nodes left out of an axis are interpolated over its graph."""
        return axis not in self.fits

    @property
    def options(self) -> tuple[str, ...]:
        """Names of further parameters: the keys of ``decoder_options``."""
        parameters = inspect.signature(self.decode).parameters.values()
        reserved = ("n_components", "data")
        return tuple(p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.name not in reserved)
