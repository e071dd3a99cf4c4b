"""Compares the trained network with untrained scores, on the validation links that chose the epoch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from llwlc.graph.graph import Graph
from llwlc.heuristics.registry import HEURISTICS

FEW = 50
"""With fewer validation links than this, the better of the two is taken, however small the difference."""
ERRORS = 2.0
"""With more links, an untrained score must be better by so many standard errors."""


@dataclass(frozen=True)
class Population:
    """Validation links and non-links of one kind (random pairs, or candidates), and the network's scores for them."""

    pos: Tensor
    neg: Tensor
    ours_pos: Tensor
    ours_neg: Tensor


@dataclass(frozen=True)
class Rival:
    """An untrained score that did better on validation: the mean AUC of the populations, in shares of one, of the score and of the network, the standard error of the
    difference, and how many links it is judged by."""

    name: str
    title: str
    score: float
    ours: float
    error: float
    links: int

    @property
    def sentence(self) -> str:
        few = f" There are only {self.links} validation links, so this may be chance." if self.links < FEW else ""
        return (
            f"An untrained score, {self.title}, did better on the {self.links:,} validation links than the trained network (AUC {100 * self.score:.1f} against "
            f"{100 * self.ours:.1f}, standard error of the difference {100 * self.error:.1f}), so this run ranks by it.{few}"
        )


def better_rival(graph: Graph, populations: list[Population]) -> Rival | None:
    """The best untrained score that beats the network on the messages of `graph` by more than its noise, None where there is none."""
    links = len(populations[0].pos)
    best: Rival | None = None
    for heuristic in HEURISTICS.records():
        if heuristic.features and graph.x is None:
            continue
        # one call for all pairs: some scores compute on the whole graph first, which takes longer than any number of pairs
        asked = [part.reshape(-1, 2) for p in populations for part in (p.pos, p.neg)]
        score = heuristic.load()(graph, torch.cat(asked)).double()
        theirs = [part.numpy() for part in torch.split(score, [len(part) for part in asked])]
        pairs = []
        for at, p in enumerate(populations):
            ours = [part.double().flatten().numpy() for part in (p.ours_pos, p.ours_neg)]
            pairs.append(auc_difference(*theirs[2 * at : 2 * at + 2], *ours))
        a, b = (float(np.mean([pair[i] for pair in pairs])) for i in (0, 1))
        error = float(np.sqrt(sum(pair[2] ** 2 for pair in pairs)) / len(pairs))
        enough = a > b if links < FEW else a - b > ERRORS * error
        if enough and (best is None or a > best.score):
            best = Rival(heuristic.name, heuristic.title, a, b, error, links)
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
        found: NDArray[np.float64] = (below + upto) / (2 * max(len(ordered), 1))
        return found

    return share(pos, neg), 1 - share(neg, pos)
