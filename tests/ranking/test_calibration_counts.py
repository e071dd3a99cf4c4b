"""Probabilities for a stated share of missing links: links are planted with known odds, hidden, and looked for."""

import math

import numpy as np
import pytest
import torch

from llwlc.ranking import _calibration_counts as calibration_counts
from llwlc.ranking._calibration_counts import CalibrationCounts, LinkNumbers, StageScores
from llwlc.ranking._candidate_calibration import ratio_from_share
from llwlc.ranking._curve_fitting import StageCounts, fit_candidate_calibration, fit_counts, pool_counts
from llwlc.ranking._ranking import RankedCandidates, RankingConfig
from llwlc.ranking._recommendations import find_ratio_for_prior

NONE, TRAIN, VALID, TEST, MISSING = range(5)


class File:
    """Pairs whose odds to be a link grow with their score; a share of the links is missing from the file, and the rest
    is split 85 : 5 : 10. `growth`: how scores grow with each further link known; `gain`: what links gain beyond it from
    the first stage to the second.
    """

    def __init__(self, share: float, seed: int = 0, pairs: int = 60_000, growth: float = 0.0, gain: float = 0.0):
        rng = np.random.default_rng(seed)
        score = rng.normal(size=pairs)
        link = rng.random(pairs) < 1 / (1 + np.exp(2.5 - 2.5 * score))
        part = rng.choice(
            [TRAIN, VALID, TEST, MISSING], pairs, p=[0.85 * (1 - share), 0.05 * (1 - share), 0.1 * (1 - share), share]
        )
        self.part = np.where(link, part, NONE)
        count = [int((self.part == each).sum()) for each in range(5)]
        self.sizes = LinkNumbers(count[TRAIN], count[TRAIN] + count[VALID], count[VALID], count[TEST])
        self.missing_per_known = count[MISSING] / self.sizes.known
        known = np.array([self.sizes.training, self.sizes.known_at_test, self.sizes.known])
        self.scores = [score * slope for slope in (known / known[0]) ** growth]
        steps = np.log(known / known[0]) / np.log(known[1] / known[0])
        self.scores = [score + gain * step * link for score, step in zip(self.scores, steps, strict=True)]
        self.valid = self._stage(0, [TRAIN], VALID)
        self.test = self._stage(1, [TRAIN, VALID], TEST)
        candidate = ~np.isin(self.part, [TRAIN, VALID, TEST])
        self.score, self.truth = torch.from_numpy(self.scores[2][candidate]), self.part[candidate] == MISSING
        self.sharing = torch.ones(len(self.score), dtype=torch.bool)

    def _stage(self, at: int, known: list[int], hidden: int) -> StageScores:
        candidate = np.flatnonzero(~np.isin(self.part, known))
        return StageScores(
            torch.from_numpy(candidate),
            torch.from_numpy(self.scores[at][candidate]),
            torch.ones(len(candidate), dtype=torch.bool),
            torch.from_numpy(self.part[candidate] == hidden),
        )

    def counts(self) -> CalibrationCounts:
        return CalibrationCounts.of(self.valid, self.test, self.sizes)

    def shares(self, log_ratio: torch.Tensor, ratio: float, top: int) -> tuple[float, float]:
        """Predicted and observed share of missing links among the best."""
        best = log_ratio.argsort(descending=True)[:top]
        return float(torch.sigmoid(log_ratio[best] + math.log(ratio)).mean()), float(self.truth[best.numpy()].mean())


@pytest.fixture
def one_refit(monkeypatch):
    monkeypatch.setattr(calibration_counts, "REFITS", 1)


@pytest.mark.parametrize("share", [0.1, 0.2, 0.3])
@pytest.mark.parametrize("growth", [0.0, 1.0])
def test_planted_links_come_true_as_predicted_and_by_the_formula_before_they_did_not(one_refit, share, growth):
    errors: dict[str, list[float]] = {"refit": [], "before": [], "of the file": []}
    for seed in range(6):
        file = File(share, seed, growth=growth)
        told = file.counts().refit(file.missing_per_known).log_ratio(file.score, file.sharing)
        training = file.sizes.training
        before = fit_candidate_calibration(
            file.valid.score,
            file.valid.sharing,
            file.valid.hidden,
            rho=file.sizes.valid / training,
            other=file.sizes.test / training,
        ).log_ratio(file.score, file.sharing)
        for name, log_ratio, ratio in (
            ("refit", told, file.missing_per_known),
            ("before", before, file.missing_per_known),
            # M ÷ F instead of M ÷ T
            ("of the file", told - math.log(file.sizes.known / training), file.missing_per_known),
        ):
            predicted, observed = file.shares(log_ratio, ratio, 1_000)
            errors[name].append(predicted - observed)
    mean = {name: float(np.mean(values)) for name, values in errors.items()}
    noise = np.sqrt(0.25 / 1_000 / 6)
    assert abs(mean["refit"]) < 0.01 + 2 * noise, mean
    if growth == 0:
        assert mean["before"] < -0.05 - 3 * noise, mean
        assert mean["of the file"] < -0.01, mean


