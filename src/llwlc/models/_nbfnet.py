"""NBFNet: a learned Bellman–Ford iteration from one end of a pair, read at the other."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import LayerNorm, Linear, ModuleList, Parameter, ReLU, Sequential
from torch.utils.checkpoint import checkpoint

from llwlc.models._baseline_features import DeviceFeatures
from llwlc.models._messages import Messages
from llwlc.models._network import BaselineNetwork, BaselineShape
from llwlc.models._recipes import Recipe

LARGEST = 1 << 25
"""Numbers of the messages that are computed together: sources are divided accordingly."""


class NBFNet(BaselineNetwork):
    """ "Neural Bellman-Ford Networks: A General Graph Neural Network Framework for Link Prediction" (Zhu et al.,
    NeurIPS 2021), for graphs of one relation.

    From each end s of a pair: b is the query q at s and 0 elsewhere, x₀ = b, x_{i+1} = x_i + ReLU(LN([x_i, update(r_i ⊙
    x_i, b)] W_i)); score = head([(x_u(v) + x_v(u)) / 2, q]). Features are not read, as there. All links of a batch are
    removed from the messages it is trained on. Options: `hidden` and `layers`.
    """

    NAME, TITLE = "nbfnet", "NBFNet"

    def __init__(self, recipe: Recipe, shape: BaselineShape, seed: int = 0) -> None:
        super().__init__(recipe, shape, seed)
        width = recipe.hidden
        self.query = Parameter(torch.randn(width))
        self.layers = ModuleList(BellmanFordLayer(width) for _ in range(recipe.layers))
        self.head = Sequential(Linear(2 * width, 2 * width), ReLU(), Linear(2 * width, 1))

    def encode(self, messages: Messages, features: DeviceFeatures | None) -> Messages:
        return messages

    def decode(self, encoded: Messages, pairs: Tensor) -> Tensor:
        """All pairs of a source share its iteration; the sources are taken as many at a time as `LARGEST` allows."""
        source, place = torch.unique(pairs.T.flatten(), return_inverse=True)
        target = pairs.flip(1).T.flatten()
        entries = max(encoded.num_nodes, len(encoded.col), 1) * len(self.query)
        size = max(LARGEST // entries, 1)
        parts, order = [self.query.new_zeros(0, len(self.query))], [place[:0]]
        for begin in range(0, len(source), size):
            mine = ((place >= begin) & (place < begin + size)).nonzero().view(-1)
            given = encoded, source[begin : begin + size], place[mine] - begin, target[mine]
            if torch.is_grad_enabled() and len(source) > size:  # else the states of all sources would be kept at once
                parts.append(checkpoint(self.reach, *given, use_reentrant=False))
            else:
                parts.append(self.reach(*given))
            order.append(mine)
        rows = torch.cat(parts)[torch.argsort(torch.cat(order))].reshape(2, len(pairs), len(self.query)).mean(0)
        out: Tensor = self.head(torch.cat([rows, self.query.expand_as(rows)], 1)).squeeze(1)
        return out

    def reach(self, messages: Messages, source: Tensor, place: Tensor, target: Tensor) -> Tensor:
        """The rows `[k, d]` of the nodes `target [k]` after the iteration from `source[place]`."""
        at = torch.arange(len(source), device=source.device)
        start = self.query.new_zeros(messages.num_nodes, len(source), len(self.query))
        start = start.index_put((source, at), self.query.expand(len(source), -1))
        x = start
        for layer in self.layers:
            x = x + layer(x, start, messages)
        return x[target, place]


class BellmanFordLayer(torch.nn.Module):
    """ReLU(LN([x, update] W)) for states x `[n, sources, d]`, the update by `aggregate` of the messages r ⊙ x."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.relation = Parameter(torch.randn(width))
        self.lin, self.norm = Linear(13 * width, width), LayerNorm(width)

    def forward(self, x: Tensor, start: Tensor, messages: Messages) -> Tensor:
        update = aggregate(self.relation * x, start, messages)
        return torch.relu(self.norm(self.lin(torch.cat([x, update], 2))))


def aggregate(x: Tensor, start: Tensor, messages: Messages) -> Tensor:
    """Principal neighbourhood aggregation `[n, sources, 12 d]` of what each node is sent: the messages x of its
    neighbours and its own, `[n, sources, d]`, and its boundary condition `start`.

    Mean, maximum, minimum and standard deviation of each channel, times 1, s and 1/s with s = log(degree + 2) over its
    mean.
    """
    n, sources, width = x.shape
    flat = x.flatten(1)
    count = (messages.degree + 2).to(x.dtype)  # the node itself and the boundary condition
    sent, own = flat.index_select(0, messages.col), start.flatten(1)
    # by plain scattering: with sparse products and torch.segment_reduce, fits on a GPU ended in illegal memory accesses
    total = (flat + own).index_add(0, messages.row, sent)
    square = (flat.square() + own.square()).index_add(0, messages.row, sent.square())
    mean = total / count.unsqueeze(1)
    spread = (square / count.unsqueeze(1) - mean.square()).clamp(min=1e-6).sqrt()
    place = messages.row.unsqueeze(1).expand_as(sent)
    most = torch.maximum(flat, own).scatter_reduce(0, place, sent, "amax")
    least = torch.minimum(flat, own).scatter_reduce(0, place, sent, "amin")
    found = torch.stack([mean, most, least, spread], 2).reshape(n, sources, width * 4)
    scale = count.log() / count.log().mean()
    scales = torch.stack([torch.ones_like(scale), scale, 1 / scale], 1)
    return (found.unsqueeze(3) * scales.reshape(n, 1, 1, 3)).flatten(2)
