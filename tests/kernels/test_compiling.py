"""The cache of compiled code: a damaged file or a full disk does not stop a fit."""

import warnings

import pytest
from numba import config
from numba.core.caching import _CacheLocator

from graphlowrank.kernels.compiling import ForgivingCache, compiled


def double(x):
    return 2 * x


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(ForgivingCache, "warned", False)
    return tmp_path


def hits(kernel):
    return sum(kernel.stats.cache_hits.values())


def test_compiled_code_is_kept(folder):
    assert compiled()(double)(3) == 6
    assert {path.suffix for path in folder.rglob("*.nb?")} == {".nbi", ".nbc"}
    again = compiled()(double)
    assert again(3) == 6
    assert hits(again) == 1


@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
@pytest.mark.parametrize("damage", [b"", b"nonsense", None])
def test_damaged_files_are_replaced(folder, suffix, damage):
    compiled()(double)(3)
    for path in folder.rglob(f"*{suffix}"):
        path.write_bytes(path.read_bytes()[:-20] if damage is None else damage)
    with pytest.warns(UserWarning, match="compiled code in .* cannot be used"):
        assert compiled()(double)(3) == 6
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = compiled()(double)
        assert again(3) == 6
    assert hits(again) == 1


def test_a_full_disk_is_one_warning(folder, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    kernel = compiled()(double)
    monkeypatch.setattr(kernel._cache._cache_file, "save", full)
    with pytest.warns(UserWarning, match="No space left on device.*NUMBA_CACHE_DIR"):
        assert kernel(3) == 6
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert kernel(3.0) == 6  # compiled for another type, without a second warning


def refuse(*_):
    raise OSError(30, "Read-only file system")


def test_a_read_only_cache_folder_is_not_used(folder, monkeypatch):
    given = folder / "file" / "cache"
    given.parent.write_text("no folder can be made in here")
    monkeypatch.setattr(config, "CACHE_DIR", str(given))
    kernel = compiled()(double)
    assert kernel(3) == 6
    assert kernel.stats.cache_path != str(given)


def test_without_any_writable_folder_code_is_compiled_and_not_kept(folder, monkeypatch):
    monkeypatch.setattr(_CacheLocator, "ensure_cache_path", refuse)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kernel = compiled()(double)
        assert kernel(3) == 6
    assert kernel.stats.cache_path is None
    assert not list(folder.rglob("*.nb?"))
