"""What the paper leaves open of its training, and its network from a fit to a run that is read again."""

import pytest
import torch

import llwlc
from llwlc import splits
from llwlc._fitting.fit import fit_model, prepare_features
from llwlc.graph._graph import Graph
from llwlc.models._llwlc.encoded_split import EncodedSplit
from llwlc.models._llwlc.model import LLwLC
from llwlc.models._llwlc.presets import find_preset
from llwlc.ranking._ranking import prepare_candidates
from llwlc.splits._linksplit import LinkSplit
from llwlc.training._resources import Resources


def graph(features: int = 0) -> Graph:
    """Two rings with chords, 80 nodes."""
    ring = torch.arange(80)
    edges = torch.cat([torch.stack([ring, (ring + s) % 80], 1) for s in (1, 2, 5)])
    x = torch.rand(80, features, generator=torch.Generator().manual_seed(0)) if features else None
    return Graph.from_edges(edges, num_nodes=80, x=x)


def encoded(split: LinkSplit, **options) -> EncodedSplit:
    chosen = find_preset("paper", **options).resolve_defaults(len(split.train_pos))
    return EncodedSplit(split, chosen, resources=Resources())


@pytest.mark.parametrize(
    ("options", "anew"),
    [
        ({}, False),
        ({"redraw": True}, True),
        ({"constraints": "vertex_deleted"}, True),
        ({"constraints": "vertex_deleted", "redraw": False}, False),
    ],
)
def test_starts_and_deleted_vertices_are_drawn_once_or_each_epoch(options, anew):
    links = encoded(splits.make(graph(), protocol="paper"), **options)
    first, second = (links.training(epoch).data for epoch in (0, 1))
    positives = links.num_positive
    rows = int(first.sizes[:positives].sum())
    assert torch.equal(first.node[:rows], second.node[:rows])
    assert torch.equal(first.vectors[:rows], second.vectors[:rows]) != anew


def test_all_of_the_ninety_percent_are_trained_on_and_the_last_epoch_is_kept():
    whole = graph()
    split = splits.make(whole, protocol="paper", seed=1)
    fuller = split.with_validation_trained()
    assert len(fuller.train_pos) == len(split.train_pos) + len(split.valid_pos) == whole.num_edges - len(split.test_pos)
    assert fuller.train_graph.num_edges == len(fuller.train_pos)
    fitted = fit_model(LLwLC("paper", epochs=3, use_validation=True), whole, split, rank_candidates=False)
    again = fit_model(LLwLC("paper", epochs=2, use_validation=True), whole, split, rank_candidates=False)
    assert len(fitted.history) == 3
    assert [r.loss for r in fitted.history[:2]] == [r.loss for r in again.history]
    assert not torch.equal(fitted.model.net.head[0].weight, again.model.net.head[0].weight)


def test_candidates_are_trained_on_together_with_validation_links():
    """Each positive has its own mark, validation links that are candidates among them; none of these is a negative."""
    whole = graph()
    split = splits.make(whole, protocol="random", seed=1)
    model = LLwLC("anchored", epochs=1, use_validation=True, fraction=0.7, copies=0)
    features = prepare_features(whole, model)[1]
    before = prepare_candidates(split, features, model).links
    first, second = (model.training_links(part, 0) for part in (split, split.with_validation_trained()))
    after = before.with_validation_trained(split, first, second)
    assert len(after.member) == len(second)
    marked, could = ({tuple(pair) for pair in pairs.tolist()} for pairs in (second[after.member], first[before.member]))
    valid = {tuple(pair) for pair in split.valid_pos.tolist()}
    assert marked - valid == could & {tuple(pair) for pair in second.tolist()}
    assert marked & valid == {tuple(p) for p in before.valid_pos.tolist()} & {tuple(pair) for pair in second.tolist()}
    assert not valid & {tuple(pair) for pair in after.negatives.tolist()}
    assert len(fit_model(model, whole, split).history) == 1


def test_all_links_where_validation_carries_no_messages():
    split = splits.make(graph(), protocol="seal", seed=1)
    fuller = split.with_validation_trained()
    assert fuller.train_graph.num_edges == split.train_graph.num_edges + len(split.valid_pos)


@pytest.mark.parametrize("features", [4, "raw"])
def test_features_of_the_papers_network_reach_a_run_and_come_back(tmp_path, features):
    model = llwlc.LinkPredictor("paper", features=features, epochs=2, minutes=None).fit(graph(6), protocol="paper")
    width = 4 if features == 4 else 6
    assert model.model_.net.config.feature_channels == width
    plain = llwlc.LinkPredictor("paper", epochs=2, minutes=None).fit(graph(6), protocol="paper")
    assert model.model_.net.num_parameters > plain.model_.net.num_parameters
    model.save(tmp_path / "run")
    pairs = [(0, 7), (3, 50)]
    loaded = llwlc.LinkPredictor.load(tmp_path / "run")
    assert torch.equal(torch.as_tensor(loaded.score(pairs).score), torch.as_tensor(model.score(pairs).score))


def test_raw_features_too_large_for_a_table_are_refused():
    import scipy.sparse

    from llwlc.training._compact_features import fit_compactor

    with pytest.raises(ValueError, match="features=64"):
        fit_compactor(scipy.sparse.csr_array((2_000_000, 2_000)), "raw")
