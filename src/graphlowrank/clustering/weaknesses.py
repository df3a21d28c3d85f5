"""What is weak about a partition, in sentences."""

from collections.abc import Iterator, Sequence

import numpy as np

from .._typing import Array
from ..preprocessing.sparse import Data, count_distinct
from .selection import Alternative

TINY = 0.01  # of the mean size of a cluster


def weaknesses(
    labels: Array,
    n_clusters: int,
    points: Data,
    conductance: float,
    alternatives: Sequence[Alternative],
    no_structure: str = "",
) -> Iterator[str]:
    """Yield a sentence for each reason not to rely on the labels (n_samples,) of ``points``.

    ``no_structure`` says why the data seem to have no clusters at all.
    """
    if no_structure and n_clusters > 1:
        yield f"the data look no more clustered than data without clusters: {no_structure}; try n_clusters='auto'."
    sizes = np.bincount(labels, minlength=n_clusters)
    n_found = int(np.count_nonzero(sizes))
    if n_found < n_clusters:
        yield f"{n_found} cluster{'s were' if n_found > 1 else ' was'} found instead of {n_clusters}; ask for fewer."
    n_distinct = count_distinct(points, n_found)
    if n_distinct < n_found:
        yield (
            f"only {n_distinct} samples are distinct, so that {n_found} clusters separate equal samples; "
            f"ask for at most {n_distinct}."
        )
    least = int(sizes[sizes > 0].min())
    if least < TINY * len(labels) / n_clusters:
        yield f"the smallest cluster has {least} of {len(labels)} samples, less than 1 % of the mean size."
    if alternatives:
        other = alternatives[0]
        yield (
            f"another partition is nearly as good (conductance {other.conductance:.3g} and {conductance:.3g}), but "
            f"an adjusted Rand index of {other.agreement:.2f} with this one: the data do not decide; "
            "try report_.alternatives_."
        )
