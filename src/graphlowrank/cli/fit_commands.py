"""The commands that fit a model to a table: their options and help. Loads nothing heavy."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from .options import (
    MODEL,
    OUTPUT,
    AsJson,
    Debug,
    Downsampling,
    FeaturesScaled,
    GammaFeatures,
    GammaSamples,
    GraphKey,
    Header,
    Index,
    Key,
    Log1p,
    Loss,
    Neighbors,
    NormalizeCounts,
    ReportPage,
    ScaledBy,
    Seed,
    Source,
    Threads,
    TopFeatures,
    Transpose,
    pair_of,
)
from .shell import _progress, cluster_remedy, failing_briefly, plan_remedy, recover_remedy


def cluster_command(
    *,
    source: Source,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="LABELS",
            dir_okay=False,
            show_default=False,
            rich_help_panel=OUTPUT,
            help="Labels to write: .csv, .tsv, .parquet, .json, .npz, .npy, or .h5ad, which may be the input itself.",
        ),
    ],
    clusters: Annotated[
        str, typer.Option("--clusters", "-k", metavar="N|auto", help="How many clusters.", rich_help_panel=MODEL)
    ] = "auto",
    column: Annotated[str, typer.Option(help="Name of the labels in the file.", rich_help_panel=OUTPUT)] = "label",
    report: ReportPage = None,
    key: Key = None,
    header: Header = None,
    index: Index = None,
    transpose: Transpose = False,
    graph: GraphKey = None,
    normalize_counts: NormalizeCounts = False,
    log1p: Log1p = False,
    top_features: TopFeatures = None,
    scaling: Annotated[
        ScaledBy, typer.Option(help="What gets zero mean and unit deviation first.", rich_help_panel=MODEL)
    ] = ScaledBy.AUTO,
    draws: Annotated[
        int, typer.Option(min=1, max=1000, help="Draws of samples to find a consensus of.", rich_help_panel=MODEL)
    ] = 1,
    neighbors: Neighbors = None,
    downsampling: Downsampling = None,
    gamma_samples: GammaSamples = None,
    gamma_features: GammaFeatures = None,
    seed: Seed = 0,
    threads: Threads = None,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Find clusters of the samples of a table, and write a label and its confidence for each.

    Confidence is the share of a sample's membership that its cluster has. An older file of that name is replaced;
    AnnData (.h5ad) may be input and output in one: labels are added to obs, coordinates to obsm.

    For example:

    graphlowrank cluster wine.csv -k 3 -o labels.csv

    graphlowrank cluster cells.h5ad --normalize-counts --top-features 2000 -o cells.h5ad -r report.html

    graphlowrank cluster cells.h5ad --graph connectivities -o labels.parquet --json
    """
    n_clusters: int | str = "auto" if clusters == "auto" else _whole(clusters)
    given = _given(
        n_neighbors=neighbors, downsampling=pair_of(downsampling), gamma_samples=gamma_samples,
        gamma_features=gamma_features,
    )  # fmt: skip
    with failing_briefly(debug=debug, remedy=cluster_remedy):
        from .cluster import Request, run_cluster
        from .preparing import Input, Preparation

        options = {
            "n_clusters": n_clusters, "scaling": scaling.value, "n_draws": draws, "random_state": seed,
            "n_jobs": threads, **given,
        }  # fmt: skip
        table = Input(source, key, header, index, graph, transpose)
        prepare = Preparation(normalize_counts, log1p, top_features)
        request = Request(table, prepare, output, report, column, options, _command())
        with _progress() as say:
            record = run_cluster(request, say)
        _tell(record, as_json=as_json)


