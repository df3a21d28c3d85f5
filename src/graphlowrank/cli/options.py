"""Options that several commands share, and how their parameters are named in messages; imports nothing heavy."""

import re
from collections.abc import Callable
from functools import partial
from inspect import Parameter, Signature, signature
from math import inf
from pathlib import Path
from pkgutil import resolve_name
from typing import Annotated, Any, Literal

import typer
from typer import Argument, Option
from typer.core import TyperCommand

# Options by panel of the help.
input_option = partial(Option, rich_help_panel="Input")
preprocessing_option = partial(Option, rich_help_panel="Preprocessing")
model_option = partial(Option, rich_help_panel="Model")
output_option = partial(Option, rich_help_panel="Output")
large_option = partial(Option, rich_help_panel="Data that do not fit in memory")

FORMATS = ".csv, .tsv (also .gz), .parquet, .npy, .npz, .mat, .h5, .h5ad, .zarr, .mtx, or a folder of images"
HEADER = "Whether a text file has a header; detected if not given."
INDEX = "Whether the first column has sample names; detected if not given."
IGNORE = "Column to leave out, by name, or by number from 1 without a header; may be repeated."
LABEL = "Column that is a label, not a feature; clusters are compared with it."
NUMERIC = "Column that is a feature whatever it looks like; $, % and 1,000 are parsed in it; may be repeated."
QUOTE = "In text, write ' before names that a spreadsheet would run, such as =cmd."
TOP_FEATURES = "Keep the N most variable features."
NORMALIZE = "Normalize samples to the same total, then log(1 + x); cluster: counts of an .h5ad, unless --no-..."

MEMORY = "Memory that each process may use, such as 4GB; half of the machine's if not given."
METHOD = "Fit all in memory, all on disk, or some samples and extend the answer; auto: the first that fits."
WORKERS = "Start N worker processes of dask, each with --threads threads (1 if not given)."
CLUSTER = "Use the workers of a scheduler of dask, tcp://host:port; they must see the input."
SCRATCH = "Folder for temporary files, which workers must see; that of the system if not given."
RESTART = "Begin anew instead of continuing what an interrupted run has kept beside the output."

Seed = Annotated[int, model_option(min=0, max=2**32 - 1, help="Random seed.")]
Threads = Annotated[int | None, model_option(min=1, help="Number of threads; all cores if not given.")]
ReportPage = Annotated[Path | None, output_option("--report", "-r", dir_okay=False, help="HTML report to write.")]
AsJson = Annotated[bool, output_option("--json", help="Print JSON instead of text.")]
Debug = Annotated[bool, Option("--debug", help="Show the traceback of an error.")]


def registered(registry: str, text: str, *others: str) -> Any:
    """Option for a name in a registry, which is imported when the option is read, not when the command starts."""

    def parse(name: str) -> str:
        if name not in (names := [*others, *resolve_name(registry)]):
            raise typer.BadParameter(f"{name!r} is not one of {', '.join(map(repr, names))}.")
        return name

    return model_option(parser=parse, metavar="NAME", help=text)


def _parse_downsampling(words: tuple[str, str] | None) -> tuple[float, float] | None:
    """Return two numbers >= 1; None for "auto" and for None."""
    if words is None or words == ("auto", "auto"):
        return None
    numbers = []
    for word in words:
        try:
            numbers.append(float(word))
        except ValueError:
            numbers.append(0.0)
        if not 1 <= numbers[-1] < inf:
            raise typer.BadParameter(
                f"{word!r} is not a number >= 1: give two of them, or 'auto' alone", param_hint="--downsampling"
            )
    return numbers[0], numbers[1]


