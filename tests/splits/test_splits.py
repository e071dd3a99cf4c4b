"""Every protocol has the sizes, messages and negatives of the code that published it, and no leak."""

import dataclasses

import networkx as nx
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import save_file

from llwlc import datasets, splits
from llwlc.errors import InputError
from llwlc.graph._graph import Graph
from llwlc.splits._linksplit import PARTS, STAGES, LinkSplit
from llwlc.splits._negatives import canonical, pair_number

# PyG warns on import that torch.jit is going away, and that this function of its own is
pyg = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore:.*train_test_split_edges")

# undirected links of the whole graph and of its largest component
LINKS = {"cora": (5278, 5069), "citeseer": (4552, 3679), "pubmed": (44324, 44324)}
SIZES = {
    ("cora", "paper"): (4276, 475, 527, 475, 527),
    ("cora", "seal"): (4488, 263, 527, 263, 527),
    ("cora", "ncn"): (3696, 527, 1055, 1055, 1055),
    ("cora", "buddy"): (3550, 506, 1013, 506, 1013),
    ("citeseer", "paper"): (3688, 409, 455, 409, 455),
    ("citeseer", "ncn"): (3187, 455, 910, 910, 910),
    ("citeseer", "buddy"): (2577, 367, 735, 367, 735),
    ("pubmed", "paper"): (35903, 3989, 4432, 3989, 4432),
    ("pubmed", "ncn"): (31028, 4432, 8864, 8864, 8864),
    ("pubmed", "buddy"): (31028, 4432, 8864, 4432, 8864),
}


def random_graph(n=60, m=150, seed=0, **kwargs):
    return Graph.from_edges(torch.tensor(list(nx.gnm_random_graph(n, m, seed=seed).edges)), num_nodes=n, **kwargs)


def keys(graph, pairs):
    return set(pair_number(pairs.reshape(-1, 2), graph.num_nodes).tolist())


@pytest.mark.parametrize(("name", "protocol"), SIZES)
def test_sizes_are_the_published_ones(name, protocol):
    assert splits.sizes(protocol, LINKS[name][protocol == "buddy"]) == SIZES[name, protocol]


@pytest.mark.parametrize("protocol", ["paper", "seal", "ncn", "buddy", "random", "heart"])
def test_cora_splits_have_these_sizes_and_no_leak(protocol):
    graph = datasets.load("cora")
    split = splits.make(graph, protocol=protocol, seed=1)
    expected = splits.sizes(protocol, LINKS["cora"][protocol == "buddy"])
    assert (len(split.train_pos), len(split.valid_pos), len(split.test_pos)) == expected[:3]
    assert (len(split.valid_neg), len(split.test_neg)) == expected[3:]
    assert len(split.train_neg) == len(split.train_pos)
    report = splits.audit(split, graph)
    assert report.ok, report


@pytest.mark.parametrize(
    ("protocol", "at_test"),
    [("paper", True), ("seal", False), ("ncn", False), ("buddy", True), ("random", True), ("temporal", True)],
)
def test_messages_of_each_stage(protocol, at_test):
    graph = random_graph(time=torch.arange(150))
    split = splits.make(graph, protocol=protocol)
    train, valid = keys(graph, split.train_pos), keys(graph, split.valid_pos)
    assert keys(graph, split.train_graph.edges) == train
    assert keys(graph, split.valid_graph.edges) == train
    assert keys(graph, split.test_graph.edges) == (train | valid if at_test else train)
    everything = train | valid | keys(graph, split.test_pos)
    assert everything == keys(graph, graph.edges) or protocol == "buddy"


@pyg
@pytest.mark.parametrize("seed", [234, 5])
def test_seal_draws_what_pyg_draws(seed):
    from torch_geometric.data import Data
    from torch_geometric.utils import train_test_split_edges

    graph = datasets.load("cora")
    torch.manual_seed(seed)
    theirs = train_test_split_edges(Data(edge_index=graph.edge_index, num_nodes=graph.num_nodes), 0.05, 0.1)
    ours = splits.make(graph, protocol="seal", seed=seed)
    for part, name in (("valid", "val"), ("test", "test")):
        assert torch.equal(getattr(ours, f"{part}_pos"), theirs[f"{name}_pos_edge_index"].t())
        assert torch.equal(getattr(ours, f"{part}_neg"), theirs[f"{name}_neg_edge_index"].t())
    assert keys(graph, ours.train_pos) == keys(graph, theirs.train_pos_edge_index.t())


