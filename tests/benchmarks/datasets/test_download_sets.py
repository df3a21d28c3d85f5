"""Downloads of MNIST and USPS, from stand-ins of their servers."""

import gzip
import hashlib
from types import SimpleNamespace
from urllib.error import URLError

import fake_data
import numpy as np
import pytest
import sklearn.datasets
from numpy.testing import assert_allclose, assert_array_equal

from graphlowrank_benchmarks import datasets
from graphlowrank_benchmarks.datasets import images
from graphlowrank_benchmarks.datasets.download import DownloadError


@pytest.fixture
def mnist_server(server, tmp_path, monkeypatch):
    """A server of tiny digits, which the loader takes for the mirror."""
    fake_data.write_mnist(tmp_path / "original")
    server.files = {path.name: path.read_bytes() for path in (tmp_path / "original" / "mnist").iterdir()}
    sums = {f"mnist/{name}": hashlib.sha256(gzip.decompress(raw)).hexdigest() for name, raw in server.files.items()}
    mnist = images.IMAGE_SETS["mnist"]
    assert sums.keys() == mnist.sha256.keys()
    monkeypatch.setitem(images.IMAGE_SETS, "mnist", mnist._replace(url=f"{server.url}/normal/", sha256=sums))
    return server


def test_mnist_is_downloaded_once(tmp_path, mnist_server, cache):
    with pytest.raises(FileNotFoundError, match="download=True"):
        datasets.load_mnist()
    assert not mnist_server.asked
    expected = datasets.load_mnist(folder=tmp_path / "original")
    for _ in range(2):
        assert all(map(np.array_equal, datasets.load_mnist(download=True), expected))
    assert all(map(np.array_equal, datasets.load_mnist(), expected))
    assert list(mnist_server.asked.values()) == [1, 1, 1, 1]
    assert sorted(path.name for path in (cache / "mnist").iterdir()) == sorted(mnist_server.files)


def test_downloads_go_to_the_folder_given(tmp_path, mnist_server, cache):
    datasets.load_mnist(folder=tmp_path / "mine", download=True)
    assert len(list((tmp_path / "mine" / "mnist").iterdir())) == 4
    assert not cache.exists()


def test_a_folder_named_in_the_environment_is_only_read(tmp_path, mnist_server, monkeypatch, cache):
    named = tmp_path / "named"
    (named / "mnist").mkdir(parents=True)
    here = "train-images-idx3-ubyte.gz"
    (named / "mnist" / here).write_bytes(mnist_server.files[here])
    monkeypatch.setenv("GRAPHLOWRANK_DATA", str(named))
    datasets.load_mnist(download=True)
    assert len(mnist_server.asked) == 3  # the fourth was there
    assert len(list((named / "mnist").iterdir())) == 1
    assert len(list((cache / "mnist").iterdir())) == 3


def test_mnist_from_a_server_that_breaks_off(mnist_server, monkeypatch, cache, pauses):
    mnist = images.IMAGE_SETS["mnist"]
    monkeypatch.setitem(images.IMAGE_SETS, "mnist", mnist._replace(url=mnist.url.replace("normal", "cut")))
    with pytest.raises(DownloadError, match="broke off"):
        datasets.load_mnist(download=True)
    fake_data.assert_nothing_left(cache)
    assert pauses == [1.0, 2.0]


def openml(target_type=str, **changes):
    """Make a set that answers to the description of USPS, as OpenML would give it."""
    labels = np.random.default_rng(0).permutation(np.repeat(np.arange(1, 11), images.USPS_COUNTS))
    values = np.zeros((len(labels), 256))
    values[:, 0], values[:, 1], values[:, 2] = -1, 1, labels / 10
    return SimpleNamespace(**{"data": values, "target": labels.astype(target_type), **changes})


@pytest.fixture
def answer(monkeypatch):
    """Let scikit-learn's fetcher give, or raise, what is put here."""
    given = SimpleNamespace(result=openml(), calls=[])

    def fetch_openml(*args, **kwargs):
        given.calls.append((args, kwargs))
        if isinstance(given.result, Exception):
            raise given.result
        return given.result

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch_openml)
    return given


@pytest.mark.parametrize("target_type", [str, float, object])
def test_usps_is_downloaded_once(answer, cache, target_type):
    answer.result = openml(target_type)
    with pytest.raises(FileNotFoundError, match="download=True"):
        datasets.load_usps()
    for arguments in ({"download": True}, {"download": True}, {}):
        X, y = datasets.load_usps(**arguments)
        assert X.shape == (9298, 256)
        assert X.dtype == np.float32
        assert_array_equal(np.bincount(y), images.USPS_COUNTS)
        assert_allclose(X[:, :3], np.column_stack([0 * y, 0 * y + 1, (1 + (y + 1) / 10) / 2]), atol=0.5 / 255 + 1e-6)
    assert len(answer.calls) == 1
    assert answer.calls[0][0] == ("USPS",)
    assert answer.calls[0][1]["version"] == 2
    assert [path.name for path in (cache / "usps").iterdir()] == ["usps_openml.npz"]


def test_the_file_of_the_data_folder_comes_first(tmp_path, answer):
    datasets.load_usps(folder=tmp_path, download=True)
    fake_data.write_usps(tmp_path, n=50)
    assert len(datasets.load_usps(folder=tmp_path, download=True)[0]) == 50
    assert len(answer.calls) == 1


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (URLError("no route to host"), "USPS cannot be had from OpenML: .*no route to host"),
        (ValueError("md5 checksum does not match"), "USPS cannot be had from OpenML: md5 checksum"),
        (openml(data=np.zeros((9298, 255))), "shape or number"),
        (openml(target=np.full(9298, "3")), "shape or number"),
        (openml(target=np.full(9298, "-3")), "shape or number"),
        (openml(data=np.full((9298, 256), 0.5)), "do not span -1 to 1"),
    ],
    ids=["no network", "checksum", "shape", "labels", "negative labels", "values"],
)
def test_another_usps_is_refused(answer, cache, result, text):
    answer.result = result
    with pytest.raises(DownloadError, match=text):
        datasets.load_usps(download=True)
    fake_data.assert_nothing_left(cache)


def test_usps_is_not_fetched_for_a_place_that_cannot_be_written(tmp_path, answer):
    (tmp_path / "usps").touch()
    with pytest.raises(OSError, match="cannot write"):
        datasets.load_usps(folder=tmp_path, download=True)
    assert answer.calls == []
