"""The model of the whole graph: no training link sees itself, scores are each pair's own, runs are read again."""

import networkx as nx
import numpy as np
import pytest
import torch

from llwlc import metrics, models, splits
from llwlc._fitting.fit import fit_model
from llwlc._predictor import LinkPredictor
from llwlc.bases._global_basis import global_basis
from llwlc.errors import InputError
from llwlc.graph._graph import Graph
from llwlc.models._global import GlobalModel
from llwlc.models._global_inputs import pair_statistics, score_inputs, training_inputs, without_links
from llwlc.models._stack.node_statistics import NODE_STATISTICS
from llwlc.training._node_features import NodeFeatures
from llwlc.training._resources import Resources
from people import people, relabelled

QUICK = {"epochs": 2, "members": 1, "folds": 3, "low": 16, "high": 8}
HOW = {"low": 8, "high": 4, "folds": 5, "negatives": 2, "most": 10_000}


def graph_of(g: nx.Graph) -> Graph:
    return Graph.from_edges(torch.tensor(list(nx.convert_node_labels_to_integers(g).edges)), num_nodes=len(g))


@pytest.fixture(scope="module")
def fitted():
    graph = people(features=False)
    split = splits.make(graph, protocol="random", seed=0)
    model = GlobalModel(**QUICK)
    return model.fit(split, NodeFeatures(), seed=0, resources=Resources()), split


@pytest.mark.parametrize("g", [nx.erdos_renyi_graph(60, 0.08, seed=3), nx.grid_2d_graph(7, 8)])
def test_statistics_are_networkxs_on_the_graph_without_the_pair(g):
    g = nx.convert_node_labels_to_integers(g)
    graph, rng = graph_of(g), np.random.default_rng(0)
    pairs = np.concatenate(
        [np.array(g.edges)[:20], np.array([p for p in rng.integers(len(g), size=(60, 2)) if p[0] != p[1]])]
    )
    found = pair_statistics(graph, torch.from_numpy(pairs)).numpy()
    for (u, v), row in zip(pairs.tolist(), found, strict=True):
        h = g.copy()
        h.remove_edges_from([(u, v)])
        common = len(list(nx.common_neighbors(h, u, v)))
        degrees = sorted((h.degree(u), h.degree(v)))
        np.testing.assert_allclose(row[:3], np.log1p([common, *degrees]))
        l3 = sum(1 / np.sqrt(g.degree(x) * g.degree(y)) for x in h[u] for y in h[v] if h.has_edge(x, y))
        assert row[6] == pytest.approx(np.log(l3 + 0.01))
        joined = nx.has_path(h, u, v)
        length = nx.shortest_path_length(h, u, v) if joined else 1
        np.testing.assert_allclose(row[10:12], [np.log(length), 1 / length if joined else 0])
        assert row[13] == (not joined)
        around = [np.mean([g.degree(x) for x in g[v]] or [0]) for v in (u, v)]
        np.testing.assert_allclose(row[[14, 14 + len(NODE_STATISTICS) - 1]], np.log(np.sort(around) + 0.01))
        if joined and length <= 10:
            assert row[12] == (-1) ** length


def test_what_is_read_of_a_training_link_is_the_same_whether_or_not_its_fold_is_there():
    """The leak audit: the links of a fold are moved elsewhere, and nothing that is read of them changes."""
    split = splits.make(graph_of(nx.random_regular_graph(6, 80, seed=1)), protocol="random", seed=0)
    inputs, label = training_inputs(split, seed=7, **HOW)
    for fold in range(HOW["folds"]):
        mine = inputs.graph == fold
        pos = inputs.pairs[mine & (label > 0)]
        graph = without_links(split.train_graph, pos)
        assert graph.num_edges == split.train_graph.num_edges - len(pos)
        basis = global_basis(graph, low=HOW["low"], high=HOW["high"])
        k = len(basis.values)
        torch.testing.assert_close(inputs.values[fold, :k], basis.values.float())
        rows = inputs.vectors[fold, :, :k]
        ours, theirs = (r @ r.T for r in (rows[:20].double(), basis.vectors[:20]))
        torch.testing.assert_close(ours, theirs, atol=1e-3, rtol=0)
        torch.testing.assert_close(inputs.statistics[mine], pair_statistics(graph, inputs.pairs[mine]).float())
    assert len(inputs.pairs[label > 0].unique(dim=0)) == len(split.train_pos)
    known = {tuple(p) for p in torch.cat([split.train_pos, split.valid_pos, split.test_pos]).sort(1).values.tolist()}
    assert not known & {tuple(p) for p in inputs.pairs[label == 0].tolist()}


