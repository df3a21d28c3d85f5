"""The loaders of real data are in the benchmark harness; their old names forward for one release."""

import pytest

import graphlowrank_benchmarks.datasets
from graphlowrank import datasets


@pytest.mark.parametrize("name", graphlowrank_benchmarks.datasets.__all__)
def test_old_names_forward_with_a_warning(name):
    with pytest.warns(DeprecationWarning, match=f"is now graphlowrank_benchmarks.datasets.{name}"):
        found = getattr(datasets, name)
    assert found is getattr(graphlowrank_benchmarks.datasets, name)


def test_without_the_harness_old_names_say_where_the_loaders_are(monkeypatch):
    monkeypatch.setattr(datasets, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match="clone the graphlowrank repository and run `pip install -e") as caught:
        from graphlowrank.datasets import load_mnist  # noqa: F401
    assert str(caught.value).startswith("graphlowrank.datasets.load_mnist is now graphlowrank_benchmarks.datasets.")
    assert "\n" not in str(caught.value)


def test_other_names_are_missing_as_usual():
    with pytest.raises(AttributeError, match="has no attribute 'load_nothing'"):
        datasets.load_nothing  # noqa: B018
    assert not hasattr(datasets, "__wrapped__")
