"""Advice in words on what a diagnosis found."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .diagnose import SideDiagnosis

HIGH_ENERGY, LOW_ENERGY = 0.9, 0.5  # share of the energy of the data in the first k eigenvectors
NO_GAP = 0.8  # lambda_k / lambda_k+1
HIGH_COHERENCE = 3.0  # times sqrt(k), the smallest possible
TARGET_DELTA, BLIND_DELTA = 0.5, 0.95  # distortion


def advise(*sides: SideDiagnosis | None, matrix: bool) -> list[str]:
    """Sentences on each side, for a model that decodes a ``matrix`` or labels; at least one."""
    sentences = [
        sentence
        for side in sides
        if side is not None
        for sentence in _on_data(side) + _on_draw(side, matrix=matrix)
    ]  # fmt: skip
    return sentences or ["Nothing stands out: the data are low-rank on the graphs and the draw is good."]


def _on_data(side: SideDiagnosis) -> list[str]:
    """Advice on how well the graph represents the data."""
    if side.energy is None or side.energy >= HIGH_ENERGY:
        return []
    one = side.name.removesuffix("s")
    share = f"{side.energy:.0%} of the energy of the data is in the first {side.k} eigenvectors of the {one} graph"
    if side.energy >= LOW_ENERGY:
        return [f"{share}; the rest is treated much like noise."]
    remedy = f"give a {one} graph that fits the data better."
    if side.k < side.n_nodes - 1:
        remedy = f"raise k, or {remedy}"
    return [f"Only {share}: the data are not low-rank on it. To fix that, {remedy}"]


def _on_draw(side: SideDiagnosis, *, matrix: bool) -> list[str]:
    """Advice on how well the kept nodes represent the others."""
    if side.complete:
        return []
    advice = []
    more = "draw more (lower downsampling)" + ("" if side.optimal else ", or use sampling='optimal'")
    if side.isometry.delta_below >= BLIND_DELTA:
        advice.append(f"Some smooth signals nearly vanish on the kept {side.name}: {more}.")
    elif side.isometry.delta > TARGET_DELTA:
        advice.append(f"The kept {side.name} distort smooth signals by up to {side.isometry.delta:.0%}: {more}.")
    if side.nu > HIGH_COHERENCE * side.k**0.5 and not side.optimal:
        advice.append(
            f"Some {side.name} matter far more than others (coherence {side.nu:.1f}, at best {side.k**0.5:.1f}), "
            "usually because they are weakly connected: check them; sampling='optimal' always keeps them."
        )
    if side.gap > NO_GAP:
        filters = "; decoder_options={'filter': 2} sharpens it where there is little noise" if matrix else ""
        advice.append(
            f"The {side.name.removesuffix('s')} graph has no gap after eigenvalue {side.k} (ratio {side.gap:.2f}), so "
            f"the bound is weak{filters}."
        )
    return advice
