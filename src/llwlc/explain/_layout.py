"""Where the nodes of a subgraph are drawn: the pair left and right, the others by springs between them. The same
positions for the same subgraph.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

ENDS = ((-0.6, 0.0), (0.6, 0.0))
SEED, ROUNDS = 0, 60


def layout_nodes(count: int, edges: list[tuple[int, int]]) -> NDArray[np.float64]:
    """`[count, 2]` in −1 to 1, nodes 0 and 1 being the pair.

    >>> layout_nodes(3, [(0, 2), (1, 2)])[:2].tolist()
    [[-0.6, 0.0], [0.6, 0.0]]
    """
    import networkx as nx  # not above: a fit needs no layout, and this import takes half a second

    graph = nx.Graph()
    graph.add_nodes_from(range(count))
    graph.add_edges_from(edges)
    rng = np.random.default_rng(SEED)
    start = {i: np.array(ENDS[i]) if i < 2 else rng.uniform(-0.5, 0.5, 2) for i in range(count)}
    if count <= 2:
        return np.array([start[i] for i in range(count)])
    placed = nx.spring_layout(
        graph, pos=start, fixed=[0, 1], k=1.6 / np.sqrt(count), iterations=ROUNDS, seed=SEED, method="force"
    )
    positions = np.array([placed[i] for i in range(count)])
    # both directions filled, whatever shape the springs found; the pair stays where it is
    positions[2:] /= np.maximum(np.abs(positions[2:]).max(0), 1e-9) / np.array([0.98, 0.95])
    return positions.round(3)
