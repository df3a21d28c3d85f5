"""Damages table files of every format and reads them: each must give a table or one sentence, and soon.

    python tests/fuzz_tables.py [--count 10000] [--seed 0] [--formats csv,h5] [--seconds 20]

Reads happen in a process of their own, so that a crash or a loop in a C library is seen and counted. Prints a table
("helper": refused because the process that reads HDF5 files for us died or had to be ended);
exits with 1 if anything crashed, hung, or raised what it should not. Every input depends on the seed, the format and
its number only, and can be made again: ``--formats h5 --only 123``.
"""

import argparse
import gzip
import io
import multiprocessing
import random
import shutil
import struct
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
import zlib
from collections import Counter
from pathlib import Path

import h5py
import numcodecs
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.io
import scipy.sparse as sp
import zarr
from PIL import Image

from graphlowrank import io as tables

OUTCOMES = ("read", "refused", "helper", "crashed", "hung", "wrong")
MEMORY = 8 * 2**30
SAMPLES = [f"s{number}" for number in range(12)]
FEATURES = [f"f{number}" for number in range(5)]


def dense():
    return np.random.default_rng(0).standard_normal((12, 5)).astype(np.float32)


def sparse():
    return sp.random(12, 5, 0.4, format="csr", random_state=0, dtype=np.float32)


# --- whole files of every format ---------------------------------------------------------------------------------


def make_text(path, delimiter=","):
    rows = [delimiter.join(["", *FEATURES])]
    rows += [delimiter.join([name, *map(str, row)]) for name, row in zip(SAMPLES, dense(), strict=True)]
    raw = ("\n".join(rows) + "\n").encode()
    path.write_bytes(gzip.compress(raw) if path.suffix == ".gz" else raw)


def make_parquet(path, compression="snappy"):
    columns = {"sample": SAMPLES, **dict(zip(FEATURES, dense().T, strict=True))}
    pq.write_table(pa.table(columns), path, compression=compression, row_group_size=5)


def make_npz(path):
    np.savez_compressed(path, X=dense(), sample_names=SAMPLES)


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
        file.create_dataset("sample_names", data=SAMPLES, dtype=h5py.string_dtype())


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
        data = anndata.AnnData(sparse(), obs=pd.DataFrame(index=SAMPLES), var=pd.DataFrame(index=FEATURES))
        data.obsp["connectivities"] = sp.eye(12, format="csr")
        data.write_h5ad(path)


def make_zarr(path, version=3):
    packing = numcodecs.Blosc() if version == 2 else "auto"
    zarr.create_array(store=str(path), data=dense(), chunks=(5, 3), zarr_format=version, compressors=packing)


def make_blosc_zarr(path):
    packing = zarr.codecs.BloscCodec(cname="lz4", shuffle="shuffle")
    group = zarr.create_group(store=str(path), attributes={"sample_names": SAMPLES})
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


# --- damage ------------------------------------------------------------------------------------------------------

NUMBERS = [0, 1, 2**7, 2**8 - 1, 2**15, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**64 - 1]
WORDS = [b"-1", b"99999999999", b"1e999", b"nan", b"\n", b'"', b",", b";", b"\t", b"\xff", b"\0", b"{", b"]", b"null"]


def damaged(raw, draw):
    """Other bytes, in one of many ways."""
    raw = bytearray(raw)
    size = max(1, len(raw))
    at, length = draw.randrange(size), draw.choice([1, 2, 4, 8, 64, 1000])
    way = draw.randrange(9)
    if way == 0:
        return bytes(raw[: draw.choice([0, 1, at, at, at, size - 1, size - 4])])
    if way in {1, 2}:
        for _ in range(draw.choice([1, 1, 1, 2, 8, 50])):
            if raw:
                raw[draw.randrange(size)] ^= 1 << draw.randrange(8)
    elif way == 3:
        raw[at : at + length] = draw.choice([b"\0", b"\xff"]) * length
    elif way == 4:
        raw[at : at + length] = draw.randbytes(length)
    elif way == 5:
        del raw[at : at + length]
    elif way == 6:
        raw[at:at] = draw.choice([draw.randbytes(length), raw[:length], raw[-length:]])
    elif way == 7:
        number = struct.pack(draw.choice(["<Q", ">Q"]), draw.choice(NUMBERS))[: draw.choice([1, 2, 4, 8])]
        at -= at % len(number)
        raw[at : at + len(number)] = number
    else:
        raw[at : at + draw.choice([0, 1, 3])] = draw.choice(WORDS)
    return bytes(raw)


