"""A table or figure of the paper as data: one TOML file each, in ``tables/``."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

COMMON = ("title", "place", "kind", "notes", "quick")


@dataclass(frozen=True, eq=False)
class Experiment:
    """The content of a file."""

    name: str  # of the file, without its suffix
    title: str  # what is measured
    place: str  # table or figure of the paper
    kind: str  # key of KINDS
    notes: tuple[str, ...]  # differences of data or protocol from the paper
    options: Mapping[str, Any]  # everything else; its meaning depends on the kind


def experiment_names() -> list[str]:
    """Every table and figure, in the order of the paper."""
    order = tomllib.loads(_text("order.toml"))
    return list(order["experiments"])


def read_experiment(name: str, *, quick: bool = False) -> Experiment:
    """Read a file; with ``quick`` its table [quick] overrides the rest."""
    return parse_experiment(name, _text(f"{name}.toml"), quick=quick)


def parse_experiment(name: str, text: str, *, quick: bool = False) -> Experiment:
    r"""Parse the text of a file.

    Examples
    --------
    >>> text = "title = 'T'\nplace = 'Table I'\nkind = 'circle'\nsize = 9\n[quick]\nsize = 3"
    >>> parse_experiment("t", text, quick=True).options
    {'size': 3}
    """
    found = tomllib.loads(text)
    for key in ("title", "place", "kind"):
        if not isinstance(found.get(key), str):
            raise ValueError(f"{name}.toml must say its {key}, as text.")
    if quick:
        found |= found.get("quick", {})
    options = {key: value for key, value in found.items() if key not in COMMON}
    return Experiment(name, found["title"], found["place"], found["kind"], tuple(found.get("notes", ())), options)


def narrowed(grid: str, method: str, ranges: Mapping[str, list[Any]]) -> dict[str, list[Any]]:
    """Ranges of a method's parameters in the named grid of ``grids.toml``; parameters not named there keep their range.

    A number in place of a list is an upper limit.

    Examples
    --------
    >>> narrowed("full", "pca", {"n_components": [2, 4, 8, 128, 256]})
    {'n_components': [2, 4, 8, 128]}
    """
    grids = tomllib.loads(_text("grids.toml"))
    if grid not in grids:
        raise ValueError(f"no grid {grid!r} in grids.toml; there are {', '.join(grids)}.")
    named = grids[grid].get(method, {})
    swept = {name: named.get(name, values) for name, values in (dict(ranges) | named).items()}
    return {
        name: values if isinstance(values, list) else [value for value in ranges[name] if value <= values]
        for name, values in swept.items()
    }


def _text(file: str) -> str:
    return files(__package__).joinpath("tables", file).read_text(encoding="utf-8")
