"""The command ``graphlowrank plan``."""

import json

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits
from typer.testing import CliRunner

from graphlowrank.cli import app


@pytest.fixture
def digits(tmp_path):
    path = tmp_path / "digits.npy"
    np.save(path, load_digits().data[:45].astype(np.float32))  # too few to check for outliers
    return path


def run(*arguments):
    return CliRunner().invoke(app, ["plan", *map(str, arguments)])


def test_it_prints_a_table(digits):
    found = run(digits, "-k", 5)
    assert found.exit_code == 0, found.output
    assert "cluster 45 samples x 64 features" in found.stdout
    assert "total" in found.stdout
    assert "not worthwhile" in found.stdout


def test_json_of_some_features(digits):
    found = run(digits, "-k", 5, "--recover", "--top-features", 20, "--json")
    record = json.loads(found.stdout)
    assert (record["task"], record["n_features"]) == ("recover", 20)
    assert record["seconds"] > 0
    assert record["gigabytes"] > 0


def test_missing_values_and_sparse_matrices_can_be_planned(tmp_path):
    X = load_digits().data[:45]
    X[3, 5] = np.nan
    X[:, 9] = np.nan
    np.save(tmp_path / "gaps.npy", X)
    assert run(tmp_path / "gaps.npy", "-k", 3).exit_code == 0
    sp.save_npz(tmp_path / "sparse.npz", sp.csr_array(load_digits().data[:45]))
    assert run(tmp_path / "sparse.npz", "-k", 3).exit_code == 0


@pytest.mark.parametrize("rows", [0, 5])
def test_too_few_samples_are_one_sentence(tmp_path, rows):
    np.save(tmp_path / "few.npy", np.ones((rows, 3)))
    found = run(tmp_path / "few.npy")
    assert found.exit_code == 1
    assert len(found.stderr.strip().splitlines()[-2:]) == 2
    assert run(tmp_path / "none.npy").exit_code == 1
    assert run(tmp_path / "few.npy", "-k", 0).exit_code == 2


def test_what_is_kept_can_be_asked_for(digits):
    record = json.loads(run(digits, "-k", 5, "--downsampling", 3, 2, "--json").stdout)
    assert record["kept"] == [15, 32]
    assert json.loads(run(digits, "-k", 5, "--downsampling", "auto", "--json").stdout)["kept"] == [45, 64]
    assert run(digits, "--downsampling", 0, 2).exit_code == 2


def test_messages_name_the_options(digits):
    found = run(digits, "--recover", "-k", 9, "--downsampling", 1, 10)
    assert found.exit_code == 1
    *_, cause, remedy = found.stderr.splitlines()
    assert cause.startswith("error: --clusters 9 is more than the 6 kept")
    assert remedy.startswith("see graphlowrank plan --help")


@pytest.mark.filterwarnings("default")
def test_warnings_name_the_options(digits):
    found = run(digits, "-k", 3, "--downsampling", 1, 10, "--json")
    assert json.loads(found.stdout)["kept"] == [45, 6]
    assert "warning: --downsampling 1 10.67 keeps only 6 of 64 features" in found.stderr  # as the small fits have it
