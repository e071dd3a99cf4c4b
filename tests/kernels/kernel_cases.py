"""Graphs and pairs that the kernel tests share."""

import networkx as nx
import torch

from llwlc.graph import Graph


def graph_of(g: nx.Graph, weighted: bool = False) -> Graph:
    edges = torch.tensor(sorted(g.edges), dtype=torch.long).reshape(-1, 2)
    weight = 0.5 + torch.rand(len(edges), generator=torch.Generator().manual_seed(3)).double() if weighted else None
    return Graph.from_edges(edges, num_nodes=g.number_of_nodes(), weight=weight)


def some_pairs(graph: Graph, count: int, seed: int = 0) -> torch.Tensor:
    """Edges and other pairs, in both directions, the same pair sometimes twice."""
    draw = torch.Generator().manual_seed(seed)
    free = torch.randint(graph.num_nodes, (2 * count, 2), generator=draw)
    free = free[free[:, 0] != free[:, 1]][:count]
    if not graph.num_edges:
        return free
    bound = graph.edges[torch.randint(graph.num_edges, (count,), generator=draw)]
    return torch.cat([free, bound, bound[: count // 2].flip(1)])
