"""The report of Laplacian and reduction."""

import pytest

from graphlowrank.auto import compression_choices
from graphlowrank.options import Options


@pytest.mark.parametrize(
    ("shape", "options", "value"),
    [
        ((400, 300), {}, "none"),
        ((400, 300), {"downsampling": (4, 2)}, "exact"),
        ((400, 2000), {}, "random_walk"),  # all samples and 500 of the features are kept
        ((4000, 300), {"downsampling": (1, 2)}, "exact"),
        ((4000, 300), {"downsampling": (4, 2)}, "random_walk (samples), exact (features)"),
        ((4000, 300), {"downsampling": (4, 2), "feature_graph": None, "decoder": "robust"}, "random_walk"),
        ((4000, 300), {"downsampling": (4, 2), "solver": "rpca", "decoder": "robust"}, "none"),
        ((4000, 300), {"downsampling": (4, 2), "reduction": "exact"}, "exact"),
    ],
)
def test_the_reported_reduction_is_that_of_the_axes_that_are_reduced(shape, options, value):
    *_, reduction = compression_choices(Options(**options), shape, None, "recovery")
    assert reduction.value == value
    assert reduction.reason
