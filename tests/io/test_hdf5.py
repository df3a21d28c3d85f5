"""HDF5 files: plain, sparse, AnnData, 10x Genomics."""

import sys

import h5py
import numpy as np
import pytest
import whole_files as made
import zarr
from numpy.testing import assert_array_equal
from whole_files import FEATURES, SAMPLES, S, X, cells, refused, values_of

from graphlowrank.io import read


@pytest.mark.usefixtures("without_worker")
def test_arrays_in_groups(tmp_path):
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["one/a"] = X
        file["one/sample_names"] = list(SAMPLES)
        file["two/b"] = 2 * X
        file["two/link"] = h5py.ExternalLink("elsewhere.h5", "/X")
    refused(tmp_path / "x.h5", "several tables: two/b, one/a|several tables: one/a, two/b")
    assert read(tmp_path / "x.h5", key="/one/a").sample_names == SAMPLES
    assert_array_equal(read(tmp_path / "x.h5", key="two/b").values, 2 * X)
    group = zarr.create_group(store=str(tmp_path / "x.zarr"))
    group.create_array("one/a", data=X)
    group.create_array("b", data=2 * X)
    assert_array_equal(read(tmp_path / "x.zarr", key="one/a").values, X)
    refused(tmp_path / "x.zarr", "several tables: b, one/a")


@pytest.mark.usefixtures("without_worker")
def test_anndata(tmp_path):
    data = cells()
    data.raw = data
    data = data[:, :3].copy()
    data.write_h5ad(tmp_path / "x.h5ad")
    table = read(tmp_path / "x.h5ad", graph="connectivities")
    assert_array_equal(values_of(table), S.toarray()[:, :3])
    assert (table.sample_names, table.feature_names) == (SAMPLES, FEATURES[:3])
    assert_array_equal(table.graph.toarray(), data.obsp["connectivities"].toarray())
    assert_array_equal(values_of(read(tmp_path / "x.h5ad", key="counts")), X[:, :3])
    whole = read(tmp_path / "x.h5ad", key="raw")
    assert_array_equal(values_of(whole), S.toarray())
    assert whole.feature_names == FEATURES
    assert read(tmp_path / "x.h5ad").graph is None
    refused(tmp_path / "x.h5ad", "holds no 'other'; choose by key one of: X, counts, raw", key="other")
    refused(tmp_path / "x.h5ad", "holds no graph 'distances'; it holds connectivities", graph="distances")


@pytest.mark.usefixtures("without_worker")
def test_anndata_by_columns_and_packed(tmp_path):
    cells(S.tocsc()).write_h5ad(tmp_path / "x.h5ad", compression="gzip")
    assert_array_equal(values_of(read(tmp_path / "x.h5ad")), S.toarray())
    cells(X).write_h5ad(tmp_path / "x.h5ad", compression="gzip")
    assert_array_equal(values_of(read(tmp_path / "x.h5ad")), X)


def test_hdf5_is_not_loaded_here(tmp_path):
    import subprocess

    made.make_h5(tmp_path / "x.h5")
    code = (
        "import sys; from graphlowrank.io import read; "
        f"print(read({str(tmp_path / 'x.h5')!r}).shape, 'h5py' in sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "(12, 5) False"


def test_large_arrays_come_in_blocks(tmp_path):
    big = np.random.default_rng(0).standard_normal((3000, 500))  # 12 MB: several blocks
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("X", data=big, chunks=(100, 70), shuffle=True)
    assert_array_equal(read(tmp_path / "x.h5").values, big)


def test_other_hdf5(tmp_path):
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        file["X"] = X * 1j
    refused(path, "no table of numbers")
    refused(path, "complex numbers; save their real parts", key="X")
    with h5py.File(path, "w") as file:
        file.create_dataset("X", shape=(10**9, 10**6), dtype="f8", chunks=(10, 10))  # holds nothing, claims 8 PB
    refused(path, "claims .* GiB of values, more than")
    with h5py.File(path, "w") as file:
        file.create_dataset("X", shape=(4, 4), dtype="f8", external=[("other.raw", 0, 128)])
    refused(path, "in other files, which are not followed")
    with h5py.File(path, "w") as file:
        file.create_dataset("X", data=[["a", "b"]], dtype=h5py.string_dtype())
    refused(path, "text or records", key="X")
    with h5py.File(path, "w") as file:
        file["X/data"], file["X/indices"], file["X/indptr"] = S.data, S.indices, S.indptr
    refused(path, "does not say which shape")
    path.write_bytes(b"")
    refused(path, "damaged")


@pytest.mark.usefixtures("without_worker")
def test_cells_of_10x_genomics(tmp_path):
    by_cell = S.T.tocsc()  # genes by cells, by columns
    with h5py.File(tmp_path / "x.h5", "w") as file:
        for part in ("data", "indices", "indptr", "shape"):
            file[f"matrix/{part}"] = np.asarray(getattr(by_cell, part))
        file["matrix/features/name"] = list(FEATURES)
    assert_array_equal(values_of(read(tmp_path / "x.h5", transpose=True)), S.toarray())
