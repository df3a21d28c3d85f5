"""What the commands print about the columns of a table, and the options that settle what is not clear."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from command_helpers import failure, invoke, succeeded, tree

COMMANDS = {"cluster": "-k 3 -o out.csv", "recover": "--rank 2 -o out.csv", "plan": "-k 3"}


@pytest.fixture
def table(tmp_path, monkeypatch, blobs):
    """Write a table of three blobs, with a column before the others, and return its name."""
    monkeypatch.chdir(tmp_path)
    X, kinds = blobs

    def write(**columns):
        frame = pd.DataFrame(X, columns=[f"f{column}" for column in range(X.shape[1])])
        for name, make in columns.items():
            frame.insert(0, name, make(kinds))
        frame.to_csv("in.csv", index=False)
        return X.shape[1]

    return write


def prices(kinds):
    return ["$14.23", *map(str, np.arange(1, len(kinds)) / 7)]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_first_column_with_a_currency_sign_is_not_taken_for_names(table, tmp_path, command):
    n_features = table(price=prices)
    cause, remedy = failure(invoke(command, f"in.csv {COMMANDS[command]}"))
    assert cause.startswith("in.csv cannot be read as it is: column 1 ('price') has numbers with currency")
    assert remedy.startswith("give --numeric price to use it as a feature")
    assert tree(tmp_path) == ["in.csv"]
    result = succeeded(invoke(command, f"in.csv {COMMANDS[command]} --numeric price --json"))
    assert f"columns: {n_features + 1} numeric\n  numeric: price (as asked for)\n" in result.stderr
    columns = json.loads(result.stdout)["columns"]
    assert columns == {
        "numeric": n_features + 1,
        "reported": [{"column": "price", "role": "numeric", "reason": "as asked for"}],
    }


def test_a_label_is_kept_out_and_compared_with(table):
    n_features = table(target=np.asarray)
    assert "--label target to compare clusters" in failure(invoke("cluster", "in.csv -k 3 -o out.csv"))[1]
    result = succeeded(invoke("cluster", "in.csv -k 3 -o out.csv --label target -r page.html"))
    assert f"columns: {n_features} numeric, 1 label" in result.stderr
    assert "Adjusted Rand index with the label: 1.000." in result.stdout
    assert f"columns: {n_features} numeric, 1 label" in Path("page.html").read_text(encoding="utf-8")
    record = json.loads(succeeded(invoke("cluster", "in.csv -k 3 -o out.csv --label target --json")).stdout)
    assert (record["features"], record["label_ari"]) == (n_features, 1.0)
    labels = pd.read_csv("out.csv").label
    table(species=lambda kinds: [["rose", "", "lily"][kind] for kind in kinds])  # missing cells are no third class
    record = json.loads(succeeded(invoke("cluster", "in.csv -k 3 -o out.csv --json")).stdout)
    assert record["label_ari"] == 1.0
    assert (pd.read_csv("out.csv").label == labels).all()


def test_columns_are_ignored_by_name(table):
    n_features = table(id=lambda kinds: range(len(kinds)), city=lambda kinds: ["Bern"] * len(kinds))
    assert failure(invoke("plan", "in.csv"))[1] == (
        "give --numeric id to use it as a feature ($, % and 1,000 are parsed), or --label city to compare clusters "
        "with it, or --index to use it as sample names, or --ignore city --ignore id to leave it out"
    )
    result = succeeded(invoke("recover", "in.csv --rank 2 -o out.csv --ignore city --ignore id"))
    assert "  ignored: city, id (as asked for)" in result.stderr
    assert pd.read_csv("out.csv").shape[1] == n_features


def test_names_that_spreadsheets_would_run_are_quoted_if_asked_for(table):
    names = ["=cmd|' /C calc'!A0", "@SUM(1)", "+1", "-1", " =1", "a=1", "'"]
    table(
        **{"-f": lambda kinds: np.arange(len(kinds)) / 7, "who": lambda kinds: [*names, *map("s{}".format, kinds[7:])]}
    )
    words = "in.csv --index --rank 2 -o out.csv -s errors.tsv"
    for asked, quote in (("", ""), ("--quote-formulas", "'")):
        succeeded(invoke("recover", f"{words} {asked}"))
        for name, separator in {"out.csv": ",", "errors.tsv": "\t"}.items():
            found = pd.read_csv(name, sep=separator, index_col=0)
            assert found.index[:7].tolist() == [*(quote + each for each in names[:5]), *names[5:]]
            assert found.columns[:2].tolist() == [f"{quote}-f", "f0"]
            assert found.to_numpy().dtype == float  # negative numbers stay numbers
    succeeded(invoke("cluster", "in.csv --index -k 3 -o labels.csv --quote-formulas"))
    assert pd.read_csv("labels.csv")["sample"][0] == "'=cmd|' /C calc'!A0"
    result = invoke("cluster", "in.csv --index -k 3 -o labels.json --quote-formulas")
    assert (result.exit_code, "this is for .csv and .tsv outputs" in result.stderr) == (2, True)
