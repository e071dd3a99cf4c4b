"""Candidate lists by brute force, and graphs to compare them on."""

import networkx as nx
import numpy as np
import torch
from hypothesis import strategies as st

from llwlc._candidates import inner_product_index
from llwlc._candidates.config import CandidateConfig
from llwlc._candidates.node_types import NodeTypes
from llwlc._candidates.retriever import HUBNESS_NEIGHBORS, UNREACHED, CandidateRetriever
from llwlc._candidates.walks import PRECISION, TELEPORT
from llwlc.graph._graph import Graph
from llwlc.heuristics._pagerank import page_rank

NASTY = [
    nx.empty_graph(1),
    nx.empty_graph(4),
    nx.path_graph(2),
    nx.star_graph(12),
    nx.complete_graph(6),
    nx.disjoint_union(nx.cycle_graph(5), nx.path_graph(4)),
    nx.disjoint_union(nx.wheel_graph(12), nx.empty_graph(3)),
    nx.barbell_graph(6, 3),
]
graphs = st.one_of(
    st.builds(
        lambda n, p, seed: nx.gnp_random_graph(n, p, seed=seed),
        st.integers(1, 25),
        st.floats(0, 0.5),
        st.integers(0, 99),
    ),
    st.sampled_from(NASTY),
)
seeds = st.integers(0, 999)
configs = st.builds(
    CandidateConfig,
    budget=st.integers(1, 6),
    degree=st.sampled_from([0.0, 0.1, 0.3]),
    walk=st.sampled_from([0.0, 0.05, 0.5]),
    hubness_penalty=st.sampled_from([0.0, 0.2, 0.7]),
)


def of(graph: nx.Graph) -> Graph:
    return Graph.from_edges(torch.tensor(list(graph.edges), dtype=torch.long).reshape(-1, 2), num_nodes=len(graph))


def features(n: int, seed: int, width: int = 4) -> np.ndarray:
    """Random features; some rows are zero."""
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(n, width)) * (rng.random((n, 1)) < 0.9)).astype(np.float32)


def some_kinds(n: int, seed: int) -> NodeTypes:
    """Three kinds of nodes and random rules, one of which says that two of them may be joined."""
    rng = np.random.default_rng(seed)
    rule = rng.random((3, 3)) < 0.4
    rule[0, 1] = True
    return NodeTypes(rng.integers(3, size=n), rule | rule.T)


def ranks(graph: Graph) -> np.ndarray:
    everyone = np.arange(graph.num_nodes)
    return page_rank(graph.indptr.numpy(), graph.indices.numpy(), everyone, TELEPORT, PRECISION)


def dense_vectors(graph: nx.Graph, x: np.ndarray) -> np.ndarray:
    """Âx and Â²x by dense products in double precision, each row of length one."""
    a = nx.to_numpy_array(graph, nodelist=range(len(graph))) + np.eye(len(graph))
    root = np.diag(a.sum(1) ** -0.5)
    hat, parts, y = root @ a @ root, [], x.astype(np.float64)
    for _ in range(2):
        y = hat @ y
        length = np.linalg.norm(y, axis=1, keepdims=True)
        parts.append(y / np.where(length > 0, length, 1))
    return np.concatenate(parts, 1)


def dense_crowd(like: np.ndarray, node_types: NodeTypes) -> np.ndarray:
    """The mean of the largest similarities of each node with others of a fitting kind; what is missing or below 0
    counts as 0.
    """
    found = np.zeros(len(like))
    for v in range(len(like)):
        others = [
            u for u in range(len(like)) if u != v and node_types.linkable[node_types.codes[u], node_types.codes[v]]
        ]
        found[v] = np.sort(np.maximum(like[v, others], 0))[::-1][:HUBNESS_NEIGHBORS].sum() / HUBNESS_NEIGHBORS
    return found


def brute_scores(
    graph: nx.Graph,
    x: np.ndarray | None,
    config: CandidateConfig,
    node_types: NodeTypes,
    vectors: np.ndarray | None = None,
    hubness_penalty: np.ndarray | None = None,
) -> np.ndarray:
    """The score of every node in the list of every other one `[n, n]`, −inf where it may not be there."""
    n = len(graph)
    walk = np.log1p(ranks(of(graph)) / PRECISION)
    if x is None and n - 1 <= 2 * config.budget and n <= inner_product_index.EXACT_NODES:
        walk = np.maximum(walk, UNREACHED)
    if x is not None:
        vectors = dense_vectors(graph, x) if vectors is None else vectors
    like = np.zeros((n, n)) if vectors is None else vectors @ vectors.T
    if hubness_penalty is None:
        hubness_penalty = np.zeros(n) if vectors is None else dense_crowd(like, node_types)
    degree = np.array([graph.degree[v] for v in range(n)])
    score = like + config.degree * np.log1p(degree) - config.hubness_penalty * hubness_penalty
    score = score + (config.walk if vectors is not None else 1.0) * walk
    for u in range(n):
        for v in range(n):
            known = u == v or graph.has_edge(u, v)
            evidence = like[u, v] > 1e-7 or walk[u, v] > 0
            if known or not evidence or not node_types.linkable[node_types.codes[u], node_types.codes[v]]:
                score[u, v] = -np.inf
    return score


def check_lists(retriever: CandidateRetriever, graph: nx.Graph, score: np.ndarray, length: int) -> None:
    """Equal to the largest of brute-force scores, best first, and full where there are enough of them."""
    sources = np.arange(len(graph))
    found = retriever(sources, length)
    assert found.partner.shape == found.score.shape == (len(graph), length)
    for u in range(len(graph)):
        partner = found.partner[u][found.partner[u] >= 0]
        best = np.sort(score[u][score[u] > -np.inf])[::-1][:length]
        assert len(set(partner.tolist())) == len(partner) == len(best)
        np.testing.assert_allclose(found.score[u, : len(best)], best, atol=1e-4)
        np.testing.assert_allclose(score[u, partner], best, atol=1e-4)
        assert (np.diff(found.score[u, : len(best)]) <= 0).all()
        assert (found.partner[u, len(best) :] == -1).all()
        assert (found.score[u, len(best) :] == -np.inf).all()
