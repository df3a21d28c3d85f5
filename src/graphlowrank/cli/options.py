"""Options that commands share, and the words that some of them take; loads nothing heavy."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, TypeAlias

import typer


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
