"""The audit finds every fault that is put in, and those that PyG's own split has."""

import dataclasses

import networkx as nx
import pytest
import torch

from llwlc import splits
from llwlc.errors import InputError
from llwlc.graph._graph import Graph
from llwlc.splits._auditing import audit, audit_parts, from_pyg

pyg = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.fixture
def graph():
    return Graph.from_edges(torch.tensor(list(nx.gnm_random_graph(50, 200, seed=1).edges)), num_nodes=50)


@pytest.fixture
def split(graph):
    return splits.make(graph, protocol="seal")


def names(report):
    return {finding.name for finding in report.findings}


def test_a_pair_in_two_parts_is_found_in_either_direction(split, graph):
    leaky = dataclasses.replace(split, test_neg=torch.cat([split.test_neg[1:], split.valid_neg[:1].flip(1)]))
    report = audit(leaky, graph)
    assert not report.ok
    assert names(report) == {"valid_neg & test_neg"}
    assert report.findings[0].examples == (tuple(split.valid_neg[0].tolist()),)


def test_a_repeated_pair_is_found_in_either_direction(split, graph):
    leaky = dataclasses.replace(
        split, valid_neg=torch.cat([split.valid_neg, split.valid_neg[:2].flip(1), split.valid_neg[:1]])
    )
    report = audit(leaky, graph)
    assert names(report) == {"valid_neg repeated"}
    assert report.findings[0].count == 3


def test_a_negative_that_is_a_link_is_found_also_without_the_graph(split, graph):
    leaky = dataclasses.replace(split, train_neg=torch.cat([split.train_neg, split.test_pos[:1].flip(1)]))
    for report in (audit(leaky), audit(leaky, graph)):
        assert names(report) == {"train_neg are links", "train_neg & test_pos"}


def test_a_link_that_only_the_graph_knows_is_found(split, graph):
    kept = dataclasses.replace(
        split, test_pos=split.test_pos[1:], test_neg=torch.cat([split.test_neg, split.test_pos[:1]])
    )
    assert audit(kept).ok
    assert names(audit(kept, graph)) == {"test_neg are links"}


@pytest.mark.parametrize("stage", ["train_graph", "valid_graph", "test_graph"])
def test_messages_that_hold_a_test_link_are_found(split, graph, stage):
    more = graph.with_edges(torch.cat([split.train_pos, split.test_pos[:3]]))
    report = audit(dataclasses.replace(split, **{stage: more}), graph)
    assert names(report) == {f"{stage} holds test_pos"}
    assert report.findings[0].count == 3


def test_messages_at_validation_may_not_hold_validation_links_but_at_test_they_may(split, graph):
    more = graph.with_edges(torch.cat([split.train_pos, split.valid_pos]))
    assert names(audit(dataclasses.replace(split, valid_graph=more))) == {"valid_graph holds valid_pos"}
    report = audit(dataclasses.replace(split, test_graph=more))
    assert report.ok
    assert {(f.name, f.count) for f in report.allowed} >= {("test_graph holds valid_pos", len(split.valid_pos))}


def test_self_pairs_and_invented_links_are_found(split, graph):
    odd = dataclasses.replace(
        split,
        train_neg=torch.cat([split.train_neg, torch.tensor([[4, 4]])]),
        test_pos=torch.cat([split.test_pos, split.train_neg[:1]]),
    )
    report = audit(odd, graph)
    assert "train_neg pairs a node with itself" in names(report)
    assert "test_pos not in the graph" in names(report)
    assert "4–4" in str(report)


def test_what_a_dataset_repeats_by_design_is_allowed_up_to_its_count(split, graph):
    twice = dataclasses.replace(split, train_pos=torch.cat([split.train_pos, split.train_pos[:4]]))
    assert not audit(twice, graph).ok
    declared = audit(dataclasses.replace(twice, repeated={"train_pos repeated": 4}), graph)
    assert declared.ok
    assert "by design: train_pos repeated: 4" in str(declared)
    assert not audit(dataclasses.replace(twice, repeated={"train_pos repeated": 3}), graph).ok


def test_plain_tensors_can_be_audited():
    parts = {"train_pos": torch.tensor([[0, 1], [1, 2]]), "test_pos": torch.tensor([[1, 0]])}
    report = audit_parts(parts, num_nodes=3)
    assert names(report) == {"train_pos & test_pos"}
    assert str(report).startswith(
        "audit: 1 kinds of fault\n  train_pos 2, test_pos 1\n  FAULT train_pos & test_pos: 1 (such as 0–1)"
    )
    assert audit_parts({"test_pos": torch.tensor([[0, 1]])}, num_nodes=3).ok
    with pytest.raises(InputError, match="unknown part 'val_pos'"):
        audit_parts({"val_pos": parts["test_pos"]}, num_nodes=3)
    with pytest.raises(InputError, match="names node 2"):
        audit_parts(parts, num_nodes=2)
    with pytest.raises(InputError, match="graph has 2 nodes, the split 3"):
        audit_parts(parts, num_nodes=3, graph=Graph.from_edges(torch.tensor([[0, 1]])))
    with pytest.raises(InputError, match="integer pairs"):
        audit_parts({"test_pos": torch.rand(3, 2)}, num_nodes=3)


@pyg
@pytest.mark.parametrize("split_labels", [True, False])
def test_the_faults_of_pyg_random_link_split_are_found(split_labels):
    # pyg-team/pytorch_geometric#10706: negatives are drawn as directed pairs, so (u, v) and (v, u) both occur
    from torch_geometric import seed_everything
    from torch_geometric.data import Data
    from torch_geometric.transforms import RandomLinkSplit

    dense = Graph.from_edges(torch.tensor(list(nx.gnm_random_graph(30, 150, seed=0).edges)), num_nodes=30)
    seed_everything(0)
    transform = RandomLinkSplit(num_val=0.2, num_test=0.3, is_undirected=True, split_labels=split_labels)
    parts = transform(Data(edge_index=dense.edge_index, num_nodes=30))
    report = audit(from_pyg(*parts), dense)
    assert not report.ok
    found = {finding.name: finding.count for finding in report.findings}
    assert found["valid_neg & test_neg"] > 0
    assert found["test_neg repeated"] > 0
    # its links and messages are sound
    assert not any("pos" in name or "links" in name for name in found)
    assert audit(splits.make(dense, protocol="random", val=0.2, test=0.3), dense).ok


@pyg
def test_pyg_data_without_labels_are_refused():
    from torch_geometric.data import Data

    data = Data(edge_index=torch.tensor([[0], [1]]), num_nodes=2)
    with pytest.raises(InputError, match="no edge_label_index"):
        from_pyg(data, data, data)
