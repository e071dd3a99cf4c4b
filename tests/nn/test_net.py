"""LLwLCNet: symmetric in the ends, blind to node order, of the promised size, and strict about its features."""

from dataclasses import replace

import networkx as nx
import pytest
import torch

from llwlc.bases._encoded_links import encode_pairs
from llwlc.errors import InputError
from llwlc.graph._graph import Graph
from llwlc.models._llwlc.presets import PRESETS, find_preset
from llwlc.nn import PAPER, LinkBatch, LLwLCNet, NetConfig
from llwlc.nn._end_readout import FilteredEnds, combine_symmetrically, cosines

F64 = torch.float64
ANCHORED = NetConfig(feature_channels=8)


def link_batch(name: str = "anchored", dtype: torch.dtype = F64) -> LinkBatch:
    """Links and non-links of a graph of 60 nodes, two of them isolated."""
    g = nx.barabasi_albert_graph(58, 2, seed=4)
    graph = Graph.from_edges(torch.tensor(list(g.edges)), num_nodes=60)
    pairs = torch.cat([graph.edges[::5], torch.tensor([[0, 59], [58, 59], [7, 50]])])
    data = encode_pairs(graph, pairs, PRESETS[name].basis, about="")
    return data.batch(torch.arange(len(data))).to("cpu", dtype)


def make_net(config: NetConfig, seed: int = 0, dtype: torch.dtype = F64) -> LLwLCNet:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return LLwLCNet(config).to(dtype).eval()


def features(channels: int = 8, dtype: torch.dtype = F64) -> torch.Tensor:
    return torch.randn(60, channels, dtype=F64, generator=torch.Generator().manual_seed(2)).to(dtype)


def permuted(batch: LinkBatch, seed: int) -> LinkBatch:
    """The same links with the rows of every graph in another order."""
    ptr, g = batch.basis.ptr, torch.Generator().manual_seed(seed)
    order = torch.cat([int(a) + torch.randperm(int(n), generator=g) for a, n in zip(ptr[:-1], ptr.diff(), strict=True)])
    place = torch.empty_like(order)
    place[order] = torch.arange(len(order))
    rows = {k: getattr(batch, k)[order] for k in ("node", "label", "degree")}
    basis = replace(batch.basis, vectors=batch.basis.vectors[order])
    return replace(batch, basis=basis, u=place[batch.u], v=place[batch.v], **rows)


@pytest.mark.parametrize("dtype", [F64, torch.float32])
@pytest.mark.parametrize("config", [ANCHORED, replace(ANCHORED, feature_channels=64), PAPER], ids=["8", "64", "paper"])
def test_score_is_symmetric_in_the_ends_to_the_last_bit(config, dtype):
    batch, net = link_batch(dtype=dtype), make_net(config, dtype=dtype)
    x = features(config.feature_channels, dtype) if config.feature_channels else None
    assert torch.equal(net(replace(batch, u=batch.v, v=batch.u), x), net(batch, x))


@pytest.mark.parametrize("config", [ANCHORED, NetConfig(), PAPER], ids=["features", "no features", "paper"])
def test_score_does_not_see_the_order_of_rows(config):
    """Given a basis, neither network does; with a random start the basis itself is invariant in law only."""
    batch, net = link_batch(), make_net(config)
    x = features() if config.feature_channels else None
    expected = net(batch, x)
    assert expected.std() > 1e-9, "scores that are all alike would prove nothing"
    for seed in range(3):
        torch.testing.assert_close(net(permuted(batch, seed), x), expected, rtol=0, atol=1e-12)


def test_anchored_score_does_not_see_the_names_of_nodes():
    g = nx.barabasi_albert_graph(58, 2, seed=4)
    graph = Graph.from_edges(torch.tensor(list(g.edges)), num_nodes=60)
    pairs, name = graph.edges[::3], torch.randperm(60, generator=torch.Generator().manual_seed(1))
    renamed = Graph.from_edges(name[graph.edges], num_nodes=60)
    net, x = make_net(ANCHORED), features()
    moved = torch.empty_like(x)
    moved[name] = x
    config, everything = PRESETS["anchored"].basis, torch.arange(len(pairs))
    a = net(encode_pairs(graph, pairs, config, about="").batch(everything).to("cpu", F64), x)
    b = net(encode_pairs(renamed, name[pairs], config, about="").batch(everything).to("cpu", F64), moved)
    torch.testing.assert_close(a.sigmoid(), b.sigmoid(), rtol=0, atol=1e-6)


def test_score_of_a_link_does_not_depend_on_its_batch():
    g = nx.barabasi_albert_graph(58, 2, seed=4)
    graph = Graph.from_edges(torch.tensor(list(g.edges)), num_nodes=60)
    data = encode_pairs(graph, graph.edges[::5], PRESETS["anchored"].basis, about="")
    net, x = make_net(ANCHORED), features()
    together = net(data.batch(torch.arange(len(data))).to("cpu", F64), x)
    alone = [net(data.batch(torch.tensor([i])).to("cpu", F64), x) for i in range(len(data))]
    torch.testing.assert_close(torch.cat(alone), together, rtol=0, atol=1e-12)


@pytest.mark.parametrize("rows", [20, 30, 100, 200])
def test_paper_has_its_parameter_count(rows):
    assert 18_000 <= LLwLCNet(replace(PRESETS["paper"].net, sort_rows=rows)).num_parameters <= 36_000


