"""Lists by rows and pairs by counting, against plain Python on random and ragged lists."""

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from llwlc.candidates.best_first import Proposals, best_first, distinct
from llwlc.candidates.pairing import distinct_pairs
from llwlc.graph.graph import Graph

seeds = st.integers(0, 999)


def some_lists(n: int, sources: np.ndarray, longest: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Partners at random, none of them twice, −1 behind the last one, and scores of few values."""
    partner = np.full((len(sources), longest), -1, dtype=np.int32)
    for row, u in enumerate(sources.tolist()):
        others = rng.permutation([v for v in range(n) if v != u])[: rng.integers(0, longest + 1)]
        partner[row, : len(others)] = others
    return partner, rng.integers(-3, 3, partner.shape).astype(np.float32)


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 25), st.integers(1, 8), seeds, st.booleans())
def test_pairs_are_those_of_all_lists_each_once_with_the_better_score_of_its_ends(n, longest, seed, every):
    rng = np.random.default_rng(seed)
    nodes = np.arange(n) if every else np.sort(rng.permutation(n)[: rng.integers(0, n + 1)])
    partner, score = some_lists(n, nodes, longest, rng)
    length = rng.integers(0, (partner >= 0).sum(1) + 1)
    wanted: dict[tuple[int, int], float] = {}
    for row, u in enumerate(nodes.tolist()):
        for k in range(length[row]):
            v = int(partner[row, k])
            pair = (min(u, v), max(u, v))
            wanted[pair] = max(float(score[row, k]), wanted.get(pair, -np.inf))
    pairs, best = distinct_pairs(n, nodes, partner, score, length)
    assert [tuple(pair) for pair in pairs.tolist()] == sorted(wanted)
    assert best.tolist() == [wanted[pair] for pair in sorted(wanted)]


def test_no_lists_have_no_pairs():
    none = np.zeros((0, 3), dtype=np.int32), np.zeros((0, 3), dtype=np.float32)
    pairs, best = distinct_pairs(5, np.zeros(0, dtype=np.int64), *none, np.zeros(0, dtype=np.int64))
    assert pairs.shape == (0, 2)
    assert best.shape == (0,)


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
    found = distinct(partner, walk, sources, Graph.from_edges(edges, num_nodes=n))
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
    found = best_first(Proposals(start, partner, np.zeros(len(partner))), score, length)
    for i in range(len(sizes)):
        own = slice(start[i], start[i + 1])
        live = [(-s, v) for s, v in zip(score[own].tolist(), partner[own].tolist(), strict=True) if s > -np.inf]
        wanted = sorted(live)[:length]
        assert found.partner[i].tolist() == [v for _, v in wanted] + [-1] * (length - len(wanted))
        assert found.score[i].tolist() == [-s for s, _ in wanted] + [-np.inf] * (length - len(wanted))


@pytest.mark.parametrize("n", [3, 70])
def test_as_many_rows_as_threads_share_or_fewer_make_no_difference(n):
    rng = np.random.default_rng(n)
    partner, score = some_lists(n, np.arange(n), min(n - 1, 6), rng)
    whole, _ = distinct_pairs(n, np.arange(n), partner, score, (partner >= 0).sum(1))
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(1 if threads > 1 else 2)
        again, _ = distinct_pairs(n, np.arange(n), partner, score, (partner >= 0).sum(1))
    finally:
        torch.set_num_threads(threads)
    assert np.array_equal(whole, again)
