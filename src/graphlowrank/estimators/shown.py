"""The data that a page shows, and the names of samples and features, checked against a fitted model."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from .._checks import FLOATS, largest_entry, without_mask
from .._typing import Array, MatrixLike
from ..linalg.blocks import evenly_spaced
from ..preprocessing.counts import float_type
from ..preprocessing.sparse import canonical_csr
from ..report.sample_map import MAX_PICTURED, MAX_SHOWN

MAX_NAMES = 1_500_000  # characters of the names of the samples on the map
N_NAMES = 1000  # of which their length is estimated
MAX_NAME = 120  # characters of a name elsewhere on the page


@dataclass(frozen=True, eq=False)
class Shown:
    """Data of a page, and how they are called.

    Attributes
    ----------
    X : array or csr_array of shape (n_samples, n_features), or None
        The data; None if the page does without.
    sample_names, feature_names : sequence of str or None
        None for numbers.
    image_shape : (int, int) or None
        Height and width of samples that are pictures.
    layout : ndarray of shape (n_samples, 2) or None
        Places on the map; None for the default.
    logs : bool
        Whether X is log(1 + counts).
    """

    X: Any
    sample_names: Sequence[str] | None
    feature_names: Sequence[str] | None
    image_shape: tuple[int, int] | None
    layout: Array | None
    logs: bool = False

    def name_of(self, sample: int) -> str:
        """Name of a sample."""
        return f"sample {sample}" if self.sample_names is None else _shortened(self.sample_names[sample])

    def feature_of(self, feature: int) -> str:
        """Name of a feature; the place of a pixel."""
        if self.image_shape is not None:
            return "row {}, column {}".format(*divmod(feature, self.image_shape[1]))
        return f"feature {feature}" if self.feature_names is None else _shortened(self.feature_names[feature])

    def most_drawn(self) -> int:
        """Count the samples that a map can draw, so that the page stays small with their pictures or names."""
        if self.sample_names is None:
            return MAX_SHOWN if self.image_shape is None else MAX_PICTURED
        some = [self.sample_names[at] for at in evenly_spaced(len(self.sample_names), N_NAMES).tolist()]
        length = max(len(json.dumps(some)) // len(some), 1)
        return max(1, min(MAX_SHOWN if self.image_shape is None else MAX_PICTURED, MAX_NAMES // length))


def _shortened(name: str) -> str:
    return name if len(name) <= MAX_NAME else f"{name[: MAX_NAME - 1]}…"


def check_shown(
    model: Any, X: MatrixLike | None, *, sample_names: Sequence[str] | None, feature_names: Sequence[str] | None,
    image_shape: tuple[int, int] | None, layout: Any, logs: bool,
) -> Shown:  # fmt: skip
    """Check data and names against the model; names of a data frame are used."""
    n_features = int(model.n_features_in_)
    fitted = next((getattr(model, name) for name in ("labels_", "low_rank_", "embedding_") if hasattr(model, name)), X)
    n_samples = None if fitted is None else int(np.shape(fitted)[0])
    if feature_names is None:
        feature_names = getattr(X, "columns", getattr(model, "feature_names_in_", None))
    if sample_names is None:
        sample_names = _index_of(X)
    if X is not None:
        X = canonical_csr(X) if sp.issparse(X) else np.asarray(without_mask(X))
        if X.shape != (n_samples, n_features):
            raise ValueError(f"X must be the data of the fit, of shape {(n_samples, n_features)}; got {X.shape}.")
        X = X if X.dtype in FLOATS else X.astype(float_type(X.dtype))
        if np.isinf(largest_entry(X.data if sp.issparse(X) else X)):
            raise ValueError("X must not have infinite entries.")
    samples = _checked_names(sample_names, n_samples, "sample_names")
    features = _checked_names(feature_names, n_features, "feature_names")
    if image_shape is not None and (np.shape(image_shape) != (2,) or np.prod(image_shape) != n_features):
        raise ValueError(f"image_shape must be a height and a width of {n_features} pixels in all; got {image_shape}.")
    return Shown(X, samples, features, image_shape, None if layout is None else check_layout(layout, n_samples), logs)


def check_layout(layout: ArrayLike, n_samples: int | None) -> Array:
    """Return places of the samples (n_samples, 2) as floats; ValueError if they are none."""
    try:
        places = np.asarray(layout, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"layout must hold two numbers for each of {n_samples} samples.") from error
    if places.shape != (n_samples, 2) or not np.isfinite(places).all():
        raise ValueError(
            f"layout must hold two finite coordinates for each of {n_samples} samples; "
            + (f"got shape {places.shape}." if places.shape != (n_samples, 2) else "some are NaN or infinite.")
        )
    return places


def _index_of(X: Any) -> Any:
    """Names of the samples of a data frame; None if it numbers them."""
    index = getattr(X, "index", None)
    if index is None or callable(index):  # no frame; a list
        return None
    is_range = index.dtype.kind in "iu" and np.array_equal(index, np.arange(len(index)))
    return None if is_range else index


def _checked_names(given: Any, n: int | None, what: str) -> list[str] | None:
    if given is not None and (isinstance(given, str) or not hasattr(given, "__len__")):
        raise ValueError(f"{what} must be a list of {n} names; got {given!r}.")
    if given is not None and len(given) != n:
        raise ValueError(f"{what} must have {n} names; got {len(given)}.")
    return None if given is None else [str(one) for one in given]
