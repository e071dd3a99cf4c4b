"""The paper's network with features: they do what the options say, and the compiled kernels leave them to torch."""

from dataclasses import fields

import pytest
import torch

from llwlc.bases._encoded_links import encode_pairs
from llwlc.graph._graph import Graph
from llwlc.models._llwlc.presets import PRESETS, find_preset
from llwlc.models._llwlc.scoring import Scorer
from llwlc.nn._config import NetConfig
from llwlc.nn._net import LLwLCNet
from llwlc.nn._pooling import sort_pool
from llwlc.nn._weight_packing import why_not_packable
from llwlc.training._node_features import NodeFeatures

GRAPH = Graph.from_edges(torch.randint(60, (150, 2), generator=torch.Generator().manual_seed(1)), num_nodes=60)
PAIRS = torch.cat([GRAPH.edges[:12], torch.tensor([[0, 59], [3, 40]])])
X = torch.rand(60, 7, generator=torch.Generator().manual_seed(2))


def made(**options) -> tuple:
    """A network of the paper's preset with these options, its links and the features that it reads."""
    chosen = find_preset("paper", **options)
    width = 7 if chosen.features else 0
    with torch.random.fork_rng():
        torch.manual_seed(3)
        net = LLwLCNet(NetConfig(**(vars(chosen.net) | {"feature_channels": width}))).eval()
    return net, encode_pairs(GRAPH, PAIRS, chosen.basis, about=""), X if width else None


def test_features_change_the_scores_and_torch_takes_over_from_the_kernel():
    net, links, x = made(features=7)
    plain, plain_links, _ = made()
    scores = Scorer(net, NodeFeatures(x))(links)
    assert not torch.allclose(scores, Scorer(plain, NodeFeatures())(plain_links))
    assert "torch" in why_not_packable(net)
    with torch.no_grad():
        batch = links.batch(torch.arange(len(links))).to("cpu", torch.float64)
        assert torch.allclose(scores, net.double()(batch, x.double()), atol=1e-9)


def test_node_features_join_the_labels_and_are_mapped_before_the_gather():
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
        ({"redraw": True, "start": "query"}, "drawn at random"),
        ({"use_validation": True, "patience": 3}, "last epoch"),
        ({"feature_dropout": 0.2}, "features is 0"),
    ],
)
def test_an_option_without_effect_is_refused(options, why):
    with pytest.raises(ValueError, match=why):
        find_preset("paper", **options)


@pytest.mark.parametrize("name", [f.name for f in fields(NetConfig) if isinstance(f.default, bool | str)])
def test_every_switch_of_the_network_is_in_both_positions_in_some_preset(name):
    """What no preset uses is the study's, in research/."""
    assert len({getattr(known.net, name) for known in PRESETS.values()}) == 2
