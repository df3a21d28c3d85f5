"""The commands ``cluster`` and ``recover`` for data that do not fit in memory.

The model is fitted to rows that are read block by block. Where the answer is an extension of it to all rows, blocks of
the answer are kept in a folder beside the output, and a command that was stopped goes on there.
"""

import json
import sys
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .._files import remove, target_of, temporary_beside
from .._progress import Event, Listener, Progress, listening
from .._threads import limit_threads, resolve_n_jobs
from ..estimators.persistence import load
from ..options import Options
from ..outofcore.checks import float_type
from ..outofcore.method import fit_bytes
from ..outofcore.resume import (
    DATA,
    MANIFEST,
    PartialOutput,
    Plain,
    ResumeError,
    begun,
    continued,
    create_arrays,
    identity_of,
    partial_folder,
)
from ..outofcore.settings import large_data
from ..outofcore.sizes import PROCESS_BYTES
from ..outofcore.sources import Source, open_in_blocks
from ..preprocessing.rows import fixed_blocks
from .console import RemedyError, Show, print_warnings
from .fit import check_counts
from .large_answers import Answer
from .options import to_option_names
from .outputs import check_distinct, check_output
from .workers import LargeOptions, computing

MODEL = "fitted.model"
FEWEST = 2000  # rows of the smallest first level
PAUSE = 5.0  # seconds between lines about blocks
SHORT = 0.1  # seconds of a stage that is not worth a line
STAGE = "answer for all samples"  # "extension" is that of the fit
NAMES = "Rows are in the order of the input; names of samples and features are neither read nor written."
GO_ON = "repeat the options of that run to continue it, or give --restart to begin anew and remove what it kept"


@dataclass(frozen=True)
class LargeRequest:
    """What to fit, and where to write the results."""

    path: Path
    key: str | None
    output: Path
    options: dict[str, Any]  # of the estimator
    large: LargeOptions


def run_large(request: LargeRequest, answer: Answer, show: Show) -> tuple[dict[str, Any], str]:
    """Fit, extend to all rows, and write; return the record for JSON and the text to print."""
    begin, large, n_jobs = time.perf_counter(), request.large, request.options["n_jobs"]
    large.check()
    with print_warnings(to_option_names) as warnings, limit_threads(n_jobs), listening(_follower(show)):
        show(f"opening {request.path}")
        source = _checked_source(request, answer)
        partial_of = _Partial.of(request, answer, source)
        with computing(large, n_jobs, request.path.absolute(), show), partial_of.opened(show) as (model, partial):
            seconds = _extend(answer, model, source, partial)
            show("writing")
            outcome = answer.outcome(model, partial.facts)
            answer.finish(partial, request.output)
        remove(partial_of.folder)
    n_samples, n_features = source.shape
    fitted = repr(model.report_).splitlines()
    method = _choice(model, "method")
    summary = [
        f"{n_samples} samples x {n_features} features of {request.path.name}.",
        NAMES,
        outcome.sentence,
        f"Method {method.value}: {method.reason}. Extension to all samples {seconds:.1f} s, in all "
        f"{time.perf_counter() - begin:.1f} s.",
    ]
    record = {
        "input": str(request.path), "written": {"output": str(request.output)}, "samples": n_samples,
        "features": n_features, "columns": None, "prepared": [], **outcome.values, "method": str(method.value),
        "resumed_blocks": partial_of.n_kept, "fit": model.report_.as_dict(), "warnings": list(warnings),
    }  # fmt: skip
    return record, "\n".join([*summary, "", *fitted[2:]])


def _checked_source(request: LargeRequest, answer: Answer) -> Source:
    """Open the input, and raise what can be known before hours of work."""
    path, output, large = request.path, request.output, request.large
    if not path.exists():
        raise FileNotFoundError(f"there is no file or folder {path}.")
    if large.scratch is not None and not large.scratch.is_dir():
        raise RemedyError(f"--scratch {large.scratch} is not a folder.", "make it, or choose another one")
    memory = large.n_bytes
    answer.check_output(output)
    check_distinct({"the input": path}, {"output": output})
    try:
        source = open_in_blocks(path.absolute() if large.cluster else path, request.key)
    except ValueError as error:
        if "not read in parts" not in str(error):
            raise
        remedy = "convert it to .npy, .zarr, .h5 or .parquet, or omit --memory and the like to read it whole"
        raise RemedyError(str(error).split("; ")[0] + ".", remedy) from error
    check_counts(request.options, *source.shape)
    check_output(output)
    answer.check_size(source, output, memory)
    n, p = source.shape
    itemsize = float_type(source.array.dtype).itemsize
    n_threads = resolve_n_jobs(request.options["n_jobs"])
    least = fit_bytes(answer.task, (min(n, FEWEST), p), itemsize, Options.of(request.options), n_threads)
    if least > memory:
        raise RemedyError(
            f"--memory {large.memory or f'{memory / 1e9:.2g} GB'} is too little: Python with its libraries takes "
            f"{PROCESS_BYTES / 1e9:.2g} GB, and with a fit of {min(n, FEWEST)} samples x {p} features "
            f"{least / 1e9:.2g} GB.",
            f"give at least --memory {_rounded_up(least)}",
        )
    return source


def _rounded_up(n_bytes: float) -> str:
    return f"{-(-n_bytes // 5e7) * 5e7 / 1e9:.4g}GB"


