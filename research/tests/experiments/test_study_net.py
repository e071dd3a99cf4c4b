"""The readings of the paper that no preset has: each option does what it says, alone and as the option of a cell."""

from dataclasses import fields, replace

import pytest
import torch

from llwlc.bases._encoded_links import encode_pairs
from llwlc.bases._link_bases import link_bases
from llwlc.graph._graph import Graph
from llwlc.models._llwlc.model import LLwLC
from llwlc.models._llwlc.presets import PRESETS, find_preset
from llwlc.models._llwlc.scoring import Scorer
from llwlc.nn._compiled_training import why_not_kernel_training
from llwlc.nn._config import PAPER, NetConfig
from llwlc.nn._conv import SpectralMLP
from llwlc.nn._gpu_network import why_not_gpu_network
from llwlc.nn._net import LLwLCNet
from llwlc.nn._weight_packing import unsupported_config, why_not_packable
from llwlc.subgraphs._extraction import extract
from llwlc.subgraphs._labels import distance_encoding, drnl
from llwlc.training._node_features import NodeFeatures
from research.experiments import measures
from research.experiments.cell import Cell
from research.experiments.chain import PAPER_QUERY, READINGS, SEAL_READOUT
from research.experiments.leaks import LinkKept
from research.experiments.study_model import StudyModel, cell_model, cell_preset
from research.experiments.study_net import PowersMLP, StudyConfig, StudyNet, drnl_of_classes

GRAPH = Graph.from_edges(torch.randint(60, (150, 2), generator=torch.Generator().manual_seed(1)), num_nodes=60)
PAIRS = torch.cat([GRAPH.edges[:12], torch.tensor([[0, 59], [3, 40]])])
X = torch.rand(60, 7, generator=torch.Generator().manual_seed(2))
OPTIONS = {
    "drnl": {"labels": "drnl", "distance_cap": 5},
    "none": {"labels": "none"},
    "features": {"labels": "features", "features": 7},
    "powers": {"powers": 3},
    "sort channel": {"pooling": "dgcnn", "sort_channel": True, "jumping": True, "head": 128},
    "common": {"features": 7, "node_features": False, "filtered_channels": 8, "common": True},
}


def made(**options) -> tuple:
    """A network of the paper's preset with these options, its links and the features that it reads."""
    chosen = cell_preset("paper", **options)
    x = X if chosen.features else None
    with torch.random.fork_rng():
        torch.manual_seed(3)
        net = cell_model("paper", options).network(replace(chosen.net, feature_channels=0 if x is None else 7)).eval()
    return net, encode_pairs(GRAPH, PAIRS, chosen.basis, about=""), x


@pytest.mark.parametrize("hops", [1, 2, 3])
def test_seals_labels_are_a_function_of_whole_distances(hops):
    subs = extract(GRAPH, PAIRS, hops=hops)
    cap = 2 * hops + 1
    assert torch.equal(drnl_of_classes(cap)[distance_encoding(subs, cap)], drnl(subs))


def test_seals_labels_need_whole_distances():
    with pytest.raises(ValueError, match="distance_cap=7 with hops=3"):
        cell_preset("paper", labels="drnl", distance_cap=5, hops=3)


def test_algorithm_2_to_the_letter_reads_features_alone():
    """Neither a label nor a degree: X₀ is X, and X = 0 leaves every score the same."""
    net, links, x = made(**OPTIONS["features"])
    assert net.convs[0].in_channels == net.config.channels
    moved = replace(links, label=links.label.flip(0), degree=links.degree + 1)
    scores = Scorer(net, NodeFeatures(x))
    assert torch.equal(scores(links), scores(moved))
    assert Scorer(net, NodeFeatures(torch.zeros_like(x)))(links).std() < 1e-9
    with pytest.raises(ValueError, match="set features and node_features"):
        cell_preset("paper", labels="features")


@pytest.mark.parametrize("name", OPTIONS)
def test_an_option_changes_the_scores_and_torch_takes_over_from_the_kernels(name):
    net, links, x = made(**OPTIONS[name])
    plain, plain_links, _ = made()
    scores = Scorer(net, NodeFeatures(x))(links)
    assert not torch.allclose(scores, Scorer(plain, NodeFeatures())(plain_links))
    for reason in (why_not_packable(net), why_not_kernel_training(net), why_not_gpu_network(net)):
        assert reason == "StudyNet is a user's own network"
    assert "StudyConfig" in unsupported_config(net.config)  # no kernel is compiled for it
    with torch.no_grad():
        batch = links.batch(torch.arange(len(links))).to("cpu", torch.float64)
        assert torch.allclose(scores, net.double()(batch, None if x is None else x.double()), atol=1e-9)


@pytest.mark.parametrize("name", ["anchored", "paper"])
def test_without_its_options_it_is_our_network_weight_by_weight(name):
    shape = replace(PRESETS[name].net, feature_channels=8, pair_channels=5)
    nets = []
    for build in (lambda: LLwLCNet(shape), lambda: StudyNet(StudyConfig(**vars(shape)))):
        torch.manual_seed(7)
        nets.append(build().state_dict())
    assert list(nets[0]) == list(nets[1])
    assert all(torch.equal(nets[0][weight], nets[1][weight]) for weight in nets[0])


