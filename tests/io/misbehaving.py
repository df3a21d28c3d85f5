"""Readers that fail in the worker process, in every way that libraries do."""

import os
import time

import numpy as np

from graphlowrank.io import Table


def crash(path):
    os.abort()


def hang(path):
    time.sleep(600)


def crash_midway(path):
    class Rows:
        shape, dtype = (10, 2), np.dtype(float)

        def __getitem__(self, rows):
            os.abort()

    return {"values": Rows()}


def fail_midway(path):
    class Rows:
        shape, dtype = (10, 2), np.dtype(float)

        def __getitem__(self, rows):
            raise OSError("chunk 3 cannot be decoded\nsecond line")

    return {"values": Rows()}


def too_few_values(path):
    class Rows:
        shape, dtype = (10, 2), np.dtype(float)

        def __getitem__(self, rows):
            return np.ones((3, 2))

    return {"values": Rows()}


def overflow(path):
    return {"values": np.ones(2**50)}


def objects(path):
    return {"values": np.array([[object()]])}


def print_much(path):
    print("libraries print" * 1000, flush=True)
    return {"values": np.arange(6.0).reshape(2, 3)}


def transposed(path):
    return {"values": [np.arange(6.0).reshape(2, 3).T, {"name": "a", "none": None, "number": np.int64(3)}]}


def read_toy(path, key=None):
    return {"values": np.loadtxt(path, ndmin=2), "feature_names": ["a", "b"]}


def read_toy_table(path, key=None):
    return Table(np.loadtxt(path, ndmin=2))


def write_toy(path, rows):
    np.savetxt(path, rows.fill(np.empty(rows.shape)))
