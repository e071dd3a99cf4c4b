"""The specification of extraction: flat torch operations on any device, no loop over pairs."""

from __future__ import annotations

import torch
from torch import Tensor

from llwlc._support import counter_hash
from llwlc._support.ragged import expand, pointer
from llwlc.graph._graph import Graph
from llwlc.subgraphs._batch import Subgraphs

# neighbour look-ups held in memory at once: bounds the temporaries of a chunk to a few hundred MB
LOOKUPS_PER_CHUNK = 4_000_000


def split_pairs(graph: Graph, pairs: Tensor, hops: int, cap: int | None) -> list[Tensor]:
    """The pairs in runs whose neighbour look-ups, bounded by walks of `hops + 1` steps from the ends, fit the
    budget.
    """
    if len(pairs) <= 1:
        return [pairs]
    row, col = graph.edge_index
    walks = graph.degree.double()
    for _ in range(hops):
        walks = torch.zeros_like(walks).index_add_(0, row, walks[col])
        if cap is not None:
            walks = walks.clamp(max=float(cap) * float(graph.degree.max()))
    cost = walks[pairs].sum(1).clamp(max=float(len(graph.indices)))
    chunk = (cost.cumsum(0) / LOOKUPS_PER_CHUNK).floor().long()
    return list(torch.split(pairs, torch.unique_consecutive(chunk, return_counts=True)[1].tolist()))


def extract_chunk(
    graph: Graph, pairs: Tensor, hops: int, cap: int | None, seed: int, draw_ids: Tensor | None = None
) -> Subgraphs:
    """The subgraphs of one chunk of pairs. `draw_ids [n]`: the numbers by which random draws identify the nodes, None
    for their ids.
    """
    owner, node, hop = _nodes(graph, pairs, hops, cap, seed, draw_ids)
    # by graph, then in the order of discovery: a stable sort keeps that order
    order = torch.argsort(owner, stable=True)
    owner, node, hop = owner[order], node[order], hop[order]
    ptr = pointer(torch.bincount(owner, minlength=len(pairs)))
    row, col, weight = _induced_edges(graph, owner, node)
    u, v = ptr[:-1], ptr[:-1] + 1
    link = ((row == u[owner[row]]) & (col == v[owner[row]])) | ((row == v[owner[row]]) & (col == u[owner[row]]))
    row, col = row[~link], col[~link]
    weight = None if weight is None else weight[~link]
    far = 2 * hops + 1
    dist_u = _distances(row, col, u, v, owner, far)
    dist_v = _distances(row, col, v, u, owner, far)
    identities = None if draw_ids is None else draw_ids[node]
    return Subgraphs(ptr, node, row, col, weight, u, v, hop, dist_u, dist_v, hops, identities)


def _nodes(
    graph: Graph, pairs: Tensor, hops: int, cap: int | None, seed: int, draw_ids: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Owner, id and hop of every node, hop by hop, in the order of discovery."""
    n = graph.num_nodes
    owner = torch.arange(len(pairs), device=pairs.device).repeat_interleave(2)
    node, levels = pairs.reshape(-1), [(owner, pairs.reshape(-1))]
    seen = torch.sort(owner * n + node).values
    for _ in range(hops):
        # one entry for each neighbour of each frontier node; u's come before v's since the frontier is in that order
        order = torch.argsort(owner, stable=True)
        owner, node = owner[order], node[order]
        at, source = expand(graph.indptr[node], graph.degree[node])
        neighbours, found_owner = graph.indices[at], owner[source]
        key = found_owner * n + neighbours
        # the first mention of each new node, in the order of mention
        key, position = torch.sort(key, stable=True)
        first = torch.ones_like(key, dtype=torch.bool)
        first[1:] = key[1:] != key[:-1]
        first &= ~_member(key, seen)
        position = position[first].sort().values
        owner, node = found_owner[position], neighbours[position]
        if cap is not None:
            owner, node = _sample(owner, node, pairs, cap, seed, draw_ids)
        levels.append((owner, node))
        seen = torch.sort(torch.cat([seen, owner * n + node])).values
    hop = torch.cat([torch.full_like(o, h) for h, (o, _) in enumerate(levels)])
    return torch.cat([o for o, _ in levels]), torch.cat([x for _, x in levels]), hop


def _sample(
    owner: Tensor, node: Tensor, pairs: Tensor, cap: int, seed: int, draw_ids: Tensor | None
) -> tuple[Tensor, Tensor]:
    """At most `cap` nodes of each graph: those with the smallest hashes, left in their order."""
    ends, known = (pairs, node) if draw_ids is None else (draw_ids[pairs], draw_ids[node])
    low, high = ends.amin(1)[owner], ends.amax(1)[owner]
    bits = counter_hash.window(seed, low, high, known, counter_hash.CAP_STREAM)
    by_hash = torch.argsort(bits, stable=True)
    by_hash = by_hash[torch.argsort(owner[by_hash], stable=True)]
    counts = torch.bincount(owner, minlength=len(pairs))
    rank = torch.arange(len(owner), device=owner.device) - pointer(counts)[:-1][owner[by_hash]]
    keep = by_hash[rank < cap].sort().values
    return owner[keep], node[keep]


def _induced_edges(graph: Graph, owner: Tensor, node: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
    """All edges of the graph among the nodes of each owner, as positions in the batch, sorted by row."""
    n = graph.num_nodes
    key, position = torch.sort(owner * n + node)
    at, row = expand(graph.indptr[node], graph.degree[node])
    keys = owner[row] * n + graph.indices[at]
    slot = torch.searchsorted(key, keys).clamp(max=max(len(key) - 1, 0))
    inside = key[slot] == keys
    weight = None if graph.weight is None else graph.weight[at[inside]]
    return row[inside], position[slot[inside]], weight


def _distances(row: Tensor, col: Tensor, source: Tensor, removed: Tensor, owner: Tensor, far: int) -> Tensor:
    """Distance of every node from its graph's source with one node removed; `far` where that or more."""
    dist = torch.full_like(owner, far)
    dist[source] = 0
    passable = col != removed[owner[col]]
    row, col = row[passable], col[passable]
    for d in range(far - 1):
        reached = col[(dist[row] == d) & (dist[col] == far)]
        if not len(reached):
            break
        dist[reached] = d + 1
    return dist


def _member(values: Tensor, ordered: Tensor) -> Tensor:
    slot = torch.searchsorted(ordered, values).clamp(max=max(len(ordered) - 1, 0))
    return torch.eq(ordered[slot], values)
