import numpy as np
import pytest

from graphlowrank.preprocessing.outlier_probability import outlier_probabilities


def residuals(share, *, n=400, p=50, seed=0, width=20.0):
    """Normal residuals, of another scale in each feature, and uniform outliers."""
    rng = np.random.default_rng(seed)
    R = rng.standard_normal((n, p)) * np.geomspace(0.5, 2, p)
    wrong = rng.random((n, p)) < share
    R[wrong] = rng.uniform(-width / 2, width / 2, np.count_nonzero(wrong))
    return R, wrong


@pytest.mark.parametrize("share", [0.05, 0.1, 0.2])
def test_outliers_are_found(share):
    R, wrong = residuals(share)
    found, estimated = outlier_probabilities(R, 20.0)
    assert estimated == pytest.approx(share, rel=0.25)
    far = wrong & (np.abs(R) > 7)
    assert np.mean(found[far] > 0.5) > 0.99
    assert np.mean(found[~wrong] > 0.5) < 0.02


def test_probabilities_are_calibrated():
    R, wrong = residuals(0.1, n=2000)
    found, _ = outlier_probabilities(R, 20.0)
    for low, high in ((0.05, 0.3), (0.3, 0.7), (0.9, 1.01)):
        members = (found >= low) & (found < high)
        assert np.mean(wrong[members]) == pytest.approx(np.mean(found[members]), abs=0.15)


def test_tails_of_the_data_are_no_outliers():
    rng = np.random.default_rng(0)
    for R in (rng.standard_normal((400, 30)), rng.laplace(size=(400, 30)), rng.standard_t(5, size=(400, 30))):
        found, share = outlier_probabilities(R, float(np.ptp(R)) + 10)
        assert share < 0.01
        assert np.mean(found) < 0.005


def test_a_few_gross_outliers_are_found_in_clean_data():
    R = residuals(0.0)[0]
    R[3, 4], R[10, 2] = 500.0, -500.0
    found, share = outlier_probabilities(R, 1000.0)
    assert share < 0.01
    assert found[3, 4] > 0.99
    assert found[10, 2] > 0.99
    assert np.count_nonzero(found > 0.5) == 2


def test_filtered_data_have_few_outliers():
    R = residuals(0.1)[0]
    assert np.mean(outlier_probabilities(R, 20.0, filtered=True)[0] > 0.5) < 0.02


def test_missing_entries_and_exact_predictions():
    R = np.zeros((30, 5))
    R[0, 0] = np.nan
    found, share = outlier_probabilities(R, 1.0)
    assert found[0, 0] == 1
    assert found.sum() == 1
    assert share == 0
    R[:, 1] = np.nan
    R[3, 2] = 1.0  # the only residual
    found, _ = outlier_probabilities(R, 1.0)
    assert (found[:, 1] == 1).all()
    assert np.isfinite(found).all()


def test_larger_residuals_are_not_less_likely_outliers():
    R = residuals(0.1)[0]
    found, _ = outlier_probabilities(R, 20.0)
    column = np.argsort(np.abs(R[:, 7]))
    scale_free = np.abs(R[column, 7])
    assert np.corrcoef(scale_free, found[column, 7])[0, 1] > 0.5
