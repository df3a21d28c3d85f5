"""Plain words for what a diagnosis found."""

from __future__ import annotations

from typing import Any

ON_THE_GRAPH, OFF_THE_GRAPH = 0.9, 0.5  # share of energy
CLEAR_GAP, NO_GAP = 0.3, 0.8  # ratio of eigenvalues
UNEVEN = 3.0  # times the best coherence
ASKED_FOR, LOST = 0.5, 0.95  # distortion


def advise(*sides: Any) -> list[str]:
    """Sentences on each side of a matrix, then one for a clean bill of health if there was nothing to say."""
    sentences = [sentence for side in sides if side is not None for sentence in _on(side)]
    return sentences or ["Nothing stands out: the graphs carry the data and the draw is sound."]


def _on(side: Any) -> list[str]:
    """Say what stands out on one side."""
    said = []
    one = side.name.removesuffix("s")
    if side.energy is not None and side.energy < OFF_THE_GRAPH:
        said.append(
            f"Only {side.energy:.0%} of the data's energy is in the first {side.k} smooth signals of the {one} graph: "
            f"the data are not low-rank on it at k={side.k}. Raise k, or give a {one} graph that fits the data better."
        )
    elif side.energy is not None and side.energy < ON_THE_GRAPH:
        said.append(
            f"{side.energy:.0%} of the data's energy is in the first {side.k} smooth signals of the {one} graph; the "
            "rest is treated much like noise."
        )
    if side.complete:
        return said
    if side.isometry.delta_below >= LOST:
        said.append(
            f"Some smooth signals are all but invisible on the kept {side.name}: draw more (lower downsampling), or "
            "use sampling='optimal'."
        )
    elif side.isometry.delta > ASKED_FOR:
        said.append(
            f"The kept {side.name} distort smooth signals by up to {side.isometry.delta:.0%}: draw more for a sharper "
            "answer."
        )
    if side.nu > UNEVEN * side.k**0.5:
        said.append(
            f"Some {side.name} matter far more than others (coherence {side.nu:.1f}, at best {side.k**0.5:.1f}): "
            "sampling='optimal' needs fewer draws here."
        )
    if side.gap > NO_GAP:
        said.append(
            f"The {one} graph has no gap after eigenvalue {side.k} (ratio {side.gap:.2f}), so the bound says little; "
            "decoder='ideal', or decoder_options={'filter': 2} on clean data, depend on it less."
        )
    return said
