"""The stack: scikit-learn's own probabilities from plain arrays, no link that sees itself, runs bit for bit."""

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
import torch
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score

from llwlc import models, splits
from llwlc._predictor import LinkPredictor
from llwlc.errors import InputError, NotFittedError, RunFolderError
from llwlc.graph._graph import Graph
from llwlc.models import Stack
from llwlc.models._stack.folds import fold_numbers, without_fold
from llwlc.models._stack.model import FOLDS
from llwlc.models._stack.statistics import PairStatistics
from llwlc.models._stack.trees import BOOSTED, RANDOMISED, Trees, weigh_boosted
from llwlc.training import NodeFeatures, Resources
from people import people


def grid(side=16):
    """A street grid with a third of its streets missing."""
    plain = nx.convert_node_labels_to_integers(nx.grid_2d_graph(side, side))
    edges = torch.tensor(list(plain.edges))
    kept = torch.rand(len(edges), generator=torch.Generator().manual_seed(0)) > 0.2
    return Graph.from_edges(edges[kept], num_nodes=side * side)


def fitted(graph, seed=0, **options):
    split = splits.make(graph, protocol="random", seed=seed)
    stack = Stack(**options).fit(split, NodeFeatures(), seed=seed, resources=Resources())
    return split, stack


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    label = rng.random(600) < 0.2
    given = rng.normal(size=(600, 40)).astype(np.float32)
    given[:, :3] += 2 * label[:, None]
    given[:, 3] = given[:, 3].round()  # ties
    return given, label


@pytest.fixture(scope="module")
def trees(rows):
    return Trees.fit(*rows, seed=3)


def test_arrays_give_the_probabilities_of_scikit_learn(rows, trees):
    given, label = rows
    randomised = ExtraTreesClassifier(**RANDOMISED, random_state=3).fit(given, label)
    boosted = HistGradientBoostingClassifier(**BOOSTED, random_state=3).fit(given, label)
    new = np.random.default_rng(1).normal(size=(500, 40)).astype(np.float32)
    for asked in (given, new):
        p, count = randomised.predict_proba(asked)[:, 1], RANDOMISED["n_estimators"]
        first = np.log((count * p + 0.5) / (count * (1 - p) + 0.5))
        second = boosted.decision_function(asked) + np.log((~label).sum() / label.sum())
        share = weigh_boosted(label.sum())
        np.testing.assert_allclose(trees.log_odds(asked), (1 - share) * first + share * second, rtol=1e-9, atol=1e-9)
        q = 1 / (1 + np.exp(-boosted.decision_function(asked)))
        np.testing.assert_allclose(q, boosted.predict_proba(asked)[:, 1])


def test_trees_from_their_state_have_the_same_bits_and_damage_is_refused(rows, trees):
    state = trees.state()
    again = Trees.from_state(state, 40)
    assert np.array_equal(again.log_odds(rows[0]), trees.log_odds(rows[0]))
    inner = int((state["left"] != torch.arange(len(state["left"]))).nonzero()[0])
    for name, value in (("left", inner - 1), ("right", 10**6), ("feature", 40), ("value", float("nan")), ("roots", -1)):
        wrong = {key: tensor.clone() for key, tensor in state.items()}
        wrong[name][inner] = value
        with pytest.raises(RunFolderError, match="damaged"):
            Trees.from_state(wrong, 40)
    with pytest.raises(RunFolderError, match="incomplete"):
        Trees.from_state({"left": state["left"]}, 40)


def test_the_number_of_threads_changes_no_bit(rows, trees):
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        again = Trees.fit(*rows, seed=3)
        assert all(torch.equal(a, b) for a, b in zip(trees.state().values(), again.state().values(), strict=True))
        assert np.array_equal(again.log_odds(rows[0]), trees.log_odds(rows[0]))
    finally:
        torch.set_num_threads(before)


def test_folds_part_the_links_and_know_neither_direction_nor_numbering():
    graph = people(features=False)
    fold = fold_numbers(graph, graph.edges, FOLDS)
    assert set(fold.tolist()) == set(range(FOLDS))
    assert torch.equal(fold, fold_numbers(graph, graph.edges.flip(1), FOLDS))
    assert torch.equal(fold[5:7], fold_numbers(graph, graph.edges[5:7], FOLDS))
    assert sum(graph.num_edges - without_fold(graph, k, FOLDS).num_edges for k in range(FOLDS)) == graph.num_edges


def test_a_linked_pair_is_scored_without_its_link():
    split, stack = fitted(people(features=False))
    graph = split.train_graph
    link = graph.edges[:1]
    number = int(fold_numbers(graph, link, FOLDS))
    other = without_fold(graph, number, FOLDS)
    assert not other.has_edges(link).any()
    expected = stack.trees.log_odds(PairStatistics(other)(link.numpy()))
    assert stack.score(graph, link).tolist() == expected.tolist()
    assert stack.score(other, link).tolist() == expected.tolist()


