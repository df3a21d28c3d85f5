"""Zarr folders of versions 2 and 3."""

import warnings

import numcodecs
import pytest
import whole_files as made
import zarr
from numpy.testing import assert_array_equal
from whole_files import S, X, cells, refused, values_of

from graphlowrank.io import read
from graphlowrank.io.zarr import read_zarr

pytestmark = pytest.mark.usefixtures("without_worker")


@pytest.mark.parametrize("packing", [None, numcodecs.Zlib(), numcodecs.LZ4(), numcodecs.Zstd(), numcodecs.Blosc()])
def test_codecs_of_zarr_2(tmp_path, packing):
    zarr.create_array(store=str(tmp_path / "x.zarr"), data=X, chunks=(5, 2), zarr_format=2, compressors=packing)
    assert_array_equal(read(tmp_path / "x.zarr").values, X)


def test_shards_and_sparse_groups_of_zarr(tmp_path):
    zarr.create_array(store=str(tmp_path / "x.zarr"), data=X, chunks=(3, 1), shards=(6, 5))
    assert_array_equal(read(tmp_path / "x.zarr").values, X)
    refused(tmp_path / "x.zarr", "is a single array, so it holds no 'X'", key="X")
    for matrix, kind in ((S, "csr_matrix"), (S.tocsc(), "csc_matrix")):
        group = zarr.create_group(store=str(tmp_path / f"{kind}.zarr"))
        inner = group.create_group("X", attributes={"encoding-type": kind, "shape": list(S.shape)})
        for part in ("data", "indices", "indptr"):
            inner.create_array(part, data=getattr(matrix, part))
        assert_array_equal(values_of(read(tmp_path / f"{kind}.zarr")), S.toarray())


def test_blosc_chunks_are_as_long_as_they_say(tmp_path):
    made.make_blosc_zarr(tmp_path / "x.zarr")
    chunk = tmp_path / "x.zarr" / "X" / "c" / "0" / "0"
    raw = chunk.read_bytes()
    for changed in (raw[:-1], raw[:16], raw[:3], raw + b"x", raw[:4] + b"\xff\xff\xff\x7f" + raw[8:]):
        chunk.write_bytes(changed)
        refused(tmp_path / "x.zarr", "chunk 0 does not have the length that it claims")
    packing = zarr.codecs.BloscCodec()
    zarr.create_array(store=str(tmp_path / "y.zarr"), data=X, chunks=(3, 1), shards=(6, 5), compressors=packing)
    refused(tmp_path / "y.zarr", "Blosc inside of shards")


def test_anndata_in_zarr(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cells(X).write_zarr(tmp_path / "x.zarr")
    assert_array_equal(values_of(read(tmp_path / "x.zarr")), X)


def test_too_many_chunks(tmp_path):
    zarr.create_array(store=str(tmp_path / "x.zarr"), shape=(12, 1), dtype="f8", chunks=(1, 1))
    with pytest.raises(ValueError, match="has 12 chunks, more than the 10 allowed; write it in larger ones"):
        read_zarr(tmp_path / "x.zarr", max_chunks=10)
