"""The nodes that a random walk from a node ends at most often: personalised PageRank by push, in memory of what is
touched.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from llwlc._candidates.inner_product_index import EXACT_NODES
from llwlc._candidates.node_types import NodeTypes
from llwlc._support.compiler import U, in_order
from llwlc._support.threads import choose_num_threads, run_over_links
from llwlc.graph._graph import Graph

TELEPORT, PRECISION = 0.15, 1e-4
ENOUGH, MANY_LINKS, FINER, STEPS = 50, 500, 0.1, 2_000_000_000
"""A walk that ends at fewer than `ENOUGH` nodes, though the neighbours of its source have more than `MANY_LINKS` links
together, is too coarse for a graph as dense as this: it is made again with precision `FINER` ÷ their number, which
reaches the nodes that share a good part of their links with them. Only as long as all sources of a graph take about
`STEPS` steps to their neighbours' links together: a hub is not worth it."""
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def find_walk_ends(
    graph: Graph, sources: Integers, removed: Integers, node_types: NodeTypes, most: int, precision: float = PRECISION
) -> tuple[Integers, Floats]:
    """For each source the `most` nodes of largest PageRank that it is not linked to, `[m, most]`, −1 where there are
    fewer, and their PageRank.

    `removed [m]`: a neighbour whose link with the source is left out of the graph, −1 for none; that neighbour is a
    candidate like any other. Only nodes are listed whose type a link may join with the source's. `precision`: what a
    walk leaves at a node, for each of its links, is below it (or below a finer one, near many links).

    On a graph of more than `EXACT_NODES` nodes, the node that has waited longest is pushed first: that takes six tenths
    of the steps. On others the last one is, as ever; the ranks differ within the precision.
    """
    indptr, indices = graph.indptr.numpy(), graph.indices.numpy()
    # a part of a matrix is another type, for which kernels would be compiled once more
    sources, removed = np.ascontiguousarray(sources), np.ascontiguousarray(removed)
    n, m = graph.num_nodes, len(sources)
    ends, rank = np.full((m, most), -1), np.zeros((m, most))

    def make() -> object:
        scratch = np.zeros((n, 4)), *(np.empty(size, dtype=np.int64) for size in (2 * n + 1, n, n))
        return lambda begin, end: _push(
            indptr,
            indices,
            sources[begin:end],
            removed[begin:end],
            node_types.codes,
            node_types.linkable,
            precision,
            STEPS // max(n, 1),
            n > EXACT_NODES,
            ends[begin:end],
            rank[begin:end],
            *scratch,
        )

    run_over_links(m, choose_num_threads(m, 64 * n), make)  # type: ignore[arg-type]
    return ends, rank


RANK, RESIDUAL, DEGREE, LINKED = range(4)
"""What is known of a node, in one cache line; all 0 between sources. `DEGREE` is above 0 where a walk has been."""


@in_order
def _push(
    indptr: Any,
    indices: Any,
    sources: Any,
    removed: Any,
    codes: Any,
    linkable: Any,
    precision: Any,
    affordable: Any,
    in_turn: bool,
    found: Any,
    best: Any,
    node: Any,
    waiting: Any,
    reached: Any,
    ends: Any,
) -> None:
    """Andersen's push from each source. A node waits while its residual is not below its bound, so it begins to wait
    when its residual passes the bound. What was reached is wiped afterwards. `in_turn`: first in, first out.
    """
    for i in range(len(sources)):
        source, gone, finest = sources[i], removed[i], precision
        reach = 0
        for e in range(indptr[source], indptr[source + 1]):
            reach += indptr[indices[e] + 1] - indptr[indices[e]]
        while True:
            node[source, RESIDUAL], waiting[0], first, last = TELEPORT, source, U(0), U(1)
            node[source, DEGREE], reached[0], seen = indptr[source + 1] - indptr[source] - (gone >= 0), source, U(1)
            limit = TELEPORT * finest
            while first < last:
                if in_turn:
                    u = U(waiting[first])
                    first += U(1)
                else:
                    last -= U(1)
                    u = U(waiting[last])
                pushed = node[u, RESIDUAL]
                node[u, RANK] += pushed
                node[u, RESIDUAL] = 0
                begin, end = U(indptr[u]), U(indptr[u + U(1)])
                if in_turn and last + (end - begin) > U(len(waiting)):  # each node waits once, so all fit in half
                    for t in range(last - first):
                        waiting[U(t)] = waiting[first + U(t)]
                    first, last = U(0), last - first
                degree = np.int64(end - begin) - (gone >= 0 and u in (U(source), U(gone)))
                share = (1 - TELEPORT) * pushed / degree
                cut = gone if u == source else source if u == gone else -1  # the end of the link that is left out
                for e in range(begin, end):
                    v = U(indices[e])
                    if indices[e] == cut:
                        continue
                    if node[v, DEGREE] == 0:
                        node[v, DEGREE] = indptr[v + U(1)] - indptr[v] - (indices[e] == gone)
                        reached[seen] = v
                        seen += U(1)
                    before, bound = node[v, RESIDUAL], limit * node[v, DEGREE]
                    after = before + share
                    node[v, RESIDUAL] = after
                    waiting[last] = v  # overwritten unless it counts: no processor can guess which ones do
                    last += U((before < bound) & (after >= bound))
            for e in range(indptr[source], indptr[source + 1]):
                node[indices[e], LINKED] = indices[e] != gone
            kept = 0
            for t in range(seen):
                v = U(reached[t])
                if node[v, RANK] == 0 or node[v, LINKED] != 0 or reached[t] == source:
                    continue
                if linkable[codes[source], codes[v]]:
                    ends[kept] = v
                    kept += 1
            enough = (
                kept >= ENOUGH
                or finest < precision
                or reach <= MANY_LINKS
                or reach > affordable
                or FINER / reach >= precision
            )
            if enough:
                _write_best(node, ends[:kept], found[i], best[i])
            for t in range(seen):
                v = U(reached[t])
                for k in range(4):
                    node[v, k] = 0
            if gone >= 0:
                node[gone, LINKED] = 0  # not reached where its only link is left out
            if enough:
                break
            finest = FINER / reach


@in_order
def _write_best(node: Any, ends: Any, found: Any, best: Any) -> None:
    """The ends of largest rank, of equals the smaller number first."""
    value = np.empty(len(ends))
    for t in range(len(ends)):
        value[t] = -node[ends[t], RANK]
    if len(ends) > len(found):  # only those that are listed are sorted
        worst, chosen, equal = np.partition(value, len(found) - 1)[len(found) - 1], 0, 0
        nodes, equals = np.empty(len(found), np.int64), np.empty(len(ends), np.int64)
        for t in range(len(ends)):
            if value[t] < worst:
                nodes[chosen] = ends[t]
                chosen += 1
            elif value[t] == worst:
                equals[equal] = ends[t]
                equal += 1
        nodes[chosen:] = np.sort(equals[:equal])[: len(found) - chosen]
    else:
        nodes = ends
    nodes = np.sort(nodes)
    value = np.empty(len(nodes))
    for t in range(len(nodes)):
        value[t] = -node[nodes[t], RANK]
    order = np.argsort(value, kind="mergesort")
    for t in range(len(order)):
        found[t], best[t] = nodes[order[t]], -value[order[t]]
