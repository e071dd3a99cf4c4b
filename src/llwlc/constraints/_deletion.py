"""Vertex-deleted subgraphs."""

from __future__ import annotations

from dataclasses import replace

import torch

from llwlc._support.counter_hash import DELETION_STREAM
from llwlc.constraints._columns import Constraints, custom
from llwlc.constraints._degrees import node_degree
from llwlc.constraints._registry import VertexCount
from llwlc.errors import InputError
from llwlc.subgraphs._batch import Subgraphs


def vertex_deleted(subs: Subgraphs, *, count: VertexCount = 10, seed: int = 0, epoch: int = 0) -> Constraints:
    """One column for each of `count` vertices drawn at random: the degrees in the subgraph, zero at the deleted vertex.

    Every node of the subgraph may be drawn, the query nodes too, as the paper excludes none. The vertices with the
    lowest (signed) hashes of (seed, epoch, pair, node) are chosen, so a draw belongs to the link: neither the batch nor
    the order of nodes or pair changes it, nor, where nodes have names, their numbers.

    Args:
        subs: B subgraphs with N nodes in all.
        count: columns. In a graph of n nodes at most ⌊n/2⌋, since n columns leave nothing of the null space; `cut` of
            the result marks the graphs where that was fewer than asked for. "all" deletes every vertex in turn, without
            that limit.
        seed: seed of the random draw.
        epoch: number of the epoch; each epoch has its own draw.

    Returns:
        `Constraints` with columns `[N, count]`, and `deleted [N]`.

    >>> import torch, llwlc
    >>> ring = llwlc.Graph.from_edges(torch.tensor([[i, (i + 1) % 10] for i in range(10)]))
    >>> cons = vertex_deleted(llwlc.subgraphs.extract(ring, torch.tensor([[0, 1]])), count=2)
    >>> cons.columns.shape, int(cons.deleted.sum())
    (torch.Size([6, 2]), 2)
    """
    # the string "5" is refused, since its repr has quotes; numpy's integer 5 is accepted, since its str is plain
    if count != "all" and not (str(count).isdigit() and "'" not in repr(count)):
        raise InputError(f'count: must be a number of vertices, 0 or more, or "all", got {count!r}')
    size = subs.ptr.diff()
    take = size if count == "all" else (size // 2).clamp(max=count)
    order = subs.draws(seed, epoch, DELETION_STREAM).argsort()
    order = order[subs.graph[order].argsort(stable=True)]
    rank = torch.empty_like(order)
    rank[order] = torch.arange(len(order), device=order.device) - subs.ptr[subs.graph]
    width = int(take.max()) if len(take) else 0
    slot = torch.arange(width, device=order.device)
    live = (slot < take[subs.graph, None]) & (slot != rank[:, None])
    cons = custom(subs, node_degree(subs)[:, None] * live, names=[f"vertex_deleted_{i}" for i in range(width)])
    cut = cons.cut if count == "all" else take < count
    return replace(cons, deleted=rank < take[subs.graph], cut=cut)
