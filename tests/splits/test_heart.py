"""Hard negatives are the best-ranked candidates, found again by brute force, and PageRank is PyG's."""

import networkx as nx
import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from scipy.stats import rankdata

from llwlc import datasets, splits
from llwlc.errors import InputError
from llwlc.graph._graph import Graph
from llwlc.splits import _heart as heart


def graph_of(n=120, m=300, seed=0, features=True):
    x = torch.from_numpy(np.random.default_rng(seed).random((n, 5))) if features else None
    return Graph.from_edges(torch.tensor(list(nx.gnm_random_graph(n, m, seed=seed).edges)), num_nodes=n, x=x)


def rank_totals(graph, node, out):
    """HeaRT's best of the ranks by networkx and dense numpy; excluded nodes at infinity."""
    plain = nx.Graph(graph.edges.tolist())
    plain.add_nodes_from(range(graph.num_nodes))
    allocation = np.array(
        [sum(1 / plain.degree(w) for w in set(plain[node]) & set(plain[v])) for v in range(graph.num_nodes)]
    )
    page = heart.page_rank(graph.indptr.numpy(), graph.indices.numpy(), np.array([node]), 0.15, 5e-5)[0]
    scores = [allocation, page]
    if graph.x is not None:
        unit = graph.x / graph.x.norm(dim=1, keepdim=True)
        scores.append((unit @ unit[node]).numpy())
    total = np.full(graph.num_nodes, np.inf)
    for score in scores:
        score = score.round(12)
        score[list(out)] = -1
        high = score > 0
        ascending = rankdata(score[high], method="min") if high.any() else np.array([0])
        rank = np.full(len(score), ascending.max() + 1.0)
        if high.any():
            rank[high] = ascending.max() - ascending + 1
        total = np.minimum(total, rank)
    total[list(out)] = np.inf
    return total


@pytest.mark.parametrize("features", [True, False])
def test_hard_negatives_have_the_best_ranks(features):
    graph = graph_of(features=features)
    split = splits.make(graph, protocol="heart", num_hard=20, seed=1)
    known = nx.Graph(split.train_pos.tolist())
    known.add_nodes_from(range(graph.num_nodes))
    later = known.copy()
    later.add_edges_from(split.valid_pos.tolist())
    for positive, negative, seen in (
        (split.valid_pos, split.valid_neg, known),
        (split.test_pos, split.test_neg, later),
    ):
        assert negative.shape == (len(positive), 20, 2)
        for (s, t), pairs in zip(positive.tolist(), negative.tolist(), strict=True):
            for end, other, partners in ((s, t, pairs[:10]), (t, s, pairs[10:])):
                kept = 0 if end == s else 1
                assert {pair[kept] for pair in partners} == {end}
                total = rank_totals(split.train_graph, end, {end, other, *seen[end]})
                chosen = np.sort(total[[pair[1 - kept] for pair in partners]])
                np.testing.assert_array_equal(chosen, np.sort(total)[:10])


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_page_rank_is_pygs():
    from torch_geometric.utils.ppr import _get_ppr

    graph = graph_of(150, 300)
    indptr, indices, nodes = graph.indptr.numpy(), graph.indices.numpy(), np.arange(0, 150, 7)
    ours = heart.page_rank(indptr, indices, nodes, 0.15, 5e-5)
    # the inner function, as get_ppr sorts the neighbours first, and the push depends on their order
    columns, weights = _get_ppr(indptr, indices, 0.15, 5e-5, nodes)
    theirs = np.zeros_like(ours)
    for i, (column, weight) in enumerate(zip(columns, weights, strict=True)):
        theirs[i, column] = weight
    np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_page_rank_is_near_networkx():
    plain = nx.connected_watts_strogatz_graph(60, 4, 0.2, seed=0)
    graph = Graph.from_edges(torch.tensor(list(plain.edges)))
    ours = heart.page_rank(graph.indptr.numpy(), graph.indices.numpy(), np.array([5]), 0.15, 1e-9)[0]
    theirs = nx.pagerank(plain, alpha=0.85, personalization={5: 1}, tol=1e-10, max_iter=1000)
    np.testing.assert_allclose(ours, [theirs[v] for v in range(60)], atol=1e-6)


def test_zero_scores_are_filled_up_without_repeats():
    # two components: from one, most nodes of the other have no score at all
    path = torch.stack([torch.arange(99), torch.arange(1, 100)], 1)
    split = splits.make(Graph.from_edges(path), protocol="heart", num_hard=100)
    report = splits.audit(split)
    assert report.ok, report
    assert len({tuple(p) for p in split.test_neg[0].tolist()}) == 100


def test_sparse_and_dense_features_give_the_same():
    graph = graph_of()
    dense = splits.make(graph, protocol="heart", num_hard=20)
    sparse_graph = Graph(graph.indptr, graph.indices, x=csr_array(graph.x.numpy()))
    sparse = splits.make(sparse_graph, protocol="heart", num_hard=20)
    assert torch.equal(dense.test_neg, sparse.test_neg)


def test_the_split_says_what_its_negatives_are():
    graph = graph_of()
    split = splits.make(graph, protocol="heart", num_hard=50)
    assert any("not the published ones" in note for note in split.notes)
    report = splits.audit(split, graph)
    assert report.ok, report
    # only what the recipe lets happen: a negative of validation may be a link of validation or test, one of test only
    # of test
    assert set(split.repeated) <= {
        *(f"{neg} are links" for neg in ("valid_neg", "test_neg")),
        *("valid_pos & valid_neg", "valid_neg & test_pos", "test_pos & test_neg", "valid_neg & test_neg"),
        *("train_neg & valid_neg", "train_neg & test_neg"),
    }


def test_too_few_candidates_are_refused():
    with pytest.raises(InputError, match="250 candidates for each end"):
        splits.make(graph_of(), protocol="heart")
    with pytest.raises(InputError, match="even number"):
        splits.make(graph_of(), protocol="heart", num_hard=7)


def test_common_neighbours_are_no_help_against_hard_negatives_on_cora():
    from llwlc.heuristics._neighbors import common_neighbors
    from llwlc.metrics import mrr

    split = splits.make(datasets.load("cora"), protocol="heart", seed=0)
    score = [common_neighbors(split.test_graph, pairs) for pairs in (split.test_pos, split.test_neg)]
    easy = splits.make(datasets.load("cora"), protocol="seal", seed=0)
    pool = common_neighbors(easy.test_graph, easy.test_neg)
    assert 0.05 < mrr(*score) < 0.15
    assert mrr(common_neighbors(easy.test_graph, easy.test_pos), pool) > 0.2
