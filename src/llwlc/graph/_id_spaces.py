"""Detects two columns that number different things, such as users and items, and gives their nodes different names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from llwlc._io.edge_source import make_side_names
from llwlc._support.text import quote_text
from llwlc.graph._graph import Graph
from llwlc.graph._names import find_nodes
from llwlc.graph._packed_names import parse_integers

LEFT, RIGHT = "L", "R"
WHO = frozenset(
    re.findall(
        r"\w+",
        "user uid customer client shopper subscriber member visitor viewer listener reader reviewer rater patient"
        " student learner account person author actor employee consumer household pollinator insect"
        " kunde kunden nutzer benutzer utilisateur cliente usuario",
    )
)
WHAT = frozenset(
    re.findall(
        r"\w+",
        "item iid product article movie film book song track artist album show video game restaurant business"
        " hotel recipe page tag event course disease drug paper publication project company sku plant flower"
        " title anime podcast artikel produkt produit producto",
    )
)
"""Words for the two sides in a header: a column name of each kind means that the columns number two things."""
MIN_EQUAL = 8
"""Minimum expected number of rows with the same number in both columns for the observed number to be informative."""


class SideNames(NamedTuple):
    """The names of both ends, and a notice about them ("" for none); `in_doubt`: whether equal numbers in both columns,
    taken for one node, could be two.
    """

    ends: tuple[pa.Array, pa.Array]
    note: str
    in_doubt: bool = False


def keep_sides_apart(
    ends: tuple[pa.Array, pa.Array], columns: Sequence[str], bipartite: bool | None, *, has_header: bool, certain: bool
) -> SideNames:
    """The names `[m]` of both ends of the edges, with L before those of the first column and R before those of the
    second where they number two things: if `bipartite` says so, or None and the header or the values do. `certain`:
    the columns were named, or have familiar names, so that there is nothing to ask.
    """
    first, second = (pc.unique(end) for end in ends)
    shared = int(pc.sum(pc.is_in(first, value_set=second)).as_py() or 0)
    if bipartite is False or not (shared or bipartite):
        return SideNames(ends, "")
    numbers = [parse_integers(end) for end in ends]
    integers = all(bool(is_integer.all()) for _, is_integer in numbers)
    if not (shared or all(bool(is_integer.any()) for _, is_integer in numbers)):
        return SideNames(ends, "")
    titles = f"Columns {' and '.join(quote_text(name) if has_header else name for name in columns)}"
    why = "as --bipartite (bipartite=True) says" if bipartite else ""
    if bipartite is None and has_header and header_names_sides(columns):
        # among numbers, a few names are no reason to take customer 7 and product 7 for one node
        both = first.filter(pc.is_in(first, value_set=second))
        why = "by their names" if bool(parse_integers(both)[1].any()) else ""
    if bipartite is None and integers and not why:
        values = numbers[0][0], numbers[1][0]
        if (equal := look_like_two_spaces(*values)) is not None:
            counts = f"{equal[0]:,} rows, {equal[1]:,.0f} expected"
            why = f"as equal numbers share a row no more often than by chance ({counts})"
        elif not certain and (_may_be_two_spaces(*values) if has_header else _equal_by_chance(*values)):
            return SideNames(
                ends,
                f"{titles} share {shared:,} numbers, each taken for one node. If they number different things, such as"
                " customers and items, say --bipartite (bipartite=True).",
            )
    if not why:
        return SideNames(ends, "", in_doubt=integers)
    note = (
        f"{titles} number two node types, {why}: 7 of the first is called L7 here, 7 of the second R7. If equal"
        " numbers are one node, say --no-bipartite (bipartite=False)."
    )
    named = make_side_names(pa.chunked_array([ends[0]]), LEFT), make_side_names(pa.chunked_array([ends[1]]), RIGHT)
    return SideNames(named, note)


def header_names_sides(columns: Sequence[str]) -> bool:
    """Whether two column names are words for two different things.

    >>> header_names_sides(["userId", "movieId"]), header_names_sides(["source_user", "target_user"])
    (True, False)
    """
    words = [set(re.findall(r"[a-z]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", name).lower())) for name in columns]
    words = [{re.sub(r"(id|s)$", "", word) or word for word in own} | own for own in words]
    (who_first, what_first), (who_second, what_second) = ((bool(own & WHO), bool(own & WHAT)) for own in words)
    return (who_first and what_second and not who_second) or (what_first and who_second and not who_first)


def look_like_two_spaces(first: np.ndarray, second: np.ndarray) -> tuple[int, float] | None:
    """How many rows have the same number in both columns, and how many chance would give, where the values say that
    columns number two things; else None.

    Among the edges of one set of nodes, self-loops are rarer than by chance, or more frequent if they mean something;
    and where each edge is written once, the smaller number often comes first. Two columns number two things if neither
    is the case, and one column has more numbers than the other.
    """
    counts = _equal_by_chance(first, second)
    return counts if counts is not None and counts[1] >= MIN_EQUAL else None


def _equal_by_chance(first: np.ndarray, second: np.ndarray) -> tuple[int, float] | None:
    """The two counts of `look_like_two_spaces`, however small, if both columns may number two things, and rows with
    equal numbers (at least one) and rows that occur turned around are about as frequent as by chance; else None.
    """
    equal = int((first == second).sum())
    if not (equal and _may_be_two_spaces(first, second)):
        return None
    m = len(first)
    top = int(max(first.max(), second.max()))
    share = [np.bincount(column, minlength=top + 1) / m for column in (first, second)]
    expected = m * float(share[0] @ share[1])
    key = np.unique(first * (top + 1) + second)
    one, other = key // (top + 1), key % (top + 1)
    turned = int((np.isin(other * (top + 1) + one, key) & (one != other)).sum())
    by_chance = float((m * share[0][other] * share[1][one]).sum())
    usual = expected / 2 <= equal <= 2 * expected and turned <= 2 * by_chance + 4
    return (equal, expected) if usual else None


def _may_be_two_spaces(first: np.ndarray, second: np.ndarray) -> bool:
    """Whether both columns have most numbers up to their maximum, one of them more than the other, and neither
    has the smaller number in every row.
    """
    if not len(first) or min(first.min(), second.min()) < 0:
        return False
    sizes = [len(np.unique(column)) for column in (first, second)]
    counted = all(size >= 0.5 * (column.max() + 1) for size, column in zip(sizes, (first, second), strict=True))
    further = max(sizes) >= 1.05 * min(sizes)
    below = float((first < second).mean())
    return counted and further and 0.01 < below < 0.99


def has_side_names(graph: Graph) -> bool:
    """Whether nodes are called L1, L2, … and R1, R2, …, as those of two columns of numbers are; others, such as Lguest,
    may be among them.
    """
    if graph.names is None or not len(graph.names) or graph.names[0][:1] not in (LEFT, RIGHT):
        return False
    names = pa.array(graph.names, pa.string())
    numbered = (pc.any(pc.match_substring_regex(names, rf"^{side}-?[0-9]+$")).as_py() for side in (LEFT, RIGHT))
    return all(numbered) and bool(pc.all(pc.match_substring_regex(names, f"^[{LEFT}{RIGHT}]")).as_py())


def find_ends_of_pairs(columns: Sequence[pa.Array], graph: Graph) -> np.ndarray:
    """The numbers `[m, 2]` of the nodes that two columns name, −1 where there is none. In a graph with side
    names, a number in the first column is a node of the first side, one in the second a node of the second.
    """
    at = np.stack([find_nodes(column, graph.names, graph.num_nodes) for column in columns], 1)
    if (at < 0).any() and has_side_names(graph):
        for end, side in enumerate((LEFT, RIGHT)):
            missing = at[:, end] < 0
            names = pc.binary_join_element_wise(side, columns[end].filter(pa.array(missing)), "")
            at[missing, end] = find_nodes(names, graph.names, graph.num_nodes)
    return at
