"""Text tables: layouts that are detected, two parsers that must agree, messages for what is no table."""

import csv
import gzip
import io
from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from graphlowrank.io import memory, read
from graphlowrank.io.columns import Choice
from graphlowrank.io.text import find_layout, read_text

NAN = np.nan


LINES = "\n" * 15


def written(folder, content, name="x.csv"):
    path = folder / name
    raw = content.encode() if isinstance(content, str) else content
    path.write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
    return path


@pytest.fixture(params=["pyarrow", "csv"])
def parse(request):
    """Every valid file must be read by either parser, without help of the other."""
    return partial(read_text, engine=request.param)


# Content, values, names of samples, names of features.
LAYOUTS = {
    "numbers": ("1,2\n3,4\n", [[1, 2], [3, 4]], None, None),
    "no last end": ("1,2\n3,4", [[1, 2], [3, 4]], None, None),
    "header": ("a,b\n1,2\n3,4\n", [[1, 2], [3, 4]], None, ("a", "b")),
    "index": ("s,1,2\nt,3,4\n", [[1, 2], [3, 4]], ("s", "t"), None),
    "both": ("name,a,b\ns,1,2\nt,3,4\n", [[1, 2], [3, 4]], ("s", "t"), ("a", "b")),
    "empty cell above": (",a,b\n7,1,2\n8,3,4\n", [[1, 2], [3, 4]], ("7", "8"), ("a", "b")),
    "pandas counts": (",0,1\n0,1.5,2\n1,3,4\n", [[1.5, 2], [3, 4]], ("0", "1"), ("0", "1")),
    "years": (",1990,1991\ns,1,2\nt,3,4\n", [[1, 2], [3, 4]], ("s", "t"), ("1990", "1991")),
    "R": ('"a" "b"\n"s" 1 2\n'.replace(" ", ","), [[1, 2]], ("s",), ("a", "b")),
    "missing first": (",2\n3,4\n", [[NAN, 2], [3, 4]], None, None),
    "missing": ("a,b\n,NA\nNaN,nan\n1,2\n", [[NAN, NAN], [NAN, NAN], [1, 2]], None, ("a", "b")),
    "semicolons": ("a;b\n1;2\n", [[1, 2]], None, ("a", "b")),
    "tabs": ("a\tb\n1\t2\n", [[1, 2]], None, ("a", "b")),
    "commas in semicolons": ("n;a;b\n\"x,y\";1;2\nz,w;3;4\n", [[1, 2], [3, 4]], ("x,y", "z,w"), ("a", "b")),
    "semicolons in commas": ("n,a\nx;y,1\nz;w,2\n", [[1], [2]], ("x;y", "z;w"), ("a",)),
    "quotes": ('n,"a,1","b""2"\n"s,\nt","1",2\n', [[1, 2]], ("s,\nt",), ("a,1", 'b"2')),
    "blank lines": ("\n\na,b\n\n1,2\n\n3,4\n\n", [[1, 2], [3, 4]], None, ("a", "b")),
    "Windows": ("a,b\r\n1,2\r\n3,4\r\n", [[1, 2], [3, 4]], None, ("a", "b")),
    "old Mac": ("a,b\r1,2\r3,4\r", [[1, 2], [3, 4]], None, ("a", "b")),
    "mark": ("\ufeffa,b\n1,2\n", [[1, 2]], None, ("a", "b")),
    "mark, index": ("\ufeff,b\nå,2\n", [[2]], ("å",), ("b",)),
    "twice": ("a,a\n1,2\n", [[1, 2]], None, ("a", "a")),
    "one column": ("a\n1\n2\n", [[1], [2]], None, ("a",)),
    "infinite": ("inf,-inf\n1e3,-.5\n", [[np.inf, -np.inf], [1000, -0.5]], None, None),
    "NA is a name": ("n,a\nNA,1\n,2\nx,3\n", [[1], [2], [3]], ("NA", "", "x"), ("a",)),
}  # fmt: skip


@pytest.mark.parametrize("kind", ["x.csv", "x.CSV", "x.csv.gz"])
@pytest.mark.parametrize("case", LAYOUTS)
def test_layouts(tmp_path, parse, case, kind):
    content, values, samples, features = LAYOUTS[case]
    table = parse(written(tmp_path, content, kind))
    assert_array_equal(table.values, values)
    assert table.values.dtype == np.float64
    assert table.sample_names == samples
    assert table.feature_names == features


