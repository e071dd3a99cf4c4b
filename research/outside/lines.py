"""Reads the results of trials, one line each, and runs the missing ones."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from llwlc.errors import InputError, LLwLCError
from research.experiments.lines import append_line
from research.outside.networks import SourceNetwork
from research.outside.trial import HidingTrial, run_trial, warm_up
from research.workers import open_pool

Line = dict[str, Any]


def read_lines(path: Path) -> list[Line]:
    """The lines of a file, none if there is no file. Of a trial that is there twice, the first line counts."""
    if not path.exists():
        return []
    lines: dict[tuple[Any, ...], Line] = {}
    for number, text in enumerate(path.read_text().splitlines(), 1):
        try:
            line = json.loads(text)
            lines.setdefault(key_of(line), line)
        except (ValueError, TypeError, KeyError) as error:
            raise InputError(f"{path}, line {number} is damaged: delete the line and run the command again") from error
    return list(lines.values())


def key_of(line: Line) -> tuple[Any, ...]:
    return HidingTrial(*(line[name] for name in ("network", "share", "hiding", "model", "minutes"))).key


Job = tuple[HidingTrial, SourceNetwork]


def order_trials(
    networks: Sequence[SourceNetwork],
    models: Sequence[str],
    shares: Sequence[float],
    hidings: int,
    minutes: float,
) -> list[Job]:
    """All trials. The first share has its second hiding before the second share its first, and so on, so that a run
    that is cut off leaves tables of all networks.
    """
    rounds = sorted(
        (hiding + position, position, hiding, share)
        for position, share in enumerate(shares)
        for hiding in range(hidings)
    )
    return [
        (HidingTrial(each.name, share, hiding, name, minutes), each)
        for _, _, hiding, share in rounds
        for name in models
        for each in networks
    ]


def run_missing(trials: Sequence[Job], path: Path, processes: int, report: Callable[[str], None]) -> None:
    """Runs the trials without a line, and appends a line for each as it ends; errors of llwlc are reported."""
    done = {key_of(line) for line in read_lines(path)}
    missing = [(trial, network) for trial, network in trials if trial.key not in done]
    for number, (trial, found) in enumerate(_run_all(missing, processes), 1):
        about = f"[{number}/{len(missing)}] {trial.network}, {trial.model}, {trial.share:g} hidden, {trial.hiding}"
        if isinstance(found, str):
            report(f"{about}: {found}")
            continue
        append_line(path, found)
        pairs = (
            f"{k}: {100 * found['stated'][k][0]:.0f}/{100 * found['stated'][k][3]:.0f}"
            for k in found["stated"]
            if k.isdecimal()
        )
        report(f"{about}: {', '.join(pairs)} % ({found['seconds']:.0f} s)")


def _run_all(jobs: Sequence[Job], processes: int) -> Iterator[tuple[HidingTrial, Line | str]]:
    """The lines of the trials as they end, or what went wrong."""
    if processes == 1 or len(jobs) < 2:
        yield from map(_run, jobs)
        return
    with open_pool(processes) as pool:
        # compiled once and kept on disk: otherwise it would take the budget of the first trials
        for name in {trial.model for trial, _ in jobs}:
            pool.apply(warm_up, (name,))
        yield from pool.imap_unordered(_run, jobs)


def _run(job: Job) -> tuple[HidingTrial, Line | str]:
    try:
        return job[0], run_trial(*job)
    except LLwLCError as error:
        return job[0], str(error)