@pytest.mark.parametrize("name", OPTIONS)
def test_every_parameter_has_a_gradient(name):
    net, links, x = made(**OPTIONS[name])
    net(links.batch(torch.arange(len(links))), x).sum().backward()
    assert [k for k, p in net.named_parameters() if p.grad is None or not p.grad.any()] == []


def test_a_filter_reads_the_powers_side_by_side():
    _, basis = link_bases(GRAPH, PAIRS, constraints="none", start="random")
    mlp = PowersMLP(2, powers=3)
    largest = basis.values.amax(1, keepdim=True)
    relative = basis.values / largest
    wanted = mlp.layers(torch.stack([basis.values, relative**2, relative**3], 2)) * basis.mask.unsqueeze(2)
    assert torch.allclose(mlp(basis), wanted)
    assert isinstance(mlp, SpectralMLP)  # its learning rate is the filters'


def test_without_labels_no_distance_reaches_the_network():
    net, links, _ = made(labels="none")
    batch = links.batch(torch.arange(len(links)))
    assert torch.equal(net(batch), net(replace(batch, label=batch.label.flip(0))))


def test_the_channel_to_sort_by_is_the_last_one_of_the_rows():
    net, links, _ = made(**OPTIONS["sort channel"])
    batch, seen = links.batch(torch.arange(4)), []
    net.pool.register_forward_hook(lambda module, given, out: seen.append(given[0]))
    net(batch)
    assert seen[0].shape[1] == 2 * PAPER.channels + 1
    assert seen[0][:, -1].abs().max() <= 1
    assert seen[0][:, -1].min() < 0  # tanh, no ReLU


def test_the_features_of_common_neighbours_are_their_rows_of_v_f_vt_x_summed():
    net, links, x = made(**OPTIONS["common"])
    batch, sharing = links.batch(torch.arange(len(links))).to("cpu", torch.float64), 0
    net, x = net.double(), x.double()
    *_, shared = net.filtered.rows(batch, x)
    f = net.filtered.filter(batch.basis)
    for i, (start, stop) in enumerate(zip(batch.basis.ptr[:-1], batch.basis.ptr[1:], strict=True)):
        V, nodes = batch.basis.vectors[start:stop], batch.node[start:stop]
        filtered = torch.stack([V @ torch.diag(f[i, :, 0]) @ V.T @ x[nodes], x[nodes]], 1)
        pair = torch.stack([batch.node[batch.u[i]], batch.node[batch.v[i]]])
        both = GRAPH.has_edges(torch.cartesian_prod(pair, nodes)).view(2, -1).all(0)
        torch.testing.assert_close(shared[i], filtered[both].sum(0), rtol=1e-12, atol=1e-12)
        sharing += bool(both.any())
    assert sharing, "sums over no neighbours would prove nothing"


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"sort_channel": True, "pooling": "class"}, "sorts nothing"),
        ({"common": True, "features": 7}, "filtered_channels is 0"),
        ({"common": True, "filtered_channels": 8}, "features is 0"),
        ({"powers": 3, "feature_dropout": 0.2}, "features is 0"),
    ],
)
def test_an_option_without_effect_is_refused(options, why):
    with pytest.raises(ValueError, match=why):
        cell_preset("paper", **options)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"labels": "deg"}, "'distance', 'drnl', 'none' or 'features', got 'deg'"),
        ({"powers": 0}, "powers must be a whole number from 1 to 64"),
        (
            {"common": True, "filtered_channels": 8, "features": 7, "distance_cap": 1},
            "common needs a distance_cap of 2",
        ),
    ],
)
def test_a_value_that_is_none_of_its_is_refused(options, why):
    with pytest.raises(ValueError, match=why):
        cell_preset("paper", **options)


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_the_package_does_not_know_the_studys_options(options):
    own = set(options) & ({f.name for f in fields(StudyConfig)} - {f.name for f in fields(NetConfig)})
    assert own
    with pytest.raises(ValueError, match="no option is called"):
        find_preset("paper", **{name: options[name] for name in own})


def test_a_cell_has_the_package_s_own_model_unless_an_option_is_the_studys():
    assert type(cell_model("paper", {"skip": True})) is LLwLC
    assert type(cell_model("paper", {"skip": True}, "laplacian")) is LinkKept
    assert type(cell_model("paper", SEAL_READOUT)) is StudyModel
    with pytest.raises(ValueError, match="not made for a network with labels, sort_channel"):
        cell_model("paper", SEAL_READOUT, "laplacian")


def test_the_preset_that_reaches_the_papers_figures_is_the_reading_that_was_measured():
    assert find_preset("paper-query") == find_preset("paper", **READINGS[PAPER_QUERY])


def test_a_cell_with_the_studys_options_is_fitted_and_measured(tmp_path, monkeypatch):
    monkeypatch.setattr(measures, "cache_root", lambda: tmp_path)
    options = SEAL_READOUT | {"fraction": 0.02, "epochs": 1, "steps": 4}
    found = measures.measure(Cell("accuracy", "cora", "paper", "paper", options))
    assert found["options"] == options
    assert found["parameters"] > 20_000  # SEAL's readout
    assert 0 < found["auc"] < 1
