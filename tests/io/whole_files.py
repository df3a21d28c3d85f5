"""Undamaged files of every format, as other libraries write them; helpers of the tests beside this file."""

import gzip
import io
import warnings

import anndata
import h5py
import numcodecs
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.io
import scipy.sparse as sp
import zarr
from PIL import Image

from graphlowrank.io import read

SAMPLES = tuple(f"s{number}" for number in range(12))


FEATURES = tuple(f"f{number}" for number in range(5))


def dense():
    return np.random.default_rng(0).standard_normal((12, 5)).astype(np.float32)


def sparse():
    return sp.random(12, 5, 0.4, format="csr", random_state=0, dtype=np.float32)


def make_text(path, delimiter=","):
    rows = [delimiter.join(["", *FEATURES])]
    rows += [delimiter.join([name, *map(str, row)]) for name, row in zip(SAMPLES, dense(), strict=True)]
    raw = ("\n".join(rows) + "\n").encode()
    path.write_bytes(gzip.compress(raw) if path.suffix == ".gz" else raw)


def make_parquet(path, compression="snappy"):
    columns = {"sample": list(SAMPLES), **dict(zip(FEATURES, dense().T, strict=True))}
    pq.write_table(pa.table(columns), path, compression=compression, row_group_size=5)


def make_npz(path):
    np.savez_compressed(path, X=dense(), sample_names=list(SAMPLES))


def make_mat(path, *, packed=False):
    content = {"X": dense(), "S": sparse().tocsc(), "y": np.arange(12)}
    scipy.io.savemat(path, content, do_compression=packed)


def make_sparse_mat(path):
    scipy.io.savemat(path, {"S": sparse().tocsc().astype(float)})


def make_mat73(path):
    with h5py.File(path, "w", userblock_size=512) as file:
        file["X"] = dense().T
        file["X"].attrs["MATLAB_class"] = np.bytes_("single")
        group, S = file.create_group("S"), sparse().tocsc()
        group["data"], group["ir"], group["jc"] = S.data, S.indices.astype("u8"), S.indptr.astype("u8")
        group.attrs["MATLAB_sparse"] = np.uint64(12)
    with path.open("r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")


def make_h5(path):
    with h5py.File(path, "w") as file:
        file["X"] = dense()
        file.create_dataset("sample_names", data=list(SAMPLES), dtype=h5py.string_dtype())


def make_packed_h5(path):
    with h5py.File(path, "w") as file:
        file.create_dataset("X", data=dense(), chunks=(5, 3), compression="gzip", shuffle=True)


def make_lzf_h5(path):
    with h5py.File(path, "w", libver="latest") as file:
        file.create_dataset("X", data=dense(), chunks=(5, 3), maxshape=(None, 5), compression="lzf", fletcher32=True)


def make_sparse_h5(path):
    with h5py.File(path, "w") as file:
        group, S = file.create_group("X"), sparse()
        group["data"], group["indices"], group["indptr"] = S.data, S.indices, S.indptr
        group.attrs["shape"] = S.shape


def make_h5ad(path):
    import anndata
    import pandas as pd

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = anndata.AnnData(sparse(), obs=pd.DataFrame(index=list(SAMPLES)), var=pd.DataFrame(index=list(FEATURES)))
        data.obsp["connectivities"] = sp.eye(12, format="csr")
        data.write_h5ad(path)


def make_zarr(path, version=3):
    packing = numcodecs.Blosc() if version == 2 else "auto"
    zarr.create_array(store=str(path), data=dense(), chunks=(5, 3), zarr_format=version, compressors=packing)


def make_blosc_zarr(path):
    packing = zarr.codecs.BloscCodec(cname="lz4", shuffle="shuffle")
    group = zarr.create_group(store=str(path), attributes={"sample_names": list(SAMPLES)})
    group.create_array("X", data=dense(), chunks=(12, 5), compressors=packing)


def make_market(path, matrix=None):
    out = io.BytesIO()
    scipy.io.mmwrite(out, sparse() if matrix is None else matrix)
    path.write_bytes(gzip.compress(out.getvalue()) if path.suffix == ".gz" else out.getvalue())


def make_pictures(path):
    path.mkdir()
    pixels = np.random.default_rng(0).integers(0, 256, (4, 6, 5), dtype=np.uint8)
    for number, extension in enumerate(("png", "jpg", "bmp", "tif")):
        Image.fromarray(pixels[number]).save(path / f"p{number}.{extension}")


def save(array):
    return lambda path: np.save(path, array)


# Format: name of the file, what makes it, options of read.
FORMATS = {
    "csv": ("x.csv", make_text, {}),
    "csv.gz": ("x.csv.gz", make_text, {}),
    "tsv": ("x.tsv", lambda path: make_text(path, "\t"), {}),
    "parquet": ("x.parquet", make_parquet, {}),
    "parquet zstd": ("x.parquet", lambda path: make_parquet(path, "zstd"), {}),
    "npy": ("x.npy", save(dense()), {}),
    "npz": ("x.npz", make_npz, {}),
    "npz sparse": ("x.npz", lambda path: sp.save_npz(path, sparse(), compressed=False), {}),
    "mat": ("x.mat", make_mat, {}),
    "mat packed": ("x.mat", lambda path: make_mat(path, packed=True), {}),
    "mat sparse": ("x.mat", make_sparse_mat, {}),
    "mat 7.3": ("x.mat", make_mat73, {}),
    "mat 7.3 sparse": ("x.mat", make_mat73, {"key": "S"}),
    "h5": ("x.h5", make_h5, {}),
    "h5 gzip": ("x.h5", make_packed_h5, {}),
    "h5 lzf": ("x.h5", make_lzf_h5, {}),
    "h5 sparse": ("x.h5", make_sparse_h5, {}),
    "h5ad": ("x.h5ad", make_h5ad, {"graph": "connectivities"}),
    "zarr 2": ("x.zarr", lambda path: make_zarr(path, 2), {}),
    "zarr 3": ("x.zarr", make_zarr, {}),
    "zarr blosc": ("x.zarr", make_blosc_zarr, {}),
    "mtx": ("x.mtx", make_market, {}),
    "mtx array": ("x.mtx", lambda path: make_market(path, dense()), {}),
    "mtx.gz": ("x.mtx.gz", make_market, {}),
    "pictures": ("pictures", make_pictures, {}),
}


X = dense()
S = sparse()


def values_of(table):
    return table.values.toarray() if table.is_sparse else np.asarray(table.values)


def refused(path, text, **options):
    with pytest.raises(ValueError, match=text) as caught:
        read(path, **options)
    message = str(caught.value)
    assert path.name in message
    assert "\n" not in message
    assert message.endswith(".")


def cells(matrix=S):
    frame = pd.DataFrame({"depth": np.arange(12)}, index=pd.Index(SAMPLES, name="cell"))
    data = anndata.AnnData(matrix, obs=frame, var=pd.DataFrame(index=list(FEATURES)))
    data.obsp["connectivities"] = sp.random(12, 12, 0.3, format="csr", random_state=1)
    data.layers["counts"] = X
    return data
