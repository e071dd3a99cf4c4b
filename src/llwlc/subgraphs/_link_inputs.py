"""A graph and its candidate links as a user gives them: a `Graph` and pairs, or a PyG `Data` and `edge_label_index`."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from llwlc._support.ragged import pointer
from llwlc.errors import InputError
from llwlc.graph._graph import Graph
from llwlc.subgraphs._edge_lists import read_edges


def read_links(graph: Any, pairs: Any, edge_label_index: Any) -> tuple[Graph, Tensor]:
    """The graph, and its links as `[B, 2]` on its device, checked. Two links in PyG's form, `[2, 2]`, look like two
    pairs: so PyG's form is taken by name alone, and pairs of a `Data` in no other.
    """
    known = graph if isinstance(graph, Graph) else None
    if pairs is not None and edge_label_index is not None:
        raise InputError("pairs [B, 2] and edge_label_index [2, B] are the same links in two forms: give one of them")
    if known is None:
        if pairs is not None:
            raise InputError(
                f"links of a PyG {type(graph).__name__} are given by name, edge_label_index=... of shape [2, B]"
                " (pairs.t() of pairs [B, 2]), as two of them would look the same either way round"
            )
        edges = read_edges(graph, "edge_weight")
        known = Graph(pointer(torch.bincount(edges.row, minlength=int(edges.ptr[-1]))), edges.col, edges.weight)
        if edge_label_index is None:
            edge_label_index = getattr(graph, "edge_label_index", None)
    if pairs is None and edge_label_index is None:
        raise InputError(
            "no links were given: pass pairs [B, 2] of a Graph, or edge_label_index=... [2, B]; RandomLinkSplit sets it"
            " in the Data that it returns"
        )
    return known, check_pairs(known, pairs if edge_label_index is None else _as_pairs(edge_label_index))


def _as_pairs(edge_label_index: Any) -> Tensor:
    given: Tensor = torch.as_tensor(edge_label_index)
    if given.ndim != 2 or given.shape[0] != 2:
        turned = ": give its transpose, .t(), or pairs=" if given.ndim == 2 and given.shape[1] == 2 else ""
        raise InputError(f"edge_label_index must be integers of shape [2, B], got {tuple(given.shape)}{turned}")
    plain: Tensor = given.as_subclass(Tensor)
    return plain.t()


def check_pairs(graph: Graph, given: Any) -> Tensor:
    """The pairs as int64 on the graph's device; pairs that the graph cannot have are refused."""
    pairs: Tensor = torch.as_tensor(given)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.is_floating_point() or pairs.dtype == torch.bool:
        turned = "; PyG's [2, B] is passed by name, edge_label_index=..." if pairs.shape[:1] == (2,) else ""
        raise InputError(f"pairs must be integers of shape [B, 2], got {tuple(pairs.shape)} of {pairs.dtype}{turned}")
    pairs = pairs.to(graph.indptr.device).long()
    if len(pairs):
        if int(pairs.min()) < 0 or int(pairs.max()) >= graph.num_nodes:
            bad = pairs[(pairs < 0).any(1) | (pairs >= graph.num_nodes).any(1)][0].tolist()
            raise InputError(
                f"pair {tuple(bad)} names a node outside the graph, whose nodes are 0 to {graph.num_nodes - 1}"
            )
        same = pairs[:, 0] == pairs[:, 1]
        if bool(same.any()):
            at = int(same.nonzero()[0])
            raise InputError(
                f"pair {at} is ({int(pairs[at, 0])}, {int(pairs[at, 1])}): a node has no link to itself; remove such"
                " pairs"
            )
    return pairs
