"""Type aliases shared by public signatures."""

from __future__ import annotations

import numpy as np

RandomState = int | np.random.RandomState | None
"""A seed, a generator or None, as :func:`sklearn.utils.check_random_state` takes it."""
