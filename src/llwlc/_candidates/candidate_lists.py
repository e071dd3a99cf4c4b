"""Lists of partners from what several searches propose for each source: each partner once, best first. Row by row, so
that a list takes as long among many as among few.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from llwlc._support.compiler import in_order
from llwlc._support.threads import choose_num_threads, run_over_links
from llwlc.graph._graph import Graph

Integers = NDArray[np.int64]
Floats = NDArray[np.float32]


class CandidateLists(NamedTuple):
    """`partner [m, K]`, −1 behind the last one, and their `score [m, K]`, descending, for m sources."""

    partner: Integers
    score: Floats


class Proposals(NamedTuple):
    """Those of source i stand at `start[i]` to `start[i + 1]`, in the order of their numbers: `partner [t]`, and what
    the first search says of each, `walk [t]`.
    """

    start: Integers
    partner: Integers
    walk: NDArray[np.float64]

    @property
    def row(self) -> Integers:
        """The place of each one's source, `[t]`."""
        return np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))


def make_proposals(partner: Integers, walk: NDArray[np.float64], sources: Integers, graph: Graph) -> Proposals:
    """The nodes in each row of `partner [m, k]`, each once, but for the source itself and what it is linked to;
    `walk [m, j]`, j ≤ k, belongs to the first columns, and is 0 for all others.
    """
    indptr, indices = graph.indptr.numpy(), graph.indices.numpy()
    nodes, scores = np.empty(partner.shape, np.int64), np.empty(partner.shape)
    start = np.zeros(len(sources) + 1, np.int64)

    def make() -> Any:
        return lambda begin, end: _keep_once(
            partner, walk, sources, indptr, indices, nodes, scores, start, begin, end
        )  # fmt: skip

    run_over_links(len(sources), choose_num_threads(len(sources), 0), make)
    inside = np.arange(partner.shape[1]) < start[1:, None]
    return Proposals(np.cumsum(start), nodes[inside], scores[inside])


def select_best(proposals: Proposals, score: Floats, length: int) -> CandidateLists:
    """The `length` best of each source; of equals the smaller number first. What has a score of −inf is in no list."""
    sources = len(proposals.start) - 1
    partner, value = np.full((sources, length), -1), np.full((sources, length), -np.inf, np.float32)

    def make() -> Any:
        return lambda begin, end: _order(
            proposals.start, proposals.partner, score, partner, value, begin, end
        )  # fmt: skip

    run_over_links(sources, choose_num_threads(sources, 0), make)
    return CandidateLists(partner, value)


@in_order
def _keep_once(
    partner: Any,
    walk: Any,
    sources: Any,
    indptr: Any,
    indices: Any,
    found: Any,
    walked: Any,
    size: Any,
    begin: int,
    end: int,
) -> None:
    for i in range(begin, end):
        source, count, last = sources[i], 0, -1
        linked = indices[indptr[source] : indptr[source + 1]]
        # of a node that stands there twice, the first
        order = np.argsort(partner[i], kind="mergesort")
        for t in range(len(order)):
            at = order[t]
            node = partner[i, at]
            if node < 0 or node in (last, source):
                continue
            last = node
            place = np.searchsorted(linked, node)
            if place < len(linked) and linked[place] == node:
                continue
            found[i, count], walked[i, count] = node, walk[i, at] if at < walk.shape[1] else 0.0
            count += 1
        size[i + 1] = count


@in_order
def _order(start: Any, partner: Any, score: Any, found: Any, value: Any, begin: int, end: int) -> None:
    for i in range(begin, end):
        first = start[i]
        order = np.argsort(-score[first : start[i + 1]], kind="mergesort")
        for k in range(min(len(order), found.shape[1])):
            at = first + order[k]
            if score[at] == -np.inf:
                break
            found[i, k], value[i, k] = partner[at], score[at]
