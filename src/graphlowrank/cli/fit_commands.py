"""Options and help of the commands that fit a model to a table; imports nothing heavy."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer import Option

from .._literals import ClusterScaling, RecoveryScaling
from .console import Show, brief_errors, print_result, show_progress, to_json
from .options import model_option, output_option, registered

SOLVER = "Model: auto (by held-out entries: the most accurate), frpcag (faster), rpca, rpcag or yours."
LOSS = "l1 and huber are robust to outliers, l2 suits dense noise; or a registered loss."
LABELS = "Labels to write: .csv, .tsv, .parquet, .json, .npz, .npy, or .h5ad, which may be the input itself."
MATRIX = "Low-rank matrix: .csv, .tsv, .parquet, .npy, .npz, .mat, .h5, .h5ad or .zarr; of images, a new folder."
TEXT = (".csv", ".tsv")
READING = ("key", "header", "index", "ignore", "label", "numeric", "transpose")
NOT_PLANNED = (
    "report", "quote_formulas", "graph", "normalize_counts", "log1p", "gamma_samples", "gamma_features", "seed"
)  # fmt: skip


def cluster_command(
    *,
    output: Annotated[
        Path, output_option("--output", "-o", metavar="LABELS", dir_okay=False, show_default=False, help=LABELS)
    ],
    clusters: Annotated[str, model_option("--clusters", "-k", metavar="N|auto", help="Number of clusters.")] = "auto",
    column: Annotated[str, output_option(help="Name of the labels in the file.")] = "label",
    scaling: Annotated[
        ClusterScaling, model_option(help="What to standardize first; counts: log(1 + x), samples of unit length.")
    ] = "auto",
    draws: Annotated[int, model_option(min=1, max=1000, help="Draws of samples to form a consensus of.")] = 1,
    **given: Any,
) -> None:
    """Cluster the samples of a table, and write a label and its confidence for each.

    The confidence is the membership of a sample in its cluster, 0 to 1. An existing file of that name is replaced. An
    AnnData file (.h5ad) may be both input and output: labels are added to obs, principal scores to obsm. If all its
    values are counts, they are normalized, and the 2000 most variable features are kept.

    For example:

    graphlowrank cluster wine.csv -k 3 -o labels.csv

    graphlowrank cluster cells.h5ad -o cells.h5ad -r report.html

    graphlowrank cluster cells.h5ad --graph connectivities -o labels.parquet --json
    """
    options = {"n_clusters": _parse_clusters(clusters), "scaling": scaling, "n_draws": draws}
    with brief_errors(debug=given["debug"], command="cluster"):
        from .cluster import run_cluster

        _run(lambda request, show: run_cluster(request, column, show), {"output": output}, options, given)


def recover_command(
    *,
    output: Annotated[Path, output_option("--output", "-o", metavar="MATRIX", show_default=False, help=MATRIX)],
    sparse: Annotated[
        Path | None, output_option("--sparse", "-s", help="Residual to write, data minus low-rank matrix.")
    ] = None,
    rank: Annotated[int | None, model_option(min=1, help="Rank; from the singular values if not given.")] = None,
    no_compression: Annotated[
        bool, model_option("--no-compression", help="Solve on the whole matrix, without truncating to a rank.")
    ] = False,
    solver: Annotated[str, registered("graphlowrank.models:SOLVERS", SOLVER, "auto")] = "auto",
    scaling: Annotated[
        RecoveryScaling, model_option(help="Scale features to a common unit; auto: only if units differ.")
    ] = "auto",
    loss: Annotated[str, registered("graphlowrank.models.losses:LOSSES", LOSS)] = "l1",
    **given: Any,
) -> None:
    """Recover a low-rank matrix from a table with outliers and noise, and write it with its names.

    Existing files of these names are replaced.

    For example:

    graphlowrank recover sensors.csv -o clean.csv -s errors.csv

    graphlowrank recover faces/ --rank 20 -o cleaned/ -r report.html

    graphlowrank recover data.parquet --no-compression --loss l2 -o clean.parquet --json
    """
    if no_compression and given["downsampling"] is not None:
        raise typer.BadParameter(
            "--no-compression works on the whole matrix: give one or the other, not both", param_hint="--downsampling"
        )
    if no_compression and scaling == "features":
        raise typer.BadParameter("--no-compression works in the units of the data", param_hint="--scaling")
    if no_compression and solver != "auto":
        raise typer.BadParameter("--no-compression is FRPCAG: give one or the other", param_hint="--solver")
    options = {"n_components": rank, "loss": loss, **({} if no_compression else {"scaling": scaling, "solver": solver})}
    with brief_errors(debug=given["debug"], command="recover"):
        from .recover import run_recover

        outputs = {"output": output, "sparse": sparse}
        _run(lambda request, show: run_recover(request, show, compressed=not no_compression), outputs, options, given)


def _run(
    run: Callable[[Any, Show], tuple[dict[str, Any], str]], outputs: dict[str, Path | None], options: dict[str, Any],
    given: dict[str, Any],
) -> None:  # fmt: skip
    """Run ``cluster`` or ``recover`` with its own outputs and options and with the table options ``given``."""
    from .fit import FitRequest

    if given["quote_formulas"] and any(path.suffix.lower() not in TEXT for path in outputs.values() if path):
        raise typer.BadParameter(f"this is for {' and '.join(TEXT)} outputs", param_hint="--quote-formulas")
    chosen = {name: given[name] for name in ("downsampling", "gamma_samples", "gamma_features")}
    chosen["n_neighbors"] = given["neighbors"]
    request = FitRequest(
        given["source"],
        _without_none({name: given[name] for name in (*READING, "graph")}),
        {name: given[name] for name in ("normalize_counts", "log1p", "top_features")},
        _without_none({**outputs, "report": given["report"]}),
        given["quote_formulas"],
        {**options, "random_state": given["seed"], "n_jobs": given["threads"], **_without_none(chosen)},
    )
    with show_progress() as show:
        record, text = run(request, show)
    print_result(record, text, record["written"].values(), as_json=given["as_json"])


def plan_command(
    *,
    recover: Annotated[bool, Option("--recover", help="Plan recover instead of cluster.")] = False,
    clusters: Annotated[int, Option("--clusters", "-k", min=1, help="Number of clusters, or rank.")] = 10,
    **given: Any,
) -> None:
    """Predict the time and memory of cluster or recover on a table, from small fits to some of its rows.

    For example:

    graphlowrank plan cells.h5ad -k 12 --top-features 2000

    graphlowrank plan sensors.npy --recover --json
    """
    with brief_errors(debug=given["debug"], command="plan"):
        from .plan import run_plan

        task: Literal["recover", "cluster"] = "recover" if recover else "cluster"
        reading = _without_none({name: given[name] for name in READING})
        names = {"n_jobs": "threads", "n_neighbors": "neighbors", "downsampling": "downsampling"}
        options = _without_none({name: given[option] for name, option in names.items()})
        with show_progress() as show:
            found, columns = run_plan(given["source"], reading, task, clusters, given["top_features"], options, show)
        record = {**found.as_dict(), "columns": columns}
        typer.echo(to_json(record) if given["as_json"] else repr(found))


def _parse_clusters(text: str) -> int | str:
    if text == "auto":
        return text
    if not (text.isdecimal() and int(text) >= 1):
        raise typer.BadParameter(f"{text!r} is neither a positive whole number nor 'auto'", param_hint="--clusters")
    return int(text)


def _without_none(values: dict[str, Any]) -> dict[str, Any]:
    """Return the options that were given; the estimators have their own defaults."""
    return {name: value for name, value in values.items() if value is not None}
