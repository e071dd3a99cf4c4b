"""Networks that predict counts at graphs, nodes and edges: ours, GIN and a subgraph network. None is given a count."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from llwlc._support.ragged import pad
from llwlc.linalg._basis import Eigenbasis
from llwlc.nn._conv import LLwLCConv
from research.counting.dense import MAX_DISTANCE, DenseBatch
from research.counting.rooted import BLOCK, RootedBatch

SPREAD = 5.0
"""Eigenvalues of the adjacency matrices lie within ±6; the polynomials' variable is λ / SPREAD."""


class PolynomialFilter(nn.Module):
    """Learned polynomials of each eigenvalue in the place of LLwLCConv's MLP, zero at dead columns: `[B, κ, S]`."""

    def __init__(self, num_filters: int, degree: int) -> None:
        super().__init__()
        self.coefficients = nn.Parameter(torch.randn(degree + 1, num_filters))

    def forward(self, basis: Eigenbasis) -> Tensor:
        powers = torch.stack([(basis.values / SPREAD) ** p for p in range(len(self.coefficients))], 2)
        out: Tensor = (powers @ self.coefficients) * basis.mask[..., None]
        return out


class RmsScale(nn.Module):
    """Divides each channel by its root mean square in the first batch of training, a constant from then on."""

    rms: Tensor

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.register_buffer("rms", torch.zeros(channels))

    def forward(self, x: Tensor) -> Tensor:
        if self.training and not bool(self.rms.any()):
            self.rms.copy_(x.detach().square().mean(0).sqrt().clamp(min=1e-6))
        return x / self.rms


class Product(nn.Module):
    """[x, Ax ∘ Bx], its new channels scaled."""

    def __init__(self, in_channels: int, products: int) -> None:
        super().__init__()
        self.left, self.right = nn.Linear(in_channels, products), nn.Linear(in_channels, products)
        self.scale = RmsScale(products)
        self.out_channels = in_channels + products

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([x, self.scale(self.left(x) * self.right(x))], 1)


class EdgeBlock(nn.Module):
    """Features of each edge: products of three filtered signals, summed over the nodes of its graph.

    α and β `[n, C]` are what one LLwLCConv makes of the signals of u and of v, and γ = [α + β, x], x what the nodes are
    known by from the block before and, with `marked`, which of them are u and v. Σ_i α_ic β_id γ_ie, symmetric in c and
    d, so that the order of u and v is lost.
    """

    pairs: Tensor

    def __init__(self, embedding: int, *, degree: int, channels: int, marked: bool) -> None:
        super().__init__()
        self.marked = marked
        self.conv = LLwLCConv(BLOCK - 1, channels, num_filters=degree + 1)
        self.conv.filter = PolynomialFilter(degree + 1, degree)  # type: ignore[assignment]
        self.register_buffer("pairs", torch.triu_indices(channels, channels), persistent=False)
        self.out_channels = self.pairs.shape[1] * (channels + embedding + marked)
        self.scale = RmsScale(self.out_channels)

    def forward(self, batch: RootedBatch, x: Tensor | None) -> Tensor:
        a, b = (self.conv(batch.start[:, [end, 2, 3]], batch.basis) * batch.alive for end in (0, 1))
        known = [batch.mark] if self.marked else []
        third = torch.cat([a + b, *known, *([] if x is None else [x[batch.node]])], 1)
        c, d = self.pairs
        a, b, third = (pad(rows, batch.basis.slots) for rows in (a, b, third))
        products = a[:, :, c] * b[:, :, d] + a[:, :, d] * b[:, :, c]  # [R, n, C (C + 1) / 2]
        out: Tensor = self.scale((products.transpose(1, 2) @ third).flatten(1))
        return out


