"""What a network reads of a subgraph, in the types in which it is stored: no edge and no hop leaves the kernel, and a distance only as far as
it is told apart."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from llwlc.kernels.numba import memory
from llwlc.kernels.numba.enclosing import (
    Adjacency,
    ExtractionScratch,
    distance_bits,
    ones,
    seed_distances,
    settle_distances,
)
from llwlc.support.compiler import U, compiled, in_order


class Encoded(NamedTuple):
    """`node`, `label`, `degree [N]` of `EncodedLinks`, and whether some hop of a link is at its cap, `full [B]`."""

    node: np.ndarray
    label: np.ndarray
    degree: np.ndarray
    full: np.ndarray


def allocate_encoded(links: int, nodes: int) -> Encoded:
    return Encoded(
        node=memory.empty(nodes, np.int32),
        label=memory.empty(nodes, np.uint8),
        degree=memory.empty(nodes, np.float32),
        full=np.zeros(links, np.bool_),
    )


@compiled
def write_encoded(
    graph: Adjacency, b: int, p: int, n: int, hops: int, cap: int, distance_cap: int,
    room: ExtractionScratch, near: np.ndarray, out: Encoded,
) -> None:  # fmt: skip
    """Link b, whose subgraph of n nodes is in `room` and `near`, to its places in the output, which begin at p."""
    out.full[b] = has_full_hop(room.hop, n, cap)
    for i in range(n):
        out.node[p + i] = room.node[i]
    write_labels(room, near, n, hops, distance_cap, out.label[p : p + n])
    write_degrees(graph, room, n, out.degree[p : p + n])


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