DOWNSAMPLING = model_option(
    None, metavar="A B|auto", show_default="auto", help="Keep 1/A of the samples and 1/B of the features.",
    callback=_parse_downsampling,
)  # fmt: skip
# Of the commands that fit a model to a table: type, and default or option of each.
TABLE_OPTIONS: dict[str, tuple[Any, Any]] = {
    "source": (Path, Argument(metavar="FILE", show_default=False, help=f"Table, samples in rows: {FORMATS}.")),
    "report": (ReportPage, None),
    "quote_formulas": (Annotated[bool, output_option("--quote-formulas", help=QUOTE)], False),
    "key": (str | None, input_option(None, "--key", "--layer", help="Array of the file; layer of an .h5ad.")),
    "header": (bool | None, input_option(None, "--header/--no-header", help=HEADER)),
    "index": (bool | None, input_option(None, "--index/--no-index", help=INDEX)),
    "ignore": (list[str] | None, input_option(None, metavar="COL", help=IGNORE)),
    "label": (str | None, input_option(None, metavar="COL", help=LABEL)),
    "numeric": (list[str] | None, input_option(None, metavar="COL", help=NUMERIC)),
    "transpose": (Annotated[bool, input_option("--transpose", help="Samples are columns.")], False),
    "graph": (str | None, input_option(None, metavar="KEY", help="Sample graph, in obsp of an .h5ad.")),
    "normalize_counts": (
        bool | None,
        preprocessing_option(None, "--normalize-counts/--no-normalize-counts", help=NORMALIZE),
    ),
    "log1p": (Annotated[bool, preprocessing_option("--log1p", help="Transform values by log(1 + x).")], False),
    "top_features": (int | None, preprocessing_option(None, min=1, metavar="N", help=TOP_FEATURES)),
    "neighbors": (int | None, model_option(None, min=1, help="Neighbors of each sample in its graph.")),
    "downsampling": (tuple[str, str] | None, DOWNSAMPLING),
    "gamma_samples": (float | None, model_option(None, min=0, help="Smoothness on the sample graph.")),
    "gamma_features": (float | None, model_option(None, min=0, help="Smoothness on the feature graph.")),
    "seed": (Seed, 0),
    "threads": (Threads, None),
    "memory": (str | None, large_option(None, metavar="SIZE", help=MEMORY)),
    "method": (Literal["auto", "whole", "out_of_core", "two_level"] | None, large_option(None, help=METHOD)),
    "workers": (int | None, large_option(None, min=1, metavar="N", help=WORKERS)),
    "cluster": (str | None, large_option(None, metavar="ADDRESS", help=CLUSTER)),
    "scratch": (Path | None, large_option(None, metavar="FOLDER", help=SCRATCH)),
    "restart": (Annotated[bool, large_option("--restart", help=RESTART)], False),
    "as_json": (AsJson, False),
    "debug": (Debug, False),
}


def with_table_options(command: Callable[..., None], *, without: tuple[str, ...] = ()) -> Callable[..., None]:
    """Add the table options to the signature, which typer reads, of a command that takes them as ``**given``."""
    own = [each for each in signature(command, eval_str=True).parameters.values() if each.name != "given"]
    shared = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        for name, (annotation, default) in TABLE_OPTIONS.items()
        if name not in without
    ]
    command.__signature__ = Signature([*own, *shared])  # type: ignore[attr-defined]
    return command


# Parameters of the library, as its messages name them, and the options that set them.
OPTION_NAMES = {
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
    "column(?= must)": "--column",  # elsewhere it is an ordinary word
    "memory(?==)": "--memory",
    "method(?==)": "--method",
    r"large_data\(folder=\.\.\.\)": "--scratch",
    "report_.alternatives_": "--seed",  # another one may lead to them
}


def to_option_names(text: str, command: str = "") -> str:
    """Replace parameter names in a message by the options of a command; names in quotes are those of the user."""
    names = OPTION_NAMES | ({"n_components": "--clusters"} if command == "plan" else {})
    for name, option in names.items():
        # Not inside a longer name or a file name; with its value, if there is one.
        pattern = rf"(?<![\w./'-]){name}(?![\w/'-]|\.\w)(?:=(\([^)]*\)|[^\s,;)]+))?"
        text = re.sub(pattern, lambda match, option=option: _with_value(option, match[1]), text)  # type: ignore[misc]
    return re.sub(r"\bn_(samples|features)=(\d+)", r"\2 \1", text)


def _with_value(option: str, value: str | None) -> str:
    words = re.findall(r"[^\s(),]+", value or "")
    return " ".join([option, *(f"{float(word):.4g}" if re.fullmatch(r"\d+\.\d+", word) else word for word in words)])


class FitCommand(TyperCommand):
    """Command whose ``--downsampling`` takes two words or "auto" alone; options take a fixed number of words."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Repeat "auto"."""
        words: list[str] = []
        for word in args:
            words += ["--downsampling", "auto"] if word == "--downsampling=auto" else [word]
            if words[-2:] == ["--downsampling", "auto"]:
                words.append("auto")
        return super().parse_args(ctx, words)