@pyg
def test_ncn_draws_what_its_code_draws():
    from torch_geometric.data import Data
    from torch_geometric.utils import train_test_split_edges

    graph = datasets.load("cora")
    torch.manual_seed(7)
    theirs = train_test_split_edges(Data(edge_index=graph.edge_index, num_nodes=graph.num_nodes), 0.2, 0.2)
    held = theirs.val_pos_edge_index.t()
    held = held[torch.randperm(len(held))]
    ours = splits.make(graph, protocol="ncn", seed=7)
    assert torch.equal(ours.valid_pos, held[-527:])
    assert torch.equal(ours.valid_neg, theirs.val_neg_edge_index.t())
    assert torch.equal(ours.test_pos, theirs.test_pos_edge_index.t())
    assert torch.equal(ours.test_neg, theirs.test_neg_edge_index.t())
    assert keys(graph, ours.train_pos) == keys(graph, theirs.train_pos_edge_index.t()) | keys(graph, held[:-527])


def test_buddy_stays_inside_the_largest_component():
    graph = datasets.load("cora")
    largest = max(nx.connected_components(nx.Graph(graph.edges.tolist())), key=len)
    split = splits.make(graph, protocol="buddy")
    assert splits.largest_component(graph).tolist() == sorted(largest)
    for name in PARTS:
        assert set(getattr(split, name).reshape(-1).tolist()) <= largest
    assert split.train_graph.num_nodes == graph.num_nodes
    assert set(splits.fresh_negatives(split, epoch=3).reshape(-1).tolist()) <= largest


def test_temporal_tests_on_the_latest_links():
    time = torch.randint(2000, 2010, (150,), generator=torch.Generator().manual_seed(0))
    graph = random_graph(time=time)
    split = splits.make(graph, protocol="temporal", val=0.1, test=0.2)
    at = {
        tuple(e): t
        for e, t in zip(
            graph.edges.tolist(), graph.time[graph.edge_index[0] < graph.edge_index[1]].tolist(), strict=True
        )
    }
    when = [[at[tuple(e)] for e in part.tolist()] for part in (split.train_pos, split.valid_pos, split.test_pos)]
    assert list(map(len, when)) == [105, 15, 30]
    assert max(when[0]) <= min(when[1]) <= max(when[1]) <= min(when[2])
    assert any("at random" in note for note in split.notes)
    assert splits.audit(split, graph).ok
    with pytest.raises(InputError, match="time"):
        splits.make(random_graph(), protocol="temporal")


