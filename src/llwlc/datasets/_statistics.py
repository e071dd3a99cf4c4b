"""The size and shape of a graph, and how its enclosing subgraphs grow with the hops."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse
from torch import Tensor

from llwlc.errors import InputError
from llwlc.graph._graph import Graph


@dataclass(frozen=True)
class Statistics:
    """What a graph is like: numbers of `nodes`, `edges`, `features` and `isolated` nodes, mean `degree` 2m/n,
    `largest_degree`.

    `one_hop` and `two_hop`: mean and standard deviation of the number of nodes in a link's enclosing subgraph, over
    `links` of the edges: all of them, or a sample where there are many.

    >>> import llwlc
    >>> found = statistics(llwlc.datasets.load("cora"))
    >>> round(found.degree, 2), found.isolated, [round(value, 1) for value in found.one_hop]
    (3.9, 0, [20.9, 31.5])
    """

    nodes: int
    edges: int
    features: int
    degree: float
    largest_degree: int
    isolated: int
    one_hop: tuple[float, float]
    two_hop: tuple[float, float]
    links: int


def statistics(graph: Graph, *, exact: int = 50_000, sample: int = 5_000, seed: int = 0) -> Statistics:
    """Statistics of a graph.

    Args:
        graph: the graph to measure.
        exact: up to this many links, subgraph sizes are measured over all of them.
        sample: links to measure them over where there are more.
        seed: seed of that random sample.

    >>> import torch
    >>> ring = Graph.from_edges(torch.tensor([[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [5, 0]]))
    >>> s = statistics(ring)
    >>> s.degree, s.one_hop, s.two_hop
    (2.0, (4.0, 0.0), (6.0, 0.0))
    """
    if not graph.num_edges:
        raise InputError("the graph has no links, so there are no statistics of them")
    links = graph.edges
    if len(links) > exact:
        links = links[np.random.default_rng(seed).choice(len(links), sample, replace=False)]
    one, two = (subgraph_sizes(graph, links, hops) for hops in (1, 2))
    return Statistics(
        graph.num_nodes,
        graph.num_edges,
        0 if graph.x is None else graph.x.shape[1],
        2 * graph.num_edges / graph.num_nodes,
        int(graph.degree.max()),
        int((graph.degree == 0).sum()),
        (float(one.mean()), float(one.std())),
        (float(two.mean()), float(two.std())),
        len(links),
    )


def subgraph_sizes(graph: Graph, pairs: Tensor, hops: int, *, chunk: int = 1000) -> np.ndarray:
    """The number of nodes in each pair's enclosing subgraph, `[B]`, without extracting it.

    Those are the nodes that (e_u + e_v)ᵀ (A + I)^hops reaches. A link between u and v makes no difference, since both
    are in the subgraph anyway.
    """
    n = graph.num_nodes
    near = scipy.sparse.csr_array(
        (np.ones(len(graph.indices), np.float32), graph.indices.numpy(), graph.indptr.numpy()), shape=(n, n)
    ) + scipy.sparse.eye_array(n, dtype=np.float32, format="csr")
    sizes = []
    for at in range(0, len(pairs), chunk):
        ends = pairs[at : at + chunk].numpy().ravel()
        reach = scipy.sparse.csr_array(
            (np.ones(len(ends), np.float32), ends, np.arange(0, len(ends) + 1, 2)), (len(ends) // 2, n)
        )
        for _ in range(hops):
            reach = scipy.sparse.csr_array(reach @ near)
            reach.data[:] = 1
        sizes.append(np.diff(reach.indptr))
    return np.concatenate(sizes)
