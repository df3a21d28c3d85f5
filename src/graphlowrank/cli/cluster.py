"""The command ``graphlowrank cluster``: a label for each sample of a table."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

from ..estimators import CompressiveClustering
from ..io import Table, write_labels
from ..io.columns import MISSING
from ..io.labels import check_labels_path
from ..preprocessing.principal import principal_scores
from .console import Show
from .fit import FitRequest, Outcome, run_fit
from .outputs import check_distinct

MAX_SIZES = 12  # cluster sizes in a sentence


def run_cluster(request: FitRequest, column: str, show: Show) -> tuple[dict[str, Any], str]:
    """Cluster the samples, and write their labels as ``column``; see :func:`.fit.run_fit` for what is returned."""
    path, output = request.path, request.outputs["output"]
    # Labels are added to an AnnData file if input and output are both of that kind.
    to_anndata = output.suffix.lower() == ".h5ad"
    source = path if to_anndata and path.suffix.lower() == ".h5ad" and not request.reading["transpose"] else None
    check_labels_path(output, column, source if source is not None and source.exists() else None)
    if path.suffix.lower() == ".h5ad":
        request = replace(request, preparation={**request.preparation, "recognize_counts": True})
    check_distinct({"the input": path}, request.outputs, may_be_source=[] if source is None else ["output"])

    def write(model: Any, table: Table, outputs: dict[str, Path]) -> Outcome:
        scores = principal_scores(model.points_, model.n_clusters_)[0] if to_anndata else None
        write_labels(
            outputs["output"], model.labels_, table.sample_names, confidence=model.confidence_, scores=scores,
            column=column, source=source,
        )  # fmt: skip
        return _outcome(model, table.label)

    return run_fit(request, CompressiveClustering, write, show)


def _outcome(model: CompressiveClustering, label: Sequence[str] | None) -> Outcome:
    sizes = np.bincount(model.labels_, minlength=model.n_clusters_).tolist()
    known = [row for row, cell in enumerate(label or ()) if cell.strip() not in MISSING]
    agreement = float(adjusted_rand_score(np.array(label)[known], model.labels_[known])) if known else None
    return summarize_clusters(sizes, float(model.confidence_.mean()), float(model.conductance_), agreement)


def summarize_clusters(
    sizes: Sequence[int], confidence: float, conductance: float, agreement: float | None = None
) -> Outcome:  # fmt: skip
    """Describe clusters of these sizes, and their mean confidence."""
    nonempty = [size for size in sizes if size]
    n_clusters = "1 cluster" if len(nonempty) == 1 else f"{len(nonempty)} clusters"
    n_empty = len(sizes) - len(nonempty)
    empty = f" ({n_empty} of {len(sizes)} are empty)" if n_empty else ""
    compared = "" if agreement is None else f" Adjusted Rand index with the label: {agreement:.3f}."
    return Outcome(
        f"{n_clusters} of {describe_sizes(nonempty)}{empty}; mean confidence {confidence:.2f}.{compared}",
        {
            "clusters": len(sizes),
            "sizes": sizes,
            "mean_confidence": confidence,
            "conductance": conductance,
            "label_ari": agreement,
        },
    )


def describe_sizes(sizes: Sequence[int]) -> str:
    """Sizes of clusters in words, largest first; of many clusters only the extremes."""
    ordered = [str(size) for size in sorted(sizes, reverse=True)]
    if len(ordered) > MAX_SIZES:
        return f"{ordered[0]} to {ordered[-1]} samples"
    return " and ".join(filter(None, [", ".join(ordered[:-1]), *ordered[-1:]])) + " samples"
