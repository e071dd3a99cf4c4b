"""Mixture: the function from the scores of a blend's parts to the score of the blend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from scipy.special import log1p
from torch import Tensor

from llwlc._support.threads import use_one_blas_thread, use_one_thread
from llwlc.models._base import Explainable, LinkModel, score_pairs
from llwlc.models._blend_weights import FEWEST_LINKS, BlendWeights, choose_weights, is_informative, placements
from llwlc.splits._linksplit import LinkSplit
from llwlc.splits._making import training_non_edges

RANKS_SIDES = "users-items"
"""On a bipartite graph the member of this name alone ranks candidates: random pairs, many of them within one side, do
not show which member ranks best across the sides.
"""
ENOUGH_NON_LINKS = 500
"""With fewer validation non-links, random pairs are added to them."""
MIN_FIRST_SHARE = 0.2
"""Minimum share of the centre for a first member that can be explained, so that the blend can be explained too: on 36
`tune` networks of the corpus it changed the mean AUC by 0.04 points (92.25 with it, 92.21 without).
"""


@dataclass(frozen=True, eq=False)
class Mixture:
    """score ↦ `offset [1]` + Σ `slope [P]` · t(score of part), t(s) = s, or sign(s) log(1 + |s| / unit) where
    `unit [P]` is above 0; `share [P]` of the weight, for display.
    """

    unit: Tensor
    slope: Tensor
    share: Tensor
    offset: Tensor

    def parts(self, scores: Sequence[Tensor | None]) -> list[Tensor | None]:
        """The contribution of each part to the score, `[m]`; None for a part that was not scored."""
        numbers = zip(scores, self.unit.tolist(), self.slope.tolist(), strict=True)
        return [None if score is None else slope * signed_log(score, unit) for score, unit, slope in numbers]


def signed_log(score: Tensor, unit: float) -> Tensor:
    """sign(s) log(1 + |s| / unit), so that a few large counts do not dominate; s itself if `unit` is 0. By
    scipy: torch computes the last few values of a batch by another routine, so a score would depend on its batch.
    """
    if not unit:
        return score
    return score.sign() * torch.from_numpy(np.asarray(log1p((score.abs() / unit).numpy())))


class HeldOutScores(NamedTuple):
    """What the weights are fitted to: the scores by each member of links `pos`, `[m]` each, and of non-links `neg`."""

    pos: list[Tensor]
    neg: list[Tensor]


def score_evidence(models: Sequence[LinkModel], sample: LinkSplit, seed: int) -> HeldOutScores:
    """The scores of the validation links and non-links; where there are few non-links, also of further random pairs, by
    which the scale of the scores is known better.
    """
    pos, neg = sample.valid_pos, sample.valid_neg.reshape(-1, 2)
    more = neg[:0]
    if len(neg) < ENOUGH_NON_LINKS:
        free = training_non_edges(sample)
        more = free.sample(min(ENOUGH_NON_LINKS - len(neg), len(free)), np.random.default_rng([seed, 32]))
    links, scores = len(pos), list[Tensor]()
    for model in models:
        known, pairs = model.validation, torch.cat([pos, neg, more])
        before = torch.zeros(0, dtype=torch.float64)
        if known is not None and (len(known[0]), known[1].numel()) == (links, len(neg)):
            before, pairs = torch.cat([known[0].double(), known[1].double().flatten()]), more
        with use_one_thread():
            scores.append(torch.cat([before, score_pairs(model, sample.valid_graph, pairs)]))
    return HeldOutScores([own[:links] for own in scores], [own[links:] for own in scores])


@use_one_blas_thread()
def mix(members: Sequence[LinkModel], evidence: HeldOutScores, seed: int) -> tuple[BlendWeights, Mixture]:
    """Fits the weights to the scores of links and non-links; returns them, and the mixture they define. Scores are
    standardised by those of non-links, of which there are enough for that everywhere.
    """
    units, centres, spreads, rows = [], [], [], []
    for member, *sides in zip(members, *evidence, strict=True):
        both = torch.cat(sides)
        size = both.abs()[both != 0]
        unit = (float(size.median()) if len(size) else 1.0) if member.unit == "own" else 0.0
        values, links = signed_log(both, unit), len(sides[0])
        units.append(unit)
        centres.append(float(values[links:].mean()))
        spreads.append(float(values[links:].std(correction=0)) or float(values.std(correction=0)) or 1.0)
        rows.append((values.numpy() - centres[-1]) / spreads[-1])
    first = MIN_FIRST_SHARE if isinstance(members[0], Explainable) else 0.0
    trained = [i for i, member in enumerate(members) if member.unit == "log_odds"]
    scores = np.stack(rows)
    chosen = choose_weights(scores[:, :links], scores[:, links:], seed, strong=trained, first=first)
    weight, spread = chosen.weight, np.array(spreads)
    share = torch.from_numpy(weight / weight.sum() if weight.sum() else np.eye(len(members))[chosen.alone])
    if len(chosen.kept) < 2 and members[chosen.alone].unit == "log_odds":
        alone = torch.zeros(len(members), dtype=torch.float64)
        alone[chosen.alone] = 1.0
        return chosen, Mixture(torch.zeros_like(alone), alone, alone, torch.zeros(1, dtype=torch.float64))
    slope = weight / spread
    if not weight.any():  # a score without any information: its order is kept
        slope[chosen.alone] = 1e-6
    offset = chosen.offset - float(slope @ np.array(centres))
    unit_of_part, constant = (torch.tensor(part, dtype=torch.float64) for part in (units, [offset]))
    return chosen, Mixture(unit_of_part, torch.from_numpy(slope), share, constant)


def choose_ranker(members: Sequence[LinkModel], evidence: HeldOutScores) -> tuple[int | None, str]:
    """The member that ranks candidates alone, and why: that for users and items, or, if no trained member tells hidden
    links from other pairs better than chance does, the best heuristic on them; None where the blend ranks, as it does
    where links are too few to tell.
    """
    sides = next((i for i, member in enumerate(members) if member.name == RANKS_SIDES), None)
    if sides is not None:
        others = f"Candidates are ranked by {members[sides].title!r} alone, as the graph is bipartite."
        return sides, others if len(members) > 1 else ""
    scores = [(a.double().numpy(), b.double().numpy()) for a, b in zip(*evidence, strict=True)]
    trained = [i for i, member in enumerate(members) if member.unit == "log_odds"]
    heuristics = [i for i in range(len(members)) if i not in trained]
    if (
        len(scores[0][0]) < FEWEST_LINKS
        or not trained
        or not heuristics
        or any(is_informative(*scores[i], errors=1) for i in trained)
    ):
        return None, ""
    auc = {i: float(placements(*scores[i])[0].mean()) for i in heuristics}
    best = max(heuristics, key=auc.__getitem__)
    return best, (
        f"No trained model tells {len(scores[0][0]):,} hidden links from other pairs better than chance does, so"
        f" candidates are ranked by {members[best].title!r}, the best heuristic on them (AUC {100 * auc[best]:.1f})."
    )


def mix_alone(members: Sequence[LinkModel], at: int, evidence: HeldOutScores, seed: int) -> Mixture:
    """The mixture in which one member has all the weight."""
    one = mix(members[at : at + 1], HeldOutScores(*(side[at : at + 1] for side in evidence)), seed)[1]
    place = torch.zeros(len(members), dtype=torch.float64)
    place[at] = 1.0
    return Mixture(place * one.unit, place * one.slope, place, one.offset)