def test_anchored_stays_within_its_parameter_count():
    net = LLwLCNet(replace(PRESETS["anchored"].net, feature_channels=64))
    assert net.num_parameters <= 60_000
    assert net.num_parameters == sum(p.numel() for p in net.parameters() if p.requires_grad)
    assert str(net) == f"LLwLCNet(2 blocks of 32, {net.num_parameters:,} parameters)"


@pytest.mark.parametrize("given", [None, 7, 9])
def test_features_of_another_width_are_refused(given):
    with pytest.raises(InputError, match="reads 8 compact features"):
        make_net(ANCHORED)(link_batch(), None if given is None else features(given))


def test_features_that_the_network_does_not_read_are_refused():
    with pytest.raises(InputError, match="reads 0 compact features"):
        make_net(PAPER)(link_batch("paper"), features())


def test_every_parameter_has_a_gradient():
    batch, x = link_batch(), features()
    for config, table in ((ANCHORED, x), (PAPER, None)):
        net = make_net(config)
        net(batch, table).sum().backward()
        assert [k for k, p in net.named_parameters() if p.grad is None or not p.grad.any()] == []


def test_filtered_ends_are_rows_of_v_f_vt_x():
    batch, x = link_batch(), features()
    ends = make_net(ANCHORED).filtered
    assert isinstance(ends, FilteredEnds)
    a, b = ends.rows(batch, x)
    f = ends.filter(batch.basis)
    for i, (start, stop) in enumerate(zip(batch.basis.ptr[:-1], batch.basis.ptr[1:], strict=True)):
        V = batch.basis.vectors[start:stop]
        own = x[batch.node[start:stop]]
        filtered = torch.stack([V @ torch.diag(f[i, :, s]) @ V.T @ own for s in range(ANCHORED.filters)] + [own], 1)
        torch.testing.assert_close(a[i], filtered[batch.u[i] - start], rtol=1e-12, atol=1e-12)
        torch.testing.assert_close(b[i], filtered[batch.v[i] - start], rtol=1e-12, atol=1e-12)


def test_cosines_and_products_of_two_ends():
    g = torch.Generator().manual_seed(0)
    a, b = (torch.randn(3, 4, 5, dtype=F64, generator=g) for _ in range(2))
    table = torch.nn.functional.cosine_similarity(a.unsqueeze(2), b.unsqueeze(1), dim=3)
    expected = [(table[:, i, j] + table[:, j, i]) / 2 for i in range(4) for j in range(i, 4)]
    torch.testing.assert_close(cosines(a, b), torch.stack(expected, 1))
    assert torch.equal(combine_symmetrically(a[0], b[0]), torch.cat([a[0] * b[0], (a[0] - b[0]).abs()], 1))


@pytest.mark.parametrize(
    "wrong", [{"pooling": "mean"}, {"dropout": 1.0}, {"feature_dropout": -0.1}, {"blocks": 0}], ids=str
)
def test_shapes_that_make_no_sense_are_named(wrong):
    ((name, value),) = wrong.items()
    with pytest.raises(InputError, match=f"^{name} (is|must be) .* got {value!r}"):
        find_preset("anchored", **wrong)


def test_unknown_preset_or_option_is_named():
    with pytest.raises(
        InputError, match="no preset is called 'papr'; there are anchored, paper, paper-query, unconstrained"
    ):
        find_preset("papr")
    with pytest.raises(InputError, match="no option is called 'stepz'"):
        find_preset("paper", stepz=3)


def test_options_reach_the_part_they_belong_to():
    changed = find_preset("anchored", steps=4, channels=16, epochs=3, seed=5, distance_cap=2, features=7)
    assert (changed.basis.steps, changed.net.channels, changed.train.epochs, changed.features) == (4, 16, 3, 7)
    assert (changed.basis.seed, changed.train.seed) == (5, 5)
    assert (changed.basis.distance_cap, changed.net.distance_cap) == (2, 2)


def test_open_options_follow_the_number_of_links_and_set_ones_stay():
    anchored = find_preset("anchored")
    small, large = anchored.resolve_defaults(4_000), anchored.resolve_defaults(40_000)
    assert small.train.copies > 0 == large.train.copies
    assert small.net.dropout > large.net.dropout
    given = find_preset(
        "anchored", batch_size=32, learning_rate=1e-4, copies=1, dropout=0.1, feature_dropout=0.0, hard_share=0.1
    )
    assert given.resolve_defaults(4_000) == given.resolve_defaults(40_000) == given
    assert find_preset("paper", hard_share=0.0).resolve_defaults(4_000).train == replace(
        PRESETS["paper"].train, hard_share=0.0
    )


@pytest.mark.parametrize(
    "config", [NetConfig(distance_cap=2), replace(PAPER, distance_cap=2)], ids=["anchored", "paper"]
)
def test_distance_classes_that_it_does_not_know_are_refused(config):
    """Or their rows would be read as if they had no distance."""
    with pytest.raises(InputError, match="distance_cap"):
        make_net(config)(link_batch())


def test_the_papers_network_reads_out_as_seal_does():
    """The readout is a room of its own: any network of ours can have it."""
    net = make_net(replace(PAPER, pooling="dgcnn", sort_rows=12))
    batch = link_batch("paper")
    score = net(batch)
    assert score.shape == (batch.num_links,)
    assert torch.allclose(net(permuted(batch, 3)), score, atol=1e-9)
