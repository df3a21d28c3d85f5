"""What each column is read as: reported if it is no plain feature, refused with the options that settle it."""

import numpy as np
import pandas as pd
import pytest

from graphlowrank.io import read
from graphlowrank.io.columns import (
    AmbiguousColumnsError,
    Choice,
    ColumnRoles,
    Texts,
    decide_roles,
    parse_number,
    plan_columns,
)

ROWS = 12
NUMBERS = np.round(np.random.default_rng(0).standard_normal((ROWS, 2)), 3)


@pytest.fixture(params=["csv", "parquet"])
def table_of(request, tmp_path):
    """Write columns to a file of either kind, and read it."""

    def write_and_read(columns, **options):
        frame = pd.DataFrame({"a": NUMBERS[:, 0], "b": NUMBERS[:, 1]} | columns)
        frame = frame[[*columns, "a", "b"]]
        path = tmp_path / f"x.{request.param}"
        getattr(frame, f"to_{request.param}")(path, index=False)
        return read(path, **options)

    return write_and_read


def refusal(table_of, columns, **options):
    with pytest.raises(AmbiguousColumnsError) as caught:
        table_of(columns, **options)
    return str(caught.value).partition(": ")[2], caught.value.remedy


def reported(table):
    return list(table.columns.reported)


KINDS = ["red", "green", "blue"] * (ROWS // 3)
NAMES = [f"s{row}" for row in range(ROWS)]


def test_plain_numbers_are_one_line(table_of):
    table = table_of({"mass": range(5, 5 + 2 * ROWS, 2)})
    assert (table.shape, table.columns.lines()) == ((ROWS, 3), ["columns: 3 numeric"])


def test_names_and_labels_are_reported(table_of):
    table = table_of({"who": NAMES, "species": KINDS})
    assert (table.sample_names, table.label, table.feature_names) == (tuple(NAMES), tuple(KINDS), ("a", "b"))
    assert reported(table) == [
        ("who", "sample names", "text"), ("species", "label", "3 different values, not a feature")
    ]  # fmt: skip
    assert table.columns.lines()[0] == "columns: 2 numeric, 1 sample names, 1 label"


PRICES = ["$14.23", *map(str, range(3, 3 * ROWS, 3))]
REFUSED = {
    # The finding: a first column of numbers, one with a currency sign, was taken for sample names.
    "currency": ({"price": PRICES}, "numbers with currency or percent signs or separators, '$14.23'",
                 ["--numeric price", "--index", "--ignore price"]),
    "percent": ({"share": [f"{row}%" for row in range(ROWS)]}, "'0%' (", ["--numeric", "--index", "--ignore"]),
    "thousands": ({"n": [f"{row + 1},000" for row in range(ROWS)]}, "'1,000' (", ["--numeric", "--index", "--ignore"]),
    "a few texts": ({"v": ["n/a", *map(str, NUMBERS[1:, 0])]},
                    "1 cell to be corrected or emptied, not a number, 'n/a'",
                    ["--index", "--ignore v"]),
    "units": ({"length": [f"{row + 0.5} mm" for row in range(ROWS)]}, "decimal numbers with units or signs, '0.5 mm'",
              ["--index", "--ignore length"]),
    "repeated names": ({"city": KINDS}, "only 3 different texts in 12 rows, 'red'",
                       ["--label city", "--index", "--ignore city"]),
    "many classes": ({"m": NUMBERS[:, 0], "class": NAMES}, "the name of a label and 12 different texts",
                     ["--label class", "--ignore class"]),
    "two texts": ({"who": NAMES, "city": KINDS}, "column 2 ('city') has text where numbers are expected, 'red' (",
                  ["--label city", "--ignore city"]),
    "an index": ({"Unnamed: 0": range(ROWS)}, "the name of an index and whole numbers, all different",
                 ["--numeric 'Unnamed: 0'", "--index", "--ignore 'Unnamed: 0'"]),
    "an id inside": ({"m": NUMBERS[:, 0], "customer_id": np.arange(ROWS) * 7 + 3}, "the name of an index",
                     ["--numeric customer_id", "--ignore customer_id"]),
    # The finding: used as a feature, the target made the clusters agree with it.
    "a target": ({"m": NUMBERS[:, 0], "target": [0, 1, 2] * 4}, "the name of a label and 3 different whole numbers",
                 ["--numeric target", "--label target", "--ignore target"]),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_clear_is_refused_with_the_options_that_settle_it(table_of, case):
    columns, what, options = REFUSED[case]
    cause, remedy = refusal(table_of, columns)
    assert what in cause
    offered = remedy.removeprefix("give ").split(", or ")
    assert [offer.startswith(option) for offer, option in zip(offered, options, strict=True)] == [True] * len(options)


OFFERED = [(case, offer.split()[0][2:]) for case, (_, _, offers) in REFUSED.items() for offer in offers]


@pytest.mark.parametrize(("case", "option"), OFFERED)
def test_each_offered_option_settles_it(table_of, case, option):
    columns, _, _ = REFUSED[case]
    *_, name = columns
    given = {"index": True, "label": name}.get(option, [name])
    table = table_of(columns, **{option: given})
    role = {"index": "sample names", "ignore": "ignored"}.get(option, option)
    assert next(found for column, found, _ in reported(table) if column == name) == role
    assert (name in table.feature_names) == (option == "numeric")
    assert table.values.dtype.kind == "f"
    assert (table.label is not None) == (option == "label")
    assert not np.isnan(table.values).any()


def test_parsed_numbers_are_in_their_place(table_of):
    table = table_of({"m": NUMBERS[:, 0], "price": PRICES}, numeric=["price"])
    assert table.feature_names == ("m", "price", "a", "b")
    assert table.values[:3, 1].tolist() == [14.23, 3, 6]
    assert table.values[:, [0, 2, 3]].tolist() == NUMBERS[:, [0, 0, 1]].tolist()
    cause, remedy = refusal(table_of, {"m": NUMBERS[:, 0], "price": [*PRICES[:-1], "much"]}, numeric=["price"])
    assert "column 2 ('price') has 1 cell to be corrected or emptied, not a number, 'much' (" in cause
    assert remedy == "give --ignore price to leave it out"


@pytest.mark.parametrize(
    ("text", "number"),
    [("$14.23", 14.23), ("-$5", -5), ("$ -5", -5), ("1,234,567.5", 1234567.5), ("1 234", 1234), ("1'234", 1234),
     ("12%", 0.12), ("12 %", 0.12), ("5 €", 5), ("£1,000", 1000), ("+1e3", 1000), ("1,5", None), ("1,2345", None),
     ("1.234,5", None), ("$", None), ("%", None), ("1,234 567", None), ("$5$", None), ("text", None), ("1_0", None)],
)  # fmt: skip
def test_numbers_with_signs(text, number):
    assert parse_number(text) == number


@pytest.mark.parametrize("form", ["({})", "USD {}", "{} ± 0.1", "≈{}", "{}k", "{}*", "-{} °C"])
def test_measured_values_are_no_sample_names(table_of, form):
    cause, _ = refusal(table_of, {"v": [form.format(row + 0.25) for row in range(ROWS)]})
    assert "decimal numbers with units or signs" in cause


@pytest.mark.parametrize("form", ["ENSG0000022{}.5", "cell {}", "{}-AAAC", "192.168.0.{}", "2024-01-{}", "s{}.1"])
def test_names_with_numbers_are_names(table_of, form):
    table = table_of({"who": [form.format(row + 10) for row in range(ROWS)]})
    assert reported(table) == [("who", "sample names", "text")]


def test_missing_cells_stay_missing():
    assert all(np.isnan(parse_number(cell)) for cell in ("", "NA", " nan "))


@pytest.mark.parametrize(
    ("column", "reason"),
    [
        ({"day": range(1, ROWS + 1)}, "counts the rows; is it a measurement?"),
        ({"customer": [7, 3, 9, 4, 8, 11, 5, 10, 13, 12, 14, 6]}, "whole numbers, all different; is it a measurement?"),
        ({"patient_id": [1, 1, 2] * 4}, "although it has the name of an index"),
        ({"target": NUMBERS[:, 0]}, "although it has the name of a label"),
    ],
)
def test_numbers_that_may_be_no_measurements_are_reported(table_of, column, reason):
    (name,) = column
    table = table_of(column)
    assert (reported(table), table.feature_names[0]) == ([(name, "numeric", reason)], name)


def test_many_whole_numbers_that_are_all_different_are_reported(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((200, 5)), columns=list("abcde"))
    frame["customer"] = rng.choice(10**6, 200, replace=False)
    frame["area"] = rng.integers(50, 10**6, 200).round(-4)  # some are equal
    frame.to_csv(tmp_path / "x.csv", index=False)
    assert [column for column, *_ in reported(read(tmp_path / "x.csv"))] == ["customer"]
    pd.DataFrame(rng.integers(10**9, size=(200, 5))).to_csv(tmp_path / "x.csv", index=False)
    assert reported(read(tmp_path / "x.csv")) == []


def test_truth_values_are_reported(tmp_path):
    pd.DataFrame({"a": NUMBERS[:, 0], "b": NUMBERS[:, 1] > 0}).to_parquet(tmp_path / "x.parquet")
    assert reported(read(tmp_path / "x.parquet")) == [("b", "numeric", "true and false, as 1 and 0")]


def test_ordinary_numbers_are_not_suspected(table_of):
    table = table_of(
        {"x": [0, 1] * 6, "y": [0, 1, 2] * 4, "index of refraction": NUMBERS[:, 1], "grade": [1, 2, 3] * 4}
    )
    assert reported(table) == []


def test_a_row_is_no_header(tmp_path):
    (tmp_path / "x.csv").write_text("5.1,3.5,setosa\n4.9,3.0,setosa\n6.3,3.3,virginica\n")
    with pytest.raises(AmbiguousColumnsError, match="column 3 has text"):
        read(tmp_path / "x.csv")
    table = read(tmp_path / "x.csv", label="3")
    assert (table.shape, table.feature_names, table.label[0]) == ((3, 2), None, "setosa")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"ignore": ["c"]}, "has the columns who, a, b; there is no 'c'"),
        ({"ignore": ["a"], "numeric": ["a"]}, "asked for in two roles"),
        ({"index": True, "label": "who"}, "asked for in two roles"),
        ({"label": "who", "transpose": True}, "has no label 'who': columns are samples"),
        ({"ignore": ["who", "a", "b"]}, "has no columns of numbers"),
    ],
)
def test_wrong_options(table_of, options, text):
    with pytest.raises(ValueError, match=text):
        table_of({"who": NAMES}, **options)


