"""What a fit keeps of its calibration, so that `recommend` fits the curves again for the share that is stated.

The links that are really missing from a file count as "no link" in the likelihood unless they are told: with the M
links of the stated share among the hidden ones, the curves are those of the links that are missing. Two stages say
where links were found: validation links on the training links alone, and test links beside which validation links were
known. Between these, and on the whole graph, scores grow with the number of known links, those of links that are still
hidden somewhat more; the counts are kept on the scale of the whole graph.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import ndtri
from torch import Tensor

from llwlc.ranking._candidate_calibration import CandidateCalibration
from llwlc.ranking._curve_fitting import REFITS, StageCounts, fit_counts, pool_counts
from llwlc.ranking._score_drift import Drift, count_steps, measure_gain, taper_gain

SPREAD = 0.25
"""Standard deviation, in log-odds, of what refits do not know: how a network's own missing links differ from the links
that were hidden. Chosen so that nine in ten of the 90 % ranges hold the observed number on `tune` networks:
`python -m research outside --use tune --show`."""


class StageScores(NamedTuple):
    """The candidates that a stage ranked: their numbers `[m]` (`pair_number`), scores, whether they share a neighbour,
    and which are the stage's `hidden` links.
    """

    numbers: Tensor
    score: Tensor
    sharing: Tensor
    hidden: Tensor


@dataclass(frozen=True)
class LinkNumbers:
    """Numbers of links: those that carry messages when validation and test links are looked for, and hidden ones."""

    training: int
    known_at_test: int
    valid: int
    test: int

    @property
    def known(self) -> int:
        """All links of the file."""
        return self.training + self.valid + self.test


@dataclass(frozen=True)
class CalibrationCounts:
    """The counts of both kinds of candidates at each stage, on the score's scale on the whole graph; `other` of each
    stage holds hidden links of the file only.

    `known_per_training`: links of the file for each training link; `unit`: as in `fit_candidate_calibration`.
    """

    sharing: tuple[StageCounts, ...]
    apart: tuple[StageCounts, ...]
    known_per_training: float
    unit: float = 1.0

    @classmethod
    def of(cls, valid: StageScores, test: StageScores, sizes: LinkNumbers, unit: float = 1.0) -> CalibrationCounts:
        """The counts of what both stages ranked."""
        rho_valid, rho_test = (max(part, 1) / sizes.training for part in (sizes.valid, sizes.test))
        kinds = []
        for sharing in (True, False):
            first, second = _only(valid, sharing), _only(test, sharing)
            drift, steps = find_drift(first, second), count_steps(sizes.training, sizes.known_at_test, sizes.known)
            gain = find_gain(first, second, drift, unit)
            kinds.append(
                (
                    _count(second, drift, gain, steps, rho_test, 0.0),
                    _count(first, drift, gain, 1 + steps if steps else 0.0, rho_valid, sizes.test / sizes.training),
                )
            )
        return cls(kinds[0], kinds[1], sizes.known / sizes.training, unit)

    def refit(self, missing_per_known: float, *, draws: bool = True) -> CandidateCalibration:
        """The curves for `missing_per_known` missing links per link of the file: log R per link of the file, so that a
        candidate is a missing link with log-odds log R + log(missing per known). `draws`: with refits, which carry
        `SPREAD` too.
        """
        return _refit(self, missing_per_known, REFITS if draws else 0)


@lru_cache(maxsize=16)
def _refit(counts: CalibrationCounts, missing_per_known: float, refits: int) -> CandidateCalibration:
    missing = missing_per_known * counts.known_per_training  # for each training link
    offset = math.log(counts.known_per_training)
    # one deviate for each refit, the same for both kinds: what is not known of a network is common to its pairs
    deviates = SPREAD * np.random.default_rng(1).permutation(ndtri((np.arange(refits) + 0.5) / max(refits, 1)))
    curves, pseudo = [], pool_counts((*counts.sharing, *counts.apart))
    for kind in (counts.sharing, counts.apart):
        told = [replace(stage, other=stage.other + missing) for stage in kind]
        curve = fit_counts(told, counts.unit, refits, pseudo=pseudo)
        others = (
            _lift(weights, offset + float(deviate)) for weights, deviate in zip(curve.others, deviates, strict=True)
        )
        curves.append(replace(curve, weights=_lift(curve.weights, offset), others=tuple(others)))
    return CandidateCalibration(*curves)


def _lift(weights: tuple[float, ...], offset: float) -> tuple[float, ...]:
    return (weights[0] + offset, *weights[1:])


def find_drift(valid: StageScores, test: StageScores) -> Drift:
    """How scores grew from the first to the second stage, by the pairs that are candidates at both."""
    at_valid, at_test = _match(valid, test)
    return Drift.between(valid.score.double().numpy()[at_valid], test.score.double().numpy()[at_test])


def find_gain(valid: StageScores, test: StageScores, drift: Drift, unit: float) -> float:
    """What test links, which are hidden at both stages, gained beyond the drift."""
    at_valid, at_test = _match(valid, test)
    before, after = drift(valid.score.double().numpy()[at_valid]), test.score.double().numpy()[at_test]
    return measure_gain(before, after, test.hidden.numpy()[at_test], unit)


def _match(valid: StageScores, test: StageScores) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The places, at either stage, of the pairs that are candidates at both."""
    _, at_valid, at_test = np.intersect1d(valid.numbers.numpy(), test.numbers.numpy(), return_indices=True)
    return at_valid, at_test


def _count(stage: StageScores, drift: Drift, gain: float, steps: float, rho: float, other: float) -> StageCounts:
    """The counts on the scale that is so many steps away, on which hidden links have gained as often."""
    before = stage.score.double().numpy()
    rank = np.empty(len(before), dtype=np.int64)
    rank[np.argsort(-before, kind="stable")] = np.arange(1, len(before) + 1)
    gained = steps * gain * taper_gain(rank) * stage.hidden.double().numpy()
    return StageCounts.of(torch.from_numpy(drift.times(steps)(before) + gained), stage.hidden, rho, other)


def _only(stage: StageScores, sharing: bool) -> StageScores:
    mine = stage.sharing == sharing
    return StageScores(*(part[mine] for part in stage))
