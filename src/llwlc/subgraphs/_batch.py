"""Subgraphs: the enclosing subgraphs of many pairs as one ragged batch."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor

from llwlc._support import counter_hash
from llwlc._support.ragged import expand, pointer
from llwlc.errors import InputError
from llwlc.graph._graph import Graph
from llwlc.subgraphs._edge_lists import check_edges, read_edges
from llwlc.subgraphs._reference import Neighborhoods, extract_chunk, split_pairs
from llwlc.subgraphs._roots import check_hops, check_roots

_PAIR = ("v", "dist_v")
_ROOT = ("u", "hop", "dist_u", *_PAIR)


def _absent() -> Tensor:
    """The default of what only rooted subgraphs have; `__post_init__` takes it away again."""
    return None  # type: ignore[return-value]


@dataclass(frozen=True, eq=False, repr=False)
class Subgraphs:
    """The enclosing subgraphs of B pairs, concatenated: N nodes and E directed edges in all.

    Shapes: `ptr [B + 1]`, graph b owns the nodes `ptr[b]` to `ptr[b + 1]`; `node [N]` ids in the graph; `row`,
    `col [E]` positions in the batch, both directions, sorted by row; `weight [E]` or None; `u`, `v [B]` positions of
    the query nodes; `hop [N]` distance from the nearer of the two; `dist_u`, `dist_v [N]` exact distances inside the
    subgraph with the link and the other end removed (DRNL's), capped at 2·hops + 1, which also stands for unreachable;
    `draw_ids [N]`, the number by which random draws identify each node (`Graph.identity`), None where that is its id.

    Around nodes instead of pairs (`from_batch`) there are no `v` and `dist_v`; whole graphs have no `u`, `hop` and
    `dist_u` either. To ask for what is not there is an `InputError` that says so.

    The nodes of a graph are in the order of a breadth-first search from u, then v, and the edges of a row in the order
    of the neighbour's id: every backend gives the same arrays.

    >>> import torch, llwlc
    >>> path = llwlc.Graph.from_edges(torch.tensor([[0, 1], [1, 2], [2, 3]]))
    >>> subs = llwlc.subgraphs.extract(path, torch.tensor([[1, 2]]), hops=1)
    >>> subs.node.tolist(), subs.row.tolist(), subs.col.tolist()
    ([1, 2, 0, 3], [0, 1, 2, 3], [2, 3, 0, 1])
    """

    ptr: Tensor
    node: Tensor
    row: Tensor
    col: Tensor
    weight: Tensor | None = None
    u: Tensor = field(default_factory=_absent)
    v: Tensor = field(default_factory=_absent)
    hop: Tensor = field(default_factory=_absent)
    dist_u: Tensor = field(default_factory=_absent)
    dist_v: Tensor = field(default_factory=_absent)
    hops: int = 2
    draw_ids: Tensor | None = None

    def __post_init__(self) -> None:
        for name in _ROOT:
            if self.__dict__[name] is None:
                del self.__dict__[name]

    if not TYPE_CHECKING:  # mypy would take every other name for one of these

        def __getattr__(self, name: str) -> Any:
            if name not in _ROOT:
                raise AttributeError(f"Subgraphs has no attribute {name!r}")
            whole = self.roots == "graph"
            what = "whole graphs, without a root" if whole else "subgraphs around one node, not a pair"
            about = "a pair" if name in _PAIR else "a node or a pair"
            more = "" if whole else ", 'shells', 'neumann', 'neumann_vertex'"
            raise InputError(
                f"these are {what}, and {name!r} is known around {about} only: give roots (Subgraphs.from_batch(data,"
                " roots=...), AddConstrainedBasis(roots='link')), or take a constraint or start that needs none"
                f" (constraints 'none', 'components', 'vertex_deleted'{more}; starts 'random', 'constraint', a tensor"
                " [N])"
            )

    @classmethod
    def from_batch(
        cls,
        data: Any,
        roots: Tensor | None = None,
        *,
        hops: int = 2,
        keep_link: bool = False,
        weight: str | Tensor | None = "edge_weight",
        max_nodes_per_hop: int | None = None,
        seed: int = 0,
    ) -> Subgraphs:
        """The graphs of a PyG `Data` or `Batch`, or the subgraphs around some of its nodes or pairs.

        `edge_index` may come in any order, in one direction or both, with self-loops and parallel edges: an edge is
        there if either direction is, self-loops are dropped, parallel edges are one (their weights are summed; of two
        directions that differ, the mean is taken). Isolated nodes and graphs without nodes or edges stay. Nodes are
        never mixed between the graphs of a batch, and a graph alone has the same basis as in any batch.

        Args:
            data: a `Data` or `Batch` of N nodes and E directed edges.
            roots: None for whole graphs, nodes `[R]`, or pairs `[2, R]` as in PyG's `edge_label_index`, by their
                positions in the batch.
            hops: how far a subgraph reaches from its root.
            keep_link: a pair that is an edge keeps it in its subgraph; by default it is removed, as for link
                prediction.
            weight: the attribute with edge weights (not used where `edge_weight` is not there), weights `[E]`, through
                which gradients flow, or None for none.
            max_nodes_per_hop: a hop that finds more new nodes keeps that many, drawn by `seed`; None for no limit.
            seed: seed of that draw.

        Returns:
            `Subgraphs`; `node [N]` holds positions in the batch, so that `data.x[subs.node]` are their features.

        >>> from torch_geometric.data import Batch, Data
        >>> path = Data(edge_index=torch.tensor([[1, 0], [2, 1]]), num_nodes=3)    # one direction, any order
        >>> batch = Batch.from_data_list([path, path])
        >>> subs = Subgraphs.from_batch(batch)
        >>> subs, subs.row.tolist(), subs.col.tolist()
        (Subgraphs(2 graphs, 6 nodes, 8 edges), [0, 1, 1, 2, 3, 4, 4, 5], [1, 0, 2, 1, 4, 3, 5, 4])
        >>> Subgraphs.from_batch(batch, roots=torch.tensor([1, 3]), hops=1).node.tolist()
        [1, 0, 2, 3, 4]
        """
        if isinstance(data, Graph):
            raise InputError(
                "from_batch takes a PyG Data or Batch, got a Graph: subgraphs.extract(graph, pairs) does this for it"
            )
        edges = read_edges(data, weight)
        ptr, n = edges.ptr, int(edges.ptr[-1])
        local = torch.arange(n, device=ptr.device) - torch.repeat_interleave(ptr[:-1], ptr.diff())
        if roots is None:
            node = torch.arange(n, device=ptr.device)
            subs = cls(ptr, node, edges.row, edges.col, edges.weight, hops=hops, draw_ids=local)
            subs.__dict__["_checked"] = True
            return subs
        around = check_roots(roots, ptr)
        check_hops(hops, max_nodes_per_hop)
        graph = Graph(pointer(torch.bincount(edges.row, minlength=n)), edges.col, edges.weight)
        chunks = split_pairs(graph, around, hops, max_nodes_per_hop)
        neighborhoods = (
            extract_chunk(graph, c, hops, max_nodes_per_hop, seed, local, keep_link=keep_link) for c in chunks
        )
        return concat([subgraphs_around(m, around.shape[1], hops, local) for m in neighborhoods])

    def check(self) -> None:
        """Refuses edges that are out of order, or lack their other direction: every backend relies on both."""
        if "_checked" not in self.__dict__:
            check_edges(self.ptr, self.row, self.col, self.weight, self.num_nodes)
            self.__dict__["_checked"] = True

    def __repr__(self) -> str:
        what = {"graph": "graphs", "node": "subgraphs around nodes", "link": "subgraphs around pairs"}[self.roots]
        return f"Subgraphs({self.num_graphs} {what}, {self.num_nodes} nodes, {len(self.row)} edges)"

    @property
    def roots(self) -> Literal["graph", "node", "link"]:
        """What each subgraph is around: a pair ("link"), a node, or nothing, where it is a whole graph."""
        return "link" if "v" in self.__dict__ else "node" if "u" in self.__dict__ else "graph"

    @property
    def num_graphs(self) -> int:
        """B, the number of subgraphs."""
        return len(self.ptr) - 1

    @property
    def num_nodes(self) -> int:
        """N, the number of nodes of all subgraphs."""
        return len(self.node)

    @cached_property
    def graph(self) -> Tensor:
        """The graph that each node belongs to, `[N]`."""
        return torch.repeat_interleave(torch.arange(self.num_graphs, device=self.ptr.device), self.ptr.diff())

    @cached_property
    def first(self) -> Tensor:
        """Where the edges of each node begin, `[N + 1]`."""
        return pointer(torch.bincount(self.row, minlength=self.num_nodes))

    @cached_property
    def degree(self) -> Tensor:
        """The number (with weights: the sum) of edges at each node inside its subgraph, `[N]`."""
        if self.weight is None:
            return self.first.diff()
        zero = torch.zeros(self.num_nodes, dtype=self.weight.dtype, device=self.row.device)
        return zero.index_add(0, self.row, self.weight)

    @property
    def pairs(self) -> Tensor:
        """The pair of nodes that each subgraph encloses, `[B, 2]`."""
        return torch.stack([self.node[self.u], self.node[self.v]], 1)

    @property
    def identity(self) -> Tensor:
        """The number by which random draws identify each node, `[N]`."""
        return self.node if self.draw_ids is None else self.draw_ids

    def draws(self, seed: int, epoch: int, stream: int) -> Tensor:
        """64 random bits for each node, a function of seed, epoch, stream, pair and node alone: see
        `counter_hash.draw`.

        Args:
            seed: seed of the draw.
            epoch: number of the epoch.
            stream: purpose of the draw, a constant of `_support.counter_hash`.

        Returns:
            Bits `[N]`, int64.
        """
        if self.roots == "graph":
            low = high = torch.zeros_like(self.identity)
        else:
            u = self.identity[self.u]
            v = self.identity[self.v] if self.roots == "link" else u
            low, high = torch.minimum(u, v)[self.graph], torch.maximum(u, v)[self.graph]
        return counter_hash.draw(seed, epoch, low, high, self.identity, stream)

    def to(self, device: torch.device | str) -> Subgraphs:
        """The subgraphs with their tensors on a device.

        Args:
            device: "cpu", "cuda" or a torch device.
        """
        kept = {name: x for name, x in vars(self).items() if name in self.__match_args__}
        given: dict[str, Any] = {name: x.to(device) if isinstance(x, Tensor) else x for name, x in kept.items()}
        copy = Subgraphs(**given)
        copy.__dict__.update({name: True for name in ("_checked",) if name in self.__dict__})
        return copy


def subgraphs_around(found: Neighborhoods, ends: int, hops: int, draw_ids: Tensor | None) -> Subgraphs:
    """What an extraction found around nodes (`ends` = 1) or pairs (2), the first rows of each, as `Subgraphs`;
    `draw_ids [n]` of the nodes of the graph.
    """
    ptr, node, row, col, weight, hop, dist_u, dist_v = found
    known = None if draw_ids is None else draw_ids[node]
    at = {"u": ptr[:-1], "hop": hop, "dist_u": dist_u}
    if ends == 2:
        at |= {"v": ptr[:-1] + 1, "dist_v": dist_v}
    subs = Subgraphs(ptr, node, row, col, weight, hops=hops, draw_ids=known, **at)
    subs.__dict__["_checked"] = True  # of arrays that code of this package made, nothing has to be checked
    return subs


def symmetric_weight(subs: Subgraphs) -> Tensor:
    """The edge weights in float64, 1 where there are none. The mean of both directions: an edge is one parameter,
    whichever direction a gradient is asked for.

    Args:
        subs: B subgraphs with E directed edges in all.

    Returns:
        Weights `[E]`.

    >>> import torch, llwlc
    >>> path = llwlc.Graph.from_edges(torch.tensor([[0, 1], [1, 2]]), weight=torch.tensor([2.0, 3.0]))
    >>> symmetric_weight(llwlc.subgraphs.extract(path, torch.tensor([[0, 2]]))).tolist()
    [2.0, 3.0, 2.0, 3.0]
    """
    if subs.weight is None:
        return torch.ones(len(subs.row), dtype=torch.float64, device=subs.row.device)
    weight, n = subs.weight.double(), subs.num_nodes
    # inside a row the edges follow the neighbours' ids, not their positions, so both directions have to be sorted
    mirror = torch.empty_like(subs.row)
    mirror[torch.argsort(subs.row * n + subs.col)] = torch.argsort(subs.col * n + subs.row)
    return (weight + weight[mirror]) / 2


def concat(parts: list[Subgraphs]) -> Subgraphs:
    """Several batches as one.

    Args:
        parts: one or more batches, all with the same number of hops.

    >>> import torch, llwlc
    >>> path = llwlc.Graph.from_edges(torch.tensor([[0, 1], [1, 2], [2, 3]]))
    >>> one, two = (llwlc.subgraphs.extract(path, torch.tensor([pair])) for pair in ([0, 2], [1, 3]))
    >>> concat([one, two]).ptr.tolist()
    [0, 4, 8]
    """
    if not parts:
        raise InputError("concat needs at least one batch of subgraphs, got none")
    if len({(p.roots, p.hops, p.weight is None) for p in parts}) > 1:
        kinds = ", ".join(f"roots={p.roots!r}, hops={p.hops}, {'no ' * (p.weight is None)}weights" for p in parts[:4])
        raise InputError(f"concat needs batches of one kind of root, hops and weights, got {kinds}")
    if len(parts) == 1:
        return parts[0]
    there = vars(parts[0])
    shift = pointer(torch.tensor([p.num_nodes for p in parts])).tolist()
    shifted = {
        k: torch.cat([getattr(p, k) + s for p, s in zip(parts, shift, strict=False)])
        for k in ("row", "col", "u", "v")
        if k in there
    }
    ptr = torch.cat([parts[0].ptr[:1], *[p.ptr[1:] + s for p, s in zip(parts, shift, strict=False)]])
    same = {k: torch.cat([getattr(p, k) for p in parts]) for k in ("node", "hop", "dist_u", "dist_v") if k in there}
    weights = [p.weight for p in parts if p.weight is not None]
    known = [p.draw_ids for p in parts if p.draw_ids is not None]
    joined = Subgraphs(
        ptr=ptr,
        weight=torch.cat(weights) if weights else None,
        draw_ids=torch.cat(known) if known else None,
        hops=parts[0].hops,
        **same,
        **shifted,
    )
    if all("_checked" in vars(p) for p in parts):
        joined.__dict__["_checked"] = True
    return joined


def select(subs: Subgraphs, graphs: Tensor) -> Subgraphs:
    """Some subgraphs `[M]` of a batch, by their numbers, in that order.

    Args:
        subs: B subgraphs with N nodes in all.
        graphs: numbers from 0 to B − 1; one may come twice.

    >>> import torch, llwlc
    >>> path = llwlc.Graph.from_edges(torch.tensor([[0, 1], [1, 2], [2, 3]]))
    >>> subs = llwlc.subgraphs.extract(path, torch.tensor([[0, 2], [1, 3], [0, 3]]))
    >>> select(subs, torch.tensor([2, 0])).pairs.tolist()
    [[0, 3], [0, 2]]
    """
    sizes, first = subs.ptr.diff()[graphs], subs.first[subs.ptr]
    nodes, _ = expand(subs.ptr[graphs], sizes)
    edges, owner = expand(first[graphs], first.diff()[graphs])
    ptr = pointer(sizes)
    shift = ptr[:-1] - subs.ptr[graphs]
    there = vars(subs)
    rows = {name: there[name][nodes] for name in ("node", "hop", "dist_u", "dist_v") if name in there}
    ends = {name: there[name][graphs] + shift for name in ("u", "v") if name in there}
    selection = Subgraphs(
        ptr=ptr,
        row=subs.row[edges] + shift[owner],
        col=subs.col[edges] + shift[owner],
        weight=None if subs.weight is None else subs.weight[edges],
        hops=subs.hops,
        draw_ids=None if subs.draw_ids is None else subs.draw_ids[nodes],
        **rows,
        **ends,
    )
    selection.__dict__.update({name: True for name in ("_checked",) if name in there})
    return selection
