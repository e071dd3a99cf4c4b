"""STUDY_BASELINES: forms of baselines that the study measures and the package does not have."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from llwlc.graph._graph import Graph
from llwlc.models._base import RANDOM, Population
from llwlc.models._baseline import Baseline, BaselineTrainee, compute_logits
from llwlc.models._baseline_features import DeviceFeatures
from llwlc.models._messages import Messages
from llwlc.models._network import product
from llwlc.models._ocn import OCN, OCNEncoding, SharedNodes, shared_nodes
from llwlc.models._walks import two_step_walks
from llwlc.splits._linksplit import LinkSplit
from llwlc.splits._negatives import pair_number
from llwlc.training._loop import ValidationScores


class BatchOCN(OCN):
    """OCN with the weights of its public code (qingpingmo/OCN, predictor cn5), which depend on the batch.

    c¹ is divided by its column sums over the pairs of the batch, and a column of sum 1 is set to 0; γ is the mean of
    ⟨c², c¹⟩ over the batches of training, over the largest entry of c¹; c² − γ c¹ is divided by its column sums, where
    they are not 0. c² is the mean of both directions, as in the package.
    """

    TITLE = "OCN, weights by batch"

    def encode(self, messages: Messages, features: DeviceFeatures | None) -> OCNEncoding:
        rows = self.rows(messages, features)
        ones = rows.new_ones(messages.num_nodes)
        return OCNEncoding(rows, messages, two_step_walks(messages), ones, ones)

    def decode(self, encoded: OCNEncoding, pairs: Tensor) -> Tensor:
        rows, n = encoded.rows, encoded.messages.num_nodes
        node, owner, first, second = merge_entries(shared_nodes(encoded, pairs), n)
        column = first.new_zeros(n).index_add(0, node, first)[node]
        first = torch.where(column == 1, 0, first / column.clamp(min=1))
        if self.training:  # the sum over batches, and their number
            self.products += torch.stack([(second * first).sum(), first.new_ones(())]).detach()
        gamma = self.products[0] / self.products[1].clamp(min=1)
        if len(first) and first.max() > 0:
            gamma = gamma / first.max()
        second = second - gamma * first
        column = second.new_zeros(n).index_add(0, node, second)[node]
        second = second / torch.where(column == 0, 1, column)
        zeros = rows.new_zeros(len(pairs), rows.shape[1])
        near = zeros.index_add(0, owner, first.unsqueeze(1) * rows[node])
        far = zeros.index_add(0, owner, second.unsqueeze(1) * rows[node])
        share = torch.sigmoid(self.alpha).cumprod(0)
        mixed = share[0] * self.near(near) + share[1] * self.far(far)
        out: Tensor = self.head(mixed + self.beta * self.ends(product(rows, pairs))).squeeze(1)
        return out

    def training_logits(self, messages: Messages, features: DeviceFeatures | None, pairs: Tensor) -> Tensor:
        """Links and negatives as two batches, as there."""
        encoded, links = self.encode(messages, features), len(pairs) // (1 + self.recipe.negatives)
        return torch.cat([self.decode(encoded, pairs[:links]), self.decode(encoded, pairs[links:])]).unsqueeze(0)


def merge_entries(found: SharedNodes, num_nodes: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Each node once for a pair: `node [k]`, `owner [k]` and the entries of c¹ and c² `[k]`."""
    key, place = torch.unique(found.owner * num_nodes + found.node, return_inverse=True)
    first, second = (x.new_zeros(len(key)).index_add(0, place, x) for x in (found.first, found.second))
    return key % num_nodes, key // num_nodes, first, second


class BatchTrainee(BaselineTrainee):
    """A network in training whose validation links and negatives are scored in separate batches."""

    def validate(self) -> ValidationScores:
        parts = (self.split.valid_pos, self.split.valid_neg)
        pos, neg = (compute_logits(self.net, self.messages, self.features, part) for part in parts)
        return ValidationScores(pos, neg)


class BatchBaseline(Baseline):
    """A baseline that scores the links of its split and all other pairs in separate batches, as OCN's public code does:
    for that, it is told which are links.
    """

    def fit(self, split: LinkSplit, *args: Any, **options: Any) -> BatchBaseline:
        self._links = torch.cat([split.valid_pos, split.test_pos])
        super().fit(split, *args, **options)
        return self

    def trainee(self, split: LinkSplit, seed: int, device: torch.device) -> BatchTrainee:
        plain = super().trainee(split, seed, device)
        return BatchTrainee(plain.net, split, plain.features, seed)

    def score(self, graph: Graph, pairs: Tensor, population: Population = RANDOM) -> Tensor:
        n = graph.num_nodes
        link = torch.isin(pair_number(pairs, n), pair_number(self._links, n))
        scores = torch.empty(len(pairs), dtype=torch.float64)
        for part in (link, ~link):
            scores[part] = super().score(graph, pairs[part], population)
        return scores


STUDY_BASELINES: dict[str, type[OCN]] = {"ocn-batch": BatchOCN}
"""The network of each form, by the method that a cell names."""


def make_study_baseline(method: str, **options: Any) -> BatchBaseline:
    """The form of a baseline with this name, not fitted.

    >>> make_study_baseline("ocn-batch").title
    'OCN, weights by batch'
    """
    return BatchBaseline(STUDY_BASELINES[method], **options)
