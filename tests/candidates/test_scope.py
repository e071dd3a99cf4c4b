"""Sets of nodes and excluded pairs: the lists are the best of the pairs that are left, not what is left of the best."""

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from brute_candidates import brute_scores, check_lists, configs, features, graphs, of, seeds, some_kinds
from llwlc._candidates import inner_product_index
from llwlc._candidates.config import CandidateConfig
from llwlc._candidates.node_types import NodeTypes
from llwlc._candidates.retrieval import find_candidates
from llwlc._candidates.retriever import make_retriever
from llwlc._candidates.scope import CandidateScope


def draw_scope(n: int, seed: int) -> tuple[CandidateScope | None, np.ndarray]:
    """A scope of random sets and pairs, any of which may be left out, and which pairs it allows, `[n, n]`."""
    rng = np.random.default_rng(seed)
    sets = [None if rng.random() < 0.4 else np.flatnonzero(rng.random(n) < 0.5) for _ in range(3)]
    pairs = None if rng.random() < 0.3 else rng.integers(n, size=(rng.integers(2 * n), 2))
    scope = CandidateScope.of(
        n,
        among=sets[0],
        source_nodes=sets[1],
        target_nodes=sets[2],
        excluded=None if pairs is None else torch.from_numpy(pairs),
    )
    among, first, second = (set(range(n)) if nodes is None else set(nodes.tolist()) for nodes in sets)
    closed = set() if pairs is None else {frozenset(pair) for pair in pairs.tolist()}
    allowed = np.array(
        [
            [
                {u, v} <= among
                and ((u in first and v in second) or (v in first and u in second))
                and frozenset((u, v)) not in closed
                for v in range(n)
            ]
            for u in range(n)
        ]
    )
    return scope, allowed


@settings(deadline=None, max_examples=40)
@given(graphs, seeds, configs, st.integers(1, 8), st.booleans(), st.booleans())
def test_lists_are_the_best_of_the_pairs_in_scope(graph, seed, config, length, featured, typed):
    n = len(graph)
    node_types = some_kinds(n, seed) if typed else NodeTypes.any(n)
    x = features(n, seed) if featured else None
    scope, allowed = draw_scope(n, seed)
    retriever = make_retriever(of(graph), x, config, node_types=node_types)
    score = np.where(allowed, brute_scores(graph, x, config, node_types), -np.inf)
    check_lists(retriever if scope is None else retriever.within(scope), graph, score, length)


@settings(deadline=None, max_examples=20)
@given(graphs, seeds, st.integers(1, 8))
def test_so_they_are_on_a_large_graph(graph, seed, length):
    n, config = len(graph), CandidateConfig()
    scope, allowed = draw_scope(n, seed)
    retriever = make_retriever(of(graph), None, config)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inner_product_index, "EXACT_NODES", 0)
        score = np.where(allowed, brute_scores(graph, None, config, NodeTypes.any(n)), -np.inf)
        check_lists(retriever if scope is None else retriever.within(scope), graph, score, length)


@settings(deadline=None, max_examples=30)
@given(graphs, seeds, st.booleans())
def test_with_room_for_all_the_candidates_are_those_of_the_whole_graph_that_are_in_scope(graph, seed, featured):
    n = len(graph)
    scope, allowed = draw_scope(n, seed)
    if scope is None:
        return
    x = features(n, seed) if featured else None
    retriever = make_retriever(of(graph), x, CandidateConfig(budget=2 * n, hubness_penalty=0.2))
    whole, found = find_candidates(retriever), find_candidates(retriever.within(scope))
    kept = torch.from_numpy(allowed)[whole.pairs[:, 0], whole.pairs[:, 1]]
    assert torch.equal(found.pairs, whole.pairs[kept])
    torch.testing.assert_close(found.score, whole.score[kept])
    assert len(found.length) == n
    oriented = scope.orient(found.pairs)
    assert torch.equal(oriented.sort(1).values, found.pairs)
    if scope.ends is not None:
        assert (scope.ends[0][oriented[:, 0]] & scope.ends[1][oriented[:, 1]]).all()


def test_excluded_partners_make_room_for_the_next_ones():
    """A budget of 3 a node: with the three best of a node excluded, its list holds the next three."""
    graph = of(nx.gnp_random_graph(60, 0.1, seed=2))
    retriever = make_retriever(graph, features(60, 2), CandidateConfig(budget=3))
    best = retriever(np.array([7]), 6).partner[0]
    excluded = torch.tensor([[7, v] for v in best[:3]])
    scope = CandidateScope.of(60, excluded=excluded)
    assert retriever.within(scope)(np.array([7]), 3).partner[0].tolist() == best[3:].tolist()


def test_only_nodes_in_scope_propose_so_their_lists_need_not_be_cut(monkeypatch):
    monkeypatch.setattr("llwlc._candidates.config.MAX_CANDIDATES", 300)
    graph = of(nx.gnp_random_graph(100, 0.1, seed=3))
    retriever = make_retriever(graph, None, CandidateConfig(budget=20))
    assert retriever.budget == 3
    scope = CandidateScope.of(100, among=np.arange(15))
    assert retriever.within(scope).budget == 20
    assert find_candidates(retriever.within(scope)).pairs.max() < 15


def test_sets_without_a_pair_have_no_candidate():
    graph = of(nx.karate_club_graph())
    scope = CandidateScope.of(34, among=np.array([3]), source_nodes=np.array([4]))
    assert len(find_candidates(make_retriever(graph, None, CandidateConfig()).within(scope))) == 0


def test_a_large_graph_with_features_has_nearly_the_best_lists_of_its_scope(monkeypatch):
    """By the index, with the ten best partners of every node excluded and both ends in sets."""
    pytest.importorskip("faiss")
    monkeypatch.setattr(inner_product_index, "EXACT_NODES", 0)
    monkeypatch.setattr(inner_product_index, "PROBED", 10_000)
    graph, n, length = nx.barabasi_albert_graph(400, 3, seed=1), 400, 10
    config, x = CandidateConfig(degree=0.1), features(n, 0, 8)
    score = brute_scores(graph, x, config, NodeTypes.any(n))
    best = np.argsort(-score, axis=1)[:, :length]
    excluded = torch.from_numpy(np.stack([np.repeat(np.arange(n), length), best.ravel()], 1))
    some = np.random.default_rng(3).permutation(n)
    scope = CandidateScope.of(n, source_nodes=some[:150], target_nodes=some[100:], excluded=excluded)
    first, second = scope.ends
    allowed = np.outer(first, second) | np.outer(second, first)
    allowed[excluded[:, 0], excluded[:, 1]] = allowed[excluded[:, 1], excluded[:, 0]] = False
    score = np.where(allowed, score, -np.inf)
    found = make_retriever(of(graph), x, config).within(scope)(np.arange(n), length)
    agree = total = 0
    for u in range(n):
        partner = found.partner[u][found.partner[u] >= 0]
        assert allowed[u, partner].all()
        wanted = [v for v in np.argsort(-score[u])[:length] if score[u, v] > -np.inf]
        assert len(partner) == len(wanted)  # none is shorter for what may not be proposed
        agree, total = agree + len(set(wanted) & set(partner.tolist())), total + len(wanted)
    assert agree > 0.8 * total
