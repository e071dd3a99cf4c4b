"""From the edge list of a PyG `Data` or `Batch` to sorted, symmetric edges, checked on the way."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from llwlc._support.ragged import pointer
from llwlc.errors import InputError


class BatchEdges(NamedTuple):
    """The undirected edges of B graphs with N nodes in all, in both directions, sorted by row, then by column.

    Shapes: `ptr [B + 1]`; `row`, `col [E]`; `weight [E]` or None.
    """

    ptr: Tensor
    row: Tensor
    col: Tensor
    weight: Tensor | None


def read_edges(data: Any, weight: str | Tensor | None) -> BatchEdges:
    """The edges of a PyG `Data` or `Batch`; `weight` is the name of an attribute, one number for each column of
    `edge_index`, or None for none.
    """
    edge_index, ptr = _edge_index(data), _graph_pointer(data)
    values = _edge_weight(data, weight, edge_index)
    n = int(ptr[-1])
    if edge_index.shape[1]:
        low, high = int(edge_index.min()), int(edge_index.max())
        if low < 0 or high >= n:
            raise InputError(
                f"edge_index names node {low if low < 0 else high}, but data has {n} nodes, 0 to {n - 1}: set"
                " data.num_nodes, or correct edge_index"
            )
        graph = torch.bucketize(edge_index, ptr[1:], right=True)
        across = (graph[0] != graph[1]).nonzero()
        if len(across):
            ends = edge_index[:, across[0, 0]].tolist()
            raise InputError(
                f"edge {tuple(ends)} joins two graphs of the batch: make the batch by Batch.from_data_list or a"
                " DataLoader, which shift edge_index"
            )
    return BatchEdges(ptr, *symmetric_edges(edge_index, values, n))


def symmetric_edges(edge_index: Tensor, weight: Tensor | None, num_nodes: int) -> tuple[Tensor, Tensor, Tensor | None]:
    """Rows, columns and weights of the undirected edges, in both directions, sorted; differentiable in the weights.

    Self-loops are dropped. An edge is there if either direction is; parallel edges are one, whose weights are summed;
    two directions that differ have their mean.

    >>> row, col, weight = symmetric_edges(torch.tensor([[1, 0, 1, 2], [0, 1, 2, 2]]), torch.tensor([4., 2, 5, 9]), 3)
    >>> row.tolist(), col.tolist(), weight.tolist()
    ([0, 1, 1, 2], [1, 0, 2, 1], [3.0, 3.0, 5.0, 5.0])
    """
    n = max(num_nodes, 1)
    proper = edge_index[0] != edge_index[1]
    row, col = edge_index[:, proper].long()
    one_way, parallel = torch.unique(row * n + col, return_inverse=True)
    row, col = one_way // n, one_way % n
    key, direction = torch.unique(torch.minimum(row, col) * n + torch.maximum(row, col), return_inverse=True)
    low, high = key // n, key % n
    row, col = torch.cat([low, high]), torch.cat([high, low])
    order = torch.argsort(row * n + col)
    if weight is None:
        return row[order], col[order], None
    total = weight.new_zeros(len(one_way)).index_add(0, parallel, weight[proper])
    mean = weight.new_zeros(len(key)).index_add(0, direction, total) / torch.bincount(direction, minlength=len(key))
    return row[order], col[order], mean.repeat(2)[order]


def check_edges(ptr: Tensor, row: Tensor, col: Tensor, weight: Tensor | None, num_nodes: int) -> None:
    """Refuses edges that are not what `Subgraphs` says: every backend would compute wrong eigenvalues of them, not all
    the same.
    """
    remedy = "Subgraphs.from_batch(data) makes them of a PyG Data or Batch, subgraphs.extract of a Graph"
    if ptr.ndim != 1 or not len(ptr) or int(ptr[0]) != 0 or int(ptr[-1]) != num_nodes or bool((ptr.diff() < 0).any()):
        raise InputError(f"ptr must rise from 0 to the number of nodes, {num_nodes}, got {ptr.tolist()[:8]}: {remedy}")
    if row.shape != col.shape or row.ndim != 1 or (weight is not None and weight.shape != row.shape):
        shapes = ", ".join(str(tuple(x.shape)) for x in (row, col, weight) if x is not None)
        raise InputError(f"row, col and weight must have one entry for each directed edge, got {shapes}: {remedy}")
    if not len(row):
        return
    if min(int(row.min()), int(col.min())) < 0 or max(int(row.max()), int(col.max())) >= num_nodes:
        raise InputError(
            f"row and col are positions from 0 to {num_nodes - 1} in the batch, some are outside: {remedy}"
        )
    if bool((row.diff() < 0).any()):
        raise InputError(f"the edges are not sorted by row: {remedy}")

    def refuse(wrong: Tensor, what: str) -> None:
        if bool(wrong.any()):
            at = wrong.nonzero()[0, 0]
            raise InputError(f"edge ({int(row[at])}, {int(col[at])}) {what}: {remedy}")

    refuse(row == col, "is a self-loop")
    refuse(torch.bucketize(row, ptr[1:], right=True) != torch.bucketize(col, ptr[1:], right=True), "joins two graphs")
    key, mirror = row * num_nodes + col, col * num_nodes + row
    refuse(~torch.isin(key, mirror), "lacks its other direction")
    rank = torch.argsort(key, stable=True)
    again = torch.zeros_like(row, dtype=torch.bool)
    again[rank[1:]] = key[rank[1:]] == key[rank[:-1]]
    refuse(again, "is there twice")


def _edge_index(data: Any) -> Tensor:
    if not hasattr(data, "edge_types") and not hasattr(data, "num_nodes"):
        raise InputError(
            f"a PyG Data or Batch is needed, got {type(data).__name__}: Data(edge_index=edge_index, num_nodes=n) is"
            " one, Batch.from_data_list(list) makes one of many; a dataset takes transform=AddConstrainedBasis(...)"
        )
    if hasattr(data, "edge_types"):
        raise InputError(
            f"{type(data).__name__} has several edge types: give a homogeneous Data, data.to_homogeneous() makes one"
        )
    edge_index = getattr(data, "edge_index", None)
    if edge_index is None:
        has = (
            "it has adj_t instead: apply this before ToSparseTensor"
            if getattr(data, "adj_t", None) is not None
            else ("set data.edge_index, [2, 0] integers for a graph without edges")
        )
        raise InputError(f"{type(data).__name__} has no edge_index: {has}")
    if not isinstance(edge_index, Tensor) or edge_index.layout != torch.strided:
        raise InputError(f"edge_index must be a dense tensor [2, E], got {type(edge_index).__name__}")
    if edge_index.ndim != 2 or edge_index.shape[0] != 2 or edge_index.is_floating_point():
        turned = ": edge_index.t().contiguous() turns it" if edge_index.ndim == 2 and edge_index.shape[1] == 2 else ""
        raise InputError(
            f"edge_index must be integers of shape [2, E], got {tuple(edge_index.shape)} of {edge_index.dtype}{turned}"
        )
    return edge_index.as_subclass(Tensor).long().contiguous()  # torch warns of a transposed one


def _graph_pointer(data: Any) -> Tensor:
    """Where the graphs of a `Batch` begin, `[B + 1]`; a `Data` is one graph."""
    n, device = data.num_nodes, data.edge_index.device
    if n is None:
        raise InputError("data does not say how many nodes it has: set data.num_nodes or data.x")
    ptr, batch = getattr(data, "ptr", None), getattr(data, "batch", None)
    if isinstance(ptr, Tensor):
        return ptr.to(device)
    if isinstance(batch, Tensor):
        if len(batch) != n or bool((batch.diff() < 0).any()):
            raise InputError(f"data.batch must rise and have one entry for each of the {n} nodes, got {len(batch)}")
        return pointer(torch.bincount(batch.to(device)))
    return torch.tensor([0, n], device=device)


def _edge_weight(data: Any, weight: str | Tensor | None, edge_index: Tensor) -> Tensor | None:
    name = weight if isinstance(weight, str) else "weight"
    if isinstance(weight, str):
        weight = data.get(weight) if hasattr(data, "get") else getattr(data, weight, None)
        if weight is None and name == "edge_weight":  # the default: most data have none
            return None
        if weight is None:
            raise InputError(f"data has no {name!r}, it has {', '.join(sorted(data.keys()))}: name one, or weight=None")
    if weight is None:
        return None
    edges = edge_index.shape[1]
    if not isinstance(weight, Tensor) or weight.numel() != edges or weight.ndim > 2 or weight.is_complex():
        shape = tuple(weight.shape) if isinstance(weight, Tensor) else type(weight).__name__
        raise InputError(
            f"{name} must have one number for each of the {edges} columns of edge_index, [E], got {shape}:"
            " weight=None ignores it, weight='NAME' takes another attribute"
        )
    values = weight.reshape(-1).to(edge_index.device)
    values = values if values.is_floating_point() else values.double()
    bad = ~(values.isfinite() & (values >= 0))
    if bool(bad.any()):
        at = int(bad.nonzero()[0])
        raise InputError(
            f"{name} is {float(values[at]):g} at edge {at}: weights must be finite and not negative; weight=None"
            " ignores them"
        )
    return values