def test_where_only_a_leak_could_win_nothing_is_won():
    # in a random graph links cannot be told from other pairs; on a graph with their own link they can, by their degrees
    # and by the entry of the adjacency matrix at low rank
    plain = nx.gnm_random_graph(300, 600, seed=0)
    edges = torch.tensor(list(plain.edges))
    edges = edges[torch.randperm(len(edges), generator=torch.Generator().manual_seed(0))]
    split, stack = fitted(Graph.from_edges(edges[:450], num_nodes=300))
    whole = Graph.from_edges(edges, num_nodes=300)
    new, others = edges[450:], split.test_neg
    others = torch.cat([others, split.valid_neg])
    for graph in (split.train_graph, whole):
        scores = torch.cat([stack.score(graph, new), stack.score(graph, others)]).numpy()
        label = np.r_[np.ones(len(new)), np.zeros(len(others))]
        assert 0.35 < roc_auc_score(label, scores) < 0.65  # by chance 0.5 ± 0.035
    rows, is_link = stack._training_rows(split, np.random.default_rng(0))  # nor can trees tell those they learn from
    half = np.arange(len(rows)) % 2 == 0
    judge = ExtraTreesClassifier(**RANDOMISED, random_state=0).fit(rows[half], is_link[half])
    assert 0.35 < roc_auc_score(is_link[~half], judge.predict_proba(rows[~half])[:, 1]) < 0.65
    leaked = PairStatistics(whole)  # what it would be if links saw themselves
    names = PairStatistics.names(features=False)
    score = leaked(torch.cat([new, others]).numpy())[:, names.index("adjacency entry at rank 32")]
    assert roc_auc_score(label, score) > 0.75


def test_scores_are_symmetric_finite_and_the_same_in_any_batch():
    split, stack = fitted(people(features=False))
    pairs = torch.randint(90, (80, 2), generator=torch.Generator().manual_seed(0))
    pairs = torch.cat([pairs, split.train_pos[:20], pairs[:1, :1].expand(1, 2)])
    scores = stack.score(split.test_graph, pairs)
    assert scores.isfinite().all()
    assert scores.dtype == torch.float64
    assert torch.equal(scores, stack.score(split.test_graph, pairs.flip(1)))
    assert torch.equal(scores[30:33], stack.score(split.test_graph, pairs[30:33]))
    assert stack.score(split.test_graph, pairs[:0]).shape == (0,)


def test_a_street_grid_is_completed_where_no_neighbours_are_shared():
    split, stack = fitted(grid())
    label = np.r_[np.ones(len(split.test_pos)), np.zeros(len(split.test_neg))]
    pairs = torch.cat([split.test_pos, split.test_neg])
    ours = roc_auc_score(label, stack.score(split.test_graph, pairs))
    shared = roc_auc_score(label, models.make("common-neighbors").score(split.test_graph, pairs))
    assert ours > 0.9 > 0.6 > shared


def test_the_same_seed_gives_the_same_stack_and_another_one_another():
    graph = people(features=False)
    (split, one), (_, other) = fitted(graph), fitted(graph)
    assert all(torch.equal(a, b) for a, b in zip(one.state().values(), other.state().values(), strict=True))
    third = Stack().fit(split, NodeFeatures(), seed=1, resources=Resources())
    assert not torch.equal(third.score(graph, graph.edges), one.score(graph, graph.edges))


def test_a_limit_on_links_takes_fewer_folds_and_learns_still():
    split, stack = fitted(grid(), max_links=40)
    pairs = torch.cat([split.test_pos, split.test_neg])
    label = np.r_[np.ones(len(split.test_pos)), np.zeros(len(split.test_neg))]
    assert roc_auc_score(label, stack.score(split.test_graph, pairs)) > 0.8


def test_a_run_is_read_bit_for_bit_and_new_nodes_are_scored(tmp_path):
    graph = people(features=False)
    model = LinkPredictor(model="stack", cache=None, minutes=None).fit(graph, out=tmp_path / "run")
    again = LinkPredictor.load(tmp_path / "run")
    pairs = torch.combinations(torch.arange(30))
    assert torch.equal(again.score(pairs).score, model.score(pairs).score)
    assert model.metrics_["auc"] > 0.7
    names = [*graph.names, "Eve"]
    joined = torch.cat([graph.edges, torch.tensor([[90, u] for u in range(12)])])
    larger = Graph.from_edges(joined, num_nodes=91, names=names)
    near, far = again.score([("Eve", "Person 20"), ("Eve", "Person 80")], graph=larger).score
    assert near > far  # Eve knows some of the first circle


def test_an_unfitted_stack_bad_options_and_missing_features_are_refused():
    with pytest.raises(NotFittedError, match="not fitted"):
        Stack().score(people(), torch.tensor([[0, 1]]))
    with pytest.raises(InputError, match="negatives must be a whole number from 1"):
        Stack(negatives=0)
    split, stack = fitted(people())
    with pytest.raises(InputError, match="fitted with node features"):
        stack.score(people(features=False), split.test_pos)
    whole = torch.combinations(torch.arange(6))
    complete = Graph.from_edges(whole)
    split = splits.make(people(features=False), protocol="random", seed=0)
    dense = replace(split, train_graph=complete, train_pos=whole)
    with pytest.raises(InputError, match="from links and non-links"):
        Stack().fit(dense, NodeFeatures(), seed=0, resources=Resources())


def test_users_and_items_have_statistics_of_their_own_and_no_link_sees_itself():
    rng = np.random.default_rng(0)
    fits = np.arange(40)[:, None] % 3 == np.arange(30)[None] % 3
    user, item = np.nonzero(rng.random((40, 30)) < np.where(fits, 0.5, 0.05))
    graph = Graph.from_edges(np.stack([user, item + 40], 1), num_nodes=70)
    split, stack = fitted(graph, negatives=3)
    assert stack.sides
    assert PairStatistics.names(features=False, sides=True)[-2:] == ("implicit factors", "cosine of items")
    read = Stack.from_state(stack.config, stack.state(), graph, NodeFeatures())
    link = split.train_pos[:1]
    fold = int(fold_numbers(split.train_graph, link, FOLDS))
    alone = stack.score(without_fold(split.train_graph, fold, FOLDS), link)
    assert torch.equal(stack.score(split.train_graph, link), alone)
    assert torch.equal(read.score(split.train_graph, link), alone)
    with pytest.raises(InputError, match="fitted on a bipartite graph"):
        stack.score(Graph.from_edges(torch.tensor([[0, 1], [1, 2], [2, 0]]), num_nodes=70), link)
