"""A blend is explained as one model: what its members add, with the parts of the network, is the whole score."""

import pytest
import torch

from llwlc._predictor import LinkPredictor
from llwlc.models._base import CANDIDATES, RANDOM
from llwlc.models._mixture import Mixture
from llwlc.ranking._adjustment import Adjustment
from people import QUICK, people

PAIR = torch.tensor([[3, 41]])


@pytest.fixture(scope="module")
def model():
    """A blend whose weights are set, so that the network is a part of it whatever 90 people teach."""
    members = "llwlc,adamic-adar,katz"
    made = LinkPredictor(model="blend", members=members, cache=None, minutes=None, **QUICK).fit(people())
    blend = made.model_
    split, features = made.run_.split, made.fitted_.features
    from llwlc.training._resources import Resources

    network = blend.members[0].fresh().fit(split, features, seed=0, resources=Resources())
    blend.parts = [network, *blend.members[1:]]
    slope = torch.tensor([0.6, 1.5, 0.3], dtype=torch.float64)
    offset = torch.tensor([-0.2], dtype=torch.float64)
    mixture = Mixture(torch.tensor([0.0, 0.5, 0.01], dtype=torch.float64), slope, slope / slope.sum(), offset)
    blend.mixtures = {RANDOM: mixture, CANDIDATES: mixture}
    width = features.pair_inputs.channels
    blend.adjustment = Adjustment((0.8, 1.2), ((0.1,) * width, (-0.2,) * width))
    blend._take_abilities()
    made.__dict__.pop("explainer_", None)
    return made


@pytest.mark.parametrize("population", ["random", "candidates"])
def test_the_parts_add_up_to_the_log_odds_of_the_blend(model, population):
    name = model.graph_.name
    found = model.explain(name(3), name(41), population=population)
    total = found.reference + sum(part.effect for part in found.parts)
    assert total == pytest.approx(found.predictions[0].log_odds, abs=1e-9)
    assert {"Adamic–Adar", "Katz"} <= {part.name for part in found.parts}
    assert any("This run is a blend" in note for note in found.notes)
    assert "Katz" in found.to_text()


def test_the_probability_is_that_of_the_score_and_of_the_recommendation(model):
    name = model.graph_.name
    found = model.explain(name(3), name(41))
    scored = model.score(PAIR)
    assert found.probability == pytest.approx(float(scored.probability[0]), abs=1e-6)
    assert found.predictions[0].score == pytest.approx(float(scored.score[0]), abs=1e-5)
    best = model.recommend(top=1)[0]
    among = model.explain(best.source, best.target, population="candidates")
    assert among.probability == pytest.approx(best.probability, abs=1e-5)


def test_what_is_beside_the_network_and_its_factor_give_the_score(model):
    blend, graph = model.model_, model.graph_
    pairs = torch.tensor([[a, b] for a in range(6) for b in range(30, 60, 4)])
    sharing = model.fitted_.features.pair_inputs(graph, pairs)[:, 0] > 0
    assert bool(sharing.any()) != bool(sharing.all())
    for population in (RANDOM, CANDIDATES):
        own = blend.explained.score(graph, pairs, population)
        total = blend.factor(population, sharing) * own + sum(blend.beside(graph, pairs, population).values())
        assert total.numpy() == pytest.approx(blend.score(graph, pairs, population).numpy())
