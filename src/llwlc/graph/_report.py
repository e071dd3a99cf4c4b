"""What became of an edge list on its way to a graph, and what a user should know of the result."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse
import scipy.sparse.csgraph

from llwlc._support.text import quote_text

MOST_NAMED = 20
"""Columns that are named in a line."""
MUTUAL = 0.02
"""Share of edges in both directions from which a list that says nothing about directions is taken as directed."""


class GraphWarning(UserWarning):
    """The graph can be used, but something about it changes what the results mean.

    >>> import warnings
    >>> warnings.simplefilter("ignore", GraphWarning)    # a program that knows its graph is bipartite
    """


@dataclass(frozen=True)
class GraphReport:
    """Counts of one conversion, from `rows` read to `nodes` and `edges` of the graph.

    `rows` read; `self_loops` rows dropped; `duplicates` rows that repeat an earlier one in the same direction;
    `reversed_pairs` edges that came in both directions; `isolated` nodes without an edge. `mirrored`: every edge came
    in both directions with the same weight, so the list is that of an undirected graph and each weight counts once.
    `weighted`, `timed`: edges have weights, times. `directed`: the direction of the rows means something, by what the
    input states or by the look of it. `bipartite`: links join two node types only. `notes`: what else a reader
    should know. `unused`: columns of the input that no option takes; `dates`: those of them that could be times.
    `keeps_direction`: whether links point one way or both ways, as was asked. `may_have_sides`: whether both columns
    have numbers that nothing says to count the same nodes.

    >>> print(GraphReport(rows=5, nodes=4, edges=2, self_loops=1, duplicates=1, reversed_pairs=1, isolated=1))
    5 rows gave 4 nodes and 2 edges: 1 self-loop dropped, 1 duplicate and 1 reversed duplicate merged, 1 isolated node.
    """

    rows: int
    nodes: int
    edges: int
    self_loops: int = 0
    duplicates: int = 0
    reversed_pairs: int = 0
    isolated: int = 0
    mirrored: bool = False
    weighted: bool = False
    timed: bool = False
    directed: bool = False
    bipartite: bool = False
    notes: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()
    dates: tuple[str, ...] = ()
    keeps_direction: bool = False
    may_have_sides: bool = False

    @property
    def line(self) -> str:
        """All counts in one line."""
        reversed_pairs = 0 if self.keeps_direction else self.reversed_pairs
        merged = [
            text
            for count, text in (
                (self.duplicates, _count(self.duplicates, "duplicate")),
                (reversed_pairs, _count(reversed_pairs, "reversed duplicate")),
            )
            if count
        ]
        parts = []
        if self.self_loops:
            parts.append(f"{_count(self.self_loops, 'self-loop')} dropped")
        if self.mirrored:
            parts.append("each edge was there in both directions")
            merged = merged[:1] if self.duplicates else []
        if merged:
            merges = [
                *(["weights added up"] if self.weighted else []),
                *(["the latest time kept"] if self.timed else []),
            ]
            rule = f" ({', '.join(merges)})" if merges else ""
            parts.append(f"{' and '.join(merged)} merged{rule}")
        if self.isolated:
            parts.append(_count(self.isolated, "isolated node"))
        if self.keeps_direction:
            one_way = self.edges - self.reversed_pairs
            parts.append(f"{_count(self.reversed_pairs, 'edge')} both ways, {one_way:,} one way")
        head = f"{_count(self.rows, 'row')} gave {_count(self.nodes, 'node')} and {_count(self.edges, 'edge')}"
        return f"{head}: {', '.join(parts) or 'nothing dropped or merged'}."

    @property
    def unused_line(self) -> str:
        """The columns that are not used, and the options that use one, in sentences; "" where there are none."""
        if not self.unused:
            return ""
        options = " Options that use a column: --weight, --link-attributes, --relation."
        return f"{describe_unused(self.unused)}{describe_dates(self.dates)}{options}"

    @property
    def warnings(self) -> tuple[str, ...]:
        """One sentence or two for everything that changes what the results mean."""
        sentences = list(self.notes)
        if self.bipartite:
            sentences.append(
                "The graph is bipartite: its nodes fall into two sides and every edge joins one side to the other. The"
                " two ends of a true link then never share a neighbour (common neighbours, Adamic-Adar and their like"
                " score it 0), random negatives are often same-side pairs, which are no test of a model, and"
                " recommendations lie across the sides, unless fewer than 20 cycles say that it is bipartite by chance."
            )
        if self.directed:
            share = self.reversed_pairs / max(self.edges, 1)
            why = (
                "The input states that its edges are directed."
                if share < MUTUAL  # nothing else could have told
                else f"The edges look directed: {share:.0%} of them come in both directions, the others in one."
            )
            if self.may_have_sides:
                why += (
                    " If the two columns number different things, customers and items say, --bipartite (bipartite=True)"
                    " takes customer 7 and item 7 for two nodes."
                )
            sentences.append(
                f"{why} Links are undirected here: a predicted link says that two nodes belong together, not which way"
                " it points. Fit with --directed (in Python directed=True) for the direction too."
            )
        return tuple(sentences)

    def __str__(self) -> str:
        return f"{self.line} {self.unused_line}".strip()


def describe_unused(columns: tuple[str, ...]) -> str:
    """Which columns are not used, as a sentence.

    >>> describe_unused(("since", "app"))
    "Columns not used: 'since', 'app'."
    """
    listed = ", ".join(quote_text(name) for name in columns[:MOST_NAMED])
    more = f" and {len(columns) - MOST_NAMED:,} more" if len(columns) > MOST_NAMED else ""
    return f"Columns not used: {listed}{more}."


def describe_dates(dates: tuple[str, ...]) -> str:
    """Which option takes a column of dates, as a sentence; "" where there is none."""
    if not dates:
        return ""
    listed = " and ".join(quote_text(name) for name in dates[:3])
    hold = "holds times" if len(dates) == 1 else "hold times"
    return f" {listed} {hold}: give them with --time {quote_text(dates[0])} (time=) to test on the latest links."


def looks_directed(*, num_edges: int, both: int, declared: bool | None) -> bool:
    """Whether the direction of the pairs means something that an undirected graph loses.

    Input that says it is directed (`declared`) is, unless nine of ten edges come both ways; input that says it is not
    is not. A list that says nothing is taken as directed if some of its edges come both ways, and others do not (2 to
    90 %). One in which hardly any does is the usual list of an undirected graph, each edge once.
    """
    share = both / max(num_edges, 1)
    if declared is None:
        return num_edges >= 10 and MUTUAL <= share <= 0.9
    return declared and num_edges > 0 and share <= 0.9


def is_bipartite(indptr: np.ndarray, indices: np.ndarray) -> bool:
    """Whether an undirected CSR graph has an edge and no odd cycle.

    In the bipartite double cover (every node twice, every edge from a copy to the other side's copy) the two copies of
    a node are connected exactly if an odd closed walk passes the node: one sweep over all components at once.
    """
    n = len(indptr) - 1
    if not len(indices):
        return False
    cover = scipy.sparse.csr_array(
        (
            np.ones(2 * len(indices), dtype=np.int8),
            np.concatenate([indices + n, indices]),
            np.concatenate([indptr, indptr[1:] + len(indices)]),
        ),
        shape=(2 * n, 2 * n),
    )
    _, part = scipy.sparse.csgraph.connected_components(cover, directed=False)
    return not bool((part[:n] == part[n:]).any())


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
