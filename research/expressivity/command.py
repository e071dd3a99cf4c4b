"""What `python -m research expressivity` prints: Markdown tables with a title each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from llwlc.errors import InputError
from research.expressivity import gallery as pictures
from research.expressivity.copies import find_false_positives
from research.expressivity.families import load_suite
from research.expressivity.own_graphs import compare_own_graphs
from research.expressivity.report import brec_table, learned_table, markdown, table
from research.expressivity.separate import POLICIES
from research.expressivity.table import ALL_POLICIES, ALL_SUITES, TESTS, compare_policies
from research.expressivity.trials import run_trials

Table = tuple[str, list[str], list[list[str]]]


def make_tables(
    suites: Sequence[str] | None,
    policies: Sequence[str] | None,
    *,
    graphs: tuple[Path, Path] | None = None,
    max_seconds: float,
    out: Path | None,
    gallery: Path | None,
    learned: bool,
    seeds: int = 1,
    processes: int = 1,
    copies: int,
) -> Iterator[str]:
    """The tables of one call: a verdict on two graphs, or the gallery's file name, or the learned results, or false
    positives, or the comparison.
    """
    if graphs:
        asked = None if policies is None else _known("policy", policies, (*TESTS, *POLICIES))
        yield from compare_own_graphs(graphs, asked, max_seconds)
        return
    names = _known("suite", suites, ALL_SUITES)
    if gallery is not None:
        yield f"wrote {pictures.write_page(gallery)}"
    elif learned:
        trials = run_trials([name for name in names if name != "atlas"], seeds=seeds, processes=processes, out=out)
        yield _text("learned, BREC's paired comparison: pairs separated", *learned_table(trials))
    elif copies:
        yield _text(*_copies([name for name in names if name != "atlas"], copies, max_seconds))
    else:
        rows = compare_policies(names, _known("policy", policies, ALL_POLICIES), max_seconds=max_seconds, out=out)
        yield _text("pairs separated (+: some were skipped for their cost)", *table(rows))
        if any(row.suite.startswith("brec") for row in rows):
            yield _text("BREC, published and here", *brec_table(rows))


def _text(title: str, header: list[str], lines: list[list[str]]) -> str:
    return f"{title}\n\n{markdown(header, lines)}\n"


def _known(what: str, given: Sequence[str] | None, known: Sequence[str]) -> list[str]:
    """The names asked for, all if none; `brec` stands for its seven files."""
    names: list[str] = []
    for name in given or known:
        names += [k for k in known if k.startswith("brec-")] if name == "brec" else [name]
    unknown = [name for name in names if name not in known]
    if unknown:
        raise InputError(f"{what} {unknown[0]!r} is not known; choose from {', '.join(known)}")
    return names


def _copies(names: Sequence[str], count: int, max_seconds: float) -> Table:
    graphs = [graph for name in names for pair in load_suite(name) for graph in (pair.a, pair.b)]
    rungs = find_false_positives(graphs, count, max_seconds=max_seconds)
    header = ["policy", "copies", "nodes, at most", "farther than 1e-9", "largest distance"]
    lines = [[r.policy, f"{r.compared:,}", str(r.nodes), str(r.wrong), f"{r.largest:.1e}"] for r in rungs if r.compared]
    return f"{count:,} pairs of a graph and a relabelled copy of it: none may be separated", header, lines
