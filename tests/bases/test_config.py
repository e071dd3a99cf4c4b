"""BasisConfig checks itself, and is the same question in every door."""

import pytest
import torch

import llwlc
from llwlc.bases._config import BasisConfig
from llwlc.errors import InputError
from llwlc.models._llwlc.presets import PRESETS, find_preset
from people import people

WRONG = {
    "hops": (0, -1, 1.5, "2", True, None),
    "steps": (0, -3, 2.5, "10", False),
    "start": ("qury", 3, None),
    "laplacian": ("normalised", None),
    "constraints": ("foo", "neumann+foo", "", 3),
    "count": (-1, 1.5, "some", "5", None),
    "max_nodes_per_hop": (0, -5, 2.5),
    "distance_cap": (0, 22),
    "seed": (0.5, "1", None),
}


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in WRONG.items() for value in values], ids=str
)
def test_an_invalid_option_is_refused_by_name(name, value):
    with pytest.raises(InputError, match="constraint" if name == "constraints" else name):
        BasisConfig(**{name: value})
    with pytest.raises(InputError):
        llwlc.link_bases(people(), torch.tensor([[0, 1]]), **({name: value} if name != "distance_cap" else {"hops": 0}))


def test_a_predictor_refuses_it_before_any_work():
    with pytest.raises(InputError, match="start must be"):
        llwlc.LinkPredictor(start="qury").make_model()
    with pytest.raises(InputError, match="steps must be"):
        llwlc.LinkPredictor(steps=0).make_model()
    with pytest.raises(InputError, match="hops must be"):
        llwlc.LinkPredictor(hops=0).make_model()


def test_a_config_and_its_options_ask_for_the_same():
    graph, pairs = people(), torch.tensor([[0, 1], [5, 70]])
    config = BasisConfig(constraints="vertex_deleted", count=3, steps=6, seed=4)
    one = llwlc.link_bases(graph, pairs, config, epoch=2)[1]
    two = llwlc.link_bases(graph, pairs, constraints="vertex_deleted", count=3, steps=6, seed=4, epoch=2)[1]
    changed = llwlc.link_bases(graph, pairs, config, epoch=2, count=4)[1]
    assert torch.equal(one.vectors, two.vectors)
    assert not torch.equal(one.values, changed.values)


@pytest.mark.parametrize(
    ("name", "options", "why"),
    [
        ("paper", {"features": 64, "node_features": False}, "nothing reads features"),
        ("paper", {"cosines": True}, "no features are filtered"),
        ("paper", {"features": 64, "cosines": True}, "no features are filtered"),
        ("paper", {"feature_dropout": 0.2}, "there are no features"),
        ("paper", {"filtered_channels": 32}, "there are no features"),
        ("anchored", {"features": 0, "filtered_channels": 8}, "there are no features"),
        ("anchored", {"count": 3}, "no constraint here takes it"),
        ("anchored", {"copies": 0, "edge_dropout": 0.2}, "no thinned copies"),
        ("anchored", {"constraints": "vertex_deleted", "copies": 2}, "fresh negatives"),
        ("anchored", {"constraints": "vertex_deleted", "negative_pool": 2}, "fresh negatives"),
        ("paper", {"sort_rows": 20}, "training sets it"),
        ("anchored", {"feature_channels": 20}, "follows from features"),
    ],
    ids=str,
)
def test_an_option_without_effect_is_refused(name, options, why):
    with pytest.raises(InputError, match=f"would have no effect: .*{why}"):
        llwlc.LinkPredictor(name, **options).make_model()


def test_options_that_work_together_are_taken():
    assert find_preset("paper", features=16, filtered_channels=8, cosines=True).features == 16
    assert find_preset("anchored", constraints="neumann+vertex_deleted", count=3).basis.stochastic
    assert find_preset("anchored", constraints="vertex_deleted", count="all").basis.count == "all"
    for name in PRESETS:
        assert find_preset(name, seed=3).basis.seed == 3