def test_links_that_gain_from_stage_to_stage_are_foreseen(one_refit, monkeypatch):
    def mean_error() -> float:
        errors = []
        for seed in range(6):
            file = File(0.1, seed, gain=0.08)
            told = file.counts().refit(file.missing_per_known).log_ratio(file.score, file.sharing)
            predicted, observed = file.shares(told, file.missing_per_known, 1_000)
            errors.append(predicted - observed)
        return float(np.mean(errors))

    foreseen = mean_error()
    monkeypatch.setattr(calibration_counts, "measure_gain", lambda *given: 0.0)
    not_foreseen = mean_error()
    assert not_foreseen < -0.05
    assert abs(foreseen) < 0.5 * abs(not_foreseen)


def test_ranges_hold_the_truth_in_about_nine_cases_of_ten():
    from llwlc.ranking._evaluation import estimate_precision

    inside = []
    for seed in range(15):
        file = File(0.1, seed, pairs=8_000)
        config = RankingConfig(None, None, file.counts().refit(file.missing_per_known), 0.1, file.counts())  # type: ignore[arg-type]
        log_ratio = config.calibration.log_ratio(file.score, file.sharing)
        order = log_ratio.argsort(descending=True)
        ranked = RankedCandidates(order, file.score[order], file.sharing[order], log_ratio[order], order[:0])
        for top in (50, 200):
            _, low, high = estimate_precision(ranked, config, file.missing_per_known, top)
            inside.append(low <= file.truth[order[:top].numpy()].mean() <= high)
    assert np.mean(inside) >= 0.8


def test_ranges_are_wide_where_nearly_all_candidates_are_hidden_links():
    """Odds of 30 and of 300 are hardly told apart then: refits of the hits alone all say the same (widths of 0.2)."""
    widths = []
    for seed in range(4):
        file = File(0.3, seed, pairs=20_000)
        calibration = file.counts().refit(file.missing_per_known)
        best = calibration.log_ratio(file.score, file.sharing).argsort(descending=True)[:50]
        log_odds = calibration.draws(file.score[best], file.sharing[best]) + math.log(file.missing_per_known)
        shares = torch.sigmoid(log_odds).mean(1)
        widths.append(float(shares.quantile(0.95) - shares.quantile(0.05)))
    assert min(widths) > 0.27, widths


def test_a_list_that_was_measured_as_bad_does_not_claim_to_be_good():
    """Nine of ten validation links stood first, by luck or since the model was chosen by them; of 80 test links the
    best fifty held two.
    """
    score = torch.linspace(5, -5, 4_000)
    everything = torch.arange(4_000)
    valid, test = (torch.zeros(4_000, dtype=torch.bool) for _ in range(2))
    valid[:18:2], test[10:50:20] = True, True
    test[200::50] = True
    valid[3_000] = True
    stages = [StageScores(everything, score, torch.ones(4_000, dtype=torch.bool), hidden) for hidden in (valid, test)]
    counts = CalibrationCounts.of(*stages, LinkNumbers(800, 800, 40, 80))
    alone = fit_candidate_calibration(score, stages[0].sharing, valid, rho=0.05, other=0.1)
    ratio = ratio_from_share(0.08)  # as many as test links: a list like the one that was measured

    def claim(calibration) -> float:
        return float(torch.sigmoid(calibration.log_ratio(score[:50], stages[0].sharing[:50]) + math.log(ratio)).mean())

    measured = float(test[:50].double().mean())
    assert claim(alone) > 5 * measured
    refitted = counts.refit(ratio)
    assert claim(refitted) < 0.5 * claim(alone)
    draws = torch.sigmoid(refitted.draws(score[:50], stages[0].sharing[:50]) + math.log(ratio)).mean(1)
    assert float(draws.quantile(0.05)) < 3 * measured  # the range admits what was measured


