"""BUDDY: sketched counts of the pair's neighbourhoods beside propagated features, an MLP on both."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import BatchNorm1d, Linear
from torch.nn import functional as F

from llwlc.models._baseline_features import BaselineInput, DeviceFeatures
from llwlc.models._messages import Messages
from llwlc.models._network import BaselineNetwork, BaselineShape, product
from llwlc.models._recipes import Recipe
from llwlc.models._sketches import Sketches, sketch, structure


class BUDDYEncoding(NamedTuple):
    """Propagated features `[n, d]`, mapped, and the sketches of the messages."""

    rows: Tensor
    sketches: Sketches


class BUDDY(BaselineNetwork):
    """ "Graph Neural Networks for Link Prediction with Subgraph Sketching" (Chamberlain et al., ICLR 2023).

    score = w · [ReLU(BN(counts W₁)), ReLU(BN((h_u ⊙ h_v) W₂))] with h = Â X W and counts estimated from sketches of
    `hops` hops. Ours differs in three points: counts are unordered in the ends, so that the score is symmetric; a
    training link is removed, with its fold, from what is computed of it; plain HyperLogLog without the bias table of
    HyperLogLog++. As in the public code, nodes one step from one end alone are not counted. Options: `hidden`,
    `hops`, `permutations`, `registers`, `folds`, `label_dropout` and `head_dropout`.
    """

    NAME, TITLE = "buddy", "BUDDY"

    HEAD = ("labels", "label_norm", "mix", "norm", "head")
    DECODE_BATCH_SIZE = 16_384

    def __init__(self, recipe: Recipe, shape: BaselineShape, seed: int = 0) -> None:
        super().__init__(recipe, shape, seed)
        r = recipe
        self.input = BaselineInput(shape.num_nodes, shape.in_channels, r.hidden, embedding=r.embedding)
        self.keep = [i for i in range(_width(r.hops)) if i not in _left_out(r.hops)]
        self.labels = Linear(len(self.keep), len(self.keep))
        self.label_norm = BatchNorm1d(len(self.keep))
        self.mix, self.norm = Linear(r.hidden, r.hidden), BatchNorm1d(r.hidden)
        self.head = Linear(len(self.keep) + r.hidden, 1)

    def encode(self, messages: Messages, features: DeviceFeatures | None) -> BUDDYEncoding:
        r, key = self.recipe, "sketches"
        if key not in messages.kept:
            messages.kept[key] = sketch(
                messages,
                r.hops,
                permutations=r.permutations,
                registers=r.registers,
                seed=self.seed,
            )
        return BUDDYEncoding(messages.smooth(self.input(features)), messages.kept[key])

    def decode(self, encoded: BUDDYEncoding, pairs: Tensor) -> Tensor:
        r = self.recipe
        counts = structure(encoded.sketches, pairs)[:, self.keep].to(encoded.rows.dtype)
        label = F.dropout(torch.relu(self.label_norm(self.labels(counts))), r.label_dropout, self.training)
        ends = torch.relu(self.norm(self.mix(product(encoded.rows, pairs))))
        ends = F.dropout(ends, r.head_dropout, self.training)
        out: Tensor = self.head(torch.cat([label, ends], 1)).squeeze(1)
        return out


def _width(hops: int) -> int:
    return hops * (hops + 1) // 2 + hops


def _left_out(hops: int) -> list[int]:
    """The counts of nodes 1 (with three hops: and 2) steps from one end alone, hardly more than its degree."""
    first = hops * (hops + 1) // 2
    return list(range(first, first + max(0, hops - 1)))
