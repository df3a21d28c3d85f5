"""Choose how many samples and features are kept.

The sizes were chosen on digits, USPS, MNIST and synthetic data up to a million samples.
"""

import warnings

import numpy as np

from .._typing import AxisName
from ..options import Options, check_count, is_auto
from ..sampling import required_samples
from .choice import AS_GIVEN, Choice

MIN_SAMPLES, MAX_SAMPLE_RATE = 1000, 10.0  # keep at least so many, and at least a tenth
ENOUGH_SAMPLES = 3000  # fewer are not compressed, unless they have very many features: answers would depend on the draw
MIN_FEATURES, MAX_FEATURE_RATE = 500, 4.0
MAX_ENTRIES = 5_000_000  # of the compressed matrix: a solve takes about a second
DISTORTION, FAILURE = 0.5, 0.1  # of the restricted isometry: distortion, and probability of more
DEFAULT_RANK = 10  # smooth signals to preserve if no rank is given
FEW = 10  # kept nodes that get a warning


def n_kept(options: Options, shape: tuple[int, int], rank: int | None = None) -> tuple[int, int]:
    """Numbers of samples and features to keep; a higher ``rank``, or number of clusters, needs more samples."""
    rates = options.downsampling
    if is_auto(rates):
        rates = _auto_rates(options, shape, rank)
    kept = []
    for n, rate, given in zip(shape, rates, options.given_indices(), strict=True):
        if given is None:
            kept.append(max(1, round(n / float(rate))))
        else:
            indices = np.asarray(given)
            kept.append(int(np.count_nonzero(indices)) if indices.dtype == bool else indices.size)
    return kept[0], kept[1]


def _auto_rates(options: Options, shape: tuple[int, int], rank: int | None) -> tuple[float, float]:
    n_samples, n_features = shape

    def decodable(axis: AxisName) -> bool:
        # Without a graph the nodes left out could not be decoded, unless the decoder fits them to the data.
        return options.graph_of(axis) is not None or not options.decoder_record.interpolates(axis)

    b = 1.0
    if decodable("feature"):
        b = min(max(n_features / MIN_FEATURES, 1.0), MAX_FEATURE_RATE)
        # Sparse data may have a million features: even the fewest samples would not fit.
        b = max(b, n_features * min(n_samples, MIN_SAMPLES) / MAX_ENTRIES)
    a = n_samples / enough_samples(round(n_features / b), rank) if decodable("sample") else 1.0
    return min(max(a, 1.0), MAX_SAMPLE_RATE), b


def enough_samples(n_features: int, rank: int | None) -> int:
    """Return how many samples the paper's restricted isometry asks for, if the compressed matrix stays small."""
    rank = rank or DEFAULT_RANK
    bound = required_samples(rank**0.5, rank, DISTORTION, FAILURE, joint=False)
    return max(MIN_SAMPLES, min(max(bound, ENOUGH_SAMPLES), MAX_ENTRIES // max(n_features, 1)))


def downsampling_choice(options: Options, shape: tuple[int, int], kept: tuple[int, int], rank: int | None) -> Choice:
    """Report what is kept, and why."""
    value = f"{kept[0]} of {shape[0]} samples, {kept[1]} of {shape[1]} features"
    reason = AS_GIVEN
    if is_auto(options.downsampling) and all(given is None for given in options.given_indices()):
        reason = f"too small to benefit from subsampling ({ENOUGH_SAMPLES} samples, {MIN_FEATURES} features)"
        if kept != shape:
            reason = f"a tenth, at least {enough_samples(kept[1], rank)} samples"
    return Choice("downsampling", value, reason)


def check_sizes(options: Options, shape: tuple[int, int], *, clustering: bool) -> None:
    """Raise, before work starts, if the options do not suit the shape of the data; warn if very few nodes are kept."""
    known = clustering and not is_auto(options.n_clusters)
    kept, rank = n_kept(options, shape, int(options.n_clusters) if known else None), options.n_components
    if clustering and not is_auto(options.n_clusters):
        check_count(options.n_clusters, "n_clusters", at_most=shape[0], what="samples")
        check_count(options.n_clusters, "n_clusters", at_most=kept[0], what="kept samples (see downsampling)")
    if not clustering and rank is not None:
        check_count(rank, "n_components", at_most=min(kept), what="kept samples or features")
        kept = n_kept(options, shape, rank)
    interpolates = options.decoder_record.interpolates
    needs: dict[AxisName, bool] = {
        "sample": kept[0] < shape[0] and (interpolates("sample") or clustering),
        "feature": kept[1] < shape[1] and interpolates("feature") and not clustering,
    }
    for axis, needed in needs.items():
        if needed and options.graph_of(axis) is None:
            raise ValueError(
                f"{axis}_graph=None leaves no way to decode the {axis}s that are left out; give a graph or keep all "
                f"{axis}s."
            )
    if isinstance(options.sampling, str):
        for m, n, name in zip(kept, shape, ("samples", "features"), strict=True):
            if m < min(FEW, n / 2):
                warnings.warn(
                    f"downsampling={options.downsampling} keeps only {m} of {n} {name}; expect a coarse answer.",
                    UserWarning,
                    stacklevel=4,
                )