def test_one_link_among_three_candidates_of_a_kind_does_not_make_all_of_them_links():
    rng = np.random.default_rng(0)
    score = torch.from_numpy(np.append(rng.normal(size=3_000), [-0.5, -2.0, -2.5]))
    hidden = torch.from_numpy(np.append(rng.random(3_000) < 0.03, [True, False, False]))
    sharing = torch.arange(3_003) < 3_000
    stages = [StageScores(torch.arange(3_003), score, sharing, part) for part in (hidden & sharing, hidden)]
    counts = CalibrationCounts.of(*stages, LinkNumbers(2_000, 2_000, 90, 90))
    log_ratio = counts.refit(0.1).log_ratio(score, sharing)
    chance = torch.sigmoid(log_ratio + math.log(0.1))
    assert chance[~sharing].mean() < 0.4  # 0.56 where the prior knows of no other kind
    assert chance[sharing].mean() == pytest.approx(0.03 * 200 / 90, rel=0.5)


def test_counts_that_are_kept_give_the_same_curves_as_the_raw_data():
    file = File(0.1, pairs=10_000)
    ratio = 0.07
    counts = file.counts()
    kept = CalibrationCounts(
        *(
            tuple(StageCounts(s.score, s.hits, s.count, s.rho, s.other) for s in kind)
            for kind in (counts.sharing, counts.apart)
        ),
        counts.known_per_training,
        counts.unit,
    )
    assert kept == counts
    assert kept.refit(ratio) == file.counts().refit(ratio)
    sizes = file.sizes
    raw = [
        StageCounts.of(
            stage.score,
            stage.hidden,
            hidden / sizes.training,
            other / sizes.training + ratio * sizes.known / sizes.training,
        )
        for stage, hidden, other in ((file.test, sizes.test, 0), (file.valid, sizes.valid, sizes.test))
    ]
    plain, refitted = fit_counts(raw, pseudo=pool_counts(raw)), counts.refit(ratio).sharing
    lift = math.log(sizes.known / sizes.training)
    assert refitted.knots == pytest.approx(plain.knots)
    assert refitted.weights == pytest.approx((plain.weights[0] + lift, *plain.weights[1:]))


def test_every_bin_counts_its_candidates_and_the_best_stand_alone():
    score = torch.randn(5_000, generator=torch.Generator().manual_seed(0))
    hidden = score > 1
    counts = StageCounts.of(score, hidden, 0.1, 0.2)
    assert counts.candidates == 5_000
    assert sum(counts.hits) == int(hidden.sum())
    assert counts.score[:200] == tuple(score.double().sort(descending=True).values[:200].tolist())
    assert np.dot(counts.score, counts.count) == pytest.approx(float(score.double().sum()), abs=1e-6)
    assert len(counts.score) < 300
    assert list(counts.score) == sorted(counts.score, reverse=True)
    assert StageCounts.of(score[:0], hidden[:0], 0.1, 0.2).score == ()


def test_more_missing_links_and_a_prior(one_refit):
    file = File(0.1, pairs=10_000)
    counts = file.counts()
    few, many = (counts.refit(ratio).log_ratio(file.score, file.sharing) for ratio in (0.02, 0.5))
    best = few.argsort(descending=True)[:1_000]
    assert (many[best] > few[best]).all()  # links that are missing are no evidence against a link
    config = RankingConfig(None, None, counts.refit(0.1), 0.1, counts)  # type: ignore[arg-type]
    ranked = RankedCandidates(file.score, file.score, file.sharing, few, file.score[:0])
    ratio = find_ratio_for_prior(ranked, config, len(file.score), 0.03)
    share = torch.sigmoid(counts.refit(ratio).log_ratio(file.score, file.sharing) + math.log(ratio)).mean()
    assert float(share) == pytest.approx(0.03, rel=1e-4)


def test_refits_spread_both_kinds_alike_and_without_draws_there_are_none():
    file = File(0.1, pairs=4_000)
    counts = file.counts()
    assert counts.refit(0.1, draws=False).sharing.others == ()
    assert counts.refit(0.1, draws=False).sharing.weights == counts.refit(0.1).sharing.weights
    apart = [weights[0] for weights in counts.refit(0.1).apart.others]  # no such candidate: the spread alone
    assert np.std(apart) == pytest.approx(calibration_counts.SPREAD, rel=0.1)
    assert np.mean(apart) == pytest.approx(math.log(counts.known_per_training), abs=1e-9)
