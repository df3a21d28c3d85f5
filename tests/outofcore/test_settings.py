import pytest

from graphlowrank.outofcore.settings import current_settings, default_memory, large_data, parse_bytes, total_memory


@pytest.mark.parametrize(
    ("text", "expected"),
    [("4GB", 4 * 10**9), ("512 MiB", 2**29), ("1.5k", 1500), ("2 KiB", 2048), (123, 123), ("77", 77), ("1TB", 10**12)],
)
def test_bytes_are_read(text, expected):
    assert parse_bytes(text) == expected


@pytest.mark.parametrize("text", ["", "GB", "4 XB", "-1GB", "0", 0, -5, 1.5, True, "4 G B", "0.1", None])
def test_other_texts_are_refused(text):
    with pytest.raises(ValueError, match="memory"):
        parse_bytes(text)


def test_settings_hold_inside_the_block(tmp_path):
    before = current_settings()
    with large_data(memory="1GB", folder=tmp_path, method="two_level"):
        assert current_settings().memory == 10**9
        assert current_settings().folder == tmp_path
        with large_data():
            assert current_settings().memory == default_memory()
        assert current_settings().method == "two_level"
    assert current_settings() == before


def test_settings_are_restored_after_an_error():
    with pytest.raises(KeyError), large_data(memory="1GB"):
        raise KeyError
    assert current_settings().memory == default_memory()


def test_wrong_settings_are_refused_before_the_block(tmp_path):
    with pytest.raises(NotADirectoryError, match="nowhere"), large_data(folder=tmp_path / "nowhere"):
        pass
    with pytest.raises(ValueError, match="method must be"), large_data(method="both"):
        pass


def test_the_default_is_half_of_the_machine():
    assert default_memory() == total_memory() // 2
    assert 2**28 < default_memory() < 2**45
