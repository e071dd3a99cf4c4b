"""LLwLCNet: blocks on one constrained eigenbasis, a pooling, a readout of the two ends, a score."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor
from torch.nn import Linear, ModuleList, ReLU, Sequential

from llwlc.bases._link_batch import LinkBatch
from llwlc.errors import InputError
from llwlc.linalg._differentiable import has_gradients, record
from llwlc.nn._config import NetConfig
from llwlc.nn._conv import LLwLCConv
from llwlc.nn._end_readout import FilteredEnds, combine_symmetrically
from llwlc.nn._link_dropout import LinkDropout, number_sites, set_links
from llwlc.nn._node_input import NodeInput
from llwlc.nn._registry import READOUTS
from llwlc.subgraphs._labels import distance_classes


class LLwLCNet(torch.nn.Module):
    """The network of "Boosting Graph Neural Network Expressivity with Learnable Lanczos Constraints" (ICML 2025),
    Algorithm 2, and its extensions here.

    Input of a node: its unordered pair of distances to the ends, one-hot, log(1 + degree), and its features where
    `node_features`. Blocks Xᵢ₊₁ = ReLU(V fᵢ(R) Vᵀ Xᵢ Wᵢ) share one basis. The score is symmetric in the two ends and
    does not depend on the order of nodes.

    Args:
        config: the shape of the network; see `NetConfig`.

    Shapes:
        - **input:** a `LinkBatch` of B links, compact features `[n, F]` of the graph's nodes or None
        - **output:** logits `[B]`

    >>> import llwlc
    >>> path = llwlc.Graph.from_edges(torch.tensor([[0, 1], [1, 2], [2, 3]]))
    >>> subs, basis = llwlc.link_bases(path, torch.tensor([[0, 2], [1, 3]]), steps=4)
    >>> label = llwlc.subgraphs.distance_encoding(subs)
    >>> batch = llwlc.nn.LinkBatch(basis, subs.node, label, subs.degree.float(), subs.u, subs.v)
    >>> LLwLCNet(llwlc.nn.NetConfig(filtered_channels=0, cosines=False, ranking=False))(batch, None).shape
    torch.Size([2])
    """

    def __init__(self, config: NetConfig) -> None:
        super().__init__()
        self.config = c = config
        self.dropout = 0.5 if c.dropout is None else c.dropout
        self.classes = distance_classes(c.distance_cap)
        self.input = self.make_input()
        widths = [self.input.out_channels] + [c.channels] * c.blocks
        self.convs = ModuleList(self.make_block(a, b) for a, b in pairwise(widths))
        self.pool = self.make_pool(c.channels * (c.blocks if c.jumping else 1))
        width = self.pool.out_channels + (2 * c.channels if c.ends else 0)
        self.filtered = None
        if c.feature_channels and c.filtered_channels:
            self.filtered = self.make_ends()
            width += self.filtered.out_channels
        width += c.pair_channels
        self.head = Sequential(Linear(width, c.head), ReLU(), LinkDropout(self.dropout), Linear(c.head, 1))
        # the output for candidates reads the shared hidden layer and, linearly, the whole readout: in trials a small
        # hidden layer of its own sometimes became all zero
        self.ranking = Linear(c.head + width, 2) if c.ranking and c.pair_channels else None
        number_sites(self)

    def make_input(self) -> NodeInput:
        """The input of the first block. A subclass that has other parts overrides this and the methods below."""
        return NodeInput(self.config)

    def make_block(self, in_channels: int, out_channels: int) -> LLwLCConv:
        """A block.

        Args:
            in_channels: width of its input rows.
            out_channels: width of its output rows.
        """
        c = self.config
        return LLwLCConv(
            in_channels,
            out_channels,
            num_filters=c.filters,
            hidden_channels=c.filter_hidden,
            skip=c.skip,
            dropout=self.dropout / 2,
        )

    def make_pool(self, channels: int) -> Any:
        """The readout of the rows.

        Args:
            channels: width of the rows.
        """
        return READOUTS[self.config.pooling].build(channels, self.config)

    def make_ends(self) -> FilteredEnds:
        """The readout of the ends' compact features."""
        return FilteredEnds(self.config)

    def forward(self, batch: LinkBatch, features: Tensor | None = None) -> Tensor:
        """Logits among random pairs.

        Args:
            batch: B links.
            features: compact features `[n, F]` of the graph's nodes, None for a network that reads none.

        Returns:
            Logits `[B]`.
        """
        return self.outputs(batch, features)[:, 0]

    def outputs(self, batch: LinkBatch, features: Tensor | None = None) -> Tensor:
        """Logits among random pairs and among candidates.

        Args:
            batch: B links.
            features: compact features `[n, F]` of the graph's nodes, None for a network that reads none.

        Returns:
            Logits `[B, 2]`, or `[B, 1]` where the network has no output for candidates.
        """
        return self.heads(self.readout(batch, features), batch.pair)

    def heads(self, parts: Tensor, pair: Tensor | None) -> Tensor:
        """The logits from the readout.

        Args:
            parts: the readout, `[B, width]`.
            pair: the `PairInputs` of the links, `[B, P]`, or None.

        Returns:
            Logits `[B, 2]`, or `[B, 1]` where the network has no output for candidates.
        """
        hidden = self.head[:-1](parts)
        out: Tensor = self.head[-1](hidden)
        if self.ranking is None or pair is None:
            return out
        # the first input is above 0 where the ends share a neighbour; candidates with and without one are two
        # populations
        sharing = (pair[:, :1] > 0).to(out.dtype)
        both = self.ranking(torch.cat([hidden, parts], 1))
        return torch.cat([out, both[:, :1] * sharing + both[:, 1:] * (1 - sharing)], 1)

    def readout(self, batch: LinkBatch, features: Tensor | None = None) -> Tensor:
        """The inputs of the heads for each link.

        Args:
            batch: B links.
            features: compact features `[n, F]` of the graph's nodes, None for a network that reads none.

        Returns:
            Rows `[B, width]`.
        """
        c = self.config
        width = 0 if features is None else features.shape[1]
        if width != c.feature_channels:
            raise InputError(f"this network reads {c.feature_channels} compact features per node, got {width}")
        self._check_classes(batch.label)
        set_links(self, batch.draws)
        if has_gradients(batch.basis):  # once for all blocks
            batch = replace(batch, basis=record(batch.basis))
        x = self.input(batch, features)
        states = []
        for conv in self.convs:
            x = conv(x, batch.basis).relu()
            states.append(x)
        parts = [self.pool(torch.cat(self.pooled_rows(states, batch), 1), batch)]
        if c.ends:
            parts.append(combine_symmetrically(x.index_select(0, batch.u), x.index_select(0, batch.v)))
        if self.filtered is not None and features is not None:
            parts.append(self.filtered(batch, features))
        if c.pair_channels:
            if batch.pair is None or batch.pair.shape[1] != c.pair_channels:
                raise InputError(
                    f"this network reads {c.pair_channels} inputs of a pair: encode its links with PairInputs"
                )
            parts.append(batch.pair)
        return torch.cat(parts, 1)

    def pooled_rows(self, states: list[Tensor], batch: LinkBatch) -> list[Tensor]:
        """The rows that are pooled, side by side.

        Args:
            states: the output rows of each block, `[N, channels]`.
            batch: B links.
        """
        return states if self.config.jumping else states[-1:]

    def _check_classes(self, label: Tensor) -> None:
        """Refuses labels beyond the network's classes. On the CPU only: on a GPU the check would wait for the
        device.
        """
        most = int(label.max()) if label.numel() and not label.is_cuda else -1
        if most >= self.classes:
            raise InputError(
                f"the batch has distance class {most}, this network knows 0 to {self.classes - 1}: its distance_cap is"
                " not the basis's"
            )

    @property
    def num_parameters(self) -> int:
        """The number of learned numbers."""
        return sum(p.numel() for p in self.parameters())

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.config.blocks} blocks of {self.config.channels}, {self.num_parameters:,}"
            " parameters)"
        )
