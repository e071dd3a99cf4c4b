"""The table as text: policies down, suites across."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import mean, stdev

from research.expressivity.families import BREC
from research.expressivity.published import BREC_RESULTS
from research.expressivity.table import SuiteRow
from research.expressivity.trials import LearningTrial


def table(rows: Sequence[SuiteRow]) -> tuple[list[str], list[list[str]]]:
    """Header and cells: one line a policy, one column a suite, then the seconds of a pair, mean and largest of all
    suites.

    A cell is separated/pairs, with a + where some pairs were skipped for their cost.
    """
    suites = list(dict.fromkeys(row.suite for row in rows))
    policies = list(dict.fromkeys(row.policy for row in rows))
    found = {(row.policy, row.suite): row for row in rows}
    lines = []
    for policy in policies:
        mine = [found[policy, s] for s in suites if (policy, s) in found]
        run = [(row.pairs - row.skipped, row.mean_seconds) for row in mine if row.suite != "atlas"]
        seconds = sum(pairs * mean for pairs, mean in run) / max(sum(pairs for pairs, _ in run), 1)
        cells = [_cell(found.get((policy, s))) for s in suites]
        lines.append([policy, *cells, f"{seconds:.3g}", f"{max(row.max_seconds for row in mine):.3g}"])
    return ["policy", *suites, "s a pair", "longest"], lines


def brec_table(rows: Sequence[SuiteRow]) -> tuple[list[str], list[list[str]]]:
    """BREC as published and as measured, in its four columns; only policies measured on all seven files."""
    header = ["method", "Basic (60)", "Regular (140)", "Extension (100)", "CFI (100)", "Total (400)"]
    lines = [
        [p.method, *(str(x) for x in (p.basic, p.regular, p.extension, p.cfi, p.total))]
        for p in sorted(BREC_RESULTS, key=lambda p: p.total)
    ]
    for policy in dict.fromkeys(row.policy for row in rows):
        count = {row.suite.removeprefix("brec-"): row.separated for row in rows if row.policy == policy}
        if set(BREC) <= set(count):
            regular = sum(count[c] for c in ("regular", "str", "4vtx", "dr"))
            four = [count["basic"], regular, count["extension"], count["cfi"]]
            lines.append([f"here: {policy}", *(str(x) for x in (*four, sum(four)))])
    return header, lines


def learned_table(trials: Sequence[LearningTrial]) -> tuple[list[str], list[list[str]]]:
    """One line a seed, one column a suite, then the total, the checks passed and the largest T² of a check.

    With several seeds also mean ± standard deviation over them, and the pairs that all of them, or any of them,
    separate.
    """
    suites, seeds = list(dict.fromkeys(t.suite for t in trials)), sorted({t.seed for t in trials})
    by_seed = [[t for t in trials if t.seed == seed] for seed in seeds]
    counts = [_by_suite([t.suite for t in of if t.separated], suites) for of in by_seed]
    pairs = _by_suite([t.suite for t in by_seed[0]], suites)
    lines = [
        [str(seed), *(f"{x}/{m}" for x, m in zip(row, pairs, strict=True)), *_checks(of)]
        for seed, row, of in zip(seeds, counts, by_seed, strict=True)
    ]
    if len(seeds) > 1:
        spread = [f"{mean(x):.1f} ± {stdev(x):.1f}" for x in zip(*counts, strict=True)]
        lines.append(["mean ± sd", *spread, *_checks(trials)])
        times = Counter((t.suite, t.pair) for t in trials if t.separated)
        for title, least in (("all seeds", len(seeds)), ("any seed", 1)):
            row = _by_suite([name for (name, _), seen in times.items() if seen >= least], suites)
            lines.append([title, *(f"{x}/{m}" for x, m in zip(row, pairs, strict=True)), "", "", ""])
    return ["seed", *suites, "total", "checks passed", "largest T² of a check", "s a pair"], lines


def _by_suite(names: Sequence[str], suites: Sequence[str]) -> list[int]:
    return [*(names.count(s) for s in suites), len(names)]


def _checks(trials: Sequence[LearningTrial]) -> list[str]:
    passed, largest = sum(t.reliable for t in trials), max(t.reliability for t in trials)
    return [f"{passed:,}/{len(trials):,}", f"{largest:.3g}", f"{mean(t.seconds for t in trials):.2g}"]


def markdown(header: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A Markdown table with aligned columns.

    >>> print(markdown(["a", "b"], [["x", "123"]]))
    | a | b   |
    | - | --- |
    | x | 123 |
    """
    wide = [max(len(row[c]) for row in (header, *lines)) for c in range(len(header))]
    rows = [header, ["-" * w for w in wide], *lines]
    return "\n".join("| " + " | ".join(cell.ljust(w) for cell, w in zip(row, wide, strict=True)) + " |" for row in rows)


def _cell(row: SuiteRow | None) -> str:
    if row is None:
        return "–"
    return f"{row.separated:,}/{row.pairs:,}" + ("+" if row.skipped else "")
