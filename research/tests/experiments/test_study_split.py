"""Splits of the study: fewer known links, and negatives near in space."""

import numpy as np
import pytest
import torch

from llwlc import splits
from llwlc.errors import InputError
from llwlc.graph._graph import Graph
from research.experiments.study_split import make_study_split, near_pairs


def grid() -> Graph:
    """A 12 × 12 grid in the plane with a tenth of its links missing, and one long link."""
    place = torch.cartesian_prod(torch.arange(12), torch.arange(12)).float()
    number = torch.arange(144).reshape(12, 12)
    right, down = torch.stack([number[:, :-1], number[:, 1:]], 2), torch.stack([number[:-1], number[1:]], 2)
    edges = torch.cat([right.reshape(-1, 2), down.reshape(-1, 2)])
    keep = torch.rand(len(edges), generator=torch.Generator().manual_seed(0)) < 0.9
    return Graph.from_edges(torch.cat([edges[keep], torch.tensor([[0, 143]])]), num_nodes=144, x=place)


GRAPH = grid()


@pytest.mark.parametrize(("protocol", "validation"), [("ncn", 0), ("buddy", 1)])
def test_a_share_of_the_links_is_all_that_is_known(protocol, validation):
    whole = splits.make(GRAPH, protocol=protocol, seed=3)
    thin = make_study_split(GRAPH, whole, {"kept": 0.25})
    known = {tuple(pair) for pair in thin.train_pos.tolist()}
    assert len(known) == round(0.25 * len(whole.train_pos))
    assert known < {tuple(pair) for pair in whole.train_pos.tolist()}
    assert {tuple(pair) for pair in thin.train_graph.edges.tolist()} == known
    beside = {tuple(pair) for pair in thin.test_graph.edges.tolist()} - known
    assert len(beside) == validation * round(0.25 * len(whole.valid_pos))
    assert beside <= {tuple(pair) for pair in whole.valid_pos.tolist()}
    for name in ("valid_pos", "valid_neg", "test_pos", "test_neg"):
        assert torch.equal(getattr(thin, name), getattr(whole, name))
    assert torch.equal(thin.test_graph.x, GRAPH.x)
    # a link that is not known may be drawn as a negative: of the known ones none is
    assert splits.audit(thin, GRAPH.with_edges(torch.cat([thin.train_pos, thin.valid_pos, thin.test_pos]))).ok


def test_near_negatives_are_no_longer_than_links_are():
    split = make_study_split(GRAPH, splits.make(GRAPH, protocol="paper"), {"near": True})
    place = GRAPH.x.numpy()

    def length(pairs):
        return np.linalg.norm(place[pairs[:, 0]] - place[pairs[:, 1]], axis=1)

    own = length(GRAPH.edges)
    known = {frozenset(pair) for pair in GRAPH.edges.tolist()}
    for name in ("train_neg", "valid_neg", "test_neg"):
        pairs = getattr(split, name)
        assert length(pairs).max() <= own.mean() + 2 * own.std()
        assert not known & {frozenset(pair) for pair in pairs.tolist()}
    assert len(split.train_neg) == len(split.train_pos)
    assert splits.audit(split, GRAPH).ok


def test_the_other_options_leave_a_split_as_it_is_and_bad_ones_are_refused():
    split = splits.make(GRAPH, protocol="paper")
    assert make_study_split(GRAPH, split, {"fraction": 0.1, "near": False}) is split
    with pytest.raises(InputError, match="kept is a share"):
        make_study_split(GRAPH, split, {"kept": 0.0})
    with pytest.raises(InputError, match="need coordinates"):
        near_pairs(Graph.from_edges(torch.tensor([[0, 1], [1, 2]])), 1, seed=0)
    with pytest.raises(InputError, match="pairs without a link are near"):
        near_pairs(GRAPH, 10_000, seed=0)
