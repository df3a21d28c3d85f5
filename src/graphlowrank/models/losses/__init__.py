"""Losses: how much an entry may differ from the data.

A new loss is a subclass of :class:`Loss` in a file of its own plus an entry in ``LOSSES``; from outside the package,
:func:`register` adds one. Leave ``kernel`` at None unless :mod:`graphlowrank.kernels.fista_step` has a loop for it.
"""

from .base import DataFit, Loss
from .builtin import L1, L2, Huber

LOSSES: dict[str, type[Loss]] = {loss.name: loss for loss in (L1, L2, Huber)}


def register(loss: type[Loss]) -> type[Loss]:
    """Make ``loss`` available as the option ``loss=loss.name``; may be used as a decorator."""
    LOSSES[loss.name] = loss
    return loss


def make_loss(name: str, delta: float = 1.0) -> Loss:
    """Return the loss called ``name``, of scale ``delta``.

    Examples
    --------
    >>> import numpy as np
    >>> make_loss("huber", 0.5).value(np.array([0.1, 2.0]))
    array([0.01, 1.75])
    """
    if not isinstance(name, str) or name not in LOSSES:
        raise ValueError(f"loss must be one of {', '.join(map(repr, LOSSES))}; got {name!r}.")
    return LOSSES[name](delta)


__all__ = ["L1", "L2", "LOSSES", "DataFit", "Huber", "Loss", "make_loss", "register"]