@settings(deadline=None, max_examples=40)
@given(
    n=st.integers(12, 40),
    density=st.floats(0.3, 0.95),
    seed=st.integers(0, 9),
    protocol=st.sampled_from(["paper", "seal", "ncn", "buddy", "random", "temporal"]),
)
def test_no_split_of_any_graph_leaks(n, density, seed, protocol):
    m = int(density * n * (n - 1) / 2)
    graph = random_graph(n, m, seed, time=torch.arange(m) // 3)
    try:
        split = splits.make(graph, protocol=protocol, seed=seed)
    except InputError as error:
        assert "too dense" in str(error) or "too few" in str(error)  # noqa: PT017 (either a split or a reason)
        return
    report = splits.audit(split, graph)
    assert report.ok, report
    short = len(split.train_neg) < len(split.train_pos)
    assert short == any("dense graph" in note for note in split.notes)


def test_a_split_is_a_function_of_its_seed():
    graph = random_graph()
    for protocol in ("paper", "ncn", "buddy"):
        one, two, other = (splits.make(graph, protocol=protocol, seed=s) for s in (3, 3, 4))
        for name in PARTS:
            assert torch.equal(getattr(one, name), getattr(two, name))
            assert not torch.equal(getattr(one, name), getattr(other, name))


def test_fresh_negatives_change_every_epoch_and_never_touch_what_is_asked():
    graph = datasets.load("cora")
    split = splits.make(graph, protocol="ncn", seed=2)
    assert torch.equal(splits.fresh_negatives(split, epoch=0), split.train_neg)
    one, two = splits.fresh_negatives(split, epoch=1), splits.fresh_negatives(split, epoch=2)
    assert len(keys(graph, one) & keys(graph, two)) < 50
    assert not torch.equal(one, splits.fresh_negatives(split, epoch=1, seed=9))
    assert splits.audit(dataclasses.replace(split, train_neg=one), graph).ok
    assert len(splits.fresh_negatives(split, epoch=1, count=10)) == 10


def test_dense_graphs_are_split_as_far_as_they_can_be():
    complete = Graph.from_edges(torch.triu_indices(20, 20, 1).t())
    with pytest.raises(InputError, match="too dense"):
        splits.make(complete, protocol="seal")
    almost = Graph.from_edges(complete.edges[:-40])
    split = splits.make(almost, protocol="seal")
    assert len(split.train_neg) == 40 - len(split.valid_neg) - len(split.test_neg)
    assert splits.audit(split, almost).ok
    with pytest.raises(InputError, match="no pair without a link is left"):
        splits.make(Graph.from_edges(complete.edges[:-24]), protocol="seal")


@pytest.mark.parametrize(("protocol", "least"), [("seal", 20), ("ncn", 10), ("buddy", 10), ("paper", 11)])
def test_too_small_a_graph_says_how_many_links_it_takes(protocol, least):
    path = torch.stack([torch.arange(least), torch.arange(1, least + 1)], 1)
    with pytest.raises(InputError, match=f"{least - 1} links, too few .* at least {least},"):
        splits.make(Graph.from_edges(path[:-1]), protocol=protocol)
    assert splits.audit(splits.make(Graph.from_edges(path), protocol=protocol)).ok


def test_an_empty_graph_is_refused():
    for protocol in ("ncn", "buddy", "heart"):
        with pytest.raises(InputError, match="0 links, too few"):
            splits.make(Graph.from_edges(torch.empty(0, 2, dtype=torch.long)), protocol=protocol)


def test_unknown_protocols_bad_seeds_and_bad_ratios_are_refused():
    graph = random_graph()
    with pytest.raises(InputError, match="no protocol is called 'ncnc'"):
        splits.make(graph, protocol="ncnc")
    with pytest.raises(InputError, match="seed must be a whole number from 0"):
        splits.make(graph, seed=-1)
    with pytest.raises(InputError, match="fixes its ratios"):
        splits.make(graph, protocol="ncn", val=0.1)
    with pytest.raises(InputError, match="below 1 together"):
        splits.make(graph, protocol="random", val=0.5, test=0.5)
    only_valid = splits.make(graph, protocol="random", val=0.1, test=0.0)
    assert only_valid.test_pos.shape == (0, 2)
    assert len(only_valid.valid_pos) == 15
    assert splits.audit(only_valid, graph).ok


@pytest.mark.parametrize("protocol", ["buddy", "temporal"])
def test_save_and_load(tmp_path, protocol):
    graph = random_graph(time=torch.arange(150), weight=torch.rand(150), x=torch.rand(60, 3))
    split = splits.make(graph, protocol=protocol, seed=3)
    split = dataclasses.replace(split, repeated={"train_pos repeated": 2})
    split.save(tmp_path / "split.safetensors")
    again = LinkSplit.load(tmp_path / "split.safetensors", graph)
    for name in PARTS:
        assert torch.equal(getattr(split, name), getattr(again, name))
    for name in STAGES:
        one, two = getattr(split, name), getattr(again, name)
        for field in ("indptr", "indices", "weight", "time"):
            assert torch.equal(getattr(one, field), getattr(two, field))
        assert two.x is graph.x
    assert (again.protocol, again.seed, again.repeated, again.notes) == (protocol, 3, split.repeated, split.notes)
    assert (again.nodes is None) == (protocol != "buddy")
    with pytest.raises(InputError, match="60 nodes"):
        LinkSplit.load(tmp_path / "split.safetensors", random_graph(61))
    assert [file.name for file in tmp_path.iterdir()] == ["split.safetensors"]
    save_file({"weight": torch.ones(2)}, tmp_path / "model.safetensors")
    with pytest.raises(InputError, match=r"not a split: it lacks .*train_pos"):
        LinkSplit.load(tmp_path / "model.safetensors", graph)
    (tmp_path / "broken").write_bytes(b"no split")
    with pytest.raises(InputError, match="not a readable split"):
        LinkSplit.load(tmp_path / "broken", graph)


def test_pairs_come_with_the_smaller_node_first():
    split = splits.make(random_graph())
    for name in PARTS:
        pairs = getattr(split, name)
        assert pairs.dtype == torch.int64
        assert torch.equal(canonical(pairs), pairs)


@pytest.mark.data
@pytest.mark.parametrize("name", ["citeseer", "pubmed"])
def test_planetoid_splits_have_the_published_test_negatives(name, data_root):
    folder = {"citeseer": "CiteSeer", "pubmed": "PubMed"}[name]
    data_root(f"planetoid/{folder}/raw")
    graph = datasets.load(name)
    for protocol in ("paper", "buddy"):
        split = splits.make(graph, protocol=protocol)
        assert len(split.test_neg) == SIZES[name, protocol][4]
        assert splits.audit(split, graph).ok


def test_shares_that_no_graph_near_this_size_can_give_are_refused_at_once():
    ring = Graph.from_edges(torch.stack([torch.arange(20), torch.arange(1, 21) % 20], 1))
    with pytest.raises(InputError, match="needs more than"):
        splits.make(ring, protocol="random", val=1e-8)
