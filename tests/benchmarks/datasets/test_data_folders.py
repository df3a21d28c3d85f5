"""Where data files are looked for."""

import sys
from pathlib import Path

import fake_data
import pytest

from graphlowrank_benchmarks import datasets
from graphlowrank_benchmarks.datasets import files


def test_search_order(tmp_path, monkeypatch):
    named, cache = tmp_path / "named", tmp_path / "caches"
    monkeypatch.setenv("GRAPHLOWRANK_DATA", str(named))
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    assert files.search_folders() == (named, cache / "graphlowrank")
    assert files.search_folders(tmp_path) == (tmp_path,)
    cached = fake_data.write_usps(cache / "graphlowrank", n=10)
    fake_data.assert_images(datasets.load_usps()[0], cached[:, :-1])
    fake_data.write_usps(named, n=20)
    assert len(datasets.load_usps()[0]) == 20
    fake_data.write_usps(tmp_path, n=30)
    assert len(datasets.load_usps(folder=str(tmp_path))[0]) == 30
    monkeypatch.setenv("GRAPHLOWRANK_DATA", "")  # as good as not set
    assert len(datasets.load_usps()[0]) == 10


@pytest.mark.parametrize("key", fake_data.SETS)
def test_a_missing_file_says_where_it_was_looked_for(tmp_path, monkeypatch, key):
    load, wanted = fake_data.SETS[key][1], fake_data.SETS[key][2][0]
    with pytest.raises(FileNotFoundError, match="GRAPHLOWRANK_DATA") as caught:
        load(folder=tmp_path)
    assert str(caught.value).startswith(f"{wanted} is not in {tmp_path}: put it there")
    assert ("download=True" in str(caught.value)) == (key in {"mnist", "usps"})
    monkeypatch.setenv("GRAPHLOWRANK_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="put it there") as caught:
        load()
    assert "GRAPHLOWRANK_DATA" in str(caught.value)
    assert f"is not in {tmp_path} nor in {files.cache_folder()}" in str(caught.value)


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {}, "HOME/.cache/graphlowrank"),
        ("linux", {"XDG_CACHE_HOME": "/x"}, "/x/graphlowrank"),
        ("linux", {"XDG_CACHE_HOME": "relative"}, "HOME/.cache/graphlowrank"),
        ("darwin", {}, "HOME/Library/Caches/graphlowrank"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/graphlowrank"),
        ("win32", {}, "HOME/.cache/graphlowrank"),
    ],
)
def test_cache_folder(monkeypatch, platform, variables, expected):
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(Path, "home", lambda: Path("HOME"))
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.delenv("LOCALAPPDATA", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert files.cache_folder() == Path(expected)
