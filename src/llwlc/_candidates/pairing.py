"""From the candidate lists of nodes to pairs, each once: how long each list may be, and what both ends say of a pair.

Twenty million pairs are grouped by counting, a pass each, and not by sorting them all: that took a third of the time in
which lists are made.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from llwlc._support.compiler import in_order
from llwlc._support.threads import choose_num_threads, run_over_links

Integers = NDArray[np.int64]
ROUNDS = 20
"""How often lengths may grow; they stop growing much earlier."""


def compute_list_lengths(partner: NDArray[np.int32], budget: int) -> Integers:
    """How long each node's list may be, `[n]`: a partner whose list has the node costs half, another one whole,
    `budget` in all.

    >>> compute_list_lengths(np.array([[1, 2], [0, 2], [-1, -1]], dtype=np.int32), 1).tolist()
    [1, 1, 0]
    """
    n = len(partner)
    back = _places_back(partner)
    filled = (partner >= 0).sum(1)
    length: Integers = np.minimum(filled, budget)
    # longer lists have more partners in common, so lengths only grow, and stop growing soon
    for _ in range(ROUNDS):
        grown = length.copy()
        _over(n, lambda begin, end: _grow(partner, back, length, filled, 2 * budget, grown, begin, end))  # noqa: B023
        if (grown == length).all():
            break
        length = grown
    return length


def merge_lists(
    n: int, nodes: Integers, partner: NDArray[np.int32], score: NDArray[np.float32], length: Integers
) -> tuple[Integers, NDArray[np.float32]]:
    """The pairs `[m, 2]`, u < v, of the lists of some `nodes`, as far as each of their `length` goes, sorted, and the
    better score of each `[m]`.
    """
    start = np.zeros(n + 1, np.int64)
    _count_smaller(nodes, partner, length, start)
    np.cumsum(start, out=start)
    other, value = np.empty(start[-1], np.int32), np.empty(start[-1], np.float32)
    _group_by_smaller(nodes, partner, score, length, start[:-1].copy(), other, value)
    groups = np.flatnonzero(np.diff(start))  # few, where the list of one node is asked for
    kept = np.zeros(len(groups) + 1, np.int64)
    _over(len(groups), lambda begin, end: _sort_groups(groups, start, other, value, kept, begin, end))
    np.cumsum(kept, out=kept)
    pairs, best = np.empty((kept[-1], 2), np.int64), np.empty(kept[-1], np.float32)
    _over(len(groups), lambda begin, end: _write_groups(groups, start, kept, other, value, pairs, best, begin, end))
    return pairs, best


def _over(n: int, work: Any) -> None:
    run_over_links(n, choose_num_threads(n, 0), lambda: work)


def _places_back(partner: NDArray[np.int32]) -> NDArray[np.int32]:
    """Where each node stands in the list of each of its partners, `[n, K]`; K where it does not."""
    n, longest = partner.shape
    start = np.zeros(n + 1, np.int64)
    _count_partners(partner, start)
    np.cumsum(start, out=start)
    wanting = np.empty(start[-1], np.int64)
    _group_by_partner(partner, start[:-1].copy(), wanting)
    back = np.full((n, longest), longest, np.int32)

    def make() -> Any:
        place = np.zeros(n, np.int32)
        return lambda begin, end: _find_back(partner, start, wanting, place, back, begin, end)

    run_over_links(n, choose_num_threads(n, 4 * n), make)
    return back


@in_order
def _count_partners(partner: Any, count: Any) -> None:
    for u in range(partner.shape[0]):
        for k in range(partner.shape[1]):
            v = partner[u, k]
            if v < 0:
                break
            count[v + 1] += 1


@in_order
def _group_by_partner(partner: Any, at: Any, wanting: Any) -> None:
    """The entries of all lists, as numbers u K + k, grouped by the partner that they name."""
    for u in range(partner.shape[0]):
        for k in range(partner.shape[1]):
            v = partner[u, k]
            if v < 0:
                break
            wanting[at[v]] = u * partner.shape[1] + k
            at[v] += 1


@in_order
def _find_back(partner: Any, start: Any, wanting: Any, place: Any, back: Any, begin: int, end: int) -> None:
    """`place [n]`: scratch, zero before and after."""
    longest = partner.shape[1]
    for v in range(begin, end):
        for k in range(longest):
            if partner[v, k] < 0:
                break
            place[partner[v, k]] = k + 1
        for i in range(start[v], start[v + 1]):
            u = wanting[i] // longest
            if place[u] > 0:
                back[u, wanting[i] - u * longest] = place[u] - 1
        for k in range(longest):
            if partner[v, k] < 0:
                break
            place[partner[v, k]] = 0


@in_order
def _grow(partner: Any, back: Any, length: Any, filled: Any, halves: int, grown: Any, begin: int, end: int) -> None:
    for u in range(begin, end):
        paid, k = 0, 0
        while k < filled[u]:
            paid += 1 if back[u, k] < length[partner[u, k]] else 2
            if paid > halves:
                break
            k += 1
        grown[u] = max(k, length[u])


@in_order
def _count_smaller(nodes: Any, partner: Any, length: Any, count: Any) -> None:
    for i in range(len(nodes)):
        for k in range(length[i]):
            count[min(nodes[i], partner[i, k]) + 1] += 1


@in_order
def _group_by_smaller(nodes: Any, partner: Any, score: Any, length: Any, at: Any, other: Any, value: Any) -> None:
    for i in range(len(nodes)):
        u = nodes[i]
        for k in range(length[i]):
            v = partner[i, k]
            first = min(u, v)
            other[at[first]], value[at[first]] = max(u, v), score[i, k]
            at[first] += 1


@in_order
def _sort_groups(groups: Any, start: Any, other: Any, value: Any, kept: Any, begin: int, end: int) -> None:
    """Each group in the order of its nodes, each node once with its better score, at the beginning of the group's
    place; `kept [groups + 1]`: how many.
    """
    for g in range(begin, end):
        first, size = start[groups[g]], start[groups[g] + 1] - start[groups[g]]
        order = np.argsort(other[first : first + size], kind="mergesort")
        nodes, scores = other[first : first + size].copy(), value[first : first + size].copy()
        count = 0
        for i in range(size):
            node, best = nodes[order[i]], scores[order[i]]
            if count and other[first + count - 1] == node:
                value[first + count - 1] = max(value[first + count - 1], best)
            else:
                other[first + count], value[first + count] = node, best
                count += 1
        kept[g + 1] = count


@in_order
def _write_groups(
    groups: Any, start: Any, to: Any, other: Any, value: Any, pairs: Any, best: Any, begin: int, end: int
) -> None:
    for g in range(begin, end):
        u, first = groups[g], start[groups[g]]
        for i in range(to[g + 1] - to[g]):
            at = to[g] + i
            pairs[at, 0], pairs[at, 1], best[at] = u, other[first + i], value[first + i]
