"""Choose how many samples are laid out first, and the epochs of a map.

Constants were chosen on digits, USPS and COIL-20 (benchmarks/studies/maps.py).
"""

from ..options import is_auto
from .choice import AS_GIVEN, Choice

WHOLE_UP_TO = 2000  # samples; more are laid out after a tenth of them, at least so many
SAMPLE_RATE, MOST = 10, 10_000
FIRST_EPOCHS = 200  # of the layout of kept samples
FIRST_REPULSION = 20.0  # more would tear apart what eigenvectors join
MIN_EPOCHS, MAX_EPOCHS = 60, 300  # of all samples
EPOCH_SAMPLES = 2_000_000  # samples moved in all epochs
FEW_SAMPLES = 10_000  # up to which more random nodes repel each: less noise, and the time does not matter


def n_laid_out(n_samples: int) -> Choice:
    """Choose how many samples are laid out on the reduced graph before all others."""
    value = min(n_samples, max(WHOLE_UP_TO, min(n_samples // SAMPLE_RATE, MOST)))
    reason = f"a tenth, at least {WHOLE_UP_TO} and at most {MOST}"
    return Choice("n_laid_out", value, "few enough to lay out all" if value == n_samples else reason)


def choose_n_epochs(given: object, n_samples: int) -> Choice:
    """Choose the epochs of the layout of all samples."""
    if not is_auto(given):
        return Choice("n_epochs", given, AS_GIVEN)
    value = min(max(EPOCH_SAMPLES // n_samples, MIN_EPOCHS), MAX_EPOCHS)
    return Choice("n_epochs", value, f"{MIN_EPOCHS} to {MAX_EPOCHS}, fewer for many samples")


def n_negative(n_samples: int) -> int:
    """Return how many random samples repel a sample for each of its neighbors."""
    return 4 if n_samples <= FEW_SAMPLES else 2
