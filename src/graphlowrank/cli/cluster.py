"""The command ``graphlowrank cluster``: a label for each sample of a table."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

from .._typing import Array
from ..estimators import CompressiveClustering
from ..io import Table, write_labels
from ..io.columns import MISSING
from ..io.labels import check_labels_path
from ..linalg.svd import positive_signs
from ..preprocessing.principal import principal_scores
from ..report.fit_page import draw_clusters
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
        page, scores = {}, None
        if to_anndata or "report" in outputs:
            scores, singular_values = principal_scores(model.points_, model.n_clusters_)  # of the scaled data
            drawn = draw_clusters(model.labels_, model.confidence_, project_on_centers(scores, model.labels_))
            page = {"over": "Clusters of a table", "spectra": {"input": singular_values}, "rank": None, **drawn}
        write_labels(
            outputs["output"], model.labels_, table.sample_names, confidence=model.confidence_,
            scores=scores if to_anndata else None, column=column, source=source,
        )  # fmt: skip
        return _outcome(model, page, table.label)

    return run_fit(request, CompressiveClustering, write, show)


def _outcome(model: CompressiveClustering, page: dict[str, Any], label: Sequence[str] | None) -> Outcome:
    sizes = np.bincount(model.labels_, minlength=model.n_clusters_).tolist()
    nonempty = [size for size in sizes if size]
    n_clusters = "1 cluster" if len(nonempty) == 1 else f"{len(nonempty)} clusters"
    n_empty = len(sizes) - len(nonempty)
    empty = f" ({n_empty} of {len(sizes)} are empty)" if n_empty else ""
    confidence, conductance = float(model.confidence_.mean()), float(model.conductance_)
    known = [row for row, cell in enumerate(label or ()) if cell.strip() not in MISSING]
    agreement = float(adjusted_rand_score(np.array(label)[known], model.labels_[known])) if known else None
    compared = "" if agreement is None else f" Adjusted Rand index with the label: {agreement:.3f}."
    return Outcome(
        f"{n_clusters} of {describe_sizes(nonempty)}{empty}; mean confidence {confidence:.2f}.{compared}",
        {
            "clusters": model.n_clusters_,
            "sizes": sizes,
            "mean_confidence": confidence,
            "conductance": conductance,
            "label_ari": agreement,
        },
        [
            ("clusters", str(model.n_clusters_)),
            ("mean confidence", f"{confidence:.2f}"),
            ("mean conductance (0: separate clusters)", "–" if np.isnan(conductance) else f"{conductance:.3f}"),
        ],
        page,
    )


def describe_sizes(sizes: Sequence[int]) -> str:
    """Sizes of clusters in words, largest first; of many clusters only the extremes."""
    ordered = [str(size) for size in sorted(sizes, reverse=True)]
    if len(ordered) > MAX_SIZES:
        return f"{ordered[0]} to {ordered[-1]} samples"
    return " and ".join(filter(None, [", ".join(ordered[:-1]), *ordered[-1:]])) + " samples"


def project_on_centers(scores: Array, labels: Array) -> Array:
    """Project samples (n_samples, 2) on the leading plane of the cluster centers, weighted by cluster size."""
    counts = np.bincount(labels)
    centers = np.stack([scores[labels == label].mean(axis=0) for label in np.flatnonzero(counts)])
    weights = np.sqrt(counts[counts > 0])[:, None]
    _, values, right = np.linalg.svd(weights * (centers - scores.mean(axis=0)), full_matrices=False)
    axes = right[values > 1e-6 * max(float(values[0]), 1e-300)][:2]
    if len(axes) < 2:  # one or two clusters: add principal directions of the residual
        centered = scores - scores.mean(axis=0)
        _, sizes, more = np.linalg.svd(centered - (centered @ axes.T) @ axes, full_matrices=False)
        axes = np.concatenate([axes, more[sizes > 1e-6 * np.linalg.norm(centered)]])[:2]
    axes = axes.T * positive_signs(axes.T)
    plane = scores @ axes
    return np.pad(plane, ((0, 0), (0, 2 - plane.shape[1])))  # a single feature has one axis
