"""A pair's enclosing subgraph with some of its edges removed, many times in one batch, for the scores without these
edges.

The score after a removal is that of the pair on the graph without the edge. Distances, nodes that are then out of
reach, degrees, constraints, the basis, common neighbours and their weights are all computed again. Weights of the
network, features of the nodes and calibration stay as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from llwlc._support.compiler import in_order
from llwlc._support.ragged import pointer
from llwlc.bases._config import BasisConfig
from llwlc.bases._eigenbasis import eigenbasis
from llwlc.bases._encoded_links import EncodedLinks, encode_subgraphs, make_encoded_links
from llwlc.bases._pair_inputs import PairInputs
from llwlc.graph._graph import Graph
from llwlc.subgraphs._batch import Subgraphs
from llwlc.subgraphs._extraction import extract_checked

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

EDGES_AT_ONCE = 200_000
"""Edges of all altered subgraphs of one batch: batches that fit the processor's cache are several times as fast."""


@dataclass(frozen=True, eq=False)
class EnclosingSubgraph:
    """One pair `(low, high)` on a graph and its enclosing subgraph, of which edges can be removed.

    `subs` holds one graph, low at position 0 and high at 1; `edges [E, 2]` its edges by position, each once.
    """

    graph: Graph
    pair: tuple[int, int]
    config: BasisConfig
    inputs: PairInputs | None
    subs: Subgraphs

    @classmethod
    def of(
        cls, graph: Graph, pair: tuple[int, int], config: BasisConfig, inputs: PairInputs | None
    ) -> EnclosingSubgraph:
        low, high = min(pair), max(pair)
        subs = extract_checked(
            graph,
            torch.tensor([[low, high]]),
            config.hops,
            config.max_nodes_per_hop,
            config.seed,
            "auto",
            graph.identity,
        )
        return cls(graph, (low, high), config, inputs, subs)

    @cached_property
    def edges(self) -> Tensor:
        """In the order of their ends' ids, so that nothing depends on how they were found."""
        low, high = self.subs.node[self.subs.row], self.subs.node[self.subs.col]
        once = (low < high).nonzero()[:, 0]
        once = once[torch.argsort(low[once] * self.graph.num_nodes + high[once])]
        return torch.stack([self.subs.row[once], self.subs.col[once]], 1)

    @property
    def num_edges(self) -> int:
        return len(self.edges)

    def encoded(self, removed: Tensor) -> list[EncodedLinks]:
        """What the network reads of the pair where the marked edges are gone: `removed [M, E]`, M links in all."""
        at_once = max(1, EDGES_AT_ONCE // max(self.num_edges, 1))
        return [self._encode(part) for part in torch.split(removed, at_once)]

    def _encode(self, removed: Tensor) -> EncodedLinks:
        subs, config = self._without(removed), self.config
        basis = eigenbasis(
            subs,
            config.columns(subs, epoch=0),
            steps=config.steps,
            start=config.start,
            laplacian=config.laplacian,
            seed=config.seed,
            dtype=torch.float32,
        )
        data = make_encoded_links(encode_subgraphs(subs, basis, config))
        return data if self.inputs is None else data.with_pair(self._pair_inputs(removed))

    def _without(self, removed: Tensor) -> Subgraphs:
        """M copies of the subgraph, each without its removed edges and without the nodes that are then further than
        `hops` from both ends.
        """
        old, n, copies = self.subs, self.subs.num_nodes, len(removed)
        arrays = (old.first.numpy(), old.col.numpy(), self._number.numpy(), removed.contiguous().numpy())

        def search(first: int, last: int, barred: int, among: Tensor) -> Tensor:
            out = torch.empty(copies, n, dtype=torch.long)
            _search(*arrays, among.numpy(), first, last, barred, 2 * old.hops + 1, out.numpy())
            return out

        # with a capped hop a node may be found later than by a search
        hop = torch.maximum(search(0, 1, -1, torch.ones(copies, n, dtype=torch.bool)), old.hop)
        alive = hop <= old.hops
        dist_u, dist_v = search(0, 0, 1, alive), search(1, 1, 0, alive)
        place = (alive.flatten().cumsum(0) - 1).view(copies, n)
        # edges by copy, then row, then the neighbour's id, as in the original
        remaining = ~removed[:, self._number] & alive[:, old.row] & alive[:, old.col]
        copy, edge = remaining.nonzero(as_tuple=True)
        row, col = place[copy, old.row[edge]], place[copy, old.col[edge]]
        weight = None if old.weight is None else old.weight[edge]
        ptr = pointer(alive.sum(1))
        node = old.node.expand(copies, n)[alive]
        first = ptr[:-1]
        draw_ids = self.graph.identity
        return Subgraphs(
            ptr, node, row, col, weight, first, first + 1, hop[alive], dist_u[alive], dist_v[alive], old.hops,
            None if draw_ids is None else draw_ids[node],
        )  # fmt: skip

    @cached_property
    def _number(self) -> Tensor:
        """The edge that each direction belongs to, `[2E]`."""
        n, ids = self.graph.num_nodes, self.subs.node
        low, high = (
            torch.minimum(ids[self.subs.row], ids[self.subs.col]),
            torch.maximum(ids[self.subs.row], ids[self.subs.col]),
        )
        return torch.searchsorted(ids[self.edges] @ torch.tensor([n, 1]), low * n + high)

    def _pair_inputs(self, removed: Tensor) -> Tensor:
        """`PairInputs` on the graph without each copy's removed edges `[M, P]`; their feature part does not change."""
        assert self.inputs is not None
        graph, (u, v) = self.graph, self.pair
        without = removed.numpy()
        near_u, near_v = (graph.indices[graph.indptr[i] : graph.indptr[i + 1]].numpy() for i in (u, v))
        linked = int(v in near_u)
        ids = self.subs.node[self.edges].numpy()

        def lost_at(node: int) -> Integers:
            return np.asarray(without[:, (ids == node).any(1)].sum(1))

        def cut(a: int, b: int) -> Flags:
            return np.asarray(without[:, (ids == sorted((a, b))).all(1)].any(1))

        columns = np.zeros((len(without), 5))
        for w in np.intersect1d(near_u, near_v).tolist():
            shared = ~(cut(u, w) | cut(v, w))
            degree = np.maximum(int(graph.degree[w]) - lost_at(w), 1)
            columns[:, 0] += shared
            columns[:, 1] += shared / np.log(np.maximum(degree, 2))
            columns[:, 2] += shared / degree
        ends = np.stack([len(near_u) - linked - lost_at(u), len(near_v) - linked - lost_at(v)], 1)
        columns[:, 3:] = np.sort(ends, 1)
        columns[:, [0, 1, 3, 4]] = np.log1p(columns[:, [0, 1, 3, 4]])
        whole = self.inputs(graph, torch.tensor([self.pair]))
        return torch.cat([torch.from_numpy(columns.astype(np.float32)), whole[:, 5:].expand(len(without), -1)], 1)


@in_order
def _search(
    first: Integers,
    col: Integers,
    number: Integers,
    removed: Flags,
    among: Flags,
    source: int,
    last_source: int,
    barred: int,
    far: int,
    out: Integers,
) -> None:
    """Steps of every node from the nearest of the nodes `source` to `last_source` in each copy, on paths through marked
    nodes that avoid `barred`; at most `far`."""
    queue = np.empty(out.shape[1], np.int64)
    for copy in range(len(out)):
        dist, gone, passable = out[copy], removed[copy], among[copy]
        dist[:] = far
        head, tail = 0, 0
        for end in range(source, last_source + 1):
            dist[end] = 0
            queue[tail] = end
            tail += 1
        while head < tail:
            at = queue[head]
            head += 1
            if dist[at] + 1 >= far:
                break
            for slot in range(first[at], first[at + 1]):
                to = col[slot]
                if dist[to] == far and to != barred and passable[to] and not gone[number[slot]]:
                    dist[to] = dist[at] + 1
                    queue[tail] = to
                    tail += 1
