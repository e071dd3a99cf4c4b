"""Inner splits, which hide links from every member of a blend so that they can choose its weights."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from llwlc.graph._edge_list import EdgeList
from llwlc.graph._graph import Graph
from llwlc.models._base import LinkModel, Plannable
from llwlc.splits._linksplit import LinkSplit
from llwlc.splits._making import fresh_negatives, training_non_edges
from llwlc.splits._negatives import pair_number
from llwlc.training._candidate_links import CandidateLinks

ENOUGH_VALIDATION = 200
"""At least this many validation links choose the weights by themselves; otherwise training links are hidden."""
MOST_HIDDEN, HIDDEN_SHARE = 200, 0.1
"""On a larger graph, how many training links are hidden: this number or this share of them, whichever is less."""
TRAININGS = ((300, 2), (800, 1))
"""(maximum number of training links, inner splits): a training on such a small graph takes seconds, so each inner split
hides another fold, `1 / FOLDS` of the links."""
FOLDS = 5
COPIES = 3
"""Trainings of our network on all links of such a small graph, whose scores are averaged."""
FEWEST_LINKS = 20
"""With fewer training links none are hidden."""


class Fold(NamedTuple):
    """A split to train on, and the pairs that it hides, links `pos [m, 2]` and non-links `neg [k, 2]`."""

    split: LinkSplit
    pos: Tensor
    neg: Tensor


class Folds(NamedTuple):
    """The whole split, and inner splits that hide some of its training links. `copies`: how often our network is
    trained on the whole split; on a large graph only on the inner ones, where there are any.
    """

    whole: Fold
    inner: list[Fold]
    copies: int = 1

    def trained_on(self, member: LinkModel) -> list[Fold]:
        """The splits that a member is trained on."""
        if not isinstance(member, Plannable):
            return [self.whole, *self.inner]
        if self.inner and self.copies == 1:
            return self.inner
        return [self.whole, *self.inner, *[self.whole] * (self.copies - 1)]


def make_folds(split: LinkSplit, seed: int) -> Folds:
    """The splits that choose the weights of a blend. No links are hidden if there are enough validation links, or if
    negatives are hard ones, which hidden links do not have.
    """
    count, has_hard = len(split.train_pos), split.valid_neg.ndim == 3
    whole = Fold(split, split.valid_pos[:0], split.valid_neg.reshape(-1, 2)[:0])
    if has_hard or len(split.valid_pos) >= ENOUGH_VALIDATION or count < FEWEST_LINKS:
        return Folds(whole, [])
    times = next((times for most, times in TRAININGS if count <= most), 0)
    size = count // FOLDS if times else min(MOST_HIDDEN, round(HIDDEN_SHARE * count))
    rng, folds = np.random.default_rng([seed, 32]), max(times, 1)
    order = torch.from_numpy(rng.permutation(count))
    free = training_non_edges(split)
    wanted = min(folds * size, len(free) // 3)
    if wanted < folds:
        return Folds(whole, [])
    negatives = free.sample(wanted, rng).chunk(folds)
    inner = [_hide(split, order[k * size : (k + 1) * size], negatives[k]) for k in range(folds)]
    return Folds(whole, inner, COPIES if times else 1)


def _hide(split: LinkSplit, at: Tensor, neg: Tensor) -> Fold:
    """The split without the training links at these places: they become test links, which no fit reads."""
    stays = torch.ones(len(split.train_pos), dtype=torch.bool)
    stays[at] = False
    pos = split.train_pos[at]
    train = _without(split.train_graph, pos)
    inner = replace(
        split,
        train_pos=split.train_pos[stays],
        train_graph=train,
        valid_graph=train if split.valid_graph is split.train_graph else _without(split.valid_graph, pos),
        test_pos=torch.cat([split.test_pos, pos]),
        test_neg=torch.cat([split.test_neg.reshape(-1, 2), neg]),
    )
    return Fold(replace(inner, train_neg=fresh_negatives(inner, epoch=0)), pos, neg)


def _without(graph: Graph, pairs: Tensor) -> Graph:
    edges = EdgeList(graph)
    numbers = edges.numbers(pairs)
    return edges.select(~edges.flags(numbers[numbers >= 0]))


def candidates_within(candidates: CandidateLinks, before: Tensor, after: Tensor, nodes: int) -> CandidateLinks:
    """The candidates of a split where only the training links `after [m, 2]` of `before` are trained on."""
    if len(before) == len(after):
        return candidates
    members = pair_number(before[candidates.member], nodes)
    return replace(candidates, member=torch.isin(pair_number(after, nodes), members))
