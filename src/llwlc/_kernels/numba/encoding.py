"""The inputs of a network for a subgraph, in the types in which they are stored: edges and hops stay inside the kernel,
and distances are computed only up to the cap."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from llwlc._kernels.numba import buffer_pool
from llwlc._kernels.numba.enclosing_subgraph import (
    Adjacency,
    ExtractionScratch,
    count_bits,
    distance_bits,
    seed_distances,
    settle_distances,
)
from llwlc._support.compiler import U, compiled, in_order


class EncodedArrays(NamedTuple):
    """`node`, `label`, `degree [N]` of `EncodedLinks`, and `full [B]`, whether some hop of a link reached its cap."""

    node: np.ndarray
    label: np.ndarray
    degree: np.ndarray
    full: np.ndarray


def allocate_encoded(links: int, nodes: int) -> EncodedArrays:
    return EncodedArrays(
        node=buffer_pool.empty(nodes, np.int32),
        label=buffer_pool.empty(nodes, np.uint8),
        degree=buffer_pool.empty(nodes, np.float32),
        full=np.zeros(links, np.bool_),
    )


@compiled
def write_encoded(
    graph: Adjacency, b: int, p: int, n: int, hops: int, cap: int, distance_cap: int,
    scratch: ExtractionScratch, neighbor: np.ndarray, out: EncodedArrays,
) -> None:  # fmt: skip
    """Writes link b, whose subgraph of n nodes is in `scratch` and `neighbor`, to its places in the output, which begin
    at p.
    """
    out.full[b] = has_full_hop(scratch.hop, n, cap)
    for i in range(n):
        out.node[p + i] = scratch.node[i]
    write_labels(scratch, neighbor, n, hops, distance_cap, out.label[p : p + n])
    write_degrees(graph, scratch, n, out.degree[p : p + n])


@compiled
def has_full_hop(hop: np.ndarray, n: int, cap: int) -> bool:
    """Whether `cap` nodes were found in one hop. Nodes are ordered by hop, so two nodes of one hop have only nodes of
    that hop between them.
    """
    full = False
    for i in range(
        2, n - cap + 1 if cap > 0 else 2
    ):  # from behind the two ends; usually empty, since there are fewer nodes than `cap`
        full = full or hop[i] == hop[i + cap - 1]
    return full


@compiled
def write_labels(
    scratch: ExtractionScratch, neighbor: np.ndarray, n: int, hops: int, distance_cap: int, label: np.ndarray
) -> None:
    """`subgraphs._labels.distance_encoding`. It does not tell distances from the cap on apart, so only those below have
    to be exact.
    """
    bits = distance_bits(hops)
    settled = seed_distances(scratch, neighbor, n, bits)
    settle_distances(scratch, neighbor, n, bits, settled, min(2 * hops, distance_cap - 1), U(1))
    for i in range(n):
        dist_u = min(2 * hops + 1 - int(count_bits(scratch.distances[i] & bits.u)), distance_cap)
        dist_v = min(2 * hops + 1 - int(count_bits(scratch.distances[i] & bits.v)), distance_cap)
        larger = max(dist_u, dist_v)
        label[i] = larger * (larger + 1) // 2 + min(dist_u, dist_v)


@in_order
def write_degrees(graph: Adjacency, scratch: ExtractionScratch, n: int, degree: np.ndarray) -> None:
    """The number of edges of each node; with weights their sum, in the type of the weights and in the order of the row,
    as `Subgraphs.degree` has it."""
    if len(scratch.edge) == 0:
        for i in range(n):
            degree[i] = scratch.size[i]
        return
    for i in range(n):
        total = graph.weight.dtype.type(0)
        for e in range(scratch.start[i], scratch.start[i] + U(scratch.size[i])):
            total += graph.weight[scratch.edge[e]]
        degree[i] = total
