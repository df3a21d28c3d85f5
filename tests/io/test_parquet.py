"""Parquet files of pandas, polars and pyarrow."""

import numpy as np
import pandas as pd
import polars
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.testing import assert_array_equal
from whole_files import FEATURES, SAMPLES, X, refused

from graphlowrank.io import read


def test_frames_of_pandas_and_polars(tmp_path):
    frame = pd.DataFrame(X, index=SAMPLES, columns=FEATURES)
    frame.to_parquet(tmp_path / "x.parquet")
    polars.DataFrame({"who": SAMPLES, **dict(zip(FEATURES, X.T, strict=True))}).write_parquet(tmp_path / "y.parquet")
    frame.reset_index(drop=True).to_parquet(tmp_path / "z.parquet")
    for name, samples in {"x": SAMPLES, "y": SAMPLES, "z": None}.items():
        table = read(tmp_path / f"{name}.parquet")
        assert_array_equal(table.values, X)
        assert (table.sample_names, table.feature_names) == (samples, FEATURES)


def test_numbered_index_of_pandas_and_categories(tmp_path):
    pd.DataFrame(X, index=pd.Index(np.arange(5, 17), name="id")).rename(columns=str).to_parquet(tmp_path / "x.parquet")
    assert read(tmp_path / "x.parquet").sample_names == tuple(map(str, range(5, 17)))
    pd.DataFrame({"a": X[:, 0], "who": pd.Categorical(SAMPLES)}).to_parquet(tmp_path / "x.parquet")
    table = read(tmp_path / "x.parquet")
    assert (table.sample_names, table.feature_names) == (SAMPLES, ("a",))


def test_columns_of_several_types_and_missing_numbers(tmp_path):
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"a": pa.array([1, None, 3]), "b": pa.array([True, False, None])}), path)
    assert_array_equal(read(path).values, [[1, 1], [np.nan, 0], [3, np.nan]])
    pq.write_table(pa.table({"a": pa.array([1, 2], pa.int8()), "b": pa.array([1, 2], pa.int32())}), path)
    assert read(path).values.dtype == np.int32
    pq.write_table(pa.table({"a": pa.array([1.5, None]), "b": pa.array([1, 2])}), path)
    assert_array_equal(read(path).values, [[1.5, 1], [np.nan, 2]])
    pq.write_table(pa.Table.from_arrays([pa.array([1.0]), pa.array([2.0])], ["a", "a"]), path)
    assert read(path).feature_names == ("a", "a")


def test_parquet_that_is_no_table(tmp_path):
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"n": ["a"], "v": [1.0], "city": ["Bern"]}), path)
    refused(
        path,
        r"column 3 \('city'\) has text where numbers are expected, 'Bern' \(row 1, string\).*by label or ignore",
    )
    pq.write_table(pa.table({"v": [1.0], "when": [pd.Timestamp(0)]}), path)
    refused(path, r"column 2 \('when'\) has .*1970-01-01.*timestamp")
    pq.write_table(pa.table({"v": [[1.0]]}), path)
    refused(path, r"column 1 \('v'\) has .*list<")
    pq.write_table(pa.table({"n": ["a"]}), path)
    refused(path, "has no columns of numbers")
    pq.write_table(pa.table({"v": pa.array([], pa.float64())}), path)
    refused(path, "has no rows")