def test_tsv_takes_nothing_but_tabs(tmp_path, parse):
    for name in ("x.tsv", "x.TSV", "x.tsv.gz"):
        table = parse(written(tmp_path, "n\ta;b\nx,y;z\t1\n", name))
        assert (table.values.tolist(), table.sample_names, table.feature_names) == ([[1]], ("x,y;z",), ("a;b",))


def test_what_was_found_can_be_overruled(tmp_path, parse):
    path = written(tmp_path, "1990,1991\n1,2\n")
    assert parse(path).shape == (2, 2)
    assert parse(path, header=True).feature_names == ("1990", "1991")
    table = parse(path, header=True, choice=Choice(index=True))
    assert (table.values.tolist(), table.sample_names, table.feature_names) == ([[2]], ("1",), ("1991",))
    assert parse(written(tmp_path, ",b\n1,2\n"), choice=Choice(index=False)).feature_names == ("", "b")


def test_pandas_agrees(tmp_path):
    frame = pd.DataFrame(np.random.default_rng(0).standard_normal((50, 4)), columns=list("abcd"))
    frame.iloc[3, 2] = np.nan
    frame.index = [f"row {number}" for number in range(50)]
    for name, separator in {"x.csv": ",", "y.csv": ";", "x.tsv": "\t"}.items():
        frame.to_csv(tmp_path / name, sep=separator)
        table = read(tmp_path / name)
        assert_array_equal(table.values, frame.to_numpy())
        assert table.sample_names == tuple(frame.index)
        assert table.feature_names == tuple(frame.columns)


def test_many_blocks_are_one_table(tmp_path, parse):
    values = np.random.default_rng(0).standard_normal((200, 6))
    lines = [",".join([f'"sss{LINES}{number}"', *map(repr, row)]) for number, row in enumerate(values.tolist())]
    for name in ("x.csv", "x.csv.gz"):
        table = parse(written(tmp_path, "\n".join(lines), name), block_bytes=1000)
        assert_array_equal(table.values, values)
        assert table.sample_names == tuple(f"sss{LINES}{number}" for number in range(200))


WRONG = {
    "empty": (b"", "is empty"),
    "blank": (b"\n \n", "is empty"),
    "header only": (b"a,b\n", "has no rows"),
    "text column": (
        b"a,city\n1,2\n2,Bern\n",
        r"column 2 \('city'\) has text where numbers are expected, 'Bern' \(line 3\).*settle it by label or ignore",
    ),
    "two text columns": (b"n,a,b\nx,1,u\n", r"column 3 \('b'\) has text .*'u' \(line 2\)"),
    "no header": (b"1,2\n3,x\n", r"column 2 has text .*'x' \(line 2\)"),
    "only text": (b"a\nb\nc\n", r"column 1 \('a'\) has text .*'b' \(line 2\)"),
    "mixed": (b"a,b\n1,2\n3,True\n", r"column 2 \('b'\) has text .*'True' \(line 3\)"),
    "decimal commas": (
        b"a;b\n1,5;2,5\n",
        r"column 1 \('a'\) has decimal commas, which are to be written as points, '1,5'.*; column 2",
    ),
    "underscore": (b"a,b\n1,1_000\n", "'1_000'"),
    "other digits": ("a,b\n1,\u0661\n".encode(), "column 2"),
    "dates": (b"t,v\n2020-01-01,1\n2020-01-02,oops\n", "'oops'"),
    "short row": (b"a,b\n1,2\n\n3\n", "has 1 cells on line 4 where 2 are expected"),
    "one cell more": (b"1,2\n3,4,5\n", "has 3 cells on line 2 where 2 are expected"),
    "one name more": (b"s,1\nt,2,3\n", "has 3 cells on line 2 where 2 are expected"),
    "one row longer": (b"n,a\ns,1,2\nt,3\nu,4\n", "has 3 cells on line 2 where 2 are expected"),
    "long row": (b"1,2\n3,4,5,6\n", "has 4 cells on line 2 where 2 are expected"),
    "latin-1": ("n,a\ncaf\xe9,1\n".encode("latin-1"), "not UTF-8 text: it has the byte 0xe9, maybe of Latin-1; save"),
    "late latin-1": (b"n,a\n" + b"x,1\n" * 99 + b"caf\xe9,1\n", "the byte 0xe9, maybe of Latin-1"),
    "utf-16": ("a,b\n1,2\n".encode("utf-16"), "UTF-16 text; save it as UTF-8"),
    "zero bytes": (b"a,b\n1,\0\n", "is not text"),
    "open quote": (b'a,b\n1,"2\n3,4\n', "column 2"),
    "index only": (b"a,b\nx,\ny,\nz\n", "has 1 cells on line 4"),
}


