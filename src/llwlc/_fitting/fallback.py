"""Compares a fitted model with the heuristics, on the validation links that chose its epoch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from llwlc.graph._graph import Graph
from llwlc.heuristics._registry import HEURISTICS

MIN_LINKS_FOR_TEST = 50
"""With fewer validation links than this, the better of the two is taken, however small the difference."""
MIN_STANDARD_ERRORS = 2.0
"""With more links, a heuristic must be better by this many standard errors."""


@dataclass(frozen=True)
class PopulationScores:
    """Validation links and non-links of one kind (random pairs, or candidates), and the model's scores for them."""

    pos: Tensor
    neg: Tensor
    model_pos: Tensor
    model_neg: Tensor


@dataclass(frozen=True)
class Fallback:
    """A heuristic that did better on validation: the mean AUC of the populations, in shares of one, of the heuristic
    and of the model called `model_title`, the standard error of the difference, and the number of links compared."""

    name: str
    title: str
    score: float
    ours: float
    error: float
    links: int
    model_title: str = "llwlc"

    @property
    def sentence(self) -> str:
        few = (
            f" There are only {self.links} validation links, so this may be chance."
            if self.links < MIN_LINKS_FOR_TEST
            else ""
        )
        return (
            f"A heuristic, {self.title}, did better on the {self.links:,} validation links than {self.model_title} (AUC"
            f" {100 * self.score:.1f} against {100 * self.ours:.1f}, standard error of the difference"
            f" {100 * self.error:.1f}), so this run ranks by it.{few}"
        )


def find_fallback(graph: Graph, comparisons: list[PopulationScores], model_title: str = "llwlc") -> Fallback | None:
    """The best heuristic that beats the model called `model_title` on the messages of `graph` by more than its noise,
    None where there is none.
    """
    links = len(comparisons[0].pos)
    best: Fallback | None = None
    for heuristic in HEURISTICS.records():
        if heuristic.features and graph.x is None:
            continue
        # one call for all pairs: some scores compute on the whole graph first, which takes longer than any number of
        # pairs
        all_pairs = [part.reshape(-1, 2) for p in comparisons for part in (p.pos, p.neg)]
        score = heuristic.load()(graph, torch.cat(all_pairs)).double()
        scores = [part.numpy() for part in torch.split(score, [len(part) for part in all_pairs])]
        pairs = []
        for at, p in enumerate(comparisons):
            ours = [part.double().flatten().numpy() for part in (p.model_pos, p.model_neg)]
            pairs.append(auc_difference(*scores[2 * at : 2 * at + 2], *ours))
        a, b = (float(np.mean([pair[i] for pair in pairs])) for i in (0, 1))
        error = float(np.sqrt(sum(pair[2] ** 2 for pair in pairs)) / len(pairs))
        enough = a > b if links < MIN_LINKS_FOR_TEST else a - b > MIN_STANDARD_ERRORS * error
        if enough and (best is None or a > best.score):
            best = Fallback(heuristic.name, heuristic.title, a, b, error, links, model_title)
    return best


def auc_difference(
    pos_a: NDArray[np.float64], neg_a: NDArray[np.float64], pos_b: NDArray[np.float64], neg_b: NDArray[np.float64]
) -> tuple[float, float, float]:
    """The AUC of two scores of the same links, and the standard error of their difference (DeLong).

    >>> auc_difference(*map(np.array, ([2.0, 1.0], [0.0, 1.0], [0.0, 0.0], [0.0, 0.0])))[:2]
    (0.875, 0.5)
    """
    (above_a, below_a), (above_b, below_b) = placements(pos_a, neg_a), placements(pos_b, neg_b)
    variance = 0.0
    for difference in (above_a - above_b, below_a - below_b):
        if len(difference) > 1:
            variance += float(difference.var(ddof=1)) / len(difference)
    return float(above_a.mean()), float(above_b.mean()), variance**0.5


def placements(pos: NDArray[np.float64], neg: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Of each link the share of non-links below it, of each non-link the share of links above it; equals count half."""

    def share(values: NDArray[np.float64], others: NDArray[np.float64]) -> NDArray[np.float64]:
        ordered = np.sort(others)
        below, upto = (np.searchsorted(ordered, values, side) for side in ("left", "right"))
        places: NDArray[np.float64] = (below + upto) / (2 * max(len(ordered), 1))
        return places

    return share(pos, neg), 1 - share(neg, pos)
