"""A small graph with names and features that a predictor learns from in seconds, as a library user and as a file."""

import networkx as nx
import torch

from llwlc.graph._graph import Graph

QUICK = {"epochs": 2, "copies": 0, "negative_pool": 1}


def people(*, features: bool = True, seed: int = 1) -> Graph:
    """90 people in three circles; what they like tells the circle."""
    circles = nx.stochastic_block_model(
        [30] * 3, [[0.3 if i == j else 0.02 for j in range(3)] for i in range(3)], seed=seed
    )
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(90, 6, generator=generator)
    x[:, :3] += 2 * torch.eye(3).repeat_interleave(30, 0)
    names = [f"Person {i:02d}" for i in range(90)]
    return Graph.from_edges(torch.tensor(list(circles.edges)), num_nodes=90, x=x if features else None, names=names)


def relabelled(graph: Graph, order: torch.Tensor) -> Graph:
    """The same graph with node i called `order[i]`, its features and its name going along."""
    names, back = [""] * graph.num_nodes, torch.argsort(order)
    for old, new in enumerate(order.tolist()):
        names[new] = graph.name(old)
    x = graph.x[back] if isinstance(graph.x, torch.Tensor) else None
    return Graph.from_edges(order[graph.edges], num_nodes=graph.num_nodes, x=x, names=names)
