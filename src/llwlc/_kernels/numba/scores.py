"""Pairs to logits: a thread takes a run of some dozen links through subgraphs and bases, and through the network while
they are in its cache.

Encoded rows exist for one run at a time, so memory does not grow with the number of pairs. The two passes are two
compiled functions, since the first takes longest to compile and is shared with everything that computes bases.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from llwlc._kernels.numba.enclosing_subgraph import Adjacency
from llwlc._kernels.numba.encoding import allocate_encoded
from llwlc._kernels.numba.extraction import (
    ExtractionOptions,
    count_sizes,
    extraction_bytes,
    new_extraction_scratch,
    no_subgraphs,
)
from llwlc._kernels.numba.fused_bases import FusedOptions, make_ritz, new_lanczos_scratch, new_ritz_scratch, run_links
from llwlc._kernels.numba.network import EncodedRows, NetworkWeights, network_scratch, run_network
from llwlc._kernels.numba.vectors import padded_length
from llwlc._support.threads import choose_num_threads, run_over_links


def score_encoded(net: NetworkWeights, links: EncodedRows) -> np.ndarray:
    """The logits `[B, outputs]` of links that are encoded already."""
    number, steps = links.values.shape
    out = np.empty((number, net.outputs), net.head.hidden.dtype)
    n = int(np.diff(links.ptr).max(initial=0))

    def make() -> Callable[[int, int], None]:
        net_scratch = network_scratch(net, n, steps)
        return lambda begin, end: run_network(net, links, begin, end, net_scratch, out)

    run_over_links(number, choose_num_threads(number, _network_bytes(net, n)), make)
    return out


def score_pairs(
    net: NetworkWeights,
    graph: Adjacency,
    pairs: np.ndarray,
    reach: ExtractionOptions,
    plan: FusedOptions,
    distance_cap: int,
    known: np.ndarray,
) -> tuple[np.ndarray, int]:
    """The logits `[B, outputs]` of `pairs [B, 2]`, with `known [B, P]`, statistics of the pairs beside their subgraphs;
    and how many pairs have a hop at its cap.
    """
    counted = count_sizes(graph, pairs, reach)
    links, (n, e) = len(pairs), counted.largest
    out, full = np.empty((links, net.outputs), net.head.hidden.dtype), np.zeros(links, np.bool_)
    nothing = no_subgraphs(graph)

    def make() -> Callable[[int, int], None]:
        scratch, ritz_scratch, net_scratch = (
            new_extraction_scratch(graph, n, e),
            new_ritz_scratch(plan),
            network_scratch(net, n, plan.steps),
        )
        lanczos = new_lanczos_scratch(plan, n, len(scratch.edge))

        def work(begin: int, end: int) -> None:
            own, number = slice(begin, end), end - begin
            ptr = np.zeros(number + 1, np.int64)
            np.cumsum(counted.sizes[begin + 1 : end + 1], out=ptr[1:])
            encoded = allocate_encoded(number, int(ptr[-1]))
            ritz = make_ritz(number, int(ptr[-1]), plan.steps, np.float32)
            run_links(
                graph, pairs[own], reach, plan, distance_cap, 0, number, counted.kept[begin],
                scratch, lanczos, ritz_scratch, ptr, nothing, encoded, ritz,
            )  # fmt: skip
            rows = EncodedRows(
                ptr, ritz.live, ritz.values, ritz.vectors, encoded.node, encoded.label, encoded.degree, known[own]
            )
            run_network(net, rows, 0, number, net_scratch, out[own])
            full[own] = encoded.full

        return work

    lanczos_bytes = 8 * padded_length(n) * (plan.steps + plan.columns + 12)
    run_over_links(
        links, choose_num_threads(links, extraction_bytes(graph) + lanczos_bytes + _network_bytes(net, n)), make
    )
    return out, int(full.sum())


def _network_bytes(net: NetworkWeights, n: int) -> int:
    """Bytes of a thread's scratch for a link of n nodes, approximately."""
    return int(net.blocks.bias.size + 16) * n * net.head.hidden.itemsize
