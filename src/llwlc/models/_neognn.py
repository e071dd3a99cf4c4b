"""Neo-GNN: a GCN beside learned weights of the nodes that two neighbourhoods share."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse
import torch
from torch import Tensor
from torch.nn import Linear, Parameter, ReLU, Sequential
from torch.nn import functional as F

from llwlc._support.ragged import expand
from llwlc.models._baseline_features import DeviceFeatures
from llwlc.models._gcn import GCN
from llwlc.models._messages import Messages
from llwlc.models._network import BaselineShape
from llwlc.models._recipes import Recipe

EDGE_WIDTH, NODE_WIDTH, SCORE_WIDTH = 8, 128, 128
"""Widths of the three MLPs of one number, those of the public code."""


class Overlap(NamedTuple):
    """S = A + β A² with its diagonal, symmetric, e entries that take k values: `indptr [n + 1]`, `key [e]` (row · n +
    column, ascending), `kind [e]` (which value), `values [k]`, `counts [n, k]` (how often each is in a row).
    """

    indptr: Tensor
    key: Tensor
    kind: Tensor
    values: Tensor
    counts: DeviceFeatures


class NeoEncoding(NamedTuple):
    """Rows `[n, d]` of all nodes, their structural weights x `[n]`, and S."""

    rows: Tensor
    weight: Tensor
    overlap: Overlap


class NeoGNN(GCN):
    """ "Neo-GNNs: Neighborhood Overlap-aware Graph Neural Networks for Link Prediction" (Yun et al., NeurIPS 2021).

    With S = A + β A²: x_w = f_node(Σ_v f_edge(S_vw)), overlap o = Σ_w S_uw x_w S_vw x_w, probability = α₀ σ(g(o)) + α₁
    σ(head(h_u ⊙ h_v)) with h of `gcn` and α a softmax. Its score is the log-odds of that mixture; it is trained by the
    sum of the losses of both parts and of the mixture. A training link is removed, with its fold, from A. Reads what
    `gcn` does, `folds` and `square_weight`.
    """

    NAME, TITLE = "neognn", "Neo-GNN"

    DECODE_BATCH_SIZE = 8192

    def __init__(self, recipe: Recipe, shape: BaselineShape, seed: int = 0) -> None:
        super().__init__(recipe, shape, seed)
        self.f_edge, self.f_node, self.g = (_mlp(width) for width in (EDGE_WIDTH, NODE_WIDTH, SCORE_WIDTH))
        self.alpha = Parameter(torch.zeros(2))

    def encode(self, messages: Messages, features: DeviceFeatures | None) -> NeoEncoding:
        beta = self.recipe.square_weight
        key = "overlap", beta
        if key not in messages.kept:
            messages.kept[key] = overlap_matrix(messages, beta)
        s: Overlap = messages.kept[key]
        # f_edge sees each of the few values of S once
        total = s.counts.product(self.f_edge(s.values.to(self.alpha.dtype).unsqueeze(1)))
        return NeoEncoding(super().encode(messages, features), self.f_node(total).squeeze(1), s)

    def decode(self, encoded: NeoEncoding, pairs: Tensor) -> Tensor:
        return self.mixture(*self.parts(encoded, pairs))

    def training_logits(self, messages: Messages, features: DeviceFeatures | None, pairs: Tensor) -> Tensor:
        structure, feature = self.parts(self.encode(messages, features), pairs)
        return torch.stack([structure, feature, self.mixture(structure, feature)])

    def parts(self, encoded: NeoEncoding, pairs: Tensor) -> tuple[Tensor, Tensor]:
        """The logits `[m]` of the structural part and of the GCN."""
        shared = weighted_overlap(encoded.overlap, encoded.weight, pairs)
        return self.g(shared.unsqueeze(1)).squeeze(1), super().decode(encoded.rows, pairs)

    def mixture(self, structure: Tensor, feature: Tensor) -> Tensor:
        """The log-odds `[m]` of α₀ σ(structure) + α₁ σ(feature), from logarithms alone, so that no probability is
        rounded to 0 or 1.
        """
        share = F.log_softmax(self.alpha, 0)
        yes = torch.logaddexp(share[0] + F.logsigmoid(structure), share[1] + F.logsigmoid(feature))
        no = torch.logaddexp(share[0] + F.logsigmoid(-structure), share[1] + F.logsigmoid(-feature))
        return yes - no


def overlap_matrix(messages: Messages, beta: float) -> Overlap:
    """S = A + β A², computed on the CPU with integers, so that equal entries are found as one value."""
    n = messages.num_nodes
    row, col = messages.row.cpu().numpy(), messages.col.cpu().numpy()
    a = scipy.sparse.csr_array((np.ones(len(row), dtype=np.int64), (row, col)), shape=(n, n))
    code = scipy.sparse.csr_array(a + 2 * (a @ a))  # whether they are linked, and twice the walks of two steps
    code.sort_indices()
    found, kind = np.unique(code.data, return_inverse=True)
    rows = np.repeat(np.arange(n), np.diff(code.indptr))
    counts = scipy.sparse.csr_array((np.ones(len(rows), dtype=np.float32), (rows, kind)), shape=(n, len(found)))
    counts.sum_duplicates()

    def there(x: np.ndarray) -> Tensor:
        return torch.as_tensor(x, device=messages.device)

    return Overlap(
        there(code.indptr.astype(np.int64)),
        there(rows * n + code.indices),
        there(kind.astype(np.int32)),
        there(found % 2 + beta * (found // 2)),
        DeviceFeatures(counts, messages.device),
    )


def weighted_overlap(s: Overlap, weight: Tensor, pairs: Tensor) -> Tensor:
    """Σ_w S_uw x_w S_vw x_w of each pair, `[m]`, for the nodes' weights x `[n]`."""
    u, v = pairs.unbind(1)
    values = s.values.to(weight.dtype)
    here, owner = expand(s.indptr[u], s.indptr[u + 1] - s.indptr[u])
    w = s.key[here] - u[owner] * len(weight)
    wanted = v[owner] * len(weight) + w
    there = torch.searchsorted(s.key, wanted).clamp(max=max(len(s.key) - 1, 0))
    shared = torch.eq(s.key[there], wanted)
    here, there, owner, w = here[shared], there[shared], owner[shared], w[shared]
    term = values[s.kind[here]] * values[s.kind[there]] * weight[w].square()
    return weight.new_zeros(len(pairs)).index_add(0, owner, term)


def _mlp(width: int) -> Sequential:
    return Sequential(Linear(1, width), ReLU(), Linear(width, 1))
