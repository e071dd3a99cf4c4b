"""Neo-GNN: a GCN combined with a learned neighbourhood overlap."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse
import torch
from torch import Tensor
from torch.nn import Linear, Parameter, ReLU, Sequential
from torch.nn import functional as F

from llwlc.models._baseline_features import DeviceFeatures
from llwlc.models._gcn import GCN
from llwlc.models._messages import Messages
from llwlc.models._network import BaselineShape
from llwlc.models._recipes import Recipe
from llwlc.models._walks import Walks, two_step_walks

EDGE_WIDTH, NODE_WIDTH, SCORE_WIDTH = 8, 128, 128
"""Hidden widths of the three MLPs on scalars, as in the public code."""


class Structure(NamedTuple):
    """S = A + β A² with its diagonal, as `walks`; `values [k]`: those that its entries take; `counts [n, k]`: how often
    each is in a row.
    """

    walks: Walks
    values: Tensor
    counts: DeviceFeatures


class NeoEncoding(NamedTuple):
    """Rows `[n, d]` of all nodes, their structural weights x `[n]`, and the walks that S is read from."""

    rows: Tensor
    weight: Tensor
    walks: Walks


class NeoGNN(GCN):
    """ "Neo-GNNs: Neighborhood Overlap-aware Graph Neural Networks for Link Prediction" (Yun et al., NeurIPS 2021).

    With S = A + β A²: x_w = f_node(Σ_v f_edge(S_vw)), overlap o = Σ_w S_uw x_w S_vw x_w, probability = α₀ σ(g(o)) + α₁
    σ(head(h_u ⊙ h_v)) with h of `gcn` and α a softmax. Its score is the log-odds of that mixture; it is trained by the
    sum of the losses of both parts and of the mixture. A training link is removed, with its fold, from A. Uses the
    options of `gcn`, and also `folds` and `square_weight`.
    """

    NAME, TITLE = "neognn", "Neo-GNN"

    DECODE_BATCH_SIZE = 8192

    def __init__(self, recipe: Recipe, shape: BaselineShape, seed: int = 0) -> None:
        super().__init__(recipe, shape, seed)
        self.f_edge, self.f_node, self.g = (_mlp(width) for width in (EDGE_WIDTH, NODE_WIDTH, SCORE_WIDTH))
        self.alpha = Parameter(torch.zeros(2))

    def encode(  # type: ignore[override]  # only `decode` of the same network reads it
        self, messages: Messages, features: DeviceFeatures | None
    ) -> NeoEncoding:
        beta = self.recipe.square_weight
        key = "structure", beta
        if key not in messages.kept:
            messages.kept[key] = structure(messages, beta)
        s: Structure = messages.kept[key]
        # f_edge sees each of the few values of S once
        total = s.counts.product(self.f_edge(s.values.to(self.alpha.dtype).unsqueeze(1)))
        return NeoEncoding(super().encode(messages, features), self.f_node(total).squeeze(1), s.walks)

    def decode(self, encoded: NeoEncoding, pairs: Tensor) -> Tensor:  # type: ignore[override]
        return self.mixture(*self.parts(encoded, pairs))

    def training_logits(self, messages: Messages, features: DeviceFeatures | None, pairs: Tensor) -> Tensor:
        structure, feature = self.parts(self.encode(messages, features), pairs)
        return torch.stack([structure, feature, self.mixture(structure, feature)])

    def parts(self, encoded: NeoEncoding, pairs: Tensor) -> tuple[Tensor, Tensor]:
        """The logits `[m]` of the structural part and of the GCN."""
        shared = weighted_overlap(encoded.walks, self.recipe.square_weight, encoded.weight, pairs)
        return self.g(shared.unsqueeze(1)).squeeze(1), super().decode(encoded.rows, pairs)

    def mixture(self, structure: Tensor, feature: Tensor) -> Tensor:
        """The log-odds `[m]` of α₀ σ(structure) + α₁ σ(feature), from logarithms alone, so that no probability is
        rounded to 0 or 1.
        """
        share = F.log_softmax(self.alpha, 0)
        yes = torch.logaddexp(share[0] + F.logsigmoid(structure), share[1] + F.logsigmoid(feature))
        no = torch.logaddexp(share[0] + F.logsigmoid(-structure), share[1] + F.logsigmoid(-feature))
        return yes - no


def structure(messages: Messages, beta: float) -> Structure:
    """S and how often each of its values is in each row."""
    walks = two_step_walks(messages)
    codes, column = torch.unique(walks.code, return_inverse=True)
    row, n = walks.key // walks.num_nodes, walks.num_nodes
    ones = np.ones(len(row), dtype=np.float32)
    counts = scipy.sparse.csr_array((ones, (row.cpu().numpy(), column.cpu().numpy())), shape=(n, len(codes)))
    counts.sum_duplicates()
    return Structure(walks, entries(codes, beta, torch.float64), DeviceFeatures(counts, messages.device))


def entries(code: Tensor, beta: float, dtype: torch.dtype) -> Tensor:
    """A + β A² of the codes of `Walks`, `[k]`."""
    return (code % 2).to(dtype) + beta * (code >> 1).to(dtype)


def weighted_overlap(walks: Walks, beta: float, weight: Tensor, pairs: Tensor) -> Tensor:
    """Σ_w S_uw x_w S_vw x_w of each pair, `[m]`, for the nodes' weights x `[n]`."""
    w, here, owner = walks.rows(pairs[:, 0])
    there = walks.find(pairs[owner, 1], w)
    shared = there > 0
    w, here, there, owner = w[shared], here[shared], there[shared], owner[shared]
    term = entries(here, beta, weight.dtype) * entries(there, beta, weight.dtype) * weight[w].square()
    return weight.new_zeros(len(pairs)).index_add(0, owner, term)


def _mlp(width: int) -> Sequential:
    return Sequential(Linear(1, width), ReLU(), Linear(width, 1))