def test_where_only_a_leak_could_win_training_sees_nothing_and_neither_do_validation_and_test():
    """Links of a random graph are independent of each other: whoever tells them from non-links has seen them."""
    split = splits.make(graph_of(nx.gnm_random_graph(300, 900, seed=5)), protocol="random", seed=1, val=0.15, test=0.15)
    inputs, label = training_inputs(split, seed=0, **HOW)
    graph = split.train_graph
    leaked = score_inputs(graph, global_basis(graph, low=8, high=4), torch.cat([split.train_pos, split.train_neg]))

    def near(given, of):
        return -((given.vectors[of, given.pairs[:, 0]] - given.vectors[of, given.pairs[:, 1]]) ** 2).sum(1)

    m = len(split.train_pos)
    seen = near(leaked, leaked.graph)
    assert metrics.auc(seen[:m], seen[m:]) > 0.6  # the links of the graph itself are seen by its eigenvectors
    hidden = near(inputs, inputs.graph)
    assert abs(metrics.auc(hidden[label > 0], hidden[label == 0]) - 0.5) < 0.06
    model = GlobalModel(members=1, epochs=5, folds=5, low=16, high=8).fit(
        split, NodeFeatures(), seed=0, resources=Resources()
    )
    for stage in ("valid", "test"):
        graph = getattr(split, f"{stage}_graph")
        pos, neg = (model.score(graph, getattr(split, f"{stage}_{part}")) for part in ("pos", "neg"))
        # 135 links and non-links: a standard error of 0.035
        assert abs(metrics.auc(pos, neg) - 0.5) < 0.12


def test_a_score_depends_neither_on_the_batch_nor_on_the_order_of_the_ends(fitted):
    model, split = fitted
    pairs = torch.cat([split.test_pos, split.test_neg])
    whole = model.score(split.test_graph, pairs)
    alone = torch.cat([model.score(split.test_graph, pairs[[i]].flip(1)) for i in range(len(pairs))])
    torch.testing.assert_close(whole, alone, rtol=0, atol=1e-9)


def test_scores_go_along_with_the_numbers_of_the_nodes(fitted):
    model, split = fitted
    graph, pairs = split.test_graph, split.test_neg
    order = torch.randperm(90, generator=torch.Generator().manual_seed(3))
    torch.testing.assert_close(
        model.score(relabelled(graph, order), order[pairs]), model.score(graph, pairs), rtol=0, atol=1e-4
    )


def test_on_a_grid_it_finds_what_a_neighbourhood_cannot():
    """The missing links of a grid join nodes without a common neighbour: Adamic–Adar is blind."""
    graph = graph_of(nx.grid_2d_graph(18, 18))
    split = splits.make(graph, protocol="random", seed=0)
    found = fit_model(GlobalModel(members=1, epochs=8, folds=5, low=32, high=8), graph, split, rank_candidates=False)
    blind = fit_model(models.make("adamic-adar"), graph, split, rank_candidates=False)
    assert found.metrics["auc"] > 0.9
    assert blind.metrics["auc"] < 0.6


def test_a_run_is_read_with_the_same_scores_and_scores_an_updated_graph(tmp_path):
    graph = people(features=False)
    model = LinkPredictor(model="global", device="cpu", cache=None, minutes=None, **QUICK).fit(
        graph, out=tmp_path / "r"
    )
    again = LinkPredictor.load(tmp_path / "r", device="cpu")
    pairs = torch.tensor([[a, b] for a in range(10) for b in range(40, 50)])
    torch.testing.assert_close(again.score(pairs).score, model.score(pairs).score, rtol=0, atol=1e-5)
    assert model.model_.num_parameters <= 66_000
    ours, theirs = model.recommend(top=5), again.recommend(top=5)
    assert [(a.source, a.target) for a in ours] == [(b.source, b.target) for b in theirs]
    names = [*[graph.name(i) for i in range(90)], "Eve"]
    more = Graph.from_edges(torch.cat([graph.edges, torch.tensor([[90, 1], [90, 2]])]), num_nodes=91, names=names)
    assert again.score([("Eve", "Person 05")], graph=more).score.isfinite().all()


def test_an_interrupted_fit_goes_on_to_the_same_weights(tmp_path):
    class Stopped(Exception):
        pass

    def stop(record):
        if record.epoch == 0:
            raise Stopped

    def model():
        return LinkPredictor(model="global", device="cpu", cache=None, minutes=None, **QUICK)

    graph = people(features=False)
    whole = model().fit(graph)
    with pytest.raises(Stopped):
        model().fit(graph, out=tmp_path / "run", on_epoch=stop)
    after = model().fit(graph, out=tmp_path / "run")
    for a, b in zip(after.model_.state().values(), whole.model_.state().values(), strict=True):
        torch.testing.assert_close(a, b)


def test_an_unknown_option_or_a_wrong_value_is_refused_before_any_work():
    with pytest.raises(InputError, match="no option of global is called 'foldss': choose from low"):
        GlobalModel(foldss=3)
    with pytest.raises(InputError, match="folds must be a whole number from 2"):
        GlobalModel(folds=1)


def test_a_dense_graph_and_one_of_fragments_are_fitted():
    dense = graph_of(nx.gnp_random_graph(24, 0.8, seed=1))
    fragments = graph_of(nx.disjoint_union_all([nx.path_graph(3) for _ in range(25)]))
    for graph in (dense, fragments):
        split = splits.make(graph, protocol="random", seed=0)
        model = GlobalModel(**QUICK).fit(split, NodeFeatures(), seed=0, resources=Resources())
        assert model.score(split.test_graph, split.test_pos).isfinite().all()
