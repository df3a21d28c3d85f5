"""Kernels that are compiled ahead of the first fit."""

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from graphlowrank import warmup
from graphlowrank.cli import app

# In a process of its own: what other tests have compiled would hide what is missing.
FITS = """
import json
from importlib import import_module
from pathlib import Path
import numpy as np
import scipy.sparse as sp
import graphlowrank
from graphlowrank.clustering import communities, refinement
from graphlowrank.graphs import candidates, graph, locality
from graphlowrank.kernels import compiling
from graphlowrank.kernels.compiling import KERNELS
from graphlowrank.models import frpcag
from graphlowrank.solvers import conjugate_gradients, irls

graphlowrank.warmup()
for path in Path(compiling.__file__).parent.glob("[a-z]*.py"):
    import_module(f"graphlowrank.kernels.{path.stem}")
inner = {name.lstrip("_") for kernel in KERNELS for name in kernel.py_func.__code__.co_names}
forgotten = {kernel.py_func.__name__.lstrip("_") for kernel in KERNELS if not kernel.signatures} - inner

for module in (candidates, conjugate_gradients, frpcag, graph, refinement):
    module.COMPILED_ABOVE = 0
irls.COMPILED_FROM = 0
refinement.refine.__kwdefaults__["compiled_above"] = 0
before = {kernel: len(kernel.signatures) for kernel in KERNELS}
rng = np.random.default_rng(0)
latent = 6 * rng.standard_normal((5, 5))[np.arange(1500) % 5] + rng.standard_normal((1500, 5))
X = latent @ rng.standard_normal((5, 30)) + 0.3 * rng.standard_normal((1500, 30))
for dtype in (np.float32, np.float64):
    part = {"downsampling": (4, 1.5), "neighbors": "approximate", "random_state": 0}
    graphlowrank.CompressiveClustering(5, **part).fit(X.astype(dtype))
    graphlowrank.CompressiveClustering(5, **part).fit(sp.csr_array(np.maximum(X, 0).astype(dtype)))
    graphlowrank.CompressivePCA(4, reduction="random_walk", **part).fit(X.astype(dtype))
    graphlowrank.CompressivePCA(4, decoder="robust", **part).fit(X.astype(dtype))
    graphlowrank.CompressivePCA(4, loss="huber", **part).fit(np.where(X > 20, np.nan, X).astype(dtype))
    embedding = graphlowrank.CompressiveEmbedding(neighbors="approximate", random_state=0)
    embedding.fit(X.astype(dtype)).transform(X.astype(dtype))
more = {str(kernel): len(kernel.signatures) for kernel in KERNELS if len(kernel.signatures) > before.get(kernel, 0)}
print(json.dumps([sorted(forgotten), more]))
"""


def test_every_kernel_is_compiled_and_fits_need_no_other():
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", FITS], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    forgotten, more = json.loads(done.stdout.splitlines()[-1])
    assert not forgotten
    assert not more


@pytest.fixture(scope="module")
def done():
    return warmup()


def test_it_reports_the_kernels_and_the_folder(done):
    assert done.n_compiled + done.n_cached > 40
    assert list(done.folder.glob("*.nbc"))
    assert f"cache of compiled code: {done.folder}" in str(done)


def test_the_command_prints_two_lines(done):
    found = CliRunner().invoke(app, ["warmup"])
    assert found.exit_code == 0, found.output
    first, second = found.stdout.splitlines()
    assert "kernels compiled in" in first
    assert second == f"cache of compiled code: {done.folder}"


def test_json(done):
    record = json.loads(CliRunner().invoke(app, ["warmup", "--json"]).stdout)
    assert sorted(record) == ["folder", "n_cached", "n_compiled", "seconds"]
    assert record["folder"] == str(done.folder)
