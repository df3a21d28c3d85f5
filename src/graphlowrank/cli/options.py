"""Options that commands share, and the words that some of them take; loads nothing heavy."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from math import inf
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer
from typer.core import TyperCommand


class Solver(StrEnum):
    """Models of the compressed frames of a video."""

    RPCA = "rpca"
    RPCAG = "rpcag"
    FRPCAG = "frpcag"


class Loss(StrEnum):
    """How values that are far off count."""

    L2 = "l2"
    HUBER = "huber"
    L1 = "l1"


class Bits(StrEnum):
    """Of a pixel in a PNG file."""

    EIGHT = "8"
    SIXTEEN = "16"


class FeaturesScaled(StrEnum):
    """Whether features are measured in units of their own while a matrix is recovered."""

    AUTO = "auto"
    NONE = "none"
    FEATURES = "features"


class ScaledBy(StrEnum):
    """What is brought to zero mean and unit deviation before clusters are looked for."""

    AUTO = "auto"
    NONE = "none"
    SAMPLES = "samples"
    FEATURES = "features"


INPUT, PREPARING, MODEL, OUTPUT = "Input", "Preparing", "Model", "Output"

Source: TypeAlias = Annotated[
    Path,
    typer.Argument(
        metavar="FILE", show_default=False,
        help="Table, samples in rows: .csv, .tsv (also .gz), .parquet, .npy, .npz, .mat, .h5, .h5ad, .zarr, .mtx, or a "
        "folder of pictures.",
    ),
]  # fmt: skip
Key: TypeAlias = Annotated[
    str | None,
    typer.Option("--key", "--layer", help="Which array of the file; which layer of an .h5ad.", rich_help_panel=INPUT),
]
Header: TypeAlias = Annotated[
    bool | None,
    typer.Option("--header/--no-header", help="First row of a text file; found if not given.", rich_help_panel=INPUT),
]
Index: TypeAlias = Annotated[
    bool | None,
    typer.Option("--index/--no-index", help="Names in its first column; found if not given.", rich_help_panel=INPUT),
]
Transpose: TypeAlias = Annotated[bool, typer.Option("--transpose", help="Samples are columns.", rich_help_panel=INPUT)]
GraphKey: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--graph", metavar="KEY", help="Graph of samples in obsp of an .h5ad file, to use it.", rich_help_panel=INPUT
    ),
]
NormalizeCounts: TypeAlias = Annotated[
    bool,
    typer.Option("--normalize-counts", help="Samples to one total, then log(1 + x).", rich_help_panel=PREPARING),
]
Log1p: TypeAlias = Annotated[bool, typer.Option("--log1p", help="log(1 + x) of values.", rich_help_panel=PREPARING)]
TopFeatures: TypeAlias = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="Keep the N features of the highest variance.", rich_help_panel=PREPARING),
]
Neighbors: TypeAlias = Annotated[
    int | None, typer.Option(min=1, help="Neighbours of each sample in its graph.", rich_help_panel=MODEL)
]
Downsampling: TypeAlias = Annotated[
    tuple[str, str] | None,
    typer.Option(
        metavar="A B|auto", show_default="auto", rich_help_panel=MODEL,
        help="Work on 1/A of the samples and 1/B of the features.",
    ),
]  # fmt: skip
GammaSamples: TypeAlias = Annotated[
    float | None, typer.Option(min=0, help="How alike neighbouring samples are made.", rich_help_panel=MODEL)
]
GammaFeatures: TypeAlias = Annotated[
    float | None, typer.Option(min=0, help="How alike neighbouring features are made.", rich_help_panel=MODEL)
]
Seed: TypeAlias = Annotated[
    int, typer.Option(min=0, max=2**32 - 1, help="The same seed, the same bytes.", rich_help_panel=MODEL)
]
Threads: TypeAlias = Annotated[int | None, typer.Option(min=1, help="All cores if not given.", rich_help_panel=MODEL)]
ReportPage: TypeAlias = Annotated[
    Path | None, typer.Option("--report", "-r", dir_okay=False, help="HTML page to write.", rich_help_panel=OUTPUT)
]
AsJson: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Print JSON instead of text.", rich_help_panel=OUTPUT)
]  # fmt: skip
Debug: TypeAlias = Annotated[bool, typer.Option("--debug", help="Show the traceback of a failure.")]


# Parameters of the library, as its messages name them, and the options that set them.
OPTION_OF = {
    "n_clusters": "--clusters",
    "n_components": "--rank",
    "n_neighbors": "--neighbors",
    "n_draws": "--draws",
    "downsampling": "--downsampling",
    "gamma_samples": "--gamma-samples",
    "gamma_features": "--gamma-features",
    "sample_graph": "--graph",
    "random_state": "--seed",
    "n_jobs": "--threads",
    "column(?= must)": "--column",  # elsewhere it is a word like others
}


def in_options(text: str, others: Mapping[str, str] | None = None) -> str:
    """Say a message of the library in the words of the command line; ``others`` are options of a single command.

    Examples
    --------
    >>> in_options("n_neighbors=10 needs at least 11 samples, got n_samples=5; lower n_neighbors.")
    '--neighbors 10 needs at least 11 samples, got 5 samples; lower --neighbors.'
    >>> in_options("downsampling=(100.0, 2.5) keeps only 3 of 300 samples; expect a coarse answer.")
    '--downsampling 100 2.5 keeps only 3 of 300 samples; expect a coarse answer.'
    """
    for name, option in (OPTION_OF | dict(others or {})).items():
        # Not a part of a longer name, nor of that of a file; with its value, if there is one.
        called = rf"(?<![\w./-]){name}(?![\w/-]|\.\w)(?:=(\([^)]*\)|[^\s,;)]+))?"
        text = re.sub(called, lambda found, option=option: _with_value(option, found[1]), text)  # type: ignore[misc]
    return re.sub(r"\bn_(samples|features)=(\d+)", r"\2 \1", text)


def _with_value(option: str, value: str | None) -> str:
    words = re.findall(r"[^\s(),]+", value or "")
    return " ".join([option, *(f"{float(word):.4g}" if re.fullmatch(r"\d+\.\d+", word) else word for word in words)])


class PairCommand(TyperCommand):
    """Command whose ``--downsampling`` takes two words, or "auto" alone: options take a fixed number of words."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Give "auto" its second word."""
        words: list[str] = []
        for word in args:
            words += ["--downsampling", "auto"] if word == "--downsampling=auto" else [word]
            if words[-2:] == ["--downsampling", "auto"]:
                words.append("auto")
        return super().parse_args(ctx, words)


def pair_of(words: tuple[str, str] | None) -> tuple[float, float] | None:
    """Return two numbers of at least 1; None for "auto" and for nothing."""
    if words in (None, ("auto", "auto")):
        return None
    assert words is not None
    numbers = []
    for word in words:
        try:
            numbers.append(float(word))
        except ValueError:
            numbers.append(0.0)
        if not 1 <= numbers[-1] < inf:
            raise typer.BadParameter(
                f"{word!r} is no number >= 1: give two of them, or 'auto' alone", param_hint="--downsampling"
            )
    return numbers[0], numbers[1]
