"""Enclosing subgraphs of a batch of node pairs, ragged, with the target link removed.

The reference is in flat torch operations on any device: no loop over pairs, a handful of sorts and gathers a chunk. Compiled
kernels give the same arrays.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor

from llwlc import counter, kernels
from llwlc.errors import InputError
from llwlc.graph import Graph
from llwlc.ragged import expand, pointer

if TYPE_CHECKING:
    from llwlc.kernels.cuda.extraction import Ragged as CudaRagged
    from llwlc.kernels.enclosing import Adjacency
    from llwlc.kernels.extraction import Ragged

# neighbour look-ups held in memory at once: bounds the temporaries of a chunk to a few hundred MB
LOOKUPS_PER_CHUNK = 4_000_000
CAP_STREAM = 3  # keeps the draws of capped nodes apart from those of starts and deleted vertices
MOST_HOPS = 15
NOT_COMPILABLE = "the graph is not on the CPU, its weights ask for gradients, or hops is above 15"
NOT_ON_GPU = "the graph is not on a GPU, or hops is above 15"


@dataclass(frozen=True, eq=False)
class Subgraphs:
    """The enclosing subgraphs of B pairs, one behind the other: N nodes and E directed edges in all.

    Shapes: `ptr [B + 1]`, graph b owns the nodes `ptr[b]` to `ptr[b + 1]`; `node [N]` ids in the graph; `row`, `col [E]`
    positions in the batch, both directions, sorted by row; `weight [E]` or None; `u`, `v [B]` positions of the query nodes;
    `hop [N]` distance from the nearer of the two; `dist_u`, `dist_v [N]` exact distances inside the subgraph with the link
    and the other end removed (DRNL's), capped at 2·hops + 1, which also stands for unreachable.

    Inside a graph the nodes stand in the order of a breadth-first search from u, then v, and inside a row the edges in the order
    of the neighbour's id: every backend gives the same arrays.
    """

    ptr: Tensor
    node: Tensor
    row: Tensor
    col: Tensor
    weight: Tensor | None
    u: Tensor
    v: Tensor
    hop: Tensor
    dist_u: Tensor
    dist_v: Tensor
    hops: int = 2

    @property
    def num_graphs(self) -> int:
        return len(self.ptr) - 1

    @property
    def num_nodes(self) -> int:
        return len(self.node)

    @cached_property
    def graph(self) -> Tensor:
        """The graph that each node belongs to, `[N]`."""
        return torch.repeat_interleave(torch.arange(self.num_graphs, device=self.ptr.device), self.ptr.diff())

    @cached_property
    def degree(self) -> Tensor:
        """The number (with weights: the sum) of edges at each node inside its subgraph, `[N]`."""
        if self.weight is None:
            return torch.bincount(self.row, minlength=self.num_nodes)
        zero = torch.zeros(self.num_nodes, dtype=self.weight.dtype, device=self.row.device)
        return zero.index_add(0, self.row, self.weight)

    @property
    def pairs(self) -> Tensor:
        """The pairs they enclose, `[B, 2]`."""
        return torch.stack([self.node[self.u], self.node[self.v]], 1)

    def to(self, device: torch.device | str) -> Subgraphs:
        moved = {k: t.to(device) for k, t in vars(self).items() if k in self.__match_args__ and isinstance(t, Tensor)}
        return replace(self, **moved)  # type: ignore[arg-type]  # `hops` is no tensor and stays


def symmetric_weight(subs: Subgraphs) -> Tensor:
    """The weights `[E]` in float64, 1 where there are none. The mean of both directions: an edge is one parameter, whichever direction
    a gradient is asked for."""
    if subs.weight is None:
        return torch.ones(len(subs.row), dtype=torch.float64, device=subs.row.device)
    weight, n = subs.weight.double(), subs.num_nodes
    # inside a row the edges follow the neighbours' ids, not their positions, so both directions have to be sorted
    mirror = torch.empty_like(subs.row)
    mirror[torch.argsort(subs.row * n + subs.col)] = torch.argsort(subs.col * n + subs.row)
    return (weight + weight[mirror]) / 2


def extract(
    graph: Graph,
    pairs: Tensor,
    hops: int = 2,
    *,
    max_nodes_per_hop: int | None = None,
    seed: int = 0,
    backend: kernels.Backend = "auto",
) -> Subgraphs:
    """The `hops`-hop enclosing subgraphs of the pairs `[B, 2]`: all nodes within `hops` of either end, all edges among them but the link.

    With `max_nodes_per_hop`, a hop that finds more new nodes keeps that many, drawn by `seed` from the pair and the node
    alone, so a subgraph never depends on the batch.

    >>> path = Graph.from_edges(torch.tensor([[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [0, 5]]))
    >>> subs = extract(path, torch.tensor([[0, 1]]), hops=1)
    >>> subs.node.tolist(), subs.dist_u.tolist(), subs.dist_v.tolist()
    ([0, 1, 5, 2], [0, 3, 1, 3], [3, 0, 3, 1])
    """
    pairs = check_pairs(graph, pairs, hops, max_nodes_per_hop)
    if kernels.use_numba(backend, possible=compilable(graph, hops), why=NOT_COMPILABLE):
        from llwlc.kernels.extraction import Reach
        from llwlc.kernels.extraction import extract as compiled

        arrays = compiled(
            adjacency_of(graph), pairs.contiguous().numpy(), Reach(hops, max_nodes_per_hop or 0, seed, CAP_STREAM)
        )
        return from_arrays(arrays, hops, weighted=graph.weight is not None)
    if kernels.use_cuda(backend, possible=_fits_gpu(graph, hops), why=NOT_ON_GPU):
        return _on_gpu(graph, pairs, hops, max_nodes_per_hop, seed)
    parts = [
        _extract_chunk(graph, chunk, hops, max_nodes_per_hop, seed)
        for chunk in _chunks(graph, pairs, hops, max_nodes_per_hop)
    ]
    return concat(parts)


def stream(
    graph: Graph,
    pairs: Tensor,
    hops: int = 2,
    *,
    batch_size: int = 4096,
    max_nodes_per_hop: int | None = None,
    seed: int = 0,
    backend: kernels.Backend = "auto",
) -> Iterator[Subgraphs]:
    """`extract` in batches of at most `batch_size` pairs, in order: memory does not grow with the number of pairs."""
    pairs = check_pairs(graph, pairs, hops, max_nodes_per_hop)
    if batch_size < 1:
        raise InputError(f"batch_size must be at least 1, got {batch_size}")
    for batch in torch.split(pairs, batch_size):
        yield extract(graph, batch, hops, max_nodes_per_hop=max_nodes_per_hop, seed=seed, backend=backend)


def concat(parts: list[Subgraphs]) -> Subgraphs:
    """Several batches as one."""
    if len(parts) == 1:
        return parts[0]
    shift = pointer(torch.tensor([p.num_nodes for p in parts])).tolist()
    shifted = {
        k: torch.cat([getattr(p, k) + s for p, s in zip(parts, shift, strict=False)]) for k in ("row", "col", "u", "v")
    }
    ptr = torch.cat([parts[0].ptr[:1], *[p.ptr[1:] + s for p, s in zip(parts, shift, strict=False)]])
    same = {k: torch.cat([getattr(p, k) for p in parts]) for k in ("node", "hop", "dist_u", "dist_v")}
    weights = [p.weight for p in parts if p.weight is not None]
    return Subgraphs(ptr=ptr, weight=torch.cat(weights) if weights else None, hops=parts[0].hops, **same, **shifted)


def drnl(subs: Subgraphs) -> Tensor:
    """SEAL's double-radius node labels, `[N]`: 1 at both query nodes, 0 where one of them cannot be reached.

    1 + min(d_u, d_v) + ⌊d/2⌋ (⌊d/2⌋ + d mod 2 − 1) with d = d_u + d_v. A distance at the cap counts as unreachable.
    """
    far = 2 * subs.hops + 1
    total = subs.dist_u + subs.dist_v
    half = total // 2
    label = 1 + torch.minimum(subs.dist_u, subs.dist_v) + half * (half + total % 2 - 1)
    label[(subs.dist_u >= far) | (subs.dist_v >= far)] = 0
    label[subs.u] = 1
    label[subs.v] = 1
    return label


def distance_classes(cap: int) -> int:
    """How many values `distance_encoding` takes."""
    return (cap + 1) * (cap + 2) // 2


def distance_encoding(subs: Subgraphs, cap: int = 3) -> Tensor:
    """The unordered pair of distances, each capped, as one number in `0 … distance_classes(cap) − 1`, `[N]`.

    Unordered, so that a score cannot depend on which end is called u.
    """
    near = torch.minimum(subs.dist_u, subs.dist_v).clamp(max=cap)
    far = torch.maximum(subs.dist_u, subs.dist_v).clamp(max=cap)
    return far * (far + 1) // 2 + near


def compilable(graph: Graph, hops: int) -> bool:
    """Whether a CPU kernel may take the graph: it is there, nobody asks for gradients of its weights, and distances fit into half a word."""
    plain = graph.weight is None or not graph.weight.requires_grad
    return not graph.indptr.is_cuda and plain and hops <= MOST_HOPS


def _fits_gpu(graph: Graph, hops: int) -> bool:
    if not graph.indptr.is_cuda:
        return False
    from llwlc.kernels.cuda import extraction

    return extraction.possible(graph.num_nodes, hops)


def _on_gpu(graph: Graph, pairs: Tensor, hops: int, cap: int | None, seed: int) -> Subgraphs:
    from llwlc.kernels.cuda import extraction
    from llwlc.kernels.cuda.driver import engine_of

    indptr, indices, pairs = (x.contiguous() for x in (graph.indptr, graph.indices, pairs))
    found = extraction.extract(
        engine_of(indptr), indptr, indices, pairs,
        hops=hops, cap=cap or 0, seed=seed, stream=CAP_STREAM, with_edges=graph.weight is not None,
    )  # fmt: skip
    return from_ragged(found, graph.weight, hops)


def from_ragged(found: CudaRagged, weight: Tensor | None, hops: int) -> Subgraphs:
    """What the CUDA kernel filled; `weight [2m]` of the graph, whose gradients stay with it."""
    ptr, _, node, row, col, hop, dist_u, dist_v, edge = found
    u = ptr[:-1]
    return Subgraphs(ptr, node, row, col, None if weight is None else weight[edge], u, u + 1, hop, dist_u, dist_v, hops)


def adjacency_of(graph: Graph) -> Adjacency:
    """The graph as the kernels see it: neighbours in 32 bits, of which twice as many fit into a cache, kept for as long as the graph lives."""
    from llwlc.kernels.enclosing import Adjacency

    if graph not in _COMPACT:
        _COMPACT[graph] = graph.indices.numpy().astype(np.uint32)
    weight = np.empty(0, np.float32) if graph.weight is None else graph.weight.contiguous().numpy()
    return Adjacency(graph.indptr.contiguous().numpy().view(np.uint64), _COMPACT[graph], weight)


_COMPACT: WeakKeyDictionary[Graph, np.ndarray] = WeakKeyDictionary()


def from_arrays(arrays: Ragged, hops: int, *, weighted: bool) -> Subgraphs:
    """What a kernel filled, as tensors on the same memory."""
    ptr, _, node, row, col, weight, hop, dist_u, dist_v = (torch.from_numpy(x) for x in arrays)
    u = ptr[:-1]
    return Subgraphs(ptr, node, row, col, weight if weighted else None, u, u + 1, hop, dist_u, dist_v, hops)


def check_pairs(graph: Graph, pairs: Tensor, hops: int = 2, cap: int | None = None) -> Tensor:
    """The pairs as int64 on the graph's device, or what is wrong with them."""
    pairs = torch.as_tensor(pairs)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.is_floating_point() or pairs.dtype == torch.bool:
        raise InputError(f"pairs must be integers of shape [B, 2], got {tuple(pairs.shape)} of {pairs.dtype}")
    if hops != int(hops) or hops < 1:
        raise InputError(f"hops must be a whole number, at least 1, got {hops}")
    if cap is not None and cap < 1:
        raise InputError(f"max_nodes_per_hop must be at least 1 (or None for no cap), got {cap}")
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
                f"pair {at} is ({int(pairs[at, 0])}, {int(pairs[at, 1])}): a node has no link to itself; remove such pairs"
            )
    return pairs


def _chunks(graph: Graph, pairs: Tensor, hops: int, cap: int | None) -> list[Tensor]:
    """The pairs in runs whose neighbour look-ups, bounded by walks of `hops + 1` steps from the ends, fit the budget."""
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


def _extract_chunk(graph: Graph, pairs: Tensor, hops: int, cap: int | None, seed: int) -> Subgraphs:
    owner, node, hop = _nodes(graph, pairs, hops, cap, seed)
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
    return Subgraphs(ptr, node, row, col, weight, u, v, hop, dist_u, dist_v, hops)


def _nodes(graph: Graph, pairs: Tensor, hops: int, cap: int | None, seed: int) -> tuple[Tensor, Tensor, Tensor]:
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
        found, found_owner = graph.indices[at], owner[source]
        key = found_owner * n + found
        # the first mention of each new node, in the order of mention
        key, position = torch.sort(key, stable=True)
        first = torch.ones_like(key, dtype=torch.bool)
        first[1:] = key[1:] != key[:-1]
        first &= ~_member(key, seen)
        position = position[first].sort().values
        owner, node = found_owner[position], found[position]
        if cap is not None:
            owner, node = _sample(owner, node, pairs, cap, seed)
        levels.append((owner, node))
        seen = torch.sort(torch.cat([seen, owner * n + node])).values
    hop = torch.cat([torch.full_like(o, h) for h, (o, _) in enumerate(levels)])
    return torch.cat([o for o, _ in levels]), torch.cat([x for _, x in levels]), hop


def _sample(owner: Tensor, node: Tensor, pairs: Tensor, cap: int, seed: int) -> tuple[Tensor, Tensor]:
    """At most `cap` nodes of each graph: those with the smallest hashes, left in their order."""
    low, high = pairs.amin(1)[owner], pairs.amax(1)[owner]
    bits = counter.draw(seed, 0, low, high, node, stream=CAP_STREAM)
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
    wanted = owner[row] * n + graph.indices[at]
    slot = torch.searchsorted(key, wanted).clamp(max=max(len(key) - 1, 0))
    inside = key[slot] == wanted
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
