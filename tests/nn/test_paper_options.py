"""The paper's network in its open choices: every option does what it says, and the compiled kernels leave to torch what they do not know."""

import pytest
import torch

from llwlc.bases.encoded_links import encode
from llwlc.bases.link_bases import link_bases
from llwlc.graph.graph import Graph
from llwlc.nn.config import PAPER, NetConfig
from llwlc.nn.conv import SpectralMLP
from llwlc.nn.net import LLwLCNet
from llwlc.nn.packed import not_packable
from llwlc.nn.pooling import sort_pool
from llwlc.subgraphs.extraction import extract
from llwlc.subgraphs.labels import distance_encoding, drnl, drnl_of_classes
from llwlc.training.node_features import NodeFeatures
from llwlc.training.plan import without_idle
from llwlc.training.presets import preset
from llwlc.training.scoring import Scorer

GRAPH = Graph.from_edges(torch.randint(60, (150, 2), generator=torch.Generator().manual_seed(1)), num_nodes=60)
PAIRS = torch.cat([GRAPH.edges[:12], torch.tensor([[0, 59], [3, 40]])])
X = torch.rand(60, 7, generator=torch.Generator().manual_seed(2))
OPTIONS = {
    "drnl": {"labels": "drnl", "distance_cap": 5},
    "none": {"labels": "none"},
    "features": {"features": 7},
    "powers": {"powers": 3},
    "sort channel": {"pooling": "dgcnn", "sort_channel": True, "jumping": True, "head": 128},
    "common": {"features": 7, "node_features": False, "filtered_channels": 8, "common": True},
}


def made(**options) -> tuple:
    """A network of the paper's preset with these options, its links and the features that it reads."""
    chosen = preset("paper", **options)
    width = 7 if chosen.features else 0
    with torch.random.fork_rng():
        torch.manual_seed(3)
        net = LLwLCNet(NetConfig(**(vars(chosen.net) | {"feature_channels": width}))).eval()
    return net, encode(GRAPH, PAIRS, chosen.basis, about=""), X if width else None


@pytest.mark.parametrize("hops", [1, 2, 3])
def test_seals_labels_are_a_function_of_whole_distances(hops):
    subs = extract(GRAPH, PAIRS, hops=hops)
    cap = 2 * hops + 1
    assert torch.equal(drnl_of_classes(cap)[distance_encoding(subs, cap)], drnl(subs))


def test_seals_labels_need_whole_distances():
    with pytest.raises(ValueError, match="distance_cap=7 with hops=3"):
        preset("paper", labels="drnl", distance_cap=5, hops=3)


def test_a_plan_of_fewer_hops_keeps_the_labels_whole():
    planned = without_idle(preset("paper", **OPTIONS["drnl"]), {"hops": 1})
    assert (planned.basis.hops, planned.net.distance_cap, planned.basis.distance_cap) == (1, 3, 3)


@pytest.mark.parametrize("name", OPTIONS)
def test_an_option_changes_the_scores_and_torch_takes_over_from_the_kernel(name):
    net, links, x = made(**OPTIONS[name])
    plain, plain_links, _ = made()
    scores = Scorer(net, NodeFeatures(x))(links)
    assert not torch.allclose(scores, Scorer(plain, NodeFeatures())(plain_links))
    assert "torch" in not_packable(net)
    with torch.no_grad():
        batch = links.batch(torch.arange(len(links))).to("cpu", torch.float64)
        assert torch.allclose(scores, net.double()(batch, None if x is None else x.double()), atol=1e-9)


def test_features_stand_beside_the_labels_and_are_mapped_before_they_are_gathered():
    net, links, x = made(features=7)
    batch = links.batch(torch.arange(len(links)))
    rows = net.input(batch, x)
    own = x[batch.node] @ net.input.features.weight.T
    assert torch.allclose(rows[:, net.classes + 1 :], own, atol=1e-6)
    assert torch.equal(rows[:, : net.classes].argmax(1), batch.label)
    assert torch.equal(rows[:, net.classes], batch.degree.log1p())


def test_features_act_in_the_papers_preset_and_cost_their_parameters():
    plain, with_features = made()[0], made(features=64)[0]
    assert with_features.num_parameters == plain.num_parameters + 7 * 32 + 32 * 32


def test_the_preset_that_reaches_the_papers_figures_is_the_reading_that_was_measured():
    from llwlc.experiments.chain import PAPER_QUERY, READINGS

    assert preset("paper-query") == preset("paper", **READINGS[PAPER_QUERY])


def test_a_filter_reads_the_powers_side_by_side():
    _, basis = link_bases(GRAPH, PAIRS, constraints="none", start="random")
    mlp = SpectralMLP(2, powers=3)
    largest = basis.values.amax(1, keepdim=True)
    relative = basis.values / largest
    wanted = mlp.layers(torch.stack([basis.values, relative**2, relative**3], 2)) * basis.mask.unsqueeze(2)
    assert torch.allclose(mlp(basis), wanted)


def test_without_labels_no_distance_reaches_the_network():
    net, links, _ = made(labels="none")
    batch = links.batch(torch.arange(len(links)))
    other = type(batch)(**(vars(batch) | {"label": batch.label.flip(0)}))
    assert torch.equal(net(batch), net(other))


def test_the_channel_to_sort_by_is_the_last_one_of_the_rows():
    net, links, _ = made(**OPTIONS["sort channel"])
    batch, seen = links.batch(torch.arange(4)), []
    net.pool.register_forward_hook(lambda module, given, out: seen.append(given[0]))
    net(batch)
    assert seen[0].shape[1] == 2 * PAPER.channels + 1
    assert seen[0][:, -1].abs().max() <= 1
    assert seen[0][:, -1].min() < 0  # tanh, no ReLU


def test_rows_are_sorted_as_a_list_of_tuples_sorts():
    generator = torch.Generator().manual_seed(5)
    for channels in (1, 4, 5):
        x = torch.randint(-2, 3, (40, channels), generator=generator).float() * torch.tensor(0.1)
        x[3], x[4] = -0.0, 0.0
        ptr = torch.tensor([0, 17, 17, 40])
        found = sort_pool(x, ptr, 30)
        for b, (begin, end) in enumerate(((0, 17), (17, 17), (17, 40))):
            rows = sorted(
                ([v + 0.0 for v in row] for row in x[begin:end].tolist()), key=lambda r: r[::-1], reverse=True
            )
            assert found[b, : len(rows)].add(0.0).tolist() == rows
            assert not found[b, len(rows) :].any()


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"sort_channel": True, "pooling": "class"}, "sorts nothing"),
        ({"redraw": True, "start": "query"}, "drawn at random"),
        ({"use_validation": True, "patience": 3}, "last epoch"),
        ({"feature_dropout": 0.2}, "features is 0"),
    ],
)
def test_an_option_without_effect_is_refused(options, why):
    with pytest.raises(ValueError, match=why):
        preset("paper", **options)


def test_unknown_labels_are_named():
    with pytest.raises(ValueError, match="distance, drnl, none, got 'deg'"):
        preset("paper", labels="deg")
