"""The same answers on the workers of a cluster, also if one dies; clear errors if they cannot work."""

import os
import signal
import threading
import time
import warnings

import dask.array as da
import numpy as np
import pytest
from distributed import Client, LocalCluster

import graphlowrank as gl
from graphlowrank import large_data
from graphlowrank.graphs import blocks
from graphlowrank.outofcore import method, tasks


@pytest.fixture(scope="module")
def cluster():
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", memory_limit="3GB") as found:
        yield found


@pytest.fixture
def client(cluster):
    with Client(cluster) as found:
        yield found


@pytest.fixture(autouse=True)
def nothing_fits(monkeypatch):
    monkeypatch.setattr(method, "FEW_ROWS", 0)
    monkeypatch.setattr(method, "MAX_FITTED", 1000)
    monkeypatch.setattr(blocks, "IN_MEMORY_SHARE", 0.0)


def labels_of(X, how):
    with large_data(method=how), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = gl.CompressiveClustering(6, random_state=0).fit(da.from_array(X, chunks=(500, 12)))
        return np.asarray(model.labels_)


@pytest.mark.parametrize("how", ["out_of_core", "two_level"])
def test_workers_give_the_labels_of_threads(blobs, how, cluster):
    X, _ = blobs
    expected = labels_of(X, how)
    with Client(cluster):
        np.testing.assert_array_equal(labels_of(X, how), expected)


def test_recovery_on_workers(blobs, cluster):
    X, _ = blobs

    def recovered():
        with large_data(method="out_of_core"):
            return gl.CompressivePCA(random_state=0).fit(da.from_array(X, chunks=(500, 12))).low_rank_.to_array()

    expected = recovered()
    with Client(cluster):
        np.testing.assert_array_equal(recovered(), expected)


@pytest.mark.parametrize("how", ["out_of_core", "two_level"])
def test_a_killed_worker_changes_nothing(blobs, how, client):
    X, _ = blobs
    expected = labels_of(X, how)
    pid = next(iter(client.run(os.getpid).values()))
    timer = threading.Timer(0.3, os.kill, (pid, signal.SIGKILL))
    timer.start()
    np.testing.assert_array_equal(labels_of(X, how), expected)
    timer.join()
    client.wait_for_workers(2, timeout=60)


def test_errors_on_workers_name_the_rows(client, blobs):
    X, _ = blobs
    wrong = X.copy()
    wrong[3000, 4] = np.inf
    with pytest.raises(ValueError, match=r"rows \d+ to \d+ of X: row 3000 has an infinite value"):
        labels_of(wrong, "out_of_core")


def test_workers_are_asked(client, tmp_path):
    tasks.check_workers(client, tmp_path)


@pytest.mark.parametrize(
    ("found", "message"),
    [
        ({}, "the dask cluster has no workers"),
        ({"tcp://a:1": (None, True)}, r"worker tcp://a:1 has no graphlowrank; install version"),
        ({"tcp://a:1": ("0.0.1", True)}, r"worker tcp://a:1 has graphlowrank 0\.0\.1, this process"),
        ({"tcp://a:1": (gl.__version__, False)}, "worker tcp://a:1 does not see the folder"),
    ],
)
def test_workers_that_cannot_work_are_named(tmp_path, found, message):
    class Client:
        def scheduler_info(self, n_workers):
            return {"workers": found}

        def submit(self, function, token, *, workers, pure):
            return type("Future", (), {"result": lambda _, timeout: found[workers[0]]})()

    with pytest.raises(RuntimeError, match=message):
        tasks.check_workers(Client(), tmp_path)


def test_tasks_stay_in_order_and_few_are_under_way(client):
    from dask import delayed

    found = list(tasks.compute_in_order([delayed(pow)(n, 2) for n in range(50)], list(map(str, range(50)))))
    assert found == [n**2 for n in range(50)]
    waiting = tasks.compute_in_order([delayed(pow)(n, 3) for n in range(50)], list(map(str, range(50))))
    assert next(waiting) == 0
    assert len(client.futures) <= 2 * tasks.TASKS_PER_THREAD
    waiting.close()
    for _ in range(100):
        if not client.futures:  # they are released a moment later
            break
        time.sleep(0.05)
    assert not client.futures


def test_dask_is_not_imported_unless_it_is_used():
    import subprocess
    import sys

    code = (
        "import sys, numpy as np, graphlowrank as gl; gl.CompressiveClustering(2).fit(np.random.rand(60, 4));"
        "sys.exit(any(name in sys.modules for name in ('dask', 'distributed', 'zarr', 'h5py')))"
    )
    assert subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=False).returncode == 0
