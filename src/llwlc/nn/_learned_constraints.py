"""Learned constraints: columns of C from node states, and the network that has such columns."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import Linear, Sequential, Tanh

from llwlc.bases._config import BasisConfig
from llwlc.bases._eigenbasis import eigenbasis
from llwlc.bases._encoded_links import EncodedLinks, encode_subgraphs, make_encoded_links
from llwlc.bases._link_batch import LinkBatch
from llwlc.constraints._columns import Constraints, custom, stack
from llwlc.errors import InputError
from llwlc.linalg._basis import Eigenbasis
from llwlc.linalg._matrix import check_gradient
from llwlc.nn._config import NetConfig
from llwlc.nn._net import LLwLCNet


class LearnedConstraints(torch.nn.Module):
    """Constraints C = MLP(X): the state of a node gives its entry in each column, the same function in every graph.

    Gradients arrive through `eigenbasis(subs, columns, gradient="truncated", ridge=...)`, or exactly with
    `complete=True`. Only the span of the columns counts. Columns can come close to each other while they are learned:
    pass `ridge` to `eigenbasis`, which bounds their gradients.

    Args:
        in_channels: size of each node state.
        count: number of columns.
        ridge: the bound that `eigenbasis` is to be given.
        hidden_channels: width of the hidden layer.

    Shapes:
        - **input:** node states `[N, in_channels]`
        - **output:** columns `[N, count]`

    >>> import llwlc
    >>> path = llwlc.Graph.from_edges(torch.tensor([[0, 1], [1, 2], [2, 3]]))
    >>> subs = llwlc.subgraphs.extract(path, torch.tensor([[0, 2], [1, 3]]))
    >>> learned = LearnedConstraints(2, count=1)
    >>> columns = learned(torch.stack([subs.dist_u, subs.dist_v], 1).float())
    >>> basis = llwlc.eigenbasis(subs, columns, steps=3, gradient="truncated", ridge=learned.ridge)
    >>> llwlc.nn.LLwLCConv(2, 4)(torch.ones(subs.num_nodes, 2), basis).sum().backward()
    >>> learned.layers[0].weight.grad.shape
    torch.Size([16, 2])
    """

    def __init__(self, in_channels: int, count: int = 2, ridge: float = 1e-4, *, hidden_channels: int = 16) -> None:
        super().__init__()
        sizes: dict[str, Any] = {"in_channels": in_channels, "count": count, "hidden_channels": hidden_channels}
        for name, size in sizes.items():
            if not isinstance(size, int | np.integer) or size < 1:
                raise InputError(f"{name} must be an integer of at least 1, got {size!r}")
        check_gradient("truncated", ridge)
        self.in_channels, self.count, self.ridge = in_channels, count, ridge
        self.layers = Sequential(Linear(in_channels, hidden_channels), Tanh(), Linear(hidden_channels, count))

    def reset_parameters(self) -> None:
        """Resets all learnable parameters."""
        for layer in self.layers:
            if isinstance(layer, Linear):
                layer.reset_parameters()

    def forward(self, x: Tensor) -> Tensor:
        """The columns.

        Args:
            x: node states `[N, in_channels]`.

        Returns:
            Columns `[N, count]`.
        """
        out: Tensor = self.layers(x)
        return out

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}({self.in_channels}, {self.count}, ridge={self.ridge})"


class LearnedConstraintNet(LLwLCNet):
    """`LLwLCNet` under learned constraints, of which the node states are distance classes and log(1 + degree); it makes
    its bases itself, from the subgraphs of a batch. Fixed families that are joined with "learned" are further columns.
    """

    def __init__(self, config: NetConfig, basis: BasisConfig) -> None:
        super().__init__(config)
        self.basis = basis
        self.constraints = LearnedConstraints(self.classes + 1, config.learned_columns)

    def columns(self, batch: LinkBatch) -> Constraints:
        """The constraints of the subgraphs of a batch."""
        assert batch.subs is not None
        fixed = self.basis.fixed_columns(batch.subs)
        states = self.input.places(batch)
        return stack(fixed, custom(batch.subs, self.constraints(states)))

    def solve(self, batch: LinkBatch, dtype: torch.dtype) -> Eigenbasis:
        """The bases of the subgraphs of a batch, with gradients where they are asked for."""
        assert batch.subs is not None
        c = self.basis
        return eigenbasis(
            batch.subs,
            self.columns(batch),
            steps=c.steps,
            start=c.start,
            laplacian=c.laplacian,
            dtype=dtype,
            gradient="truncated",
            ridge=self.constraints.ridge,
            seed=c.seed,
        )

    def readout(self, batch: LinkBatch, features: Tensor | None = None) -> Tensor:
        return super().readout(replace(batch, basis=self.solve(batch, batch.degree.dtype)), features)

    def encode(self, batch: LinkBatch) -> EncodedLinks:
        """The links of a batch with their bases, which kernels score."""
        assert batch.subs is not None
        weight = next(self.parameters())
        with torch.no_grad():
            basis = self.solve(batch.to(weight.device, weight.dtype), torch.float32)
        return make_encoded_links(encode_subgraphs(batch.subs, basis, self.basis)).with_pair(batch.pair)

    def plain(self) -> LLwLCNet:
        """The network without its constraints, for links that have bases; a copy of its weights."""
        net = LLwLCNet(self.config)
        known = net.state_dict()
        net.load_state_dict({name: weight for name, weight in self.state_dict().items() if name in known})
        return net.to(next(self.parameters()).device).eval()


def build_network(network: type[LLwLCNet], config: NetConfig, basis: BasisConfig) -> LLwLCNet:
    """The network of a configuration: one that learns its constraints where the basis says so."""
    return LearnedConstraintNet(config, basis) if basis.learned else network(config)
