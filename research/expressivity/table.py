"""The table: how many pairs of a suite each policy separates, and at what cost."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from math import comb
from pathlib import Path

from llwlc._support.files import write_text
from llwlc._support.progress import track
from llwlc.errors import InputError
from research.expressivity.atlas import find_unseparated_by_classes, find_unseparated_by_fingerprint
from research.expressivity.families import SUITES, Pair, atlas, load_suite
from research.expressivity.resolvent import NARROW
from research.expressivity.separate import LADDER, POLICIES, Verdict, climb
from research.expressivity.wl import wl1, wl1_classes, wl3, wl3_classes

TESTS: dict[str, Callable[..., bool]] = {"1-wl": wl1, "3-wl": wl3}
ALL_SUITES = (*SUITES, "atlas")
ALL_POLICIES = (*TESTS, *POLICIES, "filter")
"""`filter` climbs k = 0, 1, … of filter-k until a pair is separated."""


@dataclass(frozen=True)
class SuiteRow:
    """One policy on one suite. `together` names the pairs not separated, `skipped` counts those that would have taken
    too long.

    `closest` is the smallest distance of a separated pair and `farthest` the largest of the others: the margin on both
    sides of the tolerance. Seconds are processor seconds of a pair that was not skipped, both graphs.
    """

    suite: str
    policy: str
    pairs: int
    separated: int
    skipped: int = 0
    closest: float | None = None
    farthest: float | None = None
    mean_seconds: float = 0.0
    max_seconds: float = 0.0
    together: tuple[str, ...] = ()
    by_policy: dict[str, int] | None = None


def estimate(policy: str, pair: Pair) -> float:
    """About how many seconds a policy takes for a pair on one core: what `max_seconds` is compared with.

    >>> import numpy as np
    >>> estimate("filter-4", Pair("", np.zeros((100, 100)), np.zeros((100, 100)))) > 60
    True
    """
    n, edges = len(pair.a), float(pair.a.sum()) / 2
    kind, _, k = policy.partition("-")
    if kind in ("filter", "narrow") and k:
        bands = len(NARROW) if kind == "narrow" else 1
        return 2 * bands * comb(n, int(k)) * n * n / 5e8
    if kind == "deleted":
        return 2 * comb(n, int(k)) * 2e-6
    return edges * n**3 * 1e-8 if kind in ("neumann", "stacked", "enclosing") else 0.0


def run_suite(name: str, policy: str, *, max_seconds: float = 300.0) -> SuiteRow:
    """All pairs of a suite under a policy; a pair whose estimate exceeds `max_seconds` is skipped and counts as not
    separated.

    >>> row = run_suite("paper", "3-wl")
    >>> row.separated, row.pairs, row.together
    (1, 2, ('rook | Shrikhande',))
    """
    if policy not in ALL_POLICIES:
        raise InputError(f"policy {policy!r} is not known; choose from {', '.join(ALL_POLICIES)}")
    if name == "atlas":
        return _atlas(policy)
    row, seconds = SuiteRow(name, policy, 0, 0), []
    for pair in track(load_suite(name), f"{name}, {policy}"):
        row, spent = _add(row, pair, max_seconds)
        seconds.append(spent)
    mean = sum(seconds) / max(row.pairs - row.skipped, 1)
    return replace(row, mean_seconds=round(mean, 4), max_seconds=round(max(seconds, default=0.0), 3))


def _add(row: SuiteRow, pair: Pair, max_seconds: float) -> tuple[SuiteRow, float]:
    """The row with one more pair, and the seconds that took."""
    row = replace(row, pairs=row.pairs + 1)
    if row.policy in TESTS:
        started = time.process_time()
        apart = TESTS[row.policy](pair.a, pair.b)
        spent = time.process_time() - started
        return (replace(row, separated=row.separated + 1) if apart else _kept(row, pair)), spent
    asked = LADDER if row.policy == "filter" else (row.policy,)
    ladder = [policy for policy in asked if estimate(policy, pair) <= max_seconds]
    if not ladder:
        return replace(_kept(row, pair), skipped=row.skipped + 1), 0.0
    verdicts = climb(pair, ladder)
    return add_verdicts(row, pair.name, verdicts), sum(v.seconds for v in verdicts)


def add_verdicts(row: SuiteRow, name: str, verdicts: Sequence[Verdict]) -> SuiteRow:
    """The row with the verdicts of one pair."""
    last = verdicts[-1]
    below = [v.distance for v in verdicts if not v.separated]
    if row.farthest is not None:
        below.append(row.farthest)
    row = replace(row, farthest=max(below, default=None))
    if not last.separated:
        return replace(row, together=(*row.together, name))
    counts = {**(row.by_policy or {})}
    counts[last.policy] = counts.get(last.policy, 0) + 1
    closest = last.distance if row.closest is None else min(row.closest, last.distance)
    return replace(row, separated=row.separated + 1, closest=closest, by_policy=counts)


def _kept(row: SuiteRow, pair: Pair) -> SuiteRow:
    return replace(row, together=(*row.together, pair.name))


def _atlas(policy: str) -> SuiteRow:
    graphs = atlas()
    started = time.process_time()
    tests = {"1-wl": wl1_classes, "3-wl": wl3_classes}
    if policy in tests:
        together = find_unseparated_by_classes(graphs, tests[policy])
    else:
        together = find_unseparated_by_fingerprint(graphs, "filter-1" if policy == "filter" else policy)
    pairs = comb(len(graphs), 2)
    each = (time.process_time() - started) / pairs
    names = tuple(f"atlas {i} | {j}" for i, j in sorted(together)[:20])
    return SuiteRow("atlas", policy, pairs, pairs - len(together), mean_seconds=each, max_seconds=each, together=names)


def compare_policies(
    suites: Sequence[str], policies: Sequence[str], *, max_seconds: float = 300.0, out: Path | None = None
) -> list[SuiteRow]:
    """Every policy on every suite. With `out`, rows found in that JSON file are taken from it, and new ones added as
    they come.
    """
    rows = load_rows(out) if out is not None and out.exists() else []
    have = {(row.suite, row.policy) for row in rows}
    for name in suites:
        for policy in policies:
            if (name, policy) in have:
                continue
            rows.append(run_suite(name, policy, max_seconds=max_seconds))
            if out is not None:
                save_rows(rows, out)
    return [row for row in rows if row.suite in suites and row.policy in policies]


def save_rows(rows: Sequence[SuiteRow], path: Path) -> None:
    """The rows as JSON, one a line, replaced in one step."""
    lines = [json.dumps(asdict(row), ensure_ascii=False) for row in rows]
    write_text(path, "[\n" + ",\n".join(lines) + "\n]\n")


def load_rows(path: Path) -> list[SuiteRow]:
    """What `save_rows` wrote."""
    rows = json.loads(path.read_text(encoding="utf-8"))
    return [SuiteRow(**{**row, "together": tuple(row["together"])}) for row in rows]
