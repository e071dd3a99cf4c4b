"""An untrained score in the network's place: only where it is better by more than noise, or where there is little to
tell by.
"""

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score

from llwlc import splits
from llwlc._fitting.fallback import PopulationScores, auc_difference, find_fallback, placements
from llwlc.heuristics._registry import HEURISTICS
from people import people


@pytest.mark.parametrize("seed", range(5))
def test_the_auc_is_scikit_learns_and_the_error_that_of_a_bootstrap(seed):
    rng = np.random.default_rng(seed)
    pos, neg = rng.normal(1, 1, 150).round(1), rng.normal(0, 1, 200).round(1)  # with ties
    other_pos, other_neg = pos + rng.normal(0, 1, 150), neg + rng.normal(0, 1, 200)
    a, b, error = auc_difference(pos, neg, other_pos, other_neg)
    label = np.r_[np.ones(150), np.zeros(200)]
    assert a == pytest.approx(roc_auc_score(label, np.r_[pos, neg]))
    assert b == pytest.approx(roc_auc_score(label, np.r_[other_pos, other_neg]))
    drawn = []
    for _ in range(400):
        i, j = rng.integers(0, 150, 150), rng.integers(0, 200, 200)
        drawn.append(placements(pos[i], neg[j])[0].mean() - placements(other_pos[i], other_neg[j])[0].mean())
    assert error == pytest.approx(np.std(drawn), rel=0.25)


@pytest.fixture
def split():
    return splits.make(people(), protocol="random", seed=0, val=0.3, test=0.1)


def population(split, pos, neg, links=None) -> PopulationScores:
    some = slice(0, links)
    return PopulationScores(split.valid_pos[some], split.valid_neg[some], pos[some], neg[some])


def test_a_network_that_guesses_is_beaten_by_the_best_score(split):
    generator = torch.Generator().manual_seed(0)
    guess = torch.rand(2, len(split.valid_pos), generator=generator).double()
    fallback = find_fallback(split.valid_graph, [population(split, *guess)])
    assert fallback is not None
    aucs = {}
    for heuristic in HEURISTICS.records():
        pos, neg = (
            heuristic.load()(split.valid_graph, pairs).double().numpy() for pairs in (split.valid_pos, split.valid_neg)
        )
        aucs[heuristic.name] = placements(pos, neg)[0].mean()
    assert fallback.score == pytest.approx(max(aucs.values()))
    assert "did better on the" in fallback.sentence


def test_a_network_that_knows_is_beaten_by_nothing(split):
    pos, neg = torch.ones(len(split.valid_pos)), torch.zeros(len(split.valid_neg))
    assert find_fallback(split.valid_graph, [population(split, pos, neg)]) is None


def test_with_few_links_the_better_one_is_taken_whatever_the_noise():
    split = splits.make(people(features=False), protocol="random", seed=0, val=0.3, test=0.1)
    known = [record.load() for record in HEURISTICS.records() if not record.features]
    scores = [[score(split.valid_graph, p).double() for p in (split.valid_pos, split.valid_neg)] for score in known]
    pos, neg = max(scores, key=lambda score: placements(*(part.numpy() for part in score))[0].mean())
    neg[int(neg.argmin())] = neg.max() + 1  # a little worse than the score itself
    few = find_fallback(split.valid_graph, [population(split, pos, neg, 49)])
    assert few is not None
    assert few.links == 49
    assert "only 49 validation links" in few.sentence
    assert find_fallback(split.valid_graph, [population(split, pos, neg)]) is None


def test_scores_of_features_are_not_asked_without_features():
    split = splits.make(people(features=False), protocol="random", seed=0)
    guess = torch.rand(2, len(split.valid_pos)).double()
    fallback = find_fallback(split.valid_graph, [population(split, *guess)])
    assert fallback is None or not HEURISTICS[fallback.name].features
