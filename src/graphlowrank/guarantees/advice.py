"""Plain words for what a diagnosis found."""

from __future__ import annotations

from typing import Any

ON_THE_GRAPH, OFF_THE_GRAPH = 0.9, 0.5  # share of energy
NO_GAP = 0.8  # ratio of eigenvalues
UNEVEN = 3.0  # times the best coherence
ASKED_FOR, LOST = 0.5, 0.95  # distortion


def advise(*sides: Any, matrix: bool) -> list[str]:
    """Sentences on each side, for a model that decodes a ``matrix`` or labels; one if there is nothing to say."""
    sentences = [sentence for side in sides if side is not None for sentence in _on_data(side) + _on_draw(side, matrix)]
    return sentences or ["Nothing stands out: the graphs carry the data and the draw is sound."]


def _on_data(side: Any) -> list[str]:
    """Say how well the graph carries the data."""
    if side.energy is None or side.energy >= ON_THE_GRAPH:
        return []
    one = side.name.removesuffix("s")
    share = f"{side.energy:.0%} of the data's energy is in the first {side.k} smooth signals of the {one} graph"
    if side.energy >= OFF_THE_GRAPH:
        return [f"{share}; the rest is treated much like noise."]
    remedy = f"give a {one} graph that fits the data better."
    if side.k < side.n_nodes - 1:
        remedy = f"raise k, or {remedy}"
    return [f"Only {share}: the data are not low-rank on it. To mend that, {remedy}"]


def _on_draw(side: Any, matrix: bool) -> list[str]:  # noqa: FBT001
    """Say how well the kept nodes stand for the others."""
    if side.complete:
        return []
    said = []
    more = "draw more (lower downsampling)" + ("" if side.optimal else ", or use sampling='optimal'")
    if side.isometry.delta_below >= LOST:
        said.append(f"Some smooth signals are all but invisible on the kept {side.name}: {more}.")
    elif side.isometry.delta > ASKED_FOR:
        said.append(f"The kept {side.name} distort smooth signals by up to {side.isometry.delta:.0%}: {more}.")
    if side.nu > UNEVEN * side.k**0.5 and not side.optimal:
        said.append(
            f"Some {side.name} matter far more than others (coherence {side.nu:.1f}, at best {side.k**0.5:.1f}), "
            "usually because they hang on by faint ties: look at them; sampling='optimal' keeps them for certain."
        )
    if side.gap > NO_GAP:
        filters = "; decoder_options={'filter': 2} sharpens it where there is little noise" if matrix else ""
        said.append(
            f"The {side.name.removesuffix('s')} graph has no gap after eigenvalue {side.k} (ratio {side.gap:.2f}), so "
            f"that the bound says little{filters}."
        )
    return said
