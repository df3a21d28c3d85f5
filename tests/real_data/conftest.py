import os
from pathlib import Path

import pytest

NEIGHBOUR = Path(__file__).resolve().parents[3] / "shared" / "data"


@pytest.fixture(scope="session", autouse=True)
def data_folder():
    """Folder of real data sets: the one the user names, or the one beside the checkout."""
    if "GRAPHLOWRANK_DATA" not in os.environ:
        if not NEIGHBOUR.is_dir():
            pytest.skip("no real data sets: name their folder in GRAPHLOWRANK_DATA")
        os.environ["GRAPHLOWRANK_DATA"] = str(NEIGHBOUR)