class RootedNet(nn.Module):
    """Counts at graphs `[B, T]`, nodes `[n, T]` and edges `[R, T]`, from the bases around edges.

    Nodes are known by the sums over their edges; a graph's prediction is a learned multiple of the sum over its nodes.
    The first block predicts nodes too, and the second reads its predictions beside the signals.
    """

    def __init__(
        self, num_targets: int, *, degree: int = 2, channels: int = 9, products: int = 32, marked: bool = False
    ) -> None:
        super().__init__()
        first = EdgeBlock(0, degree=degree, channels=channels, marked=marked)
        second = EdgeBlock(num_targets, degree=degree, channels=channels, marked=marked)
        self.blocks = nn.ModuleList([first, second])
        self.first_scale = RmsScale(first.out_channels)
        self.first_on_node = nn.Linear(first.out_channels, num_targets)
        self.edge = Product(second.out_channels + first.out_channels, products)
        self.sum_scale = RmsScale(self.edge.out_channels)
        self.node = Product(self.edge.out_channels, products)
        self.on_edge = nn.Linear(self.edge.out_channels, num_targets)
        self.on_node = nn.Linear(self.node.out_channels, num_targets)
        self.on_graph = nn.Parameter(torch.full((num_targets,), 0.25))

    def read_first(self, batch: RootedBatch) -> Tensor:
        """What the first block's head reads at nodes."""
        out: Tensor = self.first_scale(sum_at_ends(self.blocks[0](batch, None), batch))
        return out

    def read_second(self, batch: RootedBatch, first: Tensor) -> tuple[Tensor, Tensor]:
        """What the heads read at nodes and at edges, given what the first block knows of nodes."""
        edges = self.blocks[1](batch, self.first_on_node(first))
        edges = self.edge(torch.cat([edges, first[batch.ends[0]] + first[batch.ends[1]]], 1))
        return self.node(self.sum_scale(sum_at_ends(edges, batch))), edges

    def forward(self, batch: RootedBatch) -> tuple[Tensor, ...]:
        """Predictions at graphs, nodes and edges, and those of the first block at nodes."""
        first = self.read_first(batch)
        nodes, edges = self.read_second(batch, first)
        at_nodes = self.on_node(nodes)
        sums = at_nodes.new_zeros(batch.num_graphs, at_nodes.shape[1]).index_add(0, batch.graph, at_nodes)
        return self.on_graph * sums, at_nodes, self.on_edge(edges), self.first_on_node(first)

    @torch.no_grad()
    def refit(self, batches: list[tuple[RootedBatch, list[Tensor]]]) -> None:
        """The linear heads by least squares on all of these batches, the first block's before those that read it."""
        self.eval()
        solve_head(self.first_on_node, [(self.read_first(batch), targets[1]) for batch, targets in batches])
        found = [(self.read_second(batch, self.read_first(batch)), targets) for batch, targets in batches]
        solve_head(self.on_node, [(nodes, targets[1]) for (nodes, _), targets in found])
        solve_head(self.on_edge, [(edges, targets[2]) for (_, edges), targets in found])
        graphs = torch.cat([targets[0] for _, targets in batches]).double()
        sums = torch.cat(
            [
                self.on_node(nodes)
                .new_zeros(batch.num_graphs, graphs.shape[1])
                .index_add(0, batch.graph, self.on_node(nodes))
                for (batch, _), ((nodes, _), _) in zip(batches, found, strict=True)
            ]
        ).double()
        self.on_graph.copy_((graphs * sums).sum(0) / (sums * sums).sum(0).clamp(min=1e-12))


RIDGE = 1e-9
"""Of the least squares, relative to the mean square of a feature."""


def solve_head(head: nn.Linear, pairs: list[tuple[Tensor, Tensor]]) -> None:
    """Sets a linear layer to the least squares of these features `[M, F]` and targets `[M, T]`, in float64."""
    x = torch.cat([features for features, _ in pairs]).double()
    x = torch.cat([x, torch.ones_like(x[:, :1])], 1)
    gram = x.t() @ x
    gram += RIDGE * gram.diagonal().mean() * torch.eye(len(gram), dtype=x.dtype, device=x.device)
    solution = torch.linalg.solve(gram, x.t() @ torch.cat([targets for _, targets in pairs]).double())
    head.weight.copy_(solution[:-1].t())
    head.bias.copy_(solution[-1])


def sum_at_ends(edges: Tensor, batch: RootedBatch) -> Tensor:
    """For each node the sum over its edges, `[n, d]`."""
    zero = edges.new_zeros(len(batch.graph), edges.shape[1])
    return zero.index_add(0, batch.ends[0], edges).index_add(0, batch.ends[1], edges)


class MessageNet(nn.Module):
    """GIN, or with `marked` a subgraph network: a copy of the graph for each node, in which distances to it are known.

    Rows `h [B, r, n, C]` of r copies go through five layers h + MLP(h + A h). Nodes are the sums over their copy, edges
    the rows of each end in the copy of the other, or of both ends where there is one copy.
    """

    def __init__(self, num_targets: int, *, marked: bool, channels: int = 64, layers: int = 5) -> None:
        super().__init__()
        self.marked = marked
        self.embed = nn.Embedding(MAX_DISTANCE + 2, channels)
        self.layers = nn.ModuleList(make_mlp(channels, channels) for _ in range(layers))
        self.heads = nn.ModuleList(
            make_mlp(width, num_targets, 2 * channels) for width in (channels, channels, 2 * channels)
        )

    def forward(self, batch: DenseBatch) -> tuple[Tensor, ...]:
        A = batch.adjacency
        h = self.embed(batch.distance) if self.marked else self.embed(torch.zeros_like(batch.distance[:, :1]))
        for layer in self.layers:
            h = h + layer(h + A[:, None] @ h)
        h = h * batch.alive[:, None, :, None]
        nodes = (h.sum(2) if self.marked else h[:, 0]) * batch.alive[..., None]
        sums = nodes.sum(1)
        at, u, v = batch.edges
        first, second = (h[at, u, v], h[at, v, u]) if self.marked else (nodes[at, u], nodes[at, v])
        on_graph, on_node, on_edge = self.heads
        edges = torch.cat([first + second, first * second], 1)
        return on_graph(sums), on_node(nodes[batch.alive > 0]), on_edge(edges)


def make_mlp(in_channels: int, out_channels: int, hidden: int | None = None) -> nn.Module:
    width = hidden or out_channels
    return nn.Sequential(nn.Linear(in_channels, width), nn.ReLU(), nn.Linear(width, out_channels))
