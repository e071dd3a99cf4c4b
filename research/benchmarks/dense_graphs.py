"""Graphs of few nodes and many links, by name: `blocks-1000-25` is a block model of 1,000 nodes of mean degree 25.

python research/benchmarks/dense_graphs.py blocks-1000-25 --out edges.csv
"""

from __future__ import annotations

import argparse
from pathlib import Path

import networkx as nx
import numpy as np
import torch

from llwlc import datasets
from llwlc.graph._graph import Graph


def load(name: str, seed: int = 0) -> Graph:
    """A generated graph (kind-nodes-degree), or a dataset."""
    kind, *rest = name.split("-")
    if kind not in MAKERS:
        return datasets.load(name)
    nodes, degree = int(rest[0]), float(rest[1]) if len(rest) > 1 else 0.0
    pairs = MAKERS[kind](nodes, degree, seed)
    return Graph.from_edges(torch.from_numpy(np.asarray(pairs, dtype=np.int64).reshape(-1, 2)), num_nodes=nodes)


def blocks(n: int, degree: float, seed: int) -> list:
    """Ten blocks; four links of five stay inside."""
    inside, across = 0.8 * degree / (n / 10), 0.2 * degree / (n - n / 10)
    chance = [[inside if i == j else across for j in range(10)] for i in range(10)]
    return list(nx.stochastic_block_model([n // 10] * 10, chance, seed=seed).edges)


def geometric(n: int, degree: float, seed: int) -> list:
    """Points of a square, linked where they are near."""
    return list(nx.random_geometric_graph(n, (degree / n / np.pi) ** 0.5, seed=seed).edges)


def clustered(n: int, degree: float, seed: int) -> list:
    """A power law of degrees with triangles (Holme and Kim)."""
    return list(nx.powerlaw_cluster_graph(n, int(degree / 2), 0.5, seed=seed).edges)


def random(n: int, degree: float, seed: int) -> list:
    """Nothing can be learned of it."""
    return list(nx.gnm_random_graph(n, int(n * degree / 2), seed=seed).edges)


def powerlaw(n: int, degree: float, seed: int) -> np.ndarray:
    """Communities of some hundred nodes with a heavy tail of degrees, quick to make for any n."""
    rng = np.random.default_rng(seed)
    m = int(n * degree / 2 * 1.1)
    share = rng.pareto(1.5, n) + 0.3
    order = rng.permutation(n)
    group = np.empty(n, dtype=np.int64)
    group[order] = np.arange(n) // 200
    chance = np.cumsum(share / share.sum())
    a = np.minimum(np.searchsorted(chance, rng.random(m)), n - 1)
    near = order[np.minimum(group[a] * 200 + rng.integers(0, 200, m), n - 1)]
    far = np.minimum(np.searchsorted(chance, rng.random(m)), n - 1)
    b = np.where(rng.random(m) < 0.7, near, far)
    keep = a != b
    pairs = np.unique(np.sort(np.stack([a[keep], b[keep]], 1), 1), axis=0)
    return pairs[np.sort(rng.permutation(len(pairs))[: int(n * degree / 2)])]


def smallworld(n: int, degree: float, seed: int) -> list:
    """A ring of neighbours, a fifth of whose links lead elsewhere (Watts and Strogatz)."""
    return list(nx.watts_strogatz_graph(n, int(degree), 0.2, seed=seed).edges)


def caves(n: int, degree: float, seed: int) -> list:
    """Cliques, a third of whose links lead elsewhere."""
    return list(nx.relaxed_caveman_graph(n // max(int(degree), 2), max(int(degree), 2), 0.33, seed=seed).edges)


def affiliation(n: int, degree: float, seed: int) -> np.ndarray:
    """Two kinds of nodes, one linked with the other alone, mostly in one of ten groups."""
    rng, half = np.random.default_rng(seed), n // 2
    m = int(n * degree / 2 * 1.3)
    a, far = rng.integers(0, half, m), rng.integers(0, half, m)
    near = (a // max(half // 10, 1)) * max(half // 10, 1) + rng.integers(0, max(half // 10, 1), m)
    b = np.where(rng.random(m) < 0.7, np.minimum(near, half - 1), far) + half
    pairs = np.unique(np.stack([a, b], 1), axis=0)
    return pairs[np.sort(rng.permutation(len(pairs))[: int(n * degree / 2)])]


def star(n: int, degree: float, seed: int) -> np.ndarray:
    return np.stack([np.zeros(n - 1, dtype=np.int64), np.arange(1, n)], 1)


def barbell(n: int, degree: float, seed: int) -> list:
    return list(nx.barbell_graph(n // 2, n - 2 * (n // 2)).edges)


MAKERS = {
    "blocks": blocks,
    "geometric": geometric,
    "clustered": clustered,
    "random": random,
    "powerlaw": powerlaw,
    "smallworld": smallworld,
    "caves": caves,
    "affiliation": affiliation,
    "star": star,
    "barbell": barbell,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", help=f"kind-nodes-degree, of kind {', '.join(MAKERS)}, or a dataset")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True, help="an edge list, source and target")
    options = parser.parse_args()
    rows = "\n".join(f"n{a},n{b}" for a, b in load(options.name, options.seed).edges.tolist())
    options.out.write_text(f"source,target\n{rows}\n")


if __name__ == "__main__":
    main()
