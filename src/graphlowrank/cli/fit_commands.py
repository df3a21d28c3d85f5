"""Options and help of the commands that fit a model to a table; imports nothing heavy."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Option

from .._literals import ClusterScaling, LossName, RecoveryScaling
from . import options as opt
from .console import Show, brief_errors, show_progress, to_json
from .options import model_option, output_option, parse_downsampling

LABELS = "Labels to write: .csv, .tsv, .parquet, .json, .npz, .npy, or .h5ad, which may be the input itself."
MATRIX = "Low-rank matrix to write: .csv, .tsv, .parquet, .npy, .npz, .mat, .h5, .h5ad or .zarr."


def cluster_command(
    *,
    source: opt.Source,
    output: Annotated[
        Path, output_option("--output", "-o", metavar="LABELS", dir_okay=False, show_default=False, help=LABELS)
    ],
    clusters: Annotated[str, model_option("--clusters", "-k", metavar="N|auto", help="Number of clusters.")] = "auto",
    column: Annotated[str, output_option(help="Name of the labels in the file.")] = "label",
    report: opt.ReportPage = None,
    key: opt.Key = None,
    header: opt.Header = None,
    index: opt.Index = None,
    transpose: opt.Transpose = False,
    graph: opt.GraphKey = None,
    normalize_counts: opt.NormalizeCounts = False,
    log1p: opt.Log1p = False,
    top_features: opt.TopFeatures = None,
    scaling: Annotated[
        ClusterScaling, model_option(help="What to scale to zero mean and unit standard deviation first.")
    ] = "auto",
    draws: Annotated[int, model_option(min=1, max=1000, help="Draws of samples to form a consensus of.")] = 1,
    neighbors: opt.Neighbors = None,
    downsampling: opt.Downsampling = None,
    gamma_samples: opt.GammaSamples = None,
    gamma_features: opt.GammaFeatures = None,
    seed: opt.Seed = 0,
    threads: opt.Threads = None,
    as_json: opt.AsJson = False,
    debug: opt.Debug = False,
) -> None:
    """Cluster the samples of a table, and write a label and its confidence for each.

    The confidence is the membership of a sample in its cluster, 0 to 1. An existing file of that name is replaced. An
    AnnData file (.h5ad) may be both input and output: labels are added to obs, principal scores to obsm.

    For example:

    graphlowrank cluster wine.csv -k 3 -o labels.csv

    graphlowrank cluster cells.h5ad --normalize-counts --top-features 2000 -o cells.h5ad -r report.html

    graphlowrank cluster cells.h5ad --graph connectivities -o labels.parquet --json
    """
    n_clusters = clusters if clusters == "auto" else _parse_clusters(clusters)
    given = _given(
        n_neighbors=neighbors, downsampling=parse_downsampling(downsampling), gamma_samples=gamma_samples,
        gamma_features=gamma_features,
    )  # fmt: skip
    with brief_errors(debug=debug, command="cluster"):
        from .cluster import run_cluster
        from .fit import FitRequest
        from .prepare import Input, Preparation

        options = {
            "n_clusters": n_clusters, "scaling": scaling, "n_draws": draws, "random_state": seed, "n_jobs": threads,
            **given,
        }  # fmt: skip
        table = Input(source, key, header, index, graph, transpose)
        preparation = Preparation(normalize_counts, log1p, top_features)
        outputs = _given(output=output, report=report)
        request = FitRequest(table, preparation, outputs, options, _command())
        _run(lambda show: run_cluster(request, column, show), as_json=as_json)


def recover_command(
    *,
    source: opt.Source,
    output: Annotated[Path, output_option("--output", "-o", metavar="MATRIX", show_default=False, help=MATRIX)],
    sparse: Annotated[
        Path | None, output_option("--sparse", "-s", help="Residual to write, data minus low-rank matrix.")
    ] = None,
    report: opt.ReportPage = None,
    key: opt.Key = None,
    header: opt.Header = None,
    index: opt.Index = None,
    transpose: opt.Transpose = False,
    graph: opt.GraphKey = None,
    normalize_counts: opt.NormalizeCounts = False,
    log1p: opt.Log1p = False,
    top_features: opt.TopFeatures = None,
    rank: Annotated[int | None, model_option(min=1, help="Rank; from the singular values if not given.")] = None,
    no_compression: Annotated[
        bool, model_option("--no-compression", help="Solve on the whole matrix, without truncating to a rank.")
    ] = False,
    scaling: Annotated[
        RecoveryScaling, model_option(help="Scale features to a common unit; auto: only if units differ.")
    ] = "auto",
    loss: Annotated[LossName, model_option(help="l1 and huber are robust to outliers, l2 suits dense noise.")] = "l1",
    neighbors: opt.Neighbors = None,
    downsampling: opt.Downsampling = None,
    gamma_samples: opt.GammaSamples = None,
    gamma_features: opt.GammaFeatures = None,
    seed: opt.Seed = 0,
    threads: opt.Threads = None,
    as_json: opt.AsJson = False,
    debug: opt.Debug = False,
) -> None:
    """Recover a low-rank matrix from a table with outliers and noise, and write it with its names.

    Existing files of these names are replaced.

    For example:

    graphlowrank recover sensors.csv -o clean.csv -s errors.csv

    graphlowrank recover faces/ --rank 20 -o clean.npy -r report.html

    graphlowrank recover data.parquet --no-compression --loss l2 -o clean.parquet --json
    """
    given = _given(
        n_neighbors=neighbors, downsampling=parse_downsampling(downsampling), gamma_samples=gamma_samples,
        gamma_features=gamma_features,
    )  # fmt: skip
    if no_compression and "downsampling" in given:
        raise typer.BadParameter(
            "--no-compression works on the whole matrix: give one or the other, not both", param_hint="--downsampling"
        )
    if no_compression and scaling == "features":
        raise typer.BadParameter("--no-compression works in the units of the data", param_hint="--scaling")
    if not no_compression:
        given["scaling"] = scaling
    with brief_errors(debug=debug, command="recover"):
        from .fit import FitRequest
        from .prepare import Input, Preparation
        from .recover import run_recover

        options = {"n_components": rank, "loss": loss, "random_state": seed, "n_jobs": threads, **given}
        table = Input(source, key, header, index, graph, transpose)
        preparation = Preparation(normalize_counts, log1p, top_features)
        outputs = _given(output=output, sparse=sparse, report=report)
        request = FitRequest(table, preparation, outputs, options, _command())
        _run(lambda show: run_recover(request, show, compressed=not no_compression), as_json=as_json)


def plan_command(
    *,
    source: opt.Source,
    recover: Annotated[bool, Option("--recover", help="Plan recover instead of cluster.")] = False,
    clusters: Annotated[int, Option("--clusters", "-k", min=1, help="Number of clusters, or rank.")] = 10,
    key: opt.Key = None,
    header: opt.Header = None,
    index: opt.Index = None,
    transpose: opt.Transpose = False,
    top_features: opt.TopFeatures = None,
    neighbors: opt.Neighbors = None,
    downsampling: opt.Downsampling = None,
    threads: opt.Threads = None,
    as_json: opt.AsJson = False,
    debug: opt.Debug = False,
) -> None:
    """Predict the time and memory of cluster or recover on a table, from small fits to some of its rows.

    For example:

    graphlowrank plan cells.h5ad -k 12 --top-features 2000

    graphlowrank plan sensors.npy --recover --json
    """
    given = _given(n_neighbors=neighbors, downsampling=parse_downsampling(downsampling))
    with brief_errors(debug=debug, command="plan"):
        from .plan import run_plan
        from .prepare import Input

        with show_progress() as show:
            table = Input(source, key, header, index, None, transpose)
            options = {"n_jobs": threads, **given}
            found = run_plan(table, "recover" if recover else "cluster", clusters, top_features, options, show)
        typer.echo(to_json(found.as_dict()) if as_json else repr(found))


def _run(fit: Callable[[Show], tuple[dict[str, Any], str]], *, as_json: bool) -> None:
    with show_progress() as show:
        record, text = fit(show)
    typer.echo(to_json(record) if as_json else text)
    typer.echo(f"wrote {', '.join(record['written'].values())}", err=True)


def _parse_clusters(text: str) -> int:
    if not (text.isdecimal() and int(text) >= 1):
        raise typer.BadParameter(f"{text!r} is neither a positive whole number nor 'auto'", param_hint="--clusters")
    return int(text)


def _given(**values: Any) -> dict[str, Any]:
    """Return the options that were given; the estimators have their own defaults."""
    return {name: value for name, value in values.items() if value is not None}


def _command() -> str:
    return "graphlowrank " + shlex.join(sys.argv[1:])
