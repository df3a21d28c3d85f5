"""What a fitted model says about itself: what was chosen and why, its graphs, its convergence, its times."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..auto.choice import Choice
from ..graphs import Graph


@dataclass(frozen=True)
class GraphHealth:
    """Figures of a graph that tell whether it can carry information.

    Attributes
    ----------
    side
        "samples" or "features".
    n_nodes, n_edges, n_components
        Its size, and the pieces that it falls into.
    smallest_component
        Nodes in the smallest piece.
    degree_ratio
        Largest weight sum of a node over the median: hubs of thousands pull everything towards them.
    """

    side: str
    n_nodes: int
    n_edges: int
    n_components: int
    smallest_component: int
    degree_ratio: float


def health(side: str, graph: Graph) -> GraphHealth:
    """Look at a graph."""
    sizes = np.bincount(graph.components)
    middle = float(np.median(graph.degrees))
    ratio = float(graph.degrees.max()) / middle if middle > 0 else 1.0  # most nodes are alone: the pieces tell
    return GraphHealth(side, graph.n_nodes, graph.n_edges, graph.n_components, int(sizes.min()), ratio)


@dataclass(frozen=True, repr=False)
class FitReport:
    """Everything that a fit decided and did; prints as a table.

    Attributes
    ----------
    model
        Name of the estimator.
    data
        What was fitted, in words.
    choices
        Values used, with reasons.
    graphs
        Graphs used.
    n_iter, converged
        Iterations; whether every solve converged.
    seconds
        Of each stage.
    """

    model: str
    data: str
    choices: tuple[Choice, ...]
    graphs: tuple[GraphHealth, ...]
    n_iter: int
    converged: bool
    seconds: Mapping[str, float]

    def __repr__(self) -> str:
        name = max((len(choice.name) for choice in self.choices), default=0)
        value = max((len(_text(choice.value)) for choice in self.choices), default=0)
        lines = [f"{self.model} on {self.data}", ""]
        lines += [f"  {one.name:<{name}}  {_text(one.value):<{value}}  {one.reason}".rstrip() for one in self.choices]
        lines += ["", *(f"  {_sentence(graph)}" for graph in self.graphs)]
        lines.append(f"  {self._convergence()}")
        lines.append(f"  {self._times()}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Show the same in a notebook."""
        rows = "".join(
            f"<tr><th style='text-align:left'>{html.escape(choice.name)}</th>"
            f"<td style='text-align:left'>{html.escape(_text(choice.value))}</td>"
            f"<td style='text-align:left'>{html.escape(choice.reason)}</td></tr>"
            for choice in self.choices
        )
        notes = [*map(_sentence, self.graphs), self._convergence(), self._times()]
        items = "".join(f"<li>{html.escape(note)}</li>" for note in notes)
        title = f"<b>{html.escape(self.model)}</b> on {html.escape(self.data)}"
        return f"<div>{title}<table>{rows}</table><ul>{items}</ul></div>"

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "model": self.model,
            "data": self.data,
            "choices": [{**vars(choice), "value": _plain(choice.value)} for choice in self.choices],
            "graphs": [vars(graph) for graph in self.graphs],
            "n_iter": self.n_iter,
            "converged": self.converged,
            "seconds": dict(self.seconds),
        }

    def _convergence(self) -> str:
        if self.n_iter == 0:
            return "closed form, no iterations"
        return f"{self.n_iter} iterations, {'converged' if self.converged else 'NOT converged: raise max_iter'}"

    def _times(self) -> str:
        parts = ", ".join(f"{name} {seconds:.2f}" for name, seconds in self.seconds.items() if seconds >= 0.005)
        return f"{sum(self.seconds.values()):.2f} s: {parts}" if parts else f"{sum(self.seconds.values()):.2f} s"


def _text(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, (float, np.floating)) else str(value)


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    return list(value) if isinstance(value, tuple) else value


def _sentence(graph: GraphHealth) -> str:
    """Say what a graph is like, and what is wrong with it."""
    pieces = "in one piece"
    if graph.n_components > 1:
        pieces = f"in {graph.n_components} pieces, the smallest of {graph.smallest_component}"
    hubs = f"; a node has {graph.degree_ratio:.0f} times the usual weight" if graph.degree_ratio > 10 else ""
    return f"graph of {graph.n_nodes} {graph.side}: {graph.n_edges} edges, {pieces}{hubs}"
