"""The page of a fitted model, and its small version for notebooks."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ..clustering.plane import first_two, project_on_centers
from ..linalg.blocks import evenly_spaced
from ..preprocessing.counts import dense
from ..preprocessing.principal import centered_svd, principal_scores
from ..report.cluster_page import draw_clusters
from ..report.fit_page import render_fit
from ..report.notebook import clusters_svg, spectrum_svg
from ..report.page import library_versions
from ..report.recovery_page import draw_recovery
from ..report.sample_map import map_variables, shown_samples
from .described import describe_clusters, describe_embedding, describe_recovery, residual_of
from .shown import Shown

if TYPE_CHECKING:
    from .fit_report import FitReport

MIN_SINGULAR_VALUES = 30  # of the input
N_SMALL = 1000  # samples in the picture of notebooks


def render_page(model: Any, report: "FitReport", shown: Shown, **base: Any) -> str:
    """Render the page of clusters, of a map, of a recovered matrix, or of any other model; all pages show ``base``."""
    base = {
        "title": report.model, "summary": [f"{report.data}."], "versions": library_versions(),
        "python": python_lines(model, shown), **base,
    }  # fmt: skip
    if hasattr(model, "labels_"):
        scores, singular_values = principal_scores(model.points_, model.n_clusters_)
        drawn = draw_clusters(describe_clusters(model, shown, scores, report.alternatives_))
        return render_fit(
            report, "cluster.html", over="Clusters", spectra={"input": singular_values}, rank=None,
            facts=cluster_facts(model), **drawn, **base,
        )  # fmt: skip
    if hasattr(model, "embedding_") and hasattr(model, "points_"):
        drawn = map_variables(describe_embedding(model, shown), int(model.n_features_in_))
        facts = _sizes(model, report)
        return render_fit(report, "map.html", over="Map", spectra={}, rank=None, facts=facts, **drawn, **base)
    spectrum = getattr(model, "singular_values_", None)
    n_components = int(getattr(model, "n_components_", 0))
    spectra = {} if spectrum is None else {"recovered": spectrum}
    facts = [*_sizes(model, report), ("rank", str(n_components))]
    if shown.X is None or not hasattr(model, "low_rank_"):
        return render_fit(report, over="Fitted model", spectra=spectra, rank=n_components, facts=facts, **base)
    unscaled, residual, size = residual_of(model, shown.X)
    _, of_input, _ = centered_svd(residual.X, max(MIN_SINGULAR_VALUES, 2 * n_components))
    return render_fit(
        report, "recovery.html", over="Low-rank matrix", spectra={"input": of_input, **spectra},
        rank=n_components if hasattr(model, "decoder") else None,
        facts=[*facts, ("residual over data", f"{size.relative:.3f}")],
        **draw_recovery(describe_recovery(unscaled, residual, size, shown)), **base,
    )  # fmt: skip


def _sizes(model: Any, report: "FitReport") -> list[tuple[str, str]]:
    return [("samples", report.data.split()[0]), ("features", str(model.n_features_in_))]


def cluster_facts(model: Any) -> list[tuple[str, str]]:
    """Key numbers of a clustering: name and value."""
    conductance = float(model.conductance_)
    return [
        ("samples", str(len(model.labels_))), ("features", str(model.n_features_in_)),
        ("clusters", str(model.n_clusters_)), ("mean confidence", f"{model.confidence_.mean():.2f}"),
        ("mean conductance (0: separate clusters)", "–" if np.isnan(conductance) else f"{conductance:.3f}"),
    ]  # fmt: skip


def python_lines(model: Any, shown: Shown) -> str:
    """Return the Python lines that repeat a fit and its page; arrays and graphs are named, not printed."""
    name, defaults = type(model).__name__, type(model)().get_params(deep=False)
    given = []
    for parameter, value in model.get_params(deep=False).items():
        plain = isinstance(value, (str, int, float, bool, tuple, type(None), np.number)) and "array" not in repr(value)
        if not plain:
            given.append(f"{parameter}={parameter}")
        elif value != defaults[parameter]:
            given.append(f"{parameter}={value.item() if isinstance(value, np.generic) else value!r}")
    fit = f"model = {name}({', '.join(given)}).fit(X)"
    saved = ['"page.html"'] + ["X"] * (shown.X is not None)
    saved += [f"image_shape={tuple(map(int, shown.image_shape))}"] if shown.image_shape is not None else []
    saved += ["layout=layout"] * (shown.layout is not None) + ["logs=True"] * shown.logs
    return f"from graphlowrank import {name}\n\n{fit}\nmodel.report_.save({', '.join(saved)})"


def small_picture(model: Any) -> str:
    """Return the picture of the small version for notebooks: samples in a plane, or singular values."""
    if hasattr(model, "labels_"):
        shown = np.sort(shown_samples(model.labels_, N_SMALL))
        labels = model.labels_[shown]
        scores, _ = principal_scores(dense(model.points_[shown]), int(model.n_clusters_))
        return clusters_svg(project_on_centers(scores, labels), labels)
    if hasattr(model, "embedding_") and hasattr(model, "points_"):
        shown = evenly_spaced(len(model.embedding_), N_SMALL)
        return clusters_svg(first_two(model.embedding_[shown]), np.zeros(len(shown), dtype=np.intp))
    if hasattr(model, "singular_values_"):
        return spectrum_svg({"singular values": model.singular_values_}, None)
    return ""
