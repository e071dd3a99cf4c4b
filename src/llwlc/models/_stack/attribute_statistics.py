"""Statistics of a pair from the attributes of links: of each end's links, and of the links to common neighbours."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from llwlc._support.compiler import in_order
from llwlc.errors import InputError
from llwlc.graph._graph import Graph

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
ATTRIBUTE_STATISTICS = (
    "mean over an end's links, smaller",
    "mean over an end's links, larger",
    "difference of these means",
    "sum of products over common neighbours",
    "mean of the smaller over common neighbours",
    "mean of the larger over common neighbours",
)


class AttributeStatistics:
    """`ATTRIBUTE_STATISTICS` of pairs for each attribute, on one graph without the pair's own link.

    >>> import torch
    >>> from dataclasses import replace
    >>> from llwlc.graph._link_attributes import LinkAttributes
    >>> links = torch.tensor([[0, 1], [1, 2], [2, 3], [0, 3]])
    >>> values = LinkAttributes.of(("calls",), links, torch.tensor([[1.0], [2.0], [3.0], [5.0]]))
    >>> square = replace(Graph.from_edges(links), attributes=values)
    >>> AttributeStatistics(square)(np.array([[0, 2], [0, 1]])).tolist()
    [[2.5, 3.0, 0.5, 17.0, 2.0, 3.5], [2.0, 5.0, 3.0, 0.0, 0.0, 0.0]]
    """

    def __init__(self, graph: Graph) -> None:
        if graph.attributes is None:
            raise InputError(
                "this stack was fitted with attributes of links and the graph has none: read it with --link-attributes"
            )
        self.indptr, self.indices = graph.indptr.cpu().numpy(), graph.indices.cpu().numpy()
        self.values = graph.attributes.of_entries(graph.indptr.cpu(), graph.indices.cpu()).double().numpy()
        row = np.repeat(np.arange(graph.num_nodes), np.diff(self.indptr))
        self.total = np.zeros((graph.num_nodes, self.values.shape[1]))
        np.add.at(self.total, row, self.values)

    @staticmethod
    def names(attributes: tuple[str, ...]) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(f"{name}: {what}" for name in attributes for what in ATTRIBUTE_STATISTICS)

    def __call__(self, pairs: Integers) -> Floats:
        """The columns `names` of pairs `[m, 2]`, symmetric in the ends: `[m, 6 A]`."""
        out = np.zeros((len(pairs), len(ATTRIBUTE_STATISTICS) * self.values.shape[1]))
        _fill(self.indptr, self.indices, self.values, self.total, np.ascontiguousarray(pairs), out)
        return out


@in_order
def _fill(indptr: Integers, indices: Integers, values: Floats, total: Floats, pairs: Integers, out: Floats) -> None:
    for i in range(len(pairs)):
        u, v = min(pairs[i, 0], pairs[i, 1]), max(pairs[i, 0], pairs[i, 1])
        begin, end = indptr[u], indptr[u + 1]
        own = begin + np.searchsorted(indices[begin:end], v)
        linked = own < end and indices[own] == v
        degree_u, degree_v = max(end - begin - linked, 1), max(indptr[v + 1] - indptr[v] - linked, 1)
        for k in range(values.shape[1]):
            itself = values[own, k] if linked else 0.0
            one, other = (total[u, k] - itself) / degree_u, (total[v, k] - itself) / degree_v
            product, smaller, larger, common = 0.0, 0.0, 0.0, 0
            a, b, end_b = begin, indptr[v], indptr[v + 1]
            while a < end and b < end_b:
                if indices[a] == indices[b]:
                    product += values[a, k] * values[b, k]
                    smaller += min(values[a, k], values[b, k])
                    larger += max(values[a, k], values[b, k])
                    common += 1
                    a, b = a + 1, b + 1
                elif indices[a] < indices[b]:
                    a += 1
                else:
                    b += 1
            out[i, 6 * k], out[i, 6 * k + 1], out[i, 6 * k + 2] = min(one, other), max(one, other), abs(one - other)
            out[i, 6 * k + 3] = product
            out[i, 6 * k + 4], out[i, 6 * k + 5] = smaller / max(common, 1), larger / max(common, 1)
