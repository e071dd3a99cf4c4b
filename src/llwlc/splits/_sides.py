"""Whether the links of a split join two sides, such as users and items."""

from __future__ import annotations

import torch

from llwlc.graph._graph import Graph
from llwlc.graph._sides import find_sides, is_two_sided
from llwlc.splits._linksplit import LinkSplit


def joins_two_sides(split: LinkSplit) -> bool:
    """Whether a split is of a bipartite graph by design: its training links alone may be bipartite by chance, and what
    is fitted to two sides fails on the graph of a later stage. Of held-out links only this is read, a fact of the file.

    >>> import llwlc
    >>> ring = Graph.from_edges(torch.stack([torch.arange(21), torch.arange(1, 22) % 21], 1))
    >>> joins_two_sides(llwlc.splits.make(ring, protocol="random"))
    False
    """
    graph = split.train_graph
    if not is_two_sided(graph):
        return False
    links = torch.cat([graph.edges.cpu(), *(part.cpu() for part in (split.train_pos, split.valid_pos, split.test_pos))])
    return find_sides(Graph.from_edges(links, num_nodes=graph.num_nodes)) is not None
