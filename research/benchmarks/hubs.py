"""What a pair beside a hub costs, as the hub grows: processor time of subgraphs, bases, statistics of pairs and scores,
by pair: the table of hubs in research/notes/2026-11-19-time-budgets.md.

    python research/benchmarks/hubs.py
    python research/benchmarks/hubs.py --degrees 1000 100000 --caps 100
    python research/benchmarks/hubs.py --device cuda --pairs 4096     # wall time, as a GPU has no other; --looks inf:
    no row is ordered

One graph of 2²⁰ nodes with two links a node at random, and one node more that is linked to some of them: all that
changes from row to row is the hub. Pairs of two kinds: the hub with a node (`end`), every other one of them linked, and
two of its neighbours (`between`), whose second hop would be all the others. The network is untrained: the time does not
depend on the weights. The median of some turns, in which everything is timed once; processor time, as other work on the
machine changes it least.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch

from llwlc.bases._encoded_links import encode_pairs
from llwlc.graph._graph import Graph
from llwlc.heuristics._pair_statistics import compute_pair_statistics
from llwlc.models._llwlc.scoring import Scorer
from llwlc.subgraphs import _hub_order as hub_order
from llwlc.subgraphs._extraction import extract

# a script finds modules beside itself only
sys.path.insert(0, str(Path(__file__).parents[2]))
from research.bench.scores import default_network

NODES = 1 << 20
PAIR_POSITIONS = ("end", "between")
STAGES = ("subgraph", "basis", "statistics", "score")


def hub_graph(degree: int, seed: int = 0) -> tuple[Graph, torch.Tensor]:
    """A sparse random graph with a hub, node `NODES`; and all other nodes, those that it is linked to first: anywhere,
    so that memory is as far away beside a small hub as beside a large one.
    """
    draw = torch.Generator().manual_seed(seed)
    sparse = torch.randint(NODES, (2 * NODES, 2), generator=draw)
    others = torch.randperm(NODES, generator=draw)
    hub = torch.stack([torch.full((degree,), NODES), others[:degree]], 1)
    return Graph.from_edges(torch.cat([sparse[sparse[:, 0] != sparse[:, 1]], hub]), num_nodes=NODES + 1), others


def pairs_at(kind: str, degree: int, count: int, others: torch.Tensor) -> torch.Tensor:
    draw = torch.Generator().manual_seed(1)
    leaf = torch.randint(degree, (2 * count, 2), generator=draw)
    leaf = others[leaf[leaf[:, 0] != leaf[:, 1]][:count]]
    if kind == "between":
        return leaf
    leaf[::2, 0] = others[-len(leaf[::2]) :]
    return torch.stack([leaf[:, 0], torch.full((len(leaf),), NODES)], 1)


def work(graph: Graph, pairs: torch.Tensor, cap: int, device: str) -> dict[str, Callable[[], object]]:
    net, features, chosen = default_network(graph, graph.num_edges)
    scorer = Scorer(net.to(device), features)
    basis = replace(chosen.basis, max_nodes_per_hop=cap)
    there, pairs_there = graph.to(device), pairs.to(device)
    return {
        "subgraph": lambda: extract(there, pairs_there, basis.hops, max_nodes_per_hop=cap),
        "basis": lambda: encode_pairs(there, pairs, basis, about=""),
        "statistics": lambda: compute_pair_statistics(graph, pairs.numpy()),
        "score": lambda: list(scorer.pairs(there, pairs, basis)),
    }


def clock(device: str) -> float:
    """Processor time, or, once a GPU is done, the time on the wall."""
    if device == "cpu":
        return time.process_time()
    torch.cuda.synchronize()
    return time.perf_counter()


def measure(degree: int, kind: str, cap: int, count: int, turns: int, device: str) -> dict[str, float]:
    """Microseconds a pair by stage, and `first`: seconds of the first calls on a graph, with all that is made once for
    a graph (and, in a new process, compiled).
    """
    graph, others = hub_graph(degree)
    pairs = pairs_at(kind, degree, count, others)
    stages = work(graph, pairs, cap, device)
    begin = clock(device)
    for stage in stages.values():
        stage()
    first = clock(device) - begin
    times: dict[str, list[float]] = {name: [] for name in stages}
    for _ in range(turns):
        for name, stage in stages.items():
            begin = clock(device)
            stage()
            times[name].append(clock(device) - begin)
    return {name: 1e6 * statistics.median(found) / len(pairs) for name, found in times.items()} | {"first": first}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--degrees", type=int, nargs="+", default=[1_000, 10_000, 100_000, 1_000_000])
    parser.add_argument("--caps", type=int, nargs="+", default=[100, 10_000])
    parser.add_argument("--pairs", type=int, default=256)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--device", default="cpu")
    parser.add_argument(
        "--looks", type=float, default=hub_order.LOOKUPS_PER_SORT, help="from how many looks on rows are ordered"
    )
    options = parser.parse_args()
    hub_order.LOOKUPS_PER_SORT = options.looks
    warnings.simplefilter("ignore")
    print(
        f"load {os.getloadavg()[0]:.1f}, {torch.get_num_threads()} threads, {options.pairs} pairs,"
        f" {'processor time' if options.device == 'cpu' else 'time'} in µs a pair"
    )
    print("| nodes a hop | the hub is | its links |", *(f" {stage} |" for stage in STAGES), " first calls, s |", sep="")
    print("| --- " * (4 + len(STAGES)) + "|")
    for cap in options.caps:
        count = options.pairs if cap < 1000 else max(options.pairs // 8, 16)
        measure(1000, "end", cap, count, 1, options.device)  # compiles
        for kind in PAIR_POSITIONS:
            for degree in options.degrees:
                found = measure(degree, kind, cap, count, options.turns, options.device)
                cells = " | ".join(f"{found[stage]:,.1f}" for stage in STAGES)
                print(f"| {cap:,} | {kind} | {degree:,} | {cells} | {found['first']:.2f} |", flush=True)


if __name__ == "__main__":
    main()
