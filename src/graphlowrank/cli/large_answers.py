"""What ``cluster`` and ``recover`` compute for each block of rows of data that do not fit in memory."""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
import typer

from .._files import target_of
from .._typing import Array
from ..decoders.scores import component_samples
from ..estimators import CompressiveClustering, CompressivePCA
from ..io import write_labels
from ..io.labels import CONFIDENCE, check_labels_path
from ..outofcore.checks import float_type
from ..outofcore.resume import Column, PartialOutput, Plain
from ..outofcore.sources import Source
from ..outofcore.tasks import compute_in_order
from ..preprocessing.rows import fixed_blocks
from .cluster import summarize_clusters
from .console import RemedyError
from .fit import Outcome
from .outputs import all_or_none
from .recover import summarize_recovery

ZARR = ".zarr"
LABEL_BYTES = {".npy": 50, ".npz": 100}  # of a sample while its label is written; in other formats it takes a name, too
NAMED_BYTES = 400
MATRIX = "X"  # as in other .zarr outputs

Block = tuple[dict[str, Array], dict[str, Plain]]  # arrays of a block, and facts about it


class Answer(Protocol):
    """An answer for each row, block by block."""

    task: ClassVar[Literal["cluster", "recover"]]
    estimator: ClassVar[type]

    @property
    def description(self) -> Mapping[str, Plain]:
        """Options of the answer that are not those of the estimator."""

    def check_output(self, output: Path) -> None:
        """Raise unless the answer can be written under this name."""

    def check_size(self, source: Source, output: Path, memory: int) -> None:
        """Raise unless memory and disk suffice for the output."""

    def is_extension(self, method: str) -> bool:
        """Whether the answer is computed from rows when it is written, not in the fit."""

    def is_stored(self, method: str) -> bool:
        """Whether the file of the model is all that an extension needs."""

    def columns(self, model: Any, source: Source) -> Sequence[Column]:
        """Arrays of the output."""

    def results(self, model: Any, source: Source, method: str, rest: range) -> Iterator[Block]:
        """Yield blocks of these numbers, in order."""

    def outcome(self, model: Any, facts: Sequence[Mapping[str, Any]]) -> Outcome:
        """Describe the answer from the facts of all blocks."""

    def finish(self, partial: PartialOutput, output: Path) -> None:
        """Give the output its name."""


@dataclass(frozen=True)
class LabelAnswer:
    """A label and its confidence for each sample."""

    column: str

    task: ClassVar[Literal["cluster", "recover"]] = "cluster"
    estimator: ClassVar[type] = CompressiveClustering

    @property
    def description(self) -> Mapping[str, Plain]:
        """Name of the labels."""
        return {"--column": self.column}

    def check_output(self, output: Path) -> None:
        """Raise unless labels can be written under this name."""
        if output.suffix.lower() == ".h5ad":
            raise typer.BadParameter("an .h5ad output needs the names of the samples, which are not read from data in "
                                     "parts; give a name that ends in .zarr", param_hint="--output")  # fmt: skip
        # The column is checked by a format that has one.
        check_labels_path(Path("labels.csv") if output.suffix.lower() == ZARR else output, self.column)

    def check_size(self, source: Source, output: Path, memory: int) -> None:
        """Raise unless the labels fit in memory, if they are to be gathered."""
        kind = output.suffix.lower()
        needed = source.shape[0] * LABEL_BYTES.get(kind, NAMED_BYTES)
        if kind != ZARR and needed > memory:
            raise RemedyError(
                f"labels of {source.shape[0]} samples as {kind} need about {needed / 1e9:.2g} GB of memory, and "
                f"{memory / 1e9:.3g} GB may be used.",
                "give a name that ends in .zarr, which is written in parts",
            )

    def is_extension(self, method: str) -> bool:
        """Whether labels come from the nearest samples that were fitted."""
        return method == "two_level"

    def is_stored(self, method: str) -> bool:
        """Return True: a stored model predicts labels."""
        return True

    def columns(self, model: Any, source: Source) -> Sequence[Column]:
        """Label and confidence."""
        return Column(self.column, np.dtype(np.int64)), Column(CONFIDENCE, float_type(source.array.dtype))

    def results(self, model: Any, source: Source, method: str, rest: range) -> Iterator[Block]:
        """Labels of blocks, on threads or workers if they are computed from the rows."""
        from dask import delayed

        n_clusters = model.n_clusters_
        if self.is_extension(method):
            memberships, call = model.block_answers("transform", source), delayed(label_rows, pure=False)
            found = compute_in_order([call(memberships[number]) for number in rest], _names(source, rest))
        else:
            whole = [one.compute(scheduler="synchronous") for one in (model.labels_, model.confidence_)]
            blocks = fixed_blocks(source.shape)
            found = ((whole[0][blocks[number]], whole[1][blocks[number]]) for number in rest)
        for labels, confidence in found:
            facts: dict[str, Plain] = {
                "sizes": np.bincount(labels, minlength=n_clusters).tolist(),
                "confidence": float(confidence.sum(dtype=np.float64)),
            }
            yield {self.column: labels, CONFIDENCE: confidence}, facts

    def outcome(self, model: Any, facts: Sequence[Mapping[str, Any]]) -> Outcome:
        """Sizes and mean confidence."""
        sizes = np.sum([one["sizes"] for one in facts], axis=0).tolist()
        mean = sum(one["confidence"] for one in facts) / sum(sizes)
        return summarize_clusters(sizes, mean, float(model.conductance_))

    def finish(self, partial: PartialOutput, output: Path) -> None:
        """Move the zarr folder, or gather the labels."""
        if output.suffix.lower() == ZARR:
            _move(partial, output)
            return
        import zarr

        group: Any = zarr.open_group(store=str(partial.data), mode="r")
        with all_or_none({"output": output}) as places:
            write_labels(
                places["output"], group[self.column][:], confidence=group[CONFIDENCE][:], column=self.column
            )  # fmt: skip


