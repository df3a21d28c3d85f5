"""The registry: everything that is compared, by task and name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeVar

from ..cells import Record, stopwatch
from ..internals import Array

TaskName = Literal["cluster", "recover", "separate", "step"]
Function = TypeVar("Function", bound=Callable[..., Any])

SYSTEMS: dict[TaskName, dict[str, Callable[..., Any]]] = {"cluster": {}, "recover": {}, "separate": {}, "step": {}}
"""Task to name to function. Each function imports what it needs, and records its seconds in the record it is given.

cluster   ``(task: ClusterTask, record) -> labels``
recover   ``(X, record, *, seed, n_jobs, **options) -> low-rank matrix of the shape of X``
separate  ``(frames, record, **options) -> background in gray levels``; masks go to ``record.pictures["mask"]``
step      ``(data: StepData, record) -> None``
"""


def system(task: TaskName, name: str) -> Callable[[Function], Function]:
    """Register a function under a task and a name."""

    def register(function: Function) -> Function:
        SYSTEMS[task][name] = function
        return function

    return register


def fit_estimator(name: str, X: Array, record: Record, **options: Any) -> Any:
    """Fit one of our estimators, record its stages, iterations and convergence, and return it.

    Parameters
    ----------
    name
        Class in ``graphlowrank``.
    X
        (n_samples, n_features).
    record
        Where seconds go.
    **options
        Parameters of the estimator.
    """
    with record.timing("import"):
        import graphlowrank

        model = getattr(graphlowrank, name)(**options)
    with stopwatch() as total:
        model.fit(X)
    record.fitted(model.stage_seconds_, total[0])
    record.iterations(model.n_iter_, converged=model.converged_)
    return model
