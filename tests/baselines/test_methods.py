"""Methods behind one interface: fitted on a split, asked for scores."""

import pytest
import torch

from llwlc import baselines, datasets, heuristics, splits
from llwlc.errors import InputError


@pytest.fixture(scope="module")
def split():
    return splits.make(datasets.load("cora"), protocol="ncn", seed=0)


@pytest.mark.parametrize("name", list(heuristics.HEURISTICS))
def test_an_untrained_score_is_its_heuristic_on_what_the_test_stage_knows(split, name):
    pairs = torch.cat([split.test_pos[:50], split.test_neg[:50]])
    score = baselines.get(name).fit(datasets.load("cora"), split, seed=3).score(pairs)
    assert torch.equal(score, heuristics.HEURISTICS[name].load()(split.test_graph, pairs))
    assert torch.equal(score, baselines.get(name).fit(datasets.load("cora"), split).score(pairs.flip(1)))


def test_every_method_has_a_name_and_a_line_about_it():
    assert set(baselines.names()) == set(heuristics.HEURISTICS)
    assert all(record.about for record in baselines.METHODS.records())


def test_an_unknown_method_is_named_with_the_nearest_one():
    with pytest.raises(InputError, match=r"no method is called 'adamic'; there are .* Did you mean adamic-adar"):
        baselines.get("adamic")
