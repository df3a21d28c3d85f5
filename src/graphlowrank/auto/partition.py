"""Why a partition was selected, and with it gamma and scores; :mod:`graphlowrank.clustering.selection` selects it."""

import numpy as np


def partition_reasons(method: str, conductance: float, n_draws: int) -> tuple[str, str, str]:
    """Reasons for the partition, gamma_samples and the scores; ``conductance`` is NaN for Algorithm 3."""
    if np.isnan(conductance):
        return "default", "default", "default"
    agrees = "most agreement with other candidates" if n_draws == 1 else f"consensus of {n_draws} draws"
    chosen = f"conductance {conductance:.3f}, and {agrees}"
    if method == "communities":
        return chosen, "the last one tried: communities do not depend on it", "communities need none"
    return chosen, chosen, chosen
