import logging

import numpy as np
import pytest

logging.getLogger("graphlowrank").addHandler(logging.NullHandler())


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def blobs():
    """Three clear groups in ten dimensions; and their labels."""
    rng = np.random.default_rng(1)
    labels = np.repeat(np.arange(3), 40)
    centres = 4 * rng.standard_normal((3, 10))  # every feature tells the groups apart
    return centres[labels] + 0.5 * rng.standard_normal((120, 10)), labels
