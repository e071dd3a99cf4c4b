"""BREC's procedure on whole suites with several seeds: one trial a line of a file, in as many processes as wished.

A trial is one pair with one seed (weights, relabelled copies and the drawn graph of the check). Trials that the file
holds already are not run again, so an interrupted command goes on where it was.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from math import comb
from pathlib import Path

from llwlc._support.files import write_text
from llwlc._support.progress import track
from llwlc._support.text import describe_error
from llwlc.errors import InputError
from research.expressivity.families import Pair, load_suite, paper
from research.expressivity.learned import choose_order, learn
from research.expressivity.rpc import PairedComparison
from research.workers import one_thread, open_pool

Job = tuple[str, Pair, int]


@dataclass(frozen=True)
class LearningTrial:
    """One pair, one seed: T² between the graphs (`statistic`) and of the reliability check, and processor seconds."""

    suite: str
    pair: str
    seed: int
    nodes: int
    order: int
    statistic: float
    reliability: float
    seconds: float

    @property
    def reliable(self) -> bool:
        return PairedComparison(self.statistic, self.reliability).reliable

    @property
    def separated(self) -> bool:
        """BREC's rule, and the check passed."""
        return PairedComparison(self.statistic, self.reliability).separated and self.reliable


def run_trials(
    names: Sequence[str], *, seeds: int = 1, processes: int = 1, out: Path | None = None
) -> list[LearningTrial]:
    """Every pair of the suites with seeds 0 … `seeds` − 1, the longest first, so that no core is left with a long one
    at the end.

    >>> [(trial.pair, trial.separated) for trial in run_trials(["paper"])]
    [('C10 | 2 C5', True), ('rook | Shrikhande', True)]
    """
    if seeds < 1 or processes < 1:
        raise InputError(f"seeds and processes: at least 1 of each, got {seeds} and {processes}")
    found = {_key(trial): trial for trial in (load_trials(out) if out is not None else [])}
    asked = [(name, pair, seed) for name in names for pair in load_suite(name) for seed in range(seeds)]
    todo = sorted((job for job in asked if _name(job) not in found), key=_cost, reverse=True)
    with out.open("a", encoding="utf-8") if out is not None else nullcontext() as file:
        for trial in track(_results(todo, processes), "learned", total=len(todo)):
            found[_key(trial)] = trial
            if file is not None:
                file.write(json.dumps(asdict(trial), ensure_ascii=False) + "\n")
                file.flush()
    return [found[_name(job)] for job in asked]


def load_trials(path: Path) -> list[LearningTrial]:
    """The trials of a file, none where there is no file. A last line that was cut off in writing is removed from it."""
    if not path.exists():
        return []
    text = path.read_text(encoding="utf-8")
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        write_text(path, whole)
    try:
        return [LearningTrial(**json.loads(line)) for line in whole.splitlines()]
    except (ValueError, TypeError) as error:
        raise InputError(
            f"{path} is no file of learned trials ({describe_error(error)}); give another --out"
        ) from error


def _name(job: Job) -> tuple[str, str, int]:
    return job[0], job[1].name, job[2]


def _key(trial: LearningTrial) -> tuple[str, str, int]:
    return trial.suite, trial.pair, trial.seed


def _cost(job: Job) -> int:
    n = len(job[1].a)
    return comb(n, choose_order(n)) * n * n


def _trial(job: Job) -> LearningTrial:
    name, pair, seed = job
    started = time.process_time()
    trained = learn(pair, seed=seed)
    spent = round(time.process_time() - started, 2)
    # four digits are more than rounding noise has
    statistic, reliability = (float(f"{x:.4g}") for x in trained.comparison)
    return LearningTrial(name, pair.name, seed, len(pair.a), trained.order, statistic, reliability, spent)


def _results(todo: Sequence[Job], processes: int) -> Iterator[LearningTrial]:
    """The trials as they end, each on one thread."""
    if not todo:
        return
    with one_thread():
        # compiled once and kept on disk: otherwise every worker would compile
        learn(paper()[0], epochs=1, largest=1)
        if processes == 1:
            yield from map(_trial, todo)
            return
        with open_pool(processes) as pool:
            yield from pool.imap_unordered(_trial, todo)
