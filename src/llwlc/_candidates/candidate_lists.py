"""Lists of partners from what two searches propose for each source: each partner once, best first. Row by row, so that
a list takes as long among many as among few.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from llwlc._support.compiler import compiled
from llwlc._support.threads import choose_num_threads, run_over_links
from llwlc.graph._graph import Graph

Integers = NDArray[np.int64]
Floats = NDArray[np.float32]


class CandidateLists(NamedTuple):
    """`partner [m, K]`, −1 behind the last one, and their `score [m, K]`, descending, for m sources."""

    partner: Integers
    score: Floats


def list_proposals(
    walked: Integers,
    walk: NDArray[np.float64],
    similar: Integers,
    sources: Integers,
    closed: list[Graph],
    node_bias: Floats,
    weight: float,
    vectors: Floats | None,
    length: int,
) -> CandidateLists:
    """Of the nodes in each row of `walked [m, j]` and `similar [m, k]` (−1 for none), the `length` with the largest
    `⟨vector, vector⟩ + node_bias + weight · walk`, of equals the smaller number first.

    The source itself and what it is linked to in one of the `closed` graphs is in no list; with `vectors [n, d]`
    neither is a node with neither a positive product nor a walk. `walk [m, j]` is 0 for nodes that are only similar.
    """
    m, n = len(sources), closed[0].num_nodes
    partner, value = np.full((m, length), -1), np.full((m, length), -np.inf, np.float32)
    rows = [x.numpy() for graph in closed for x in (graph.indptr, graph.indices)]
    indptr, indices, *rest = [*rows, np.zeros(n + 1, np.int64), np.zeros(0, np.int64)]
    told = vectors is not None
    table = np.zeros((1, 1), np.float32) if vectors is None else vectors

    def make() -> Any:
        seen = np.zeros(n, np.int64)
        return lambda begin, end: _list(
            walked, walk, similar, sources, indptr, indices, rest[0], rest[1], node_bias, weight, told, table, seen,
            begin, end, partner, value,
        )  # fmt: skip

    run_over_links(m, choose_num_threads(m, 8 * n), make)
    return CandidateLists(partner, value)


@compiled
def _list(
    walked: Any,
    walk: Any,
    similar: Any,
    sources: Any,
    indptr: Any,
    indices: Any,
    excluded_indptr: Any,
    excluded_indices: Any,
    bias: Any,
    weight: Any,
    told: bool,
    vectors: Any,
    seen: Any,
    begin: int,
    end: int,
    found: Any,
    value: Any,
) -> None:
    """`seen [n]`: scratch, in which no entry is one of `begin + 1` to `end`."""
    steps, most = walked.shape[1], walked.shape[1] + similar.shape[1]
    node, score = np.empty(most, np.int64), np.empty(most, np.float32)
    for i in range(begin, end):
        source, count = sources[i], 0
        seen[source] = i + 1
        for e in range(indptr[source], indptr[source + 1]):
            seen[indices[e]] = i + 1
        for e in range(excluded_indptr[source], excluded_indptr[source + 1]):
            seen[excluded_indices[e]] = i + 1
        for t in range(most):
            v = walked[i, t] if t < steps else similar[i, t - steps]
            if v < 0 or seen[v] == i + 1:
                continue
            seen[v] = i + 1
            far, near = walk[i, t] if t < steps else 0.0, np.float32(0)
            if told:
                for c in range(vectors.shape[1]):
                    near += vectors[source, c] * vectors[v, c]
                if near <= 0 and far <= 0:
                    continue
            node[count], score[count] = v, bias[v] + weight * far + near
            count += 1
        order = np.argsort(-score[:count], kind="mergesort")
        for k in range(1, count):  # of equals the smaller number first
            at, j = order[k], k
            while j > 0 and score[order[j - 1]] == score[at] and node[order[j - 1]] > node[at]:
                order[j] = order[j - 1]
                j -= 1
            order[j] = at
        for k in range(min(count, found.shape[1])):
            found[i, k], value[i, k] = node[order[k]], score[order[k]]