@pytest.mark.parametrize("engine", ["auto", "csv"])
@pytest.mark.parametrize("case", WRONG)
def test_one_sentence(tmp_path, case, engine):
    content, text = WRONG[case]
    path = written(tmp_path, content)
    with pytest.raises(ValueError, match=text) as caught:
        read_text(path, engine=engine)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith(".")


def test_truncated_gzip(tmp_path):
    path = written(tmp_path, "a,b\n" + "1,2\n" * 1000, "x.csv.gz")
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(ValueError, match="damaged"):
        read(path)


def test_an_endless_line_is_not_waited_for(tmp_path):
    path = written(tmp_path, b"1" * 10**7, "x.csv.gz")  # 10 kB packed
    with pytest.raises(ValueError, match="a line of more than 10000 characters"):
        read_text(path, max_line=10_000)


def test_packed_rows_stop_where_memory_does(tmp_path, monkeypatch, parse):
    path = written(tmp_path, b"1,2\n" * 10**6, "x.csv.gz")
    asked = []
    monkeypatch.setattr(memory, "allowed_bytes", lambda: asked.append(1) or (10**9 if len(asked) < 3 else 10))
    with pytest.raises(ValueError, match="more than the 10 bytes that fit into memory"):
        parse(path, block_bytes=10**5)
    assert len(asked) == 3


NUMBERS = st.one_of(
    st.floats(allow_nan=False).map(repr),
    st.floats(allow_nan=False, width=32).map("{:g}".format),
    st.integers(-(10**20), 10**20).map(str),
    st.sampled_from(["", "NA", "NaN", "nan", "inf", "-Infinity", "+1", "+.5", "5.", "-0", "1e400", "1e-400", "1E5"]),
)


ODD = st.sampled_from(
    ["1_0", "0x10", "text", "١", "-", "1e", " 1", "1 ", " NA", "1 2", '"', "'1'", "-nan", "+inf", "1d5"]
)


NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\0", exclude_categories=["Cs"]), max_size=5)


@st.composite
def contents(draw):
    n_columns = draw(st.integers(1, 4))
    cells = NUMBERS if draw(st.booleans()) else st.one_of(NUMBERS, NUMBERS, NUMBERS, ODD)
    rows = draw(st.lists(st.lists(cells, min_size=n_columns, max_size=n_columns), min_size=1, max_size=5))
    if draw(st.booleans()):
        rows = [[draw(NAMES), *row] for row in rows]
    if draw(st.booleans()):
        rows = [[draw(NAMES) for _ in rows[0]], *rows]
    out = io.StringIO()
    quoting = draw(st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
    ends = draw(st.sampled_from(["\n", "\r\n"]))
    csv.writer(out, delimiter=draw(st.sampled_from(",;\t")), lineterminator=ends, quoting=quoting).writerows(rows)
    text = out.getvalue()
    return text[: draw(st.integers(0, len(text)))] if draw(st.integers(0, 5)) == 0 else text


def outcome(path, engine):
    try:
        table = read_text(path, engine=engine)
    except ValueError as error:
        return str(error)
    return table


@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(contents())
@example('"1"2,3\n')
@example('a,b\n1,"2"\n"3",4\n')
@example('s,1\n"t\n,2\n')
@example("x\n\n1\n")
@example("1,2\n ,3\n")
@example("a\rb,1\n")
@example('"",1\n"",2\n')
def test_parsers_agree(tmp_path, content):
    path = written(tmp_path, content)
    fast, plain = outcome(path, "auto"), outcome(path, "csv")
    if isinstance(fast, str) or isinstance(plain, str):
        assert fast == plain
        return
    assert_array_equal(fast.values, plain.values)
    assert_array_equal(np.signbit(fast.values[fast.values == 0]), np.signbit(plain.values[plain.values == 0]))
    assert fast.sample_names == plain.sample_names
    assert fast.feature_names == plain.feature_names


def test_where_the_rows_begin(tmp_path):
    layout = find_layout(written(tmp_path, '\ufeff\n"é\n",b\n1,2\n'), None, Choice())
    assert (layout.n_lines, layout.plan.names) == (3, ("é\n", "b"))
    for engine in ("pyarrow", "csv"):
        assert_array_equal(read_text(tmp_path / "x.csv", engine=engine).values, [[1, 2]])


def test_a_name_with_a_semicolon_does_not_make_it_the_delimiter(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("a;\n0.0\n1.0\n")
    found = read(path)
    assert found.feature_names == ("a;",)
    assert found.shape == (2, 1)
