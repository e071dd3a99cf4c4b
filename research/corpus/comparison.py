"""Statistics of the stored results: means by domain, paired differences with Holm's correction, ranks."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata, studentized_range, t

from llwlc.errors import InputError
from research.experiments.lines import Line

LEVEL = 0.05
Split = tuple[int, int]
"""Seed and fold."""


@dataclass(frozen=True)
class ScoreTable:
    """Of each network and model, the value of each split; only networks on which all models have the same splits."""

    values: Mapping[str, Mapping[str, Mapping[Split, float]]]
    models: tuple[str, ...]

    @classmethod
    def of(cls, lines: Sequence[Line], models: Sequence[str], metric: str) -> ScoreTable:
        """From lines of kind `corpus`."""
        values: dict[str, dict[str, dict[Split, float]]] = defaultdict(lambda: defaultdict(dict))
        for line in lines:
            if line.cell.method in models:
                each = line.get("folds", {}).get(metric) or [line[metric]]
                for fold, value in enumerate(each):
                    values[line.cell.data][line.cell.method][line.cell.seed, fold] = value
        kept = {}
        for network, by_model in values.items():
            common = set.intersection(*(set(by_model.get(model, {})) for model in models))
            if common:
                kept[network] = {m: {split: by_model[m][split] for split in sorted(common)} for m in models}
        return cls(kept, tuple(models))

    def mean(self, model: str, networks: Sequence[str] | None = None) -> float:
        """The mean over networks of the mean over splits."""
        chosen = self.values if networks is None else networks
        return float(np.mean([np.mean(list(self.values[network][model].values())) for network in chosen]))

    def matrix(self) -> np.ndarray:
        """The mean of each network and model, `[networks, models]`."""
        return np.array([[np.mean(list(by[model].values())) for model in self.models] for by in self.values.values()])


@dataclass(frozen=True)
class Difference:
    """A model minus the reference on a network: the mean over splits, its standard error (None of a single split) and
    the two-sided probability of such a difference by chance.
    """

    network: str
    mean: float
    error: float | None
    p: float


def differences(scores: ScoreTable, model: str, reference: str) -> list[Difference]:
    """The paired differences on each network. Folds of a cross-validation share training links, so that the standard
    error of a small network is a little too small.
    """
    found = []
    for network, by in scores.values.items():
        apart = np.array([by[model][split] - by[reference][split] for split in by[model]])
        mean = float(apart.mean())
        if len(apart) < 2:
            found.append(Difference(network, mean, None, 1.0))
            continue
        error = float(apart.std(ddof=1)) / math.sqrt(len(apart))
        p = float(2 * t.sf(abs(mean) / error, len(apart) - 1)) if error > 0 else float(mean == 0)
        found.append(Difference(network, mean, error, p))
    return found


def holm(p: Sequence[float], level: float = LEVEL) -> list[bool]:
    """Which of several hypotheses are rejected by Holm's rule: in rising order of p, the k-th of m where p ≤ level /
    (m − k + 1) holds for it and for all before it.

    >>> holm([0.01, 0.04, 0.03])
    [True, False, False]
    """
    rejected, m = [False] * len(p), len(p)
    for k, at in enumerate(sorted(range(m), key=lambda i: p[i])):
        if p[at] > level / (m - k):
            break
        rejected[at] = True
    return rejected


@dataclass(frozen=True)
class MeanRanks:
    """Mean ranks of models over networks, 1 the best, and the critical difference (Nemenyi, at `LEVEL`)."""

    models: tuple[str, ...]
    mean: tuple[float, ...]
    critical: float
    networks: int


def rank_models(scores: ScoreTable) -> MeanRanks:
    """The ranks of all models on the networks that all were measured on."""
    matrix = scores.matrix()
    if len(matrix) < 2 or matrix.shape[1] < 2:
        raise InputError(
            "ranks need two models and two networks with results of both: measure more, or name others with --models"
        )
    networks, count = matrix.shape
    mean = rankdata(-matrix, axis=1).mean(0)
    quantile = float(studentized_range.ppf(1 - LEVEL, count, np.inf)) / math.sqrt(2)
    critical = quantile * math.sqrt(count * (count + 1) / (6 * networks))
    order = np.argsort(mean, kind="stable")
    return MeanRanks(tuple(scores.models[i] for i in order), tuple(float(mean[i]) for i in order), critical, networks)
