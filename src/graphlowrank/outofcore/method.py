"""Choose how data that may not fit in memory are fitted."""

from typing import Literal

from .. import auto
from ..auto import Choice, choose_n_neighbors, n_kept
from ..options import Options, is_auto
from .settings import Settings
from .sizes import FitSize

Task = Literal["cluster", "recover", "embed", "other"]

FEW_ROWS = 10_000  # that are always fitted whole
MAX_FITTED, MAX_FITTED_DENSE = 200_000, 20_000  # rows of the first level; of models that decompose the whole matrix
STAGES = ("scaling", "imputation", "sample graph", "feature graph", "sampling", "reduction", "partitions",
          "communities", "decoding")  # fmt: skip


def choose_method(
    task: Task,
    shape: tuple[int, int],
    itemsize: int,
    options: Options,
    settings: Settings,
    obstacle: str | None,
    n_threads: int = 1,
) -> tuple[Choice, int]:
    """Return "whole", "out_of_core" or "two_level" with a reason, and the rows of the first level.

    ``obstacle`` says why a fit out of core is not possible.
    """
    size = first_level(task, shape, itemsize, options, settings.memory, n_threads)
    if settings.method != "auto":
        if settings.method == "out_of_core" and obstacle is not None:
            raise ValueError(f"method='out_of_core' is not possible: {obstacle}.")
        return Choice("method", settings.method, auto.AS_GIVEN), size
    limit = f"of {settings.memory / 1e9:.3g} GB of memory"
    if shape[0] <= FEW_ROWS:
        return Choice("method", "whole", f"at most {FEW_ROWS} samples"), size
    whole = fit_bytes(task, shape, itemsize, options, n_threads)
    if whole <= settings.memory:
        return Choice("method", "whole", f"needs {whole / 1e9:.2g} GB {limit}"), size
    reason = f"all data in memory need {whole / 1e9:.2g} GB {limit}"
    if obstacle is None:
        needed = out_of_core_bytes(task, shape, itemsize, options)
        if needed <= settings.memory:
            return Choice("method", "out_of_core", f"{reason}, out of core {needed / 1e9:.2g} GB"), size
        obstacle = f"out of core {needed / 1e9:.2g} GB"
    return Choice("method", "two_level", f"{size} samples are fitted: {reason}; {obstacle}"), size


def fit_bytes(task: Task, shape: tuple[int, int], itemsize: int, options: Options, n_threads: int) -> float:
    """Peak memory of a fit of data in memory."""
    size = _fit_size(task, shape, itemsize, options, n_threads)
    return max(size.stage_bytes(stage, scaled=True, imputed=False) for stage in STAGES)


def out_of_core_bytes(task: Task, shape: tuple[int, int], itemsize: int, options: Options) -> float:
    """Peak memory of a fit of data on disk."""
    size = _fit_size(task, shape, itemsize, options, 1)
    return size.out_of_core_bytes() if task == "cluster" else size.covariance_bytes()


def first_level(
    task: Task, shape: tuple[int, int], itemsize: int, options: Options, memory: int, n_threads: int
) -> int:
    """Largest number of rows whose fit takes no more than the memory, between bounds."""
    n, p = shape
    most = min(n, MAX_FITTED if task in ("cluster", "embed") else MAX_FITTED_DENSE)
    least = min(n, FEW_ROWS // 5)
    while least < most:  # the memory grows with the rows
        middle = (least + most + 1) // 2
        if fit_bytes(task, (middle, p), itemsize, options, n_threads) <= memory:
            least = middle
        else:
            most = middle - 1
    return least


def _fit_size(task: Task, shape: tuple[int, int], itemsize: int, options: Options, n_threads: int) -> FitSize:
    k = 10 if is_auto(options.n_clusters) else int(options.n_clusters)
    n_neighbors = choose_n_neighbors(options, shape[0]).value if is_auto(options.n_neighbors) else options.n_neighbors
    name = "recover" if task == "recover" else "cluster"
    kept = n_kept(options, shape, k if task == "cluster" else options.n_components)
    return FitSize(name, *shape, k, kept, itemsize, None, int(n_neighbors), "approximate", n_threads)
