"""The model of directions: an antisymmetric logistic regression, measured on planted graphs."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from llwlc import splits
from llwlc._direction.fit import fit_directions
from llwlc._direction.logistic import fit_logistic
from llwlc._direction.model import DirectionModel
from llwlc._direction.report import DirectionReport
from llwlc._direction.scorer import DirectionScorer
from llwlc.errors import InputError
from llwlc.graph import Graph
from llwlc.ranking._both_ways import rank_both_ways
from llwlc.ranking._ranking import RankedCandidates
from llwlc.training._node_features import NodeFeatures


def planted(n: int = 150, m: int = 900, *, both: float = 0.0, seed: int = 0) -> Graph:
    """A ring of three groups, each linking to the next: in- and out-degrees say nothing of the direction. A share
    `both` of the links points both ways."""
    rng = np.random.default_rng(seed)
    source = rng.integers(0, n, m)
    target = (rng.integers(0, n // 3, m) * 3 + (source + 1) % 3) % n
    links = np.stack([source, target], 1)
    links = np.concatenate([links, links[rng.random(m) < both][:, ::-1]])
    return Graph.from_edges(torch.from_numpy(links[links[:, 0] != links[:, 1]]), num_nodes=n, directed=True)


def fitted(graph: Graph, seed: int = 0):
    split = splits.make(graph, protocol="random", seed=seed, test=0.2)
    return fit_directions(graph, split, NodeFeatures(), seed=seed)


def test_logistic_regression_is_scikit_learns():
    rng = np.random.default_rng(0)
    columns = rng.standard_normal((200, 3))
    hit = (columns @ [1.0, -2.0, 0.0] + rng.standard_normal(200) > 0).astype(float)
    theirs = LogisticRegression(C=0.5, fit_intercept=False, tol=1e-10).fit(columns, hit).coef_[0]
    np.testing.assert_allclose(fit_logistic(columns, hit, np.full(3, 2.0)), theirs, atol=1e-5)


def test_directions_that_degrees_do_not_tell_are_found():
    report = fitted(planted()).report
    assert report.right > 0.95
    assert 0.3 < report.right_by_degrees < 0.7
    assert report.both == report.both_observed == 0
    assert report.log_loss < 0.3 < report.log_loss_of_shares


def test_chances_of_both_ways_are_calibrated():
    report = fitted(planted(both=0.6)).report
    assert report.both_expected == pytest.approx(report.both_observed, abs=0.1)
    assert report.log_loss <= report.log_loss_of_shares + 0.05
    assert "% of the links come in both directions" in report.sentence


def test_directions_that_may_be_guessed_are_called_so():
    known = fitted(planted()).report
    assert "by guessing" not in known.sentence
    assert "not show that directions are predicted better than by guessing" in replace(known, right=0.52).sentence


def test_a_graph_whose_links_all_have_their_reverse_is_said_to():
    graph = planted()
    mutual = Graph.from_edges(torch.cat([graph.arcs, graph.arcs.flip(1)]), num_nodes=graph.num_nodes, directed=True)
    direction = fitted(mutual)
    assert "nearly every link has its reverse" in direction.report.sentence
    assert "could not be measured" in direction.report.sentence
    chances = DirectionScorer(direction.model, mutual, NodeFeatures())(mutual.edges[:20])
    assert bool((chances.both > 0.95).all())


def test_the_ends_exchanged_exchange_the_chances():
    graph = planted(both=0.3)
    scorer = DirectionScorer(fitted(graph).model, graph, NodeFeatures())
    pairs = torch.cat([graph.edges[:40], torch.tensor([[0, 3], [5, 9]])])
    there, back = scorer(pairs), scorer(pairs.flip(1))
    assert torch.allclose(there.forward, back.backward, rtol=0, atol=1e-15)
    assert torch.equal(there.both, back.both)
    # one way, the other, or both: three outcomes of a link
    assert torch.allclose(there.forward + there.backward - there.both, torch.ones(len(pairs), dtype=torch.float64))


def test_effects_add_up_to_the_log_odds():
    graph = planted(both=0.3)
    scorer = DirectionScorer(fitted(graph).model, graph, NodeFeatures())
    pair = graph.edges[7]
    total = sum(scorer.effects(pair).values())
    assert total == pytest.approx(float(scorer.model.log_odds(scorer.columns.at(pair[None]))[0]), abs=1e-12)


def test_node_features_can_tell_the_direction():
    """Random links, each towards the larger feature."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal(200).astype(np.float32)
    links = rng.integers(0, 200, (900, 2))
    links = np.where((x[links[:, 0]] > x[links[:, 1]])[:, None], links[:, ::-1], links)
    graph = Graph.from_edges(torch.from_numpy(links[links[:, 0] != links[:, 1]]), num_nodes=200, directed=True)
    split = splits.make(graph, protocol="random", seed=0, test=0.2)
    with_x = fit_directions(graph, split, NodeFeatures(torch.from_numpy(x[:, None])), seed=0).report
    assert with_x.right > 0.95 > fit_directions(graph, split, NodeFeatures(), seed=0).report.right


def test_a_stored_model_is_the_same_and_a_damaged_one_is_refused():
    model = fitted(planted()).model
    data = model.as_dict()
    assert DirectionModel.from_dict(data, 0) == model
    for change in ({"antisymmetric": [1.0]}, {"columns": ["x"]}, {"constant": float("nan")}):
        with pytest.raises(InputError):
            DirectionModel.from_dict(data | change, 0)


def test_a_report_survives_its_file():
    report = fitted(planted()).report
    assert DirectionReport.from_dict(report.as_dict()) == report


@given(
    st.lists(st.tuples(st.floats(-5, 5), st.floats(0.01, 0.99), st.floats(0, 0.99)), max_size=12), st.integers(1, 30)
)
def test_the_list_of_both_ways_is_that_of_all_directions(candidates, top):
    """The oracle sorts every direction of every candidate."""
    candidates = sorted(candidates, reverse=True)
    odds = torch.tensor([c[0] for c in candidates], dtype=torch.float64)
    both = torch.tensor([c[2] for c in candidates], dtype=torch.float64)
    forward = both + (1 - both) * torch.tensor([c[1] for c in candidates], dtype=torch.float64)
    backward = 1 - forward + both
    pairs = torch.stack([torch.arange(len(candidates)), torch.arange(len(candidates)) + 100], 1).reshape(-1, 2)
    ranked = RankedCandidates(pairs, odds, torch.ones(len(odds), dtype=torch.bool), odds, pairs[:0])

    def directions(some):
        return forward[some[:, 0]], backward[some[:, 0]], both[some[:, 0]]

    rows, way = rank_both_ways(ranked, 1.0, top, directions, None)
    chance = torch.sigmoid(odds)
    everything = torch.cat([chance * forward, chance * backward]).sort(descending=True).values[:top]
    assert torch.allclose(torch.sigmoid(rows.log_ratio) * way, everything)
    for (u, v), one in zip(rows.pairs.tolist(), way.tolist(), strict=True):
        assert one == pytest.approx(float(forward[u] if u < v else backward[v]))