def damaged_within(name, raw, draw):
    """Damage what is packed and pack it again, so that checksums agree and readers see the damage."""
    if name.endswith(".gz"):
        return gzip.compress(damaged(gzip.decompress(raw), draw), 1)
    if name.endswith(".npz"):
        out = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(raw)) as old, zipfile.ZipFile(out, "w") as new:
            chosen = draw.choice(old.namelist())
            for member in old.namelist():
                content = old.read(member)
                new.writestr(member, damaged(content, draw) if member == chosen else content)
        return out.getvalue()
    first, size = struct.unpack_from("<II", raw, 128)  # of a packed .mat file
    if name.endswith(".mat") and first == 15:
        packed = zlib.compress(damaged(zlib.decompress(raw[136 : 136 + size]), draw))
        return raw[:128] + struct.pack("<II", 15, len(packed)) + packed + raw[136 + size :]
    return damaged(raw, draw)


def damage(place, draw):
    """Damage a file in place, or one file of a folder."""
    path = place
    if place.is_dir():
        path = draw.choice(sorted(each for each in place.rglob("*") if each.is_file()))
        if draw.random() < 0.05:
            path.unlink()
            return
    raw = path.read_bytes()
    within = path.suffix in {".gz", ".npz", ".mat"} and draw.random() < 0.6 and len(raw) > 136
    path.write_bytes(damaged_within(path.name, raw, draw) if within else damaged(raw, draw))
    if draw.random() < 0.2:
        path.write_bytes(damaged(path.read_bytes(), draw))


def make_damaged(kind, seed, number, folder):
    """Path of the damaged file of this number, and the options of read."""
    name, make, options = FORMATS[kind]
    whole = folder / "whole" / kind.replace(" ", "_") / name
    if not whole.exists():
        whole.parent.mkdir(parents=True, exist_ok=True)
        make(whole)
    path = folder / name
    shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    shutil.copytree(whole, path) if whole.is_dir() else shutil.copyfile(whole, path)
    damage(path, random.Random(f"{seed} {kind} {number}"))
    return path, options


# --- reading -----------------------------------------------------------------------------------------------------


def outcome_of(path, options):
    """What reading gives, and what it said."""
    try:
        table = tables.read(path, **options)
        touch(table)
    except (ValueError, OSError) as error:
        text = str(error)
        fine = "\n" not in text and str(path.name) in text and not isinstance(error, UnicodeError)
        died = "the HDF5 library" in text
        return ("helper" if died and fine else "refused" if fine else "wrong"), text
    except Exception:
        return "wrong", traceback.format_exc()
    return "read", repr(table)


def touch(table):
    """Look at every value."""
    n_samples, n_features = table.values.shape
    assert n_samples > 0 < n_features
    assert table.values.dtype.kind in "uif"
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (table.values @ np.ones(n_features)).sum()
        if table.graph is not None:
            (table.graph @ np.ones(n_samples)).sum()
    for names, length in ((table.sample_names, n_samples), (table.feature_names, n_features)):
        assert names is None or len(names) == length


def work(connection, folder):
    """Read what the numbers that come say."""
    import resource

    from graphlowrank.io.reading import hdf5

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    hdf5.SILENCE = 5.0
    while True:
        job = connection.recv()
        if job is None:
            return
        connection.send(outcome_of(*make_damaged(*job, folder)))


class Worker:
    """A process that reads, and is started again when it dies."""

    def __init__(self, folder):
        self.folder = folder
        self.start()

    def start(self):
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=work, args=(theirs, self.folder), daemon=True)
        self.process.start()
        theirs.close()

    def stop(self):
        self.process.kill()
        self.process.join()
        self.connection.close()

    def outcome(self, job, seconds):
        self.connection.send(job)
        try:
            if self.connection.poll(seconds):
                return self.connection.recv()
            found = "hung", f"more than {seconds} s"
        except (EOFError, ConnectionError):
            self.process.join()
            found = "crashed", f"exit code {self.process.exitcode}"
        self.stop()
        self.start()
        return found


def report(counts):
    width = max(map(len, counts))
    print(f"{'format':{width}} inputs " + " ".join(f"{name:>8}" for name in OUTCOMES))
    total = sum(counts.values(), Counter())
    for kind, found in [*counts.items(), ("all", total)]:
        print(f"{kind:{width}} {sum(found.values()):6} " + " ".join(f"{found[name]:8}" for name in OUTCOMES))
    return total


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--formats", type=lambda text: text.split(","), default=list(FORMATS))
    parser.add_argument("--only", type=int)
    parser.add_argument("--seconds", type=float, default=20.0)
    options = parser.parse_args()
    numbers = range(-(-options.count // len(options.formats))) if options.only is None else [options.only]
    start = time.time()
    counts = {kind: Counter() for kind in options.formats}
    with tempfile.TemporaryDirectory() as name:
        worker = Worker(Path(name))
        for kind in options.formats:
            for number in numbers:
                found, text = worker.outcome((kind, options.seed, number), options.seconds)
                counts[kind][found] += 1
                if found not in {"read", "refused", "helper"} or options.only is not None:
                    print(f"{kind} {number}: {found}: {text}", flush=True)
        worker.connection.send(None)
        worker.process.join()
    total = report(counts)
    print(f"{time.time() - start:.0f} s")
    return int(total["crashed"] + total["hung"] + total["wrong"] > 0)


if __name__ == "__main__":
    sys.exit(main())