def test_columns_are_chosen_in_text_and_parquet_only(tmp_path):
    np.save(tmp_path / "x.npy", NUMBERS)
    with pytest.raises(ValueError, match=r"takes no ignore: that is for \.csv"):
        read(tmp_path / "x.npy", ignore=["a"])
    assert read(tmp_path / "x.npy").columns is None


def test_columns_that_are_samples_are_neither_labels_nor_indices(table_of):
    table = table_of({"gene": NAMES, "class": [0, 1] * 6, "id": range(ROWS)}, transpose=True)
    assert (table.shape, table.feature_names) == ((4, ROWS), tuple(NAMES))
    assert reported(table) == [("gene", "feature names", "text")]


def test_thousands_of_columns_are_a_few_lines():
    roles = ColumnRoles(7, tuple((f"g{number}", "ignored", "as asked for") for number in range(5000)))
    assert roles.lines() == [
        "columns: 7 numeric, 5000 ignored", "  ignored: g0, g1, g2, g3 and 4996 others (as asked for)"
    ]  # fmt: skip


def test_thousands_of_texts_are_one_sentence(tmp_path):
    names = [f"g{number}" for number in range(5000)]
    plan = plan_columns(names, 5000, range(5000), Choice(), tmp_path)
    with pytest.raises(AmbiguousColumnsError) as caught:
        decide_roles(plan, tmp_path, 2, strings={}, strays={number: Texts.of(["x", "y"]) for number in range(5000)})
    assert "so have 4996 others" in str(caught.value)
    assert len(str(caught.value) + caught.value.remedy) < 1000
