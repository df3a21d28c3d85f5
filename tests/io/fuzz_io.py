"""Damages table files of every format and reads them: each must give a table or one sentence, and soon.

Target "files" of ``tests/fuzz/run.py``, which reads in a process of its own. Every input depends on the seed, the
format and its number only.
"""

import gzip
import io
import random
import shutil
import struct
import traceback
import warnings
import zipfile
import zlib

import numpy as np
from whole_files import FORMATS

from graphlowrank.io import read, worker

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


def outcome_of(path, options):
    """What reading gives, and what it said."""
    try:
        table = read(path, **options)
        touch(table)
    except (ValueError, OSError) as error:
        text = str(error)
        fine = "\n" not in text and str(path.name) in text and not isinstance(error, UnicodeError)
        return ("refused" if fine else "wrong"), text
    except Exception:
        return "wrong", traceback.format_exc()
    return "works", repr(table)


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


def fuzz(kind, seed, number, folder):
    """Outcome of the damaged file of this number."""
    worker.TIMEOUT = 5.0
    return outcome_of(*make_damaged(kind, seed, number, folder))
