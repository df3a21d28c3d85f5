"""Readers of guarded formats, called in this process."""

import json
import warnings
from pkgutil import resolve_name

import numpy as np
import pytest

from graphlowrank._files import reading
from graphlowrank.io import formats, hdf5, worker


def run_here(function, path, *, timeout=None, **options):
    """Do what :func:`run_guarded` does, without a child process."""
    if not path.is_dir():
        path.open("rb").close()
    arrays = []
    with reading(path), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = resolve_name(function)(path, **options)
            text = json.dumps({"result": result}, default=lambda found: worker._describe(found, arrays))
            waiting = iter([np.ascontiguousarray(array[...]) for array in arrays])
        except tuple(worker._ERRORS.values()):
            raise
        except Exception as error:
            raise ValueError(str(error) or type(error).__name__) from error

        def array(found):
            if worker._ARRAY not in found:
                return found
            if "offset" in found:
                return np.memmap(path, found["dtype"], "r", found["offset"], tuple(found[worker._ARRAY]))
            values = next(waiting)
            return values.T if found["transposed"] else values

        return json.loads(text, object_hook=array)["result"]


@pytest.fixture
def without_worker(monkeypatch):
    """Starting a process takes longer than most tests; ``test_worker`` and ``test_formats`` do it for every format."""
    for module in (formats, hdf5):
        monkeypatch.setattr(module, "run_guarded", run_here)
