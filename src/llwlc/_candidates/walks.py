"""The nodes that a random walk from a node ends at most often: personalised PageRank by push, in memory of what is
touched.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from llwlc._candidates.node_types import NodeTypes
from llwlc._support.compiler import in_order
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
    """
    indptr, indices = graph.indptr.numpy(), graph.indices.numpy()
    n, m = graph.num_nodes, len(sources)
    ends, rank = np.full((m, most), -1), np.zeros((m, most))

    def make() -> object:
        scratch = (
            np.zeros(n),
            np.zeros(n),
            np.zeros(n, dtype=np.bool_),
            np.empty(n, dtype=np.int64),
            np.empty(n, dtype=np.int64),
        )
        return lambda begin, end: _push(
            indptr,
            indices,
            sources[begin:end],
            removed[begin:end],
            node_types.codes,
            node_types.linkable,
            precision,
            STEPS // max(n, 1),
            ends[begin:end],
            rank[begin:end],
            *scratch,
        )

    run_over_links(m, choose_num_threads(m, 33 * n), make)  # type: ignore[arg-type]
    return ends, rank


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
    found: Any,
    best: Any,
    rank: Any,
    residual: Any,
    waiting: Any,
    stack: Any,
    touched: Any,
) -> None:
    """Andersen's push from each source; what was touched is wiped afterwards, so the arrays stay zero between
    sources.
    """
    for i in range(len(sources)):
        source, gone, finest = sources[i], removed[i], precision
        reach = 0
        for e in range(indptr[source], indptr[source + 1]):
            reach += indptr[indices[e] + 1] - indptr[indices[e]]
        while True:
            residual[source], stack[0], height, count = TELEPORT, source, 1, 0
            while height:
                height -= 1
                u = stack[height]
                waiting[u] = False
                pushed = residual[u]
                if rank[u] == 0:
                    touched[count] = u
                    count += 1
                rank[u] += pushed
                residual[u] = 0
                degree = indptr[u + 1] - indptr[u] - (gone >= 0 and u in (source, gone))
                for e in range(indptr[u], indptr[u + 1]):
                    v = indices[e]
                    if gone >= 0 and ((u == source and v == gone) or (u == gone and v == source)):
                        continue
                    residual[v] += (1 - TELEPORT) * pushed / degree
                    own = indptr[v + 1] - indptr[v] - (gone >= 0 and v in (source, gone))
                    if not waiting[v] and residual[v] >= TELEPORT * finest * own:
                        waiting[v] = True
                        stack[height] = v
                        height += 1
            # what still waits below the precision is found among the neighbours of what was touched
            for t in range(count):
                u = touched[t]
                residual[u] = 0
                for e in range(indptr[u], indptr[u + 1]):
                    residual[indices[e]] = 0
            ends = np.sort(touched[:count])
            kept = 0
            linked = indices[indptr[source] : indptr[source + 1]]
            for t in range(count):
                v = ends[t]
                at = np.searchsorted(linked, v)
                known = at < len(linked) and linked[at] == v and v != gone
                if v != source and not known and linkable[codes[source], codes[v]]:
                    ends[kept] = v
                    kept += 1
            if (
                kept >= ENOUGH
                or finest < precision
                or reach <= MANY_LINKS
                or reach > affordable
                or FINER / reach >= precision
            ):
                break
            for t in range(count):
                rank[touched[t]] = 0
            finest = FINER / reach
        value = np.empty(kept)
        for t in range(kept):
            value[t] = -rank[ends[t]]
        order = np.argsort(value, kind="mergesort")[: found.shape[1]]
        for t in range(len(order)):
            found[i, t], best[i, t] = ends[order[t]], -value[order[t]]
        for t in range(count):
            rank[touched[t]] = 0
