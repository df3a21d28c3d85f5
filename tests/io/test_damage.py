"""Damaged files: a table or one sentence, whatever is broken. ``make fuzz`` does the same thousands of times."""

import fuzz_io as made
import pytest

from graphlowrank.io import worker

GUARDED = [kind for kind in made.FORMATS if kind.startswith(("h5", "mat", "mtx", "zarr"))]  # a process each: fewer
# HDF5 compares the length of a file with what its head says before anything else is read: once is enough.
HDF5 = {"h5 gzip", "h5 lzf", "h5 sparse", "h5ad", "mat 7.3", "mat 7.3 sparse"}
OTHERS = [kind for kind in made.FORMATS if kind not in GUARDED]


def check(kind, numbers, folder):
    found = [made.outcome_of(*made.make_damaged(kind, "tests", number, folder)) for number in numbers]
    assert not [text for outcome, text in found if outcome == "wrong"]
    return [outcome for outcome, _ in found]


@pytest.mark.parametrize("kind", OTHERS)
def test_damage_is_refused_or_harmless(tmp_path, kind):
    assert "refused" in check(kind, range(40), tmp_path)


@pytest.mark.parametrize("kind", GUARDED)
def test_damage_to_guarded_formats(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(worker, "TIMEOUT", 5.0)
    check(kind, [0], tmp_path)


@pytest.mark.parametrize("kind", made.FORMATS)
def test_truncated_anywhere(tmp_path, kind):
    name, make, options = made.FORMATS[kind]
    make(tmp_path / name)
    path = tmp_path / name
    path = max((each for each in path.rglob("*") if each.is_file()), key=str) if path.is_dir() else path
    raw = path.read_bytes()
    last = len(raw) - (40 if path.suffix == ".mtx" else 1)  # a last number with fewer digits is one, too
    sizes = {len(raw) // 2, last} if kind in GUARDED else {1, *range(0, last, max(1, len(raw) // 12)), last}
    sizes = {last} if kind in HDF5 else sizes
    for size in sorted(sizes):
        path.write_bytes(raw[:size])
        outcome, text = made.outcome_of(tmp_path / name, options)
        # Text can end anywhere; .mat files have room for more behind the first matrix.
        assert outcome == "refused" or kind.startswith(("csv", "tsv", "mat", "pictures")), (size, text)
        assert outcome != "wrong", text
