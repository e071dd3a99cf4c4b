"""Lists of items for users, and the best pairs of all, beside implicit ALS and the cosine of items.

    python research/benchmarks/users_items.py generated                   # 300 users of 8 tastes, 200 items
    python research/benchmarks/users_items.py pollination-carlinville     # a network of the corpus
    python research/benchmarks/users_items.py ml-100k/u.data              # your own download of MovieLens 100k

A tenth of the links is hidden, `--seeds` times. Of every pair across the sides that is not known: the share of hidden
links among the best 50 and 200; for each user with hidden links, precision and NDCG of the first ten; in percent.
`--fit MINUTES` also fits the default predictor and ranks by its list. One line for each seed and method on stdout.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

# a script finds modules beside itself only
sys.path.insert(0, str(Path(__file__).parents[2]))

from llwlc import LinkPredictor
from llwlc.graph import Graph, GraphWarning
from llwlc.graph._sides import find_sides
from llwlc.heuristics import implicit_als, item_cosine, users_items
from research.corpus.networks import load_network

METHODS = {"implicit ALS": implicit_als, "item–item cosine": item_cosine, "users and items": users_items}
HIDDEN = 0.1


def generated(seed: int, users: int = 300, items: int = 200, tastes: int = 8, links: int = 4000) -> Graph:
    """Users and items with tastes drawn from a Dirichlet distribution, and activity and popularity with heavy tails."""
    rng = np.random.default_rng(seed)
    taste, kind = rng.dirichlet(np.full(tastes, 0.2), users), rng.dirichlet(np.full(tastes, 0.2), items)
    activity, popularity = (np.minimum(rng.pareto(1.5, size) + 0.3, 10) for size in (users, items))
    rate = (taste @ kind.T) * activity[:, None] * popularity[None]
    low, high = 0.0, 1e4
    for _ in range(60):  # the factor with which about `links` links are expected
        factor = (low + high) / 2
        low, high = (low, factor) if (1 - np.exp(-factor * rate)).sum() > links else (factor, high)
    user, item = np.nonzero(rng.random(rate.shape) < 1 - np.exp(-factor * rate))
    return Graph.from_edges(np.stack([user, item + users], 1), num_nodes=users + items)


def read(name: str, seed: int) -> Graph:
    if name == "generated":
        return generated(seed)
    return Graph.read(name, bipartite=True) if Path(name).is_file() else load_network(name)


def measure(score: Any, known: Any, hidden: Any) -> list[float]:
    """Best 50, best 200, precision and NDCG at ten, of scores `[users, items]`."""
    score = np.where(known, -np.inf, score)
    best = np.argsort(-score, axis=None, kind="stable")[:200]
    hit = hidden.ravel()[best]
    users = np.flatnonzero(hidden.any(1))
    top = np.argsort(-score[users], 1, kind="stable")[:, :10]
    hits, weight = np.take_along_axis(hidden[users], top, 1), 1 / np.log2(np.arange(2, 12))
    ideal = np.array([weight[: min(10, count)].sum() for count in hidden[users].sum(1)])
    shares = (hit[:50].mean(), hit.mean(), hits.mean(), ((hits * weight).sum(1) / ideal).mean())
    return [round(100 * float(share), 1) for share in shares]


def run(name: str, seed: int, minutes: float | None) -> None:
    graph = read(name, seed)
    sides = find_sides(graph)
    assert sides is not None
    users, items = (np.flatnonzero(sides.code == side) for side in (0, 1))
    place = np.zeros(graph.num_nodes, dtype=np.int64)
    place[users], place[items] = np.arange(len(users)), np.arange(len(items))
    gone = np.random.default_rng([seed, 100]).random(graph.num_edges) < HIDDEN
    left = graph.with_edges(graph.edges[torch.from_numpy(~gone)])
    known, hidden = np.zeros((len(users), len(items)), bool), np.zeros((len(users), len(items)), bool)
    for table, edges in ((known, left.edges), (hidden, graph.edges[torch.from_numpy(gone)])):
        ends = edges.numpy()
        ends = np.where((sides.code[ends[:, :1]] == 0), ends, ends[:, ::-1])
        table[place[ends[:, 0]], place[ends[:, 1]]] = True
    pairs = torch.from_numpy(np.stack(np.meshgrid(users, items, indexing="ij"), -1).reshape(-1, 2))
    methods: dict[str, Callable[[], Any]] = {
        title: lambda method=method: method(left, pairs).numpy().reshape(known.shape)  # type: ignore[misc]
        for title, method in METHODS.items()
    }
    if minutes is not None:
        methods["default"] = lambda: listed(left, minutes, seed, pairs, known.shape)
    for title, score in methods.items():
        values = "  ".join(f"{value:5.1f}" for value in measure(score(), known, hidden))
        print(f"{name}  seed {seed}  {title:18}  best 50, 200, P@10, NDCG@10: {values}", flush=True)


def listed(graph: Graph, minutes: float, seed: int, pairs: Tensor, shape: tuple[int, int]) -> Any:
    """Minus the place in the list of the default predictor; pairs that are not in it come last."""
    links = LinkPredictor(minutes=minutes, seed=seed, cache=None).fit(graph).recommend(top=pairs.shape[0])
    places = {frozenset((link.source, link.target)): place for place, link in enumerate(links)}
    found = [places.get(frozenset((graph.name(u), graph.name(i))), len(links)) for u, i in pairs.tolist()]
    return -np.array(found).reshape(shape)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("graph")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--fit", type=float, metavar="MINUTES", help="also fit the default predictor")
    given = parser.parse_args()
    warnings.simplefilter("ignore", GraphWarning)
    for seed in range(given.seeds):
        run(given.graph, seed, given.fit)


if __name__ == "__main__":
    main()
