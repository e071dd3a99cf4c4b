"""LLwLCConv: one block of the network, a learned filter on the eigenvalues of a constrained basis."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor
from torch.nn import Linear, Parameter, ReLU, Sequential

from llwlc._support.ragged import pad, unpad
from llwlc.errors import InputError
from llwlc.linalg._basis import Eigenbasis
from llwlc.linalg._differentiable import has_gradients
from llwlc.linalg._filter import GraphFilter, filter_and_mix
from llwlc.nn._link_dropout import LinkDropout


class LLwLCConv(torch.nn.Module):
    """The block of "Boosting Graph Neural Network Expressivity with Learnable Lanczos Constraints" (Azizi, Kriege and
    Bischof, ICML 2025), Algorithm 2:

    X′ = Σₛ V fₛ(R) Vᵀ X Wₛ + X W₀ + b,   s = 1 … S,

    where V, R are the Ritz vectors and values of one graph and the filters fₛ one MLP on each eigenvalue. The paper has
    one filter and no skip W₀; the non-linearity is the network's.

    Gradients with respect to edge weights and constraints, where the basis was made of such that want them, are those
    of `spectral_filter`: exact on a complete basis, for any x with `gradient="truncated"` at a bias, else refused where
    there is none.

    Args:
        in_channels: size of each input row.
        out_channels: size of each output row.
        num_filters: S, how many filters share the MLP.
        hidden_channels: width of the MLP's hidden layer.
        skip: add X W₀, which keeps what the low-rank basis cannot represent.
        dropout: dropout rate inside the MLP.

    Shapes:
        - **input:** rows `[N, in_channels]`, an `Eigenbasis` of the same N rows
        - **output:** rows `[N, out_channels]`

    >>> import llwlc
    >>> path = llwlc.Graph.from_edges(torch.tensor([[0, 1], [1, 2], [2, 3]]))
    >>> subs, basis = llwlc.link_bases(path, torch.tensor([[0, 2], [1, 3]]), steps=4)
    >>> LLwLCConv(8, 16, num_filters=4)(torch.randn(subs.num_nodes, 8), basis).shape
    torch.Size([8, 16])
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        num_filters: int = 1,
        hidden_channels: int = 32,
        skip: bool = False,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.in_channels, self.out_channels, self.num_filters = in_channels, out_channels, num_filters
        self.filter = SpectralMLP(num_filters, hidden_channels=hidden_channels, dropout=dropout)
        self.weight = Parameter(torch.empty(num_filters * in_channels, out_channels))
        self.bias = Parameter(torch.empty(out_channels))
        self.skip = Linear(in_channels, out_channels, bias=False) if skip else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Resets all learnable parameters."""
        self.filter.reset_parameters()
        torch.nn.init.xavier_uniform_(self.weight)
        torch.nn.init.zeros_(self.bias)
        if self.skip is not None:
            self.skip.reset_parameters()

    def forward(self, x: Tensor, basis: Eigenbasis) -> Tensor:
        """The output rows of all graphs.

        Args:
            x: rows `[N, in_channels]`.
            basis: an `Eigenbasis` of the same N rows.

        Returns:
            Rows `[N, out_channels]`.
        """
        if not isinstance(basis, Eigenbasis):
            raise InputError(
                f"LLwLCConv filters on an Eigenbasis where other layers take edge_index, got {type(basis).__name__}:"
                " Eigenbasis.from_batch(batch) is the one that AddConstrainedBasis stored, eigenbasis(subs) makes one"
            )
        if x.shape[0] != basis.vectors.shape[0]:
            raise InputError(
                f"x has {x.shape[0]} rows, the basis has {basis.vectors.shape[0]}: around nodes, edges and links a row"
                " is a node of a subgraph, x[batch.basis_row_index] or x[subs.node]"
            )
        _require_alike(x, basis, self.weight)
        if has_gradients(basis):
            out = filter_and_mix(basis, self.filter.by_graph(basis), x, self.weight) + self.bias
            return out if self.skip is None else out + self.skip(x)
        spectrum = basis.padded.transpose(1, 2) @ pad(x, basis.slots)  # VᵀX, [B, κ, F_in]
        # the mixing is done on κ rows per graph, not on its n: W commutes with V
        filtered = (self.filter(basis).unsqueeze(3) * spectrum.unsqueeze(2)).flatten(2) @ self.weight
        out = unpad(basis.padded @ filtered, basis.slots) + self.bias
        return out if self.skip is None else out + self.skip(x)

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}({self.in_channels}, {self.out_channels}, num_filters={self.num_filters})"


class SpectralMLP(torch.nn.Module):
    """f: one MLP on each eigenvalue, zero at dead columns.

    Args:
        num_filters: S, how many functions it has as outputs.
        hidden_channels: width of the hidden layer.
        dropout: dropout rate after the hidden layer.

    Shapes:
        - **input:** an `Eigenbasis` with values `[B, κ]`
        - **output:** `[B, κ, S]`

    >>> from llwlc.linalg._lanczos import constrained_lanczos
    >>> basis = constrained_lanczos(torch.diag(torch.tensor([1.0, 2.0])), steps=2, dtype=torch.float32)
    >>> SpectralMLP(3)(basis).shape
    torch.Size([1, 2, 3])
    """

    def __init__(self, num_filters: int, *, hidden_channels: int = 32, dropout: float = 0.0) -> None:
        super().__init__()
        self.num_filters = num_filters
        self.layers = Sequential(
            Linear(1, hidden_channels), ReLU(), LinkDropout(dropout), Linear(hidden_channels, num_filters)
        )

    def reset_parameters(self) -> None:
        """Resets all learnable parameters."""
        for layer in self.layers:
            if isinstance(layer, Linear):
                layer.reset_parameters()

    def by_graph(self, basis: Eigenbasis) -> GraphFilter:
        """The filters as functions of the eigenvalues of some graphs of the batch: of one graph, one function, since
        divided differences need that. Dropout takes whole hidden units of a graph, not entries of single eigenvalues.

        Args:
            basis: an `Eigenbasis` of B graphs.

        Returns:
            A function of eigenvalues `[M, κ]` and graph numbers `[M]`, with values `[M, κ, S]`.
        """
        layers: list[Any] = list(self.layers)
        first, activation, dropout, last = layers
        kept: Tensor = dropout(first.weight.new_ones(basis.num_graphs, 1, first.out_features))

        def f(values: Tensor, graphs: Tensor) -> Tensor:
            out: Tensor = last(activation(first(values.unsqueeze(2))) * kept[graphs])
            return out

        return f

    def forward(self, basis: Eigenbasis) -> Tensor:
        """The filters at all eigenvalues.

        Args:
            basis: an `Eigenbasis` with values `[B, κ]`.

        Returns:
            `[B, κ, S]`.
        """
        out: Tensor = self.layers(basis.values.unsqueeze(2))
        return out * basis.mask.unsqueeze(2)


def _require_alike(x: Tensor, basis: Eigenbasis, weight: Tensor) -> None:
    """Torch names two types or devices that do not fit, but neither whose they are nor how to change them."""
    places = [tensor.device for tensor in (x, basis.vectors, weight)]
    types = [tensor.dtype for tensor in (x, basis.vectors, weight)]
    if len(set(places)) > 1:
        raise InputError(
            f"x is on {places[0]}, the basis on {places[1]}, the layer on {places[2]}: move them to one device, the"
            " basis by basis.to(device=...), one that is stored by batch.to(...)"
        )
    if len(set(types)) > 1 and not torch.is_autocast_enabled(x.device.type):
        raise InputError(
            f"x is {types[0]}, the basis {types[1]}, the layer {types[2]}: give them one dtype, by x.to(...),"
            " basis.to(dtype=...), layer.to(...); AddConstrainedBasis and eigenbasis take dtype= too"
        )


def eigenvalue_powers(values: Tensor, powers: Iterable[int]) -> Tensor:
    """The powers of each eigenvalue side by side, `[B, κ] → [B, κ, J]`."""
    return torch.stack([values**power for power in powers], 2)
