"""Reads the results of trials, one line each, and runs the missing ones."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from llwlc.errors import InputError, LLwLCError
from research.experiments.lines import append_line
from research.outside.networks import SourceNetwork
from research.outside.trial import HidingTrial, run_trial

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


def run_missing(trials: Sequence[tuple[HidingTrial, SourceNetwork]], path: Path, report: Callable[[str], None]) -> None:
    """Runs the trials without a line, and appends a line for each; errors of llwlc are reported."""
    done = {key_of(line) for line in read_lines(path)}
    missing = [(trial, network) for trial, network in trials if trial.key not in done]
    for number, (trial, network) in enumerate(missing, 1):
        about = f"[{number}/{len(missing)}] {trial.network}, {trial.model}, {trial.share:g} hidden, {trial.hiding}"
        try:
            line = run_trial(trial, network)
        except LLwLCError as error:
            report(f"{about}: {error}")
            continue
        append_line(path, line)
        pairs = (
            f"{k}: {100 * line['stated'][k][0]:.0f}/{100 * line['stated'][k][3]:.0f}"
            for k in line["stated"]
            if k.isdecimal()
        )
        report(f"{about}: {', '.join(pairs)} % ({line['seconds']:.0f} s)")
