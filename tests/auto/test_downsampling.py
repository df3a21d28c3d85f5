"""How many samples and features are kept."""

import pytest

from graphlowrank.auto.downsampling import MAX_ENTRIES, MIN_SAMPLES, check_sizes, n_kept
from graphlowrank.options import Options


def test_the_compressed_matrix_stays_small_for_any_number_of_features():
    assert n_kept(Options(), (5000, 16_000)) == (1250, 4000)
    assert n_kept(Options(), (3000, 100)) == (3000, 100)
    assert n_kept(Options(), (10_000, 100)) == (3000, 100)
    assert n_kept(Options(), (100_000, 100)) == (10_000, 100)
    check_sizes(Options(n_clusters=4000), (10_000, 100), clustering=True)  # so many clusters need more samples
    for n, p in ((5000, 1_000_000), (300, 1_000_000), (10**6, 10**6)):
        rows, columns = n_kept(Options(), (n, p))
        assert rows * columns <= 100 * MAX_ENTRIES  # a tenth of the samples at least
        assert min(rows, MIN_SAMPLES) * columns == pytest.approx(MAX_ENTRIES, rel=0.01)
    assert n_kept(Options(feature_graph=None), (5000, 1_000_000))[1] == 1_000_000  # nothing to decode them with
