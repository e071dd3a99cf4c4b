"""OCN: common neighbours, and second-order common neighbours made orthogonal to them."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import Linear, Parameter, Sequential

from llwlc.models._baseline_features import DeviceFeatures
from llwlc.models._linear_encoder import LinearEncoder, layer, two_layers
from llwlc.models._messages import Messages
from llwlc.models._network import BaselineShape, product
from llwlc.models._recipes import Recipe
from llwlc.models._walks import Walks, two_step_walks


class OCNEncoding(NamedTuple):
    """Rows `[n, d]` of all nodes, the messages and their walks, and the weight of each node as a common neighbour
    (`near [n]`) and as one of second order (`far [n]`).
    """

    rows: Tensor
    messages: Messages
    walks: Walks
    near: Tensor
    far: Tensor


class SharedNodes(NamedTuple):
    """The nodes `node [e]` that pairs share, each listed once for either end it is a neighbour of (`owner [e]`: its
    pair), and half its weight as a common neighbour (`first [e]`) and of second order (`second [e]`).
    """

    node: Tensor
    owner: Tensor
    first: Tensor
    second: Tensor

    def products(self, near: Tensor) -> Tensor:
        """⟨first, second⟩ and ⟨first, first⟩ over all pairs and nodes, `[2]`."""
        whole = torch.where(self.first > 0, near[self.node], 0)
        return torch.stack([(whole * self.second).sum(), (whole * self.first).sum()])


class OCN(LinearEncoder):
    """ "OCN: Effectively Utilizing Higher-Order Common Neighbors for Better Link Prediction" (Wang, Wang and Zhang,
    NeurIPS 2025).

    score = head(α₀ f₁(Σ_w c¹_w h_w) + α₁ f₂(Σ_w (c² − γ c¹)_w h_w) + β p(h_u ⊙ h_v)): c¹ weights common neighbours, c²
    neighbours of one end that two steps join to the other (the mean of both directions); γ = ⟨c¹, c²⟩ / ⟨c¹, c¹⟩ over
    all pairs of training so far; h and `head` as in `ncn`, α a cumulative product of sigmoids. The public code divides
    c¹ and c² by their column sums over the pairs of the batch; here the divisor is what a batch of links would give on
    average (`divisors`), so that a score does not depend on its batch. Uses the options of `ncn` except
    `overlap_dropout` and `deep_head`, and also `batch_size`.
    """

    NAME, TITLE = "ocn", "OCN"

    HEAD = ("near", "far", "ends", "head", "alpha", "beta")
    DECODE_BATCH_SIZE = 8192
    products: Tensor

    def __init__(self, recipe: Recipe, shape: BaselineShape, seed: int = 0) -> None:
        super().__init__(recipe, shape, seed)
        width, dropout = recipe.hidden, recipe.head_dropout
        self.near = Sequential(*two_layers(width, dropout), Linear(width, width))
        self.far = Sequential(*two_layers(width, dropout), Linear(width, width))
        self.ends = Sequential(*layer(width, dropout), Linear(width, width))
        self.head = Sequential(*layer(width, dropout), Linear(width, 1))
        self.alpha, self.beta = Parameter(torch.ones(2)), Parameter(torch.ones(1))
        self.register_buffer("products", torch.zeros(2))  # ⟨c¹, c²⟩ and ⟨c¹, c¹⟩, summed over training

    def encode(self, messages: Messages, features: DeviceFeatures | None) -> OCNEncoding:
        rows = self.rows(messages, features)
        near, far = (1 / d.to(rows.dtype) for d in divisors(messages, self.recipe.batch_size))
        return OCNEncoding(rows, messages, two_step_walks(messages), near, far)

    def decode(self, encoded: OCNEncoding, pairs: Tensor) -> Tensor:
        found = shared_nodes(encoded, pairs)
        if self.training:
            self.products += found.products(encoded.near).detach()
        gamma = self.products[0] / self.products[1].clamp(min=1e-12)
        rows = encoded.rows[found.node]
        zeros = encoded.rows.new_zeros(len(pairs), rows.shape[1])
        near = zeros.index_add(0, found.owner, found.first.unsqueeze(1) * rows)
        far = zeros.index_add(0, found.owner, (found.second - gamma * found.first).unsqueeze(1) * rows)
        share = torch.sigmoid(self.alpha).cumprod(0)
        mixed = share[0] * self.near(near) + share[1] * self.far(far)
        out: Tensor = self.head(mixed + self.beta * self.ends(product(encoded.rows, pairs))).squeeze(1)
        return out


def shared_nodes(encoded: OCNEncoding, pairs: Tensor) -> SharedNodes:
    """The neighbours of either end that the other one reaches in one step or by a walk of two."""
    parts = []
    for here, there in ((0, 1), (1, 0)):
        node, owner = encoded.messages.neighbours(pairs[:, here])
        code = encoded.walks.find(pairs[owner, there], node)
        parts.append(torch.stack([node, owner, code.long()])[:, code > 0])
    node, owner, code = torch.cat(parts, 1)
    return SharedNodes(node, owner, (code & 1) * encoded.near[node] / 2, (code > 1) * encoded.far[node] / 2)


def divisors(messages: Messages, batch_size: int) -> tuple[Tensor, Tensor]:
    """1 + (batch_size / links) · the number of links that have a node among their common neighbours, and among those of
    second order, a link itself being removed: the expected column sums over a batch of links that includes the scored
    pair; `[n]` each, float64.
    """
    walks, n = two_step_walks(messages), messages.num_nodes
    row, col = walks.key // n, walks.key % n
    steps = (walks.code >> 1).double()
    links = torch.where(walks.code % 2 > 0, steps, 0)  # the common neighbours of each link
    # a link (u, v) with w next to u: besides v – u – w another walk of two steps must join v and w
    second = torch.where((steps > 1) & (row != col), steps, 0)
    share = min(1.0, 2 * batch_size / max(len(messages.col), 1))
    zeros = torch.zeros(n, dtype=torch.float64, device=messages.device)
    near, far = (1 + share * zeros.index_add(0, row, x) / 2 for x in (links, second))
    return near, far
