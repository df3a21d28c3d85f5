"""Options and help of the commands that fit a model to a table; imports nothing heavy."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer import Option

from .._literals import ClusterScaling, RecoveryScaling
from .console import Show, brief_errors, print_result, show_progress, to_json
from .options import model_option, output_option, registered

SOLVER = "Model: auto (by held-out entries: the most accurate), frpcag (faster), rpca, rpcag or yours."
LOSS = "l1 and huber are robust to outliers, l2 suits dense noise; or a registered loss."
LABELS = (
    "Labels to write: .csv, .tsv, .parquet, .json, .npz, .npy, or .h5ad, which may be the input itself; with --memory "
    "also .zarr."
)
MATRIX = "Low-rank matrix: .csv, .tsv, .parquet, .npy, .npz, .mat, .h5, .h5ad or .zarr; of images, a new folder."
TEXT = (".csv", ".tsv")
PLANNED = 10  # clusters, or rank
LARGE = ("memory", "method", "workers", "cluster", "scratch")  # any of which means that data may not fit in memory
WHOLE_ONLY = (  # what needs the table in memory
    "report", "quote_formulas", "header", "index", "ignore", "label", "numeric", "transpose", "graph",
    "normalize_counts", "log1p", "top_features", "sparse", "no_compression",
)  # fmt: skip
READING = ("key", "header", "index", "ignore", "label", "numeric", "transpose")
NOT_PLANNED = (
    "report", "quote_formulas", "graph", "normalize_counts", "log1p", "gamma_samples", "gamma_features", "seed",
    "workers", "cluster", "scratch", "restart",
)  # fmt: skip


def cluster_command(
    *,
    output: Annotated[Path, output_option("--output", "-o", metavar="LABELS", show_default=False, help=LABELS)],
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

    graphlowrank cluster big.zarr -k 10 -o labels.zarr --memory 4GB --workers 2
    """
    options = {"n_clusters": _parse_clusters(clusters), "scaling": scaling, "n_draws": draws}
    is_large = _is_large(given)
    if _is_folder(output) and not (is_large and output.suffix.lower() == ".zarr"):
        raise typer.BadParameter(f"File {str(output)!r} is a directory.", param_hint="'--output' / '-o'")
    with brief_errors(debug=given["debug"], command="cluster"):
        if is_large:
            from .large_answers import LabelAnswer

            _run_large(LabelAnswer(column), output, options, given)
            return
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

    graphlowrank recover big.zarr -o clean.zarr --memory 4GB
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
    is_large = _is_large({**given, "sparse": sparse, "no_compression": no_compression})
    with brief_errors(debug=given["debug"], command="recover"):
        if is_large:
            from .large_answers import MatrixAnswer

            _run_large(MatrixAnswer(), output, options, given)
            return
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
    request = FitRequest(
        given["source"],
        _without_none({name: given[name] for name in (*READING, "graph")}),
        {name: given[name] for name in ("normalize_counts", "log1p", "top_features")},
        _without_none({**outputs, "report": given["report"]}),
        given["quote_formulas"],
        _estimator_options(options, given),
    )
    with show_progress() as show:
        record, text = run(request, show)
    print_result(record, text, record["written"].values(), as_json=given["as_json"])


def _run_large(answer: Any, output: Path, options: dict[str, Any], given: dict[str, Any]) -> None:
    """Run ``cluster`` or ``recover`` for data that may not fit in memory."""
    from .large import LargeRequest, run_large
    from .workers import LargeOptions

    large = LargeOptions(
        **{name: given[name] for name in ("memory", "workers", "cluster", "scratch", "restart")},
        method=given["method"] or "auto",
    )
    request = LargeRequest(given["source"], given["key"], output, _estimator_options(options, given), large)
    with show_progress() as show:
        record, text = run_large(request, answer, show)
    print_result(record, text, record["written"].values(), as_json=given["as_json"])


def _estimator_options(options: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    chosen = {name: given[name] for name in ("downsampling", "gamma_samples", "gamma_features")}
    chosen["n_neighbors"] = given["neighbors"]
    return {**options, "random_state": given["seed"], "n_jobs": given["threads"], **_without_none(chosen)}


def _is_folder(path: Path) -> bool:
    """Whether a path is a folder; an error about it, such as a name that is too long, comes with others later."""
    with suppress(OSError):
        return path.is_dir()
    return False


def _is_large(given: dict[str, Any]) -> bool:
    """Whether an option says that the data may not fit in memory; raise if another one needs them there."""
    used = [f"--{name}" for name in LARGE if given.get(name) is not None]
    if not used:
        if given.get("restart"):
            raise typer.BadParameter("there is something to continue only with --memory, --workers or --cluster",
                                     param_hint="--restart")  # fmt: skip
        return False
    for name in WHOLE_ONLY:
        if given.get(name) not in (None, False, []):
            option = f"--{name.replace('_', '-')}"
            raise typer.BadParameter(
                f"it needs the whole table in memory, and {used[0]} reads it in parts: give one or the other",
                param_hint=option,
            )
    return True


def plan_command(
    *,
    recover: Annotated[bool, Option("--recover", help="Plan recover instead of cluster.")] = False,
    clusters: Annotated[
        int | None, Option("--clusters", "-k", min=1, help="Number of clusters, or rank; 10 if not given.")
    ] = None,
    **given: Any,
) -> None:
    """Predict the time and memory of cluster or recover on a table, from small fits to some of its rows.

    With --memory, say whether all data are fitted in memory, all on disk, or some samples, and why; nothing is timed.

    For example:

    graphlowrank plan cells.h5ad -k 12 --top-features 2000

    graphlowrank plan sensors.npy --recover --json

    graphlowrank plan big.zarr -k 10 --memory 4GB
    """
    is_large = _is_large(given)
    with brief_errors(debug=given["debug"], command="plan"):
        from .plan import run_large_plan, run_plan

        task: Literal["recover", "cluster"] = "recover" if recover else "cluster"
        reading = _without_none({name: given[name] for name in READING})
        names = {"n_jobs": "threads", "n_neighbors": "neighbors", "downsampling": "downsampling"}
        options = _without_none({name: given[option] for name, option in names.items()})
        if is_large:
            k = clusters if recover else clusters or PLANNED  # recovery chooses the rank if it is not given
            method = run_large_plan(given["source"], given["key"], task, k, options, given["memory"], given["method"])
            typer.echo(to_json(method.as_dict()) if given["as_json"] else repr(method))
            return
        with show_progress() as show:
            found, columns = run_plan(
                given["source"], reading, task, clusters or PLANNED, given["top_features"], options, show
            )
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
