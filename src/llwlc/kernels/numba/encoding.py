"""Pairs to what a network reads of them, in the types in which it is stored: no edge and no hop leaves the kernel, and a distance only as
far as it is told apart."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from llwlc.kernels.numba import memo, memory
from llwlc.kernels.numba.enclosing import (
    Adjacency,
    ExtractionScratch,
    distance_bits,
    ones,
    seed_distances,
    settle_distances,
)
from llwlc.kernels.numba.extraction import Reach, count, enclose
from llwlc.kernels.numba.fused import LanczosScratch, Plan, Ritz, basis_of, make_ritz, over_scratch
from llwlc.kernels.numba.krylov import RitzScratch
from llwlc.support.compiler import U, compiled, in_order


class Encoded(NamedTuple):
    """The arrays of `EncodedLinks`: `sizes [B]`, `node`, `label`, `degree [N]`, and the bases; and whether some hop of a link is at its cap,
    `full [B]`."""

    sizes: np.ndarray
    node: np.ndarray
    label: np.ndarray
    degree: np.ndarray
    full: np.ndarray
    ritz: Ritz


def encode_links(graph: Adjacency, pairs: np.ndarray, reach: Reach, plan: Plan, distance_cap: int) -> Encoded:
    """The enclosing subgraphs of `pairs [B, 2]`, without their edges, and their constrained eigenbases in float32."""
    counted = count(graph, pairs, reach)
    ptr = np.cumsum(counted.sizes)
    links, nodes = len(pairs), int(ptr[-1])
    out = Encoded(
        sizes=counted.sizes[1:],
        node=memory.empty(nodes, np.int32),
        label=memory.empty(nodes, np.uint8),
        degree=memory.empty(nodes, np.float32),
        full=np.zeros(links, np.bool_),
        ritz=make_ritz(links, nodes, plan.steps, np.float32),
    )

    def work(room: ExtractionScratch, space: LanczosScratch, small: RitzScratch, begin: int, end: int) -> None:
        kept = counted.kept[begin]
        _run(graph, pairs, reach, plan, distance_cap, begin, end, kept, room, space, small, ptr, out)

    over_scratch(graph, links, plan, counted.largest, work)
    return out


@compiled
def _run(
    graph: Adjacency, pairs: np.ndarray, reach: Reach, plan: Plan, distance_cap: int, begin: int, end: int, words: np.ndarray,
    room: ExtractionScratch, space: LanczosScratch, small: RitzScratch, ptr: np.ndarray, out: Encoded,
) -> None:  # fmt: skip
    at = 0
    for b in range(begin, end):
        u, v, p = pairs[b, 0], pairs[b, 1], ptr[b]
        n, near = enclose(graph, u, v, reach, room, words, at)
        at += memo.words_of(n, room)
        out.full[b] = has_full_hop(room.hop, n, reach.cap)
        for i in range(n):
            out.node[p + i] = room.node[i]
        write_labels(room, near, n, reach.hops, distance_cap, out.label[p : p + n])
        write_degrees(graph, room, n, out.degree[p : p + n])
        basis_of(graph, b, u, v, p, n, plan, room, near, space, small, out.ritz)


@compiled
def has_full_hop(hop: np.ndarray, n: int, cap: int) -> bool:
    """Whether `cap` of the nodes were found in the same hop. Hops follow each other, so two nodes of the same one have it all between them."""
    full = False
    for i in range(2, n - cap + 1 if cap > 0 else 2):  # behind the two ends; mostly there are fewer nodes than this
        full = full or hop[i] == hop[i + cap - 1]
    return full


@compiled
def write_labels(
    room: ExtractionScratch, near: np.ndarray, n: int, hops: int, distance_cap: int, label: np.ndarray
) -> None:
    """`subgraphs.labels.distance_encoding`. Distances from the cap on are the same to it, so those below it have to be right and no others."""
    far = distance_bits(hops)
    sure = seed_distances(room, near, n, far)
    settle_distances(room, near, n, far, sure, min(2 * hops, distance_cap - 1), U(1))
    for i in range(n):
        dist_u = min(2 * hops + 1 - int(ones(room.reach[i] & far.u)), distance_cap)
        dist_v = min(2 * hops + 1 - int(ones(room.reach[i] & far.v)), distance_cap)
        larger = max(dist_u, dist_v)
        label[i] = larger * (larger + 1) // 2 + min(dist_u, dist_v)


@in_order
def write_degrees(graph: Adjacency, room: ExtractionScratch, n: int, degree: np.ndarray) -> None:
    """The number of edges of each node; with weights their sum, in the type of the weights and in the order of the row, as `Subgraphs.degree`
    has it."""
    if len(room.edge) == 0:
        for i in range(n):
            degree[i] = room.size[i]
        return
    for i in range(n):
        total = graph.weight.dtype.type(0)
        for e in range(room.start[i], room.start[i] + U(room.size[i])):
            total += graph.weight[room.edge[e]]
        degree[i] = total