@dataclass(frozen=True)
class MatrixAnswer:
    """The recovered rows."""

    task: ClassVar[Literal["cluster", "recover"]] = "recover"
    estimator: ClassVar[type] = CompressivePCA

    @property
    def description(self) -> Mapping[str, Plain]:
        """Nothing."""
        return {}

    def check_output(self, output: Path) -> None:
        """Raise unless the name is one of zarr."""
        if output.suffix.lower() != ZARR:
            raise typer.BadParameter(
                f"{output} cannot be written in parts; give a name that ends in .zarr", param_hint="--output"
            )

    def check_size(self, source: Source, output: Path, memory: int) -> None:
        """Raise unless the matrix fits on the disk."""
        n, p = source.shape
        needed = n * p * float_type(source.array.dtype).itemsize
        free = shutil.disk_usage(target_of(output).parent).free
        if needed > free:
            raise RemedyError(
                f"{output} needs up to {needed / 1e9:.3g} GB, and {free / 1e9:.3g} GB are free there.",
                "free some space on the disk, or choose another place for the output",
            )

    def is_extension(self, method: str) -> bool:
        """Whether rows are computed from the data."""
        return method in ("two_level", "out_of_core")

    def is_stored(self, method: str) -> bool:
        """Whether it only projects rows on its components; what denoises them out of core is not stored."""
        return method == "two_level"

    def columns(self, model: Any, source: Source) -> Sequence[Column]:
        """Return the array of the matrix."""
        return (Column(MATRIX, float_type(source.array.dtype), source.shape[1]),)

    def results(self, model: Any, source: Source, method: str, rest: range) -> Iterator[Block]:
        """Rows of the matrix, from their scores."""
        import dask

        if method == "two_level":
            parts = model.block_answers("transform", source)
        else:
            parts = model.low_rank_.scores.to_delayed().ravel()
        rows = source.array.to_delayed().ravel()
        call = dask.delayed(recovered_rows, pure=False)
        parameters = (model.components_, model.offset_, model.feature_scale_)
        tasks = [call(parts[number], rows[number], *parameters) for number in rest]
        # Scores in memory are not sent to workers.
        place = {} if self.is_extension(method) else {"scheduler": "threads"}
        with dask.config.set(place):
            for found, residual, total in compute_in_order(tasks, _names(source, rest)):
                yield {MATRIX: found}, {"residual": residual, "data": total}

    def outcome(self, model: Any, facts: Sequence[Mapping[str, Any]]) -> Outcome:
        """Rank and residual."""
        residual, total = (sum(one[name] for one in facts) for name in ("residual", "data"))
        return summarize_recovery(model, float(np.sqrt(residual / total)) if total > 0 else 0.0)

    def finish(self, partial: PartialOutput, output: Path) -> None:
        """Move the zarr folder."""
        _move(partial, output)


def label_rows(memberships: Array) -> tuple[Array, Array]:
    """Return the cluster of the largest membership in each row, and this membership."""
    return memberships.argmax(axis=1), memberships.max(axis=1)


def recovered_rows(
    scores: Array, X: Array, components: Array, offset: Array, units: Array | None
) -> tuple[Array, float, float]:
    """Return rows of the recovered matrix, and the sums of squares of their residual and of the centered data."""
    rows = component_samples(scores, components, offset, units)
    one = 1.0 if units is None else units
    residual, centered = (np.square((X - other) / one, dtype=np.float64) for other in (rows, offset))
    return rows, float(np.nansum(residual)), float(np.nansum(centered))


def _names(source: Source, numbers: range) -> list[str]:
    blocks = fixed_blocks(source.shape)
    return [f"rows {blocks[one].start} to {blocks[one].stop - 1} of {source.name}" for one in numbers]


def _move(partial: PartialOutput, output: Path) -> None:
    with all_or_none({"output": output}) as places:
        partial.data.rename(places["output"])
