"""A verdict in words on two graphs of a user's own: which policies tell them apart, beside WL tests."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

import networkx as nx
import numpy as np

from llwlc.errors import InputError
from llwlc.graph._graph import Graph
from llwlc.graph._report import GraphWarning
from research.expressivity.families import Pair
from research.expressivity.report import markdown
from research.expressivity.separate import LADDER, POLICIES, Verdict, separate
from research.expressivity.table import TESTS, estimate

LARGEST = 400
"""Number of nodes up to which graphs are compared: the work for a policy grows as n³ and faster."""
LARGEST_3_WL = 60
LARGEST_ISOMORPHISM = 100
WORDS = {
    "1-wl": "the Weisfeiler-Leman test of order 1, the bound of message passing networks",
    "3-wl": "the Weisfeiler-Leman test of order 3",
    "none": "the spectrum of L, without constraints",
    "enclosing": "spectra of all links' enclosing subgraphs, without constraints",
    "neumann": "spectra of all links' enclosing subgraphs under their Neumann constraints",
    "stacked": "the same spectra as neumann with one more vertex deleted, each in turn",
    **{f"deleted-{k}": f"spectra under {k} vertex-deleted constraint{'s' * (k > 1)}, all subsets" for k in range(1, 6)},
    **{f"filter-{k}": f"entries of a filter of the basis, {k} deleted vertices, all subsets" for k in range(5)},
    "narrow-3": "entries of a filter with narrow bands, 3 deleted vertices, all subsets",
}
"""What a policy compares. The order is that of the table."""
SPECTRAL = ("none", "enclosing", "neumann", "deleted-1", "deleted-2", "stacked")


def read_pair(paths: tuple[Path, Path]) -> Pair:
    """The graphs of two files, of any format that `fit` reads; direction, weights and names are dropped."""
    a, b = (_read(path) for path in paths)
    return Pair(f"{paths[0].name} and {paths[1].name}", a, b)


def _read(path: Path) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GraphWarning)  # what a graph means for link prediction
        graph = Graph.read(path)
    if graph.num_nodes > LARGEST:
        raise InputError(f"{path} has {graph.num_nodes:,} nodes: graphs of up to {LARGEST} can be compared")
    matrix = np.zeros((graph.num_nodes, graph.num_nodes))
    row, col = graph.edges.t().numpy()
    matrix[row, col] = matrix[col, row] = 1
    return matrix


def compare_own_graphs(paths: tuple[Path, Path], policies: Sequence[str] | None, max_seconds: float) -> Iterator[str]:
    """The verdict in a sentence, then a table of what each policy says."""
    pair = read_pair(paths)
    if trivial := _differ_in_counts(pair):
        yield f"{pair.name} are different graphs: {trivial}.\n"
        return
    rows: list[list[str]] = []
    apart: list[str] = []
    skipped: list[str] = []
    for policy in policies or [*TESTS, *SPECTRAL, *LADDER]:
        if policies is None and policy in LADDER and any(name in LADDER for name in apart):
            continue  # the ladder ends where it has separated the pair
        if _is_too_long(policy, pair, max_seconds):
            skipped.append(policy)
            continue
        said, shown = _judge(policy, pair)
        rows.append([policy, shown, WORDS[policy]])
        if said:
            apart.append(policy)
    yield f"{_put_into_words(pair, apart, [row[0] for row in rows], skipped)}\n"
    yield markdown(["policy", "verdict", "what it compares"], rows) + "\n"


def _differ_in_counts(pair: Pair) -> str:
    """What a look at them shows already; "" if it is nothing."""
    a, b = pair.a, pair.b
    if len(a) != len(b):
        return f"they have {len(a)} and {len(b)} nodes"
    if a.sum() != b.sum():
        return f"they have {a.sum() / 2:.0f} and {b.sum() / 2:.0f} links"
    if sorted(a.sum(0)) != sorted(b.sum(0)):
        return "their nodes have other degrees"
    return ""


def _is_too_long(policy: str, pair: Pair, max_seconds: float) -> bool:
    if policy == "3-wl":
        return len(pair.a) > LARGEST_3_WL
    return policy not in TESTS and estimate(policy, pair) > max_seconds


def _judge(policy: str, pair: Pair) -> tuple[bool, str]:
    """Whether the policy tells them apart, and the cell that says so."""
    if policy in TESTS:
        apart = TESTS[policy](pair.a, pair.b)
        return apart, "told apart" if apart else "not told apart"
    verdict: Verdict = separate(pair, policy, check=0)
    if verdict.undecided:
        return False, f"undecided: a distance of {verdict.distance:.1e} may be rounding"
    return verdict.separated, f"told apart, distance {verdict.distance:.1e}" if verdict.separated else "not told apart"


def _put_into_words(pair: Pair, apart: Sequence[str], tried: Sequence[str], skipped: Sequence[str]) -> str:
    left = f" Left out, as they would take too long (--max-seconds): {', '.join(skipped)}." if skipped else ""
    if not tried:
        return f"{pair.name}: nothing was compared.{left}"
    bases = [policy for policy in apart if policy in POLICIES]
    if bases:
        missed = [policy for policy in tried if policy not in apart]
        beside = f" Not by {', '.join(missed)}." if missed else " So does everything that was tried."
        if "none" in bases:
            return f"{pair.name} are told apart by the spectrum of L already: no constraint is needed.{beside}{left}"
        return f"{pair.name} are told apart by {bases[0]}, {WORDS[bases[0]]}{_others(bases[1:])}.{beside}{left}"
    if len(pair.a) <= LARGEST_ISOMORPHISM and nx.is_isomorphic(
        nx.from_numpy_array(pair.a), nx.from_numpy_array(pair.b)
    ):
        return f"{pair.name} are the same graph with other labels: nothing may tell them apart, and nothing did.{left}"
    others = f" {' and '.join(apart)} does." if apart else ""
    return f"{pair.name} are not told apart by any constrained basis that was tried.{others}{left}"


def _others(policies: Sequence[str]) -> str:
    return f" (and by {', '.join(policies)})" if policies else ""
