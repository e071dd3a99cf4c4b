"""Lists by rows, against plain Python on random and ragged proposals."""

import networkx as nx
import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from llwlc._candidates.candidate_lists import Proposals, make_proposals, select_best
from llwlc.graph._graph import Graph

seeds = st.integers(0, 999)


@settings(deadline=None, max_examples=60)
@given(st.integers(2, 25), st.floats(0, 0.6), st.integers(1, 6), st.integers(0, 6), seeds)
def test_each_proposal_is_kept_once_with_what_the_first_search_says_of_it(n, chance, walked, similar, seed):
    rng = np.random.default_rng(seed)
    graph = nx.gnp_random_graph(n, chance, seed=seed)
    edges = torch.tensor(list(graph.edges), dtype=torch.long).reshape(-1, 2)
    sources = rng.integers(n, size=9)
    partner = rng.integers(-1, n, (9, walked + similar))
    for row in partner[:, :walked]:  # one search names nobody twice
        row[:] = np.where(np.isin(np.arange(walked), np.unique(row, return_index=True)[1]), row, -1)
    walk = rng.random((9, walked))
    found = make_proposals(partner, walk, sources, Graph.from_edges(edges, num_nodes=n))
    for i, u in enumerate(sources.tolist()):
        own = slice(found.start[i], found.start[i + 1])
        free = {v for v in partner[i].tolist() if v >= 0 and v != u and not graph.has_edge(u, v)}
        assert found.partner[own].tolist() == sorted(free)
        said = {int(v): w for v, w in zip(partner[i, :walked], walk[i], strict=True)}
        assert found.walk[own].tolist() == [said.get(v, 0.0) for v in sorted(free)]
    assert found.row.tolist() == np.repeat(np.arange(9), np.diff(found.start)).tolist()


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(0, 12), max_size=200), st.integers(1, 8), seeds)
def test_lists_are_best_first_and_of_equals_the_smaller_number_first(sizes, length, seed):
    rng = np.random.default_rng(seed)
    start = np.cumsum([0, *sizes])
    partner = np.concatenate([np.zeros(0, np.int64), *(np.sort(rng.permutation(40)[:size]) for size in sizes)])
    score = rng.choice(np.array([-np.inf, -1.5, 0.0, 2.0], np.float32), len(partner))
    found = select_best(Proposals(start, partner, np.zeros(len(partner))), score, length)
    for i in range(len(sizes)):
        own = slice(start[i], start[i + 1])
        live = [(-s, v) for s, v in zip(score[own].tolist(), partner[own].tolist(), strict=True) if s > -np.inf]
        wanted = sorted(live)[:length]
        assert found.partner[i].tolist() == [v for _, v in wanted] + [-1] * (length - len(wanted))
        assert found.score[i].tolist() == [-s for s, _ in wanted] + [-np.inf] * (length - len(wanted))
