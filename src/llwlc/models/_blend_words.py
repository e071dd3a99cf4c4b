"""Describes a blend in words: its parts, and why they were chosen."""

from __future__ import annotations

from collections.abc import Sequence

from llwlc.models._base import LinkModel
from llwlc.models._blend_weights import BlendWeights

FEW_LINKS = 50
"""With fewer hidden links, a choice may be due to chance."""


def describe_parts(parts: Sequence[LinkModel], share: Sequence[float]) -> str:
    """The parts with their shares of the weight, and a sentence about each."""
    own = " ".join(part.about for part in parts)
    if len(parts) == 1:
        return own
    what = [f"{part.title} ({100 * weight:.0f} % of the weight)" for part, weight in zip(parts, share, strict=True)]
    return f"A blend by `llwlc` of {listed_all(what)}. {own}"


def describe_choice(members: Sequence[LinkModel], chosen: BlendWeights, links: int) -> str:
    """Which members were chosen, and on how many links; "" if it is the first member alone."""
    titles, best = [member.title for member in members], chosen.best
    few = f" There are only {links} such links, so this may be due to chance." if links < FEW_LINKS else ""
    hidden = f"{links:,} links held out for this"
    if len(chosen.kept) > 1:
        names = listed_all([titles[i] for i in chosen.kept])
        if chosen.gain:
            gain = f"log loss {chosen.gain:.3f} ± {chosen.error:.3f} lower"
            return f"This run blends {names}, with weights that do better than equal ones on {hidden} ({gain}).{few}"
        if chosen.equal:
            return f"This run blends {names} with equal weights, as {links:,} held-out links cannot support others."
        if best and set(chosen.kept) == {0, best}:
            return f"This run blends {names}, mostly the latter, which did better on {hidden} ({_aucs(chosen)}).{few}"
        return f"This run blends {names}: {hidden} do not show which is best.{few}"
    if chosen.alone:
        return (
            f"{titles[chosen.alone]} did better on {links:,} hidden links than {titles[0]} ({_aucs(chosen)}), so this"
            f" run ranks by it.{few}"
        )
    return ""


def _aucs(chosen: BlendWeights) -> str:
    return f"AUC {100 * chosen.auc[chosen.best]:.1f} against {100 * chosen.auc[0]:.1f}"


def listed_all(names: Sequence[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
