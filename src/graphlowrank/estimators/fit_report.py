"""The report of a fitted model: choices and reasons, graphs, convergence, times."""

import html
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..auto import Choice
from ..clustering import Alternative
from ..graphs import Graph

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
    """

    model: str
    data: str
    choices: tuple[Choice, ...]
    graphs: tuple[GraphSummary, ...]
    n_iter: int
    converged: bool
    seconds: Mapping[str, float]
    alternatives_: tuple[Alternative, ...] = ()

    def __repr__(self) -> str:
        name = max((len(choice.name) for choice in self.choices), default=0)
        value = max((len(value_text(choice.value)) for choice in self.choices), default=0)
        lines = [f"{self.model} on {self.data}", ""]
        lines += [
            f"  {one.name:<{name}}  {value_text(one.value):<{value}}  {one.reason}".rstrip() for one in self.choices
        ]
        lines += ["", *(f"  {note}" for note in self._notes())]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Show the report in a notebook."""
        left = "style='text-align:left'"
        rows = "".join(
            f"<tr><th {left}>{html.escape(choice.name)}</th><td {left}>{html.escape(value_text(choice.value))}</td>"
            f"<td {left}>{html.escape(choice.reason)}</td></tr>"
            for choice in self.choices
        )
        items = "".join(f"<li>{html.escape(note)}</li>" for note in self._notes())
        title = f"<b>{html.escape(self.model)}</b> on {html.escape(self.data)}"
        return f"<div>{title}<table>{rows}</table><ul>{items}</ul></div>"

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        choices = [{**vars(choice), "value": _plain(choice.value)} for choice in self.choices]
        graphs = [vars(graph) for graph in self.graphs]
        others = [{"conductance": one.conductance, "agreement": one.agreement} for one in self.alternatives_]
        return {
            **vars(self), "choices": choices, "graphs": graphs, "seconds": dict(self.seconds), "alternatives_": others
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


def value_text(value: Any) -> str:
    """Value of a choice, numbers with four digits."""
    return f"{value:.4g}" if isinstance(value, (float, np.floating)) else str(value)


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    return list(value) if isinstance(value, tuple) else value
