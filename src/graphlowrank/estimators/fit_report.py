"""The report of a fitted model: choices and reasons, graphs, convergence, times."""

import html
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._files import write_atomically
from .._typing import MatrixLike
from ..auto import Choice
from ..clustering import Alternative
from ..graphs import Graph
from ..report.notebook import report_html

HUB_RATIO = 10  # largest degree / median degree that is reported


@dataclass(frozen=True)
class GraphSummary:
    """Size and connectivity of a graph.

    Attributes
    ----------
    side : {"samples", "features"}
        What the nodes are.
    n_nodes, n_edges, n_components, smallest_component : int
        Nodes, edges, connected components, and nodes of the smallest component.
    degree_ratio : float
        Largest degree / median degree: large for graphs with hubs.
    """

    side: str
    n_nodes: int
    n_edges: int
    n_components: int
    smallest_component: int
    degree_ratio: float

    def __str__(self) -> str:
        components = "connected"
        if self.n_components > 1:
            components = f"{self.n_components} connected components, the smallest with {self.smallest_component} nodes"
        hubs = f"; a hub with {self.degree_ratio:.0f} times the median degree" if self.degree_ratio > HUB_RATIO else ""
        return f"graph of {self.n_nodes} {self.side}: {self.n_edges} edges, {components}{hubs}"

    @property
    def verdict(self) -> str:
        """Whether it is connected, and has hubs, in words."""
        faults = []
        if self.n_components > 1:
            faults.append(f"has {self.n_components} connected components")
        if self.degree_ratio > HUB_RATIO:
            faults.append("has hubs")
        return " and ".join(faults) or "is connected and has no hubs"


def graph_summary(side: str, graph: Graph) -> GraphSummary:
    """Summarize a graph."""
    sizes = np.bincount(graph.components)
    median = float(np.median(graph.degrees))
    ratio = float(graph.degrees.max()) / median if median > 0 else 1.0  # 0: most nodes are isolated
    return GraphSummary(side, graph.n_nodes, graph.n_edges, graph.n_components, int(sizes.min()), ratio)


@dataclass(frozen=True, repr=False)
class FitReport:
    """Everything that a fit decided and did; prints as a table.

    Attributes
    ----------
    model, data : str
        Name of the estimator; shape and kind of the data.
    choices : tuple of Choice
        Values used, with reasons.
    graphs : tuple of GraphSummary
        Graphs used.
    n_iter, converged : int, bool
        Iterations; whether every solve converged.
    seconds : mapping of str to float
        Time of each stage.
    alternatives_ : tuple of Alternative
        Different partitions that are nearly as good, if samples were clustered.
    fitted : estimator or None
        The fitted model, which :meth:`save` describes.
    """

    model: str
    data: str
    choices: tuple[Choice, ...]
    graphs: tuple[GraphSummary, ...]
    n_iter: int
    converged: bool
    seconds: Mapping[str, float]
    alternatives_: tuple[Alternative, ...] = ()
    fitted: Any = field(default=None, compare=False)

    def to_html(
        self,
        X: MatrixLike | None = None,
        *,
        sample_names: Sequence[str] | None = None,
        feature_names: Sequence[str] | None = None,
        image_shape: tuple[int, int] | None = None,
        layout: ArrayLike | None = None,
        logs: bool = False,
        **base: Any,
    ) -> str:
        """Render the page as one self-contained HTML file; see :meth:`save`. ``base``: title, summary and the like."""
        from .pages import render_page
        from .shown import check_shown

        if self.fitted is None:
            raise ValueError("this report has no fitted model; take model.report_ of a fitted model.")
        given: dict[str, Any] = {
            "sample_names": sample_names, "feature_names": feature_names, "image_shape": image_shape, "layout": layout,
        }  # fmt: skip
        return render_page(self.fitted, self, check_shown(self.fitted, X, logs=logs, **given), **base)

    def save(
        self,
        path: str | os.PathLike[str],
        X: MatrixLike | None = None,
        *,
        sample_names: Sequence[str] | None = None,
        feature_names: Sequence[str] | None = None,
        image_shape: tuple[int, int] | None = None,
        layout: ArrayLike | None = None,
        logs: bool = False,
    ) -> None:
        """Write a page about the fit: one HTML file below 5 MB that fetches nothing; needs Jinja and Pillow.

        Parameters
        ----------
        path
            File to write; an existing one is replaced once the new one is complete.
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or None, default=None
            The data of the fit. Clusters are described without by the scaled data, in which missing values are imputed;
            a recovered matrix is compared with them.
        sample_names, feature_names : sequence of str or None, default=None
            Names; those of a data frame, else numbers.
        image_shape : (int, int) or None, default=None
            Height and width of samples that are pictures.
        layout : array-like of shape (n_samples, 2) or None, default=None
            Places of the samples on the map of a clustering.
        logs : bool, default=False
            Whether X is log(1 + counts), so that fold changes can be computed.
        """
        page = self.to_html(
            X, sample_names=sample_names, feature_names=feature_names, image_shape=image_shape, layout=layout, logs=logs
        )  # fmt: skip
        write_atomically(path, page)

    def __repr__(self) -> str:
        name = max((len(choice.name) for choice in self.choices), default=0)
        value = max((len(choice.text) for choice in self.choices), default=0)
        lines = [f"{self.model} on {self.data}", ""]
        lines += [f"  {one.name:<{name}}  {one.text:<{value}}  {one.reason}".rstrip() for one in self.choices]
        lines += ["", *(f"  {note}" for note in self._notes())]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Show the report in a notebook."""
        return self.summary_html()

    def summary_html(self) -> str:
        """Return the small version for notebooks: a picture, choices, notes."""
        from .pages import small_picture

        title = f"<b>{html.escape(self.model)}</b> on {html.escape(self.data)}"
        picture = "" if self.fitted is None else small_picture(self.fitted)
        return report_html(title, picture, [(one.name, one.text, one.reason) for one in self.choices], self._notes())

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        choices = [{**vars(choice), "value": _plain(choice.value)} for choice in self.choices]
        graphs = [vars(graph) for graph in self.graphs]
        others = [{"conductance": one.conductance, "agreement": one.agreement} for one in self.alternatives_]
        own = {name: value for name, value in vars(self).items() if name != "fitted"}
        return {
            **own, "choices": choices, "graphs": graphs, "seconds": dict(self.seconds), "alternatives_": others
        }  # fmt: skip

    def _notes(self) -> list[str]:
        """Sentences on graphs, convergence and times."""
        convergence = "closed form, no iterations"
        if self.n_iter:
            outcome = "converged" if self.converged else "NOT converged: raise max_iter"
            convergence = f"{self.n_iter} iterations, {outcome}"
        stages = ", ".join(f"{name} {seconds:.2f}" for name, seconds in self.seconds.items() if seconds >= 0.005)
        total = f"{sum(self.seconds.values()):.2f} s"
        ties = [
            f"nearly ties with another partition: conductance {one.conductance:.3g}, adjusted Rand index with this one "
            f"{one.agreement:.2f}"
            for one in self.alternatives_
        ]
        return [*map(str, self.graphs), *ties, convergence, f"{total}: {stages}" if stages else total]


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    return list(value) if isinstance(value, tuple) else value