def recover_command(
    *,
    source: Source,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="MATRIX",
            show_default=False,
            rich_help_panel=OUTPUT,
            help="Low-rank matrix to write: .csv, .tsv, .parquet, .npy, .npz, .mat, .h5, .h5ad or .zarr.",
        ),
    ],
    sparse: Annotated[
        Path | None,
        typer.Option("--sparse", "-s", help="What is left, data less matrix, to write.", rich_help_panel=OUTPUT),
    ] = None,
    report: ReportPage = None,
    key: Key = None,
    header: Header = None,
    index: Index = None,
    transpose: Transpose = False,
    graph: GraphKey = None,
    normalize_counts: NormalizeCounts = False,
    log1p: Log1p = False,
    top_features: TopFeatures = None,
    rank: Annotated[
        int | None, typer.Option(min=1, help="By the singular values if not given.", rich_help_panel=MODEL)
    ] = None,
    no_compression: Annotated[
        bool, typer.Option("--no-compression", help="Solve on the whole matrix; no rank.", rich_help_panel=MODEL)
    ] = False,
    scaling: Annotated[
        FeaturesScaled,
        typer.Option(help="Measure features in units of their own; auto: if they differ.", rich_help_panel=MODEL),
    ] = FeaturesScaled.AUTO,
    loss: Annotated[
        Loss, typer.Option(help="l1 ignores gross errors, l2 suits dense noise.", rich_help_panel=MODEL)
    ] = Loss.L1,
    neighbors: Neighbors = None,
    downsampling: Downsampling = None,
    gamma_samples: GammaSamples = None,
    gamma_features: GammaFeatures = None,
    seed: Seed = 0,
    threads: Threads = None,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Recover the low-rank matrix under gross errors and noise of a table, and write it with its names.

    Older files of these names are replaced.

    For example:

    graphlowrank recover sensors.csv -o clean.csv -s errors.csv

    graphlowrank recover faces/ --rank 20 -o clean.npy -r report.html

    graphlowrank recover data.parquet --no-compression --loss l2 -o clean.parquet --json
    """
    given = _given(
        n_neighbors=neighbors, downsampling=pair_of(downsampling), gamma_samples=gamma_samples,
        gamma_features=gamma_features,
    )  # fmt: skip
    if no_compression and "downsampling" in given:
        raise typer.BadParameter(
            "--no-compression works on the whole matrix: give one or the other, not both", param_hint="--downsampling"
        )
    if no_compression and scaling is FeaturesScaled.FEATURES:
        raise typer.BadParameter("--no-compression works in the units of the data", param_hint="--scaling")
    if not no_compression:
        given["scaling"] = scaling.value
    with failing_briefly(debug=debug, remedy=recover_remedy):
        from .preparing import Input, Preparation
        from .recover import Request, run_recover

        options = {
            "n_components": rank, "loss": loss.value, "random_state": seed, "n_jobs": threads, **given,
        }  # fmt: skip
        table = Input(source, key, header, index, graph, transpose)
        prepare = Preparation(normalize_counts, log1p, top_features)
        request = Request(table, prepare, output, sparse, report, not no_compression, options, _command())
        with _progress() as say:
            record = run_recover(request, say)
        _tell(record, as_json=as_json)


def plan_command(
    *,
    source: Source,
    recover: Annotated[bool, typer.Option("--recover", help="Plan recover instead of cluster.")] = False,
    clusters: Annotated[int, typer.Option("--clusters", "-k", min=1, help="Clusters, or rank.")] = 10,
    key: Key = None,
    header: Header = None,
    index: Index = None,
    transpose: Transpose = False,
    top_features: TopFeatures = None,
    neighbors: Neighbors = None,
    downsampling: Downsampling = None,
    threads: Threads = None,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Predict seconds and memory of cluster or recover on a table, from small fits to some of its rows.

    For example:

    graphlowrank plan cells.h5ad -k 12 --top-features 2000

    graphlowrank plan sensors.npy --recover --json
    """
    given = _given(n_neighbors=neighbors, downsampling=pair_of(downsampling))
    with failing_briefly(debug=debug, remedy=plan_remedy):
        from .planned import run_plan
        from .preparing import Input

        options = {"n_jobs": threads, **given}
        with _progress() as say:
            table = Input(source, key, header, index, None, transpose)
            found = run_plan(table, "recover" if recover else "cluster", clusters, top_features, options, say)
        typer.echo(json.dumps(found.as_dict(), indent=2) if as_json else repr(found))


def _whole(text: str) -> int:
    if not (text.isdecimal() and int(text) >= 1):
        raise typer.BadParameter(f"{text!r} is neither a positive whole number nor 'auto'", param_hint="--clusters")
    return int(text)


def _given(**values: Any) -> dict[str, Any]:
    """Name what was given; the estimators have defaults of their own."""
    return {name: value for name, value in values.items() if value is not None}


def _command() -> str:
    return "graphlowrank " + shlex.join(sys.argv[1:])


def _tell(record: dict[str, Any], *, as_json: bool) -> None:
    from .telling import as_text, as_words

    typer.echo(as_text(record) if as_json else as_words(record))
    typer.echo(f"wrote {', '.join(record['written'].values())}", err=True)
