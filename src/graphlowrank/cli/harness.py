"""The benchmark harness is not part of the wheel: check that it can be imported."""

from __future__ import annotations

from importlib.util import find_spec

import typer

MISSING = (
    "this command needs the benchmark harness, which is not part of the installed package: clone the graphlowrank "
    "repository and run `pip install -e '.[plots,bench]'` in it"
)


def require_harness() -> None:
    """Exit with code 2 and one sentence unless ``graphlowrank_benchmarks`` can be imported."""
    if find_spec("graphlowrank_benchmarks") is None:
        typer.echo(f"error: {MISSING}", err=True)
        raise typer.Exit(2)
