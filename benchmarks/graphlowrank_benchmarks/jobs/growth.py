"""Growth: seconds and memory of our clustering, stage by stage, as the number of samples grows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from ..cells import GRAPH_STAGES, Outcome, Record, stopwatch
from ..data import clouds
from ..memory import StagePeaks, current_memory, peak_memory
from ..systems import ALGORITHM_3
from ..tables import Table, gigabytes, mean_text, seconds, slope, slope_text
from .base import Job, Options

SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000)
QUICK_SIZES = (1_000, 2_000, 4_000)
LARGE = 100_000  # slopes are fitted from this size on
STAGES = (*GRAPH_STAGES, "sampling", "reduction", "frpcag", "decoding")


class GrowthJob(Job):
    """The same clouds in growing numbers; the systems are the sizes."""

    name = "growth"
    title = "Growth"

    def systems(self, options: Options) -> tuple[str, ...]:
        """Return the numbers of samples."""
        return tuple(str(n) for n in (QUICK_SIZES if options.quick else SIZES))

    def warm_up(self, options: Options) -> tuple[str, ...]:
        """One size for each engine of the neighbor search; tiny data need no compiled code."""
        return () if options.quick else (str(SIZES[0]), str(LARGE))

    def prepare(self, folder: Path, options: Options, record: Record) -> None:
        """Nothing to store: each size makes its own points."""

    def run(self, system: str, folder: Path, options: Options, record: Record) -> None:
        """Cluster ``int(system)`` points."""
        with record.timing("load"):
            X, y = clouds(int(system))
        with record.timing("import"):
            from graphlowrank import CompressiveClustering
            from graphlowrank.metrics import clustering_error
        model = CompressiveClustering(
            10, downsampling=(10, 1), n_jobs=options.threads, random_state=0, verbose=1, **ALGORITHM_3
        )
        before = current_memory()
        with StagePeaks() as stages, stopwatch() as total:
            model.fit(X)
        record.fitted(model.stage_seconds_, total[0])
        record.peak = max([*stages.peaks.values(), peak_memory() or 0]) or None
        added = record.peak - before if record.peak is not None and before is not None else None
        record.values.update(before_bytes=before, added_bytes=added, stage_peaks=stages.peaks)
        with record.timing("score"):
            record.values.update(errors=[clustering_error(y, model.labels_)], iterations=model.n_iter_)

    def tabulate(self, data: Outcome, outcomes: Mapping[str, Outcome], options: Options) -> tuple[Table, ...]:
        """One table of seconds and one of memory, each with its slopes."""
        return _seconds_table(outcomes), _memory_table(outcomes)


Curves = dict[str, Callable[[Outcome], float | None]]


def _seconds_table(outcomes: Mapping[str, Outcome]) -> Table:
    curves: Curves = {name: lambda outcome, name=name: outcome.stages.get(name) for name in STAGES}  # type: ignore[misc]
    curves |= {
        "graphs": lambda outcome: outcome.parts.get("graphs"),
        "after graphs": lambda outcome: outcome.parts.get("after"),
        "start to finish": lambda outcome: outcome.start_to_finish,
    }
    rows = _rows(outcomes, curves, seconds, lambda outcome: [mean_text(outcome.values.get("errors"))])
    last, notes = _slopes(outcomes, curves, ("graphs", "after graphs"))
    title = (
        "Growth, seconds: 10 normal clouds of dimension 10 in 50 features, float32, CompressiveClustering(10, "
        "downsampling=(10, 1), partition='k-means', scaling='none', robust_graphs=False)"
    )
    return Table(title, ("n", *curves, "error"), rows + last, notes)


def _memory_table(outcomes: Mapping[str, Outcome]) -> Table:
    curves: Curves = {"before the fit": lambda outcome: outcome.values.get("before_bytes")}
    curves |= {name: lambda outcome, name=name: outcome.values.get("stage_peaks", {}).get(name) for name in STAGES}  # type: ignore[misc]
    curves |= {"peak": lambda outcome: outcome.peak, "added": lambda outcome: outcome.values.get("added_bytes")}
    rows = _rows(outcomes, curves, gigabytes)
    last, notes = _slopes(outcomes, curves, ("added",))
    notes.append("before the fit: libraries and data; added: what the fit takes at most beside them")
    title = "Growth, most GB held in each stage (libraries and data included)"
    return Table(title, ("n", *curves), rows + last, notes)


def _rows(
    outcomes: Mapping[str, Outcome],
    curves: Curves,
    text: Callable[[float | None], str],
    more: Callable[[Outcome], list[str]] = lambda outcome: [],
) -> list[list[str]]:
    return [
        [n, *(text(curve(outcome)) for curve in curves.values()), *more(outcome)]
        if outcome.done
        else [n, outcome.why_not_done]
        for n, outcome in outcomes.items()
    ]


def _slopes(outcomes: Mapping[str, Outcome], curves: Curves, shown: Sequence[str]) -> tuple[list[list[str]], list[str]]:
    """Row of slopes over the large sizes (all, if few are large); a line of successive slopes for each ``shown``."""
    sizes, values = (
        [int(n) for n in outcomes],
        {name: [curve(outcome) for outcome in outcomes.values()] for name, curve in curves.items()},
    )
    large = [place for place, n in enumerate(sizes) if n >= LARGE]
    chosen = large if len(large) > 1 else list(range(len(sizes)))
    if len(chosen) < 2:
        return [], []
    at = [sizes[place] for place in chosen]
    row = [f"slope {at[0]} to {at[-1]}"]
    row += [slope_text(slope(at, [of[place] for place in chosen])) for of in values.values()]
    lines = [
        f"slope from each n to the next, {name.removesuffix(' graphs')}: "
        + ", ".join(
            slope_text(slope(sizes[i : j + 1], values[name][i : j + 1])) for i, j in pairwise(range(len(sizes)))
        )
        for name in shown
    ]
    return [row], lines
