"""How likely each entry is an outlier, given how far it is from its prediction.

Residuals are a mixture: a core, whose width differs from feature to feature and from sample to sample, and outliers
that may lie anywhere in the range of the data. The share of outliers is read off the far tails, where there is no core.
The core is the histogram of the residuals themselves, since no family of densities fits every data set.
"""

import numpy as np

from .._threads import map_ranges, map_tasks
from .._typing import Array
from .missing import row_medians
from .robust_statistics import MAD_TO_STD

MIN_SCALE = 0.3  # of a feature, in scales of all entries: a feature that is nearly constant is not all outliers
SAMPLE_SCALES = (0.5, 3.0)  # range of the scale of a sample, in scales of its features
TAILS = (3.0, 4.0, 5.0, 6.0, 8.0, 10.0)  # in scales; the emptiest one, relative to uniform outliers, gives their share
MIN_TAIL = 0.1  # share of uniform outliers that a tail must contain to be looked at
FEW = 0.01  # outliers: below, extreme values count as signal unless they are far outside of the core
N_CLASSES = 5  # of scales; each has a histogram
BINS = np.concatenate([np.arange(0, 6, 0.25), np.arange(6, 12.5, 0.5)])  # of absolute residuals, in scales
HEAVY = 3  # degrees of freedom of the Student distribution that is the core if there are few outliers
MIN_ENTRIES = 100  # of a class


def outlier_probabilities(residuals: Array, width: float, *, filtered: bool = False) -> tuple[Array, float]:
    """Probability (n, p) that an entry is an outlier, and their share; NaN in ``residuals`` gets probability 1.

    ``width`` is the range of the data, in which outliers are uniform. ``filtered`` data are expected to have few.
    """
    seen = ~np.isnan(residuals)
    size = np.abs(residuals)
    scale = _scales(size)
    found = np.ones(residuals.shape)
    if not seen.any() or not width > 0 or not scale.max() > 0:
        found[seen] = 0.0
        return found, 0.0
    of_seen, scale = size[seen], scale[seen]
    share = 0.0 if filtered else _share_of_outliers(of_seen / scale, scale, width)
    found[seen] = _few(of_seen, scale, width) if share < FEW else _many(of_seen, scale, width, share)
    return found, share


def _scales(size: Array) -> Array:
    """Return the standard deviation (n, p) of the core: one of each feature times one of each sample, by medians."""
    known = ~np.isnan(size)
    typical = MAD_TO_STD * float(np.median(size[known])) if known.any() else 0.0
    if typical == 0:  # most entries are predicted exactly
        typical = float(np.mean(size[known])) if known.any() else 0.0
    if typical == 0:
        return np.zeros(size.shape)
    of_features = np.maximum(MAD_TO_STD * _medians(size, 0, typical), MIN_SCALE * typical)
    of_samples = np.clip(MAD_TO_STD * _medians(size / of_features, 1, 1.0), *SAMPLE_SCALES)
    return np.multiply.outer(of_samples, of_features)


def _medians(size: Array, axis: int, default: float) -> Array:
    """Medians along an axis without NaN; ``default`` where all are missing."""
    rows = size if axis == 1 else np.ascontiguousarray(size.T)
    medians = np.empty(len(rows), dtype=size.dtype)

    def fill(start: int, stop: int) -> None:
        medians[start:stop] = row_medians(rows[start:stop])

    map_ranges(fill, len(rows))
    return np.where(np.isnan(medians), size.dtype.type(default), medians)


def _share_of_outliers(distance: Array, scale: Array, width: float) -> float:
    """Share of the entries that are outliers, from the tail that has fewest of those that uniform outliers expect."""
    shares = [1.0]
    for tail in TAILS:
        expected = float(np.mean(np.clip(1 - 2 * tail * scale / width, 0, None)))
        if expected > MIN_TAIL:
            shares.append(float(np.mean(distance > tail)) / expected)
    return min(shares) if len(shares) > 1 else 0.0


def _many(size: Array, scale: Array, width: float, share: float) -> Array:
    """``share * uniform / density``, with the density of residuals of similar scale from a histogram."""
    found = np.zeros(len(size))
    classes = np.digitize(scale, np.quantile(scale, np.arange(1, N_CLASSES) / N_CLASSES))

    def fill(number: int) -> None:
        members = classes == number
        if np.count_nonzero(members) < MIN_ENTRIES:
            found[members] = _few(size[members], scale[members], width)
            return
        unit = float(np.median(scale[members]))
        edges = np.append(BINS * unit, np.inf)
        place = np.digitize(size[members], edges) - 1
        counts = np.bincount(place, minlength=len(BINS))[: len(BINS)]
        density = counts[:-1] / np.diff(edges[:-1]) / len(place) / 2  # residuals have two signs
        likely = np.append(share / width / np.maximum(density, share / width), 1.0)
        found[members] = np.maximum.accumulate(likely)[place]  # a larger residual is not less likely an outlier

    map_tasks(fill, np.unique(classes).tolist())
    return found


def _few(size: Array, scale: Array, width: float) -> Array:
    """Posterior of a mixture with a heavy-tailed core: only what is far outside of it is an outlier."""
    density = 2 / (np.pi * 3**0.5) / (1 + (size / scale) ** 2 / HEAVY) ** 2 / scale  # Student, 3 degrees of freedom
    share = FEW
    for _ in range(10):
        posterior = share / width / (share / width + (1 - share) * density)
        share = float(np.clip(posterior.mean(), 1e-9, FEW))
    return posterior
