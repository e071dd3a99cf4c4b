"""Training negatives by HeaRT's recipe: as hard as those of a validation link, and never a pair that is asked about."""

from dataclasses import replace

import pytest
import torch

from llwlc import metrics, splits
from llwlc.models._llwlc.presets import find_preset
from llwlc.splits._heart import draw_hard_training_negatives, hard_negatives
from llwlc.splits._negatives import pair_number
from llwlc.training._evaluation_links import MAX_HARD_NEGATIVES, subsample_evaluation
from llwlc.training._loop import validation_score
from people import people


@pytest.fixture(scope="module")
def split():
    return splits.make(people(), protocol="seal", seed=0)


def test_they_are_non_links_that_nobody_asks_about_each_once(split):
    found = draw_hard_training_negatives(split, 500, seed=0)
    n, number = 90, pair_number(draw_hard_training_negatives(split, 500, seed=0), 90)
    assert len(found) == 500
    assert len(torch.unique(number)) == 500
    for name in ("train_pos", "valid_pos", "valid_neg", "test_pos", "test_neg"):
        assert not torch.isin(number, pair_number(getattr(split, name), n)).any(), name
    assert torch.equal(found, draw_hard_training_negatives(split, 500, seed=0))
    assert not torch.equal(found, draw_hard_training_negatives(split, 500, seed=1))


def test_they_are_partners_that_the_recipe_names(split, monkeypatch):
    import numpy as np

    from llwlc.splits import _heart as heart

    monkeypatch.setattr(heart, "HARDEST", 5)
    found = {tuple(sorted(pair)) for pair in draw_hard_training_negatives(split, 10**6, seed=0).tolist()}
    # the recipe breaks ties at random, so the oracle is asked for some more
    named = hard_negatives(
        split.train_graph, split.train_pos, known=split.train_graph, num_hard=60, rng=np.random.default_rng(1)
    )
    allowed = {tuple(sorted(pair)) for pair in named.reshape(-1, 2).tolist()}
    assert found
    assert len(found & allowed) > 0.95 * len(found)


def test_none_of_them_where_there_is_no_room():
    full = splits.make(people(), protocol="seal", seed=0)
    assert len(draw_hard_training_negatives(full, 0, seed=0)) == 0


def test_a_quarter_of_the_pool_where_links_are_asked_among_hard_ones():
    plain, hard = (find_preset("anchored").resolve_defaults(4000, hard=hard).train for hard in (False, True))
    assert (plain.hard_share, plain.select) == (0.0, "both")
    assert (hard.hard_share, hard.select) == (0.25, "mrr")
    given = find_preset("anchored", hard_share=0.5, select="auc").resolve_defaults(4000, hard=True).train
    assert (given.hard_share, given.select) == (0.5, "auc")


def test_the_epoch_is_chosen_by_the_rank_among_a_link_s_own_negatives():
    pos, neg = torch.tensor([1.0, 5.0]), torch.tensor([[0.0, 0.5], [6.0, 4.0]])
    assert validation_score("mrr", pos, neg) == metrics.mrr(pos, neg) == 0.75
    assert validation_score("auc", pos, neg) == metrics.auc(pos, neg.reshape(-1))
    assert validation_score("mrr", pos, neg.reshape(-1)) == metrics.mrr(pos, neg.reshape(-1))


def test_some_of_the_hard_negatives_choose_and_all_of_them_measure(split):
    rows = torch.randint(0, 90, (len(split.valid_pos), 300, 2))
    tests = torch.randint(0, 90, (len(split.test_pos), 300, 2))
    few = subsample_evaluation(replace(split, valid_neg=rows, test_neg=tests), None, seed=0)
    assert few.valid_neg.shape[1] == MAX_HARD_NEGATIVES
    assert torch.equal(few.test_neg, tests)