@dataclass
class _Partial:
    """Where the answer grows, and the model that it is computed from."""

    request: LargeRequest
    answer: Answer
    source: Source
    folder: Path
    description: Mapping[str, Plain]
    n_kept: int = 0  # blocks of an earlier run

    @classmethod
    def of(cls, request: LargeRequest, answer: Answer, source: Source) -> "_Partial":
        """Describe the run; begin anew if asked to."""
        folder = partial_folder(target_of(request.output))
        if request.large.restart and (folder / MANIFEST).exists():
            remove(folder)
        if folder.exists() and not (folder / MANIFEST).exists():
            raise RemedyError(f"{folder} is in the way: it was not made by this command.", "move it, or remove it")
        names = {name: _plain(value) for name, value in request.options.items() if name != "n_jobs"}
        about = {
            "command": answer.task, **identity_of(request.path), "key": request.key,
            "shape": f"{source.shape[0]} x {source.shape[1]}", "dtype": str(source.array.dtype), **answer.description,
            **{to_option_names(name, answer.task): value for name, value in names.items()},
            "--method": request.large.method,
        }  # fmt: skip
        return cls(request, answer, source, folder, about)

    @contextmanager
    def opened(self, show: Show) -> Iterator[tuple[Any, PartialOutput]]:
        """Yield the model, and the output to add blocks to: that of an earlier run, or a new one."""
        try:
            with self._continued(show) if self.folder.exists() else self._begun(show) as found:
                yield found
        except ResumeError as error:
            raise RemedyError(str(error), GO_ON) from error

    @property
    def blocks(self) -> list[slice]:
        """Blocks of rows."""
        return fixed_blocks(self.source.shape)

    @contextmanager
    def _continued(self, show: Show) -> Iterator[tuple[Any, PartialOutput]]:
        with continued(self.folder, self.description, self.blocks) as partial:
            self.n_kept = len(partial.facts)
            method = str(partial.settled["method"])
            done = f"{self.n_kept} of {len(self.blocks)} blocks are done"
            if self.answer.is_stored(method):
                show(f"continuing {self.folder}: {done}, and the model is that of the first run")
                model = load(self.folder / MODEL)
            else:
                show(f"continuing {self.folder}: {done}; the model is fitted again, with the same seed")
                model = self._fit(method)
                if _fingerprint(model) != partial.settled["fingerprint"]:
                    raise ResumeError(f"the model is not that of {self.folder}, as it should be with the same seed.")
            with self._noting(partial):
                yield model, partial

    @contextmanager
    def _begun(self, show: Show) -> Iterator[tuple[Any, PartialOutput]]:
        n, p = self.source.shape
        show(f"fitting {n} samples x {p} features")
        model = self._fit(self.request.large.method)
        method = str(_choice(model, "method").value)
        columns = self.answer.columns(model, self.source)
        if not self.answer.is_extension(method):  # the answer is in memory: it is written at once
            with temporary_beside(self.folder) as place:
                create_arrays(place / DATA, self.blocks, columns)
                yield model, PartialOutput(place, self.blocks, {})
            return
        settled: dict[str, Plain] = {"method": method, "fingerprint": _fingerprint(model)}
        store: Callable[[Path], None] = lambda folder: model.save(folder / MODEL)  # noqa: E731
        opened = begun(self.folder, self.description, settled, self.blocks, columns, store)
        with opened as partial, self._noting(partial):
            yield model, partial

    def _fit(self, method: str) -> Any:
        large = self.request.large
        with large_data(memory=large.n_bytes, folder=large.scratch, method=method):  # type: ignore[arg-type]
            return self.answer.estimator(**self.request.options).fit(self.source)

    @contextmanager
    def _noting(self, partial: PartialOutput) -> Iterator[None]:
        """Say of an exception what is kept."""
        try:
            yield
        except BaseException as error:
            error.add_note(
                f"{len(partial.facts)} of {len(partial.blocks)} blocks are kept in {self.folder}: the same command "
                "continues there"
            )
            raise


def _extend(answer: Answer, model: Any, source: Source, partial: PartialOutput) -> float:
    """Add the blocks that are missing; return the seconds."""
    progress = Progress()
    with progress.stage(STAGE):
        method = str(_choice(model, "method").value)
        for arrays, facts in answer.results(model, source, method, partial.rest):
            partial.add(arrays, facts)
    return progress.seconds[STAGE]


def _choice(model: Any, name: str) -> Any:
    return next(choice for choice in model.report_.choices if choice.name == name)


def _fingerprint(model: Any) -> int:
    """Checksum of what the answer is computed from."""
    arrays = [getattr(model, name, None) for name in ("components_", "offset_", "singular_values_", "cluster_centers_")]
    found = 0
    for one in arrays:
        found = zlib.crc32(b"" if one is None else np.ascontiguousarray(one).tobytes(), found)
    return found


def _plain(value: Any) -> Plain:
    found: Plain = json.loads(json.dumps(value, default=str))
    return found


def _follower(show: Show) -> Listener:
    """Show stages and blocks: on a terminal what is being done, elsewhere a line at the end of a stage, and a few."""
    live, last = sys.stderr.isatty(), time.monotonic()

    def follow(event: Event) -> None:
        nonlocal last
        if event.seconds is not None:
            if not live and event.seconds >= SHORT:
                show(f"{event.stage}: {event.seconds:.1f} s")
                last = time.monotonic()
            return
        if live or (event.detail and time.monotonic() - last > PAUSE):
            show(f"{event.stage}: {event.detail}" if event.detail else event.stage)
            last = time.monotonic()

    return follow
