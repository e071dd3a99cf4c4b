"""Candidates, or a whole `recommend`, on a generated graph of a million nodes: how many a second, and memory at the
peak.

    python research/benchmarks/large.py candidates --nodes 1000000 --features 16
    python research/benchmarks/large.py index --data vessel-like                       # the index of like nodes:
    seconds to make it, and what it finds python research/benchmarks/large.py write folder --nodes 1000000 --features 16
    # links.parquet and nodes.parquet, for llwlc fit

Nodes live in communities of fifty; nine links in ten join two members, of whom some are more popular than others;
features are the community's, blurred.
"""

from __future__ import annotations

import argparse
import resource
import time
from pathlib import Path

import numpy as np

COMMUNITY, INSIDE, LINKS = 50, 0.9, 2.5
"""Nodes of a community, the share of links within one, and links drawn for each node (some are drawn twice)."""


def generated(nodes: int, width: int, seed: int = 0, links: float = LINKS) -> tuple[np.ndarray, np.ndarray | None]:
    """Links `[m, 2]`, each once, and features `[n, width]`, None without any; `links`: how many are drawn for each
    node. Communities are larger where they are many, so that they are not full.
    """
    rng, community = np.random.default_rng(seed), max(COMMUNITY, int(20 * links) // COMMUNITY * COMMUNITY)
    count = int(links * nodes)
    u = rng.integers(0, nodes, count)
    # a partner's place in its community: small ones are drawn more often
    place = (community * rng.random(count) ** 2).astype(np.int64)
    near = np.minimum(u // community * community + place, nodes - 1)
    v = np.where(rng.random(count) < INSIDE, near, rng.integers(0, nodes, count))
    key = np.unique(np.minimum(u, v)[u != v] * nodes + np.maximum(u, v)[u != v])
    pairs = np.stack([key // nodes, key % nodes], 1)
    if not width:
        return pairs, None
    centre = rng.normal(size=(nodes // community + 1, width)).astype(np.float32)
    return pairs, centre[np.arange(nodes) // community] + rng.normal(size=(nodes, width)).astype(np.float32)


def peak() -> float:
    """Memory of this process at its peak, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def measure_candidates(nodes: int, width: int, links_per_node: float = LINKS) -> None:
    """Candidates alone, as `recommend` makes them, and how many links would be candidates if they were missing."""
    import torch

    from llwlc._candidates.config import CandidateConfig
    from llwlc._candidates.retrieval import find_candidates
    from llwlc.graph._graph import Graph
    from llwlc.ranking._ranking import retriever_of
    from llwlc.training._compact_features import fit_compactor
    from llwlc.training._node_features import NodeFeatures

    links, x = generated(nodes, width, links=links_per_node)
    graph = Graph.from_edges(torch.from_numpy(links), num_nodes=nodes)
    features = NodeFeatures()
    if x is not None:
        table = torch.from_numpy(x)
        features = NodeFeatures.of(table, fit_compactor(table, 64))
    print(f"{nodes:,} nodes, {graph.num_edges:,} links, {width} features: {peak():.2f} GB", flush=True)
    begin = time.perf_counter()
    found = find_candidates(retriever_of(graph, features, CandidateConfig()), about="")
    seconds = time.perf_counter() - begin
    print(
        f"{len(found):,} candidates in {seconds:.0f} s, {len(found) / seconds:,.0f} a second, {peak():.2f} GB at the"
        " peak"
    )


def measure_index(name: str, queries: int = 200, most: int = 100) -> None:
    """The index of like nodes of a dataset: seconds to make it, and the share of the nearest that it finds, beside all
    products.
    """
    from llwlc import datasets
    from llwlc._candidates.inner_product_index import InnerProductIndex
    from llwlc._candidates.smoothing import SmoothedFeatures
    from llwlc.training._compact_features import fit_compactor
    from llwlc.training._node_features import NodeFeatures

    graph = datasets.load(name)
    comparable = NodeFeatures.of(graph.x, fit_compactor(graph.x, 64)).comparable
    vectors = SmoothedFeatures.of(graph, comparable).vectors
    raised, everyone = np.zeros(len(vectors), np.float32), np.arange(len(vectors))
    begin = time.perf_counter()
    index = InnerProductIndex(vectors, raised, everyone)
    seconds = time.perf_counter() - begin
    asked = vectors[np.random.default_rng(0).permutation(len(vectors))[:queries]]
    found, worth = index(asked, most), 0.0
    for query, row in zip(asked, found, strict=True):
        product = vectors @ query
        least = np.partition(product, -most)[-most]
        # of equals any will do
        worth += float((product[row[row >= 0]] >= least - 1e-6).sum()) / most
    print(
        f"{name}: {len(vectors):,} nodes indexed in {seconds:.0f} s; {worth / queries:.4f} of the {most} nearest found,"
        f" {queries} nodes asked; {peak():.2f} GB at the peak"
    )


def write(folder: Path, nodes: int, width: int, links_per_node: float = LINKS) -> None:
    """The graph as files that `llwlc fit` reads."""
    import pandas as pd

    links, x = generated(nodes, width, links=links_per_node)
    folder.mkdir(parents=True, exist_ok=True)
    pd.DataFrame(links, columns=["source", "target"]).to_parquet(folder / "links.parquet")
    if x is not None:
        table = pd.DataFrame(x, columns=[f"x{i}" for i in range(width)])
        table.insert(0, "id", np.arange(nodes))
        table.to_parquet(folder / "nodes.parquet")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("candidates", "index", "write"))
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--nodes", type=int, default=1_000_000)
    parser.add_argument("--data", default="vessel-like", help="a dataset with features, for index")
    parser.add_argument("--features", type=int, default=16)
    parser.add_argument("--links", type=float, default=LINKS, help="links drawn for each node")
    arguments = parser.parse_args()
    if arguments.what == "write":
        if arguments.folder is None:
            parser.error("where to write: name a folder")
        write(arguments.folder, arguments.nodes, arguments.features, arguments.links)
    elif arguments.what == "index":
        measure_index(arguments.data)
    else:
        measure_candidates(arguments.nodes, arguments.features, arguments.links)


if __name__ == "__main__":
    main()
