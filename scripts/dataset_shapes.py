"""Tables of the note on shapes of datasets that `python -m llwlc.datasets` does not print: shapes of graphs, and
subgraph sizes under `buddy`.

python scripts/dataset_shapes.py
"""

from __future__ import annotations

import time

import numpy as np
import scipy.sparse
import torch
from scipy.sparse.csgraph import connected_components

from llwlc import datasets, splits
from llwlc.datasets._statistics import subgraph_sizes
from llwlc.graph._graph import Graph


def shape(graph: Graph, sample: int = 20_000) -> str:
    """m/n, quantiles and maximum of the degrees, mean local clustering (of a sample, seed 0), share of the largest
    component.
    """
    n, degree = graph.num_nodes, graph.degree.numpy()
    near = scipy.sparse.csr_array(
        (np.ones(len(graph.indices)), graph.indices.numpy(), graph.indptr.numpy()), shape=(n, n)
    )
    some = np.random.default_rng(0).choice(n, min(n, sample), replace=False)
    closed = (near[some] @ near).multiply(near[some]).sum(1)
    clustering = (closed / np.maximum(degree[some] * (degree[some] - 1), 1)).mean()
    largest = np.bincount(connected_components(near, directed=False)[1]).max() / n
    quantiles = " / ".join(f"{q:.0f}" for q in np.percentile(degree, [10, 50, 90, 99, 99.9]))
    few = ", ".join(f"{100 * share:.1f}" for share in np.bincount(degree, minlength=6)[:6] / n)
    return (
        f"| {n:,} | {graph.num_edges:,} | {graph.num_edges / n:.2f} | {quantiles} | {degree.max()} | {clustering:.3f} |"
        f" {100 * largest:.1f} % | degrees 0 to 5: {few} %"
    )


def main() -> None:
    for name in ("coauthor-like", "coauthor-cs", "vessel-like", "vessel-sample"):
        start = time.perf_counter()
        graph = datasets.load(name)
        seconds = time.perf_counter() - start
        print(f"| {name} {shape(graph)} | loaded in {seconds:.1f} s", flush=True)
    for name in ("cora-planetoid", "citeseer", "pubmed"):
        split = splits.make(datasets.load(name), protocol="buddy", seed=0)
        for hops in (1, 2):
            pairs = torch.cat([split.train_pos, split.train_neg])
            sizes = subgraph_sizes(split.train_graph, pairs, hops)
            print(
                f"{name}, buddy, {hops}-hop nodes of {len(pairs):,} pairs: {sizes.mean():.1f} ± {sizes.std():.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
