"""Subgraphs built by hand from small networkx graphs, and the families that the numerical tests run on."""

from __future__ import annotations

from collections.abc import Sequence

import networkx as nx
import torch

from llwlc.subgraphs._batch import Subgraphs


def batch_of(
    graphs: Sequence[nx.Graph],
    pairs: Sequence[tuple[int, int]] | None = None,
    *,
    hops: int = 2,
    weight: str | None = None,
    nodes: Sequence[Sequence[int]] | None = None,
) -> Subgraphs:
    """The whole graphs as a batch, node i of a graph at position i of its `sorted(graph)`, the link of each pair
    removed.

    `pairs` are nodes of their graphs (default: the first and the last); `weight` names an edge attribute; `nodes` are
    the global ids (default: the positions in the batch).
    """
    ptr, row, col, values, ids, ends, hop, dist = [0], [], [], [], [], [], [], []
    for b, graph in enumerate(graphs):
        order = sorted(graph)
        u, v = pairs[b] if pairs is not None else (order[0], order[-1])
        g = graph.copy()
        g.remove_edges_from([(u, v)])
        at = {x: ptr[-1] + i for i, x in enumerate(order)}
        for x in order:
            for y in sorted(g[x]):
                row.append(at[x])
                col.append(at[y])
                values.append(float(g[x][y].get(weight, 1.0)) if weight else 1.0)
        cap = 2 * hops + 1
        from_u, from_v = nx.single_source_shortest_path_length(g, u), nx.single_source_shortest_path_length(g, v)
        only_u = nx.single_source_shortest_path_length(g.subgraph([x for x in order if x != v or u == v]), u)
        only_v = nx.single_source_shortest_path_length(g.subgraph([x for x in order if x != u or u == v]), v)
        hop += [min(from_u.get(x, cap), from_v.get(x, cap)) for x in order]
        dist += [(min(only_u.get(x, cap), cap), min(only_v.get(x, cap), cap)) for x in order]
        ids += list(nodes[b]) if nodes is not None else [at[x] for x in order]
        ends.append((at[u], at[v]))
        ptr.append(ptr[-1] + len(order))
    long = torch.long
    return Subgraphs(
        ptr=torch.tensor(ptr),
        node=torch.tensor(ids, dtype=long),
        row=torch.tensor(row, dtype=long),
        col=torch.tensor(col, dtype=long),
        weight=torch.tensor(values, dtype=torch.float64) if weight else None,
        u=torch.tensor([e[0] for e in ends], dtype=long),
        v=torch.tensor([e[1] for e in ends], dtype=long),
        hop=torch.tensor(hop, dtype=long),
        dist_u=torch.tensor([d[0] for d in dist], dtype=long),
        dist_v=torch.tensor([d[1] for d in dist], dtype=long),
        hops=hops,
    )


def hub_and_leaves(leaves: int) -> Subgraphs:
    """A star with one more edge between two leaves, without networkx: the hub is node 0, the query pair the hub and a
    leaf.
    """
    leaf = torch.arange(1, leaves + 1)
    ends = torch.stack([torch.zeros_like(leaf), leaf])[:, 1:]
    ends = torch.cat([ends, torch.tensor([[2], [3]])], 1)
    row, col = torch.cat([ends, ends.flip(0)], 1)
    n = leaves + 1
    order = torch.argsort(row * n + col)
    zero = torch.tensor([0])
    hop = torch.ones(n, dtype=torch.long)
    hop[:2] = 0
    return Subgraphs(torch.tensor([0, n]), torch.arange(n), row[order], col[order], None, zero, zero + 1, hop, hop, hop)


def families() -> dict[str, nx.Graph]:
    """Small graphs with the spectra that break naive Lanczos codes."""
    return {
        "random": nx.gnp_random_graph(40, 0.15, seed=1),
        "star": nx.star_graph(8),
        "path": nx.path_graph(12),
        "complete": nx.complete_graph(7),
        "barbell": nx.barbell_graph(6, 2),
        "disconnected": nx.disjoint_union(nx.cycle_graph(5), nx.path_graph(4)),
        "strongly regular": nx.convert_node_labels_to_integers(nx.line_graph(nx.complete_bipartite_graph(4, 4))),
        "edgeless": nx.empty_graph(5),
        "single": nx.empty_graph(1),
        "isolated query": nx.disjoint_union(nx.empty_graph(1), nx.cycle_graph(6)),
    }
