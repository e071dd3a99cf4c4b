"""Features smoothed over one and two steps, as unit vectors; also of a node without one of its links."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from llwlc._support.compiler import in_order
from llwlc._support.threads import choose_num_threads, run_over_links
from llwlc.graph._graph import Graph
from llwlc.heuristics._adjacency import adjacency

Vectors = NDArray[np.float32]
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class SmoothedFeatures:
    """Âx and Â²x of all nodes, Â = D^−½ (A + I) D^−½, each of length one, side by side: `vectors [n, 2 F]`. An inner
    product is the sum of two cosines.

    With a second kind of features (`svd_vectors`), whose cosines have the weight `share` and the first ones the rest, x
    has the columns of both, `width` those of the first.
    """

    graph: Graph
    scaled: Vectors  # x / √d
    summed: Vectors  # (A + I) x / √d
    vectors: Vectors
    width: int
    share: float = 0.0

    @classmethod
    def of(cls, graph: Graph, x: Vectors, svd_vectors: Vectors | None = None, share: float = 0.0) -> SmoothedFeatures:
        width = x.shape[1]
        if svd_vectors is None or not share:
            share = 0.0
        else:
            x = np.concatenate([x, svd_vectors], 1)
        root = np.sqrt(graph.degree.numpy() + 1).astype(np.float32)[:, None]
        matrix = adjacency(graph).astype(np.float32)
        scaled = x / root
        summed = matrix @ scaled + scaled
        once = summed / root**2
        twice = matrix @ once + once
        return cls(graph, scaled, summed, _beside(summed, twice, width, share), width, share)

    def without_link(self, sources: Integers, removed: Integers) -> Vectors:
        """The vectors of the sources `[m, 2 F]` on the graph that lacks their link with `removed`."""
        indptr, indices = self.graph.indptr.numpy(), self.graph.indices.numpy()
        columns = self.scaled.shape[1]
        # a part of a matrix is another type, for which the kernel would be compiled once more
        sources, removed = np.ascontiguousarray(sources), np.ascontiguousarray(removed)
        out = np.zeros((len(sources), 2 * columns), dtype=np.float32)
        run_over_links(
            len(sources),
            choose_num_threads(len(sources), 0),
            lambda: (
                lambda begin, end: _without_link(
                    indptr, indices, self.scaled, self.summed, sources[begin:end], removed[begin:end], out[begin:end]
                )
            ),
        )
        return _beside(out[:, :columns], out[:, columns:], self.width, self.share)


def _beside(once: Vectors, twice: Vectors, width: int, share: float) -> Vectors:
    """Unit vectors of the first `width` columns of both, and of the others, scaled so that cosines of the latter count
    for a `share` in an inner product.
    """
    parts = [_unit(once[:, :width]), _unit(twice[:, :width])]
    if share:
        parts = [np.float32((1 - share) ** 0.5) * part for part in parts]
        parts += [np.float32(share**0.5) * _unit(part[:, width:]) for part in (once, twice)]
    return np.concatenate(parts, 1)


def _unit(x: Vectors) -> Vectors:
    length = np.linalg.norm(x, axis=1, keepdims=True)
    return (x / np.where(length > 0, length, 1)).astype(np.float32)


@in_order
def _without_link(indptr: Any, indices: Any, scaled: Any, summed: Any, sources: Any, removed: Any, out: Any) -> None:
    """Only the degrees of the two ends change, so only the sums that they are part of: all others are taken as they
    are.
    """
    width = scaled.shape[1]
    for i in range(len(sources)):
        u, v = sources[i], removed[i]
        degree_u = indptr[u + 1] - indptr[u] + 1.0
        degree_v = indptr[v + 1] - indptr[v] + 1.0
        grow_u = np.float32(np.sqrt(degree_u / (degree_u - 1)) - 1)  # of x_u / √d when a link goes
        grow_v = np.float32(np.sqrt(degree_v / (degree_v - 1)) - 1)
        share = np.float32(1 / (degree_u - 1))
        for c in range(width):
            own = summed[u, c] + grow_u * scaled[u, c] - scaled[v, c]
            out[i, c] = own
            out[i, width + c] = own * share
        for e in range(indptr[u], indptr[u + 1]):
            w = indices[e]
            if w == v:
                continue
            near = indices[indptr[w] : indptr[w + 1]]
            at = np.searchsorted(near, v)
            touches = at < len(near) and near[at] == v
            part = np.float32(1.0 / (len(near) + 1))
            for c in range(width):
                total = summed[w, c] + grow_u * scaled[u, c]
                if touches:
                    total += grow_v * scaled[v, c]
                out[i, width + c] += total * part
