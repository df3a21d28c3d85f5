import pytest
from video_helpers import FILES, smooth

from graphlowrank.video import open_sink


@pytest.fixture(scope="session")
def room(tmp_path_factory):
    """Every kind of source; none of the tests changes them."""
    room = tmp_path_factory.mktemp("sources")
    for name in FILES:
        with open_sink(room / name, fps=10) as sink:
            sink.write(smooth())
    return room
